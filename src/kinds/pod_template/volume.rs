//! Volumes of a Pod. Mirrors `ValidateVolumes` in `pkg/apis/core/validation`.
//!
//! The volume types of clouds and storage systems are in [`volume_source`].

use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, KeyToPath, ServiceAccountTokenProjection, Volume, VolumeProjection,
};

use crate::core::persistent_volume_claim;
use crate::pod_template::container::{PULL_POLICIES, descending_path};
use crate::pod_template::{env, volume_source};
use object::quantity::Amount;
use object::selector::names::check_subdomain;
use object::validation::field::{Path, Problems};
use object::validation::names::check_dns_label;
use object::volume::name_of_made;

const HOST_PATH_TYPES: &[&str] =
    &["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// Checks the volumes, and says the names of those that are right, and which of them may be block devices: only these
/// can be mounted. `pod` is the name of the Pod, empty if there is none yet.
pub fn volumes<'a>(problems: &mut Problems, path: &Path, volumes: &'a [Volume], pod: &str) -> Vec<(&'a str, bool)> {
    let mut names: Vec<(&str, bool)> = Vec::with_capacity(volumes.len());
    for (i, volume) in volumes.iter().enumerate() {
        let path = path.index(i);
        let before = problems.0.len();
        source(problems, &path, volume, pod);
        let name = volume.name.as_str();
        if name.is_empty() {
            problems.required(&path.child("name"), "");
        } else {
            problems.all_invalid(&path.child("name"), name, check_dns_label(name));
        }
        if names.iter().any(|(other, _)| *other == name) {
            problems.duplicate(&path.child("name"), name);
        }
        if problems.0.len() == before {
            names.push((name, volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some()));
        }
    }
    names
}

fn source(problems: &mut Problems, path: &Path, volume: &Volume, pod: &str) {
    let mut first = None;
    for name in sources(volume) {
        if first.is_some() {
            problems.forbidden(&path.child(name), "may not specify more than 1 volume type");
        } else {
            first = Some(name);
            known_source(problems, &path.child(name), name, volume, !pod.is_empty());
            volume_source::of_pod(problems, &path.child(name), name, volume);
            if name == "ephemeral" {
                name_of_claim(problems, &path.child("name"), volume, pod);
            }
        }
    }
    if first.is_none() {
        problems.required(path, "must specify a volume type");
    }
}

/// The claim that is made for the Pod is named after it and the volume, and that has to be a name too.
fn name_of_claim(problems: &mut Problems, path: &Path, volume: &Volume, pod: &str) {
    if pod.is_empty() || volume.name.is_empty() {
        return;
    }
    let claim = name_of_made(pod, &volume.name);
    for why in check_subdomain(&claim) {
        problems.invalid(path, volume.name.as_str(), &format!("PVC name {claim:?}: {why}"));
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

/// `of_pod`: it is a Pod's own, no template's.
fn known_source(problems: &mut Problems, path: &Path, name: &str, volume: &Volume, of_pod: bool) {
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
        if source.path.split('/').any(|part| part == "..") {
            problems.invalid(&path.child("path"), source.path.as_str(), "must not contain '..'");
        }
        host_path_type(problems, path, source.type_.as_deref().unwrap_or_default());
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
    if let Some(source) = volume.ephemeral.as_ref().filter(|_| name == "ephemeral") {
        let path = path.child("volumeClaimTemplate");
        match &source.volume_claim_template {
            None => problems.required(&path, ""),
            Some(template) => persistent_volume_claim::validate_template(problems, &path, template),
        }
    }
    if let Some(source) = volume.projected.as_ref().filter(|_| name == "projected") {
        files(problems, path, source.default_mode, None);
        projections(problems, path, source.sources.as_deref().unwrap_or_default());
    }
    if let Some(source) = volume.image.as_ref().filter(|_| name == "image") {
        let reference = source.reference.as_deref().unwrap_or_default();
        if of_pod {
            required(problems, "reference", reference);
        }
        problems.one_of(&path.child("pullPolicy"), source.pull_policy.as_deref(), PULL_POLICIES);
    }
    if let Some(source) = volume.downward_api.as_ref().filter(|_| name == "downwardAPI") {
        files(problems, path, source.default_mode, None);
        let items = path.child("items");
        for (i, file) in source.items.iter().flatten().enumerate() {
            downward_file(problems, &items.index(i), file);
        }
    }
}

/// Mirrors `validateHostPathType`.
pub fn host_path_type(problems: &mut Problems, path: &Path, type_: &str) {
    if !HOST_PATH_TYPES.contains(&type_) {
        problems.not_supported(&path.child("type"), type_, HOST_PATH_TYPES);
    }
}

/// Several sources in one directory. Mirrors `validateProjectionSources`.
fn projections(problems: &mut Problems, path: &Path, sources: &[VolumeProjection]) {
    let list = path.child("sources");
    for (i, source) in sources.iter().enumerate() {
        let path = list.index(i);
        let config_map = source.config_map.as_ref().map(|it| ("configMap", &it.name, &it.items));
        let secret = source.secret.as_ref().map(|it| ("secret", &it.name, &it.items));
        for (field, name, items) in secret.into_iter().chain(config_map) {
            let path = path.child(field);
            if name.is_empty() {
                problems.required(&path.child("name"), "");
            }
            files(problems, &path, None, items.as_deref());
        }
        if let Some(downward) = &source.downward_api {
            let path = path.child("downwardAPI");
            let items = path.child("items");
            for (j, file) in downward.items.iter().flatten().enumerate() {
                downward_file(problems, &items.index(j), file);
            }
        }
        if let Some(token) = &source.service_account_token {
            projected_token(problems, &path.child("serviceAccountToken"), token);
        }
        let given = [source.config_map.is_some(), source.secret.is_some(), source.downward_api.is_some()];
        let given = given.into_iter().chain([source.service_account_token.is_some()]);
        if given.filter(|given| *given).count() > 1 {
            problems.forbidden(&path, "may not specify more than 1 volume type");
        }
    }
}

fn projected_token(problems: &mut Problems, path: &Path, token: &ServiceAccountTokenProjection) {
    const MINUTES: i64 = 60;
    let (at, seconds) = (path.child("expirationSeconds"), token.expiration_seconds.unwrap_or(60 * MINUTES));
    if token.path.is_empty() {
        problems.required(&path.child("path"), "");
    } else {
        unreserved_path(problems, &path.child("path"), &token.path);
    }
    if seconds < 10 * MINUTES {
        problems.invalid(&at, seconds, "may not specify a duration less than 10 minutes");
    }
    if seconds > 1 << 32 {
        problems.invalid(&at, seconds, "may not specify a duration larger than 2^32 seconds");
    }
}

/// A file with something of the Pod itself. Mirrors `validateDownwardAPIVolumeFile`.
fn downward_file(problems: &mut Problems, path: &Path, file: &DownwardAPIVolumeFile) {
    if file.path.is_empty() {
        problems.required(&path.child("path"), "");
    }
    unreserved_path(problems, &path.child("path"), &file.path);
    match (&file.field_ref, &file.resource_field_ref) {
        (Some(field), resource) => {
            env::field_ref(problems, &path.child("fieldRef"), field, env::FILE_FIELDS);
            if resource.is_some() {
                const WHY: &str = "fieldRef and resourceFieldRef can not be specified simultaneously";
                problems.invalid(path, "resource", WHY);
            }
        }
        (None, Some(resource)) => env::resource_ref(problems, &path.child("resourceFieldRef"), resource, true),
        (None, None) => problems.required(path, "one of fieldRef and resourceFieldRef is required"),
    }
    mode(problems, &path.child("mode"), file.mode);
}

/// A path inside of a volume whose first part the kubelet does not need. Mirrors `validateLocalNonReservedPath`.
fn unreserved_path(problems: &mut Problems, path: &Path, text: &str) {
    descending_path(problems, path, text);
    if text.starts_with("..") && !text.starts_with("../") {
        problems.invalid(path, text, "must not start with '..'");
    }
}

fn mode(problems: &mut Problems, path: &Path, mode: Option<i32>) {
    if let Some(mode) = mode.filter(|mode| !(0..=0o777).contains(mode)) {
        problems.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
    }
}

/// The mode and the places of files that are made from keys.
fn files(problems: &mut Problems, path: &Path, default: Option<i32>, items: Option<&[KeyToPath]>) {
    mode(problems, &path.child("defaultMode"), default);
    let list = path.child("items");
    for (i, item) in items.into_iter().flatten().enumerate() {
        let path = list.index(i);
        if item.key.is_empty() {
            problems.required(&path.child("key"), "");
        }
        if item.path.is_empty() {
            problems.required(&path.child("path"), "");
        }
        unreserved_path(problems, &path.child("path"), &item.path);
        mode(problems, &path.child("mode"), item.mode);
    }
}
