//! What a write leaves as it was.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Puts a field back to what it was, if it differs.
pub fn keep<T: Clone, F: Clone + PartialEq>(new: &mut Arc<T>, field: fn(&mut T) -> &mut F, old: &F) {
    let there = field(Arc::make_mut(new));
    if there != old {
        *there = old.clone();
    }
}

/// A write of the status changes nothing else: mirrors `ResetObjectMetaForStatus`.
pub fn keep_metadata(new: &mut ObjectMeta, old: &ObjectMeta) {
    new.self_link.clone_from(&old.self_link);
    new.labels.clone_from(&old.labels);
    new.annotations.clone_from(&old.annotations);
    new.finalizers.clone_from(&old.finalizers);
    new.owner_references.clone_from(&old.owner_references);
}
