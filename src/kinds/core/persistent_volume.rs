//! PersistentVolumes. Mirrors `ValidatePersistentVolume` of `pkg/apis/core/validation`, and `pkg/api/persistentvolume/util.go`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeSpec, PersistentVolumeStatus};
use serde_json::Value;

use crate::core::persistent_volume_claim::BETA_CLASS;
use crate::defaults::fields::or_text;
use crate::pod_template::scheduling::node_selector;
use crate::pod_template::volume_source::Target;
use crate::pod_template::warnings::of_term;
use crate::pod_template::{volume, volume_source, volume_warnings};
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column, wide};
use crate::printers::fields::text;
use crate::printers::storage::{access_modes, claim_of, class_of, or_unset, phase, size};
use crate::row::{Facts, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::validation::diff;
use crate::validation::volumes::{class_name, driver_name, known_access_modes, positive, volume_mode};
use object::time::Instant;
use object::validation::field::{Json, Path, Problems, Shown};

/// What the server knows of PersistentVolumes.
pub const ROW: Row<PersistentVolume> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(prepare_for_create),
        prepare_for_status_update: Some(note_phase_transition),
        ..Strategy::DEFAULT
    },
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    warnings: Warnings { any: warn, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table {
            columns: &[
                NAME,
                column("Capacity"),
                column("Access Modes"),
                column("Reclaim Policy"),
                column("Status"),
                column("Claim"),
                column("StorageClass"),
                column("VolumeAttributesClass"),
                column("Reason"),
                AGE,
                wide("VolumeMode"),
            ],
            cells,
        },
        ..Facts::new("/registry/persistentvolumes/", 14)
    })
};

const SPEC: Path = Path::new("spec");

/// What a volume may be, in the order that it is looked at: of two the later one is too much.
const SOURCES: &[&str] = &[
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

const RECLAIM_POLICIES: &[&str] = &["Delete", "Recycle", "Retain"];

const BETA_OPTIONS: (&str, &str) =
    ("volume.beta.kubernetes.io/mount-options", "deprecated since v1.31; use \"mountOptions\" attribute instead");

fn prepare_for_create(volume: &mut PersistentVolume, now: Instant) {
    let (phase, since) = (Some("Pending".into()), Some(now.time()));
    volume.status = Some(PersistentVolumeStatus { phase, last_phase_transition_time: since, ..Default::default() });
}

/// A volume's status says since when it is in its phase.
fn note_phase_transition(new: &mut PersistentVolume, old: &PersistentVolume, now: Instant) {
    let phase = |volume: &PersistentVolume| volume.status.as_ref().and_then(|status| status.phase.clone());
    if phase(new) != phase(old) {
        new.status.get_or_insert_default().last_phase_transition_time = Some(now.time());
    }
}

fn defaults(volume: &mut PersistentVolume) {
    or_text(&mut volume.status.get_or_insert_default().phase, "Pending");
    let spec = volume.spec.get_or_insert_default();
    or_text(&mut spec.persistent_volume_reclaim_policy, "Retain");
    or_text(&mut spec.volume_mode, "Filesystem");
    if let Some(source) = &mut spec.host_path {
        or_text(&mut source.type_, "");
    }
    if let Some(disk) = &mut spec.iscsi {
        or_text(&mut disk.iscsi_interface, "default");
    }
    if let Some(disk) = &mut spec.rbd {
        volume_source::block_device(&mut disk.pool, &mut disk.user, &mut disk.keyring);
    }
    if let Some(disk) = &mut spec.azure_disk {
        volume_source::of_azure_disk(disk);
    }
    if let Some(disk) = &mut spec.scale_io {
        volume_source::scale_io(&mut disk.storage_mode, &mut disk.fs_type);
    }
}

/// Mirrors `ValidatePersistentVolume`.
fn validate(problems: &mut Problems, volume: &PersistentVolume) {
    let default = PersistentVolumeSpec::default();
    let spec = volume.spec.as_ref().unwrap_or(&default);
    let modes = spec.access_modes.as_deref().unwrap_or_default();
    if modes.is_empty() {
        problems.required(&SPEC.child("accessModes"), "");
    }
    known_access_modes(problems, &SPEC, modes);
    let path = SPEC.child("capacity");
    let capacity = spec.capacity.iter().flatten();
    if spec.capacity.as_ref().is_none_or(|capacity| capacity.is_empty()) {
        problems.required(&path, "");
    }
    if !spec.capacity.iter().flatten().map(|(name, _)| name.as_str()).eq(["storage"]) {
        problems.not_supported(&path, Json(&spec.capacity), &["storage"]);
    }
    for (name, amount) in capacity {
        positive(problems, &path.key(name), amount);
    }
    let policy = spec.persistent_volume_reclaim_policy.as_deref().unwrap_or_default();
    if !policy.is_empty() && !RECLAIM_POLICIES.contains(&policy) {
        problems.not_supported(&SPEC.child("persistentVolumeReclaimPolicy"), policy, RECLAIM_POLICIES);
    }
    if let Some(affinity) = &spec.node_affinity {
        let path = SPEC.child("nodeAffinity");
        let path = path.child("required");
        match &affinity.required {
            Some(selector) => node_selector(problems, &path, selector),
            None => problems.required(&path, "must specify required node constraints"),
        }
    }
    source(problems, spec);
    class_name(problems, &SPEC, spec.storage_class_name.as_deref());
    volume_mode(problems, &SPEC, spec.volume_mode.as_deref());
}

/// What may not change in a volume: what it is.
fn validate_update(problems: &mut Problems, new: &PersistentVolume, old: &PersistentVolume) {
    validate(problems, new);
    let (Some(spec), Some(before)) = (&new.spec, &old.spec) else { return };
    if source_of(spec) != source_of(before) {
        const WHY: &str = "spec.persistentvolumesource is immutable after creation";
        let why =
            format!("{WHY}\n{}", diff::of_structs("PersistentVolumeSource", &source_of(before), &source_of(spec)));
        problems.forbidden(&SPEC.child("persistentvolumesource"), &why);
    }
    let shown = |mode: &Option<String>| Json(mode).shown();
    problems.immutable(&Path::new("volumeMode"), &spec.volume_mode, &before.volume_mode, shown);
    if before.node_affinity.is_some() {
        let shown = |affinity: &_| Json(affinity).shown();
        problems.immutable(&Path::new("nodeAffinity"), &spec.node_affinity, &before.node_affinity, shown);
    }
}

fn warn(told: &mut Vec<String>, volume: &PersistentVolume) {
    let annotations = volume.metadata.annotations.as_ref();
    for (key, instead) in [BETA_CLASS, BETA_OPTIONS] {
        if annotations.is_some_and(|all| all.contains_key(key)) {
            told.push(format!("metadata.annotations[{key}]: {instead}"));
        }
    }
    let Some(spec) = &volume.spec else { return };
    if spec.persistent_volume_reclaim_policy.as_deref() == Some("Recycle") {
        told.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended \
             approach is to use dynamic provisioning."
                .to_owned(),
        );
    }
    let required = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    for (i, term) in required.into_iter().flat_map(|required| &required.node_selector_terms).enumerate() {
        of_term(told, &format!("spec.nodeAffinity.required.nodeSelectorTerms[{i}]"), term);
    }
    told.extend(removed(spec).map(|(plugin, since)| format!("spec.{plugin}: {since}")));
}

fn cells(volume: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        name(volume),
        size(volume, "spec.capacity"),
        access_modes(volume, "spec.accessModes"),
        text(volume, "spec.persistentVolumeReclaimPolicy"),
        phase(volume),
        claim_of(volume),
        class_of(volume),
        or_unset(volume, "spec.volumeAttributesClassName"),
        text(volume, "status.reason"),
        created(volume, now),
        or_unset(volume, "spec.volumeMode"),
    ]
}

fn source(problems: &mut Problems, spec: &PersistentVolumeSpec) {
    let sources = serde_json::to_value(source_of(spec)).unwrap_or_default();
    let given = |name: &&&str| sources.get(**name).is_some();
    let mut names = SOURCES.iter().filter(given);
    if names.next().is_none() {
        problems.required(&SPEC, "must specify a volume type");
    }
    for name in names {
        problems.forbidden(&SPEC.child(name), "may not specify more than 1 volume type");
    }
    if let Some(host) = &spec.host_path {
        let path = SPEC.child("hostPath");
        directory(problems, &path, &host.path);
        if !host.path.is_empty() {
            volume::host_path_type(problems, &path, host.type_.as_deref().unwrap_or_default());
        }
        if host.path == "/" && spec.persistent_volume_reclaim_policy.as_deref() == Some("Recycle") {
            const WHY: &str = "may not be 'recycle' for a hostPath mount of '/'";
            problems.forbidden(&SPEC.child("persistentVolumeReclaimPolicy"), WHY);
        }
    }
    if let Some(share) = &spec.nfs {
        volume_source::nfs(problems, &SPEC.child("nfs"), share);
    }
    if let Some(disk) = &spec.iscsi {
        let chap = disk.chap_auth_discovery == Some(true) || disk.chap_auth_session == Some(true);
        let target = Target { portal: &disk.target_portal, iqn: &disk.iqn, lun: disk.lun };
        target.validate(problems, &SPEC.child("iscsi"), chap && disk.secret_ref.is_none());
    }
    if let Some(disk) = &spec.fc {
        volume_source::fibre_channel(problems, &SPEC.child("fc"), disk);
    }
    if let Some(disk) = &spec.azure_disk {
        volume_source::azure_disk(problems, &SPEC.child("azureDisk"), disk);
    }
    if let Some(local) = &spec.local {
        directory(problems, &SPEC.child("local"), &local.path);
        if spec.node_affinity.is_none() {
            problems.required(&SPEC.child("nodeAffinity"), "Local volume requires node affinity");
        }
    }
    if let Some(csi) = &spec.csi {
        let path = SPEC.child("csi");
        driver_name(problems, &path.child("driver"), &csi.driver);
        if csi.volume_handle.is_empty() {
            problems.required(&path.child("volumeHandle"), "");
        }
    }
}

/// A path on a node that does not lead back up.
fn directory(problems: &mut Problems, path: &Path, directory: &str) {
    let path = path.child("path");
    if directory.is_empty() {
        problems.required(&path, "");
    } else if directory.split('/').any(|part| part == "..") {
        problems.invalid(&path, directory, "must not contain '..'");
    }
}

/// The volume source alone: the spec without what may change.
fn source_of(spec: &PersistentVolumeSpec) -> PersistentVolumeSpec {
    PersistentVolumeSpec {
        access_modes: None,
        capacity: None,
        claim_ref: None,
        mount_options: None,
        node_affinity: None,
        persistent_volume_reclaim_policy: None,
        storage_class_name: None,
        volume_attributes_class_name: None,
        volume_mode: None,
        ..spec.clone()
    }
}

/// Plugins that no kubelet has any more.
fn removed(spec: &PersistentVolumeSpec) -> impl Iterator<Item = (&'static str, &'static str)> {
    [
        (spec.cephfs.is_some(), "cephfs"),
        (spec.photon_persistent_disk.is_some(), "photonPersistentDisk"),
        (spec.scale_io.is_some(), "scaleIO"),
        (spec.storageos.is_some(), "storageOS"),
        (spec.glusterfs.is_some(), "glusterfs"),
        (spec.rbd.is_some(), "rbd"),
    ]
    .into_iter()
    .filter_map(|(used, plugin)| Some((plugin, volume_warnings::since(plugin)?)).filter(|_| used))
}
