//! Where volumes are on the host, and what a hostPath volume asks of it.
//!
//! Mirrors `pkg/volume/hostpath` and `GetPodVolumeDir`.

use k8s_openapi::api::core::v1::{HostPathVolumeSource, Volume};

use network::disk::{Disk, Entry};

/// The directory in which the kubelet keeps what belongs to a pod.
pub fn of_pod(uid: &str) -> String {
    format!("/var/lib/kubelet/pods/{uid}")
}

/// The place at which it is counted what a container has written into its own layer and log.
pub fn of_container(uid: &str, name: &str) -> String {
    format!("{}/containers/{name}", of_pod(uid))
}

/// The directory in which the sub-paths are bound that a pod's containers mount.
pub fn of_sub_paths(uid: &str) -> String {
    format!("{}/volume-subpaths", of_pod(uid))
}

/// The directory of a volume of that name: for hostPath the path itself, else one below the pod's.
pub fn of_volume(uid: &str, name: &str, volume: &Volume) -> String {
    if let Some(host) = &volume.host_path {
        return host.path.clone();
    }
    let plugin = match volume {
        Volume { config_map: Some(_), .. } => "configmap",
        Volume { secret: Some(_), .. } => "secret",
        Volume { downward_api: Some(_), .. } => "downward-api",
        Volume { projected: Some(_), .. } => "projected",
        _ => "empty-dir",
    };
    format!("{}/volumes/kubernetes.io~{plugin}/{name}", of_pod(uid))
}

/// Sees that the path is of the type that is asked for, or makes it so. The error is why it is not.
pub fn check_type(disk: &Disk, source: &HostPathVolumeSource) -> Result<(), String> {
    let path = &source.path;
    let there = disk.entry(path);
    let must_be = |wanted: bool, what: &str| match wanted {
        true => Ok(()),
        false => Err(format!("hostPath type check failed: {path} is not a {what}")),
    };
    let is_file = matches!(there, Some(Entry::File(_)));
    match source.type_.as_deref().unwrap_or_default() {
        "DirectoryOrCreate" if there.is_none() => {
            disk.make_directory(path);
            Ok(())
        }
        "Directory" | "DirectoryOrCreate" => must_be(there == Some(Entry::Directory), "directory"),
        "FileOrCreate" if there.is_none() => {
            let why = |error: &str| format!("open {path}: {}", error.to_lowercase());
            disk.write(path, "", false).map_err(why)
        }
        "File" | "FileOrCreate" => must_be(is_file, "file"),
        "Socket" => must_be(there == Some(Entry::Socket), "socket file"),
        "CharDevice" => must_be(there == Some(Entry::CharDevice), "character device"),
        "BlockDevice" => must_be(there == Some(Entry::BlockDevice), "block device"),
        // Nothing is checked. The runtime makes a directory if there is nothing at all.
        _ => {
            if there.is_none() {
                disk.make_directory(path);
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Hub;

    #[test]
    fn a_host_path_is_what_its_type_says() {
        let disk = Disk::new(&Hub::new(0), "node-1");
        for (path, type_, error) in [
            ("/data", "Directory", Some("hostPath type check failed: /data is not a directory")),
            ("/data", "DirectoryOrCreate", None),
            ("/data", "Directory", None),
            ("/data", "File", Some("hostPath type check failed: /data is not a file")),
            ("/etc/hostname", "File", None),
            (
                "/etc/hostname",
                "DirectoryOrCreate",
                Some("hostPath type check failed: /etc/hostname is not a directory"),
            ),
            ("/data/log", "FileOrCreate", None),
            ("/none/log", "FileOrCreate", Some("open /none/log: no such file or directory")),
            ("/run/containerd/containerd.sock", "Socket", None),
            ("/etc/hostname", "Socket", Some("hostPath type check failed: /etc/hostname is not a socket file")),
            ("/dev/null", "CharDevice", None),
            ("/dev/null", "BlockDevice", Some("hostPath type check failed: /dev/null is not a block device")),
            ("/else", "", None),
            ("/else", "Directory", None),
        ] {
            let source = HostPathVolumeSource { path: path.into(), type_: Some(type_.into()) };
            assert_eq!(check_type(&disk, &source).err().as_deref(), error, "{path} {type_}");
        }
    }
}
