//! What is said of volumes: of plugins that are no more, and of two files of one volume that are in each other's way.
//!
//! A volume may be told to put two keys at one path, or one below the other, and then there is only one of them. Mirrors
//! `warningsForOverlappingVirtualPaths`.

use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, KeyToPath, Volume, VolumeProjection};

use crate::core::persistent_volume_claim;

/// Where a file is put, and what it comes from, if the volume has more than one source.
struct File {
    path: String,
    source: String,
}

/// What is said of the volumes of a Pod.
pub fn of_volumes(told: &mut Vec<String>, path: &str, volumes: &[Volume]) {
    for (i, volume) in volumes.iter().enumerate() {
        let path = format!("{path}.volumes[{i}]");
        told.extend(removed(volume).map(|(plugin, since)| format!("{path}.{plugin}: {since}")));
        let template = volume.ephemeral.as_ref().and_then(|ephemeral| ephemeral.volume_claim_template.as_ref());
        let path = format!("{path}.ephemeral.volumeClaimTemplate.spec");
        template.iter().for_each(|template| persistent_volume_claim::warn_of_spec(told, &path, &template.spec));
    }
    for volume in volumes {
        let config_map = volume.config_map.as_ref();
        let config_map = config_map.map(|map| (format!("ConfigMap {:?}", map.name), keys(map.items.as_deref(), "")));
        let secret = volume.secret.as_ref().map(|secret| {
            let name = secret.secret_name.as_deref().unwrap_or_default();
            (format!("Secret {name:?}"), keys(secret.items.as_deref(), ""))
        });
        let downward = volume.downward_api.as_ref();
        let downward = downward.map(|api| ("DownwardAPI".to_owned(), fields(api.items.as_deref(), "")));
        for (what, files) in config_map.into_iter().chain(secret).chain(downward) {
            overlaps(told, &volume.name, &what, &mut Vec::new(), files);
        }
        let Some(projected) = &volume.projected else { continue };
        let mut seen = Vec::new();
        for source in projected.sources.iter().flatten() {
            if *source == VolumeProjection::default() {
                told.push(format!("volume {:?} (Projected) has no sources provided", volume.name));
            }
            overlaps(told, &volume.name, "Projected", &mut seen, projected_files(source));
        }
    }
}

/// Since when no kubelet has a plugin any more.
pub fn since(plugin: &str) -> Option<&'static str> {
    Some(match plugin {
        "photonPersistentDisk" => "deprecated in v1.11, non-functional in v1.16+",
        "gitRepo" => "deprecated in v1.11, and disabled by default in v1.33+",
        "scaleIO" => "deprecated in v1.16, non-functional in v1.22+",
        "flocker" | "storageOS" | "quobyte" => "deprecated in v1.22, non-functional in v1.25+",
        "glusterfs" => "deprecated in v1.25, non-functional in v1.26+",
        "cephfs" | "rbd" => "deprecated in v1.28, non-functional in v1.31+",
        _ => return None,
    })
}

/// Plugins that no kubelet has any more.
fn removed(volume: &Volume) -> impl Iterator<Item = (&'static str, &'static str)> {
    [
        (volume.photon_persistent_disk.is_some(), "photonPersistentDisk"),
        (volume.git_repo.is_some(), "gitRepo"),
        (volume.scale_io.is_some(), "scaleIO"),
        (volume.flocker.is_some(), "flocker"),
        (volume.storageos.is_some(), "storageOS"),
        (volume.quobyte.is_some(), "quobyte"),
        (volume.glusterfs.is_some(), "glusterfs"),
        (volume.cephfs.is_some(), "cephfs"),
        (volume.rbd.is_some(), "rbd"),
    ]
    .into_iter()
    .filter_map(|(used, plugin)| Some((plugin, since(plugin)?)).filter(|_| used))
}

fn keys(items: Option<&[KeyToPath]>, source: &str) -> Vec<File> {
    items.into_iter().flatten().map(|item| File::new(&item.path, source)).collect()
}

fn fields(items: Option<&[DownwardAPIVolumeFile]>, source: &str) -> Vec<File> {
    items.into_iter().flatten().map(|item| File::new(&item.path, source)).collect()
}

/// The files of one source, as far as it names them.
fn projected_files(source: &VolumeProjection) -> Vec<File> {
    if let Some(map) = source.config_map.as_ref().filter(|map| map.items.is_some()) {
        keys(map.items.as_deref(), &format!("ConfigMap {:?}", map.name))
    } else if let Some(secret) = source.secret.as_ref().filter(|secret| secret.items.is_some()) {
        keys(secret.items.as_deref(), &format!("Secret {:?}", secret.name))
    } else if let Some(api) = source.downward_api.as_ref().filter(|api| api.items.is_some()) {
        fields(api.items.as_deref(), "DownwardAPI")
    } else if let Some(token) = &source.service_account_token {
        vec![File::new(&token.path, "ServiceAccountToken")]
    } else if let Some(bundle) = &source.cluster_trust_bundle {
        let name = bundle.name.as_ref().or(bundle.signer_name.as_ref()).map_or("", String::as_str);
        vec![File::new(&bundle.path, &format!("ClusterTrustBundle {name:?}"))]
    } else if let Some(certificate) = &source.pod_certificate {
        let paths = [
            (&certificate.certificate_chain_path, "PodCertificate chain"),
            (&certificate.key_path, "PodCertificate key"),
            (&certificate.credential_bundle_path, "PodCertificate credential bundle"),
        ];
        paths.into_iter().filter_map(|(path, what)| Some(File::new(path.as_ref()?, what))).collect()
    } else {
        Vec::new()
    }
}

/// Tells of files in the way of those before.
fn overlaps(told: &mut Vec<String>, volume: &str, what: &str, seen: &mut Vec<File>, files: Vec<File>) {
    for file in files {
        for other in seen.iter().filter(|other| file.overlaps(other)) {
            let (file, other) = (file.text(), other.text());
            told.push(format!("volume {volume:?} ({what}): overlapping paths: {file} with {other}"));
        }
        seen.push(file);
    }
}

impl File {
    fn new(path: &str, source: &str) -> File {
        File { path: path.trim_end_matches('/').to_owned(), source: source.to_owned() }
    }

    /// Whether both are the same, or one is a directory for the other.
    fn overlaps(&self, other: &File) -> bool {
        let [own, theirs] = [self, other].map(|file| format!("{}/", file.path));
        !self.path.is_empty() && !other.path.is_empty() && (own.starts_with(&theirs) || theirs.starts_with(&own))
    }

    fn text(&self) -> String {
        if self.source.is_empty() { format!("{:?}", self.path) } else { format!("{:?} ({})", self.path, self.source) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn files_in_each_others_way_are_told() {
        let keys = |paths: &[&str]| paths.iter().map(|path| json!({"key": "k", "path": path})).collect::<Vec<Value>>();
        for (volume, want) in [
            (json!({"configMap": {"name": "c", "items": keys(&["a", "b", "ab"])}}), vec![]),
            (
                json!({"configMap": {"name": "c", "items": keys(&["a", "a/b/"])}}),
                vec![r#"volume "v" (ConfigMap "c"): overlapping paths: "a/b" with "a""#],
            ),
            (
                json!({"secret": {"secretName": "s", "items": keys(&["a/b", "a"])}}),
                vec![r#"volume "v" (Secret "s"): overlapping paths: "a" with "a/b""#],
            ),
            (
                json!({"projected": {"sources": [{"configMap": {"name": "c", "items": keys(&["a"])}}, {},
                    {"secret": {"name": "s"}}, {"serviceAccountToken": {"path": "a"}},
                    {"downwardAPI": {"items": [{"path": "a/b"}]}}]}}),
                vec![
                    r#"volume "v" (Projected) has no sources provided"#,
                    r#"volume "v" (Projected): overlapping paths: "a" (ServiceAccountToken) with "a" (ConfigMap "c")"#,
                    r#"volume "v" (Projected): overlapping paths: "a/b" (DownwardAPI) with "a" (ConfigMap "c")"#,
                    r#"volume "v" (Projected): overlapping paths: "a/b" (DownwardAPI) with "a" (ServiceAccountToken)"#,
                ],
            ),
        ] {
            let mut named = json!({"name": "v"});
            named.as_object_mut().unwrap().extend(volume.as_object().unwrap().clone());
            let mut told = Vec::new();
            of_volumes(&mut told, "spec", &[serde_json::from_value(named).expect("a volume")]);
            assert_eq!(told, want, "{volume}");
        }
    }
}
