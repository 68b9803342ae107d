//! What CSI drivers and nodes have to do with each other: drivers, their nodes, attachments and capacities. Mirrors
//! `pkg/apis/storage/validation`.

use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSINodeDriver, CSIStorageCapacity, TokenRequest, VolumeAttachment, VolumeAttachmentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::kinds::pod_template::container::quantity_of;
use crate::kinds::validation::metadata::label_selector;
use crate::kinds::validation::volumes::driver_name;
use crate::object::selector::names::{check_label_key, check_subdomain};
use crate::object::validation::field::{Json, Path, Problems, Shown};
use crate::object::validation::internal::Internal;
const SPEC: Path = Path::new("spec");
/// The longest id that a driver may give a node.
const NODE_ID_LEN_MAX: usize = 256;
/// The most bytes that a driver may tell of an attachment.
const ATTACHMENT_BYTES_MAX: usize = 256 * 1024;
/// The longest message about an attachment that failed.
const ERROR_LEN_MAX: usize = 1024;
/// How often at most the kubelet asks a driver how many volumes the node may have, in seconds.
const UPDATE_PERIOD_MIN: i64 = 10;
/// How long a token for a driver lives, in seconds.
const TOKEN_SECONDS_MIN: i64 = 600;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;

/// Mirrors `ValidateVolumeAttachment`. The volume that is written out in an attachment is not looked at.
pub fn attachment(problems: &mut Problems, attachment: &VolumeAttachment) {
    const ONE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    let spec = &attachment.spec;
    driver_name(problems, &SPEC.child("attacher"), &spec.attacher);
    let (path, name) = (SPEC.child("source"), spec.source.persistent_volume_name.as_deref());
    match (&spec.source.inline_volume_spec, name) {
        (None, None) => problems.required(&path, ONE),
        (Some(_), Some(_)) => problems.forbidden(&path, ONE),
        (None, Some("")) => {
            problems.required(&path.child("persistentVolumeName"), "must specify non empty persistentVolumeName");
        }
        _ => {}
    }
    problems.all_invalid(&SPEC.child("nodeName"), &spec.node_name, check_subdomain(&spec.node_name));
    attachment_status(problems, attachment.status.as_ref());
    if let Some(name) = name {
        problems.all_invalid(&path.child("persistentVolumeName"), name, check_subdomain(name));
    }
}

/// What a driver tells of an attachment. Mirrors `validateVolumeAttachmentStatus`.
fn attachment_status(problems: &mut Problems, status: Option<&VolumeAttachmentStatus>) {
    let (path, Some(status)) = (Path::new("status"), status) else { return };
    let bytes: usize = status.attachment_metadata.iter().flatten().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > ATTACHMENT_BYTES_MAX {
        problems.too_long(&path.child("attachmentMetadata"), ATTACHMENT_BYTES_MAX);
    }
    for (field, error) in [("attachError", &status.attach_error), ("detachError", &status.detach_error)] {
        let (path, Some(error)) = (path.child(field), error) else { continue };
        if error.message.as_ref().is_some_and(|message| message.len() > ERROR_LEN_MAX) {
            // Kubernetes tells the other limit, too.
            problems.too_long(&path.child("message"), ATTACHMENT_BYTES_MAX);
        }
        if let Some(code) = error.error_code.filter(|code| *code < 0) {
            problems.invalid(&path.child("errorCode"), code, "must be between 0 and 2147483647, inclusive");
        }
    }
}

/// What may not change in an attachment: what is attached where.
pub fn attachment_update(problems: &mut Problems, new: &VolumeAttachment, old: &VolumeAttachment) {
    attachment(problems, new);
    if new.spec != old.spec {
        problems.invalid(&SPEC, Internal("VolumeAttachmentSpec", &new.spec), "field is immutable");
    }
}

/// Mirrors `ValidateCSIDriver`.
pub fn driver(problems: &mut Problems, driver: &CSIDriver) {
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

/// What may not change in a driver.
pub fn driver_update(problems: &mut Problems, new: &CSIDriver, old: &CSIDriver) {
    driver(problems, new);
    // The path is misspelt in Kubernetes, too.
    let (path, shown) = (SPEC.child("attachedRequired"), |flag: &Option<bool>| Json(flag).shown());
    problems.immutable(&path, &new.spec.attach_required, &old.spec.attach_required, shown);
    let (path, shown) = (SPEC.child("volumeLifecycleModes"), |modes: &_| Json(modes).shown());
    problems.immutable(&path, &new.spec.volume_lifecycle_modes, &old.spec.volume_lifecycle_modes, shown);
}

/// Mirrors `ValidateCSIStorageCapacity`.
pub fn capacity(problems: &mut Problems, capacity: &CSIStorageCapacity) {
    if let Some(topology) = &capacity.node_topology {
        label_selector(problems, &Path::new("nodeTopology"), topology);
    }
    let class = capacity.storage_class_name.as_str();
    problems.all_invalid(&Path::new("storageClassName"), class, check_subdomain(class));
    if let Some(amount) = &capacity.capacity {
        quantity_of(problems, &Path::new("capacity"), "storage", amount);
    }
}

/// What may not change in a capacity: whose it is.
pub fn capacity_update(problems: &mut Problems, new: &CSIStorageCapacity, old: &CSIStorageCapacity) {
    capacity(problems, new);
    let shown = |topology: &Option<LabelSelector>| Json(topology).shown();
    problems.immutable(&Path::new("nodeTopology"), &new.node_topology, &old.node_topology, shown);
    let (path, shown) = (Path::new("storageClassName"), |name: &String| format!("{name:?}"));
    problems.immutable(&path, &new.storage_class_name, &old.storage_class_name, shown);
}

/// Mirrors `ValidateCSINode`.
pub fn node(problems: &mut Problems, node: &CSINode) {
    let list = SPEC.child("drivers");
    for (i, driver) in node.spec.drivers.iter().enumerate() {
        let path = list.index(i);
        driver_name(problems, &path.child("name"), &driver.name);
        match driver.node_id.as_str() {
            "" => problems.required(&path.child("nodeID"), ""),
            id if id.len() > NODE_ID_LEN_MAX => {
                problems.invalid(&path.child("nodeID"), id, &format!("must be {NODE_ID_LEN_MAX} characters or less"));
            }
            _ => {}
        }
        let count = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count);
        if let Some(count) = count {
            let path = path.child("allocatable");
            problems.not_negative(&path.child("count"), count);
        }
        if node.spec.drivers[..i].iter().any(|other| other.name == driver.name) {
            problems.duplicate(&path.child("name"), driver.name.as_str());
        }
        topology_keys(problems, &path, driver.topology_keys.as_deref().unwrap_or_default());
    }
}

/// The labels by which a driver tells places apart. What is wrong with them is told of the driver.
fn topology_keys(problems: &mut Problems, driver: &Path, keys: &[String]) {
    for (i, key) in keys.iter().enumerate() {
        if key.is_empty() {
            problems.required(driver, "");
        }
        if keys[..i].contains(key) {
            problems.duplicate(driver, key.as_str());
        }
        problems.all_invalid(driver, key, check_label_key(key));
    }
}

/// What may not change about a driver on a node: all but how many volumes it can attach there.
pub fn node_update(problems: &mut Problems, new: &CSINode, old: &CSINode) {
    node(problems, new);
    let path = SPEC.child("drivers");
    let fixed = |driver: &CSINodeDriver| CSINodeDriver { allocatable: None, ..driver.clone() };
    for before in &old.spec.drivers {
        for driver in new.spec.drivers.iter().filter(|driver| driver.name == before.name) {
            problems
                .immutable(&path, &fixed(driver), &fixed(before), |driver| Internal("CSINodeDriver", driver).shown());
        }
    }
}
