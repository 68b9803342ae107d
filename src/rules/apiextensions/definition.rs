//! CustomResourceDefinitions themselves: what is filled in, kept, and refused.
//!
//! Mirrors `pkg/apis/apiextensions/v1/defaults.go`, `pkg/registry/customresourcedefinition` and
//! `pkg/apis/apiextensions/validation` of apiextensions-apiserver.
//!
//! Left out: conversion by webhook, which is accepted, and done as with the strategy None; the condition that tells of
//! the approval of a group. What all versions have in common the real server calls by the name of its internal type
//! (`spec.validation`, `spec.selectableFields`), where here it is in each version.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceConversion, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionStatus, CustomResourceDefinitionVersion,
    CustomResourceSubresources, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use super::internal::{Common, Versions};
use object::Accessor;
use object::definition::{CLEANUP, is_true, set_condition};
use object::meta::has_finalizer;
use object::selector::names::check_subdomain;
use object::time::Instant;
use object::validation::field::{Json, Literal, Path, Problems};
use object::validation::names::check_dns_1035_label;

use super::{approval, selectable, structural};

const NONE: &str = "None";
/// The strategy that asks a webhook.
const WEBHOOK: &str = "Webhook";

/// What a definition may leave out.
pub fn default(definition: &mut CustomResourceDefinition) {
    let names = &mut definition.spec.names;
    if names.singular.as_deref().unwrap_or_default().is_empty() {
        names.singular = Some(names.kind.to_lowercase());
    }
    if names.list_kind.as_deref().unwrap_or_default().is_empty() && !names.kind.is_empty() {
        names.list_kind = Some(format!("{}List", names.kind));
    }
    if definition.spec.conversion.is_none() {
        definition.spec.conversion = Some(CustomResourceConversion { strategy: NONE.into(), webhook: None });
    }
}

/// A new definition has no status but the version that objects will be stored in.
pub fn prepare_for_create(definition: &mut CustomResourceDefinition) {
    definition.status = Some(CustomResourceDefinitionStatus::default());
    note_storage_version(definition);
}

/// Objects may be stored in any version that ever was the storage version.
pub fn note_storage_version(definition: &mut CustomResourceDefinition) {
    let Some(storage) = definition.spec.versions.iter().find(|version| version.storage) else { return };
    let name = storage.name.clone();
    let stored = definition.status.get_or_insert_default().stored_versions.get_or_insert_default();
    if !stored.contains(&name) {
        stored.push(name);
    }
}

/// What the first DELETE writes: the finalizer, and a condition that says what is about to happen.
pub fn prepare_for_deletion(definition: &mut CustomResourceDefinition, now: Instant) {
    if !has_finalizer(&definition.metadata, CLEANUP) {
        definition.metadata.finalizers.get_or_insert_default().push(CLEANUP.into());
    }
    const WHY: &str = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(definition, "Terminating", true, "InstanceDeletionPending", WHY, now);
}

const SPEC: Path = Path::new("spec");

/// What is wrong with a new definition.
pub fn validate(problems: &mut Problems, definition: &CustomResourceDefinition) {
    let name = definition.metadata.name();
    let spec = &definition.spec;
    if name != format!("{}.{}", spec.names.plural, spec.group) {
        problems.invalid(&Path::new("metadata").child("name"), name, "must be spec.names.plural+\".\"+spec.group");
    }
    validate_spec(problems, spec);
    let stored = definition.status.as_ref().and_then(|status| status.stored_versions.as_deref()).unwrap_or_default();
    validate_stored_versions(problems, stored, &spec.versions);
    approval::validate(problems, definition, None);
}

/// What is wrong with a change. Names and scope of a definition that is established stay. Mirrors
/// `validateCustomResourceDefinitionSpecUpdate`.
pub fn validate_update(problems: &mut Problems, new: &CustomResourceDefinition, old: &CustomResourceDefinition) {
    validate_spec(problems, &new.spec);
    let shown = |value: &String| serde_json::to_string(value).unwrap_or_default();
    if is_true(old, "Established") {
        problems.immutable(&SPEC.child("scope"), &new.spec.scope, &old.spec.scope, shown);
        let names = SPEC.child("names");
        problems.immutable(&names.child("kind"), &new.spec.names.kind, &old.spec.names.kind, shown);
    }
    problems.immutable(&SPEC.child("group"), &new.spec.group, &old.spec.group, shown);
    let names = SPEC.child("names");
    problems.immutable(&names.child("plural"), &new.spec.names.plural, &old.spec.names.plural, shown);
    let stored = new.status.as_ref().and_then(|status| status.stored_versions.as_deref()).unwrap_or_default();
    validate_stored_versions(problems, stored, &new.spec.versions);
    approval::validate(problems, new, Some(old));
}

fn validate_stored_versions(problems: &mut Problems, stored: &[String], versions: &[CustomResourceDefinitionVersion]) {
    let path = Path::new("status");
    let path = path.child("storedVersions");
    if stored.is_empty() {
        problems.invalid(&path, Literal("null"), "must have at least one stored version");
    } else {
        for version in versions.iter().filter(|version| version.storage && !stored.contains(&version.name)) {
            problems.invalid(&path, Json(stored), &format!("must have the storage version {}", version.name));
        }
    }
    for (i, name) in stored.iter().enumerate().filter(|(_, name)| versions.iter().all(|v| v.name != **name)) {
        let why = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a \
             storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        );
        problems.invalid(&path.index(i), name.as_str(), &why);
    }
}

fn validate_spec(problems: &mut Problems, spec: &CustomResourceDefinitionSpec) {
    let path = SPEC.child("group");
    match spec.group.as_str() {
        "" => problems.required(&path, ""),
        group => match check_subdomain(group) {
            wrong if !wrong.is_empty() => problems.invalid(&path, group, &wrong.join(",")),
            _ if !group.contains('.') => problems.invalid(&path, group, "should be a domain with at least one dot"),
            _ => {}
        },
    }
    problems.one_of(&SPEC.child("scope"), Some(&spec.scope), &["Cluster", "Namespaced"]);
    let versions = SPEC.child("versions");
    let schema_of = |version: &CustomResourceDefinitionVersion| version.schema.as_ref()?.open_api_v3_schema.clone();
    for (i, _) in spec.versions.iter().enumerate().filter(|(_, version)| schema_of(version).is_none()) {
        problems.required(&versions.index(i).child("schema").child("openAPIV3Schema"), "schemas are required");
    }
    if spec.preserve_unknown_fields == Some(true) {
        let has_default =
            |version: &CustomResourceDefinitionVersion| schema_of(version).is_some_and(|schema| has_default(&schema));
        if spec.versions.iter().any(has_default) {
            let why = "must be false in order to use defaults in the schema";
            problems.invalid(&SPEC.child("preserveUnknownFields"), Literal("true"), why);
        }
        let why =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        problems.invalid(&SPEC.child("preserveUnknownFields"), Literal("true"), why);
    }
    let common = Common::of(&spec.versions);
    for (i, version) in spec.versions.iter().enumerate() {
        validate_version(problems, version, common, &versions.index(i));
    }
    let names: Vec<&str> = spec.versions.iter().map(|version| version.name.as_str()).collect();
    if (1..names.len()).any(|i| names[..i].contains(&names[i])) {
        problems.invalid(&versions, Versions(&spec.versions), "must contain unique version names");
    }
    if spec.versions.iter().filter(|version| version.storage).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        problems.invalid(&versions, Versions(&spec.versions), why);
    }
    let names = SPEC.child("names");
    let text = |name: &Option<String>| name.clone().unwrap_or_default();
    let (singular, list_kind) = (text(&spec.names.singular), text(&spec.names.list_kind));
    let texts = [
        ("plural", spec.names.plural.as_str()),
        ("singular", singular.as_str()),
        ("kind", spec.names.kind.as_str()),
        ("listKind", list_kind.as_str()),
    ];
    for (name, _) in texts.iter().filter(|(_, text)| text.is_empty()) {
        problems.required(&names.child(name), "");
    }
    validate_names(problems, &spec.names, &names);
    if let Some(first) = spec.versions.first() {
        let has_status = spec.versions.iter().any(has_status);
        validate_common(problems, first, has_status, common);
    }
    validate_conversion(problems, spec.conversion.as_ref());
}

fn has_status(version: &CustomResourceDefinitionVersion) -> bool {
    version.subresources.as_ref().is_some_and(|subresources| subresources.status.is_some())
}

/// What all versions have in common is looked at where the server keeps it: in the spec.
fn validate_common(problems: &mut Problems, first: &CustomResourceDefinitionVersion, has_status: bool, common: Common) {
    let schema = SPEC.child("validation");
    let of = first.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
    if let Some(of) = of.filter(|_| common.schema) {
        validate_schema(problems, of, has_status, &schema);
    }
    if let Some(subresources) = first.subresources.as_ref().filter(|_| common.subresources) {
        validate_subresources(problems, subresources, &SPEC.child("subresources"));
    }
    if common.columns {
        validate_columns(problems, first, &SPEC.child("additionalPrinterColumns"));
    }
    if common.schema && common.selectable {
        let fields = first.selectable_fields.as_deref().unwrap_or_default();
        selectable::validate(problems, fields, of, &SPEC.child("selectableFields"));
    }
}

fn validate_schema(problems: &mut Problems, of: &JSONSchemaProps, has_status: bool, path: &Path) {
    if has_status {
        validate_root(problems, of, path);
    }
    structural::validate(problems, of, &path.child("openAPIV3Schema"));
}

fn validate_columns(problems: &mut Problems, version: &CustomResourceDefinitionVersion, list: &Path) {
    for (i, column) in version.additional_printer_columns.iter().flatten().enumerate() {
        validate_column(problems, column, &list.index(i));
    }
}

fn validate_version(problems: &mut Problems, version: &CustomResourceDefinitionVersion, common: Common, path: &Path) {
    let wrong = check_dns_1035_label(&version.name);
    if !wrong.is_empty() {
        problems.invalid(&path.child("name"), version.name.as_str(), &wrong.join(","));
    }
    if let Some(text) = version.deprecation_warning.as_deref() {
        let wrong = deprecation_warning(text, version.deprecated == Some(true));
        problems.all_invalid(&path.child("deprecationWarning"), text, wrong);
    }
    let schema = path.child("schema");
    let of = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
    if let Some(of) = of.filter(|_| !common.schema) {
        validate_schema(problems, of, has_status(version), &schema);
    }
    if let Some(subresources) = version.subresources.as_ref().filter(|_| !common.subresources) {
        validate_subresources(problems, subresources, &path.child("subresources"));
    }
    if !common.columns {
        validate_columns(problems, version, &path.child("additionalPrinterColumns"));
    }
    if !(common.schema && common.selectable) {
        let fields = version.selectable_fields.as_deref().unwrap_or_default();
        selectable::validate(problems, fields, of, &path.child("selectableFields"));
    }
}

/// What a schema may say at its root if the status has an endpoint of its own: a status is looked at alone, with what the
/// schema says of that field, and nothing of what it says of the whole may be lost.
fn validate_root(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path) {
    const WHY: &str = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength \
        Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields \
        XValidations] fields are allowed at the root of the schema if the status subresource is enabled";
    let type_ = schema.type_.as_deref().unwrap_or_default();
    if !matches!(type_, "" | "object") {
        let why =
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return problems.invalid(&path.child("openAPIV3Schema.type"), type_, why);
    }
    let rest = JSONSchemaProps {
        description: None,
        type_: None,
        format: None,
        title: None,
        maximum: None,
        exclusive_maximum: None,
        minimum: None,
        exclusive_minimum: None,
        max_length: None,
        min_length: None,
        pattern: None,
        max_items: None,
        min_items: None,
        unique_items: None,
        multiple_of: None,
        required: None,
        items: None,
        properties: None,
        external_docs: None,
        example: None,
        x_kubernetes_preserve_unknown_fields: None,
        x_kubernetes_validations: None,
        ..schema.clone()
    };
    if rest != JSONSchemaProps::default() {
        problems.invalid(&path.child("openAPIV3Schema"), Json(schema), WHY);
    }
}

/// What is wrong with what is told of a version that is going. Mirrors `validateDeprecationWarning`.
fn deprecation_warning(text: &str, deprecated: bool) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut wrong = Vec::new();
    if text.len() > DEPRECATION_LEN_MAX {
        wrong.push(format!("must be <= {DEPRECATION_LEN_MAX} characters long"));
    }
    if text.is_empty() {
        wrong.push("must not be an empty string".to_owned());
    }
    if let Some((i, _)) = text.char_indices().find(|(_, c)| c.is_control() || (c.is_whitespace() && *c != ' ')) {
        wrong.push(format!("must only contain printable UTF-8 characters; non-printable character found at index {i}"));
    }
    wrong
}

fn validate_subresources(problems: &mut Problems, subresources: &CustomResourceSubresources, path: &Path) {
    let Some(scale) = &subresources.scale else { return };
    let paths = [
        ("scale.specReplicasPath", Some(&scale.spec_replicas_path), ".spec."),
        ("scale.statusReplicasPath", Some(&scale.status_replicas_path), ".status."),
        ("scale.labelSelectorPath", scale.label_selector_path.as_ref(), ""),
    ];
    for (field, value, below) in paths {
        let Some(value) = value else { continue };
        let path = path.child(field);
        match value.as_str() {
            "" if !below.is_empty() => problems.required(&path, ""),
            "" => {}
            value if !is_simple_path(value) => problems.invalid(&path, value, NO_SIMPLE_PATH),
            value if below.is_empty() && !value.starts_with(".spec.") && !value.starts_with(".status.") => {
                problems.invalid(&path, value, "should be a json path under either .spec or .status");
            }
            value if !value.starts_with(below) => {
                let parent = below.trim_end_matches('.');
                problems.invalid(&path, value, &format!("should be a json path under {parent}"));
            }
            _ => {}
        }
    }
}

/// The longest warning about a version that is going.
const DEPRECATION_LEN_MAX: usize = 256;
const NO_SIMPLE_PATH: &str = "must be a simple json path starting with .";

/// Whether this begins as a path does; the real server looks no further either.
fn is_simple_path(path: &str) -> bool {
    path.starts_with('.')
}

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

fn validate_column(problems: &mut Problems, column: &CustomResourceColumnDefinition, path: &Path) {
    if column.name.is_empty() {
        problems.required(&path.child("name"), "");
    }
    let types = format!("must be one of {}", COLUMN_TYPES.join(","));
    match column.type_.as_str() {
        "" => problems.required(&path.child("type"), &types),
        other if !COLUMN_TYPES.contains(&other) => problems.invalid(&path.child("type"), other, &types),
        _ => {}
    }
    let format = column.format.as_deref().unwrap_or_default();
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let formats = format!("must be one of {}", COLUMN_FORMATS.join(","));
        problems.invalid(&path.child("format"), format, &formats);
    }
    match column.json_path.as_str() {
        "" => problems.required(&path.child("JSONPath"), ""),
        value if !is_simple_path(value) => problems.invalid(&path.child("JSONPath"), value, NO_SIMPLE_PATH),
        _ => {}
    }
}

fn validate_names(problems: &mut Problems, names: &CustomResourceDefinitionNames, path: &Path) {
    let (singular, list_kind) =
        (names.singular.as_deref().unwrap_or_default(), names.list_kind.as_deref().unwrap_or_default());
    for (field, text) in [("plural", names.plural.as_str()), ("singular", singular)] {
        let wrong = check_dns_1035_label(text);
        if !text.is_empty() && !wrong.is_empty() {
            problems.invalid(&path.child(field), text, &wrong.join(","));
        }
    }
    for (field, text) in [("kind", names.kind.as_str()), ("listKind", list_kind)] {
        let wrong = check_dns_1035_label(&text.to_lowercase());
        if !text.is_empty() && !wrong.is_empty() {
            let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
            problems.invalid(&path.child(field), text, &why);
        }
    }
    validate_labels(problems, &path.child("shortNames"), names.short_names.as_deref());
    if !names.kind.is_empty() && names.kind == list_kind {
        problems.invalid(&path.child("listKind"), list_kind, "kind and listKind may not be the same");
    }
    validate_labels(problems, &path.child("categories"), names.categories.as_deref());
}

fn validate_labels(problems: &mut Problems, list: &Path, labels: Option<&[String]>) {
    for (i, label) in labels.unwrap_or_default().iter().enumerate() {
        let wrong = check_dns_1035_label(label);
        if !wrong.is_empty() {
            problems.invalid(&list.index(i), label.as_str(), &wrong.join(","));
        }
    }
}

fn validate_conversion(problems: &mut Problems, conversion: Option<&CustomResourceConversion>) {
    let Some(conversion) = conversion else { return };
    let path = SPEC.child("conversion");
    problems.one_of(&path.child("strategy"), Some(&conversion.strategy), &[NONE, WEBHOOK]);
    if conversion.strategy == WEBHOOK {
        validate_webhook(problems, conversion, &path);
    }
    if conversion.strategy == NONE && conversion.webhook.is_some() {
        let why = "should not be set when strategy is not set to Webhook";
        problems.forbidden(&path.child("webhookClientConfig"), why);
    }
}

/// Mirrors the second half of `validateCustomResourceConversion`.
fn validate_webhook(problems: &mut Problems, conversion: &CustomResourceConversion, path: &Path) {
    let webhook = conversion.webhook.as_ref();
    let client = path.child("webhookClientConfig");
    match webhook.and_then(|webhook| webhook.client_config.as_ref()) {
        None => problems.required(&client, "required when strategy is set to Webhook"),
        Some(config) if config.url.is_some() == config.service.is_some() => {
            problems.required(&client, "exactly one of url or service is required");
        }
        Some(_) => {}
    }
    let versions = path.child("conversionReviewVersions");
    match webhook.map(|webhook| webhook.conversion_review_versions.as_slice()) {
        None | Some([]) => problems.required(&versions, ""),
        Some(known) if !known.iter().any(|version| matches!(version.as_str(), "v1" | "v1beta1")) => {
            problems.invalid(&versions, Json(known), "must include at least one of v1, v1beta1");
        }
        Some(_) => {}
    }
}

/// What is said of a definition whose objects a webhook would convert: it is not called here.
pub fn warn_of_conversion(told: &mut Vec<String>, new: &CustomResourceDefinition) {
    if new.spec.conversion.as_ref().is_some_and(|conversion| conversion.strategy == WEBHOOK) {
        const WHY: &str = "spec.conversion.strategy: this cluster asks no webhook; objects are converted as with None: only \
            their apiVersion changes";
        told.push(WHY.to_owned());
    }
}

/// Whether a schema, or one in it, has a default.
fn has_default(schema: &JSONSchemaProps) -> bool {
    let items = match &schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => has_default(items),
        _ => false,
    };
    let values = match &schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(values)) => has_default(values),
        _ => false,
    };
    schema.default.is_some()
        || items
        || values
        || schema.properties.iter().flatten().any(|(_, inner)| has_default(inner))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn definition(version: Value) -> CustomResourceDefinition {
        let mut v1 =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
        v1.as_object_mut().unwrap().extend(version.as_object().unwrap().clone());
        let (metadata, names) = (json!({"name": "jobs.example.com"}), json!({"plural": "jobs", "kind": "Job"}));
        let spec = json!({"group": "example.com", "scope": "Cluster", "names": names, "versions": [v1]});
        let mut definition: CustomResourceDefinition =
            serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
        default(&mut definition);
        prepare_for_create(&mut definition);
        definition
    }

    fn told(problems: Problems) -> Vec<String> {
        problems.0.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
    }

    #[test]
    fn of_an_object_whose_status_stands_alone_a_schema_says_no_more_than_its_fields() {
        let of = |more: Value| {
            let mut schema =
                json!({"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object"}}});
            schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}})
        };
        let found = |version: Value| {
            let mut problems = Problems::default();
            validate(&mut problems, &definition(version));
            told(problems)
        };
        assert_eq!(found(of(json!({}))), Vec::<String>::new());
        let told = found(of(json!({"anyOf": [{"required": ["spec"]}]}))).join("; ");
        let ends = "XValidations] fields are allowed at the root of the schema if the status subresource is enabled";
        assert!(
            told.starts_with("spec.validation.openAPIV3Schema: Invalid value: {") && told.ends_with(ends),
            "{told}"
        );
    }

    #[test]
    fn a_webhook_that_converts_is_accepted_and_told_of() {
        let found = |conversion: Value| {
            let mut definition = definition(json!({}));
            definition.spec.conversion = Some(serde_json::from_value(conversion).unwrap());
            let (mut problems, mut warnings) = (Problems::default(), Vec::new());
            validate(&mut problems, &definition);
            warn_of_conversion(&mut warnings, &definition);
            (told(problems).join("; "), warnings.len())
        };
        let client = json!({"service": {"namespace": "a", "name": "b", "path": "/convert"}});
        let webhook = json!({"clientConfig": client, "conversionReviewVersions": ["v1"]});
        assert_eq!(found(json!({"strategy": "Webhook", "webhook": webhook})), (String::new(), 1));
        let (wrong, _) = found(json!({"strategy": "Webhook"}));
        assert!(wrong.contains("required when strategy is set to Webhook"), "{wrong}");
        let old = json!({"clientConfig": client, "conversionReviewVersions": ["v2"]});
        let (wrong, _) = found(json!({"strategy": "Webhook", "webhook": old}));
        assert!(wrong.contains("must include at least one of v1, v1beta1"), "{wrong}");
        assert_eq!(found(json!({"strategy": "None"})), (String::new(), 0));
    }

    #[test]
    fn what_is_told_of_a_version_that_is_going() {
        for (version, want) in [
            (json!({"deprecated": true, "deprecationWarning": "use v2"}), ""),
            (json!({"deprecationWarning": "use v2"}), "can only be set for deprecated versions"),
            (json!({"deprecated": true, "deprecationWarning": ""}), "must not be an empty string"),
            (json!({"deprecated": true, "deprecationWarning": "a".repeat(257)}), "must be <= 256 characters long"),
            (
                json!({"deprecated": true, "deprecationWarning": "a\tb"}),
                "must only contain printable UTF-8 characters; non-printable character found at index 1",
            ),
        ] {
            let mut problems = Problems::default();
            validate(&mut problems, &definition(version.clone()));
            let found = told(problems).join("; ");
            assert!(found.ends_with(want) && found.is_empty() == want.is_empty(), "{version}: {found}");
        }
    }
}
