//! Kustomizations: directories whose `kustomization.yaml` says how manifests are to be changed before they are applied.
//!
//! Mirrors kustomize v5.8, which is part of kubectl: `kubectl apply -k overlays/dev`, `kubectl kustomize overlays/dev`. No
//! component of the cluster knows of it: what comes out are manifests like any others.
//!
//! A directory is built in this order: its resources are gathered (files, and other directories, each of them built first),
//! then what generators make of literals and files is added, then components have their turn, and then everything there is
//! so far is changed: patches, namespace, prefix and suffix, labels, annotations, replicas, images, replacements. At the very
//! end, and once, generated names get a hash of their content, and every reference to an object that was renamed on the way
//! gets the new name.
//!
//! - [`files`]: what may be read, and from where. [`read`], [`kustomization`]: the file. [`generate`], [`hash`]: what is made.
//! - [`id`], [`resource`], [`set`]: a manifest that is being built, what it is known by, and many of them.
//! - [`target`]: a directory, from its file to its resources.
//! - [`fields`], [`specs`], [`config`]: the fields that hold labels, replicas and names, by kind. [`names`], [`marks`],
//!   [`images`], [`patch`], [`merge`], [`json`], [`replacements`]: what changes them, and [`transformers`], which have them do
//!   so. [`references`]: who names whom. [`variables`]: what stands for a field of another. [`order`]: what comes first.
//!
//! What must hold: the same files give the same manifests, and no file is read outside of the directory that names it.
//!
//! Left out: remote bases (URLs, repositories), Helm charts, `generators`, `validators`, plugins that are
//! programs, `crds` and `openapi`, `buildMetadata`; replacements within a text that is YAML or
//! JSON itself. A key that stands twice in a mapping is a mistake here, and not as in a manifest. Directories are named as seen
//! from where one is, not from the root of the disk. Kinds that are not built in are taken to be namespaced.

mod config;
mod fields;
mod files;
mod generate;
pub mod hash;
mod id;
mod images;
mod json;
mod kustomization;
mod marks;
mod merge;
mod names;
mod order;
mod patch;
mod read;
mod references;
mod replacements;
mod resource;
mod set;
mod specs;
mod target;
mod transformers;
mod variables;

use serde_json::Value;

pub use files::Files;
pub use order::Order;

/// What has been built.
#[derive(Debug)]
pub struct Built {
    /// The manifests.
    pub objects: Vec<Value>,
    /// What is deprecated in the files, and what is there for nothing. Of klog's line the head is left out.
    pub warnings: Vec<String>,
}

/// Builds the kustomization of a directory. Mirrors `krusty.Kustomizer`.
///
/// # Errors
/// What kustomize says of it.
pub fn build(files: &Files<'_>, path: &str, order: Order) -> Result<Built, String> {
    let root = files.root(path)?;
    let mut builder = target::Builder::new(files);
    let target::Whole { mut set, sorting, unused } = builder.whole(&root)?;
    order::sort(&mut set, sorting.as_ref(), order)?;
    let mut warnings = builder.warnings;
    if !unused.is_empty() {
        warnings.push(format!("well-defined vars that were never replaced: {}", unused.join(",")));
    }
    Ok(Built { objects: set.into_objects(), warnings })
}

#[cfg(test)]
mod tests;
