//! In which order manifests come out. Mirrors `SortOrderTransformer`.

use super::id::{Gvk, Id};
use super::kustomization::Sorting;
use super::set::Set;

/// In which order manifests come out, unless the kustomization says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Namespaces first, webhooks last: what others need before the others.
    Legacy,
    /// As they were gathered.
    None,
}

/// What others need comes first …
const FIRST: &[&str] = &[
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
/// … and what may stand in the way of others comes last.
const LAST: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Sorts by what the kustomization says, and if that says nothing, by what the command wants.
///
/// # Errors
/// The kustomization names an order that there is not.
pub fn sort(set: &mut Set, said: Option<&Sorting>, wanted: Order) -> Result<(), String> {
    let owned = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let usual = || (owned(FIRST), owned(LAST));
    let (first, last): (Vec<String>, Vec<String>) = match said {
        None if wanted == Order::None => return Ok(()),
        None => usual(),
        Some(Sorting { order, legacy }) => match (order.as_str(), legacy) {
            ("fifo", None) => return Ok(()),
            ("fifo", Some(_)) => {
                return Err(
                    "the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not \
                            'legacy'"
                        .to_owned(),
                );
            }
            ("legacy", kinds) => kinds.clone().unwrap_or_else(usual),
            _ => return Err("the field 'sortOptions.order' must be one of [fifo, legacy]".to_owned()),
        },
    };
    let rank = |kind: &str| {
        let at = |kinds: &[String]| kinds.iter().rposition(|known| known == kind);
        match (at(&last), at(&first)) {
            (Some(place), _) => 1 + place as isize,
            (None, Some(place)) => place as isize - first.len() as isize,
            (None, None) => 0,
        }
    };
    set.0.sort_by_cached_key(|resource| {
        let id = resource.id();
        (rank(&id.gvk.kind), group_version_kind(&id.gvk), name(&id))
    });
    Ok(())
}

/// What says nothing comes after what says something.
fn or<'a>(text: &'a str, none: &'a str) -> &'a str {
    if text.is_empty() { none } else { text }
}

fn group_version_kind(gvk: &Gvk) -> String {
    format!("{}_{}_{}", or(&gvk.group, "~G"), or(&gvk.version, "~V"), or(&gvk.kind, "~K"))
}

fn name(id: &Id) -> String {
    format!("{}|{}", or(&id.namespace, "~X"), or(&id.name, "~N"))
}
