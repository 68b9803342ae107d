//! Wrong parts: programs with bugs that real clusters had, to be found by the explorer, and their right counterparts.
//!
//! Nothing here is part of the cluster. A scenario names a row of [`TABLE`], and its cluster runs with those parts in the
//! place of the shipped ones; `kubestep explore NAME` finds what they do wrong, `kubestep explore NAME --fixed` that the
//! right part does not. Each file tells one story: what happened, why, and what right code does. Issue numbers are of
//! kubernetes/kubernetes unless another repository is named.
//!
//! Where Kubernetes' own controller is right today, the shipped one is the right part. Operators stand for controllers
//! that this cluster does not have, and for the many that others write; ConfigMaps are their custom resources.
//!
//! | scenario | wrong part | class |
//! |---|---|---|
//! | stale-cache | [`stale_cache`] | stale cache |
//! | count-then-check | [`count_then_check`] | stale cache |
//! | expectations-expire | [`expectations_expire`] | stale cache |
//! | duplicate-slices | [`duplicate_slices`] | stale cache |
//! | stale-restart, pod-on-two-nodes | [`stale_lists`] | back in time |
//! | half-done | [`half_done`] | crash in between |
//! | early-finalizer | [`early_finalizer`] | crash in between |
//! | ghost-node | [`ghost_node`] | missed event |
//! | delta-queue | [`delta_queue`] | missed event |
//! | orphans-at-start | [`garbage`] | missed event |
//! | live-children | [`garbage`] | order across kinds |
//! | lost-update | [`lost_update`] | two writers |
//! | two-managers | [`two_managers`], and a manifest | two writers |
//! | dying-pod | a manifest | order across components |

use std::sync::LazyLock;

use client::Registration;
use cluster::scenario::Scenario;
use cluster::{Cluster, Parts};

/// A program that runs controllers as an operator does, as the only one beside Kubernetes' own.
macro_rules! operator {
    ($name:expr, $table:expr) => {
        &[cluster::Program {
            name: $name,
            new: &|hub, id| std::rc::Rc::new(controllers::ControllerManager::operator(hub, id, $name, $table)),
        }]
    };
}

pub mod count_then_check;
pub mod delta_queue;
pub mod duplicate_slices;
pub mod early_finalizer;
pub mod expectations_expire;
pub mod garbage;
pub mod ghost_node;
pub mod half_done;
pub mod lost_update;
pub mod records;
pub mod replicas;
pub mod stale_cache;
pub mod stale_lists;
pub mod two_managers;

/// Makes the parts of a cluster.
pub type Make = fn() -> Parts;

/// Parts by name, as scenarios ask for them.
pub const TABLE: &[(&str, Make)] = &[
    ("stale-cache", stale_cache::parts),
    ("count-then-check", count_then_check::parts),
    ("expectations-expire", expectations_expire::parts),
    ("duplicate-slices", duplicate_slices::parts),
    ("stale-lists", stale_lists::parts),
    ("half-done", || half_done::parts(false)),
    ("half-done-right", || half_done::parts(true)),
    ("early-finalizer", || early_finalizer::parts(false)),
    ("early-finalizer-right", || early_finalizer::parts(true)),
    ("ghost-node", || ghost_node::parts(false)),
    ("ghost-node-right", || ghost_node::parts(true)),
    ("delta-queue", || delta_queue::parts(false)),
    ("delta-queue-right", || delta_queue::parts(true)),
    ("hasty-collector", garbage::hasty),
    ("edge-triggered-collector", garbage::edge_triggered),
    ("lost-update", || lost_update::parts(false)),
    ("lost-update-right", || lost_update::parts(true)),
    ("autoscaler", two_managers::parts),
];

/// The parts that a scenario asks for.
pub fn parts_of(scenario: &Scenario) -> Result<Parts, String> {
    if let Some(parts) = scenario.plugged.0 {
        return Ok(parts);
    }
    let Some(name) = &scenario.parts else { return Ok(Parts::default()) };
    let names = || TABLE.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = TABLE.iter().find(|(known, _)| known == name).map(|(_, parts)| parts());
    found.ok_or_else(|| format!("there are no parts {name:?}; there are {}", names()))
}

/// A cluster as a scenario wants it, with the parts that it asks for. Unknown ones are an error of the scenario, which is
/// to be said before; here the shipped ones take their place.
pub fn cluster(scenario: &Scenario) -> Cluster {
    Cluster::with_parts(scenario, parts_of(scenario).unwrap_or_default())
}

/// All that is shipped, with one row in the place of the row of the same name.
fn shipped_with(row: &Registration) -> Vec<Registration> {
    let place = |shipped: &Registration| if shipped.name == row.name { *row } else { *shipped };
    controllers::TABLE.iter().map(place).collect()
}

/// All that is shipped but one row.
fn shipped_without(name: &str) -> Vec<Registration> {
    controllers::TABLE.iter().filter(|row| row.name != name).copied().collect()
}

/// What an operator may do whose objects are [`records`].
const RECORDS: &[(&str, &str, &str)] = &[("create,delete,get,list,patch,update,watch", "", "configmaps")];

/// What a cluster needs in which only operators matter: accounts, without which no Pod is admitted.
static FEW: LazyLock<Vec<Registration>> = LazyLock::new(|| vec![controllers::service_account::REGISTRATION]);
