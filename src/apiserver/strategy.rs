//! What each kind's strategy does before validation.

use crate::object::{Kind, Object};

/// Before a create.
pub fn prepare_for_create(_: &mut Object) {}

/// Before an update of the main resource.
pub fn prepare_for_update(_: &mut Object, _: &Object) {}

/// Before an update of the status.
pub fn prepare_for_status_update(_: &mut Object, _: &Object) {}

/// When an object is marked as being deleted (a Namespace's phase becomes Terminating).
pub fn prepare_for_deletion(_: &mut Object) {}

/// Metadata that an update may leave out: uid, creationTimestamp, deletionTimestamp …
pub fn carry_over_metadata(new: &mut Object, old: &Object) {
    let (new, old) = (new.meta_mut(), old.meta());
    new.uid.clone_from(&old.uid);
    new.creation_timestamp.clone_from(&old.creation_timestamp);
    new.deletion_timestamp.clone_from(&old.deletion_timestamp);
    new.deletion_grace_period_seconds = old.deletion_grace_period_seconds;
    new.generation = old.generation;
}

/// Whether a PUT without resourceVersion is accepted.
pub fn allow_unconditional_update(kind: Kind) -> bool {
    kind != Kind::Lease
}

/// Whether a PUT of an absent object creates it.
pub fn allow_create_on_update(kind: Kind) -> bool {
    matches!(kind, Kind::Lease | Kind::Event)
}

/// Whether deletion takes a grace period.
pub fn is_graceful(kind: Kind) -> bool {
    kind == Kind::Pod
}

/// Whether a DELETE answers with the object instead of a Status.
pub fn returns_object_on_delete(kind: Kind) -> bool {
    matches!(kind, Kind::Pod | Kind::Service | Kind::ServiceAccount | Kind::Namespace)
}

/// Whether finalizers in the spec still hold the object (Namespaces).
pub fn has_spec_finalizers(_: &Object) -> bool {
    false
}
