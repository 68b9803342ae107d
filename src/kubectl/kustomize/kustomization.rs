//! The file `kustomization.yaml`. Mirrors `api/types`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::Spec;
use super::id::{Gvk, Id};
use super::read::{Fields, whole};
use super::replacements::{self, Replacement};
use super::set::Selector;
use super::variables::{self, Variable};
use crate::manifest;

/// What the file may be called.
pub const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What it says.
#[derive(Debug, Default)]
pub struct Kustomization {
    pub is_component: bool,
    pub resources: Vec<String>,
    pub components: Vec<String>,
    pub namespace: String,
    pub name_prefix: String,
    pub name_suffix: String,
    pub labels: Vec<Labels>,
    pub common_labels: BTreeMap<String, String>,
    pub common_annotations: BTreeMap<String, String>,
    pub patches: Vec<Patch>,
    pub strategic_patches: Vec<String>,
    pub json_patches: Vec<Patch>,
    pub images: Vec<Image>,
    pub replicas: Vec<Replicas>,
    pub replacements: Vec<Replacement>,
    pub config_maps: Vec<Generator>,
    pub secrets: Vec<Generator>,
    pub sorting: Option<Sorting>,
    /// Files that say which fields are meant, beside those that are known.
    pub configurations: Vec<String>,
    /// Files and directories with what changes manifests, or that as it stands there.
    pub transformers: Vec<String>,
    pub variables: Vec<Variable>,
    /// What is deprecated in it.
    pub warnings: Vec<String>,
}

/// Labels for everything.
#[derive(Debug)]
pub struct Labels {
    pub pairs: BTreeMap<String, String>,
    pub selectors: bool,
    pub templates: bool,
    pub claim_templates: bool,
    pub fields: Vec<Spec>,
}

/// A patch, from a file or as it stands there.
#[derive(Debug, Default)]
pub struct Patch {
    pub path: String,
    pub text: String,
    pub target: Option<Selector>,
    pub may_change_name: bool,
    pub may_change_kind: bool,
    /// As it was written, for messages.
    pub written: Value,
}

/// What becomes of images of one name.
#[derive(Debug)]
pub struct Image {
    pub name: String,
    pub new_name: String,
    pub new_tag: String,
    pub tag_suffix: String,
    pub digest: String,
}

/// How many there are to be of what is called that.
#[derive(Debug)]
pub struct Replicas {
    pub name: String,
    pub count: i64,
}

/// What a ConfigMap or Secret is made of.
#[derive(Debug)]
pub struct Generator {
    pub name: String,
    pub namespace: String,
    pub behavior: String,
    /// Of a Secret.
    pub kind: String,
    pub literals: Vec<String>,
    pub files: Vec<String>,
    pub envs: Vec<String>,
    pub options: Options,
}

/// What all generated objects have, or one.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub without_hash: bool,
    pub immutable: bool,
}

/// The order that the file asks for.
#[derive(Debug)]
pub struct Sorting {
    pub order: String,
    /// Kinds that come first, and kinds that come last.
    pub legacy: Option<(Vec<String>, Vec<String>)>,
}

/// What kustomize has, and this one has not: the field, and what can be done.
const LEFT_OUT: &[(&str, &str)] = &[
    ("helmCharts", "write down what the chart makes, and list that among the resources"),
    ("helmGlobals", "write down what the chart makes, and list that among the resources"),
    ("helmChartInflationGenerator", "write down what the chart makes, and list that among the resources"),
    ("generators", "use configMapGenerator and secretGenerator"),
    ("validators", "the API server checks what is applied"),
    ("crds", "leave the field out; names in objects of such a kind stay as they are"),
    ("openapi", "leave the field out; lists in objects of kinds that are not built in are replaced by patches"),
    ("buildMetadata", "leave the field out"),
];

impl Kustomization {
    /// Reads the text of the file in a directory.
    ///
    /// # Errors
    /// It is no YAML, or not what kustomize knows.
    pub fn read(text: &str, directory: &str) -> Result<Kustomization, String> {
        let invalid = |why: String| format!("invalid Kustomization: {why}");
        let values =
            manifest::values("kustomization.yaml", text).map_err(|error| invalid(yaml_error(&error.message)))?;
        let value = values.into_iter().next().unwrap_or(Value::Null);
        let is_empty = value.as_object().is_none_or(|fields| !fields.keys().any(|key| !is_type(key)));
        if is_empty && (value.is_null() || value.is_object()) {
            return Err("kustomization.yaml is empty".to_owned());
        }
        refuse_left_out(&value)?;
        let (kustomization, kind, api_version) = whole(value, "Kustomization", "", fields_of).map_err(invalid)?;
        check_type(&kind, &api_version, directory)?;
        Ok(kustomization)
    }
}

/// What is understood and not done is no mistake in the file, and is told first.
fn refuse_left_out(value: &Value) -> Result<(), String> {
    let fields = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let left_out = |(field, _): (&String, &Value)| LEFT_OUT.iter().find(|(name, _)| field.eq_ignore_ascii_case(name));
    match fields.filter_map(left_out).next() {
        Some((name, instead)) => Err(format!("{name}: left out here; {instead}")),
        None => Ok(()),
    }
}

fn is_type(key: &str) -> bool {
    key.eq_ignore_ascii_case("kind") || key.eq_ignore_ascii_case("apiVersion")
}

/// What goyaml says, out of a message of kubectl's.
pub fn yaml_error(message: &str) -> String {
    message.split_once("converting YAML to JSON: ").map_or(message, |(_, why)| why).to_owned()
}

/// What the file says, and as what: kind and version.
fn fields_of(fields: &mut Fields) -> Result<(Kustomization, String, String), String> {
    let (kind, api_version) = (fields.text("kind")?, fields.text("apiVersion")?);
    fields.take("metadata");
    // One that is null is not there.
    LEFT_OUT.iter().for_each(|(name, _)| drop(fields.take(name)));
    let mut warnings = Vec::new();
    let mut old = |is_there: bool, name: &str, new: &str| {
        if is_there {
            let tried = if name == "vars" { "[EXPERIMENTAL] " } else { "" };
            warnings.push(format!(
                "# Warning: '{name}' is deprecated. Please use '{new}' instead. {tried}Run 'kustomize edit fix' to update your \
                 Kustomization automatically."
            ));
        }
    };
    let bases = fields.texts("bases")?;
    old(!bases.is_empty(), "bases", "resources");
    let common_labels = fields.pairs("commonLabels")?;
    old(common_labels.is_some(), "commonLabels", "labels");
    let tags = fields.list("imageTags", "Image", image)?;
    old(!tags.is_empty(), "imageTags", "images");
    let json_patches = fields.list("patchesJson6902", "Patch", patch)?;
    old(!json_patches.is_empty(), "patchesJson6902", "patches");
    let strategic_patches = fields.texts("patchesStrategicMerge")?;
    old(!strategic_patches.is_empty(), "patchesStrategicMerge", "patches");
    let variables = fields.list("vars", "Var", variables::read)?;
    old(!variables.is_empty(), "vars", "replacements");
    let common = fields.one("generatorOptions", "GeneratorOptions", options)?.unwrap_or_default();
    let kustomization = Kustomization {
        is_component: kind == "Component",
        resources: [fields.texts("resources")?, bases].concat(),
        components: fields.texts("components")?,
        namespace: fields.text("namespace")?,
        name_prefix: fields.text("namePrefix")?,
        name_suffix: fields.text("nameSuffix")?,
        labels: fields.list("labels", "Label", labels)?,
        common_labels: common_labels.unwrap_or_default(),
        common_annotations: fields.pairs("commonAnnotations")?.unwrap_or_default(),
        patches: fields.list("patches", "Patch", patch)?,
        strategic_patches,
        json_patches,
        images: fields.list("images", "Image", image)?.into_iter().chain(tags).collect(),
        replicas: fields.list("replicas", "Replica", replicas)?,
        replacements: fields.list("replacements", "ReplacementField", replacements::read)?,
        config_maps: fields.list("configMapGenerator", "ConfigMapArgs", |fields| generator(fields, &common, false))?,
        secrets: fields.list("secretGenerator", "SecretArgs", |fields| generator(fields, &common, true))?,
        sorting: fields.one("sortOptions", "SortOptions", sorting)?,
        configurations: fields.texts("configurations")?,
        transformers: fields.texts("transformers")?,
        variables,
        warnings,
    };
    Ok((kustomization, kind, api_version))
}

fn check_type(kind: &str, api_version: &str, directory: &str) -> Result<(), String> {
    let mut wrong = Vec::new();
    if !matches!(kind, "" | "Kustomization" | "Component") {
        wrong.push("kind should be Kustomization or Component".to_owned());
    }
    let wanted = match kind {
        "Component" => "kustomize.config.k8s.io/v1alpha1",
        _ => "kustomize.config.k8s.io/v1beta1",
    };
    if !api_version.is_empty() && api_version != wanted {
        let kind = if kind.is_empty() { "Kustomization" } else { kind };
        wrong.push(format!("apiVersion for {kind} should be {wanted}"));
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("Failed to read kustomization file under {directory}:\n{}", wrong.join("\n"))),
    }
}

fn labels(fields: &mut Fields) -> Result<Labels, String> {
    Ok(Labels {
        pairs: fields.pairs("pairs")?.unwrap_or_default(),
        selectors: fields.flag("includeSelectors")?,
        templates: fields.flag("includeTemplates")?,
        claim_templates: fields.flag("includeVolumeClaimTemplates")?,
        fields: fields.list("fields", "FieldSpec", spec)?,
    })
}

/// A field of some kinds.
///
/// # Errors
/// A field is wrong.
pub fn spec(fields: &mut Fields) -> Result<Spec, String> {
    let gvk = gvk(fields)?;
    Ok(Spec::of(gvk, &fields.text("path")?, fields.flag("create")?))
}

/// A group, a version and a kind, as far as they are there.
///
/// # Errors
/// A field is wrong.
pub fn gvk(fields: &mut Fields) -> Result<Gvk, String> {
    Ok(Gvk { group: fields.text("group")?, version: fields.text("version")?, kind: fields.text("kind")? })
}

/// Whose name and kind these are.
///
/// # Errors
/// A field is wrong.
pub fn id(fields: &mut Fields) -> Result<Id, String> {
    Ok(Id { gvk: gvk(fields)?, name: fields.text("name")?, namespace: fields.text("namespace")? })
}

/// Which resources are meant.
///
/// # Errors
/// A field is wrong.
pub fn selector(fields: &mut Fields) -> Result<Selector, String> {
    Ok(Selector {
        id: id(fields)?,
        labels: fields.text("labelSelector")?,
        annotations: fields.text("annotationSelector")?,
    })
}

/// An entry of `patches`.
///
/// # Errors
/// A field is wrong.
pub fn patch(fields: &mut Fields) -> Result<Patch, String> {
    let written = fields.rest();
    let (path, text) = (fields.text("path")?, fields.text("patch")?);
    let target = fields.one("target", "Selector", selector)?;
    let may = fields
        .one("options", "PatchArgs", |fields| Ok((fields.flag("allowNameChange")?, fields.flag("allowKindChange")?)))?;
    let (may_change_name, may_change_kind) = may.unwrap_or_default();
    Ok(Patch { path, text: text.trim().to_owned(), target, may_change_name, may_change_kind, written })
}

/// How many there are to be.
///
/// # Errors
/// A field is wrong.
pub fn replicas(fields: &mut Fields) -> Result<Replicas, String> {
    Ok(Replicas { name: fields.text("name")?, count: fields.number("count")? })
}

/// An entry of `images`.
///
/// # Errors
/// A field is wrong.
pub fn image(fields: &mut Fields) -> Result<Image, String> {
    Ok(Image {
        name: fields.text("name")?,
        new_name: fields.text("newName")?,
        new_tag: fields.text("newTag")?,
        tag_suffix: fields.text("tagSuffix")?,
        digest: fields.text("digest")?,
    })
}

fn options(fields: &mut Fields) -> Result<Options, String> {
    Ok(Options {
        labels: fields.pairs("labels")?.unwrap_or_default(),
        annotations: fields.pairs("annotations")?.unwrap_or_default(),
        without_hash: fields.flag("disableNameSuffixHash")?,
        immutable: fields.flag("immutable")?,
    })
}

fn generator(fields: &mut Fields, common: &Options, is_secret: bool) -> Result<Generator, String> {
    let own = fields.one("options", "GeneratorOptions", options)?.unwrap_or_default();
    let both = |common: &BTreeMap<String, String>, own: BTreeMap<String, String>| {
        common.clone().into_iter().chain(own).collect::<BTreeMap<_, _>>()
    };
    let env = fields.text("env")?;
    Ok(Generator {
        name: fields.text("name")?,
        namespace: fields.text("namespace")?,
        behavior: fields.text("behavior")?,
        kind: if is_secret { fields.text("type")? } else { String::new() },
        literals: fields.texts("literals")?,
        files: fields.texts("files")?,
        envs: fields.texts("envs")?.into_iter().chain((!env.is_empty()).then_some(env)).collect(),
        options: Options {
            labels: both(&common.labels, own.labels),
            annotations: both(&common.annotations, own.annotations),
            without_hash: own.without_hash || common.without_hash,
            immutable: own.immutable || common.immutable,
        },
    })
}

fn sorting(fields: &mut Fields) -> Result<Sorting, String> {
    Ok(Sorting {
        order: fields.text("order")?,
        legacy: fields.one("legacySortOptions", "LegacySortOptions", |fields| {
            Ok((fields.texts("orderFirst")?, fields.texts("orderLast")?))
        })?,
    })
}
