//! The clusterrole-aggregation controller: a ClusterRole with an `aggregationRule` has the rules of all ClusterRoles whose
//! labels it selects.
//!
//! This is how `admin`, `edit` and `view` cover kinds that users define: the author of a kind adds a small ClusterRole,
//! labelled `rbac.authorization.k8s.io/aggregate-to-edit: "true"`, and every user who has the role `edit` may edit
//! that kind too. Rules written into such a role by hand are lost at the next reconcile that finds any rule.
//!
//! Any change of a ClusterRole may affect each one that aggregates, so all of those are reconciled; there are few.
//!
//! It applies the rules by server-side apply, and so says that they are its own.
//!
//! Mirrors `pkg/controller/clusterroleaggregation`.

use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use serde_json::json;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::{Key, Kind, Object, selector};

/// The row of the clusterrole-aggregation controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::ClusterRole],
    workers: 5,
    ..Registration::new("clusterrole-aggregation-controller", &|context| Rc::new(ClusterRoleAggregation::new(context)))
};

/// The index of the ClusterRoles that gather; they have one value in common, the empty one.
const GATHERS: &str = "gathers";

fn index_by_gathers(object: &Object) -> Vec<String> {
    match object {
        Object::ClusterRole(role) if role.aggregation_rule.is_some() => vec![String::new()],
        _ => Vec::new(),
    }
}

struct ClusterRoleAggregation {
    client: Client,
    queue: Queue,
    roles: Lister<ClusterRole>,
}

impl ClusterRoleAggregation {
    fn new(context: &ControllerContext) -> ClusterRoleAggregation {
        context.add_index::<ClusterRole>(GATHERS, index_by_gathers);
        ClusterRoleAggregation { client: context.client.clone(), queue: context.queue.clone(), roles: context.lister() }
    }
}

impl Controller for ClusterRoleAggregation {
    fn on_change(&self, _change: &Change) {
        for role in self.roles.by_index(GATHERS, "") {
            self.queue.add(Key::of_meta(&role.metadata));
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(role) = self.roles.get(&key) else { return Ok(()) };
        let rules = gathered(&role, &self.roles.list());
        let has = role.rules.as_deref().unwrap_or_default();
        if role.aggregation_rule.is_none() || rules == has {
            return Ok(());
        }
        let mut wanted = json!({
            "apiVersion": Kind::ClusterRole.info().api_version, "kind": Kind::ClusterRole.info().kind,
            "metadata": {"name": key.name()},
        });
        // With no rules it has no opinion: its own rules go, and those of other managers stay.
        if !rules.is_empty() {
            wanted["rules"] = json!(rules);
        }
        self.client.apply::<ClusterRole>("", key.name(), wanted, REGISTRATION.name).await?;
        Ok(())
    }
}

/// The rules of all roles that `role` selects, in the order of its selectors and of their names, each once.
fn gathered(role: &ClusterRole, all: &[Arc<ClusterRole>]) -> Vec<PolicyRule> {
    let selectors = role.aggregation_rule.iter().flat_map(|rule| rule.cluster_role_selectors.iter().flatten());
    let mut rules: Vec<PolicyRule> = Vec::new();
    for selector in selectors {
        let others = all.iter().filter(|other| {
            other.metadata.name != role.metadata.name && selector::selects(selector, other.metadata.labels.as_ref())
        });
        for rule in others.flat_map(|other| other.rules.iter().flatten()) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    rules
}
