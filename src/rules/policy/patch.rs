//! What the expressions of a policy that changes objects make: fields that an object is to have, or operations on it. Mirrors
//! the expressions of `pkg/admission/plugin/policy/mutating/patch/{smd,json_patch}.go` of apiserver.

use serde_json::{Value as Json, json};

use crate::cel::Value;
use crate::cel::eval::Activation;
use crate::cel::failure::Budget;
use crate::cel::structs::{self, Struct};
use crate::expression::{Expression, said};

use super::compiled::Patch;

/// What an expression has made.
pub enum Change {
    /// Fields that the object is to have, laid over it as an apply patch is.
    Apply(Json),
    /// The operations of a JSON patch.
    Edit(Vec<Json>),
}

impl Patch {
    /// Works out the expression, or says why the policy is at fault.
    pub fn change(&self, activation: &Activation) -> Result<Change, String> {
        match self {
            Patch::Apply(expression) => {
                evaluated(expression, activation).and_then(|value| configuration(&value)).map(Change::Apply)
            }
            Patch::Json(expression) => {
                evaluated(expression, activation).and_then(|value| operations(&value)).map(Change::Edit)
            }
        }
    }
}

fn evaluated(expression: &Expression, activation: &Activation) -> Result<Value, String> {
    let mut budget = Budget::new(Budget::ALL);
    let value = expression.program.evaluate(activation, &mut budget);
    value.map_err(|failure| said(&expression.text, &failure, budget.is_spent()))
}

/// The fields that the expression has made.
fn configuration(value: &Value) -> Result<Json, String> {
    let Value::Struct(made) = value else {
        return Err(format!("unsupported return type from ApplyConfiguration expression: {}", value.type_name()));
    };
    in_place(made)?;
    made.to_json().map_err(|why| format!("invalid return type: {why}"))
}

fn in_place(made: &Struct) -> Result<(), String> {
    made.misplaced().map_err(|why| format!("type mismatch: {why}"))
}

/// The operations that the expression has made.
fn operations(value: &Value) -> Result<Vec<Json>, String> {
    let Value::List(items) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    items.iter().map(operation).collect()
}

fn operation(value: &Value) -> Result<Json, String> {
    const WHAT: &str = "JSONPatchType.expression should evaluate to array of JSONPatch";
    const NO_JSON: &str = "JSONPath valueExpression evaluated to a type that could not marshal to JSON";
    let Value::Struct(made) = value else {
        return Err(format!("type mismatch: {WHAT}, got element of {}", value.type_name()));
    };
    let mut operation = json!({"op": "", "path": ""});
    for (name, value) in &made.fields {
        match value {
            Value::String(from) if name == "from" && from.is_empty() => {}
            Value::Struct(of) => {
                in_place(of)?;
                operation[name] = of.to_json().map_err(|why| format!("{NO_JSON}: {why}"))?;
            }
            value => operation[name] = structs::to_json(value).map_err(|why| format!("{NO_JSON}: {why}"))?,
        }
    }
    Ok(operation)
}
