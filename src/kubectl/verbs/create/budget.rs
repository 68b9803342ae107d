//! `create poddisruptionbudget`. Mirrors `create_pdb.go` of kubectl.

use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::failure::Failure;
use object::selector::{Operator, Selector};

/// `kubectl create poddisruptionbudget NAME --selector=SELECTOR --min-available=N`.
pub(super) fn budget(name: &str, args: &Args) -> Result<Value, Failure> {
    let [selector, min, max] = ["selector", "min-available", "max-unavailable"].map(|flag| args.value(flag));
    let mut spec = match (selector.is_empty(), min.is_empty(), max.is_empty()) {
        (true, ..) => return Err(Failure::text("a selector must be specified")),
        (_, true, true) => return Err(Failure::text("one of min-available or max-unavailable must be specified")),
        (_, false, false) => return Err(Failure::text("min-available and max-unavailable cannot be both specified")),
        _ => json!({"selector": label_selector(selector)?}),
    };
    for (field, flag, value) in [("minAvailable", "min-available", min), ("maxUnavailable", "max-unavailable", max)] {
        if !value.is_empty() {
            spec[field] = amount(flag, value)?;
        }
    }
    Ok(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}))
}

/// `2` or `50%`.
fn amount(flag: &str, text: &str) -> Result<Value, Failure> {
    let wrong = || Failure::text(format!("invalid format specified for {flag}"));
    match text.strip_suffix('%') {
        Some(percent) => percent.parse::<u32>().map(|_| json!(text)).map_err(|_| wrong()),
        None => text.parse::<u32>().map(|number| json!(number)).map_err(|_| wrong()),
    }
}

/// The typed form of `app=web,tier in (a,b)`. Mirrors `metav1.ParseToLabelSelector`.
pub(in crate::verbs) fn label_selector(text: &str) -> Result<Value, Failure> {
    let selector = Selector::parse(text).map_err(Failure::text)?;
    let (mut labels, mut expressions) = (Map::new(), Vec::new());
    for requirement in selector.requirements() {
        let operator = match requirement.operator {
            Operator::Equals | Operator::DoubleEquals => {
                let value = requirement.values().first().cloned().unwrap_or_default();
                labels.insert(requirement.key.clone(), json!(value));
                continue;
            }
            Operator::In => "In",
            Operator::NotIn | Operator::NotEquals => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            Operator::GreaterThan | Operator::LessThan => {
                return Err(Failure::text(format!("{text:?} has an operator that a label selector does not have")));
            }
        };
        let mut expression = json!({"key": requirement.key, "operator": operator});
        if !requirement.values().is_empty() {
            expression["values"] = json!(requirement.values());
        }
        expressions.push(expression);
    }
    let mut selector = Map::new();
    if !labels.is_empty() {
        selector.insert("matchLabels".to_owned(), Value::Object(labels));
    }
    if !expressions.is_empty() {
        selector.insert("matchExpressions".to_owned(), json!(expressions));
    }
    Ok(Value::Object(selector))
}
