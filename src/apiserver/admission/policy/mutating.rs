//! MutatingAdmissionPolicies: what objects are to become before they are stored.
//!
//! Which policies are asked, with which bindings and parameters, is settled first ([`Invocation`]). Then each changes the
//! object, one change after the other, and sees what those before it have made of it; after each change the object is read
//! and defaulted anew ([`super::patch`]). What goes wrong is kept until all have been asked, and then refuses the request, if
//! its policy does not ignore failures.
//!
//! Mirrors `pkg/admission/plugin/policy/mutating/{plugin,dispatcher}.go` of apiserver and `policy_dispatcher.go` of
//! `policy/generic`.

use crate::apiserver::{ApiServer, Handling};
use crate::object::status::{Cause, Reason};
use crate::object::{Object, Status};

use super::super::forbidden;
use super::super::reinvocation::Rounds;
use super::compiled::MutatingPolicy;
use super::patch::{Broken, patched};
use super::question::Question;
use super::{hold, params};

/// The plugin's name.
pub const NAME: &str = "MutatingAdmissionPolicy";

/// A policy with one binding and one set of parameters.
struct Invocation<'a> {
    name: &'a str,
    bound: &'a str,
    policy: &'a MutatingPolicy,
    params: Option<Object>,
}

impl Invocation<'_> {
    /// By what it is known in the second round.
    fn key(&self) -> String {
        let params = self.params.as_ref().map_or(("", ""), |params| (params.namespace(), params.name()));
        format!("{}/{}/{}/{}", self.name, self.bound, params.0, params.1)
    }

    fn failed(&self, why: &str, reason: Reason) -> Option<Failure> {
        Failure::of((self.name, self.bound, self.policy), why, reason)
    }
}

/// Why a policy does not let a request pass.
struct Failure {
    message: String,
    reason: Reason,
}

impl Failure {
    /// None of a policy that ignores failures. Mirrors `PolicyError`.
    fn of((name, bound, policy): (&str, &str, &MutatingPolicy), why: &str, reason: Reason) -> Option<Failure> {
        let message = format!("policy '{name}' with binding '{bound}' denied request: {why}");
        (!policy.head.ignores_failures).then_some(Failure { message, reason })
    }
}

impl ApiServer {
    /// Has the policies change the object. Nothing can be changed of one that is to go: they are not asked about that.
    pub(in crate::apiserver::admission) fn ask_mutating_policies(
        &self,
        handling: &mut Handling,
        old: Option<&Object>,
        new: &mut Object,
        rounds: &mut Rounds,
    ) -> Result<(), Status> {
        if self.policies.mutating.concern_none(handling.request) {
            return Ok(());
        }
        let (invocations, mut failures) = self.invocations(handling, old, new);
        if !invocations.is_empty() {
            rounds.policies.begin(rounds.again, Some(new));
            let mut changed = false;
            for invocation in &invocations {
                changed |= self.invoke(handling, (old, new), invocation, rounds, &mut failures)?;
            }
            // Whoever has made a change counts as having changed something, even if it was so before.
            if changed {
                rounds.wanted = true;
                rounds.policies.changed();
            }
            rounds.policies.end(Some(new));
        }
        if failures.is_empty() { Ok(()) } else { Err(refusal(handling, new, &failures)) }
    }

    /// Who is asked, and what is wrong with bindings that are about the request.
    fn invocations(
        &self,
        handling: &Handling,
        old: Option<&Object>,
        new: &Object,
    ) -> (Vec<Invocation<'_>>, Vec<Failure>) {
        let policies = &self.policies.mutating;
        let question = Question::new(handling.request, old, Some(new), &self.store, &self.definitions);
        let (mut invocations, mut failures) = (Vec::new(), Vec::new());
        for (name, policy) in &policies.policies {
            if !question.is_of(policy.head.constraints.as_ref()) {
                continue;
            }
            for (bound, binding) in policies.bindings_of(name) {
                let spec = binding.spec.as_ref();
                let resources = spec.and_then(|spec| spec.match_resources.as_ref());
                if !resources.is_none_or(|resources| question.matches(resources)) {
                    continue;
                }
                match params::of(&policy.head, spec.and_then(|spec| spec.param_ref.as_ref()), &question) {
                    Ok(all) => {
                        let one = |params| Invocation { name, bound, policy, params };
                        invocations.extend(all.into_iter().map(one));
                    }
                    Err(why) => {
                        let why = format!("failed to configure binding: {why}");
                        failures.extend(Failure::of((name, bound, policy), &why, Reason::Forbidden));
                    }
                }
            }
        }
        (invocations, failures)
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
        let head = &invocation.policy.head;
        let question = Question::new(handling.request, old, Some(new), &self.store, &self.definitions);
        match hold(&head.conditions, &question.activation(head, invocation.params.as_ref())) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => {
                failures.extend(invocation.failed(&why, Reason::Invalid));
                return Ok(false);
            }
        }
        if rounds.again && !rounds.policies.repeats(&invocation.key()) {
            return Ok(false);
        }
        let (before, mut made) = (new.clone(), false);
        for patch in &invocation.policy.patches {
            let question = Question::new(handling.request, old, Some(new), &self.store, &self.definitions);
            let activation = question.activation(head, invocation.params.as_ref());
            let said = match patched(handling, new, patch, &activation) {
                Ok((after, said)) => {
                    (*new, made) = (after, true);
                    said
                }
                Err(Broken::Policy(why)) => {
                    failures.extend(invocation.failed(&why, Reason::Invalid));
                    why
                }
                Err(Broken::Request(status)) => return Err(status),
            };
            handling.stage(NAME, || format!("{} with binding {}: {said}", invocation.name, invocation.bound));
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
