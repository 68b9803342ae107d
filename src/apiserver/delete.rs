//! DELETE: graceful for Pods, held back by finalizers, at once for the rest. Mirrors `rest/delete.go` and
//! `registry/generic/registry/store.go`.

use std::time::Duration;

use crate::kinds;
use crate::object::pod::{assigned_node, has_ended};
use crate::object::time::Instant;
use crate::object::well_known::{FOREGROUND, ORPHAN};
use crate::object::{Kind, Object, Status};
use crate::wire::{Body, DeleteOptions, Propagation, Response};

use super::admission::{self, Attributes};
use super::waiting::waiting;
use super::{ApiServer, Handling, Outcome, strategy};
use crate::kinds::scheduling::priority_class::is_system_priority_class;

impl ApiServer {
    pub(super) fn delete(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        // Only who deletes one by its name is held back, as in `pkg/registry/scheduling/priorityclass`.
        if request.kind == Kind::PriorityClass && is_system_priority_class(&request.name) {
            const WHY: &str = "this is a system priority class and cannot be deleted";
            return Err(Status::forbidden(request.kind, &request.name, WHY));
        }
        let object = self.stored(request.kind, &request.namespace, &request.name)?;
        let default = DeleteOptions::default();
        let options = if let Body::Delete(options) = &request.body { options } else { &default };
        self.delete_object(handling, object, options)
    }

    pub(super) fn delete_collection(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let matching = self.matching(handling)?;
        let default = DeleteOptions::default();
        let options = if let Body::Delete(options) = &request.body { options } else { &default };
        let revision = self.store.revision();
        self.ask_webhooks_of_all(handling, &matching)?;
        for object in &matching {
            self.delete_object(handling, object.clone(), options)?;
        }
        Ok((200, Response::List { items: matching, revision, continue_token: String::new(), remaining: None }))
    }

    /// Asks the webhooks about all that is to go before the first goes: nothing is half done while they are waited for.
    fn ask_webhooks_of_all(&self, handling: &mut Handling, all: &[Object]) -> Result<(), Status> {
        for object in all {
            // What one refuses is refused in its turn.
            let _ = self
                .ask_mutating_of_delete(handling, object)
                .and_then(|()| self.ask_validating(handling, Some(object), None));
        }
        if handling.calls.is_empty() { Ok(()) } else { Err(waiting()) }
    }

    pub(super) fn delete_object(
        &mut self,
        handling: &mut Handling,
        object: Object,
        options: &DeleteOptions,
    ) -> Outcome {
        check_preconditions(&object, options)?;
        let dying = object.meta().deletion_timestamp.is_some();
        if dying && (strategy::has_spec_finalizers(&object) || is_pending(&object, options)) {
            return Ok(still_there(object, options));
        }
        for (_, admit) in admission::DELETING {
            let attributes = Attributes {
                request: handling.request,
                old: Some(&object),
                reader: &self.store,
                random: &mut self.random,
            };
            admit(&attributes)?;
        }
        self.ask_mutating_of_delete(handling, &object)?;
        self.ask_policies(handling, Some(&object), None)?;
        self.ask_validating(handling, Some(&object), None)?;
        handling.stage("validating admission", || "delete".into());
        let uid = object.meta().uid.clone().unwrap_or_default();
        let grace = grace_period(&object, options);
        let finalizers = finalizers_for(&object, options);
        let changed = object.meta().finalizers.as_deref().unwrap_or_default() != finalizers.as_slice();
        let held = !finalizers.is_empty() || strategy::outlives_first_delete(&object);
        if grace == 0 && !held {
            return self.delete_now(handling, object, uid);
        }
        let mut dying = object.clone();
        if changed {
            dying.meta_mut().finalizers = (!finalizers.is_empty()).then_some(finalizers);
        }
        mark_deleted(&mut dying, &object, grace, handling);
        strategy::prepare_for_deletion(&mut dying, &object, handling.now);
        let stored = if dying == object { object } else { self.put(handling, object.revision(), dying)? };
        Ok(still_there(stored, options))
    }

    /// Removes the object. A Pod is first written with grace 0, as the real server does.
    fn delete_now(&mut self, handling: &mut Handling, object: Object, uid: String) -> Outcome {
        let mut last = object.clone();
        if kinds::facts(last.kind()).graceful {
            mark_deleted(&mut last, &object, 0, handling);
            last = if last == object { object } else { self.put(handling, object.revision(), last)? };
        }
        let returns_object = kinds::facts(last.kind()).returns_deleted;
        let gone = self.remove(handling, last)?;
        Ok((200, if returns_object { Response::Object(gone) } else { Response::Success { uid } }))
    }
}

/// The answer while the object is not gone. Whoever asks in the old way is told so by the code; to tell others would break
/// them. Mirrors `DeleteResource` of `endpoints/handlers/delete.go`.
fn still_there(object: Object, options: &DeleteOptions) -> (u16, Response) {
    (if options.says_orphan_not { 202 } else { 200 }, Response::Object(object))
}

/// Whether a Pod is dying already and will not die sooner for this. Mirrors `rest.BeforeDelete`.
fn is_pending(object: &Object, options: &DeleteOptions) -> bool {
    let there = object.meta().deletion_grace_period_seconds.unwrap_or(0);
    let sooner = options.grace_period_seconds.is_some_and(|grace| not_negative(grace) < there);
    kinds::facts(object.kind()).graceful && !sooner
}

/// Sets deletionTimestamp and grace, once; a later delete may only shorten the grace.
fn mark_deleted(dying: &mut Object, object: &Object, grace: i64, handling: &Handling) {
    let seconds = |grace: i64| Duration::from_secs(u64::try_from(grace).unwrap_or(0));
    let there = object.meta().deletion_grace_period_seconds;
    let at = match &object.meta().deletion_timestamp {
        None => handling.now + seconds(grace),
        // The grace is counted from when it began, but does not end in the past.
        Some(ends) => match there {
            Some(there) if grace < there => {
                let sooner = Instant::from_time(ends).since_start().saturating_sub(seconds(there - grace));
                handling.now.max(Instant::default() + sooner)
            }
            _ => return,
        },
    };
    let first = object.meta().deletion_timestamp.is_none();
    let meta = dying.meta_mut();
    meta.deletion_timestamp = Some(at.time());
    if !matches!(object.kind(), Kind::Namespace | Kind::CustomResourceDefinition) {
        meta.deletion_grace_period_seconds = Some(grace);
    }
    if first && object.kind() != Kind::CustomResourceDefinition && meta.generation.unwrap_or(0) > 0 {
        meta.generation = meta.generation.map(|g| g + 1);
    }
}

/// Seconds of grace: 0 for all but running Pods. Mirrors `podStrategy.CheckGracefulDelete`.
fn grace_period(object: &Object, options: &DeleteOptions) -> i64 {
    let Object::Pod(pod) = object else { return 0 };
    let asked = options.grace_period_seconds.map(not_negative);
    if pod.metadata.deletion_timestamp.is_some() {
        return asked.unwrap_or(0).min(pod.metadata.deletion_grace_period_seconds.unwrap_or(0));
    }
    if assigned_node(pod).is_none() || has_ended(pod) {
        return 0;
    }
    let own = pod.spec.as_ref().and_then(|s| s.termination_grace_period_seconds).unwrap_or(30);
    asked.unwrap_or(not_negative(own))
}

/// A grace that is negative means one second.
fn not_negative(grace: i64) -> i64 {
    if grace < 0 { 1 } else { grace }
}

/// The object's finalizers with those of the garbage collector added or removed, as the propagation policy asks.
fn finalizers_for(object: &Object, options: &DeleteOptions) -> Vec<String> {
    let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
    // Events have no dependents.
    if object.kind() == Kind::Event {
        return finalizers;
    }
    let wanted = match options.propagation {
        Some(Propagation::Orphan) => Some(ORPHAN),
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Background) => None,
        // Finalizers that are there already decide, as somebody has decided before.
        None if finalizers.iter().any(|f| f == ORPHAN || f == FOREGROUND) => return finalizers,
        None if kinds::facts(object.kind()).orphans_by_default => Some(ORPHAN),
        None => return finalizers,
    };
    finalizers.retain(|f| (f != ORPHAN && f != FOREGROUND) || Some(f.as_str()) == wanted);
    if let Some(wanted) = wanted
        && !finalizers.iter().any(|f| f == wanted)
    {
        finalizers.push(wanted.to_owned());
    }
    finalizers
}

/// uid and resourceVersion, where the request says which it means.
pub(super) fn check_preconditions(object: &Object, options: &DeleteOptions) -> Result<(), Status> {
    let meta = object.meta();
    let checks = [
        ("UID", &options.uid, &meta.uid, "deleted and then recreated"),
        ("ResourceVersion", &options.resource_version, &meta.resource_version, "modified"),
    ];
    for (what, wanted, there, happened) in checks {
        if let Some(wanted) = wanted
            && Some(wanted) != there.as_ref()
        {
            let there = there.as_deref().unwrap_or_default();
            let mut why =
                format!("the {what} in the precondition ({wanted}) does not match the {what} in record ({there}).");
            why += &format!(" The object might have been {happened}");
            let mut status = Status::conflict(object.kind(), object.name(), &why);
            // Unlike other conflicts this one names the kind, not the resource.
            let info = object.kind().info();
            status.message = status.message.replacen(&info.qualified_plural(), &info.qualified_kind(), 1);
            if let Some(details) = &mut status.details {
                details.kind = info.kind.to_owned();
            }
            return Err(status);
        }
    }
    Ok(())
}
