//! Preconditions: is what is stored still what the sender means?

use crate::registry;
use object::status::{Cause, Reason};
use object::{Object, Status};
use wire::{DeleteOptions, Verb};

use super::deletion::is_pending;
use super::write::{Create, Delete, Done, Update, Write};

/// Compares uid and resourceVersion. A delete may find that the object is going already: then it is done.
pub(super) fn check_preconditions(verb: Verb, write: &Write) -> Result<Option<Done>, Status> {
    match write {
        Write::Create(Create { .. }) => Ok(None),
        Write::Update(Update { old, new, .. }) => check_uid(verb, old, new).map(|()| None),
        Write::Delete(Delete { old, options, .. }) => {
            check_options(old, options)?;
            Ok(is_pending(old, options).then(|| Done::Dying(old.clone())))
        }
    }
}

/// The uid, where the new state carries one. A patch with another uid is for validation to refuse. Mirrors
/// `defaultUpdatedObjectInfo.Preconditions`.
fn check_uid(verb: Verb, old: &Object, new: &Object) -> Result<(), Status> {
    let (there, sent) = (old.meta(), new.meta());
    if let (Some(a), Some(b)) = (&sent.uid, &there.uid)
        && verb != Verb::Patch
        && !a.is_empty()
        && a != b
    {
        return Err(Status::conflict(old.kind(), old.name(), &wrong_uid(old, a)));
    }
    Ok(())
}

/// Whether the resourceVersion of an update, where it has one, is that of the stored object. Mutating admission has had its turn
/// by then. Mirrors `Store.Update` of `registry/generic/registry/store.go`.
pub(super) fn check_version(write: &Write) -> Result<(), Status> {
    let Write::Update(Update { old, new, .. }) = write else { return Ok(()) };
    let (there, sent) = (old.meta(), new.meta());
    let (kind, name) = (old.kind(), old.name());
    match sent.resource_version.as_deref().unwrap_or_default() {
        "" | "0" if !kinds::facts(kind).unconditional_update => {
            let message = "Invalid value: 0: must be specified for an update".to_owned();
            let field = "metadata.resourceVersion".to_owned();
            let cause = Cause { reason: "FieldValueInvalid".into(), message, field };
            let info = kind.info();
            Err(Status::invalid_kind(info.group, info.plural, name, vec![cause]))
        }
        "" | "0" => Ok(()),
        version if Some(version) == there.resource_version.as_deref() => Ok(()),
        version if version.parse::<u64>().is_err() => {
            Err(Status::new(Reason::Unknown, format!("strconv.ParseUint: parsing \"{version}\": invalid syntax")))
        }
        _ => Err(Status::modified(kind, name)),
    }
}

/// uid and resourceVersion, where the request says which it means.
pub(crate) fn check_options(object: &Object, options: &DeleteOptions) -> Result<(), Status> {
    let meta = object.meta();
    let checks = [
        ("UID", &options.uid, &meta.uid, "deleted and then recreated"),
        ("ResourceVersion", &options.resource_version, &meta.resource_version, "modified"),
    ];
    for (what, wanted, there, happened) in checks {
        if let Some(wanted) = wanted
            && Some(wanted) != there.as_ref()
        {
            let there = there.as_deref().unwrap_or_default();
            let mut why =
                format!("the {what} in the precondition ({wanted}) does not match the {what} in record ({there}).");
            why += &format!(" The object might have been {happened}");
            // Unlike other conflicts this one names the kind, not the resource.
            let info = object.kind().info();
            return Err(Status::conflict_with(info.group, info.kind, object.name(), &why));
        }
    }
    Ok(())
}

/// Why a write for another uid than the stored object's is refused.
pub(crate) fn wrong_uid(there: &Object, uid: &str) -> String {
    wrong_meta(there, "UID", uid)
}

/// Why a write for another uid or version than the stored object's is refused. Mirrors `storage.NewInvalidObjError`.
pub(crate) fn wrong_meta(there: &Object, what: &str, wanted: &str) -> String {
    let key = registry::key(there.kind(), there.namespace(), there.name());
    let meta = there.meta();
    let stored = if what == "UID" { &meta.uid } else { &meta.resource_version };
    let stored = stored.as_deref().unwrap_or_default();
    format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
         failed: {what} in precondition: {wanted}, {what} in object meta: {stored}"
    )
}
