//! A node's files: what the host has by itself, and what is mounted where. The first outlives the node's power.
//!
//! The kubelet, the storage drivers and the container runtime of one node share this disk, as they share the mount
//! table of a real machine. Paths are absolute. Below a mount point the mounted tree shows, the longest mount point
//! first. What a machine has as it is set up is in [`linux`]. Left out: permissions, owners and links, but that `/var/run` is
//! `/run`; a file is its text. A disk is full when a fault says so ([`Disk::fill`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;

use engine::{Hub, Memory};

mod contents;
mod entry;
mod linux;

pub use contents::{Contents, Files, Tree};
pub use entry::{Entry, Text};
pub use linux::{KERNEL, OS_IMAGE, id_of};

/// The disk of one node. Clones share it.
#[derive(Clone, Debug)]
pub struct Disk(Memory<State>);

#[derive(Clone, Debug)]
struct State {
    entries: BTreeMap<Cow<'static, str>, Entry>,
    mounts: BTreeMap<String, Rc<dyn Contents>>,
    /// Bytes that are taken, by path.
    taken: BTreeMap<String, u64>,
    /// Something that is no pod has taken the rest.
    full: bool,
}

impl Disk {
    /// The disk of a machine that has just been set up.
    pub fn new(hub: &Hub, hostname: &str) -> Disk {
        let entries = linux::installed(hostname);
        Disk(hub.memory(State { entries, mounts: BTreeMap::new(), taken: BTreeMap::new(), full: false }))
    }

    /// Mounts something at a path, over what was there.
    pub fn mount(&self, path: &str, contents: Rc<dyn Contents>) {
        self.0.borrow_mut().mounts.insert(tidy(path).to_owned(), contents);
    }

    /// Mounts a part of what is mounted elsewhere (`mount --bind`). False if nothing is mounted there.
    pub fn bind(&self, path: &str, from: &str) -> bool {
        let Some((of, path_within)) = self.mount_of(from) else { return false };
        self.mount(path, Rc::new(contents::Part { of, path: path_within }));
        true
    }

    /// Takes away all mounts in a directory.
    pub fn unmount_all_in(&self, directory: &str) {
        let prefix = format!("{}/", tidy(directory));
        let mut state = self.0.borrow_mut();
        let below = state.mounts.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        let below: Vec<String> = below.map(|(at, _)| at.clone()).take_while(|at| at.starts_with(&prefix)).collect();
        below.iter().for_each(|at| drop(state.mounts.remove(at)));
    }

    /// Takes a mount away. False if there was none.
    pub fn unmount(&self, path: &str) -> bool {
        self.0.borrow_mut().mounts.remove(tidy(path)).is_some()
    }

    /// What is mounted at exactly this path.
    pub fn mounted(&self, path: &str) -> Option<Rc<dyn Contents>> {
        self.0.borrow().mounts.get(tidy(path)).cloned()
    }

    /// What the host itself has at a path.
    pub fn entry(&self, path: &str) -> Option<Entry> {
        self.0.borrow().entries.get(tidy(path)).cloned()
    }

    /// Makes a directory and those above it.
    pub fn make_directory(&self, path: &str) {
        let mut state = self.0.borrow_mut();
        let path = tidy(path);
        if state.entries.contains_key(path) {
            return;
        }
        for (at, _) in path.match_indices('/').skip(1) {
            state.entries.entry(path[..at].to_owned().into()).or_insert(Entry::Directory);
        }
        state.entries.entry(path.to_owned().into()).or_insert(Entry::Directory);
    }

    /// Whether there is a file.
    pub fn has(&self, path: &str) -> bool {
        match self.mount_of(path) {
            Some((contents, inside)) => contents.read(&inside).is_some(),
            None => matches!(self.0.borrow().entries.get(tidy(path)), Some(Entry::File(_))),
        }
    }

    /// The text of a file.
    pub fn read(&self, path: &str) -> Option<String> {
        if let Some((contents, inside)) = self.mount_of(path) {
            return contents.read(&inside);
        }
        match self.entry(path) {
            Some(Entry::File(text)) => Some(text.read().into_owned()),
            _ => None,
        }
    }

    /// The paths of all files in a directory, relative to it.
    pub fn list(&self, path: &str) -> Vec<String> {
        if let Some((contents, inside)) = self.mount_of(path) {
            let prefix = if inside.is_empty() { String::new() } else { format!("{inside}/") };
            return contents.paths().iter().filter_map(|path| Some(path.strip_prefix(&prefix)?.to_owned())).collect();
        }
        let prefix = format!("{}/", tidy(path).trim_end_matches('/'));
        let state = self.0.borrow();
        let below = state.entries.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        let below = below.take_while(|(path, _)| path.starts_with(&prefix));
        below
            .filter(|(_, entry)| **entry != Entry::Directory)
            .map(|(path, _)| path[prefix.len()..].to_owned())
            .collect()
    }

    /// The names in a directory; of a file, its path. The error is the kernel's.
    pub fn names(&self, path: &str) -> Result<Vec<String>, &'static str> {
        let path = tidy(path);
        let mounted = self.mount_of(path);
        match (self.entry(path), self.read(path)) {
            (_, Some(_)) | (Some(Entry::Socket | Entry::CharDevice | Entry::BlockDevice), _) => {
                return Ok(vec![path.to_owned()]);
            }
            (None, None) if mounted.is_none() => return Err("No such file or directory"),
            _ => {}
        }
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let state = self.0.borrow();
        let points = state.mounts.keys().filter_map(|point| point.strip_prefix(&prefix));
        let mut names: BTreeSet<String> = points.filter_map(|rest| Some(rest.split('/').next()?.to_owned())).collect();
        match mounted {
            Some((contents, inside)) => {
                let prefix = if inside.is_empty() { String::new() } else { format!("{inside}/") };
                let paths = contents.paths();
                let below = paths.iter().filter_map(|path| path.strip_prefix(&prefix));
                names.extend(below.filter_map(|rest| Some(rest.split('/').next()?.to_owned())));
                // A file system that is mounted has a directory only where files are in it.
                if !prefix.is_empty() && names.is_empty() {
                    return Err("No such file or directory");
                }
            }
            None => {
                let below = state.entries.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
                let below = below.map_while(|(path, _)| path.strip_prefix(&prefix));
                names.extend(below.filter_map(|rest| Some(rest.split('/').next()?.to_owned())));
            }
        }
        names.remove("");
        Ok(names.into_iter().collect())
    }

    /// The host's own files directly in a directory: name and text, in order.
    pub fn files_in(&self, directory: &str) -> Vec<(String, String)> {
        self.visit(directory, |name, text| Some((name.to_owned(), text.to_owned())))
    }

    /// Shows each of the host's own files directly in a directory, by name and text, in order; gives what was picked.
    pub fn visit<T>(&self, directory: &str, mut pick: impl FnMut(&str, &str) -> Option<T>) -> Vec<T> {
        let prefix = format!("{}/", tidy(directory).trim_end_matches('/'));
        let state = self.0.borrow();
        let below = state.entries.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        let below = below.map_while(|(path, entry)| Some((path.strip_prefix(&prefix)?, entry)));
        let file = |(name, entry): (&str, &Entry)| match entry {
            Entry::File(text) if !name.contains('/') => pick(name, &text.read()),
            _ => None,
        };
        below.filter_map(file).collect()
    }

    /// Puts text into a file that must not be there yet (`O_EXCL`). The directory above it is made if need be.
    pub fn create(&self, path: &str, text: &str) -> Result<(), &'static str> {
        if self.has(path) {
            return Err("File exists");
        }
        self.put(path, text)
    }

    /// Puts text into a file, and makes the directory above it if need be.
    pub fn put(&self, path: &str, text: &str) -> Result<(), &'static str> {
        if let Some((directory, _)) = tidy(path).rsplit_once('/').filter(|(directory, _)| !directory.is_empty()) {
            let above = directory.match_indices('/').skip(1).map(|(at, _)| &directory[..at]).chain([directory]);
            if { above }.any(|path| self.is_something_else(path)) {
                return Err("Not a directory");
            }
            self.make_directory(directory);
        }
        self.write(path, text, false)
    }

    /// The same for a text that has its middle in common with others.
    pub fn put_around(&self, path: &str, before: &str, common: &Rc<str>, after: &str) -> Result<(), &'static str> {
        self.put(path, "")?;
        let mut state = self.0.borrow_mut();
        if let Some(Entry::File(text)) = state.entries.get_mut(tidy(path)) {
            *text = Text::Around(Rc::new((before.into(), common.clone(), after.into())));
            return Ok(());
        }
        drop(state);
        self.write(path, &[before, common, after].concat(), false)
    }

    /// Whether the host has a thing at a path that no directory can be made of.
    fn is_something_else(&self, path: &str) -> bool {
        self.0.borrow().entries.get(path).is_some_and(|entry| *entry != Entry::Directory)
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) -> Result<(), &'static str> {
        if let Some((contents, inside)) = self.mount_of(path) {
            return contents.remove(&inside);
        }
        let entries = &mut self.0.borrow_mut().entries;
        match entries.get(tidy(path)) {
            Some(Entry::Directory) => Err("Is a directory"),
            Some(_) => {
                entries.remove(tidy(path));
                Ok(())
            }
            None => Err("No such file or directory"),
        }
    }

    /// From now on so many bytes are taken at a path.
    pub fn fill(&self, path: &str, bytes: u64) {
        let taken = &mut self.0.borrow_mut().taken;
        match bytes {
            0 => taken.remove(path),
            _ => taken.insert(path.to_owned(), bytes),
        };
    }

    /// How many bytes are taken at a path and below it; of an empty one: in all.
    pub fn used(&self, path: &str) -> u64 {
        let state = self.0.borrow();
        let from = state.taken.range::<str, _>((Bound::Included(path), Bound::Unbounded));
        let below = from.take_while(|(there, _)| there.starts_with(path)).filter(|(there, _)| is_within(there, path));
        below.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// What is taken at a path and below it is so no more.
    pub fn free(&self, path: &str) {
        self.0.borrow_mut().taken.retain(|there, _| !is_within(there, path));
    }

    /// Something that is no pod fills the disk, or does no longer.
    pub fn set_full(&self, full: bool) {
        self.0.borrow_mut().full = full;
    }

    /// Whether something that is no pod has filled the disk.
    pub fn is_full(&self) -> bool {
        self.0.borrow().full
    }

    /// The power is off: files stay, mounts go.
    pub fn power_cut(&self) {
        self.0.borrow_mut().mounts.clear();
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
        match state.entries.entry(path.to_owned().into()).or_insert_with(|| Entry::File(Text::Whole("".into()))) {
            Entry::File(there) => {
                let there = there.whole();
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

/// The path without a slash at its end, and without the link in it that every machine has.
fn tidy(path: &str) -> &str {
    let of_run = path.strip_prefix("/var").filter(|rest| is_within(rest, "/run") && rest.len() > "/run/".len());
    let path = of_run.unwrap_or(path);
    match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    }
}

/// Whether the path is the other one or lies below it.
fn is_within(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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

    #[test]
    fn a_machine_has_what_daemons_mount() {
        let hub = Hub::new(0);
        let disk = Disk::new(&hub, "node-1");
        for directory in
            ["/lib/modules", "/sys/fs/cgroup", "/sys/fs/bpf", "/etc/ssl/certs", "/etc/kubernetes", "/var/log/pods"]
        {
            assert_eq!(disk.entry(directory), Some(Entry::Directory), "{directory}");
        }
        for file in ["/etc/localtime", "/run/xtables.lock", "/etc/os-release", "/var/run/xtables.lock"] {
            assert!(disk.has(file), "{file}");
        }
        for socket in ["/run/containerd/containerd.sock", "/var/run/containerd/containerd.sock"] {
            assert_eq!(disk.entry(socket), Some(Entry::Socket), "{socket}");
        }
        assert_eq!(disk.names("/lib/modules").unwrap(), [KERNEL]);
        assert!(disk.read("/etc/os-release").is_some_and(|text| text.contains(OS_IMAGE)));
        assert!(disk.names("/var").unwrap().contains(&"run".to_owned()));
        disk.mount("/var/run/secrets", Rc::new(Tree::new(&hub)));
        disk.write("/run/secrets/token", "t", false).unwrap();
        assert_eq!(disk.read("/var/run/secrets/token").as_deref(), Some("t"));
        assert!(disk.unmount("/run/secrets"));
    }

    #[test]
    fn directories_are_listed_and_files_go() {
        let hub = Hub::new(0);
        let disk = Disk::new(&hub, "node-1");
        disk.put("/etc/cni/net.d/10-a.conflist", "{}").unwrap();
        disk.make_directory("/opt/cni/bin/");
        disk.mount("/opt/data", Rc::new(Tree::new(&hub)));
        disk.write("/opt/data/deep/f", "x", false).unwrap();
        for (path, names) in [
            ("/etc/cni", vec!["net.d"]),
            ("/etc/cni/net.d/", vec!["10-a.conflist"]),
            ("/etc/cni/net.d/10-a.conflist", vec!["/etc/cni/net.d/10-a.conflist"]),
            ("/opt", vec!["cni", "data"]),
            ("/opt/cni/bin", vec![]),
            ("/opt/data", vec!["deep"]),
            ("/dev/null", vec!["/dev/null"]),
        ] {
            assert_eq!(disk.names(path).unwrap(), names, "{path}");
        }
        assert!(disk.names("/").unwrap().contains(&"etc".to_owned()));
        assert_eq!(disk.files_in("/etc/cni/net.d"), [("10-a.conflist".to_owned(), "{}".to_owned())]);
        for (refused, error) in [
            (disk.names("/none").map(|_| ()), "No such file or directory"),
            (disk.create("/etc/hostname", ""), "File exists"),
            (disk.put("/etc", ""), "Is a directory"),
            (disk.put("/etc/hostname/under/it", ""), "Not a directory"),
            (disk.remove("/opt"), "Is a directory"),
            (disk.remove("/none"), "No such file or directory"),
        ] {
            assert_eq!(refused, Err(error));
        }
        disk.put_around("/etc/cni/b", "<", &"common".into(), ">").unwrap();
        disk.put_around("/opt/data/b", "<", &"common".into(), ">").unwrap();
        assert_eq!(disk.files_in("/etc/cni"), [("b".to_owned(), "<common>".to_owned())]);
        for path in ["/etc/cni/b", "/opt/data/b"] {
            disk.write(path, " and more", true).unwrap();
            assert_eq!(disk.read(path).as_deref(), Some("<common> and more"), "{path}");
        }
        disk.power_cut();
        assert!(disk.mounted("/opt/data").is_none() && disk.read("/etc/cni/net.d/10-a.conflist").is_some());
        disk.remove("/etc/cni/net.d/10-a.conflist").unwrap();
        assert_eq!(disk.read("/etc/cni/net.d/10-a.conflist"), None);
    }
}
