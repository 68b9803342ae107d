//! Volumes of a Pod. Mirrors `ValidateVolumes` in `pkg/apis/core/validation`.
//!
//! Left out: the volume types of clouds and old storage systems; they count as one source each, unchecked.

use k8s_openapi::api::core::v1::{KeyToPath, Volume};

use crate::object::quantity::Amount;

use super::container::descending_path;
use super::field::{Path, Problems};
use super::names::check_dns_label;

const HOST_PATH_TYPES: &[&str] =
    &["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// Checks the volumes, and says the names of those that are right: only these can be mounted.
pub fn volumes<'a>(problems: &mut Problems, path: &Path, volumes: &'a [Volume]) -> Vec<&'a str> {
    let mut names = Vec::with_capacity(volumes.len());
    for (i, volume) in volumes.iter().enumerate() {
        let path = path.index(i);
        let before = problems.0.len();
        source(problems, &path, volume);
        let name = volume.name.as_str();
        if name.is_empty() {
            problems.required(&path.child("name"), "");
        } else {
            problems.all_invalid(&path.child("name"), name, check_dns_label(name));
        }
        if names.contains(&name) {
            problems.duplicate(&path.child("name"), name);
        }
        if problems.0.len() == before {
            names.push(name);
        }
    }
    names
}

fn source(problems: &mut Problems, path: &Path, volume: &Volume) {
    let mut first = None;
    for name in sources(volume) {
        if first.is_some() {
            problems.forbidden(&path.child(name), "may not specify more than 1 volume type");
        } else {
            first = Some(name);
            known_source(problems, &path.child(name), name, volume);
        }
    }
    if first.is_none() {
        problems.required(path, "must specify a volume type");
    }
}

/// The names of the sources that are given, in the order that they are looked at.
fn sources(volume: &Volume) -> impl Iterator<Item = &'static str> {
    [
        ("emptyDir", volume.empty_dir.is_some()),
        ("hostPath", volume.host_path.is_some()),
        ("gitRepo", volume.git_repo.is_some()),
        ("gcePersistentDisk", volume.gce_persistent_disk.is_some()),
        ("awsElasticBlockStore", volume.aws_elastic_block_store.is_some()),
        ("secret", volume.secret.is_some()),
        ("nfs", volume.nfs.is_some()),
        ("iscsi", volume.iscsi.is_some()),
        ("glusterfs", volume.glusterfs.is_some()),
        ("flocker", volume.flocker.is_some()),
        ("persistentVolumeClaim", volume.persistent_volume_claim.is_some()),
        ("rbd", volume.rbd.is_some()),
        ("cinder", volume.cinder.is_some()),
        ("cephfs", volume.cephfs.is_some()),
        ("quobyte", volume.quobyte.is_some()),
        ("downwardAPI", volume.downward_api.is_some()),
        ("fc", volume.fc.is_some()),
        ("flexVolume", volume.flex_volume.is_some()),
        ("configMap", volume.config_map.is_some()),
        ("azureFile", volume.azure_file.is_some()),
        ("vsphereVolume", volume.vsphere_volume.is_some()),
        ("photonPersistentDisk", volume.photon_persistent_disk.is_some()),
        ("portworxVolume", volume.portworx_volume.is_some()),
        ("azureDisk", volume.azure_disk.is_some()),
        ("storageos", volume.storageos.is_some()),
        ("projected", volume.projected.is_some()),
        ("scaleIO", volume.scale_io.is_some()),
        ("csi", volume.csi.is_some()),
        ("ephemeral", volume.ephemeral.is_some()),
        ("image", volume.image.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, given)| given.then_some(name))
}

fn known_source(problems: &mut Problems, path: &Path, name: &str, volume: &Volume) {
    let required = |problems: &mut Problems, field: &str, value: &str| {
        if value.is_empty() {
            problems.required(&path.child(field), "");
        }
    };
    if let Some(source) = volume.empty_dir.as_ref().filter(|_| name == "emptyDir")
        && source.size_limit.as_ref().is_some_and(|limit| Amount::of(limit).is_negative())
    {
        problems.forbidden(&path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity");
    }
    if let Some(source) = volume.host_path.as_ref().filter(|_| name == "hostPath") {
        required(problems, "path", &source.path);
        let type_ = source.type_.as_deref().unwrap_or_default();
        if !HOST_PATH_TYPES.contains(&type_) {
            problems.not_supported(&path.child("type"), type_, HOST_PATH_TYPES);
        }
    }
    if let Some(source) = volume.secret.as_ref().filter(|_| name == "secret") {
        required(problems, "secretName", source.secret_name.as_deref().unwrap_or_default());
        files(problems, path, source.default_mode, source.items.as_deref());
    }
    if let Some(source) = volume.config_map.as_ref().filter(|_| name == "configMap") {
        required(problems, "name", &source.name);
        files(problems, path, source.default_mode, source.items.as_deref());
    }
    if let Some(source) = volume.persistent_volume_claim.as_ref().filter(|_| name == "persistentVolumeClaim") {
        required(problems, "claimName", &source.claim_name);
    }
    if let Some(source) = volume.projected.as_ref().filter(|_| name == "projected") {
        files(problems, path, source.default_mode, None);
    }
}

/// The mode and the places of files that are made from keys.
fn files(problems: &mut Problems, path: &Path, mode: Option<i32>, items: Option<&[KeyToPath]>) {
    const MODES: &str = "must be a number between 0 and 0777 (octal), both inclusive";
    let is_mode = |mode: &i32| (0..=0o777).contains(mode);
    if let Some(mode) = mode.filter(|mode| !is_mode(mode)) {
        problems.invalid(&path.child("defaultMode"), mode, MODES);
    }
    let list = path.child("items");
    for (i, item) in items.into_iter().flatten().enumerate() {
        let path = list.index(i);
        if item.key.is_empty() {
            problems.required(&path.child("key"), "");
        }
        if item.path.is_empty() {
            problems.required(&path.child("path"), "");
        }
        descending_path(problems, &path.child("path"), &item.path);
        if let Some(mode) = item.mode.filter(|mode| !is_mode(mode)) {
            problems.invalid(&path.child("mode"), mode, MODES);
        }
    }
}
