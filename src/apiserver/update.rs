//! PUT and PATCH, of an object or of a part of it, and the PUT that finalizes a Namespace. Mirrors
//! `endpoints/handlers/{update,patch}.go` and `registry/generic/registry/store.go`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, NodeCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::kinds;
use crate::object::patch;
use crate::object::pod::status::{PodCondition, PodStatus};
use crate::object::status::{Cause, Reason};
use crate::object::{Kind, Object, Pod, Shared, Status};
use crate::wire::{Body, Patch, Response, StatusPatch, Subresource, Verb};

use super::admission::{self, Attributes};
use super::create::{AFTER_ADMISSION, dedup_owner_references, is_from_outside, place_in_namespace};
use super::decode::{Patched, decode_patched};
use super::managed_fields::Written;
use super::{ApiServer, Handling, Outcome, registry, strategy, validation, warnings};

impl ApiServer {
    pub(super) fn update(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let old = self.stored(request.kind, &request.namespace, &request.name);
        if old.is_err() && creates_instead(handling) {
            return self.create_by_update(handling);
        }
        let (old, mut new, written) = match &request.body {
            Body::Patch(Patch::Apply(config)) if old.is_err() && request.subresource.is_none() => {
                return self.apply_new(handling, config);
            }
            Body::Patch(Patch::Apply(config)) => {
                let old = old?;
                let (new, written) = self.applied(handling, &old, config)?;
                (old, self.addressed(handling, new)?, Some(written))
            }
            Body::Patch(Patch::Unreadable { why, applies }) => {
                return Err(if *applies {
                    Status::clone(why)
                } else {
                    old.err().unwrap_or_else(|| Status::clone(why))
                });
            }
            Body::Patch(patch) => {
                let old = old?;
                let new = self.patched(handling, &old, patch)?;
                (old, self.addressed(handling, new)?, None)
            }
            // What was sent is looked at before what is stored.
            _ => {
                let new = self.incoming(handling)?;
                let new = self.addressed(handling, new)?;
                (old?, new, None)
            }
        };
        if !shares_spec(&new, &old) {
            ApiServer::set_defaults(handling, &mut new);
        }
        self.store_update(handling, &old, new, written).map(|stored| (200, Response::Object(stored)))
    }

    /// A PUT of an object that is not there, of a kind that can be created so. The version from which it was made does not
    /// matter then, its uid does.
    fn create_by_update(&mut self, handling: &mut Handling) -> Outcome {
        let new = self.incoming(handling)?;
        let mut new = self.addressed(handling, new)?;
        let meta = new.meta_mut();
        meta.resource_version = None;
        if let Some(uid) = meta.uid.take().filter(|uid| !uid.is_empty()) {
            return Err(Status::conflict(new.kind(), new.name(), &wrong_uid(&new, &uid)));
        }
        self.create_object(handling, new, None)
    }

    /// The new state, if it is for where the URL says.
    fn addressed(&self, handling: &mut Handling, mut new: Object) -> Result<Object, Status> {
        place_in_namespace(&mut new, &handling.request.namespace)?;
        check_name(&new, &handling.request.name)?;
        dedup_owner_references(handling, &mut new, "");
        Ok(new)
    }

    /// The rest of every update: preconditions, admission, strategy, validation, and the transaction. `written` says who
    /// manages what then, if that is known already.
    pub(super) fn store_update(
        &mut self,
        handling: &mut Handling,
        old: &Object,
        mut new: Object,
        written: Option<Written>,
    ) -> Result<Object, Status> {
        let written = written.unwrap_or_else(|| self.written_by_update(handling, old, &mut new));
        let request = handling.request;
        let version = handling.custom.clone();
        let custom = version.as_deref();
        check_preconditions(request.verb, old, &new)?;
        self.mutate(handling, Some(old), &mut new, None)?;
        dedup_owner_references(handling, &mut new, AFTER_ADMISSION);
        self.check_escalation(handling, Some(old), &new)?;
        strategy::carry_over_metadata(&mut new, old);
        let causes = match request.subresource {
            Some(Subresource::Status) => {
                strategy::prepare_for_status_update(&mut new, old, handling.now);
                validation::validate_status_update(&new, old, custom)
            }
            Some(Subresource::Finalize) => {
                strategy::prepare_for_finalize(&mut new, old);
                validation::validate_finalize(&new, old)
            }
            Some(Subresource::EphemeralContainers) => {
                strategy::prepare_for_ephemeral_containers(&mut new, old);
                validation::validate_ephemeral_containers(&new, old)
            }
            Some(Subresource::Resize) => {
                strategy::prepare_for_resize(&mut new, old);
                validation::validate_resize(&new, old)
            }
            _ => {
                strategy::prepare_for_update(&mut new, old, custom);
                self.addresses.allocate(&mut new, Some(old), &mut self.random)?;
                validation::validate_update_in(handling.served, &new, old, custom)
            }
        };
        if !causes.is_empty() {
            return Err(Status::invalid(new.kind(), new.name(), causes));
        }
        handling.stage("validation", String::new);
        if is_from_outside(handling) {
            handling.warnings.extend(match request.subresource {
                None => warnings::on_update(&new, old),
                Some(Subresource::Status) => warnings::on_status_update(&new),
                Some(_) => Vec::new(),
            });
        }
        for (_, admit) in admission::VALIDATING {
            let attributes = Attributes { request, old: Some(old), reader: &self.store, random: &mut self.random };
            admit(&attributes, &new)?;
        }
        self.warn(handling, Some(old), &new);
        self.ask_policies(handling, Some(old), Some(&new))?;
        self.ask_validating(handling, Some(old), Some(&new))?;
        self.charge_quotas(handling, Some(old), &new)?;
        self.write_or_finish(handling, old, new, written)
    }

    /// Stores the new state, unless nothing changed, or nothing holds a deleted object any more.
    fn write_or_finish(
        &mut self,
        handling: &mut Handling,
        old: &Object,
        mut new: Object,
        written: Written,
    ) -> Result<Object, Status> {
        if new.meta().resource_version != old.meta().resource_version {
            new.meta_mut().resource_version.clone_from(&old.meta().resource_version);
        }
        let other_managers = matches!(&written, Written::Known(managers) if !managers.same(&self.managers_now(old)));
        if new == *old && !other_managers && self.is_stored_so(old) {
            handling.stage("etcd", || "nothing changed: no write".into());
            return Ok(old.clone());
        }
        // Mirrors `ShouldDeleteDuringUpdate`.
        let held = new.meta().finalizers.as_ref().is_some_and(|f| !f.is_empty()) || strategy::has_spec_finalizers(&new);
        let graceless = old.meta().deletion_grace_period_seconds.unwrap_or(0) == 0;
        if old.meta().deletion_timestamp.is_some() && graceless && !held {
            // Watches are told of the last version that was stored; the caller is shown what it asked for.
            self.remove(handling, old.clone())?;
            return Ok(new);
        }
        self.put_written(handling, old.revision(), new, written)
    }

    /// Whether an object that was read is stored just so. One that its definition has made another of since, be it only of
    /// another version, is written anew although nobody has changed it.
    fn is_stored_so(&self, read: &Object) -> bool {
        let kind = read.kind();
        if !matches!(kind, Kind::Custom(_)) {
            return true;
        }
        let stored = self.store.get(&registry::key(kind, read.namespace(), read.name())).map(|entry| &entry.value);
        stored.is_none_or(|stored| {
            stored.kind() == self.definitions.storage(kind) && stored.clone().in_version(kind) == *read
        })
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
        let how = if let Patch::Strategic(patch) = patch { Patched::Strategic(patch) } else { Patched::Otherwise };
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

/// Whether the spec is that of the stored version, in which nothing is left to default: looking for it would copy it.
fn shares_spec(new: &Object, old: &Object) -> bool {
    match (new, old) {
        (Object::Pod(new), Object::Pod(old)) => match (&new.spec, &old.spec) {
            (Some(new), Some(old)) => new.same(old),
            _ => false,
        },
        _ => false,
    }
}

pub(super) fn check_name(new: &Object, name: &str) -> Result<(), Status> {
    check_place(new.meta(), name, "")
}

/// Whether an object is for where the URL says. Mirrors `checkName`.
pub(super) fn check_place(sent: &ObjectMeta, name: &str, namespace: &str) -> Result<(), Status> {
    let said = sent.name.as_deref().unwrap_or_default();
    if said.is_empty() {
        let text = format!("the name of the object ({name} based on URL) was undeterminable: name must be provided");
        return Err(Status::bad_request(text));
    }
    if said != name {
        let text = format!("the name of the object ({said}) does not match the name on the URL ({name})");
        return Err(Status::bad_request(text));
    }
    let said = sent.namespace.as_deref().unwrap_or_default();
    if !said.is_empty() && !namespace.is_empty() && said != namespace {
        return Err(Status::bad_request(super::create::OTHER_NAMESPACE));
    }
    Ok(())
}

/// Why a write for another uid than the stored object's is refused.
fn wrong_uid(there: &Object, uid: &str) -> String {
    wrong_meta(there, "UID", uid)
}

/// Why a write for another uid or version than the stored object's is refused. Mirrors `storage.NewInvalidObjError`.
pub(super) fn wrong_meta(there: &Object, what: &str, wanted: &str) -> String {
    let key = registry::key(there.kind(), there.namespace(), there.name());
    let meta = there.meta();
    let stored = if what == "UID" { &meta.uid } else { &meta.resource_version };
    let stored = stored.as_deref().unwrap_or_default();
    format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
         failed: {what} in precondition: {wanted}, {what} in object meta: {stored}"
    )
}

/// uid and resourceVersion, where the new state carries them. A patch with another uid is for validation to refuse. Mirrors
/// `defaultUpdatedObjectInfo.Preconditions`.
fn check_preconditions(verb: Verb, old: &Object, new: &Object) -> Result<(), Status> {
    let (there, sent) = (old.meta(), new.meta());
    let (kind, name) = (old.kind(), old.name());
    if let (Some(a), Some(b)) = (&sent.uid, &there.uid)
        && verb != Verb::Patch
        && !a.is_empty()
        && a != b
    {
        return Err(Status::conflict(kind, name, &wrong_uid(old, a)));
    }
    match sent.resource_version.as_deref().unwrap_or_default() {
        "" | "0" if !kinds::facts(kind).unconditional_update => {
            let message = "Invalid value: 0: must be specified for an update".to_owned();
            let field = "metadata.resourceVersion".to_owned();
            let cause = Cause { reason: "FieldValueInvalid".into(), message, field };
            let mut status = Status::invalid(kind, name, vec![cause]);
            status.message = status.message.replacen(&kind.info().qualified_kind(), &kind.info().qualified_plural(), 1);
            Err(status)
        }
        "" | "0" => Ok(()),
        version if Some(version) == there.resource_version.as_deref() => Ok(()),
        version if version.parse::<u64>().is_err() => {
            Err(Status::new(Reason::Unknown, format!("strconv.ParseUint: parsing \"{version}\": invalid syntax")))
        }
        _ => Err(Status::modified(kind, name)),
    }
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
