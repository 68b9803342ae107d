//! Authorization: may this user do that?
//!
//! The API server asks a chain of authorizers, and the first that says yes wins. None of them says no: a request that none
//! allows is forbidden.
//!
//! 1. The group `system:masters` may do everything. It is the way in when all else is lost.
//! 2. The Node authorizer ([`node`]) speaks for kubelets alone. It knows which Pods are bound to which node, and lets
//!    a kubelet read exactly the Secrets, ConfigMaps and service accounts that those Pods name.
//! 3. RBAC ([`rbac`]) looks for a rule: a binding names the user or one of their groups, and points to a role, and the
//!    role has a rule with this verb on this resource. A ClusterRoleBinding counts everywhere, a RoleBinding in its own
//!    namespace. The roles that every cluster is born with are in [`bootstrap`].
//!
//! A write of roles and bindings is checked once more, when it is known what is in them: [`escalation`].
//!
//! The request flows through [`Authorizer::authorize`]; what it returns names the rule that allowed it, which the
//! stepper shows. Every write flows past [`Authorizer::object_changed`], so that decisions never lag behind the store.
//!
//! Must hold:
//! - A decision costs what the user's own rules cost, not what the cluster holds. Kept by the benchmark `cluster`.
//! - It follows every change of a role or binding at once. Kept by
//!   `a_role_binding_counts_in_its_namespace_and_follows_changes`.
//! - It depends on nothing but the request and the stored objects. Kept by
//!   `the_core_has_no_threads_and_asks_no_environment`.
//!
//! Who may act as another user: [`super::impersonation`].
//!
//! Left out: webhooks, ABAC.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use k8s_openapi::api::rbac::v1::PolicyRule;

use object::status::Reason;
use object::{Kind, Object, Status};
use wire::{MASTERS, Request, User};

use object::reader::Reader;

mod attributes;
pub mod bootstrap;
pub mod escalation;
pub mod node;
pub mod rbac;

pub use attributes::Attributes;
use node::{NodeGraph, Opinion};
use rbac::{Grant, Policy};

/// Who may do what.
#[derive(Clone, Default)]
pub struct Authorizer {
    /// Which objects the Pods of each node name.
    graph: NodeGraph,
    /// Roles and bindings, and each user's rules once they were asked for.
    policy: RefCell<Policy>,
}

/// Why a request is allowed. Displayed as the audit annotation `authorization.k8s.io/reason`.
#[derive(Clone, Debug)]
pub enum Allowed {
    /// The user is in `system:masters`.
    Masters,
    /// The Node authorizer said so, for this reason.
    Node(&'static str),
    /// A rule of this binding's role.
    Rbac(Rc<Grant>),
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Masters => write!(f, "allowed: the group {MASTERS} may do everything"),
            Allowed::Node(why) => write!(f, "Node: allowed: {why}"),
            Allowed::Rbac(grant) => write!(f, "RBAC: allowed by {grant}"),
        }
    }
}

impl Allowed {
    /// What the authorizer says of it, which only RBAC does.
    pub fn reason(&self) -> String {
        match self {
            Allowed::Masters | Allowed::Node(_) => String::new(),
            Allowed::Rbac(_) => self.to_string(),
        }
    }
}

/// All that a user may do in a namespace, as far as the authorizers know it beforehand.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The rules of all roles that they were given.
    pub rules: Vec<PolicyRule>,
    /// Whether they may do more than that.
    pub incomplete: bool,
    /// What went wrong in looking.
    pub errors: Vec<String>,
}

/// A list as Go's `%q` prints it.
pub fn quoted(list: &[String]) -> String {
    format!("[{}]", list.iter().map(|item| format!("{item:?}")).collect::<Vec<_>>().join(" "))
}

impl Authorizer {
    /// An authorizer that has seen nothing yet.
    pub fn new() -> Authorizer {
        Authorizer::default()
    }

    /// Which rule allows the request, or the 403.
    pub fn authorize(&self, request: &Request, reader: &dyn Reader) -> Result<Allowed, Status> {
        let attributes = Attributes::of(request);
        self.decide(&attributes, Some(request), reader).map_err(|reasons| forbidden(&attributes, &reasons))
    }

    /// Which rule allows it, or what went wrong in looking. The Node authorizer only speaks of requests.
    pub fn decide(
        &self,
        attributes: &Attributes,
        request: Option<&Request>,
        reader: &dyn Reader,
    ) -> Result<Allowed, Vec<String>> {
        if attributes.user.is_master() {
            return Ok(Allowed::Masters);
        }
        let mut reasons: Vec<String> = Vec::new();
        match request.map(|request| self.graph.authorize(request, reader)) {
            Some(Opinion::Allow(why)) => return Ok(Allowed::Node(why)),
            Some(Opinion::None(reason)) => reasons.extend(reason),
            None => {}
        }
        match self.policy.borrow_mut().authorize(attributes) {
            Ok(grant) => Ok(Allowed::Rbac(grant)),
            Err(reason) => {
                reasons.extend(reason);
                Err(reasons)
            }
        }
    }

    /// All that the user may do in a namespace, as far as rules say so. Of a kubelet they say little: what it may do depends
    /// on its Pods. Mirrors `RulesFor`.
    pub fn rules_of(&self, user: &User, namespace: &str) -> Rules {
        let mut found = Rules::default();
        if node::node_of(user).is_some() {
            found.incomplete = true;
            found.errors.push("node authorizer does not support user rule resolution".to_owned());
        }
        let (rules, errors) = self.policy.borrow_mut().granted(user, namespace);
        found.rules = rules;
        found.errors.extend(errors);
        found
    }

    /// An object changed from `old` to `new`: rules that came from it are forgotten.
    pub fn object_changed(&mut self, kind: Kind, old: Option<&Object>, new: Option<&Object>) {
        match kind {
            Kind::Pod => self.graph.pod_changed(old, new),
            Kind::Role | Kind::RoleBinding | Kind::ClusterRole | Kind::ClusterRoleBinding => {
                self.policy.get_mut().object_changed(old, new);
            }
            _ => {}
        }
    }
}

/// The 403. Mirrors `responsewriters.Forbidden`.
pub(super) fn forbidden(attributes: &Attributes, reasons: &[String]) -> Status {
    let Attributes { user, verb, group, resource, namespace, name, path } = attributes;
    let mut why = format!("User {:?} cannot {verb} ", user.name);
    why += &match (*path, *namespace) {
        ("", "") => format!("resource \"{resource}\" in API group \"{group}\" at the cluster scope"),
        ("", namespace) => {
            format!("resource \"{resource}\" in API group \"{group}\" in the namespace \"{namespace}\"")
        }
        (path, _) => format!("path {path:?}"),
    };
    if !reasons.is_empty() {
        why = format!("{why}: {}", reasons.join("\n"));
    }
    // The answer may end up in a browser.
    let why = why.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    match path.is_empty() {
        true => {
            let resource = resource.split('/').next().unwrap_or_default();
            Status::forbidden_resource(group, resource, name, &why)
        }
        false => {
            Status { details: Some(Box::default()), ..Status::new(Reason::Forbidden, format!("forbidden: {why}")) }
        }
    }
}

#[cfg(test)]
mod tests;
