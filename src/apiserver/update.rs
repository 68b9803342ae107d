//! PUT and PATCH, of an object or of a part of it, and the PUT that finalizes a Namespace. Mirrors
//! `endpoints/handlers/{update,patch}.go`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, NodeCondition};
use serde_json::Value;

use object::patch;
use object::pod::status::{PodCondition, PodStatus};
use object::status::Reason;
use object::{Kind, Object, Pod, Shared, Status};
use wire::{Body, Patch, StatusPatch, Verb};

use super::pipeline::decoding::addressed;
use super::pipeline::preconditions::wrong_uid;
use super::pipeline::write::{Done, Write};
use super::{ApiServer, Handling, Outcome};
use rest::decode::{Patched, decode_patched, quote};

impl ApiServer {
    pub(super) fn update(&mut self, handling: &mut Handling) -> Outcome {
        let write = self.wanted(handling)?;
        self.write(handling, write).map(Done::answer)
    }

    /// What a PUT or PATCH wants to be written.
    fn wanted(&mut self, handling: &mut Handling) -> Result<Write, Status> {
        let request = handling.request;
        let old = self.stored(request.kind, &request.namespace, &request.name);
        if old.is_err() && creates_instead(handling) {
            return self.created_by_update(handling);
        }
        match &request.body {
            Body::Patch(Patch::Apply(config)) if old.is_err() && request.subresource.is_none() => {
                self.created_by_apply(handling, config)
            }
            Body::Patch(Patch::Apply(config)) => {
                let old = old?;
                let (new, written) = self.applied(handling, &old, config)?;
                let new = addressed(handling, new)?;
                Ok(Write::update(old, new, Some(written)))
            }
            Body::Patch(Patch::Unreadable { why, applies }) => {
                Err(if *applies { Status::clone(why) } else { old.err().unwrap_or_else(|| Status::clone(why)) })
            }
            Body::Patch(patch) => {
                let old = old?;
                let new = self.patched(handling, &old, patch)?;
                let new = addressed(handling, new)?;
                Ok(Write::update(old, new, None))
            }
            // What was sent is looked at before what is stored.
            _ => {
                let new = self.incoming(handling)?;
                let new = addressed(handling, new)?;
                Ok(Write::update(old?, new, None))
            }
        }
    }

    /// A PUT of an object that is not there, of a kind that can be created so. The version from which it was made does not
    /// matter then, its uid does.
    fn created_by_update(&mut self, handling: &mut Handling) -> Result<Write, Status> {
        let new = self.incoming(handling)?;
        let mut new = addressed(handling, new)?;
        let meta = new.meta_mut();
        meta.resource_version = None;
        if let Some(uid) = meta.uid.take().filter(|uid| !uid.is_empty()) {
            return Err(Status::conflict(new.kind(), new.name(), &wrong_uid(&new, &uid)));
        }
        Write::create(handling, new, None)
    }

    /// `old` with the patch applied, still unchecked.
    fn patched(&mut self, handling: &mut Handling, old: &Object, patch: &Patch) -> Result<Object, Status> {
        let kind = old.kind();
        handling.stage("patch", || patch_name(patch).into());
        let shown_to_client = || old.clone().in_version(handling.served).to_json();
        let value = match patch {
            Patch::Status(patch) => return apply_status(old, patch),
            Patch::Apply(_) => unreachable!("an apply patch goes its own way"),
            Patch::Unreadable { why, .. } => return Err(Status::clone(why)),
            Patch::Json(patch) if names_managers(patch) => {
                patch::json(self.with_managers(old).in_version(handling.served).printed(), patch)?
            }
            Patch::Json(patch) => patch::json(old.clone().in_version(handling.served).printed(), patch)?,
            Patch::Merge(patch) => patch::merge(shown_to_client(), patch),
            Patch::Strategic(_) if matches!(kind, Kind::Custom(_)) => return Err(no_strategic_merge()),
            Patch::Strategic(patch) => patch::strategic(kind, shown_to_client(), patch)?,
        };
        let quoted = || match patch {
            Patch::Merge(patch) => {
                let whole = self.with_managers(old).in_version(handling.served).printed();
                quote::merged(handling.served, &patch::merge(whole, patch), patch)
            }
            _ => value.to_string(),
        };
        let how = match patch {
            Patch::Strategic(patch) => Patched::Strategic(patch),
            Patch::Merge(_) => Patched::Merge(&quoted),
            _ => Patched::Otherwise,
        };
        let options = &handling.request.options;
        let mode = (options.field_validation, options.patch_problems.as_slice());
        let (object, warnings) = decode_patched(handling.served, handling.custom.as_deref(), &value, how, mode)?;
        handling.warnings.extend(warnings);
        Ok(object)
    }
}

/// Strategic merge patches go by tags of Go types, and a custom kind has no type.
fn no_strategic_merge() -> Status {
    const TEXT: &str = "the body of the request was in an unknown format - accepted media types include: \
                        application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
    Status::new(Reason::UnsupportedMediaType, TEXT)
}

/// Whether a JSON patch is about managedFields.
fn names_managers(patch: &Value) -> bool {
    let paths = patch.as_array().into_iter().flatten().filter_map(|operation| operation.get("path")?.as_str());
    { paths }.any(|path| path.starts_with("/metadata/managedFields"))
}

fn patch_name(patch: &Patch) -> &'static str {
    match patch {
        Patch::Json(_) => "JSON patch",
        Patch::Merge(_) => "merge patch",
        Patch::Apply(_) => "apply patch",
        Patch::Unreadable { .. } => "patch",
        Patch::Strategic(_) | Patch::Status(_) => "strategic merge patch",
    }
}

/// Whether a PUT of an absent object creates it. Mirrors the strategies' AllowCreateOnUpdate.
fn creates_instead(handling: &Handling) -> bool {
    let request = handling.request;
    request.verb == Verb::Update && request.subresource.is_none() && kinds::facts(request.kind).create_on_update
}

/// The typed form of the strategic merge patch a kubelet sends.
fn apply_status(old: &Object, patch: &StatusPatch) -> Result<Object, Status> {
    Ok(match (old, patch) {
        (Object::Pod(pod), StatusPatch::Pod { uid, status, without }) => {
            let (mut metadata, spec) = (pod.metadata.clone(), pod.spec.clone());
            if metadata.uid.as_deref() != Some(uid) {
                metadata.uid = Some(uid.clone());
            }
            let before = pod.status.as_deref();
            let status = before.map_or_else(|| status.clone(), |before| pod_status(before, status, without));
            Object::Pod(Arc::new(Pod { metadata, spec, status: Some(status) }))
        }
        (Object::Node(node), StatusPatch::Node { status }) => {
            let mut after = status.clone();
            if let Some(before) = &node.status {
                let missing = missing_types(&before.conditions, &after.conditions, |c: &NodeCondition| &c.type_);
                if !missing.is_empty() {
                    after.conditions.get_or_insert_default().extend(missing);
                }
                after.volumes_attached.clone_from(&before.volumes_attached);
            }
            // Made of its parts: a copy of the whole would copy the old status too, only to throw it away.
            let (metadata, spec) = (node.metadata.clone(), node.spec.clone());
            Object::Node(Arc::new(Node { metadata, spec, status: Some(after) }))
        }
        _ => return Err(Status::bad_request("the status patch is for another kind")),
    })
}

/// A Pod's status after the patch. What it leaves as the sender sees it is not copied: the kubelet holds the same.
fn pod_status(before: &PodStatus, sent: &Shared<PodStatus>, without: &[String]) -> Shared<PodStatus> {
    let mut after = sent.clone();
    let mut missing = missing_types(&before.conditions, &sent.conditions, |c: &PodCondition| &c.type_);
    missing.retain(|condition| !without.iter().any(|type_| condition.type_ == *type_));
    if !missing.is_empty() {
        after.conditions.get_or_insert_default().extend(missing);
    }
    if before.qos_class.is_some() && before.qos_class != after.qos_class {
        after.qos_class.clone_from(&before.qos_class);
    }
    if before.nominated_node_name != after.nominated_node_name {
        after.nominated_node_name.clone_from(&before.nominated_node_name);
    }
    after
}

/// The conditions that only others wrote: they come after the sender's.
fn missing_types<C: Clone>(old: &Option<Vec<C>>, new: &Option<Vec<C>>, of: impl Fn(&C) -> &str) -> Vec<C> {
    let sent = |condition: &&C| !new.iter().flatten().any(|there| of(there) == of(condition));
    old.iter().flatten().filter(sent).cloned().collect()
}
