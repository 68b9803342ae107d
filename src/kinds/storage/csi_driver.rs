//! CSIDrivers. Mirrors `pkg/apis/storage/validation`, and `pkg/registry/storage/csidriver`.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::storage::v1::{CSIDriver, TokenRequest};
use serde_json::Value;

use crate::defaults::fields::{or, or_text};
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, boolean, column};
use crate::printers::fields::{at, flag, list, text};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use object::validation::field::{Json, Path, Problems, Shown};

/// What the server knows of CSIDrivers.
pub const ROW: Row<CSIDriver> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        generation: Generation::FromFirstChange(|new, old| new.spec != old.spec),
        drop_disabled: Some(drop_disabled),
        ..Strategy::DEFAULT
    },
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    warnings: Warnings {
        create: |told, driver| warn(told, driver, None),
        update: |told, new, old| warn(told, new, Some(old)),
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        returns_deleted: true,
        table: Table {
            columns: &[
                NAME,
                boolean("AttachRequired"),
                boolean("PodInfoOnMount"),
                boolean("StorageCapacity"),
                column("TokenRequests"),
                boolean("RequiresRepublish"),
                column("Modes"),
                AGE,
            ],
            cells,
        },
        ..Facts::new("/registry/csidrivers/", 14)
    })
};

const SPEC: Path = Path::new("spec");

/// How often at most the kubelet asks a driver how many volumes the node may have, in seconds.
const UPDATE_PERIOD_MIN: i64 = 10;

/// How long a token for a driver lives, in seconds.
const TOKEN_SECONDS_MIN: i64 = 600;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;

/// A field behind a gate that is off by default, VolumeLimitScaling, is not stored.
fn drop_disabled(driver: &mut Arc<CSIDriver>) {
    if driver.spec.prevent_pod_scheduling_if_missing.is_some() {
        Arc::make_mut(driver).spec.prevent_pod_scheduling_if_missing = None;
    }
}

fn defaults(driver: &mut CSIDriver) {
    let spec = &mut driver.spec;
    or(&mut spec.attach_required, true);
    or(&mut spec.pod_info_on_mount, false);
    or(&mut spec.storage_capacity, false);
    or(&mut spec.requires_republish, false);
    or(&mut spec.se_linux_mount, false);
    or_text(&mut spec.fs_group_policy, "ReadWriteOnceWithFSType");
    let modes = spec.volume_lifecycle_modes.get_or_insert_default();
    if modes.is_empty() {
        modes.push("Persistent".to_owned());
    }
}

/// Mirrors `ValidateCSIDriver`.
fn validate(problems: &mut Problems, driver: &CSIDriver) {
    let spec = &driver.spec;
    const POLICIES: &[&str] = &["File", "None", "ReadWriteOnceWithFSType"];
    if let Some(policy) = spec.fs_group_policy.as_deref().filter(|policy| !POLICIES.contains(policy)) {
        problems.not_supported(&SPEC.child("fsGroupPolicy"), policy, POLICIES);
    }
    let requests = spec.token_requests.as_deref().unwrap_or_default();
    token_requests(problems, requests);
    const MODES: &[&str] = &["Persistent", "Ephemeral"];
    // Which of them it is is not told.
    for mode in spec.volume_lifecycle_modes.iter().flatten().filter(|mode| !MODES.contains(&mode.as_str())) {
        problems.not_supported(&SPEC.child("volumeLifecycleModes"), mode.as_str(), MODES);
    }
    if let Some(period) = spec.node_allocatable_update_period_seconds.filter(|period| *period < UPDATE_PERIOD_MIN) {
        let path = SPEC.child("nodeAllocatableUpdatePeriodSeconds");
        problems.invalid(&path, period, &format!("must be greater than or equal to {UPDATE_PERIOD_MIN} seconds"));
    }
    if let Some(flag) = spec.service_account_token_in_secrets.filter(|_| requests.is_empty()) {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        problems.invalid(&SPEC.child("serviceAccountTokenInSecrets"), Json(&flag), detail);
    }
}

/// What may not change in a driver.
fn validate_update(problems: &mut Problems, new: &CSIDriver, old: &CSIDriver) {
    validate(problems, new);
    // The path is misspelt in Kubernetes, too.
    let (path, shown) = (SPEC.child("attachedRequired"), |flag: &Option<bool>| Json(flag).shown());
    problems.immutable(&path, &new.spec.attach_required, &old.spec.attach_required, shown);
    let (path, shown) = (SPEC.child("volumeLifecycleModes"), |modes: &_| Json(modes).shown());
    problems.immutable(&path, &new.spec.volume_lifecycle_modes, &old.spec.volume_lifecycle_modes, shown);
}

/// Tokens that the driver asks for anew, and that may end in a log.
fn warn(told: &mut Vec<String>, new: &CSIDriver, old: Option<&CSIDriver>) {
    let requests = new.spec.token_requests.as_deref().unwrap_or_default();
    let same = old.is_some_and(|old| old.spec.token_requests.as_deref().unwrap_or_default() == requests);
    if !requests.is_empty() && !same && new.spec.service_account_token_in_secrets.is_none() {
        told.push(
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
             logging of tokens in volume attributes"
                .to_owned(),
        );
    }
}

fn cells(driver: &Value, now: Timestamp) -> Vec<Value> {
    let modes: Vec<&str> = list(driver, "spec.volumeLifecycleModes").iter().filter_map(Value::as_str).collect();
    let tokens: Vec<&str> = list(driver, "spec.tokenRequests").iter().map(|t| text(t, "audience")).collect();
    let does = |field: &str| flag(at(driver, "spec"), field);
    cells![
        name(driver),
        does("attachRequired"),
        does("podInfoOnMount"),
        does("storageCapacity"),
        if tokens.is_empty() { "<unset>".to_owned() } else { tokens.join(",") },
        does("requiresRepublish"),
        modes.join(","),
        created(driver, now),
    ]
}

/// One token for an audience, that lives neither too short nor too long. Mirrors `validateTokenRequests`.
fn token_requests(problems: &mut Problems, requests: &[TokenRequest]) {
    let list = SPEC.child("tokenRequests");
    for (i, request) in requests.iter().enumerate() {
        let path = list.index(i);
        if requests[..i].iter().any(|before| before.audience == request.audience) {
            problems.duplicate(&path.child("audience"), request.audience.as_str());
            continue;
        }
        let Some(seconds) = request.expiration_seconds else { continue };
        let path = path.child("expirationSeconds");
        if seconds < TOKEN_SECONDS_MIN {
            problems.invalid(&path, seconds, "may not specify a duration less than 10 minutes");
        }
        if seconds > TOKEN_SECONDS_MAX {
            problems.invalid(&path, seconds, "may not specify a duration larger than 2^32 seconds");
        }
    }
}
