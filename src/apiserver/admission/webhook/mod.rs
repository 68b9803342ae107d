//! Admission webhooks: programs of the users' own that the API server asks about requests before it carries them out.
//!
//! A configuration says which requests a webhook is about, where it listens, and what follows if it does not answer. The
//! mutating ones are asked one after the other, behind all plugins that change objects, and each sees what those before it
//! have made: they answer with a JSON patch. If one changes something, the plugins run once more, and so do those webhooks
//! before it that ask for it ([`super::reinvocation`]). The validating ones are asked all at once, behind the policies,
//! about the object as it would be stored.
//!
//! A call takes time, and nothing here waits. So a request that needs an answer which is not there yet is given up before it
//! has changed anything, and says what it would ask ([`Waits`]); whoever carries messages (the engine) asks, and has it gone
//! through again from the start with what was heard ([`Reviews`]). An answer counts for exactly what was asked: if something
//! else has changed the object meanwhile, the webhook is asked again, as a real server does when it tries a patch again. Uids
//! and names that such a request draws come from a generator of its own, and are the same each time.
//!
//! - [`hook`]: a configuration, read once when it is stored.
//! - [`call`]: what is asked, of whom, and how far one gets.
//! - [`response`]: what is answered, and what it means.
//!
//! Must hold:
//! - A request that waits has changed nothing. Kept by
//!   `an_object_that_has_changed_meanwhile_is_put_to_the_webhook_again` and
//!   `all_that_is_to_go_is_asked_about_before_the_first_goes`.
//! - Configurations are never themselves put to webhooks, so that a user who has locked everybody out can undo it.
//!   Kept by `whoever_has_locked_everybody_out_can_undo_it`.
//! - A webhook is asked no more often than a real server would. Kept by
//!   `what_is_asked_again_when_others_have_changed_something`.
//!
//! Mirrors `pkg/admission/plugin/webhook/{generic,mutating,validating}` of apiserver.
//!
//! Left out: bindings of Pods, their eviction and commands in them (`CONNECT`), which no webhook sees; `matchPolicy:
//! Equivalent` finds nothing more than `Exact`; managedFields in what is sent; certificates, so that `caBundle` is not looked
//! at; the packets of a call. A real server asks the webhooks that its informers have told it of; here one is asked from the
//! write on that stores it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::apiserver::decode::{Patched, decode_patched};
use crate::apiserver::{ApiServer, Handling, scale};
use crate::object::random::Random;
use crate::object::status::Reason;
use crate::object::time::Instant;
use crate::object::{Kind, Object, Status};
use crate::wire::{FieldValidation, Request, Subresource};

use super::json_patch;
use super::policy::question::Question;
use super::reinvocation::Rounds;

pub mod call;
pub mod hook;
pub mod response;

pub use call::Call;
use hook::Hook;
pub use response::AdmissionResponse;

/// What came of a call: an answer, or what a client says that has got none.
pub type Said = Result<AdmissionResponse, String>;

/// Kinds about which no webhook is asked. Mirrors `IsExemptAdmissionConfigurationResource`.
const EXEMPT: [Kind; 6] = [
    Kind::MutatingWebhookConfiguration,
    Kind::ValidatingWebhookConfiguration,
    Kind::ValidatingAdmissionPolicy,
    Kind::ValidatingAdmissionPolicyBinding,
    Kind::MutatingAdmissionPolicy,
    Kind::MutatingAdmissionPolicyBinding,
];

/// The webhooks of all configurations that are stored, by the configuration's name.
#[derive(Clone, Default)]
pub struct Webhooks {
    mutating: BTreeMap<String, Arc<[Hook]>>,
    validating: BTreeMap<String, Arc<[Hook]>>,
}

impl Webhooks {
    /// Takes notice of a change.
    pub(crate) fn changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        match new.or(old) {
            Some(Object::MutatingWebhookConfiguration(of)) => {
                let hooks = new.map(|_| hook::mutating(of));
                replace(&mut self.mutating, of.metadata.name.as_deref(), hooks);
            }
            Some(Object::ValidatingWebhookConfiguration(of)) => {
                let hooks = new.map(|_| hook::validating(of));
                replace(&mut self.validating, of.metadata.name.as_deref(), hooks);
            }
            _ => {}
        }
    }

    /// Whether there are any that change objects.
    pub(crate) fn may_change_objects(&self) -> bool {
        !self.mutating.is_empty()
    }

    /// Whether a request may have to wait for any.
    pub(crate) fn concern(&self, request: &Request) -> bool {
        let scale_or_finalize = |part| matches!(part, Subresource::Scale | Subresource::Finalize);
        let part = request.subresource.is_none_or(|part| part.is_of_object() || scale_or_finalize(part));
        let none = self.mutating.is_empty() && self.validating.is_empty();
        !none && part && request.verb.writes() && !EXEMPT.contains(&request.kind)
    }
}

fn replace(all: &mut BTreeMap<String, Arc<[Hook]>>, name: Option<&str>, hooks: Option<Vec<Hook>>) {
    let name = name.unwrap_or_default();
    match hooks {
        Some(hooks) => all.insert(name.to_owned(), hooks.into()),
        None => all.remove(name),
    };
}

/// What webhooks have said about one request so far.
#[derive(Clone, Debug)]
pub struct Reviews {
    /// What the request draws uids and names from.
    pub(crate) random: Random,
    /// When it arrived, or the last webhook that may change it has answered: objects get this time.
    pub(crate) now: Instant,
    /// What was asked, and what was said, in the order of hearing.
    heard: Vec<(Call, Said)>,
}

impl Reviews {
    pub(crate) fn new(random: Random, now: Instant) -> Reviews {
        Reviews { random, now, heard: Vec::new() }
    }

    /// A webhook has said something, or is known not to.
    pub fn hear(&mut self, call: &Call, said: Said, now: Instant) {
        if call.mutating {
            self.now = now;
        }
        self.heard.push((call.clone(), said));
    }
}

/// A request that was given up until these have answered.
#[derive(Debug)]
pub struct Waits {
    /// Whom to ask what.
    pub calls: Vec<Call>,
    /// What is known so far.
    pub reviews: Reviews,
}

/// What whoever cannot wait is told.
pub(crate) fn waiting() -> Status {
    Status::new(Reason::ServiceUnavailable, "the request waits for admission webhooks")
}

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
        for hook in self.webhooks.mutating.values().flat_map(|hooks| hooks.iter()) {
            let question = Question::new(handling.request, old, new.as_deref(), &self.store, &self.definitions);
            if !hook.is_about(&question)? || again && !rounds.webhooks.repeats(&hook.id) {
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
        for hook in self.webhooks.validating.values().flat_map(|hooks| hooks.iter()) {
            if hook.is_about(&question)? {
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
        scale::with(object, custom, &patched, mode)
    } else {
        decode_patched(object.kind(), custom, &patched, Patched::Otherwise, (mode, &[])).map(|(after, _)| after)
    };
    let mut after = decoded.map_err(|status| broken(&status.message))?;
    ApiServer::set_defaults(handling, &mut after);
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

#[cfg(test)]
mod tests;
