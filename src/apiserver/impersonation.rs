//! Impersonation: may this user act as another user?
//!
//! Between authentication and authorization the API server checks whether the request is to be taken for another user's
//! ([`Impersonation`]). Its sender needs rules for that, and from then on only the other user counts: for authorization,
//! admission, and everything behind it.
//!
//! There are two ways to be allowed, and the first that allows it wins:
//!
//! 1. Constrained, in one of the modes ([`Mode`]) `arbitrary-node`, `serviceaccount` and `user-info`: a verb such as
//!    `impersonate-on:user-info:list` on what is asked for, and `impersonate:user-info` on each thing that the other is to
//!    have: `users`, `groups`, `uids`, `userextras` of `authentication.k8s.io`. The group `system:masters` is never given so.
//! 2. As of old, `impersonate` on the same, where users, groups and `serviceaccounts` are of the core group.
//!
//! If none does, the 403 is that of the first way.
//!
//! Must hold:
//! - A user who may not impersonate does nothing at all. Kept by `who_may_ask_as_somebody_else`.
//! - A service account is in the groups of its like and a node in `system:nodes` unless groups are asked for;
//!   every user but `system:anonymous` is `system:authenticated`. Kept by
//!   `who_asks_as_somebody_else_is_told_with_them`.
//!
//! Mirrors `k8s.io/apiserver/pkg/endpoints/filters/impersonation`.
//!
//! Left out: the mode `associated-node`, since tokens do not say on which node their Pod is; how the keys of extra values
//! must look; that the way which was the last to be allowed is the first to be tried; one question for many groups.

use std::rc::Rc;

use object::selector::names::check_subdomain;
use object::{Kind, Status};
use wire::{Impersonated, Impersonation, MASTERS, Request, User};

use super::ApiServer;
use super::authorization::{Attributes, forbidden};
use object::validation::names::check_dns_label;

/// The group of what is no core resource.
const AUTHENTICATION: &str = "authentication.k8s.io";

/// A way to be allowed. Mirrors `allImpersonationModes`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Node,
    ServiceAccount,
    UserInfo,
    Legacy,
}

impl Mode {
    const ALL: [Mode; 4] = [Mode::Node, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

    fn verb(self) -> &'static str {
        match self {
            Mode::Node => "impersonate:arbitrary-node",
            Mode::ServiceAccount => "impersonate:serviceaccount",
            Mode::UserInfo => "impersonate:user-info",
            Mode::Legacy => "impersonate",
        }
    }

    /// The mode's name, which the old way does not have.
    fn constraint(self) -> Option<&'static str> {
        self.verb().strip_prefix("impersonate:")
    }

    /// Whether it is about such a user.
    fn is_for(self, wanted: &Impersonation) -> bool {
        let (node, account) = (node_name(&wanted.user), account_name(&wanted.user));
        match self {
            Mode::Node => node.is_some() && !wanted.is_more_than_a_name(),
            Mode::ServiceAccount => account.is_some() && !wanted.is_more_than_a_name(),
            Mode::UserInfo => node.is_none() && account.is_none(),
            Mode::Legacy => true,
        }
    }

    fn core_group(self) -> &'static str {
        if self == Mode::Legacy { "" } else { AUTHENTICATION }
    }
}

impl ApiServer {
    /// The user that the request counts as, if it asks for another. `served`: in which version of the kind the client speaks.
    ///
    /// # Errors
    /// The 403, or 400 where no user is named.
    pub(super) fn impersonate(&self, request: &Request, served: Kind) -> Result<Option<Impersonated>, Status> {
        let Some(wanted) = &request.user.acting_as else { return Ok(None) };
        // Rules name the group that was asked.
        let request = &Request { kind: served, ..request.clone() };
        if wanted.user.is_empty() {
            return Err(Status::bad_request(nobody_named(wanted)));
        }
        let mut first = None;
        for mode in Mode::ALL.into_iter().filter(|mode| mode.is_for(wanted)) {
            match self.allows(mode, wanted, request) {
                Ok(()) => {
                    let constraint = mode.constraint().map_or("", |_| mode.verb());
                    return Ok(Some(Impersonated {
                        user: Rc::new(taken_for(mode, wanted, &request.user)),
                        constraint,
                    }));
                }
                Err(status) => first = first.or(Some(status)),
            }
        }
        Err(first.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
    }

    fn allows(&self, mode: Mode, wanted: &Impersonation, request: &Request) -> Result<(), Status> {
        let requestor = &*request.user;
        if let Some(name) = mode.constraint() {
            let attributes = Attributes::of(request);
            let verb = format!("impersonate-on:{name}:{}", attributes.verb);
            self.is_allowed(&Attributes { verb: &verb, ..attributes })?;
        }
        let core = mode.core_group();
        let asked = |group, resource: &str| Attributes {
            user: requestor,
            verb: mode.verb(),
            group,
            resource: resource.to_owned().into(),
            namespace: "",
            name: "",
            path: "",
        };
        let user = match (mode, account_name(&wanted.user), node_name(&wanted.user)) {
            (_, Some((namespace, name)), _) => Attributes { namespace, name, ..asked(core, "serviceaccounts") },
            (Mode::Node, _, Some(name)) => Attributes { name, ..asked(core, "nodes") },
            _ => Attributes { name: &wanted.user, ..asked(core, "users") },
        };
        self.is_allowed(&user)?;
        if !wanted.uid.is_empty() {
            self.is_allowed(&Attributes { name: &wanted.uid, ..asked(AUTHENTICATION, "uids") })?;
        }
        if mode != Mode::Legacy {
            check_groups(wanted, &asked(core, "groups"))?;
        }
        for name in &wanted.groups {
            self.is_allowed(&Attributes { name, ..asked(core, "groups") })?;
        }
        for (key, values) in &wanted.extra {
            for name in values {
                self.is_allowed(&Attributes { name, ..asked(AUTHENTICATION, &format!("userextras/{key}")) })?;
            }
        }
        Ok(())
    }

    fn is_allowed(&self, attributes: &Attributes) -> Result<(), Status> {
        let decided = self.authorizer.decide(attributes, None, &self.store);
        decided.map(|_| ()).map_err(|reasons| forbidden(attributes, &reasons))
    }
}

/// Groups that a constrained mode never grants, even if rules allow it.
fn check_groups(wanted: &Impersonation, attributes: &Attributes) -> Result<(), Status> {
    let refuse = |name: &str, why: &str| Err(forbidden(&Attributes { name, ..attributes.clone() }, &[why.to_owned()]));
    if wanted.groups.iter().any(String::is_empty) {
        return refuse("", "impersonating the empty string group is not allowed");
    }
    if wanted.groups.iter().any(|group| group == MASTERS) {
        return refuse(MASTERS, "impersonating the system:masters group is not allowed");
    }
    Ok(())
}

/// The user that the request counts as from here on; the user agent stays the same.
fn taken_for(mode: Mode, wanted: &Impersonation, requestor: &User) -> User {
    let mut groups = wanted.groups.clone();
    if let (true, Some((namespace, _))) = (groups.is_empty(), account_name(&wanted.user)) {
        groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    }
    if mode == Mode::Node {
        groups = vec!["system:nodes".to_owned()];
    }
    let [known, unknown] = ["system:authenticated", "system:unauthenticated"];
    let has = |group: &str| groups.iter().any(|of| of == group);
    let every = if wanted.user == "system:anonymous" { unknown } else { known };
    if !has(every) && !has(unknown) {
        groups.push(every.to_owned());
    }
    let (name, uid, extra) = (wanted.user.clone(), wanted.uid.clone(), wanted.extra.clone());
    User { name, uid, groups, extra, acting_as: None, agent: requestor.agent.clone() }
}

/// The namespace and name of a service account. Mirrors `serviceaccount.SplitUsername`.
fn account_name(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (check_dns_label(namespace).is_empty() && check_subdomain(name).is_empty()).then_some((namespace, name))
}

fn node_name(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| check_subdomain(name).is_empty())
}

/// What is said of groups and the like without a name: the server's own struct, as Go prints it.
fn nobody_named(wanted: &Impersonation) -> String {
    let listed = |list: &[String]| list.iter().map(|item| format!("{item:?}")).collect::<Vec<_>>().join(", ");
    let groups = match wanted.groups.as_slice() {
        [] => "(nil)".to_owned(),
        groups => format!("{{{}}}", listed(groups)),
    };
    let pairs = wanted.extra.iter().map(|(key, values)| format!("{key:?}:[]string{{{}}}", listed(values)));
    let extra = match wanted.extra.is_empty() {
        true => "(nil)".to_owned(),
        false => format!("{{{}}}", pairs.collect::<Vec<_>>().join(", ")),
    };
    let uid = &wanted.uid;
    let fields = format!("Name:\"\", UID:{uid:?}, Groups:[]string{groups}, Extra:map[string][]string{extra}");
    format!("requested &user.DefaultInfo{{{fields}}} without impersonating a user name")
}
