//! PATCH with `application/apply-patch+yaml`: server-side apply. Mirrors the `applyPatcher` of `endpoints/handlers/patch.go`.

use serde_json::{Map, Value};

use object::fields::{BuiltIn, Managed, Managers, Operation, Set, Write as FieldWrite, Writer};
use object::{Kind, Object, Status};
use rules::apiextensions::fields::Custom;

use super::managed_fields::apply::Applying;
use super::managed_fields::{self, Written, is_managed, replicas, shapes, writer};
use super::pipeline::decoding::check_name;
use super::pipeline::write::Write;
use super::{ApiServer, Handling};

/// The manager of what was there before anything was applied.
const BEFORE: &str = "before-first-apply";

impl ApiServer {
    /// What `old` becomes when `config` is applied to it, and who manages what then.
    pub(super) fn applied(
        &mut self,
        handling: &mut Handling,
        old: &Object,
        config: &Value,
    ) -> Result<(Object, Written), Status> {
        let live = old.to_json();
        let mut managers = Managers::clone(&self.managers_now(old));
        let by = Writer { manager: BEFORE.into(), ..writer(handling.request, Operation::Update) };
        if by.subresource == "scale" {
            let path = replicas(&self.definitions, old.kind());
            if !is_managed(&managers, &path) {
                let mut fields = Set::default();
                fields.insert(&path);
                managers.0.push(Managed { by, at: None, fields: fields.into() });
            }
        } else if managers.is_empty() {
            let has_status = handling.custom.as_ref().is_none_or(|version| version.has_status);
            let ignored = shapes::reset_fields(old.kind(), &by.subresource, has_status);
            let write = FieldWrite { by: &by, at: shapes::time_of(&by, handling.now), ignored: &ignored };
            let nothing = shapes::whole(old.kind(), None);
            managers = managed_fields::update(&self.definitions, &managers, old.kind(), (&nothing, &live), &write);
        }
        self.apply_to(handling, &managers, live, config)
    }

    /// An object that is not there yet is created by applying it.
    pub(super) fn created_by_apply(&mut self, handling: &mut Handling, config: &Value) -> Result<Write, Status> {
        let nothing = Value::Object(Map::new());
        let (mut object, written) = self.apply_to(handling, &Managers::default(), nothing, config)?;
        // As for a PUT of what is not there, the version from which it was made does not matter.
        object.meta_mut().resource_version = None;
        if let Some(uid) = object.meta().uid.as_deref().filter(|uid| !uid.is_empty()) {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            return Err(Status::conflict(object.kind(), &handling.request.name, &why));
        }
        check_name(&object, &handling.request.name)?;
        Write::create(handling, object, Some(written))
    }

    fn apply_to(
        &mut self,
        handling: &mut Handling,
        managers: &Managers,
        live: Value,
        config: &Value,
    ) -> Result<(Object, Written), Status> {
        handling.stage("patch", || "apply patch".into());
        let version = handling.custom.clone();
        let kind = handling.request.kind;
        match kind {
            Kind::Custom(_) => {
                let schema = Custom::new(kind, version.as_ref().map(|version| &version.schema));
                Applying { handling, schema: &schema, managers, live, config }.run()
            }
            _ => Applying { handling, schema: &BuiltIn::new(kind), managers, live, config }.run(),
        }
    }
}
