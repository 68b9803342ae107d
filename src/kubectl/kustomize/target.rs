//! A directory, from its file to its resources. Mirrors `api/internal/target`.

use serde_json::Value;

use super::config::Config;
use super::files::{Files, Root};
use super::kustomization::{Kustomization, NAMES, Sorting};
use super::resource::Resource;
use super::set::Set;
use super::variables::Variables;
use super::{generate, hash, images, marks, names, patch, references, replacements, transformers};
use crate::manifest;

/// So many directories may be built for one. Two that each name two others, which name two others, would never end.
const DIRECTORIES_MAX: usize = 1_000;

/// An annotation of objects that are only there to be read, by replacements for example.
const LOCAL: &str = "config.kubernetes.io/local-config";

/// What has been gathered in a directory: resources, which of their fields are meant, and what stands for some of them.
#[derive(Default)]
struct Gathered {
    set: Set,
    config: Config,
    variables: Variables,
}

impl Gathered {
    /// Adds what a directory below has come to.
    fn append(&mut self, inner: Gathered) -> Result<(), String> {
        self.set.append(inner.set.0)?;
        self.config.merge(inner.config)?;
        self.variables.merge(inner.variables)
    }
}

/// What has been built.
pub struct Whole {
    pub set: Set,
    pub sorting: Option<Sorting>,
    /// Variables that stand nowhere.
    pub unused: Vec<String>,
}

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
    pub fn whole(&mut self, root: &Root) -> Result<Whole, String> {
        let kustomization = self.read(root)?;
        let mut gathered = Gathered::default();
        self.fill(&mut gathered, &kustomization, root)?;
        let Gathered { mut set, config, variables } = gathered;
        for resource in set.0.iter_mut().filter(|resource| resource.needs_hash) {
            let hash = hash::of(resource);
            resource.remember_id();
            let name = format!("{}-{hash}", resource.id().name);
            resource.set_meta("name", Value::from(name));
        }
        references::update(&mut set, &config.references)?;
        let unused = variables.resolve(&mut set, &config.variables)?;
        set.0.iter_mut().for_each(Resource::quote_annotations);
        set.0.retain(|resource| resource.annotations().get(LOCAL).is_none_or(|value| value == "false"));
        Ok(Whole { set, sorting: kustomization.sorting, unused })
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
    fn fill(&mut self, all: &mut Gathered, kustomization: &Kustomization, root: &Root) -> Result<(), String> {
        for path in &kustomization.resources {
            self.gather(all, path, root).map_err(|why| format!("accumulating resources: {why}"))?;
        }
        let wrong = |why| format!("merging config: {why}");
        let mut config = Config::built_in();
        for path in &kustomization.configurations {
            let text = self.files.load(root, path)?;
            config.merge(Config::read(path, &String::from_utf8_lossy(&text))?)?;
        }
        all.config.merge(config).map_err(wrong)?;
        for generator in &kustomization.config_maps {
            merged(&mut all.set, "ConfigMapGenerator", generate::config_map(generator, self.files, root)?)?;
        }
        for generator in &kustomization.secrets {
            merged(&mut all.set, "SecretGenerator", generate::secret(generator, self.files, root)?)?;
        }
        for path in &kustomization.components {
            self.component(all, path, root).map_err(|why| format!("accumulating components: {why}"))?;
        }
        self.transform(all, kustomization, root)?;
        let own = self.transformers(&kustomization.transformers, root)?;
        transformers::run(&mut all.set, own, self.files, root)?;
        all.variables.add(&kustomization.variables, &mut all.set)
    }

    /// The objects of `transformers`: each entry is one as it stands there, or a file or directory.
    fn transformers(&mut self, entries: &[String], root: &Root) -> Result<Vec<Resource>, String> {
        let (mut all, mut paths) = (Gathered::default(), Vec::new());
        for entry in entries {
            match resources("transformer", entry) {
                Ok(inline) => {
                    all.set.append(inline).map_err(|why| format!("configuring external transformer: {why}"))?
                }
                Err(_) => paths.push(entry),
            }
        }
        paths.into_iter().try_for_each(|path| self.gather(&mut all, path, root))?;
        Ok(all.set.0)
    }

    /// A file, or else a directory.
    fn gather(&mut self, all: &mut Gathered, path: &str, root: &Root) -> Result<(), String> {
        let Err(not_a_file) = self.file(&mut all.set, path, root) else { return Ok(()) };
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
            let mut inner = Gathered::default();
            builder.fill(&mut inner, kustomization, &below)?;
            Ok(inner)
        });
        let name = self.files.name(&below);
        let added = inner
            .and_then(|inner| all.append(inner).map_err(|why| format!("recursed merging from path '{name}': {why}")));
        added.map_err(|why| format!("{as_file}: {why}"))
    }

    fn file(&self, set: &mut Set, path: &str, root: &Root) -> Result<(), String> {
        let bytes = self.files.load(root, path)?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{path} is no text file"))?;
        set.append(resources(path, &text)?).map_err(|why| format!("merging resources from '{path}': {why}"))
    }

    /// A component works on what is there already.
    fn component(&mut self, all: &mut Gathered, path: &str, root: &Root) -> Result<(), String> {
        let below = self.files.below(root, path).map_err(|why| format!("loader.New {why:?}"))?;
        let done = self.directory(&below, true, |builder, kustomization| builder.fill(all, kustomization, &below));
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

    /// In the order of kustomize, not in that of the fields.
    fn transform(&self, all: &mut Gathered, kustomization: &Kustomization, root: &Root) -> Result<(), String> {
        let (files, Gathered { set, config, .. }) = (self.files, all);
        let strategic = &kustomization.strategic_patches;
        strategic.iter().try_for_each(|entry| patch::old_strategic(set, entry, files, root))?;
        kustomization.patches.iter().try_for_each(|entry| patch::patch(set, entry, files, root))?;
        if !kustomization.namespace.is_empty() {
            names::namespace(set, &kustomization.namespace, &config.namespaces)?;
        }
        if !kustomization.name_prefix.is_empty() {
            names::prefix(set, &kustomization.name_prefix, &config.prefixes)?;
        }
        if !kustomization.name_suffix.is_empty() {
            names::suffix(set, &kustomization.name_suffix, &config.suffixes)?;
        }
        kustomization.labels.iter().try_for_each(|labels| marks::label(set, labels, config))?;
        marks::mark(set, &kustomization.common_labels, &config.selectors)?;
        marks::mark(set, &kustomization.common_annotations, &config.annotations)?;
        kustomization.json_patches.iter().try_for_each(|entry| patch::old_json(set, entry, files, root))?;
        kustomization.replicas.iter().try_for_each(|entry| images::replicas(set, entry, &config.replicas))?;
        kustomization.images.iter().try_for_each(|entry| images::images(set, entry, &config.images))?;
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
