//! POST: a new object. Mirrors `endpoints/handlers/create.go` and `registry/generic/registry/store.go`.

use crate::object::status::Reason;
use crate::object::{Accessor, Object, Pod, Status};
use crate::wire::{Body, Request, Response, Verb};

use super::admission::{self, Attributes};
use super::managed_fields::Written;
use crate::rules::apiextensions;

use super::{ApiServer, Handling, Outcome, authorization, decode, strategy, validation, warnings};

/// How often a generated name may collide before the server gives up.
const NAME_ATTEMPTS: usize = 8;

/// `generateName` is cut to this, so that the suffix still fits a DNS label.
const GENERATED_BASE_MAX: usize = 58;

impl ApiServer {
    pub(super) fn create(&mut self, handling: &mut Handling) -> Outcome {
        let object = self.incoming(handling)?;
        self.create_object(handling, object, None)
    }

    /// Creates an object. `written` says who manages what of it, if that is known already.
    pub(super) fn create_object(
        &mut self,
        handling: &mut Handling,
        mut object: Object,
        written: Option<Written>,
    ) -> Outcome {
        let versioned = wipe_system_metadata(&mut object);
        place_in_namespace(&mut object, &handling.request.namespace)?;
        dedup_owner_references(handling, &mut object, "");
        let came = self.for_pod_plugin(handling, &object);
        ApiServer::set_defaults(handling, &mut object);
        handling.stage("defaulting", String::new);
        let written = written.unwrap_or_else(|| self.written_by_create(handling, &mut object));
        self.admit_create(handling, &mut object, came.as_deref())?;
        self.check_escalation(handling, None, &object)?;
        let attempts = if object.name().is_empty() { NAME_ATTEMPTS } else { 1 };
        let mut name = String::new();
        for _ in 0..attempts {
            let mut candidate = self.name_and_validate(handling, object.clone())?;
            if versioned {
                // Only the store looks at it, mirrors `ErrResourceVersionSetOnCreate`: what else is wrong is told first.
                const TEXT: &str = "resourceVersion should not be set on objects to be created";
                return Err(Status::new(Reason::Unknown, TEXT));
            }
            self.siblings.share(&mut candidate);
            candidate.name().clone_into(&mut name);
            if let Ok(stored) = self.put_written(handling, 0, candidate, written.clone()) {
                return Ok((201, Response::Object(stored)));
            }
        }
        Err(self.exists(&object, &name))
    }

    /// The object that came with the request, typed.
    pub(super) fn incoming(&mut self, handling: &mut Handling) -> Result<Object, Status> {
        let request = handling.request;
        match &request.body {
            Body::Object(object) => match &handling.custom {
                Some(version) => Ok(apiextensions::decode::coerced(version, object.clone())),
                None => Ok(object.clone()),
            },
            Body::Json(text) => {
                let (mode, custom) = (request.options.field_validation, handling.custom.as_deref());
                let (object, warnings) = decode::decode(handling.served, custom, text, mode)?;
                handling.warnings.extend(warnings);
                handling.stage("decoding", || format!("{:?} field validation", request.options.field_validation));
                Ok(object)
            }
            _ => Err(Status::bad_request("the request carries no object")),
        }
    }

    fn admit_create(
        &mut self,
        handling: &mut Handling,
        object: &mut Object,
        for_plugin: Option<&Pod>,
    ) -> Result<(), Status> {
        if let Some(version) = &handling.custom {
            // Mirrors `forbidCreateAdmission`.
            const WHY: &str = "create not allowed while custom resource definition is terminating";
            if version.terminating {
                return Err(admission::forbidden(handling.request, Some(object), WHY));
            }
        }
        self.mutate(handling, None, object, for_plugin)?;
        dedup_owner_references(handling, object, AFTER_ADMISSION);
        Ok(())
    }

    /// Fills in what only the server knows, runs the strategy and every check of a new object.
    fn name_and_validate(&mut self, handling: &mut Handling, mut object: Object) -> Result<Object, Status> {
        let meta = object.meta_mut();
        meta.uid = Some(self.random.uid());
        meta.creation_timestamp = Some(handling.now.time());
        if meta.name().is_empty()
            && let Some(base) = meta.generate_name.as_deref().filter(|base| !base.is_empty())
        {
            let base: String = base.chars().take(GENERATED_BASE_MAX).collect();
            meta.name = Some(format!("{base}{}", self.random.suffix()));
        }
        strategy::prepare_for_create(&mut object, handling.custom.as_deref(), handling.now);
        self.addresses.allocate(&mut object, None, &mut self.random)?;
        let causes = validation::validate_create_in(handling.served, &object, handling.custom.as_deref());
        if !causes.is_empty() {
            return Err(Status::invalid(object.kind(), object.name(), causes));
        }
        handling.stage("validation", String::new);
        if is_from_outside(handling) {
            handling.warnings.extend(warnings::on_create(&object));
        }
        self.authorize_creation(handling)?;
        for (_, admit) in admission::VALIDATING {
            let attributes =
                Attributes { request: handling.request, old: None, reader: &self.store, random: &mut self.random };
            admit(&attributes, &object)?;
        }
        self.warn(handling, None, &object);
        self.ask_policies(handling, None, Some(&object))?;
        self.ask_validating(handling, None, Some(&object))?;
        self.charge_quotas(handling, None, &object)?;
        handling.stage("validating admission", || {
            let last = [super::pipeline::policies::VALIDATING, admission::resource_quota::NAME];
            admission::plugin_names(admission::VALIDATING.iter().map(|(name, _)| *name).chain(last))
        });
        Ok(object)
    }

    /// What plugins have to say of an object that they admit.
    pub(super) fn warn(&mut self, handling: &mut Handling, old: Option<&Object>, new: &Object) {
        let attributes = Attributes { request: handling.request, old, reader: &self.store, random: &mut self.random };
        handling.warnings.extend(admission::WARNING.iter().flat_map(|warn| warn(&attributes, new)));
    }

    /// The name is taken. Whoever lets names be made up may ask again, even if this one was said. Mirrors
    /// `CheckGeneratedNameError`.
    fn exists(&self, sent: &Object, name: &str) -> Status {
        let mut status = Status::already_exists(sent.kind(), name);
        if sent.meta().generate_name.as_deref().is_some_and(|base| !base.is_empty()) {
            status.message += ", the server was not able to generate a unique name for the object";
            status.details.get_or_insert_default().retry_after_seconds = 1;
        }
        let there = self.stored(sent.kind(), sent.namespace(), name);
        if there.is_ok_and(|o| o.meta().deletion_timestamp.is_some()) {
            status.message = format!("object is being deleted: {}", status.message);
        }
        status
    }

    /// Who updates or applies what is not there creates it, and must be allowed to. The refusal says no more than what went
    /// wrong in looking. Mirrors `withAuthorization` of `endpoints/handlers/update.go`.
    fn authorize_creation(&self, handling: &Handling) -> Result<(), Status> {
        let request = handling.request;
        if request.verb == Verb::Create {
            return Ok(());
        }
        let create = Request { verb: Verb::Create, ..request.clone() };
        let decision = self.authorizer.decide(&authorization::Attributes::of(&create), Some(&create), &self.store);
        decision.map(drop).map_err(|reasons| Status::forbidden(request.kind, &request.name, &reasons.join("\n")))
    }
}

/// Whether a person or a program of theirs asks. The cluster's own components read no warnings.
pub(super) fn is_from_outside(handling: &Handling) -> bool {
    !matches!(handling.request.body, Body::Object(_))
}

/// What a client may not set itself. Whether it had a version, as no new object has; one that is no number is none.
fn wipe_system_metadata(object: &mut Object) -> bool {
    clear_system_metadata(object);
    if object.meta().resource_version.is_none() {
        return false;
    }
    let version = object.meta_mut().resource_version.take().unwrap_or_default();
    version.parse::<u64>().is_ok_and(|version| version != 0)
}

/// Mirrors `rest.WipeObjectMetaSystemFields`.
pub(super) fn clear_system_metadata(object: &mut Object) {
    let meta = object.meta();
    let clean = meta.uid.is_none()
        && meta.creation_timestamp.is_none()
        && meta.deletion_timestamp.is_none()
        && meta.deletion_grace_period_seconds.is_none()
        && meta.self_link.is_none();
    if !clean {
        let meta = object.meta_mut();
        meta.uid = None;
        meta.creation_timestamp = None;
        meta.deletion_timestamp = None;
        meta.deletion_grace_period_seconds = None;
        meta.self_link = None;
    }
}

/// The URL's namespace wins where the object names none. Mirrors `rest.EnsureObjectNamespaceMatchesRequestNamespace`.
pub(super) fn place_in_namespace(object: &mut Object, namespace: &str) -> Result<(), Status> {
    if !object.kind().info().namespaced {
        if object.meta().namespace.is_some() && !object.kind().is_kept() {
            object.meta_mut().namespace = None;
        }
        return Ok(());
    }
    if object.namespace().is_empty() {
        object.meta_mut().namespace = Some(namespace.to_owned());
    } else if object.namespace() != namespace {
        return Err(Status::bad_request(OTHER_NAMESPACE));
    }
    Ok(())
}

pub(super) const OTHER_NAMESPACE: &str =
    "the namespace of the provided object does not match the namespace sent on the request";

/// When duplicate owners came to be, if the client has not sent them.
pub(super) const AFTER_ADMISSION: &str = " after mutating admission happens";

/// An owner that is named twice in the same words counts once, and the client is told. Mirrors
/// `dedupOwnerReferencesAndAddWarning`; `when` is said of those that admission has brought.
pub(super) fn dedup_owner_references(handling: &mut Handling, object: &mut Object, when: &str) {
    let owners = object.meta().owner_references.as_deref().unwrap_or_default();
    let again = |i: usize| owners[..i].contains(&owners[i]);
    let doubled: Vec<&str> = (0..owners.len()).filter(|i| again(*i)).map(|i| owners[i].uid.as_str()).collect();
    if doubled.is_empty() {
        return;
    }
    handling.warnings.push(format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may \
         reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        doubled.join(", ")
    ));
    let once = (0..owners.len()).filter(|i| !again(*i)).map(|i| owners[i].clone()).collect();
    object.meta_mut().owner_references = Some(once);
}
