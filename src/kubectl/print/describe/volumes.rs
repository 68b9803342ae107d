//! The volumes of a Pod or of a template, and what is behind a PersistentVolume.
//!
//! Left out: volumes of storage that Kubernetes itself has given up (Quobyte, ScaleIO, StorageOS, Flocker, Photon).

use serde_json::Value;

use super::super::fields::{at, flag, go_value, int, list, plain, text};
use super::super::storage::access_modes;
use super::page::Page;

/// What is shown of a field: its title, its path, and what stands there if it is not set.
type Shown = (&'static str, &'static str, &'static str);

/// Where volumes come from: the field that says so, what it is, and what is shown of it.
const SOURCES: &[(&str, &str, &[Shown])] = &[
    ("hostPath", "HostPath (bare host directory volume)", &[("Path:", "path", ""), ("HostPathType:", "type", "")]),
    (
        "emptyDir",
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        &[("Medium:", "medium", ""), ("SizeLimit:", "sizeLimit", "<unset>")],
    ),
    (
        "secret",
        "Secret (a volume populated by a Secret)",
        &[("SecretName:", "secretName", ""), ("Optional:", "optional", "false")],
    ),
    (
        "configMap",
        "ConfigMap (a volume populated by a ConfigMap)",
        &[("Name:", "name", ""), ("Optional:", "optional", "false")],
    ),
    (
        "persistentVolumeClaim",
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        &[("ClaimName:", "claimName", ""), READ_ONLY],
    ),
    (
        "nfs",
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        &[("Server:", "server", ""), ("Path:", "path", ""), READ_ONLY],
    ),
    (
        "iscsi",
        "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
        &[
            ("TargetPortal:", "targetPortal", ""),
            ("IQN:", "iqn", ""),
            ("Lun:", "lun", "0"),
            // The colon is missing there too.
            ("ISCSIInterface", "iscsiInterface", ""),
            FS_TYPE,
            READ_ONLY,
            ("Portals:", "portals", "[]"),
            ("DiscoveryCHAPAuth:", "chapAuthDiscovery", "false"),
            ("SessionCHAPAuth:", "chapAuthSession", "false"),
            ("SecretRef:", "secretRef", "nil"),
            ("InitiatorName:", "initiatorName", "<none>"),
        ],
    ),
    (
        "fc",
        "FC (a Fibre Channel disk)",
        &[("TargetWWNs:", "targetWWNs", ""), ("LUN:", "lun", "<none>"), FS_TYPE, READ_ONLY],
    ),
    (
        "image",
        "Image (a container image or OCI artifact)",
        &[("Reference:", "reference", ""), ("PullPolicy:", "pullPolicy", "")],
    ),
    (
        "gitRepo",
        "GitRepo (a volume that is pulled from git when the pod is created)",
        &[("Repository:", "repository", ""), ("Revision:", "revision", "")],
    ),
    (
        "gcePersistentDisk",
        "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
        &[("PDName:", "pdName", ""), FS_TYPE, ("Partition:", "partition", "0"), READ_ONLY],
    ),
    (
        "awsElasticBlockStore",
        "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
        &[("VolumeID:", "volumeID", ""), FS_TYPE, ("Partition:", "partition", "0"), READ_ONLY],
    ),
    (
        "azureDisk",
        "AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)",
        &[
            ("DiskName:", "diskName", ""),
            ("DiskURI:", "diskURI", ""),
            ("Kind: ", "kind", "Shared"),
            ("FSType:", "fsType", "ext4"),
            ("CachingMode:", "cachingMode", "ReadWrite"),
            READ_ONLY,
        ],
    ),
    (
        "azureFile",
        "AzureFile (an Azure File Service mount on the host and bind mount to the pod)",
        &[("SecretName:", "secretName", ""), ("ShareName:", "shareName", ""), READ_ONLY],
    ),
    (
        "vsphereVolume",
        "vSphereVolume (a Persistent Disk resource in vSphere)",
        &[("VolumePath:", "volumePath", ""), FS_TYPE, ("StoragePolicyName:", "storagePolicyName", "")],
    ),
    (
        "cinder",
        "Cinder (a Persistent Disk resource in OpenStack)",
        &[("VolumeID:", "volumeID", ""), FS_TYPE, READ_ONLY, ("SecretRef:", "secretRef", "nil")],
    ),
    (
        "glusterfs",
        "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)",
        &[("EndpointsName:", "endpoints", ""), ("Path:", "path", ""), READ_ONLY],
    ),
    (
        "cephfs",
        "CephFS (a CephFS mount on the host that shares a pod's lifetime)",
        &[
            ("Monitors:", "monitors", "[]"),
            ("Path:", "path", ""),
            ("User:", "user", ""),
            ("SecretFile:", "secretFile", ""),
            ("SecretRef:", "secretRef", "nil"),
            READ_ONLY,
        ],
    ),
    (
        "rbd",
        "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)",
        &[
            ("CephMonitors:", "monitors", "[]"),
            ("RBDImage:", "image", ""),
            FS_TYPE,
            ("RBDPool:", "pool", ""),
            ("RadosUser:", "user", ""),
            ("Keyring:", "keyring", ""),
            ("SecretRef:", "secretRef", "nil"),
            READ_ONLY,
        ],
    ),
    (
        "flexVolume",
        "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)",
        &[
            ("Driver:", "driver", ""),
            FS_TYPE,
            ("SecretRef:", "secretRef", "nil"),
            READ_ONLY,
            ("Options:", "options", "map[]"),
        ],
    ),
    ("local", "LocalVolume (a persistent volume backed by local storage on a node)", &[("Path:", "path", "")]),
];
const READ_ONLY: Shown = ("ReadOnly:", "readOnly", "false");
const FS_TYPE: Shown = ("FSType:", "fsType", "");

pub(super) fn describe(page: &mut Page, volumes: &[Value], indent: &str) {
    if volumes.is_empty() {
        return page.field(&format!("{indent}Volumes"), "<none>");
    }
    page.line(format!("{indent}Volumes:"));
    let shift = if indent.is_empty() { "" } else { " " };
    for volume in volumes {
        page.line(format!("  {shift}{}:", text(volume, "name")));
        source(page, volume);
    }
}

/// Where a volume comes from: that of a Pod, or a PersistentVolume's spec.
pub(super) fn source(page: &mut Page, volume: &Value) {
    let [csi, projected, downward, ephemeral] =
        ["csi", "projected", "downwardAPI", "ephemeral"].map(|field| at(volume, field));
    if let Some((field, about, shown)) = SOURCES.iter().find(|(field, _, _)| !at(volume, field).is_null()) {
        page.field("    Type", about);
        for (title, path, unset) in *shown {
            page.line(format!("    {title}\t{}", value(at(at(volume, field), path), unset)));
        }
    } else if !csi.is_null() {
        describe_driver(page, csi);
    } else if !projected.is_null() {
        describe_projected(page, projected);
    } else if !downward.is_null() {
        describe_downward(page, downward);
    } else if !ephemeral.is_null() {
        describe_ephemeral(page, at(ephemeral, "volumeClaimTemplate"));
    } else {
        page.line("  <unknown>");
    }
}

/// As Go's `%v` prints it, but for the names of ports and disks, which have commas between them.
fn value(value: &Value, unset: &str) -> String {
    match value {
        Value::Null => unset.to_owned(),
        // Of a Secret that is referred to.
        Value::Object(fields) if fields.contains_key("name") => {
            format!("&LocalObjectReference{{Name:{},}}", text(value, "name"))
        }
        Value::Array(items) if unset.is_empty() => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        value => go_value(value),
    }
}

/// A PersistentVolume says by which handle the driver knows it.
fn describe_driver(page: &mut Page, csi: &Value) {
    page.field("    Type", "CSI (a Container Storage Interface (CSI) volume source)");
    page.field("    Driver", text(csi, "driver"));
    page.field("    FSType", text(csi, "fsType"));
    if !at(csi, "volumeHandle").is_null() {
        page.field("    VolumeHandle", text(csi, "volumeHandle"));
    }
    page.field("    ReadOnly", flag(csi, "readOnly").to_string());
    page.labels("    VolumeAttributes", csi, "volumeAttributes");
}

/// The order is the sources' own.
fn describe_projected(page: &mut Page, projected: &Value) {
    page.field("    Type", "Projected (a volume that contains injected data from multiple sources)");
    for source in list(projected, "sources") {
        let [secret, downward, config] = ["secret", "downwardAPI", "configMap"].map(|field| at(source, field));
        if !secret.is_null() {
            page.field("    SecretName", text(secret, "name"));
            page.field("    Optional", flag(secret, "optional").to_string());
        } else if !downward.is_null() {
            page.field("    DownwardAPI", "true");
        } else if !config.is_null() {
            page.field("    ConfigMapName", text(config, "name"));
            page.field("    Optional", flag(config, "optional").to_string());
        } else {
            let seconds = int(source, "serviceAccountToken.expirationSeconds");
            page.field("    TokenExpirationSeconds", seconds.to_string());
        }
    }
}

fn describe_downward(page: &mut Page, downward: &Value) {
    page.field("    Type", "DownwardAPI (a volume populated by information about the pod)");
    page.line("    Items:");
    for item in list(downward, "items") {
        let [field, resource, path] =
            ["fieldRef.fieldPath", "resourceFieldRef.resource", "path"].map(|f| text(item, f));
        page.line(format!("      {field}{resource} -> {path}"));
    }
}

/// The claim that is made for the Pod, as far as its template says. Mirrors `printPersistentVolumeClaim`.
fn describe_ephemeral(page: &mut Page, claim: &Value) {
    const TYPE: &str =
        "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)";
    page.field("    Type", TYPE);
    page.field("    StorageClass", text(claim, "spec.storageClassName"));
    page.field("    Volume", text(claim, "spec.volumeName"));
    page.labels("    Labels", claim, "metadata.labels");
    page.annotations("    Annotations", claim, "metadata.annotations");
    page.field("    Capacity", "");
    page.field("    Access Modes", access_modes(claim, "status.accessModes"));
    if !at(claim, "spec.volumeMode").is_null() {
        page.field("    VolumeMode", text(claim, "spec.volumeMode"));
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn volumes_say_where_they_come_from() {
        let volumes = json!([
            {"name": "about", "downwardAPI": {"items": [
                {"path": "labels", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}},
                {"path": "cpu", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}}]}},
            {"name": "share", "nfs": {"server": "10.0.0.1", "path": "/x"}},
            {"name": "disk", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "q", "lun": 0, "secretRef": {"name": "s"}}},
            {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast", "volumeMode": "Block"}}}},
            {"name": "inline", "csi": {"driver": "d.example.com", "volumeAttributes": {"a": "b", "c": "d"}}},
            {"name": "fibre", "fc": {"targetWWNs": ["1", "2"], "lun": 3}},
            {"name": "empty", "emptyDir": {}},
            {"name": "what", "quobyte": {}},
        ]);
        let mut page = Page { text: String::new(), now: Timestamp::UNIX_EPOCH };
        describe(&mut page, volumes.as_array().unwrap(), "");
        let want = "\
Volumes:
  about:
    Type:  DownwardAPI (a volume populated by information about the pod)
    Items:
      metadata.labels -> labels
      limits.cpu -> cpu
  share:
    Type:      NFS (an NFS mount that lasts the lifetime of a pod)
    Server:    10.0.0.1
    Path:      /x
    ReadOnly:  false
  disk:
    Type:               ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)
    TargetPortal:       1.2.3.4
    IQN:                q
    Lun:                0
    ISCSIInterface      \n    FSType:             \n    ReadOnly:           false
    Portals:            []
    DiscoveryCHAPAuth:  false
    SessionCHAPAuth:    false
    SecretRef:          &LocalObjectReference{Name:s,}
    InitiatorName:      <none>
  own:
    Type:          EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)
    StorageClass:  fast
    Volume:        \n    Labels:        <none>
    Annotations:   <none>
    Capacity:      \n    Access Modes:  \n    VolumeMode:    Block
  inline:
    Type:              CSI (a Container Storage Interface (CSI) volume source)
    Driver:            d.example.com
    FSType:            \n    ReadOnly:          false
    VolumeAttributes:  a=b
                       c=d
  fibre:
    Type:        FC (a Fibre Channel disk)
    TargetWWNs:  1, 2
    LUN:         3
    FSType:      \n    ReadOnly:    false
  empty:
    Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
    Medium:     \n    SizeLimit:  <unset>
  what:
  <unknown>
";
        assert_eq!(super::super::tabs::page(&page.text), want);
    }
}
