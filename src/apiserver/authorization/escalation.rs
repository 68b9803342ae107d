//! Users grant only permissions that they have themselves.
//!
//! A user who may write roles could otherwise gain every permission. So a role is only written by a user who holds all its
//! rules, or has the verb `escalate` on roles; and only bound by one who holds them, or has the verb `bind` on that role.
//! Members of `system:masters` may do both.
//!
//! Mirrors `pkg/registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased` and
//! `pkg/registry/rbac/escalation_check.go`.

use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef};

use object::reader::Reader;
use object::{Kind, Object, Status};
use rules::rbac::uncovered;
use wire::Request;

use super::{Attributes, Authorizer, quoted};

/// Kinds that give rights.
const GRANTING: [Kind; 4] = [Kind::Role, Kind::ClusterRole, Kind::RoleBinding, Kind::ClusterRoleBinding];

impl Authorizer {
    /// Whether the user may store this role or binding, or the 403. All other kinds pass.
    pub fn check_escalation(
        &self,
        request: &Request,
        old: Option<&Object>,
        new: &Object,
        reader: &dyn Reader,
    ) -> Result<(), Status> {
        let freed = |old| only_let_go(old, new);
        if !GRANTING.contains(&new.kind()) || request.user.is_master() || old.is_some_and(freed) {
            return Ok(());
        }
        let forbidden = |why: String| Status::forbidden(new.kind(), new.name(), &why);
        let confirm = |rules: &[PolicyRule]| self.confirm(request, rules).map_err(forbidden);
        match new {
            Object::Role(role) => {
                self.may_escalate(request, reader).or_else(|()| confirm(role.rules.as_deref().unwrap_or_default()))
            }
            Object::ClusterRole(role) => self.may_escalate(request, reader).or_else(|()| {
                confirm(role.rules.as_deref().unwrap_or_default())?;
                let gathers =
                    |object: &Object| matches!(object, Object::ClusterRole(role) if role.aggregation_rule.is_some());
                if !gathers(new) && !old.is_some_and(gathers) {
                    return Ok(());
                }
                // Which rules it will aggregate is not known yet.
                const WHY: &str = "must have cluster-admin privileges to use the aggregationRule";
                self.confirm(request, &everything()).map_err(|_| forbidden(WHY.to_owned()))
            }),
            Object::RoleBinding(binding) => self.may_bind(request, &binding.role_ref, reader, confirm),
            Object::ClusterRoleBinding(binding) => self.may_bind(request, &binding.role_ref, reader, confirm),
            _ => Ok(()),
        }
    }

    /// The verb `escalate`.
    fn may_escalate(&self, request: &Request, reader: &dyn Reader) -> Result<(), ()> {
        let asked = Attributes { verb: "escalate", ..Attributes::of(request) };
        self.decide(&asked, None, reader).map(|_| ()).map_err(|_| ())
    }

    /// The verb `bind` on the role, or its rules.
    fn may_bind(
        &self,
        request: &Request,
        role: &RoleRef,
        reader: &dyn Reader,
        confirm: impl Fn(&[PolicyRule]) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let kind = if role.kind == "Role" { Kind::Role } else { Kind::ClusterRole };
        let resource = kind.info().plural.into();
        let asked = Attributes { verb: "bind", resource, name: &role.name, ..Attributes::of(request) };
        if self.decide(&asked, None, reader).is_ok() {
            return Ok(());
        }
        let role =
            self.policy.borrow().role(&request.namespace, role).map_err(|_| Status::not_found(kind, &role.name))?;
        confirm(role.rules())
    }

    /// Whether the user holds all these rules there, or what they are told. Mirrors `ConfirmNoEscalation`.
    fn confirm(&self, request: &Request, wanted: &[PolicyRule]) -> Result<(), String> {
        let user = &request.user;
        let (held, _) = self.policy.borrow_mut().granted(user, &request.namespace);
        let missing = uncovered(&held, wanted);
        if missing.is_empty() {
            return Ok(());
        }
        let mut lines: Vec<String> = compact(missing).iter().map(shown).collect();
        lines.sort();
        lines.dedup();
        Err(format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            user.name,
            quoted(&user.groups),
            lines.join("\n")
        ))
    }
}

/// An update that only takes away what keeps the object from being collected. Mirrors `IsOnlyMutatingGCFields`.
fn only_let_go(old: &Object, new: &Object) -> bool {
    let bare = |object: &Object| {
        let mut object = object.clone();
        let meta = object.meta_mut();
        (meta.owner_references, meta.finalizers, meta.managed_fields) = (None, None, None);
        object
    };
    bare(old) == bare(new)
}

/// Broken down rules about the same thing as one. Mirrors `CompactRules`.
fn compact(rules: Vec<PolicyRule>) -> Vec<PolicyRule> {
    let mut compact: Vec<PolicyRule> = Vec::new();
    for rule in rules {
        let about = |there: &&mut PolicyRule| {
            rule.non_resource_urls.is_none()
                && there.api_groups == rule.api_groups
                && there.resources == rule.resources
                && there.resource_names == rule.resource_names
        };
        match compact.iter_mut().find(about) {
            Some(there) => {
                for verb in rule.verbs {
                    if !there.verbs.contains(&verb) {
                        there.verbs.push(verb);
                    }
                }
            }
            None => compact.push(rule),
        }
    }
    compact
}

/// `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`. Mirrors `CompactString`.
fn shown(rule: &PolicyRule) -> String {
    let verbs = Some(rule.verbs.clone());
    let parts = [
        ("APIGroups", &rule.api_groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.non_resource_urls),
        ("ResourceNames", &rule.resource_names),
        ("Verbs", &verbs),
    ];
    let said = parts.iter().filter_map(|(name, list)| {
        let list = list.as_deref().filter(|list| !list.is_empty())?;
        Some(format!("{name}:{}", quoted(list)))
    });
    format!("{{{}}}", said.collect::<Vec<_>>().join(", "))
}

/// The rules of those who may do everything, as `cluster-admin` has them.
fn everything() -> Vec<PolicyRule> {
    let any = || vec!["*".to_owned()];
    let (api_groups, resources) = (Some(any()), Some(any()));
    vec![
        PolicyRule { verbs: any(), api_groups, resources, ..PolicyRule::default() },
        PolicyRule { verbs: any(), non_resource_urls: Some(any()), ..PolicyRule::default() },
    ]
}
