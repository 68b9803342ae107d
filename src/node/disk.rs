//! A node's files, as far as volumes need them: what the host has by itself, and what is mounted where.
//!
//! The kubelet, the storage drivers and the container runtime of one node share this disk, as they share the mount
//! table of a real machine. Paths are absolute. Below a mount point the mounted tree shows, the longest mount point
//! first. Left out: permissions, owners, links and sizes; a file is its text.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;

use crate::engine::{Hub, Memory};

/// Files by their path within a tree, without a leading slash.
pub type Files = BTreeMap<String, String>;

/// What can be mounted: a directory with files in it.
pub trait Contents: Debug {
    /// One file.
    fn read(&self, path: &str) -> Option<String>;
    /// All paths.
    fn paths(&self) -> Vec<String>;
    /// Puts text into a file, or at its end. The error is the kernel's.
    fn write(&self, path: &str, text: &str, append: bool) -> Result<(), &'static str>;
}

/// A directory that can be written: an emptyDir, or what a storage system keeps. Clones share it.
#[derive(Clone, Debug)]
pub struct Tree(Memory<Files>);

impl Tree {
    /// An empty directory.
    pub fn new(hub: &Hub) -> Tree {
        Tree(hub.memory(Files::new()))
    }
}

impl Contents for Tree {
    fn read(&self, path: &str) -> Option<String> {
        self.0.borrow().get(path).cloned()
    }

    fn paths(&self) -> Vec<String> {
        self.0.borrow().keys().cloned().collect()
    }

    fn write(&self, path: &str, text: &str, append: bool) -> Result<(), &'static str> {
        let mut files = self.0.borrow_mut();
        let file = files.entry(path.to_owned()).or_default();
        if !append {
            file.clear();
        }
        file.push_str(text);
        Ok(())
    }
}

/// What the host itself has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory.
    Directory,
    /// A file and its text.
    File(String),
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
}

/// Directories that every machine has.
const DIRECTORIES: &[&str] = &[
    "/",
    "/bin",
    "/dev",
    "/etc",
    "/home",
    "/mnt",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
    "/var/lib",
    "/var/lib/kubelet",
    "/var/log",
    "/var/run",
];

/// The disk of one node. Clones share it.
#[derive(Clone, Debug)]
pub struct Disk(Memory<State>);

#[derive(Clone, Debug)]
struct State {
    entries: BTreeMap<String, Entry>,
    mounts: BTreeMap<String, Rc<dyn Contents>>,
}

impl Disk {
    /// The disk of a machine that has just been set up.
    pub fn new(hub: &Hub, hostname: &str) -> Disk {
        let mut entries: BTreeMap<String, Entry> =
            DIRECTORIES.iter().map(|path| ((*path).to_owned(), Entry::Directory)).collect();
        entries.insert("/etc/hostname".into(), Entry::File(format!("{hostname}\n")));
        entries.insert("/dev/null".into(), Entry::CharDevice);
        entries.insert("/dev/sda".into(), Entry::BlockDevice);
        entries.insert("/run/containerd.sock".into(), Entry::Socket);
        Disk(hub.memory(State { entries, mounts: BTreeMap::new() }))
    }

    /// Mounts something at a path, over whatever was there.
    pub fn mount(&self, path: &str, contents: Rc<dyn Contents>) {
        self.0.borrow_mut().mounts.insert(path.to_owned(), contents);
    }

    /// Takes a mount away. False if there was none.
    pub fn unmount(&self, path: &str) -> bool {
        self.0.borrow_mut().mounts.remove(path).is_some()
    }

    /// What is mounted at exactly this path.
    pub fn mounted(&self, path: &str) -> Option<Rc<dyn Contents>> {
        self.0.borrow().mounts.get(path).cloned()
    }

    /// All mount points.
    pub fn mount_points(&self) -> Vec<String> {
        self.0.borrow().mounts.keys().cloned().collect()
    }

    /// What the host itself has at a path.
    pub fn entry(&self, path: &str) -> Option<Entry> {
        self.0.borrow().entries.get(tidy(path)).cloned()
    }

    /// Makes a directory and those above it.
    pub fn make_directory(&self, path: &str) {
        let mut state = self.0.borrow_mut();
        let path = tidy(path);
        for (at, _) in path.match_indices('/').skip(1) {
            state.entries.entry(path[..at].to_owned()).or_insert(Entry::Directory);
        }
        state.entries.entry(path.to_owned()).or_insert(Entry::Directory);
    }

    /// The text of a file.
    pub fn read(&self, path: &str) -> Option<String> {
        if let Some((contents, inside)) = self.mount_of(path) {
            return contents.read(&inside);
        }
        match self.entry(path) {
            Some(Entry::File(text)) => Some(text),
            _ => None,
        }
    }

    /// The paths of all files in a directory, relative to it.
    pub fn list(&self, path: &str) -> Vec<String> {
        if let Some((contents, inside)) = self.mount_of(path) {
            let prefix = if inside.is_empty() { inside } else { format!("{inside}/") };
            return contents.paths().iter().filter_map(|path| Some(path.strip_prefix(&prefix)?.to_owned())).collect();
        }
        let prefix = format!("{}/", tidy(path).trim_end_matches('/'));
        let state = self.0.borrow();
        let below = state.entries.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        below
            .filter(|(_, entry)| **entry != Entry::Directory)
            .map(|(path, _)| path[prefix.len()..].to_owned())
            .collect()
    }

    /// Puts text into a file, or at its end. The error is the kernel's.
    pub fn write(&self, path: &str, text: &str, append: bool) -> Result<(), &'static str> {
        if let Some((contents, inside)) = self.mount_of(path) {
            return contents.write(&inside, text, append);
        }
        let mut state = self.0.borrow_mut();
        let path = tidy(path);
        let parent = path.rsplit_once('/').map_or("/", |(parent, _)| if parent.is_empty() { "/" } else { parent });
        if state.entries.get(parent) != Some(&Entry::Directory) {
            return Err("No such file or directory");
        }
        match state.entries.entry(path.to_owned()).or_insert_with(|| Entry::File(String::new())) {
            Entry::File(there) => {
                if !append {
                    there.clear();
                }
                there.push_str(text);
                Ok(())
            }
            Entry::Directory => Err("Is a directory"),
            Entry::CharDevice => Ok(()),
            Entry::Socket | Entry::BlockDevice => Err("Permission denied"),
        }
    }

    /// The mount that a path is in, and the path within it.
    fn mount_of(&self, path: &str) -> Option<(Rc<dyn Contents>, String)> {
        let state = self.0.borrow();
        let path = tidy(path);
        let mut point = path;
        loop {
            if let Some(contents) = state.mounts.get(point) {
                return Some((contents.clone(), path[point.len()..].trim_start_matches('/').to_owned()));
            }
            point = &point[..point.rfind('/')?];
        }
    }
}

/// The path without a slash at its end.
fn tidy(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_point_shows() {
        let disk = Disk::new(&Hub::new(0), "node-1");
        let hub = Hub::new(0);
        let (outer, inner) = (Tree::new(&hub), Tree::new(&hub));
        disk.mount("/mnt/a", Rc::new(outer));
        disk.mount("/mnt/a/b", Rc::new(inner.clone()));
        assert_eq!(disk.write("/mnt/a/b/f", "in", false), Ok(()));
        assert_eq!(disk.write("/mnt/a/f", "out", false), Ok(()));
        assert_eq!(disk.write("/mnt/a/f", "er", true), Ok(()));
        assert_eq!((disk.read("/mnt/a/b/f"), disk.read("/mnt/a/f")), (Some("in".into()), Some("outer".into())));
        assert_eq!(inner.read("f"), Some("in".into()));
        assert_eq!(disk.list("/mnt/a"), ["f"]);
        assert!(disk.unmount("/mnt/a/b") && !disk.unmount("/mnt/a/b"));
        assert_eq!(disk.read("/mnt/a/b/f"), None);
    }

    #[test]
    fn the_host_has_files_of_its_own() {
        let disk = Disk::new(&Hub::new(0), "node-1");
        assert_eq!(disk.read("/etc/hostname"), Some("node-1\n".into()));
        assert_eq!(disk.write("/data/f", "x", false), Err("No such file or directory"));
        disk.make_directory("/data/deep");
        assert_eq!(disk.entry("/data"), Some(Entry::Directory));
        assert_eq!(disk.write("/data/deep/f", "x", false), Ok(()));
        assert_eq!(disk.list("/data"), ["deep/f"]);
        assert_eq!(disk.write("/dev/null", "x", false), Ok(()));
    }
}
