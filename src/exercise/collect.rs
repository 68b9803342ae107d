//! Exercise 18: an object that has owners, and all others.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::process;
use object::Kind;

/// An object of the cluster, without what the collector does not look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// `ReplicaSet`
    pub kind: String,
    /// All the rest.
    pub metadata: ObjectMeta,
}

/// What the collector does about an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Action {
    /// Nothing.
    Leave,
    /// It takes the references to the owners with these uids off the object, in any order.
    RemoveOwners(Vec<String>),
    /// It deletes the object.
    Delete(Propagation),
    /// It takes the finalizer `foregroundDeletion` off the object, which lets it go.
    RemoveFinalizer,
}

/// What becomes of an object's own dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Propagation {
    /// They go after it.
    Background,
    /// They go before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// Whether objects of this kind live in namespaces.
pub fn is_namespaced(kind: &str) -> bool {
    Kind::ALL.iter().find(|known| known.info().kind == kind).is_none_or(|known| known.info().namespaced)
}

/// A question to the function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// The object that is looked at.
    pub item: Item,
    /// All objects that there are.
    pub all: Vec<Item>,
}

/// Answers with this function. The order of uids does not matter.
pub fn answer(attempt: fn(&Item, &[Item]) -> Action) {
    process::answer(|case: &Case| match attempt(&case.item, &case.all) {
        Action::RemoveOwners(mut uids) => {
            uids.sort();
            Action::RemoveOwners(uids)
        }
        other => other,
    });
}
