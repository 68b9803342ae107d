//! Validation: what is wrong with what would be stored, and what is right and yet hardly meant. What each kind must be is in
//! [`crate::validation`], what its sender is warned of in [`crate::warnings`].

use crate::{Handling, validation, warnings};
use object::status::Cause;
use object::{Object, Status};
use wire::Subresource;

use super::write::{Create, Update, Write};

/// Refuses what is wrong, with all that is wrong with it; and warns.
pub(super) fn validate(handling: &mut Handling, write: &Write) -> Result<(), Status> {
    let (causes, new) = match write {
        Write::Create(Create { new, .. }) => {
            (validation::validate_create_in(handling.served, new, handling.custom.as_deref()), new)
        }
        Write::Update(Update { old, new, .. }) => (problems_of_update(handling, old, new), new),
        Write::Delete(_) => return Ok(()),
    };
    if !causes.is_empty() {
        return Err(Status::invalid(new.kind(), new.name(), causes));
    }
    handling.stage("validation", String::new);
    if handling.is_from_outside() {
        handling.warnings.extend(match (write, handling.request.subresource) {
            (Write::Create(Create { new, .. }), _) => warnings::on_create(new),
            (Write::Update(Update { old, new, .. }), None) => warnings::on_update(new, old),
            (Write::Update(Update { new, .. }), Some(Subresource::Status)) => warnings::on_status_update(new),
            _ => Vec::new(),
        });
    }
    Ok(())
}

fn problems_of_update(handling: &Handling, old: &Object, new: &Object) -> Vec<Cause> {
    let custom = handling.custom.as_deref();
    match handling.request.subresource {
        Some(Subresource::Status) => validation::validate_status_update(new, old, custom),
        Some(Subresource::Finalize) => validation::validate_finalize(new, old),
        Some(Subresource::EphemeralContainers) => validation::validate_ephemeral_containers(new, old),
        Some(Subresource::Resize) => validation::validate_resize(new, old),
        Some(Subresource::Approval) => validation::validate_approval(new, old),
        _ => validation::validate_update_in(handling.served, new, old, custom),
    }
}
