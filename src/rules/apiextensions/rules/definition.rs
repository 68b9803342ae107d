//! What is wrong with the rules of a schema. Mirrors `ValidateCustomResourceDefinitionOpenAPISchema`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, ValidationRule,
};
use serde_json::json;

use crate::cel::Program;
use crate::cel::types::Type;
use object::text::go_json;
use object::validation::field::{Literal, Path, Problems};

use super::super::schema::Schema;
use super::{model, names};

const FIELD: &str = "x-kubernetes-validations";
const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// What can be seen of the rules at one place without compiling them.
pub fn texts(problems: &mut Problems, schema: &JSONSchemaProps, path: &Path) {
    let field = path.child(FIELD);
    for (i, rule) in schema.x_kubernetes_validations.iter().flatten().enumerate() {
        rule_texts(problems, schema, rule, &field.index(i));
    }
}

fn rule_texts(problems: &mut Problems, schema: &JSONSchemaProps, rule: &ValidationRule, path: &Path) {
    let message = rule.message.as_deref().unwrap_or_default();
    let at = path.child("message");
    if rule.rule.trim().is_empty() {
        problems.required(&path.child("rule"), "rule is not specified");
    } else if !message.is_empty() && message.trim().is_empty() {
        problems.invalid(&at, message, "must be non-empty if specified");
    } else if message.trim().contains('\n') {
        problems.invalid(&at, message, "must not contain line breaks");
    } else if rule.rule.trim().contains('\n') && message.trim().is_empty() {
        problems.required(&at, "message must be specified if rule contains line breaks");
    }
    if rule.message_expression.as_deref().is_some_and(|text| !text.is_empty() && text.trim().is_empty()) {
        problems.required(&path.child("messageExpression"), "messageExpression must be non-empty if specified");
    }
    if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
        problems.not_supported(&path.child("reason"), reason, &REASONS);
    }
    let field = rule.field_path.as_deref().unwrap_or_default();
    let at = path.child("fieldPath");
    if !field.is_empty() && field.trim().is_empty() {
        problems.invalid(&at, field, "must be non-empty if specified");
    }
    if field.contains('\n') {
        problems.invalid(&at, field, "must not contain line breaks");
    }
    if !field.is_empty() && super::place_of(&Schema::of(schema), field).is_none() {
        problems.invalid(&at, field, "must be a valid path");
    }
}

/// Compiles the rules of a schema, and of all below it. `uncorrelated` is the outermost list or map around it whose parts have
/// no past.
pub fn rules(
    problems: &mut Problems,
    schema: &JSONSchemaProps,
    path: &Path,
    is_root: bool,
    uncorrelated: Option<&str>,
) {
    if schema.x_kubernetes_validations.is_some()
        && let Some(of) = model::type_of(&Schema::of(schema), is_root, "selfType")
    {
        let field = path.child(FIELD);
        for (i, rule) in schema.x_kubernetes_validations.iter().flatten().enumerate() {
            one(problems, rule, &of, &field.index(i), uncorrelated);
        }
    }
    let here = path.to_string();
    let atomic = schema.x_kubernetes_map_type.as_deref() == Some("atomic");
    let in_map = uncorrelated.or(atomic.then_some(here.as_str()));
    let properties = path.child("properties");
    let embedded = |of: &JSONSchemaProps| of.x_kubernetes_embedded_resource == Some(true);
    for (name, of) in schema.properties.iter().flatten() {
        rules(problems, of, &properties.key(name), embedded(of), in_map);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(of)) = &schema.additional_properties {
        rules(problems, of, &path.child("additionalProperties"), embedded(of), uncorrelated);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(of)) = &schema.items {
        let keyed = schema.x_kubernetes_list_type.as_deref() == Some("map");
        let uncorrelated = if keyed { uncorrelated } else { uncorrelated.or(Some(here.as_str())) };
        rules(problems, of, &path.child("items"), embedded(of), uncorrelated);
    }
}

fn one(problems: &mut Problems, rule: &ValidationRule, of: &Type, path: &Path, uncorrelated: Option<&str>) {
    let names = names(of, rule);
    let at = path.child("rule");
    let quoted = quoted(rule);
    let program = match Program::compile(&rule.rule, &names) {
        Ok(program) if program.gives == Type::Bool => program,
        Ok(_) => return problems.invalid(&at, Literal(&quoted), "cel expression must evaluate to a bool"),
        Err(why) => return problems.invalid(&at, Literal(&quoted), &format!("compilation failed: {why}")),
    };
    if let Some(text) = rule.message_expression.as_deref().filter(|text| !text.is_empty()) {
        let at = path.child("messageExpression");
        match Program::compile(text, &names) {
            Ok(made) if made.gives == Type::String => {}
            Ok(_) => problems.invalid(&at, Literal(&quoted), "messageExpression must evaluate to a string"),
            Err(why) => {
                let why = format!("messageExpression compilation failed: {why}");
                problems.invalid(&at, Literal(&quoted), &why);
            }
        }
    }
    match (program.uses("oldSelf"), uncorrelated, rule.optional_old_self) {
        (true, Some(within), _) => {
            let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            problems.invalid(&at, rule.rule.as_str(), &why);
        }
        (false, _, Some(optional)) => {
            let why = "may not be set if oldSelf is not used in rule";
            problems.invalid(&path.child("optionalOldSelf"), Literal(&optional.to_string()), why);
        }
        _ => {}
    }
}

/// A rule as the real server quotes it: its internal type, as Go prints JSON.
fn quoted(rule: &ValidationRule) -> String {
    let text = |text: &Option<String>| json!(text.as_deref().unwrap_or_default());
    let fields = [
        ("Rule", json!(rule.rule)),
        ("Message", text(&rule.message)),
        ("MessageExpression", text(&rule.message_expression)),
        ("Reason", json!(rule.reason)),
        ("FieldPath", text(&rule.field_path)),
        ("OptionalOldSelf", json!(rule.optional_old_self)),
    ];
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", go_json(&fields.join(",")))
}
