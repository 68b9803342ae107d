//! ControllerRevisions, which DaemonSets and StatefulSets keep. Mirrors `pkg/apis/apps/validation`.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ControllerRevision;
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{flag, int, list, text};
use crate::row::{Facts, Row, Table, Validation};
use object::Kind;
use object::validation::field::{Path, Problems};

/// What the server knows of ControllerRevisions.
pub const ROW: Row<ControllerRevision> = Row {
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts {
        table: Table { columns: &[NAME, column("Controller"), column("Revision"), AGE], cells },
        ..Facts::new("/registry/controllerrevisions/", 16)
    })
};

/// A revision's data and number. Mirrors `ValidateControllerRevision`.
fn validate(problems: &mut Problems, revision: &ControllerRevision) {
    if revision.data.as_ref().is_none_or(|data| data.0.is_null()) {
        problems.required(&Path::new("data"), "data is mandatory");
    }
    problems.not_negative(&Path::new("revision"), revision.revision);
}

/// A revision's data never changes.
fn validate_update(problems: &mut Problems, new: &ControllerRevision, old: &ControllerRevision) {
    validate(problems, new);
    let shown = |data: &_| serde_json::to_string(data).unwrap_or_default();
    problems.immutable(&Path::new("data"), &new.data, &old.data, shown);
}

fn cells(revision: &Value, now: Timestamp) -> Vec<Value> {
    let owners = list(revision, "metadata.ownerReferences");
    let owner = owners.iter().find(|owner| flag(owner, "controller"));
    let controller = owner.map_or_else(
        || "<none>".to_owned(),
        |owner| {
            let kind = Kind::from_manifest(text(owner, "apiVersion"), text(owner, "kind"));
            let kind = kind.map_or_else(|| text(owner, "kind").to_owned(), |kind| kind.info().qualified_kind());
            format!("{}/{}", kind.to_ascii_lowercase(), text(owner, "name"))
        },
    );
    cells![name(revision), controller, int(revision, "revision"), created(revision, now)]
}
