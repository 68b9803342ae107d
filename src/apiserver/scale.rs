//! `scale`: the replica count of an object that has one, seen and changed alone.
//!
//! Clients read and write an `autoscaling/v1 Scale`. Policies and webhooks that are asked about such a write see Scales too,
//! and neither the labels nor the rest of the object ([`rules::scale`]). What is stored is the object.
//!
//! Mirrors the `ScaleREST`s of `pkg/registry/apps` and of apiextensions' `pkg/registry/customresource/etcd.go`.

use k8s_openapi::api::autoscaling::v1::{Scale, ScaleSpec};
use serde_json::{Value, json};

use object::patch;
use object::status::Cause;
use object::{Accessor, Kind, Object, Status};
use wire::{Body, Patch, Response, Verb};

use rules::scale::{replicas, scale_of, set_replicas, to_json};

use super::pipeline::decoding::check_place;
use super::pipeline::write::Write;
use super::{ApiServer, Handling, Outcome};
use rest::decode::{self, Patched};

impl ApiServer {
    /// A GET, PUT or PATCH of `scale`.
    pub(super) fn scale(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let parent = self
            .stored(request.kind, &request.namespace, &request.name)
            .map_err(|_| not_found(request.kind, &request.name))?;
        let version = handling.custom.clone();
        let version = version.as_deref();
        let scale = scale_of(&parent, version)?;
        if request.verb == Verb::Get {
            return Ok((200, Response::Scale(Box::new(scale))));
        }
        let write = if let Body::Patch(Patch::Apply(config)) = &request.body {
            let paths = version.and_then(|version| version.scale.as_ref());
            let path = paths.map_or(".spec.replicas", |paths| &paths.spec_replicas_path);
            let (new, written) = self.applied(handling, &parent, &parent_config(request.kind, config, path))?;
            Write::update_in_part(parent, new, Some(written))
        } else {
            let wanted = wanted_scale(handling, &scale)?;
            check_scale(&wanted, &parent)?;
            let mut new = parent.clone();
            new.meta_mut().resource_version.clone_from(&wanted.metadata.resource_version);
            set_replicas(&mut new, version, replicas(&wanted));
            Write::update_in_part(parent, new, None)
        };
        let stored = self.write(handling, write)?.into_object();
        Ok((200, Response::Scale(Box::new(scale_of(&stored, version)?))))
    }
}

/// Group and name of the resource that errors speak of: of a built-in kind the scale and not the object.
fn resource(kind: Kind) -> (&'static str, String) {
    let info = kind.info();
    match kind {
        Kind::Custom(_) => (info.group, info.plural.to_owned()),
        // A ReplicationController has no group, and that of its scale is taken for it.
        _ if info.group.is_empty() => ("autoscaling", format!("{}/scale", info.plural)),
        _ => (info.group, format!("{}/scale", info.plural)),
    }
}

fn not_found(kind: Kind, name: &str) -> Status {
    let (group, resource) = resource(kind);
    Status::not_found_as(group, &resource, name)
}

/// The scale that the request wants, of an object that has this one.
fn wanted_scale(handling: &mut Handling, scale: &Scale) -> Result<Scale, Status> {
    let options = &handling.request.options;
    let mode = options.field_validation;
    let now = to_json(scale)?;
    let patched = |value: Value, how| decode::patched_scale(&value, how, (mode, &options.patch_problems));
    let (wanted, warnings) = match &handling.request.body {
        Body::Scale { replicas, resource_version } => {
            let mut wanted = scale.clone();
            wanted.metadata.resource_version.clone_from(resource_version);
            wanted.spec = Some(ScaleSpec { replicas: Some(*replicas) });
            (wanted, Vec::new())
        }
        Body::Patch(Patch::Merge(patch)) => patched(patch::merge(now, patch), Patched::Otherwise)?,
        // There is no list in it.
        Body::Patch(Patch::Strategic(patch)) => patched(patch::merge(now, patch), Patched::Strategic(patch))?,
        Body::Patch(Patch::Json(patch)) => patched(patch::json(now, patch)?, Patched::Otherwise)?,
        Body::Patch(Patch::Unreadable { why, .. }) => return Err(Status::clone(why)),
        Body::Json(text) => decode::scale(text, mode)?,
        _ => return Err(Status::bad_request("the request carries no Scale")),
    };
    handling.warnings.extend(warnings);
    Ok(wanted)
}

/// Whether the scale is this object's and can be. Mirrors `ValidateScale`.
fn check_scale(wanted: &Scale, parent: &Object) -> Result<(), Status> {
    let (meta, kind, name) = (&wanted.metadata, parent.kind(), parent.name());
    check_place(meta, name, parent.namespace())?;
    let replicas = replicas(wanted);
    if replicas < 0 {
        let message = format!("Invalid value: {replicas}: must be greater than or equal to 0");
        let cause = Cause { reason: "FieldValueInvalid".into(), message, field: "spec.replicas".into() };
        return Err(Status::invalid_kind("autoscaling", "Scale", name, vec![cause]));
    }
    let there = parent.meta().uid();
    match meta.uid() {
        uid if uid.is_empty() || uid == there => Ok(()),
        uid => {
            let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {there}");
            let (group, resource) = resource(kind);
            Err(Status::conflict_with(group, &resource, name, &why))
        }
    }
}

/// What applying a Scale says of the object that it is the scale of. Mirrors `managedfields.ScaleHandler`.
fn parent_config(kind: Kind, scale: &Value, path: &str) -> Value {
    let info = kind.info();
    let version = scale.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
    let mut config = json!({"apiVersion": info.api_version, "kind": info.kind});
    if !version.is_null() {
        config["metadata"] = json!({"resourceVersion": version});
    }
    if let Some(replicas) = scale.pointer("/spec/replicas") {
        let steps = path.trim_start_matches('.').rsplit('.');
        let fields = steps.fold(replicas.clone(), |value, name| json!({name: value}));
        patch::merge(config, &fields)
    } else {
        config
    }
}
