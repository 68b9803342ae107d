//! `x-kubernetes-validations`: rules in CEL, anywhere in a schema, about the value there (`self`) and what it was before
//! (`oldSelf`).
//!
//! A definition with a rule that does not compile is refused ([`definition`]). What is served has the rules compiled
//! ([`compile`]), and every write asks them ([`validate`]) after all other checks of the schema, if those found nothing that
//! makes the question idle. How values of a schema look to a rule is in [`model`].
//!
//! Mirrors `pkg/apiserver/schema/cel` of apiextensions-apiserver.
//!
//! Left out: an estimate of what a rule may cost, by which a real server refuses some definitions; lists that are sets or
//! maps being equal in any order; rules under `allOf`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, ValidationRule,
};
use serde_json::{Map, Value as Json};

use crate::cel::eval::Activation;
use crate::cel::failure::Budget;
use crate::cel::types::Names;
use crate::cel::types::Type;
use crate::cel::{Failure, Program, Value};
use object::CustomObject;
use object::status::Cause;

use super::field_path;
use super::schema::{Additional, Schema};

pub mod definition;
pub mod model;
pub mod rule;

use rule::Rule;

/// The names that a rule may use about a value of this type.
fn names(of: &Type, rule: &ValidationRule) -> Names {
    let old = if is_optional(rule) { Type::Optional(Box::new(of.clone())) } else { of.clone() };
    vec![("self".to_owned(), of.clone()), ("oldSelf".to_owned(), old)]
}

fn is_optional(rule: &ValidationRule) -> bool {
    rule.optional_old_self == Some(true)
}

/// What a rule says of itself in errors. Mirrors `ruleErrorString`.
fn shown(rule: &ValidationRule) -> &str {
    rule.message.as_deref().filter(|message| !message.is_empty()).unwrap_or(&rule.rule).trim()
}

/// Puts the compiled rules of `props` into `schema`, and of all below it. Rules that do not compile are not there: a
/// definition with one is not stored.
pub fn compile(schema: &mut Schema, props: &JSONSchemaProps, is_root: bool) {
    if let Some(of) = props.x_kubernetes_validations.as_ref().and_then(|_| model::type_of(schema, is_root, "selfType"))
    {
        let rules = props.x_kubernetes_validations.iter().flatten();
        schema.rules = rules.filter_map(|rule| compiled(schema, &of, rule)).collect();
    }
    let mut any = !schema.rules.is_empty();
    for (name, of) in props.properties.iter().flatten() {
        if let Some(below) = schema.properties.get_mut(name) {
            compile(below, of, below.embedded);
            any |= below.has_rules;
        }
    }
    if let (Some(JSONSchemaPropsOrBool::Schema(of)), Some(Additional::Of(below))) =
        (&props.additional_properties, &mut schema.additional)
    {
        let embedded = below.embedded;
        compile(below, of, embedded);
        any |= below.has_rules;
    }
    if let (Some(JSONSchemaPropsOrArray::Schema(of)), Some(below)) = (&props.items, &mut schema.items) {
        let embedded = below.embedded;
        compile(below, of, embedded);
        any |= below.has_rules;
    }
    schema.has_rules = any;
}

fn compiled(schema: &Schema, of: &Type, rule: &ValidationRule) -> Option<Rule> {
    let names = names(of, rule);
    let message = rule.message_expression.as_deref().filter(|text| !text.is_empty());
    Some(Rule {
        program: Program::compile(&rule.rule, &names).ok()?,
        message: message.and_then(|text| Program::compile(text, &names).ok()),
        at: rule.field_path.as_deref().and_then(|path| place_of(schema, path)).unwrap_or_default(),
        said: rule.clone(),
    })
}

/// Where the field is that a rule tells of, as errors write it.
fn place_of(schema: &Schema, path: &str) -> Option<String> {
    field_path::follow(schema, path, true).ok().map(|(place, _)| place)
}

/// What the rules say of an object and of what it was before. `causes` are the problems that were found already.
pub fn validate(schema: &Schema, new: &CustomObject, old: Option<&CustomObject>, causes: &[Cause]) -> Vec<Cause> {
    const BLOCKING: [&str; 5] = [
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    ];
    if !schema.has_rules {
        return Vec::new();
    }
    if causes.iter().any(|cause| BLOCKING.contains(&cause.reason.as_str())) {
        const WHY: &str = "some validation rules were not checked because the object was invalid; correct the existing \
                           errors to complete validation";
        return vec![cause("FieldValueInvalid", "", format!("Invalid value: null: {WHY}"))];
    }
    let mut evaluation = Evaluation { causes: Vec::new(), budget: Budget::new(Budget::ALL), goes_on: true };
    if !schema.rules.is_empty() {
        evaluation.rules(schema, "", &model::whole(new), old.map(model::whole).as_ref(), true);
    }
    evaluation.fields(schema, "", &model::common(new), old.map(model::common).as_ref());
    evaluation.fields(schema, "", &new.content, old.map(|old| &*old.content));
    evaluation.causes
}

/// A problem at `path`; the real server writes the root as a path that is not there.
fn cause(reason: &str, path: &str, message: String) -> Cause {
    let field = if path.is_empty() { "<nil>" } else { path };
    Cause { reason: reason.to_owned(), message, field: field.to_owned() }
}

struct Evaluation {
    causes: Vec<Cause>,
    budget: Budget,
    goes_on: bool,
}

impl Evaluation {
    /// All rules about a value, and about what is in it.
    fn value(&mut self, schema: &Schema, path: &str, new: &Json, old: Option<&Json>) {
        if !self.goes_on || !schema.has_rules || new.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        self.rules(schema, path, new, old, schema.embedded);
        match new {
            Json::Array(items) => {
                let Some(of) = schema.items.as_deref() else { return };
                let before = old.and_then(Json::as_array);
                for (i, item) in items.iter().enumerate() {
                    let old = before.and_then(|before| schema.list.counterpart(item, before));
                    self.value(of, &format!("{path}[{i}]"), item, old);
                }
            }
            Json::Object(fields) => self.fields(schema, path, fields, old.and_then(Json::as_object)),
            _ => {}
        }
    }

    /// All rules about the fields of a value.
    fn fields(&mut self, schema: &Schema, path: &str, new: &Map<String, Json>, old: Option<&Map<String, Json>>) {
        for (name, value) in new {
            let old = old.and_then(|old| old.get(name));
            match (schema.properties.get(name), &schema.additional) {
                (Some(of), _) if path.is_empty() => self.value(of, name, value, old),
                (Some(of), _) => self.value(of, &format!("{path}.{name}"), value, old),
                (None, Some(Additional::Of(of))) => self.value(of, &format!("{path}[{name}]"), value, old),
                _ => {}
            }
        }
    }

    fn rules(&mut self, schema: &Schema, path: &str, new: &Json, old: Option<&Json>, is_root: bool) {
        if schema.rules.is_empty() {
            return;
        }
        let value = |json: &Json| model::value_of(json, schema, is_root);
        let (new_value, old_value) = (value(new), old.map(value));
        let type_ = match &schema.types[..] {
            [one] => one.as_str(),
            _ => "",
        };
        for rule in &schema.rules {
            let optional = is_optional(&rule.said);
            // Ratcheting: see [`super::value`].
            if !rule.program.uses("oldSelf") && old == Some(new) {
                continue;
            }
            if rule.program.uses("oldSelf") && old_value.is_none() && !optional {
                continue;
            }
            let mut activation = Activation::default();
            activation.values.insert("self".into(), new_value.clone());
            let before = match (optional, &old_value) {
                (true, old) => Some(Value::Optional(old.clone().map(std::sync::Arc::new))),
                (false, old) => old.clone(),
            };
            activation.values.extend(before.map(|before| ("oldSelf".to_owned(), before)));
            if let Some(why) = self.ask(rule, &activation, path, new) {
                self.causes.push(cause("FieldValueInvalid", path, format!("Invalid value: {type_:?}: {why}")));
            }
            if !self.goes_on {
                return;
            }
        }
    }

    /// Evaluates a rule; what comes back is why it could not be.
    fn ask(&mut self, rule: &Rule, activation: &Activation, path: &str, new: &Json) -> Option<String> {
        let said = shown(&rule.said);
        Some(match rule.program.evaluate(activation, &mut self.budget) {
            Ok(Value::Bool(true)) => return None,
            Ok(_) => {
                self.broken(rule, activation, path, new);
                return None;
            }
            Err(Failure::Cost) if self.budget.is_spent() => {
                self.goes_on = false;
                "validation failed due to running out of cost budget, no further validation rules will be run"
                    .to_owned()
            }
            Err(failure @ Failure::Cost) => {
                self.goes_on = false;
                format!(
                    "'{failure}': no further validation rules will be run due to call cost exceeds limit for rule: {said}"
                )
            }
            Err(Failure::Error(why)) if why.starts_with("no such overload") => format!(
                "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {said}"
            ),
            Err(Failure::Error(why)) => format!("{why} evaluating rule: {said}"),
        })
    }

    /// The rule does not hold.
    fn broken(&mut self, rule: &Rule, activation: &Activation, path: &str, new: &Json) {
        let made = rule.message.as_ref().and_then(|program| program.message(activation, &mut self.budget));
        let given = || rule.said.message.as_deref().filter(|text| !text.is_empty()).map(|text| text.trim().to_owned());
        let detail = made.or_else(given).unwrap_or_else(|| format!("failed rule: {}", rule.said.rule.trim()));
        let path = match (path, rule.at.as_str()) {
            ("", at) => at.trim_start_matches('.').to_owned(),
            (path, at) => format!("{path}{at}"),
        };
        let value = if new.is_object() || new.is_array() { String::new() } else { format!(": {new}") };
        let reason = rule.said.reason.as_deref().unwrap_or("FieldValueInvalid");
        let message = match reason {
            "FieldValueForbidden" => format!("Forbidden: {detail}"),
            "FieldValueRequired" => format!("Required value: {detail}"),
            "FieldValueDuplicate" => format!("Duplicate value{value}"),
            _ => format!("Invalid value{value}: {detail}"),
        };
        self.causes.push(cause(reason, &path, message));
    }
}

#[cfg(test)]
mod tests;
