//! Which files a kustomization may read. Mirrors `api/internal/loader`.
//!
//! They lie on the learner's disk, or among those that a scenario brings and earlier commands have written; these come first.
//! A file that a kustomization names lies in or below its directory, also when links have been followed. A directory that it
//! names lies anywhere but above one that is being built: that would go on for ever.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::manifest;
use crate::workdir::{Found, Unread, Workdir};

/// How deep directories may name directories.
const DEPTH_MAX: usize = 100;

/// Where files are found.
pub struct Files<'a> {
    disk: Workdir,
    base: PathBuf,
    written: BTreeMap<PathBuf, &'a str>,
    restricted: bool,
}

/// A directory with a kustomization.
#[derive(Clone, Debug)]
pub struct Root {
    place: PathBuf,
    /// Those that have led here.
    above: Vec<PathBuf>,
}

impl<'a> Files<'a> {
    /// The files in a directory, and those that are not on the disk.
    pub fn new(disk: &Workdir, written: &'a BTreeMap<String, String>) -> Files<'a> {
        let base = disk.place();
        let written = written.iter().map(|(name, text)| (cleaned(&base.join(name)), text.as_str())).collect();
        Files { disk: disk.clone(), base, written, restricted: true }
    }

    /// The same, with files from anywhere.
    pub fn unrestricted(self) -> Files<'a> {
        Files { restricted: false, ..self }
    }

    /// The directory that a command names.
    ///
    /// # Errors
    /// It is none.
    pub fn root(&self, path: &str) -> Result<Root, String> {
        if is_remote(path) {
            return Err(remote(path));
        }
        Ok(Root { place: self.directory(&self.base, path)?, above: Vec::new() })
    }

    /// The directory that a kustomization names.
    ///
    /// # Errors
    /// It is none, or it is one of those that are being built, or above one.
    pub fn below(&self, root: &Root, path: &str) -> Result<Root, String> {
        if path.is_empty() {
            return Err("new root cannot be empty".to_owned());
        }
        if is_remote(path) {
            return Err(remote(path));
        }
        if Path::new(path).is_absolute() {
            return Err(format!("new root '{path}' cannot be absolute"));
        }
        let place = self.directory(&root.place, path)?;
        let above: Vec<PathBuf> = root.above.iter().chain([&root.place]).cloned().collect();
        if let Some(visited) = above.iter().rev().find(|visited| visited.starts_with(&place)) {
            let [place, visited] = [&place, visited].map(|path| self.shown(path));
            return Err(format!("cycle detected: candidate root '{place}' contains visited root '{visited}'"));
        }
        if above.len() > DEPTH_MAX {
            return Err(format!("directories that name directories may be {DEPTH_MAX} deep here"));
        }
        Ok(Root { place, above })
    }

    /// What is in a file that the kustomization in `root` names.
    ///
    /// # Errors
    /// There is none, it is too large, or it lies elsewhere.
    pub fn load(&self, root: &Root, path: &str) -> Result<Vec<u8>, String> {
        if is_remote(path) {
            return Err(remote(path));
        }
        let place = cleaned(&root.place.join(path));
        let elsewhere = |real: &Path| match self.restricted && !real.starts_with(&root.place) {
            true => Err(format!("security; file '{}' is not in or below '{}'", self.shown(&place), self.name(root))),
            false => Ok(()),
        };
        if let Some(text) = self.written.get(&place) {
            elsewhere(&place)?;
            return Ok(text.as_bytes().to_vec());
        }
        let seen = self.disk.look(&place);
        match &seen.found {
            Found::Nothing(Unread::Missing) if !self.is_written_into(&place) => return Err(self.missing(&place)),
            Found::Nothing(Unread::Missing) | Found::Directory(_) => {
                return Err(format!("'{}' must resolve to a file", self.shown(&place)));
            }
            _ => elsewhere(&self.disk.real(&place, &seen))?,
        }
        let bytes = manifest::bytes_of(&seen.found, &self.shown(&place)).map_err(|error| error.to_string())?;
        Ok(bytes.to_vec())
    }

    /// Where a directory is, as messages name it.
    pub fn name(&self, root: &Root) -> String {
        self.shown(&root.place)
    }

    fn directory(&self, from: &Path, path: &str) -> Result<PathBuf, String> {
        const NOT_ONE: &str = "must build at directory";
        if path.is_empty() {
            return Err(format!("{NOT_ONE}: directory path cannot be empty"));
        }
        let place = cleaned(&from.join(path));
        if self.written.contains_key(&place) {
            return Err(format!("{NOT_ONE}: '{}': file is not directory", self.shown(&place)));
        }
        let seen = self.disk.look(&place);
        match &seen.found {
            Found::Directory(_) => Ok(self.disk.real(&place, &seen)),
            Found::Nothing(Unread::Missing) if self.is_written_into(&place) => Ok(place),
            Found::Nothing(Unread::Missing) => {
                Err(format!("{NOT_ONE}: not a valid directory: {}", self.missing(&place)))
            }
            _ => Err(format!("{NOT_ONE}: '{}': file is not directory", self.shown(&place))),
        }
    }

    /// Whether there is a directory by this name because a file has been written into it.
    fn is_written_into(&self, place: &Path) -> bool {
        self.written.keys().any(|file| file.starts_with(place))
    }

    fn missing(&self, place: &Path) -> String {
        let name = self.shown(place);
        format!("evalsymlink failure on '{name}' : lstat {name}: no such file or directory")
    }

    /// A path as seen from where one is, if it lies there.
    fn shown(&self, path: &Path) -> String {
        let shown = path.strip_prefix(&self.base).unwrap_or(path).display().to_string();
        if shown.is_empty() { ".".to_owned() } else { shown }
    }
}

/// A path without `.` and `..`.
fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if clean.parent().is_some() => drop(clean.pop()),
            Component::ParentDir => {}
            part => clean.push(part),
        }
    }
    clean
}

/// Whether a path names something on another machine. Mirrors `git.NewRepoSpecFromURL` as far as people write it.
fn is_remote(path: &str) -> bool {
    let starts = ["git@", "git::", "gh:", "github.com/", "github.com:"];
    path.contains("://") || path.contains("?ref=") || starts.iter().any(|start| path.starts_with(start))
}

fn remote(path: &str) -> String {
    format!("nothing is fetched here, and {path} is somewhere else; save it beside the kustomization, and name that")
}
