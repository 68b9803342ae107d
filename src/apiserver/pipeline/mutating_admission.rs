//! Mutating admission: the row of all that may change an object, and its second round.
//!
//! The plugins run first, then the policies, then the webhooks. If a policy or a webhook has changed something, the row is
//! gone through once more: a plugin may have to add to what is new. Of policies and webhooks only those take part then that
//! ask for it (`reinvocationPolicy: IfNeeded`) and after which something has changed.
//!
//! Mirrors `pkg/admission/reinvocation.go` of apiserver, and the `reinvocationcontext.go` of policies and of webhooks.

use crate::admission::{Attributes, DELETING, MUTATING, forbidden, limit_ranger, plugin_names};
use crate::{ApiServer, Handling};
use object::reader::Reader;
use object::{Kind, Object, Pod, Status};

use super::decoding::{AFTER_ADMISSION, dedup_owner_references};
use super::rounds::Rounds;
use super::write::{Create, Delete, Update, Write};

impl ApiServer {
    /// All that may change an object; of one that is to go, all that may refuse that.
    pub(super) fn admit_mutating(&mut self, handling: &mut Handling, write: &mut Write) -> Result<(), Status> {
        let (old, new, came) = match write {
            Write::Create(Create { new, came, .. }) => {
                check_definition(handling, new)?;
                (None, new, came.as_deref())
            }
            Write::Update(Update { old, new, .. }) => (Some(&*old), new, None),
            Write::Delete(Delete { old, .. }) => return self.admit_delete(handling, old),
        };
        self.mutate(handling, old, new, came)?;
        dedup_owner_references(handling, new, AFTER_ADMISSION);
        Ok(())
    }

    fn admit_delete(&mut self, handling: &mut Handling, old: &Object) -> Result<(), Status> {
        let (request, reader, authorizer) = (handling.request, &self.store, &self.authorizer);
        let attributes = Attributes { request, old: Some(old), reader, authorizer, random: &mut self.random };
        for (_, admit) in DELETING {
            admit(&attributes)?;
        }
        self.ask_mutating_of_delete(handling, old)
    }

    /// The row, and its second round. `came`: a new Pod as it came, if a plugin from elsewhere admits it. Mirrors
    /// `reinvoker.Admit`.
    pub(crate) fn mutate(
        &mut self,
        handling: &mut Handling,
        old: Option<&Object>,
        new: &mut Object,
        came: Option<&Pod>,
    ) -> Result<(), Status> {
        let mut rounds = Rounds::default();
        self.run_round(handling, old, new, came, &mut rounds)?;
        if rounds.wanted {
            rounds.again = true;
            self.run_round(handling, old, new, came, &mut rounds)?;
        }
        Ok(())
    }

    fn run_round(
        &mut self,
        handling: &mut Handling,
        old: Option<&Object>,
        new: &mut Object,
        came: Option<&Pod>,
        rounds: &mut Rounds,
    ) -> Result<(), Status> {
        self.look_up_limits(handling, old, new);
        let (request, reader, authorizer) = (handling.request, &self.store, &self.authorizer);
        let mut attributes = Attributes { request, old, reader, authorizer, random: &mut self.random };
        self.plugins.admit(came, &mut attributes, new)?;
        handling.stage("mutating admission", || plugin_names(MUTATING.iter().map(|(name, _)| *name)));
        self.ask_mutating_policies(handling, old, new, rounds)?;
        self.ask_mutating(handling, old, Some(new), rounds)
    }
}

impl ApiServer {
    /// An informer that knows of no LimitRange may be behind: the plugin asks the server itself. Mirrors `GetLimitRanges`.
    fn look_up_limits(&mut self, handling: &mut Handling, old: Option<&Object>, new: &Object) {
        let namespace = new.namespace();
        if limit_ranger::concerns(handling.request, old, new.kind())
            && self.store.list(Kind::LimitRange, namespace).is_empty()
            && self.live_limits.is_due(namespace, handling.now)
        {
            handling.lists.push((Kind::LimitRange, namespace.to_owned()));
        }
    }
}

/// Whether objects of a kind that a user has defined may still be made. Mirrors `forbidCreateAdmission`.
fn check_definition(handling: &Handling, new: &Object) -> Result<(), Status> {
    const WHY: &str = "create not allowed while custom resource definition is terminating";
    match &handling.custom {
        Some(version) if version.terminating => Err(forbidden(handling.request, Some(new), WHY)),
        _ => Ok(()),
    }
}
