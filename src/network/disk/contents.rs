//! What can be mounted on a disk.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;

use engine::{Hub, Memory};

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
    /// Takes a file away. The error is the kernel's; most of what is mounted cannot be changed.
    fn remove(&self, _path: &str) -> Result<(), &'static str> {
        Err("Read-only file system")
    }
}

/// A file or directory of another tree, bound to that tree: what is later mounted where it was found is not seen here.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) of: Rc<dyn Contents>,
    pub(super) path: String,
}

impl Part {
    fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.path).trim_matches('/').to_owned()
    }
}

impl Contents for Part {
    fn read(&self, path: &str) -> Option<String> {
        self.of.read(&self.at(path))
    }

    fn paths(&self) -> Vec<String> {
        let within = |path: String| Some(path.strip_prefix(&self.path)?.strip_prefix('/')?.to_owned());
        self.of.paths().into_iter().filter_map(within).collect()
    }

    fn write(&self, path: &str, text: &str, append: bool) -> Result<(), &'static str> {
        self.of.write(&self.at(path), text, append)
    }

    fn remove(&self, path: &str) -> Result<(), &'static str> {
        self.of.remove(&self.at(path))
    }
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

    fn remove(&self, path: &str) -> Result<(), &'static str> {
        self.0.borrow_mut().remove(path).map(|_| ()).ok_or("No such file or directory")
    }
}
