//! `-f`: the objects that a command is given.

use serde_json::{Value, json};

use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::{Failure, Kubectl};
use crate::cluster::manifest::{self, Manifest, ManifestError};

impl Kubectl {
    /// The objects of all `-f`, in order, each in its namespace.
    pub fn manifests(&self, verb: &str, args: &Args) -> Result<Vec<Manifest>, Failure> {
        let paths = args.values("filename");
        if paths.is_empty() {
            return Err(Failure::text("must specify one of -f and -k"));
        }
        let mut manifests = Vec::new();
        for path in paths.iter().flat_map(|paths| paths.split(',')) {
            let mut read = self.read(path).map_err(|error| for_verb(error, verb))?;
            read.iter_mut().for_each(|manifest| self.place(manifest, args));
            manifests.append(&mut read);
        }
        Ok(manifests)
    }

    /// The text of a file, or of standard input.
    pub fn text_of(&self, path: &str) -> Result<String, Failure> {
        if path == "-" {
            return Ok(self.stdin.clone());
        }
        let on_disk = || std::fs::read_to_string(self.base.join(path));
        let text = self.files.get(path).cloned().map_or_else(on_disk, Ok);
        text.map_err(|_| Failure::text(format!("open {path}: no such file or directory")))
    }

    fn read(&self, path: &str) -> Result<Vec<Manifest>, ManifestError> {
        if path == "-" {
            return manifest::read_text("STDIN", &self.stdin);
        }
        if let Some(text) = self.files.get(path) {
            return manifest::read_text(path, text);
        }
        // A directory of files that are not on the disk.
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let mut all = Vec::new();
        for (name, text) in self.files.iter().filter(|(name, _)| name.starts_with(&prefix)) {
            all.append(&mut manifest::read_text(name, text)?);
        }
        if all.is_empty() { manifest::read_path(&self.base, path) } else { Ok(all) }
    }

    /// Mirrors `resource.SetNamespace`: an object without a namespace gets the one of the command.
    fn place(&self, manifest: &mut Manifest, args: &Args) {
        if !manifest.kind.info().namespaced {
            return;
        }
        let Some(object) = manifest.object.as_object_mut() else { return };
        let meta = object.entry("metadata").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            let namespace = meta.entry("namespace").or_insert(Value::Null);
            if namespace.as_str().is_none_or(str::is_empty) {
                *namespace = Value::from(self.namespace(args));
            }
        }
    }
}

/// `no objects passed to apply` names the verb.
fn for_verb(mut error: ManifestError, verb: &str) -> ManifestError {
    if error.message == "no objects passed to apply" {
        error.message = format!("no objects passed to {verb}");
    }
    error
}
