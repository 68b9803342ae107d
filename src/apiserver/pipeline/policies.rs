//! Following what admission policies say.
//!
//! - A MutatingAdmissionPolicy stands behind all plugins that change objects, before the webhooks that do, and is asked again
//!   with them ([`super::mutating_admission`]).
//! - A ValidatingAdmissionPolicy stands behind all other plugins that only look, and before the charge of quotas, which writes.
//!
//! What a policy says of a request: [`rules::policy`].
//!
//! Mirrors the dispatchers of `pkg/admission/plugin/policy` of apiserver.

use serde_json::json;

use crate::admission::forbidden;
use crate::{ApiServer, Handling};
use object::status::{Cause, Reason};
use object::{Object, Status};
use rules::policy::mutating::{Failure, Invocation};
use rules::policy::validating::{Bound, Notes, Objection};
use rules::question::Question;

use super::patched_by_policy::{Broken, patched};
use super::rounds::Rounds;

/// The name of the plugin that asks policies which may refuse.
pub const VALIDATING: &str = "ValidatingAdmissionPolicy";
/// The name of the plugin that asks policies which change objects.
const MUTATING: &str = "MutatingAdmissionPolicy";

/// The key of the note on what the action `Audit` is about. There is one of a request, on the first such objection.
const FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";

impl ApiServer {
    /// Asks the policies about a request that would make `new` of `old`.
    pub(crate) fn ask_policies(
        &mut self,
        handling: &mut Handling,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Result<(), Status> {
        if self.policies.concern_none(handling.request) {
            return Ok(());
        }
        let question = Question::new(handling.request, old, new, &self.store, &self.definitions);
        let (mut notes, mut consequences) = (Notes::new(), Consequences::default());
        for bound in self.policies.validating(&question) {
            let objections = bound.objections(&question, &mut notes);
            handling.stage(VALIDATING, || {
                let said: Vec<&str> = objections.iter().map(|objection| objection.message.as_str()).collect();
                let said = if said.is_empty() { "allowed" } else { &said.join("; ") };
                format!("{} with binding {} ({}): {said}", bound.name, bound.bound, bound.actions().join(", "))
            });
            for objection in objections {
                consequences.follow(handling, &bound, objection);
            }
        }
        let notes = notes.into_iter().map(|(key, values)| (key, values.join(", ")));
        let notes = notes.filter(|(_, value)| !value.is_empty());
        for (key, value) in notes.chain(consequences.failure.map(|value| (FAILURE.to_owned(), value))) {
            handling.note_in_audit(key, value);
        }
        match consequences.denied {
            Some((text, objection)) => Err(refused_with(handling, new.or(old), &text, objection.reason)),
            None => Ok(()),
        }
    }

    /// Has the policies change the object. Nothing can be changed of one that is to go: they are not asked about that.
    pub(super) fn ask_mutating_policies(
        &self,
        handling: &mut Handling,
        old: Option<&Object>,
        new: &mut Object,
        rounds: &mut Rounds,
    ) -> Result<(), Status> {
        if self.policies.change_none(handling.request) {
            return Ok(());
        }
        let (invocations, mut failures) = {
            let question = Question::new(handling.request, old, Some(new), &self.store, &self.definitions);
            self.policies.invocations(&question)
        };
        if !invocations.is_empty() {
            rounds.policies.begin(rounds.again, Some(new));
            let mut changed = false;
            for invocation in &invocations {
                changed |= self.invoke(handling, (old, new), invocation, rounds, &mut failures)?;
            }
            // A policy that has made a change counts as having changed something, even if it was so before.
            if changed {
                rounds.wanted = true;
                rounds.policies.changed();
            }
            rounds.policies.end(Some(new));
        }
        if failures.is_empty() { Ok(()) } else { Err(refusal(handling, new, &failures)) }
    }

    /// Makes the changes of one policy. Says whether it has made any. An error is one that no policy can ignore.
    fn invoke(
        &self,
        handling: &mut Handling,
        (old, new): (Option<&Object>, &mut Object),
        invocation: &Invocation,
        rounds: &mut Rounds,
        failures: &mut Vec<Failure>,
    ) -> Result<bool, Status> {
        let question = Question::new(handling.request, old, Some(new), &self.store, &self.definitions);
        match invocation.holds(&question) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => {
                failures.extend(invocation.failed(&why));
                return Ok(false);
            }
        }
        if rounds.again && !rounds.policies.repeats(&invocation.key()) {
            return Ok(false);
        }
        let (before, mut made) = (new.clone(), false);
        for patch in &invocation.policy.patches {
            let question = Question::new(handling.request, old, Some(new), &self.store, &self.definitions);
            let activation = invocation.activation(&question);
            let said = match patched(handling, new, patch, &activation) {
                Ok((after, said)) => {
                    (*new, made) = (after, true);
                    said
                }
                Err(Broken::Policy(why)) => {
                    failures.extend(invocation.failed(&why));
                    why
                }
                Err(Broken::Request(status)) => return Err(status),
            };
            handling.stage(MUTATING, || format!("{} with binding {}: {said}", invocation.name, invocation.bound));
        }
        if *new != before {
            rounds.wanted = true;
            rounds.policies.changed();
        }
        if invocation.policy.reinvoke {
            rounds.policies.asked(invocation.key());
        }
        Ok(made)
    }
}

/// What objections lead to. Of each the first is told.
#[derive(Default)]
struct Consequences {
    /// The request is denied: in which words, and why.
    denied: Option<(String, Objection)>,
    /// What the audit log is to have, as JSON.
    failure: Option<String>,
}

impl Consequences {
    /// Does what the binding's `validationActions` ask for. A policy that is itself at fault denies in any case.
    fn follow(&mut self, handling: &mut Handling, bound: &Bound, objection: Objection) {
        let (name, actions, bound) = (bound.name, bound.actions(), bound.bound);
        let wants = |wanted: &str| !objection.of_policy && actions.iter().any(|action| action == wanted);
        let of = format!("{VALIDATING} '{name}' with binding '{bound}'");
        if wants("Warn") {
            handling.warnings.push(format!("Validation failed for {of}: {}", objection.message));
        }
        if self.failure.is_none() && wants("Audit") {
            self.failure = Some(format!(
                "[{{\"message\":{},\"policy\":{},\"binding\":{},\"expressionIndex\":{},\"validationActions\":{}}}]",
                json!(objection.message),
                json!(name),
                json!(bound),
                objection.expression,
                json!(actions),
            ));
        }
        if self.denied.is_none() && (objection.of_policy || wants("Deny")) {
            self.denied = Some((format!("{of} denied request: {}", objection.message), objection));
        }
    }
}

/// The 403 of a plugin, with the code and reason that the policy asks for.
fn refused_with(handling: &Handling, object: Option<&Object>, text: &str, reason: Reason) -> Status {
    let mut status = forbidden(handling.request, object, text);
    (status.code, status.reason) = (reason.code(), reason);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause { message: text.to_owned(), ..Cause::default() });
    }
    status
}

/// The 403 of the plugin, in the words of the first failure alone, and with its reason.
fn refusal(handling: &Handling, object: &Object, failures: &[Failure]) -> Status {
    let mut status = forbidden(handling.request, Some(object), "");
    if let Some(first) = failures.first() {
        status.message.clone_from(&first.message);
        status.reason = first.reason;
    }
    let causes = failures.iter().map(|failure| Cause { message: failure.message.clone(), ..Cause::default() });
    status.details.get_or_insert_default().causes.extend(causes);
    status
}
