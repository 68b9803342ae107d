//! Asking admission webhooks.
//!
//! The mutating ones are asked one after the other, behind all plugins and policies that change objects, and each sees what
//! those before it have made: they answer with a JSON patch. If one changes something, the plugins run once more, and so do
//! those webhooks before it that ask for it ([`super::mutating_admission`]). The validating ones are asked all at once, behind
//! the policies, about the object as it would be stored.
//!
//! An answer counts for exactly what was asked: if something else has changed the object meanwhile, the webhook is asked
//! again, as a real server does when it tries a patch again. Uids and names that a request draws while it waits come from a
//! generator of its own, and are the same each time. How it waits: [`crate::waiting`].
//!
//! Must hold:
//! - A request that waits has changed nothing, but for objects of a collection that have had their turn. Kept by
//!   `an_object_that_has_changed_meanwhile_is_put_to_the_webhook_again` and
//!   `of_many_each_is_asked_about_in_its_turn_and_then_goes`.
//! - Configurations are never themselves put to webhooks, so that a user who has locked all users out can undo it.
//!   Kept by `whoever_has_locked_everybody_out_can_undo_it`.
//! - A webhook is asked no more often than a real server would. Kept by
//!   `what_is_asked_again_when_others_have_changed_something`.
//!
//! Mirrors `pkg/admission/plugin/webhook/{mutating,validating}` of apiserver.

use crate::admission::forbidden;
use crate::waiting::waiting;
use crate::{ApiServer, Handling};
use object::{Object, Status};
use rest::decode::{Patched, decode_patched};
use rules::question::Question;
use rules::webhook::hook::Hook;
use rules::webhook::{AdmissionResponse, Call};
use rules::{json_patch, scale};

use super::decoding::scaled;
use wire::FieldValidation;

use super::rounds::Rounds;

/// Why a webhook's word does not let a request pass.
enum Stopped {
    /// It has not spoken yet.
    Waits,
    /// It could not be asked, or gave no answer: why.
    Failed(String),
    /// It refuses.
    Denied(Status),
}

impl ApiServer {
    /// Asks the webhooks that may change objects about a delete, which none of them can change.
    pub(crate) fn ask_mutating_of_delete(&self, handling: &mut Handling, old: &Object) -> Result<(), Status> {
        self.ask_mutating(handling, Some(old), None, &mut Rounds::default())
    }

    /// Asks the webhooks that may change the object, one by one. Mirrors `mutatingDispatcher`.
    pub(super) fn ask_mutating(
        &self,
        handling: &mut Handling,
        old: Option<&Object>,
        mut new: Option<&mut Object>,
        rounds: &mut Rounds,
    ) -> Result<(), Status> {
        if handling.reviews.is_none() {
            return Ok(());
        }
        let again = rounds.again;
        rounds.webhooks.begin(again, new.as_deref());
        for hook in self.webhooks.mutating() {
            let question = Question::new(handling.request, old, new.as_deref(), &self.store, &self.definitions);
            if !is_put_to(hook, &question)? || again && !rounds.webhooks.repeats(&hook.id) {
                continue;
            }
            let (_, said) = self.hear(handling, hook, &question);
            match said.and_then(|response| applied(handling, hook, &response, new.as_deref_mut())) {
                Ok(true) => {
                    rounds.wanted = true;
                    rounds.webhooks.changed();
                }
                Ok(false) => {}
                Err(stopped) => stop(handling, hook, stopped)?,
            }
            if hook.reinvoke {
                rounds.webhooks.asked(hook.id.clone());
            }
        }
        rounds.webhooks.end(new.as_deref());
        Ok(())
    }

    /// Asks the webhooks that may only refuse, all at once. The first that refuses is quoted. Mirrors `validatingDispatcher`.
    pub(crate) fn ask_validating(
        &self,
        handling: &mut Handling,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Result<(), Status> {
        if handling.reviews.is_none() {
            return Ok(());
        }
        let question = Question::new(handling.request, old, new, &self.store, &self.definitions);
        let mut asked = Vec::new();
        for hook in self.webhooks.validating() {
            if is_put_to(hook, &question)? {
                let (place, said) = self.hear(handling, hook, &question);
                asked.push((place, hook, said));
            }
        }
        asked.sort_by_key(|(place, ..)| *place);
        let mut passed = Ok(());
        for (_, hook, said) in asked {
            let this = said.and_then(|response| applied(handling, hook, &response, None).map(drop));
            passed = passed.and(this.or_else(|stopped| stop(handling, hook, stopped)));
        }
        // Nothing is decided before all have spoken.
        if handling.calls.is_empty() { passed } else { Err(waiting()) }
    }

    /// What a webhook has said, and as the how manieth; 0 if it never could. If it has not spoken yet, it is to be asked.
    fn hear(
        &self,
        handling: &mut Handling,
        hook: &Hook,
        question: &Question,
    ) -> (usize, Result<AdmissionResponse, Stopped>) {
        let request = question.review();
        let heard = handling.reviews.iter().flat_map(|reviews| &reviews.heard).zip(1..);
        if let Some(((_, said), place)) = { heard }.find(|((there, _), _)| there.is(hook, &request)) {
            return (place, said.clone().map_err(|why| Stopped::Failed(hook.failure(&why))));
        }
        match Call::new(hook, request, &self.store) {
            Ok(call) => {
                handling.calls.push(call);
                (0, Err(Stopped::Waits))
            }
            Err(why) => (0, Err(Stopped::Failed(hook.failure(&why)))),
        }
    }
}

/// Whether a request is put to a webhook, or the 403 of a condition that cannot be worked out.
fn is_put_to(hook: &Hook, question: &Question) -> Result<bool, Status> {
    hook.is_about(question).map_err(|why| forbidden(question.request, question.new.or(question.old), &why))
}

/// Does what a webhook has answered: warns, refuses, or changes the object. Says whether it has changed it.
fn applied(
    handling: &mut Handling,
    hook: &Hook,
    response: &AdmissionResponse,
    new: Option<&mut Object>,
) -> Result<bool, Stopped> {
    handling.warnings.extend(response.warnings.iter().cloned());
    if !response.allowed {
        return Err(Stopped::Denied(response.refusal(&hook.name)));
    }
    handling.stage(hook.plugin(), || format!("{}: {response}", hook.name));
    if response.patch.is_empty() || !hook.mutating {
        return Ok(false);
    }
    let broken = |why: &str| Stopped::Denied(Status::internal(why));
    let Some(object) = new else {
        const WHY: &str = "attempted to modify the object, which is not supported for this operation";
        return Err(broken(&format!("admission webhook {:?} {WHY}", hook.name)));
    };
    let custom = handling.custom.as_deref();
    let seen = scale::seen(handling.request, custom, object);
    let patched = json_patch::patched(seen, &response.patch).map_err(|why| broken(&why.to_string()))?;
    let mode = FieldValidation::Ignore;
    let decoded = if scale::is_asked(handling.request) {
        scaled(object, custom, &patched, mode)
    } else {
        decode_patched(object.kind(), custom, &patched, Patched::Otherwise, (mode, &[])).map(|(after, _)| after)
    };
    let mut after = decoded.map_err(|status| broken(&status.message))?;
    handling.set_defaults(&mut after);
    let changed = after != *object;
    *object = after;
    Ok(changed)
}

/// What follows of a webhook that has not let the request pass: an error ends it.
fn stop(handling: &mut Handling, hook: &Hook, stopped: Stopped) -> Result<(), Status> {
    let (said, result) = match stopped {
        Stopped::Waits => ("is asked".to_owned(), Err(waiting())),
        Stopped::Failed(why) if hook.ignores_failures => (format!("{why}; it is let pass"), Ok(())),
        Stopped::Failed(why) => (why.clone(), Err(Status::internal(&why))),
        Stopped::Denied(status) => (status.message.clone(), Err(status)),
    };
    handling.stage(hook.plugin(), || format!("{}: {said}", hook.name));
    result
}
