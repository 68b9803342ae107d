//! Volumes on a node's own disk.

use cluster::Config;
use object::Kind;
use serde_json::json;

use super::harness::{World, user_of};

/// A hostPath volume asks that something be there on the node's own disk, or has it made; it outlives its Pod.
#[test]
fn a_host_path_is_what_its_type_says_or_the_pod_waits() {
    let mut world = World::new(Config::default());
    let user = |name: &str, path: &str, type_: &str| {
        let volumes = json!([{"name": "data", "hostPath": {"path": path, "type": type_}}]);
        user_of(name, "none", json!({"nodeName": "node-1", "volumes": volumes}))
    };
    for (name, path, type_, why) in [
        ("none", "/data/none", "Directory", "/data/none is not a directory"),
        ("file", "/etc", "File", "/etc is not a file"),
        ("either", "/etc", "FileOrCreate", "/etc is not a file"),
        ("made", "/etc/hostname", "DirectoryOrCreate", "/etc/hostname is not a directory"),
        ("socket", "/etc/hostname", "Socket", "/etc/hostname is not a socket file"),
        ("character", "/etc/hostname", "CharDevice", "/etc/hostname is not a character device"),
        ("block", "/dev/null", "BlockDevice", "/dev/null is not a block device"),
    ] {
        world.create(user(name, path, type_));
        world.run(1);
        let event = format!(
            "Warning FailedMount MountVolume.SetUp failed for volume \"data\" : hostPath type check failed: {why}"
        );
        assert!(world.events(name).contains(&event), "{name}: {:?}", world.events(name));
        assert_eq!(world.phase(Kind::Pod, name), "Pending", "{name}");
    }
    world.create(user("lost", "/nowhere/log", "FileOrCreate"));
    world.run(1);
    let event = "Warning FailedMount MountVolume.SetUp failed for volume \"data\" : open /nowhere/log: no such file or directory";
    assert!(world.events("lost").contains(&event.to_owned()), "{:?}", world.events("lost"));
    for (name, path, type_) in [
        ("any", "/data/any", ""),
        ("directory", "/data/made", "DirectoryOrCreate"),
        ("log", "/var/log/app", "FileOrCreate"),
        ("runtime", "/run/containerd/containerd.sock", "Socket"),
        ("modules", "/lib/modules", "Directory"),
        ("lock", "/run/xtables.lock", "FileOrCreate"),
        ("cri", "/var/run/containerd/containerd.sock", "Socket"),
        ("null", "/dev/null", "CharDevice"),
    ] {
        world.create(user(name, path, type_));
        world.run(5);
        assert_eq!(world.phase(Kind::Pod, name), "Running", "{name}: {:?}", world.events(name));
    }
    // The one that waited for a directory has it now.
    world.create(user("maker", "/data/none", "DirectoryOrCreate"));
    world.run(130);
    assert_eq!(world.phase(Kind::Pod, "none"), "Running");
    world.delete(Kind::Pod, "maker");
    world.run(30);
    let disk = &world.cluster.host("node-1").expect("it is on").disk;
    assert!(disk.names("/data").is_ok_and(|names| names == ["any", "made", "none"]));
}
