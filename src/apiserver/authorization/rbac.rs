//! RBAC: rules in roles, granted by bindings. Mirrors `plugin/pkg/auth/authorizer/rbac` and
//! `pkg/registry/rbac/validation/rule.go`.
//!
//! The real authorizer walks all ClusterRoleBindings for every request. Here each user's rules are collected once, and
//! kept until a role or binding changes.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};

use object::Object;
use object::status::aggregate;
use rules::rbac::matches_resource;
use wire::User;

use super::Attributes;

/// One role, given to one user by one binding.
#[derive(Debug)]
pub struct Grant {
    /// `ClusterRoleBinding "system:kube-scheduler" of ClusterRole "system:kube-scheduler" to User "…"`.
    description: String,
    /// What the role allows.
    role: RoleRules,
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

/// A role of either kind; its rules are shared with the stored object.
#[derive(Clone, Debug)]
pub(super) enum RoleRules {
    Namespaced(Arc<Role>),
    Cluster(Arc<ClusterRole>),
}

impl RoleRules {
    pub fn rules(&self) -> &[PolicyRule] {
        let rules = match self {
            RoleRules::Namespaced(role) => &role.rules,
            RoleRules::Cluster(role) => &role.rules,
        };
        rules.as_deref().unwrap_or_default()
    }
}

/// All roles and bindings, and the rules of the users seen so far.
#[derive(Clone, Default)]
pub(super) struct Policy {
    roles: BTreeMap<(String, String), Arc<Role>>,
    cluster_roles: BTreeMap<String, Arc<ClusterRole>>,
    bindings: BTreeMap<(String, String), Arc<RoleBinding>>,
    cluster_bindings: BTreeMap<String, Arc<ClusterRoleBinding>>,
    users: BTreeMap<String, UserRules>,
}

/// What one user was granted.
#[derive(Clone)]
struct UserRules {
    /// The groups this was collected for: the same name may come with others.
    groups: Vec<String>,
    /// By ClusterRoleBindings: valid everywhere.
    cluster: Scope,
    /// By RoleBindings: valid in one namespace.
    namespaces: BTreeMap<String, Scope>,
}

/// The grants of one scope, in the order of the bindings' names, and which roles could not be found.
#[derive(Clone, Default)]
struct Scope {
    grants: Vec<Rc<Grant>>,
    errors: Vec<String>,
}

impl Policy {
    /// Which grant allows the request. If none does: what went wrong in looking, if anything.
    pub fn authorize(&mut self, attributes: &Attributes) -> Result<Rc<Grant>, Option<String>> {
        let rules = self.rules_of(attributes.user);
        let mut errors: Vec<String> = Vec::new();
        for scope in [Some(&rules.cluster), rules.namespaces.get(attributes.namespace)].into_iter().flatten() {
            errors.extend(scope.errors.iter().cloned());
            let allows = |grant: &&Rc<Grant>| grant.role.rules().iter().any(|rule| rule_allows(rule, attributes));
            if let Some(grant) = scope.grants.iter().find(allows) {
                return Ok(grant.clone());
            }
        }
        Err((!errors.is_empty()).then(|| format!("RBAC: {}", aggregate(&errors))))
    }

    /// The rules of all that the user was granted there, in the order of the bindings' names, and which roles are missing.
    pub fn granted(&mut self, user: &User, namespace: &str) -> (Vec<PolicyRule>, Vec<String>) {
        let rules = self.rules_of(user);
        let (mut granted, mut errors) = (Vec::new(), Vec::new());
        for scope in [Some(&rules.cluster), rules.namespaces.get(namespace)].into_iter().flatten() {
            granted.extend(scope.grants.iter().flat_map(|grant| grant.role.rules().iter().cloned()));
            errors.extend(scope.errors.iter().cloned());
        }
        (granted, errors)
    }

    /// Takes note of a role or binding, and forgets what was collected before it.
    pub fn object_changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        self.users.clear();
        let Some(object) = new.or(old) else { return };
        let (namespace, name) = (object.namespace().to_owned(), object.name().to_owned());
        match object {
            Object::Role(o) => set(&mut self.roles, (namespace, name), o, new.is_some()),
            Object::RoleBinding(o) => set(&mut self.bindings, (namespace, name), o, new.is_some()),
            Object::ClusterRole(o) => set(&mut self.cluster_roles, name, o, new.is_some()),
            Object::ClusterRoleBinding(o) => set(&mut self.cluster_bindings, name, o, new.is_some()),
            _ => {}
        }
    }

    fn rules_of(&mut self, user: &User) -> &UserRules {
        let known = self.users.get(&user.name).is_some_and(|rules| rules.groups == user.groups);
        if !known {
            let rules = self.collect(user);
            self.users.insert(user.name.clone(), rules);
        }
        // Found at once: it was there or has just been put there.
        self.users.entry(user.name.clone()).or_insert_with(UserRules::none)
    }

    /// Walks all bindings, as the real authorizer does for each request.
    fn collect(&self, user: &User) -> UserRules {
        let mut rules = UserRules { groups: user.groups.clone(), ..UserRules::none() };
        for (name, binding) in &self.cluster_bindings {
            if let Some(subject) = matching(binding.subjects.as_deref(), user, "") {
                let text = describe("ClusterRoleBinding", name, &binding.role_ref, subject, "");
                rules.cluster.add(self.role("", &binding.role_ref), text);
            }
        }
        for ((namespace, name), binding) in &self.bindings {
            if let Some(subject) = matching(binding.subjects.as_deref(), user, namespace) {
                let text =
                    describe("RoleBinding", &format!("{name}/{namespace}"), &binding.role_ref, subject, namespace);
                let scope = rules.namespaces.entry(namespace.clone()).or_default();
                scope.add(self.role(namespace, &binding.role_ref), text);
            }
        }
        rules
    }

    /// The role that a binding in `namespace` points to.
    pub fn role(&self, namespace: &str, reference: &RoleRef) -> Result<RoleRules, String> {
        let name = &reference.name;
        let found = match reference.kind.as_str() {
            "Role" => self.roles.get(&(namespace.to_owned(), name.clone())).cloned().map(RoleRules::Namespaced),
            _ => self.cluster_roles.get(name).cloned().map(RoleRules::Cluster),
        };
        let kind = reference.kind.to_ascii_lowercase();
        found.ok_or_else(|| format!("{kind}.rbac.authorization.k8s.io \"{name}\" not found"))
    }
}

impl UserRules {
    fn none() -> UserRules {
        UserRules { groups: Vec::new(), cluster: Scope::default(), namespaces: BTreeMap::new() }
    }
}

impl Scope {
    fn add(&mut self, role: Result<RoleRules, String>, description: String) {
        match role {
            Ok(role) => self.grants.push(Rc::new(Grant { description, role })),
            Err(error) => self.errors.push(error),
        }
    }
}

fn set<K: Ord, T>(map: &mut BTreeMap<K, Arc<T>>, key: K, object: &Arc<T>, present: bool) {
    if present {
        map.insert(key, object.clone());
    } else {
        map.remove(&key);
    }
}

/// The first subject that means this user. `namespace` is the binding's, empty for a ClusterRoleBinding.
/// Mirrors `appliesTo`.
fn matching<'a>(subjects: Option<&'a [Subject]>, user: &User, namespace: &str) -> Option<&'a Subject> {
    subjects.unwrap_or_default().iter().find(|subject| match subject.kind.as_str() {
        "User" => subject.name == user.name,
        "Group" => user.groups.contains(&subject.name),
        "ServiceAccount" => is_account(user, subject.namespace.as_deref().unwrap_or(namespace), &subject.name),
        _ => false,
    })
}

/// Whether the user is this service account. An account without a namespace matches no user.
fn is_account(user: &User, namespace: &str, name: &str) -> bool {
    let account = user.name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    !namespace.is_empty() && account == Some((namespace, name))
}

/// Mirrors `clusterRoleBindingDescriber` and `roleBindingDescriber`.
fn describe(kind: &str, name: &str, role: &RoleRef, subject: &Subject, namespace: &str) -> String {
    let who = match subject.kind.as_str() {
        "ServiceAccount" => format!("{}/{}", subject.name, subject.namespace.as_deref().unwrap_or(namespace)),
        _ => subject.name.clone(),
    };
    format!("{kind} \"{name}\" of {} \"{}\" to {} \"{who}\"", role.kind, role.name, subject.kind)
}

/// Whether one rule allows the request. Mirrors `RuleAllows`.
pub fn rule_allows(rule: &PolicyRule, attributes: &Attributes) -> bool {
    if !attributes.path.is_empty() {
        let urls = rule.non_resource_urls.as_deref().unwrap_or_default();
        return has(&rule.verbs, attributes.verb) && matches_path(urls, attributes.path);
    }
    has(&rule.verbs, attributes.verb)
        && has(rule.api_groups.as_deref().unwrap_or_default(), attributes.group)
        && matches_resource(rule.resources.as_deref().unwrap_or_default(), &attributes.resource)
        && name_matches(rule.resource_names.as_deref().unwrap_or_default(), attributes.name)
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

/// `*`, `/healthz`, or `/apis/*`. Mirrors `NonResourceURLMatches`.
fn matches_path(urls: &[String], wanted: &str) -> bool {
    urls.iter().any(|url| url == wanted || url.strip_suffix('*').is_some_and(|below| wanted.starts_with(below)))
}

/// No names: any object. A create or a plain list names none, and so never matches a rule with names.
fn name_matches(names: &[String], wanted: &str) -> bool {
    names.is_empty() || names.iter().any(|name| name == wanted)
}
