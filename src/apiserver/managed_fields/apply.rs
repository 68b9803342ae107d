//! Apply patches: `PATCH` with `application/apply-patch+yaml`.
//!
//! Mirrors `applyPatcher` of `endpoints/handlers/patch.go`, and of the managers in `managedfields/internal` those that know
//! kubectl: `lastapplied.go`, `lastappliedupdater.go`, `skipnonapplied.go`.

use serde_json::{Value, json};

use crate::Handling;
use object::fields::compare::{compare, set_of};
use object::fields::{Managers, Operation, Refused, Schema, Set, Write, Writer};
use object::status::{Cause, Details, Reason};
use object::well_known::LAST_APPLIED;
use object::{Kind, Object, Status};
use rest::decode::{Patched, decode_patched};

use super::{Written, shapes, typed, writer};

/// The manager for which the server looks after that annotation.
const KUBECTL: &str = "kubectl";

/// One configuration on its way into an object.
pub(crate) struct Applying<'a, 'h, 'r, S> {
    pub handling: &'h mut Handling<'r>,
    pub schema: &'a S,
    pub managers: &'a Managers,
    pub live: Value,
    pub config: &'a Value,
}

impl<S: Schema> Applying<'_, '_, '_, S> {
    pub fn run(self) -> Result<(Object, Written), Status> {
        let (request, custom) = (self.handling.request, self.handling.custom.clone());
        check_config(request.kind, self.config)?;
        let checked = typed::check(self.schema, (request.kind, custom.as_deref()), self.config);
        checked.map_err(|why| self.no_typed_patch(&why))?;
        let by = writer(request, Operation::Apply);
        let has_status = custom.as_ref().is_none_or(|version| version.has_status);
        let ignored = shapes::reset_fields(request.kind, &by.subresource, has_status);
        let write = Write { by: &by, at: shapes::time_of(&by, self.handling.now), ignored: &ignored };
        let force = request.options.force;
        let apply = |force| self.managers.apply(self.schema, &self.live, self.config, &write, force);
        let applied = match apply(force) {
            Err(Refused::Conflicts(all)) if by.manager == KUBECTL => {
                let others = self.not_from_last_apply(all);
                if others.is_empty() { apply(true) } else { Err(Refused::Conflicts(others)) }
            }
            applied => applied,
        };
        let (mut new, managers) = applied.map_err(|refused| match refused {
            Refused::Config(why) => self.no_typed_patch(&why),
            Refused::Conflicts(all) if by.subresource == "scale" => conflict(all.into_iter().map(of_scale).collect()),
            Refused::Conflicts(all) => conflict(all),
        })?;
        if by.manager == KUBECTL {
            self.note_last_applied(&mut new);
        }
        let mode = request.options.field_validation;
        let how = Patched::Otherwise;
        let (object, warnings) = decode_patched(request.kind, custom.as_deref(), &new, how, (mode, &[]))?;
        self.handling.warnings.extend(warnings);
        Ok((object, Written::Known(managers)))
    }

    fn no_typed_patch(&self, why: &str) -> Status {
        let info = self.handling.request.kind.info();
        let text = |field: &str| self.config.pointer(field).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let what = format!("{namespace}/{name}; {}/{}, Kind={}", info.group, info.version, info.kind);
        Status::new(Reason::Unknown, format!("failed to create typed patch object ({what}): {why}"))
    }

    /// The conflicts but for those about values that `kubectl apply` itself has written without `--server-side`, as its
    /// annotation tells. Mirrors `lastAppliedManager`.
    fn not_from_last_apply(&self, conflicts: Vec<(Writer, Set)>) -> Vec<(Writer, Set)> {
        let annotations = self.live.pointer("/metadata/annotations");
        let text = annotations.and_then(|all| all.get(LAST_APPLIED)).and_then(Value::as_str).unwrap_or_default();
        let last: Value = serde_json::from_str(text).unwrap_or_default();
        let Ok(own) = set_of(self.schema, &last) else { return conflicts };
        if last.get("apiVersion") != self.config.get("apiVersion") {
            return conflicts;
        }
        let since = compare(self.schema, &last, &self.live);
        let own = own.difference(&since.written()).difference(&since.removed);
        let others = conflicts.into_iter().map(|(with, fields)| (with, fields.difference(&own)));
        others.filter(|(_, fields)| !fields.is_empty()).collect()
    }

    /// Keeps that annotation up to date where it is, for a kubectl that applies without `--server-side` again.
    fn note_last_applied(&self, new: &mut Value) {
        let Some(kept) = new.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(LAST_APPLIED)) else {
            return;
        };
        let mut config = self.config.clone();
        if let Some(all) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            all.remove(LAST_APPLIED);
        }
        *kept = json!(format!("{config}\n"));
    }
}

/// Mirrors `versionCheckManager`.
fn check_config(kind: Kind, config: &Value) -> Result<(), Status> {
    let info = kind.info();
    let text = |field: &str| config.get(field).and_then(Value::as_str).unwrap_or_default();
    let (version, name) = (text("apiVersion"), text("kind"));
    if version != info.api_version || name != info.kind {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        return Err(Status::bad_request(format!("invalid object type: {group}/{version}, Kind={name}")));
    }
    if config.pointer("/metadata/managedFields").is_some_and(|entries| !entries.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// A conflict as a client that applies a Scale is told of it: the manager of the object's replicas manages the Scale's too.
/// Mirrors `ScaleHandler.ToSubresource`.
fn of_scale((with, _): (Writer, Set)) -> (Writer, Set) {
    (Writer { api_version: "autoscaling/v1".into(), ..with }, Set::of_fields(&["spec.replicas"]))
}

/// 409: others manage what would change. Mirrors `NewConflictError`.
fn conflict(mut all: Vec<(Writer, Set)>) -> Status {
    all.sort_by(|(a, _), (b, _)| {
        (&a.manager, a.operation, &a.subresource).cmp(&(&b.manager, b.operation, &b.subresource))
    });
    let paths: Vec<(String, Vec<String>)> = all.iter().map(|(with, set)| (with.to_string(), set.paths())).collect();
    let causes: Vec<Cause> = paths
        .iter()
        .flat_map(|(with, paths)| paths.iter().map(move |path| (with, path)))
        .map(|(with, path)| Cause {
            reason: "FieldManagerConflict".into(),
            message: format!("conflict with {with}"),
            field: path.clone(),
        })
        .collect();
    let message = match causes.as_slice() {
        [only] => format!("Apply failed with 1 conflict: {}: {}", only.message, only.field),
        many => {
            let lines = paths.iter().map(|(with, paths)| {
                let fields: String = paths.iter().map(|path| format!("\n- {path}")).collect();
                format!("conflicts with {with}:{fields}")
            });
            format!("Apply failed with {} conflicts: {}", many.len(), lines.collect::<Vec<_>>().join("\n"))
        }
    };
    let details = Details { causes, ..Details::default() };
    Status { details: Some(Box::new(details)), ..Status::new(Reason::Conflict, message) }
}
