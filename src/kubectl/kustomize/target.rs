//! A directory, from its file to its resources. Mirrors `api/internal/target`.

use serde_json::Value;

use super::files::{Files, Root};
use super::kustomization::{Kustomization, NAMES, Sorting};
use super::resource::Resource;
use super::set::Set;
use super::{generate, hash, images, marks, names, patch, references, replacements};
use crate::manifest;

/// So many directories may be built for one. Two that each name two others, which name two others, would never end.
const DIRECTORIES_MAX: usize = 1_000;

/// An annotation of objects that are only there to be read, by replacements for example.
const LOCAL: &str = "config.kubernetes.io/local-config";

/// Builds directories.
pub struct Builder<'a> {
    files: &'a Files<'a>,
    pub warnings: Vec<String>,
    built: usize,
}

impl<'a> Builder<'a> {
    /// A builder that has built nothing.
    pub fn new(files: &'a Files<'a>) -> Builder<'a> {
        Builder { files, warnings: Vec::new(), built: 0 }
    }

    /// Builds the directory that was asked for, and does what is done once, at the end.
    ///
    /// # Errors
    /// What kustomize says of it.
    pub fn whole(&mut self, root: &Root) -> Result<(Set, Option<Sorting>), String> {
        let kustomization = self.read(root)?;
        let mut set = Set::default();
        self.fill(&mut set, &kustomization, root)?;
        for resource in set.0.iter_mut().filter(|resource| resource.needs_hash) {
            let hash = hash::of(resource);
            resource.remember_id();
            let name = format!("{}-{hash}", resource.id().name);
            resource.set_meta("name", Value::from(name));
        }
        references::update(&mut set)?;
        set.0.iter_mut().for_each(Resource::quote_annotations);
        set.0.retain(|resource| resource.annotations().get(LOCAL).is_none_or(|value| value == "false"));
        Ok((set, kustomization.sorting))
    }

    /// Reads the file of a directory.
    fn read(&mut self, root: &Root) -> Result<Kustomization, String> {
        self.built += 1;
        if self.built > DIRECTORIES_MAX {
            return Err(format!("more than {DIRECTORIES_MAX} directories are not built for one here"));
        }
        let found: Vec<_> = NAMES.iter().filter_map(|name| self.files.load(root, name).ok()).collect();
        let directory = self.files.name(root);
        let [file] = found.as_slice() else {
            return Err(match found.is_empty() {
                true => format!(
                    "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory \
                     '{directory}'"
                ),
                false => format!("Found multiple kustomization files under: {directory}\n"),
            });
        };
        let kustomization = Kustomization::read(&String::from_utf8_lossy(file), &directory)?;
        self.warnings.extend(kustomization.warnings.iter().cloned());
        Ok(kustomization)
    }

    /// Adds the resources of a directory and changes all that is there. Mirrors `accumulateTarget`.
    fn fill(&mut self, set: &mut Set, kustomization: &Kustomization, root: &Root) -> Result<(), String> {
        for path in &kustomization.resources {
            self.gather(set, path, root).map_err(|why| format!("accumulating resources: {why}"))?;
        }
        for generator in &kustomization.config_maps {
            merged(set, "ConfigMapGenerator", generate::config_map(generator, self.files, root)?)?;
        }
        for generator in &kustomization.secrets {
            merged(set, "SecretGenerator", generate::secret(generator, self.files, root)?)?;
        }
        for path in &kustomization.components {
            self.component(set, path, root).map_err(|why| format!("accumulating components: {why}"))?;
        }
        self.transform(set, kustomization, root)
    }

    /// A file, or else a directory.
    fn gather(&mut self, set: &mut Set, path: &str, root: &Root) -> Result<(), String> {
        let Err(not_a_file) = self.file(set, path, root) else { return Ok(()) };
        let as_file = format!("accumulation err='accumulating resources from '{path}': {not_a_file}'");
        let below = match self.files.below(root, path) {
            Ok(below) => below,
            // It is a file, and nothing is to be said of directories.
            Err(_) if not_a_file.starts_with("MalformedYAMLError") => {
                return Err(format!("accumulating resources from '{path}': {not_a_file}"));
            }
            Err(why) => return Err(format!("{as_file}: {why}")),
        };
        let inner = self.directory(&below, false, |builder, kustomization| {
            let mut inner = Set::default();
            builder.fill(&mut inner, kustomization, &below)?;
            Ok(inner)
        });
        let name = self.files.name(&below);
        let added = inner
            .and_then(|inner| set.append(inner.0).map_err(|why| format!("recursed merging from path '{name}': {why}")));
        added.map_err(|why| format!("{as_file}: {why}"))
    }

    fn file(&self, set: &mut Set, path: &str, root: &Root) -> Result<(), String> {
        let bytes = self.files.load(root, path)?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{path} is no text file"))?;
        set.append(resources(path, &text)?).map_err(|why| format!("merging resources from '{path}': {why}"))
    }

    /// A component works on what is there already.
    fn component(&mut self, set: &mut Set, path: &str, root: &Root) -> Result<(), String> {
        let below = self.files.below(root, path).map_err(|why| format!("loader.New {why:?}"))?;
        let done = self.directory(&below, true, |builder, kustomization| builder.fill(set, kustomization, &below));
        done.map_err(|why| format!("accumulateDirectory: {why:?}"))
    }

    fn directory<T>(
        &mut self,
        root: &Root,
        is_component: bool,
        build: impl FnOnce(&mut Self, &Kustomization) -> Result<T, String>,
    ) -> Result<T, String> {
        let name = self.files.name(root);
        let read = self.read(root).map_err(|why| format!("couldn't make target for path '{name}': {why}"));
        let kustomization = read?;
        match (is_component, kustomization.is_component) {
            (true, false) => Err(format!("expected kind 'Component' for path '{name}' but got 'Kustomization'")),
            (false, true) => Err(format!("expected kind != 'Component' for path '{name}'")),
            _ => build(self, &kustomization).map_err(|why| format!("recursed accumulation of path '{name}': {why}")),
        }
    }

    /// In the order of kustomize, whatever the order of the fields.
    fn transform(&self, set: &mut Set, kustomization: &Kustomization, root: &Root) -> Result<(), String> {
        let files = self.files;
        let strategic = &kustomization.strategic_patches;
        strategic.iter().try_for_each(|entry| patch::old_strategic(set, entry, files, root))?;
        kustomization.patches.iter().try_for_each(|entry| patch::patch(set, entry, files, root))?;
        if !kustomization.namespace.is_empty() {
            names::namespace(set, &kustomization.namespace)?;
        }
        if !kustomization.name_prefix.is_empty() {
            names::prefix(set, &kustomization.name_prefix);
        }
        if !kustomization.name_suffix.is_empty() {
            names::suffix(set, &kustomization.name_suffix);
        }
        kustomization.labels.iter().try_for_each(|labels| marks::label(set, labels))?;
        marks::label_all(set, &kustomization.common_labels)?;
        marks::annotate(set, &kustomization.common_annotations)?;
        kustomization.json_patches.iter().try_for_each(|entry| patch::old_json(set, entry, files, root))?;
        kustomization.replicas.iter().try_for_each(|entry| images::replicas(set, entry))?;
        kustomization.images.iter().try_for_each(|entry| images::images(set, entry))?;
        kustomization.replacements.iter().try_for_each(|entry| replacements::replace(set, entry, files, root))
    }
}

fn merged(set: &mut Set, generator: &str, made: Resource) -> Result<(), String> {
    set.absorb(made).map_err(|why| format!("merging from generator {generator}: {why}"))
}

/// The objects in a text; a list stands for its items. Mirrors `resource.Factory.SliceFromBytes`.
///
/// # Errors
/// It is no YAML, or something in it is no object.
pub fn resources(path: &str, text: &str) -> Result<Vec<Resource>, String> {
    let values = manifest::values(path, text).map_err(|error| patch::malformed(&error.message, path))?;
    let mut found = Vec::new();
    let mut left: std::collections::VecDeque<Value> = values.into();
    while let Some(mut value) = left.pop_front() {
        if value.as_object().is_some_and(serde_json::Map::is_empty) {
            continue;
        }
        let is_list = value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
        match value.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) if is_list => left.extend(items),
            Some(Value::Null) if is_list => {}
            Some(items) => {
                value["items"] = items;
                found.push(Resource::of(value)?);
            }
            None => found.push(Resource::of(value)?),
        }
    }
    Ok(found)
}
