//! `transformers`: what changes manifests, written as objects of its own, each with the fields that it changes.
//! Mirrors the plugins of kustomize that are built in, and `api/internal/plugins/loader`.
//!
//! Left out: those of others, which are programs; those that have no field in a kustomization (`HashTransformer`,
//! `ValueAddTransformer` and more); `unsetOnly` and `setRoleBindingSubjects` of `NamespaceTransformer`.

use serde_json::Value;

use super::fields::Spec;
use super::files::{Files, Root};
use super::id::Id;
use super::kustomization::{Patch, Replicas, image, patch as entry, replicas, selector, spec};
use super::read::Fields;
use super::replacements::Replacement;
use super::resource::Resource;
use super::set::Set;
use super::{images, marks, names, patch, replacements};

/// What one of them does.
enum Transformer {
    Prefix(String, Vec<Spec>),
    Suffix(String, Vec<Spec>),
    Namespace(String, Vec<Spec>),
    Marks(std::collections::BTreeMap<String, String>, Vec<Spec>),
    Image(super::kustomization::Image, Vec<Spec>),
    Replicas(Replicas, Vec<Spec>),
    Patch(Box<Patch>),
    Json(Box<Patch>),
    Strategic(Vec<String>),
    Replacements(Vec<Replacement>),
}

/// Has each of them change all that is there. What is wrong with one is told before another has changed anything.
///
/// # Errors
/// One is not known, or cannot do what it is told.
pub fn run(set: &mut Set, objects: Vec<Resource>, files: &Files<'_>, root: &Root) -> Result<(), String> {
    let all: Vec<Transformer> = objects.into_iter().map(read).collect::<Result<_, _>>()?;
    for transformer in &all {
        match transformer {
            Transformer::Prefix(prefix, fields) => names::prefix(set, prefix, fields)?,
            Transformer::Suffix(suffix, fields) => names::suffix(set, suffix, fields)?,
            Transformer::Namespace(namespace, _) if namespace.is_empty() => {}
            Transformer::Namespace(namespace, fields) => names::namespace(set, namespace, fields)?,
            Transformer::Marks(pairs, fields) => marks::mark(set, pairs, fields)?,
            Transformer::Image(image, fields) => images::images(set, image, fields)?,
            Transformer::Replicas(replicas, fields) => images::replicas(set, replicas, fields)?,
            Transformer::Patch(one) => patch::patch(set, one, files, root)?,
            Transformer::Json(one) => patch::old_json(set, one, files, root)?,
            Transformer::Strategic(all) => {
                all.iter().try_for_each(|one| patch::old_strategic(set, one, files, root))?
            }
            Transformer::Replacements(all) => {
                all.iter().try_for_each(|one| replacements::replace(set, one, files, root))?;
            }
        }
    }
    Ok(())
}

fn read(resource: Resource) -> Result<Transformer, String> {
    let Id { gvk, .. } = resource.original_id();
    if (gvk.group.as_str(), gvk.version.as_str()) != ("", "builtin") {
        return Err(format!("external plugins disabled; unable to load external plugin '{}'", gvk.kind));
    }
    let failed = |why: String| format!("plugin {} fails configuration: {why}", resource.original_id());
    let mut fields = Fields::of(resource.object.clone(), "Transformer", "").map_err(failed)?;
    known(&gvk.kind, &mut fields).map_err(failed)?.ok_or_else(|| match gvk.kind.as_str() {
        "ConfigMapGenerator" | "SecretGenerator" => format!("plugin {} not a transformer", resource.original_id()),
        "HashTransformer" | "HelmChartInflationGenerator" | "IAMPolicyGenerator" | "ValueAddTransformer" => {
            format!("{}: left out here; use the fields of the kustomization itself", gvk.kind)
        }
        _ => format!("unable to load builtin {gvk}"),
    })
}

/// What an object of this kind says; none if the kind is none of those. Fields that mean nothing there are passed over, as
/// kustomize does.
fn known(kind: &str, fields: &mut Fields) -> Result<Option<Transformer>, String> {
    let specs = |fields: &mut Fields| fields.list("fieldSpecs", "FieldSpec", spec);
    let needed = |specs: Vec<Spec>| match specs.is_empty() {
        true => Err("fieldSpecs is not expected to be nil".to_owned()),
        false => Ok(specs),
    };
    Ok(Some(match kind {
        "PrefixTransformer" => Transformer::Prefix(fields.text("prefix")?, needed(specs(fields)?)?),
        "SuffixTransformer" => Transformer::Suffix(fields.text("suffix")?, needed(specs(fields)?)?),
        "NamespaceTransformer" => {
            if fields.flag("unsetOnly")? || !fields.text("setRoleBindingSubjects")?.is_empty() {
                return Err("unsetOnly and setRoleBindingSubjects are left out here; leave them out".to_owned());
            }
            let meta = fields.take("metadata").unwrap_or_default();
            let namespace = meta.get("namespace").and_then(Value::as_str).unwrap_or_default();
            Transformer::Namespace(namespace.to_owned(), specs(fields)?)
        }
        "LabelTransformer" => Transformer::Marks(fields.pairs("labels")?.unwrap_or_default(), specs(fields)?),
        "AnnotationsTransformer" => {
            Transformer::Marks(fields.pairs("annotations")?.unwrap_or_default(), specs(fields)?)
        }
        "ImageTagTransformer" => match fields.one("imageTag", "Image", image)? {
            Some(image) => Transformer::Image(image, specs(fields)?),
            None => return Err("imageTag is missing".to_owned()),
        },
        "ReplicaCountTransformer" => match fields.one("replica", "Replica", replicas)? {
            Some(replicas) => Transformer::Replicas(replicas, specs(fields)?),
            None => return Err("replica is missing".to_owned()),
        },
        "PatchTransformer" => Transformer::Patch(Box::new(entry(fields)?)),
        "PatchJson6902Transformer" => {
            let (target, path, text) =
                (fields.one("target", "Selector", selector)?, fields.text("path")?, fields.text("jsonOp")?);
            Transformer::Json(Box::new(Patch { path, text, target, ..Patch::default() }))
        }
        "PatchStrategicMergeTransformer" => {
            let inline = fields.text("patches")?;
            let paths = fields.texts("paths")?.into_iter().chain((!inline.is_empty()).then_some(inline));
            Transformer::Strategic(paths.collect())
        }
        "ReplacementTransformer" => {
            Transformer::Replacements(fields.list("replacements", "ReplacementField", replacements::read)?)
        }
        _ => return Ok(None),
    }))
}
