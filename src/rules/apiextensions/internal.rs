//! Versions of a definition as Go prints those of its internal type, which errors quote.
//!
//! Every field is there, by its name in Go and in its order. Mirrors `pkg/apis/apiextensions/{types,types_jsonschema}.go` of
//! apiextensions-apiserver, and its conversion: what all versions have in common stands in none of them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinitionVersion, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use object::text::go_json;
use object::validation::field::Shown;
use serde_json::{Value, json};

/// The versions of a definition, to be quoted.
pub struct Versions<'v>(pub &'v [CustomResourceDefinitionVersion]);

impl Shown for Versions<'_> {
    fn shown(&self) -> String {
        go_json(&versions(self.0))
    }
}

/// A struct with these fields.
fn fields(fields: &[(&str, String)]) -> String {
    let all: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", all.join(","))
}

fn plain(value: impl Into<Value>) -> String {
    value.into().to_string()
}

/// A list, or what Go prints of none.
fn list<T>(items: Option<&Vec<T>>, shown: impl Fn(&T) -> String) -> String {
    match items {
        Some(items) if !items.is_empty() => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(",")),
        _ => "null".to_owned(),
    }
}

fn or_null<T>(value: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "null".to_owned(), shown)
}

/// What all versions have in common. It is in the spec itself, and in none of them.
#[derive(Clone, Copy)]
pub struct Common {
    pub schema: bool,
    pub subresources: bool,
    pub columns: bool,
    pub selectable: bool,
}

impl Common {
    /// What these versions have in common.
    pub fn of(versions: &[CustomResourceDefinitionVersion]) -> Common {
        let first = versions.first();
        let alike = |same: &dyn Fn(&CustomResourceDefinitionVersion, &CustomResourceDefinitionVersion) -> bool| {
            first.is_some_and(|first| versions.iter().all(|version| same(first, version)))
        };
        Common {
            schema: alike(&|a, b| a.schema == b.schema),
            subresources: alike(&|a, b| a.subresources == b.subresources),
            columns: alike(&|a, b| a.additional_printer_columns == b.additional_printer_columns),
            selectable: alike(&|a, b| a.selectable_fields == b.selectable_fields),
        }
    }
}

fn versions(versions: &[CustomResourceDefinitionVersion]) -> String {
    let Common { schema: schemas, subresources: parts, columns, selectable } = Common::of(versions);
    let one = |version: &CustomResourceDefinitionVersion| {
        let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
        let parts = version.subresources.as_ref().filter(|_| !parts).map(|parts| {
            let scale = or_null(parts.scale.as_ref(), |scale| {
                fields(&[
                    ("SpecReplicasPath", plain(scale.spec_replicas_path.as_str())),
                    ("StatusReplicasPath", plain(scale.status_replicas_path.as_str())),
                    ("LabelSelectorPath", or_null(scale.label_selector_path.as_deref(), plain)),
                ])
            });
            fields(&[("Status", or_null(parts.status.as_ref(), |_| "{}".to_owned())), ("Scale", scale)])
        });
        let columns = list(version.additional_printer_columns.as_ref().filter(|_| !columns), |column| {
            fields(&[
                ("Name", plain(column.name.as_str())),
                ("Type", plain(column.type_.as_str())),
                ("Format", plain(column.format.as_deref().unwrap_or_default())),
                ("Description", plain(column.description.as_deref().unwrap_or_default())),
                ("Priority", plain(column.priority.unwrap_or(0))),
                ("JSONPath", plain(column.json_path.as_str())),
            ])
        });
        let selectable = list(version.selectable_fields.as_ref().filter(|_| !selectable), |field| {
            fields(&[("JSONPath", plain(field.json_path.as_str()))])
        });
        fields(&[
            ("Name", plain(version.name.as_str())),
            ("Served", plain(version.served)),
            ("Storage", plain(version.storage)),
            ("Deprecated", plain(version.deprecated.unwrap_or(false))),
            ("DeprecationWarning", or_null(version.deprecation_warning.as_deref(), plain)),
            ("Schema", or_null(schema.filter(|_| !schemas), |schema| fields(&[("OpenAPIV3Schema", props(schema))]))),
            ("Subresources", parts.unwrap_or_else(|| "null".to_owned())),
            ("AdditionalPrinterColumns", columns),
            ("SelectableFields", selectable),
        ])
    };
    format!("[{}]", versions.iter().map(one).collect::<Vec<_>>().join(","))
}

fn props(schema: &JSONSchemaProps) -> String {
    let text = |text: &Option<String>| plain(text.as_deref().unwrap_or_default());
    let flag = |flag: Option<bool>| plain(flag.unwrap_or(false));
    let number = |number: Option<f64>| or_null(number, |number| object::json::go_number(number).to_string());
    let whole = |number: Option<i64>| or_null(number, plain);
    let texts = |texts: &Option<Vec<String>>| list(texts.as_ref(), |text| plain(text.as_str()));
    let value = |value: &Option<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSON>| {
        or_null(value.as_ref(), |value| value.0.to_string())
    };
    let all = |all: &Option<Vec<JSONSchemaProps>>| list(all.as_ref(), props);
    let named = |named: Option<&std::collections::BTreeMap<String, JSONSchemaProps>>| match named {
        Some(named) if !named.is_empty() => {
            let one = |(name, schema): (&String, &JSONSchemaProps)| format!("{}:{}", json!(name), props(schema));
            format!("{{{}}}", named.iter().map(one).collect::<Vec<_>>().join(","))
        }
        _ => "null".to_owned(),
    };
    let either = |schema: &Option<JSONSchemaPropsOrBool>| {
        or_null(schema.as_ref(), |schema| match schema {
            JSONSchemaPropsOrBool::Bool(allows) => fields(&[("Allows", plain(*allows)), ("Schema", "null".to_owned())]),
            JSONSchemaPropsOrBool::Schema(schema) => fields(&[("Allows", plain(true)), ("Schema", props(schema))]),
        })
    };
    let items = or_null(schema.items.as_ref(), |items| match items {
        JSONSchemaPropsOrArray::Schema(schema) => {
            fields(&[("Schema", props(schema)), ("JSONSchemas", "null".to_owned())])
        }
        JSONSchemaPropsOrArray::Schemas(schemas) => {
            fields(&[("Schema", "null".to_owned()), ("JSONSchemas", list(Some(schemas), props))])
        }
    });
    let rules = list(schema.x_kubernetes_validations.as_ref(), |rule| {
        fields(&[
            ("Rule", plain(rule.rule.as_str())),
            ("Message", text(&rule.message)),
            ("MessageExpression", text(&rule.message_expression)),
            ("Reason", or_null(rule.reason.as_deref(), plain)),
            ("FieldPath", text(&rule.field_path)),
            ("OptionalOldSelf", or_null(rule.optional_old_self, plain)),
        ])
    });
    fields(&[
        ("ID", text(&schema.id)),
        ("Schema", text(&schema.schema)),
        ("Ref", or_null(schema.ref_path.as_deref(), plain)),
        ("Description", text(&schema.description)),
        ("Type", text(&schema.type_)),
        ("Nullable", flag(schema.nullable)),
        ("Format", text(&schema.format)),
        ("Title", text(&schema.title)),
        ("Default", value(&schema.default)),
        ("Maximum", number(schema.maximum)),
        ("ExclusiveMaximum", flag(schema.exclusive_maximum)),
        ("Minimum", number(schema.minimum)),
        ("ExclusiveMinimum", flag(schema.exclusive_minimum)),
        ("MaxLength", whole(schema.max_length)),
        ("MinLength", whole(schema.min_length)),
        ("Pattern", text(&schema.pattern)),
        ("MaxItems", whole(schema.max_items)),
        ("MinItems", whole(schema.min_items)),
        ("UniqueItems", flag(schema.unique_items)),
        ("MultipleOf", number(schema.multiple_of)),
        ("Enum", list(schema.enum_.as_ref(), |value| value.0.to_string())),
        ("MaxProperties", whole(schema.max_properties)),
        ("MinProperties", whole(schema.min_properties)),
        ("Required", texts(&schema.required)),
        ("Items", items),
        ("AllOf", all(&schema.all_of)),
        ("OneOf", all(&schema.one_of)),
        ("AnyOf", all(&schema.any_of)),
        ("Not", or_null(schema.not.as_deref(), props)),
        ("Properties", named(schema.properties.as_ref())),
        ("AdditionalProperties", either(&schema.additional_properties)),
        ("PatternProperties", named(schema.pattern_properties.as_ref())),
        ("Dependencies", "null".to_owned()),
        ("AdditionalItems", either(&schema.additional_items)),
        ("Definitions", named(schema.definitions.as_ref())),
        ("ExternalDocs", "null".to_owned()),
        ("Example", value(&schema.example)),
        ("XPreserveUnknownFields", or_null(schema.x_kubernetes_preserve_unknown_fields, plain)),
        ("XEmbeddedResource", flag(schema.x_kubernetes_embedded_resource)),
        ("XIntOrString", flag(schema.x_kubernetes_int_or_string)),
        ("XListMapKeys", texts(&schema.x_kubernetes_list_map_keys)),
        ("XListType", or_null(schema.x_kubernetes_list_type.as_deref(), plain)),
        ("XMapType", or_null(schema.x_kubernetes_map_type.as_deref(), plain)),
        ("XValidations", rules),
    ])
}
