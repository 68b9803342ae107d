//! What becomes of an object when a policy changes it.
//!
//! An `Object` is laid over it as an apply patch is, but its fields get no manager, and it may not name what is atomic: all
//! that it does not name there would be gone. The operations of a JSON patch are done one after the other; if a `test` among
//! them does not hold, the object stays as it is.
//!
//! Mirrors `pkg/admission/plugin/policy/mutating/patch/{smd,json_patch}.go` of apiserver.

use serde_json::{Value as Json, json};

use crate::Handling;
use crate::managed_fields::typed;
use object::fields::compare::set_of;
use object::fields::merge::merge;
use object::fields::{BuiltIn, List, Schema};
use object::{Kind, Object, Status, patch};
use rest::decode;
use rules::apiextensions::fields::Custom;
use rules::cel::eval::Activation;
use rules::json_patch::{self, Rejected};
use rules::policy::compiled::Patch;
use rules::policy::patch::Change;
use rules::scale;

use super::decoding::scaled;
use wire::FieldValidation;

/// Why a change cannot be made.
pub enum Broken {
    /// The policy is at fault: what its binding says of failures decides.
    Policy(String),
    /// The request fails with this, even if the policy ignores failures.
    Request(Status),
}

/// The object with a change made, read and defaulted anew; and what the expression came to, for the stage's note.
pub fn patched(
    handling: &Handling,
    object: &Object,
    patch: &Patch,
    activation: &Activation,
) -> Result<(Object, String), Broken> {
    let (mut after, said) = match patch.change(activation).map_err(Broken::Policy)? {
        Change::Apply(config) => (applied(handling, object, &config).map_err(Broken::Policy)?, config.to_string()),
        Change::Edit(operations) => (edited(handling, object, &operations)?, Json::Array(operations).to_string()),
    };
    handling.set_defaults(&mut after);
    Ok((after, said))
}

fn applied(handling: &Handling, object: &Object, config: &Json) -> Result<Object, String> {
    let (kind, custom) = (object.kind(), handling.custom.as_deref());
    if scale::is_asked(handling.request) {
        let merged = patch::merge(scale::seen(handling.request, custom, object), config);
        let scaled = scaled(object, custom, &merged, FieldValidation::Strict);
        return scaled.map_err(|status| format!("error applying patch: {}", status.message));
    }
    let mut config = config.clone();
    (config["apiVersion"], config["kind"]) = (json!(kind.info().api_version), json!(kind.info().kind));
    let merged = match kind {
        Kind::Custom(_) => merged(&Custom::new(kind, custom.map(|version| &version.schema)), handling, object, &config),
        _ => merged(&BuiltIn::new(kind), handling, object, &config),
    };
    let merged = merged.map_err(|why| format!("error applying patch: {why}"))?;
    decode::patched_object(kind, custom, &merged, FieldValidation::Ignore)
}

/// Mirrors `ApplyStructuredMergeDiff`.
fn merged<S: Schema>(schema: &S, handling: &Handling, object: &Object, config: &Json) -> Result<Json, String> {
    let typed = typed::check(schema, (object.kind(), handling.custom.as_deref()), config);
    let typed = typed.and_then(|()| set_of(schema, config));
    typed.map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let mut atomic = Vec::new();
    find_atomic(schema, config, "", &mut atomic);
    if !atomic.is_empty() {
        let paths = atomic.join(", ");
        return Err(format!("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {paths}"));
    }
    Ok(merge(schema, Some(object.to_json()), config))
}

/// The paths of all that is atomic. Keys of maps are not looked into. Mirrors `findAtomics`.
fn find_atomic<S: Schema>(schema: &S, value: &Json, path: &str, found: &mut Vec<String>) {
    match value {
        Json::Object(fields) => {
            if schema.is_atomic() {
                found.push(path.to_owned());
            }
            for (name, value) in fields.iter().filter(|_| schema.is_struct()) {
                find_atomic(&schema.field(name), value, &format!("{path}.{name}"), found);
            }
        }
        Json::Array(items) => {
            if schema.is_atomic() || schema.list() == List::Atomic {
                found.push(path.to_owned());
            }
            for (i, item) in items.iter().enumerate() {
                find_atomic(&schema.item(), item, &format!("{path}[{i}]"), found);
            }
        }
        _ => {}
    }
}

fn edited(handling: &Handling, object: &Object, operations: &[Json]) -> Result<Object, Broken> {
    let (kind, custom) = (object.kind(), handling.custom.as_deref());
    let of_scale = scale::is_asked(handling.request);
    let before = if of_scale { scale::seen(handling.request, custom, object) } else { object.printed() };
    let patched = match json_patch::patched(before, operations) {
        Ok(patched) => patched,
        Err(Rejected::Test(_)) => return Ok(object.clone()),
        Err(why) => return Err(Broken::Policy(format!("JSONPath: {why}"))),
    };
    if of_scale {
        return scaled(object, custom, &patched, FieldValidation::Strict).map_err(Broken::Request);
    }
    // An object of a kind that a user has defined has any field here; what its schema has not is cut off later.
    let mode = if custom.is_some() { FieldValidation::Ignore } else { FieldValidation::Strict };
    decode::patched_object(kind, custom, &patched, mode).map_err(|why| Broken::Request(Status::internal(&why)))
}
