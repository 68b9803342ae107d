//! ResourceClaims. Mirrors `ValidateResourceClaim` of `pkg/apis/resource/validation`.
//!
//! Claims are kept and checked. Nothing allocates the devices that they ask for: no driver tells of any here.

use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimStatus};
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{at, list};
use crate::resource::devices;
use crate::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use object::validation::field::{Path, Problems, Shown};
use object::validation::internal::Internal;

/// What the server knows of ResourceClaims.
pub const ROW: Row<ResourceClaim> = Row {
    defaults: Some(|claim| devices::fill_in(claim.spec.devices.as_mut())),
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|claim, _| claim.status = Some(ResourceClaimStatus::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: validate_update,
        status: validate_status,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table {
            columns: &[NAME, column("State"), AGE],
            cells: |o, now| cells![name(o), state(o), created(o, now)],
        },
        ..Facts::new("/registry/resourceclaims/", 8)
    })
};

const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");
/// The most that may share a claim.
const RESERVED_MAX: usize = 256;

fn validate(problems: &mut Problems, claim: &ResourceClaim) {
    devices::validate_claim(problems, &SPEC, claim.spec.devices.as_ref());
}

fn validate_update(problems: &mut Problems, new: &ResourceClaim, old: &ResourceClaim) {
    problems.immutable(&SPEC, &new.spec, &old.spec, |spec| Internal("ResourceClaimSpec", spec).shown());
}

/// Only what was allocated can be reserved.
fn validate_status(problems: &mut Problems, new: &ResourceClaim, _: &ResourceClaim) {
    let Some(status) = &new.status else { return };
    let list = STATUS.child("reservedFor");
    let those = status.reserved_for.as_deref().unwrap_or_default();
    if !devices::is_short(problems, &list, those, RESERVED_MAX) {
        return;
    }
    for (i, it) in those.iter().enumerate() {
        let path = list.index(i);
        for (field, text) in [("resource", &it.resource), ("name", &it.name), ("uid", &it.uid)] {
            if text.is_empty() {
                problems.required(&path.child(field), "");
            }
        }
    }
    devices::unique(problems, &list, those.iter().map(|it| it.uid.as_str()));
    if status.allocation.is_none() && status.reserved_for.as_ref().is_some_and(|those| !those.is_empty()) {
        problems.forbidden(&STATUS.child("reservedFor"), "may not be specified when `allocated` is not set");
    }
}

/// `pending`, or `allocated,reserved`.
fn state(claim: &Value) -> String {
    let deleted = !at(claim, "metadata.deletionTimestamp").is_null();
    let allocated = !at(claim, "status.allocation").is_null();
    let reserved = !list(claim, "status.reservedFor").is_empty();
    let states = [
        (deleted, "deleted"),
        (!allocated && !deleted, "pending"),
        (allocated, "allocated"),
        (allocated && reserved, "reserved"),
    ];
    states.iter().filter(|(so, _)| *so).map(|(_, state)| *state).collect::<Vec<_>>().join(",")
}
