//! Validating admission: the plugins that may only refuse, then the policies and webhooks that do, and at last the charge of
//! quotas, which writes. Mirrors `rest.AdmissionToValidateObjectFunc` and its like of `endpoints/handlers`.

use std::sync::Arc;

use crate::admission::{self, Attributes, Plugin, plugin_names, resource_quota};
use crate::managed_fields::Written;
use crate::{ApiServer, Handling, authorization};
use object::reader::Reader;
use object::{Kind, Object, Status};
use wire::{Request, Verb};

use super::write::Write;

impl ApiServer {
    /// The last look at a write.
    pub(super) fn admit_validating(&mut self, handling: &mut Handling, write: &Write) -> Result<(), Status> {
        let (old, new) = write.states();
        if let Write::Create(_) = write {
            self.authorize_creation(handling)?;
        }
        if let Some(new) = new {
            self.ask_plugins(handling, old, new)?;
        }
        self.ask_policies(handling, old, new)?;
        self.ask_validating(handling, old, new)?;
        if let Some(new) = new {
            self.charge_quotas(handling, old, new)?;
        }
        match write {
            Write::Create(_) => handling.stage("validating admission", || {
                let last = [Plugin::ValidatingAdmissionPolicy, Plugin::ResourceQuota];
                plugin_names(admission::VALIDATING.iter().map(|(name, _)| *name).chain(last))
            }),
            Write::Update(_) => {}
            Write::Delete(_) => handling.stage("validating admission", || "delete".into()),
        }
        Ok(())
    }

    /// The row of plugins, and what they have to say of an object that they admit.
    fn ask_plugins(&mut self, handling: &mut Handling, old: Option<&Object>, new: &Object) -> Result<(), Status> {
        let (request, reader, authorizer) = (handling.request, &self.store, &self.authorizer);
        let attributes = Attributes { request, old, reader, authorizer, random: &mut self.random };
        for (_, admit) in admission::VALIDATING {
            admit(&attributes, new)?;
        }
        handling.warnings.extend(admission::WARNING.iter().flat_map(|warn| warn(&attributes, new)));
        Ok(())
    }

    /// An update or apply of an object that is not there creates it, and must be allowed to. The refusal says no more than what
    /// went wrong in looking. Mirrors `withAuthorization` of `endpoints/handlers/update.go`.
    fn authorize_creation(&self, handling: &Handling) -> Result<(), Status> {
        let request = handling.request;
        if request.verb == Verb::Create {
            return Ok(());
        }
        let create = Request { verb: Verb::Create, ..request.clone() };
        let decision = self.authorizer.decide(&authorization::Attributes::of(&create), Some(&create), &self.store);
        decision.map(drop).map_err(|reasons| Status::forbidden(request.kind, &request.name, &reasons.join("\n")))
    }

    /// Charges the quotas of the namespace for what `new` costs more than `old`.
    fn charge_quotas(&mut self, handling: &mut Handling, old: Option<&Object>, new: &Object) -> Result<(), Status> {
        let request = handling.request;
        if !resource_quota::is_charged(request.subresource, old, new) {
            return Ok(());
        }
        let quotas: Vec<_> = Reader::list(&self.store, Kind::ResourceQuota, new.namespace())
            .into_iter()
            .filter_map(|object| if let Object::ResourceQuota(quota) = object { Some(quota) } else { None })
            .collect();
        if quotas.is_empty() {
            return Ok(());
        }
        let charged = resource_quota::charge(&quotas, old, new, handling.now)
            .map_err(|why| admission::forbidden(request, Some(new), &why))?;
        for quota in charged {
            let quota = Object::ResourceQuota(Arc::new(quota));
            handling.stage("quota", || format!("{} charged", quota.name()));
            let written = Written::by_server(Kind::ResourceQuota, "status");
            self.put_written(handling, quota.revision(), quota, written)?;
        }
        Ok(())
    }
}
