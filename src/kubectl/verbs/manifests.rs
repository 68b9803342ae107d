//! `-f` and `-k`: the objects that a command is given.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::kustomize;
use crate::manifest::{self, Manifest, ManifestError, Manifests, Reading, of_values};
use crate::workdir::{FILE_BYTES_MAX, Found, Unread};
use object::Discovery;

impl Kubectl {
    /// The objects of all `-f`, in order, or of `-k`, each in its namespace.
    pub async fn manifests(&self, verb: &str, args: &Args) -> Result<Vec<Manifest>, Failure> {
        Ok(self.some_manifests(verb, args).await?.all()?)
    }

    /// The same as far as they can be used, and what is said of the others.
    pub async fn some_manifests(&self, verb: &str, args: &Args) -> Result<Manifests, Failure> {
        let built = self.built(args)?;
        let read = |known: &Discovery| match &built {
            Some(objects) => of_values(args.value("kustomize"), objects.clone(), known),
            None => self.read_all(args, known),
        };
        if !args.gives_manifests() {
            return Err(Failure::text("must specify one of -f and -k"));
        }
        let mut manifests = read(&Discovery::default())?;
        if manifests.names_unknown_kinds {
            manifests = read(&self.discover().await?)?;
        }
        if manifests.is_empty() {
            return Err(match &built {
                Some(_) => Failure::text(format!("no objects passed to {verb}")),
                None => ManifestError::nothing_in(args.value("filename"), verb).into(),
            });
        }
        manifests.known.iter_mut().for_each(|manifest| self.place(manifest, args));
        Ok(manifests)
    }

    /// What `-k` names, built; none if it is not given.
    fn built(&self, args: &Args) -> Result<Option<Vec<Value>>, Failure> {
        if !args.has("kustomize") {
            return Ok(None);
        }
        if args.has("filename") {
            return Err(Failure::text("only one of -f or -k can be specified"));
        }
        if args.is_on("recursive") {
            return Err(Failure::text("the -k flag can't be used with -f or -R"));
        }
        let files = kustomize::Files::new(&self.workdir, &self.files);
        let built =
            kustomize::build(&files, args.value("kustomize"), kustomize::Order::Legacy).map_err(Failure::Text)?;
        built.warnings.iter().for_each(|warning| self.complain(warning));
        Ok(Some(built.objects))
    }

    fn read_all(&self, args: &Args, known: &Discovery) -> Result<Manifests, ManifestError> {
        let mut manifests = Manifests::default();
        for path in args.values("filename").iter().flat_map(|paths| paths.split(',')) {
            manifests.append(self.read(path, known)?);
        }
        Ok(manifests)
    }

    /// The text of a file, or of standard input.
    ///
    /// # Errors
    /// Why it cannot be opened: `open web.yaml: no such file or directory`.
    pub fn open_text(&self, path: &str) -> Result<String, Failure> {
        self.read_text(path).map_err(|why| Failure::text(format!("open {path}: {why}")))
    }

    /// The same, for a caller that names the file in its own message.
    ///
    /// # Errors
    /// Why it cannot be read, without its name.
    pub fn read_text(&self, path: &str) -> Result<String, String> {
        let no_text = |_| "it holds bytes that are no text, and here a text is wanted".to_owned();
        String::from_utf8(self.read_bytes(path)?).map_err(no_text)
    }

    /// What is in a file, or came by standard input.
    ///
    /// # Errors
    /// Why it cannot be read, without its name, as Go says it.
    pub fn read_bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        if path == "-" {
            return Ok(self.stdin.clone().into_bytes());
        }
        if let Some(text) = self.files.get(path) {
            return Ok(text.clone().into_bytes());
        }
        match &self.workdir.look(path).found {
            Found::Text(text) => Ok(text.clone().into_bytes()),
            Found::Bytes(bytes) => Ok(bytes.clone()),
            Found::Directory(_) => Err("is a directory".to_owned()),
            Found::Nothing(Unread::Missing) => Err("no such file or directory".to_owned()),
            Found::Nothing(Unread::TooLarge(_)) => {
                Err(format!("it has more than {} MiB", FILE_BYTES_MAX / (1024 * 1024)))
            }
            Found::Nothing(Unread::Failed(why)) => Err(why.clone()),
        }
    }

    /// The names of the files in a folder, sorted; none if it is no folder.
    pub fn names_in(&self, path: &str) -> Vec<String> {
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let told = self.files.keys().filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned);
        let there = match &self.workdir.look(path).found {
            Found::Directory(listing) => listing.files.clone(),
            _ => Vec::new(),
        };
        told.filter(|name| !name.contains('/')).chain(there).collect::<BTreeSet<String>>().into_iter().collect()
    }

    fn read(&self, path: &str, known: &Discovery) -> Result<Manifests, ManifestError> {
        if path == "-" {
            return manifest::read_text("STDIN", &self.stdin, known, Reading::Stream);
        }
        if let Some(text) = self.files.get(path) {
            return manifest::read_text(path, text, known, Reading::Stream);
        }
        // A directory of files that are not on the disk.
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let mut inside = self.files.iter().filter(|(name, _)| name.starts_with(&prefix)).peekable();
        if inside.peek().is_none() {
            return manifest::read_path(&self.workdir, path, known, Reading::Stream);
        }
        let mut all = Manifests::default();
        for (name, text) in inside {
            all.append(manifest::read_text(name, text, known, Reading::Stream)?);
        }
        Ok(all)
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
