//! Where the volumes of a container are, in it and on the host.

use crate::cri::ContainerConfig;

/// Where a path of the container is on the host; None if it is in no volume.
pub(super) fn host_path(config: &ContainerConfig, path: &str) -> Option<String> {
    mount_of(config, path).map(|(_, rest, host)| format!("{host}{rest}"))
}

/// Whether a path is in a volume.
pub(super) fn is_mounted(config: &ContainerConfig, path: &str) -> bool {
    mount_of(config, path).is_some()
}

/// The mount point of a path, the rest behind it, and where that is on the host. The longest mount point counts.
pub(super) fn mount_of<'a>(config: &'a ContainerConfig, path: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
    let inside = |point: &str| {
        let rest = path.strip_prefix(point.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    };
    let found = config.mounts.iter().filter_map(|(point, host)| Some((point.as_str(), inside(point)?, host.as_str())));
    found.max_by_key(|(point, _, _)| point.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_through_the_longest_mount() {
        let mount = |at: &str, host: &str| (at.to_owned(), host.to_owned());
        let mounts = vec![mount("/data", "/h/a"), mount("/data/deep", "/h/b"), mount("/etc/app/", "/h/c")];
        let config = ContainerConfig { mounts, ..ContainerConfig::default() };
        for (path, host) in [
            ("/data/f", Some("/h/a/f")),
            ("/data/deep/f", Some("/h/b/f")),
            ("/data", Some("/h/a")),
            ("/database", None),
            ("/etc/app/x", Some("/h/c/x")),
            ("/tmp/x", None),
        ] {
            assert_eq!(host_path(&config, path).as_deref(), host, "{path}");
        }
    }
}
