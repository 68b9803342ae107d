//! The volume types of clouds and storage systems; Pods and PersistentVolumes have most of them alike. Mirrors their functions
//! in `pkg/apis/core/validation`, and their defaults in `pkg/apis/core/v1/defaults.go`.

use k8s_openapi::api::core::v1::{AzureDiskVolumeSource, FCVolumeSource, FlockerVolumeSource, NFSVolumeSource, Volume};

use crate::defaults::fields::{or, or_text};
use crate::validation::volumes::driver_name;
use object::validation::field::{Json, Path, Problems};

const UNITS: std::ops::RangeInclusive<i32> = 0..=255;
const NO_UNIT: &str = "must be between 0 and 255, inclusive";

/// A source of a Pod's volume, by the name of its field.
pub fn of_pod(problems: &mut Problems, path: &Path, name: &str, volume: &Volume) {
    let required = |problems: &mut Problems, fields: &[(&str, bool)]| all_there(problems, path, fields);
    match name {
        "gcePersistentDisk" => volume
            .gce_persistent_disk
            .iter()
            .for_each(|disk| required(problems, &[("pdName", !disk.pd_name.is_empty())])),
        "awsElasticBlockStore" => volume
            .aws_elastic_block_store
            .iter()
            .for_each(|disk| required(problems, &[("volumeID", !disk.volume_id.is_empty())])),
        "gitRepo" => volume
            .git_repo
            .iter()
            .for_each(|repository| required(problems, &[("repository", !repository.repository.is_empty())])),
        "nfs" => volume.nfs.iter().for_each(|share| nfs(problems, path, share)),
        "iscsi" => volume.iscsi.iter().for_each(|disk| {
            let chap = disk.chap_auth_discovery == Some(true) || disk.chap_auth_session == Some(true);
            let target = Target { portal: &disk.target_portal, iqn: &disk.iqn, lun: disk.lun };
            target.validate(problems, path, chap && disk.secret_ref.is_none());
        }),
        "glusterfs" => volume.glusterfs.iter().for_each(|share| {
            required(problems, &[("endpoints", !share.endpoints.is_empty()), ("path", !share.path.is_empty())]);
        }),
        "flocker" => volume.flocker.iter().for_each(|set| flocker(problems, path, set)),
        "rbd" => volume.rbd.iter().for_each(|disk| {
            required(problems, &[("monitors", !disk.monitors.is_empty()), ("image", !disk.image.is_empty())]);
        }),
        "cinder" => {
            volume.cinder.iter().for_each(|disk| required(problems, &[("volumeID", !disk.volume_id.is_empty())]))
        }
        "cephfs" => {
            volume.cephfs.iter().for_each(|share| required(problems, &[("monitors", !share.monitors.is_empty())]))
        }
        "fc" => volume.fc.iter().for_each(|disk| fibre_channel(problems, path, disk)),
        "flexVolume" => {
            volume.flex_volume.iter().for_each(|flex| required(problems, &[("driver", !flex.driver.is_empty())]))
        }
        "azureFile" => volume.azure_file.iter().for_each(|share| {
            required(
                problems,
                &[("secretName", !share.secret_name.is_empty()), ("shareName", !share.share_name.is_empty())],
            );
        }),
        "vsphereVolume" => volume
            .vsphere_volume
            .iter()
            .for_each(|disk| required(problems, &[("volumePath", !disk.volume_path.is_empty())])),
        "photonPersistentDisk" => volume
            .photon_persistent_disk
            .iter()
            .for_each(|disk| required(problems, &[("pdID", !disk.pd_id.is_empty())])),
        "portworxVolume" => volume
            .portworx_volume
            .iter()
            .for_each(|disk| required(problems, &[("volumeID", !disk.volume_id.is_empty())])),
        "azureDisk" => volume.azure_disk.iter().for_each(|disk| azure_disk(problems, path, disk)),
        "scaleIO" => volume.scale_io.iter().for_each(|disk| {
            let named = disk.volume_name.as_ref().is_some_and(|name| !name.is_empty());
            required(
                problems,
                &[("gateway", !disk.gateway.is_empty()), ("system", !disk.system.is_empty()), ("volumeName", named)],
            );
        }),
        "csi" => volume.csi.iter().for_each(|csi| driver_name(problems, &path.child("driver"), &csi.driver)),
        _ => {}
    }
}

/// What is filled in of a Pod's volume.
pub fn defaults(volume: &mut Volume) {
    if let Some(disk) = &mut volume.iscsi {
        or_text(&mut disk.iscsi_interface, "default");
    }
    if let Some(disk) = &mut volume.rbd {
        block_device(&mut disk.pool, &mut disk.user, &mut disk.keyring);
    }
    if let Some(disk) = &mut volume.azure_disk {
        of_azure_disk(disk);
    }
    if let Some(disk) = &mut volume.scale_io {
        scale_io(&mut disk.storage_mode, &mut disk.fs_type);
    }
}

/// Where Ceph keeps a block device, and as whom it is asked for it.
pub fn block_device(pool: &mut Option<String>, user: &mut Option<String>, keyring: &mut Option<String>) {
    or_text(pool, "rbd");
    or_text(user, "admin");
    or_text(keyring, "/etc/ceph/keyring");
}

/// How ScaleIO gives out space.
pub fn scale_io(mode: &mut Option<String>, file_system: &mut Option<String>) {
    or_text(mode, "ThinProvisioned");
    or_text(file_system, "xfs");
}

/// How a disk of Azure is attached.
pub fn of_azure_disk(disk: &mut AzureDiskVolumeSource) {
    or(&mut disk.caching_mode, "ReadWrite".to_owned());
    or(&mut disk.kind, "Shared".to_owned());
    or(&mut disk.fs_type, "ext4".to_owned());
    or(&mut disk.read_only, false);
}

/// Fields that may not be empty, and whether they are there.
fn all_there(problems: &mut Problems, path: &Path, fields: &[(&str, bool)]) {
    for (field, _) in fields.iter().filter(|(_, there)| !there) {
        problems.required(&path.child(field), "");
    }
}

/// Mirrors `validateNFSVolumeSource`.
pub fn nfs(problems: &mut Problems, path: &Path, share: &NFSVolumeSource) {
    all_there(problems, path, &[("server", !share.server.is_empty()), ("path", !share.path.is_empty())]);
    if !share.path.starts_with('/') {
        problems.invalid(&path.child("path"), share.path.as_str(), "must be an absolute path");
    }
}

/// A disk that is reached by iSCSI.
pub struct Target<'a> {
    /// Where it is asked for.
    pub portal: &'a str,
    /// Its name.
    pub iqn: &'a str,
    /// Which of the disks under that name.
    pub lun: i32,
}

impl Target<'_> {
    /// Mirrors `validateISCSIVolumeSource`.
    pub fn validate(&self, problems: &mut Problems, path: &Path, lacks_secret: bool) {
        if self.portal.is_empty() {
            problems.required(&path.child("targetPortal"), "");
        }
        let at = path.child("iqn");
        if self.iqn.is_empty() {
            problems.required(&at, "");
        } else if !["iqn", "eui", "naa"].iter().any(|form| self.iqn.starts_with(form)) {
            problems.invalid(&at, self.iqn, "must be valid format starting with iqn, eui, or naa");
        } else if !is_target_name(self.iqn) {
            problems.invalid(&at, self.iqn, "must be valid format");
        }
        if !UNITS.contains(&self.lun) {
            problems.invalid(&path.child("lun"), self.lun, NO_UNIT);
        }
        if lacks_secret {
            problems.required(&path.child("secretRef"), "");
        }
    }
}

/// `iqn.2001-04.com.example:storage`, or `eui.` or `naa.` and a number.
fn is_target_name(name: &str) -> bool {
    let (form, rest) = name.split_at(3);
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|c| c.is_ascii_digit());
    let number = |count: usize| rest.len() == count + 1 && rest.bytes().skip(1).all(|c| c.is_ascii_alphanumeric());
    match form {
        "eui" => number(16),
        "naa" => number(32),
        _ => rest.strip_prefix('.').and_then(|rest| rest.split_once('.')).is_some_and(|(month, rest)| {
            let dated = month.split_once('-').is_some_and(|(year, month)| digits(year, 4) && digits(month, 2));
            let owner = |c: u8| c.is_ascii_alphanumeric() || b"-.".contains(&c);
            let named = rest.split_once(':').is_some_and(|(by, what)| {
                let wrong = |c: char| c.is_whitespace() || ",;*&$|".contains(c);
                !by.is_empty() && by.bytes().all(owner) && !what.is_empty() && !what.contains(wrong)
            });
            dated && named
        }),
    }
}

/// Mirrors `validateFlockerVolumeSource`.
fn flocker(problems: &mut Problems, path: &Path, set: &FlockerVolumeSource) {
    let some = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    match (some(&set.dataset_name), some(&set.dataset_uuid)) {
        (false, false) => problems.required(path, "one of datasetName and datasetUUID is required"),
        (true, true) => {
            const WHY: &str = "datasetName and datasetUUID can not be specified simultaneously";
            problems.invalid(path, "resource", WHY);
        }
        _ => {}
    }
    if let Some(name) = set.dataset_name.as_deref().filter(|name| name.contains('/')) {
        problems.invalid(&path.child("datasetName"), name, "must not contain '/'");
    }
}

/// Mirrors `validateFCVolumeSource`.
pub fn fibre_channel(problems: &mut Problems, path: &Path, disk: &FCVolumeSource) {
    let at = path.child("targetWWNs");
    let names = disk.target_wwns.as_deref().unwrap_or_default();
    match (names.is_empty(), disk.wwids.as_ref().is_none_or(Vec::is_empty)) {
        (true, true) => problems.required(&at, "must specify either targetWWNs or wwids, but not both"),
        (false, false) => {
            problems.invalid(&at, Json(names), "targetWWNs and wwids can not be specified simultaneously");
        }
        _ => {}
    }
    let at = path.child("lun");
    match disk.lun.filter(|_| !names.is_empty()) {
        Some(lun) if !UNITS.contains(&lun) => problems.invalid(&at, lun, NO_UNIT),
        None if !names.is_empty() => problems.required(&at, "lun is required if targetWWNs is specified"),
        _ => {}
    }
}

/// Mirrors `validateAzureDisk`.
pub fn azure_disk(problems: &mut Problems, path: &Path, disk: &AzureDiskVolumeSource) {
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    all_there(problems, path, &[("diskName", !disk.disk_name.is_empty()), ("diskURI", !disk.disk_uri.is_empty())]);
    for (field, value, supported) in [
        ("cachingMode", &disk.caching_mode, ["None", "ReadOnly", "ReadWrite"]),
        ("kind", &disk.kind, ["Dedicated", "Managed", "Shared"]),
    ] {
        if let Some(value) = value.as_deref().filter(|value| !supported.contains(value)) {
            problems.not_supported(&path.child(field), value, &supported);
        }
    }
    let (begins, form) = match disk.kind.as_deref() {
        None => return,
        Some("Managed") => ("/subscriptions/", MANAGED),
        Some(_) => ("https://", BLOB),
    };
    if !disk.disk_uri.starts_with(begins) {
        problems.not_supported(&path.child("diskURI"), disk.disk_uri.as_str(), &[form]);
    }
}
