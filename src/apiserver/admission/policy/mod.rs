//! ValidatingAdmissionPolicy: rules in CEL about requests, which anybody may add who may write cluster-wide objects.
//!
//! A policy says which requests it is about and what must hold of them; a binding says where, with which parameters, and
//! what is done about a request of which it does not hold: it is refused (`Deny`), or its sender is told (`Warn`). The
//! expressions are compiled once, when the policy is stored ([`compiled`]). Which requests a policy sees: [`matching`].
//!
//! Policies stand behind all other plugins that only look, and before [`super::resource_quota`], which writes.
//!
//! Mirrors `pkg/admission/plugin/policy/{generic,validating}` of apiserver.
//!
//! Left out: `auditAnnotations` and the action `Audit`, which add to the audit log; the `authorizer`;
//! `status`, in which a controller tells of types that do not fit; bindings of Pods, their eviction and commands in them,
//! which a policy does not see. A real server asks the policies that its informers have told it of; here one is asked
//! from the write on that stores it.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;

use crate::apiserver::cel::eval::{Activation, Budget};
use crate::apiserver::cel::{Failure, Value};
use crate::apiserver::{ApiServer, Handling};
use crate::object::status::{Cause, Reason};
use crate::object::{Kind, Object, Status};

use super::forbidden;

pub mod compiled;
mod matching;
mod params;
pub(super) mod question;

use compiled::{Expression, Policy, Validation};
use question::Question;

/// The plugin's name.
pub const NAME: &str = "ValidatingAdmissionPolicy";

/// The policies and bindings that are stored, by name.
#[derive(Clone, Default)]
pub struct Policies {
    policies: BTreeMap<String, Arc<Policy>>,
    /// By the name of the policy.
    bindings: BTreeMap<String, BTreeMap<String, Arc<ValidatingAdmissionPolicyBinding>>>,
}

impl Policies {
    /// Takes notice of a change.
    pub(crate) fn changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        match old {
            Some(Object::ValidatingAdmissionPolicy(_)) => {
                self.policies.remove(old.map_or("", Object::name));
            }
            Some(Object::ValidatingAdmissionPolicyBinding(binding)) => {
                if let Some(all) = self.bindings.get_mut(&binding.spec.policy_name) {
                    all.remove(old.map_or("", Object::name));
                }
            }
            _ => {}
        }
        match new {
            Some(Object::ValidatingAdmissionPolicy(policy)) => {
                self.policies.insert(new.map_or("", Object::name).to_owned(), Arc::new(Policy::of(policy)));
            }
            Some(Object::ValidatingAdmissionPolicyBinding(binding)) => {
                let all = self.bindings.entry(binding.spec.policy_name.clone()).or_default();
                all.insert(new.map_or("", Object::name).to_owned(), binding.clone());
            }
            _ => {}
        }
    }
}

/// What a policy has against a request.
struct Objection {
    message: String,
    reason: Reason,
}

impl Objection {
    fn new(message: String) -> Objection {
        Objection { message, reason: Reason::Invalid }
    }
}

impl ApiServer {
    /// Asks the policies about a request that would make `new` of `old`.
    pub(crate) fn ask_policies(
        &mut self,
        handling: &mut Handling,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Result<(), Status> {
        const EXEMPT: [Kind; 2] = [Kind::ValidatingAdmissionPolicy, Kind::ValidatingAdmissionPolicyBinding];
        if self.policies.policies.is_empty() || EXEMPT.contains(&handling.request.kind) {
            return Ok(());
        }
        let question = Question::new(handling.request, old, new, &self.store, &self.definitions);
        let mut denied: Option<(String, Objection)> = None;
        for (name, policy) in &self.policies.policies {
            let Some(constraints) = &policy.constraints else { continue };
            if !question.matches(constraints) {
                continue;
            }
            for (bound, binding) in self.policies.bindings.get(name).into_iter().flatten() {
                if !binding.spec.match_resources.as_ref().is_none_or(|resources| question.matches(resources)) {
                    continue;
                }
                let objections = objections(policy, binding, &question);
                let actions = &binding.spec.validation_actions;
                handling.stage(NAME, || {
                    let said: Vec<&str> = objections.iter().map(|objection| objection.message.as_str()).collect();
                    let said = if said.is_empty() { "allowed" } else { &said.join("; ") };
                    format!("{name} with binding {bound} ({}): {said}", actions.join(", "))
                });
                for objection in objections {
                    if actions.iter().any(|action| action == "Warn") {
                        handling.warnings.push(format!(
                            "Validation failed for {NAME} '{name}' with binding '{bound}': {}",
                            objection.message
                        ));
                    }
                    if denied.is_none() && actions.iter().any(|action| action == "Deny") {
                        let text =
                            format!("{NAME} '{name}' with binding '{bound}' denied request: {}", objection.message);
                        denied = Some((text, objection));
                    }
                }
            }
        }
        match denied {
            Some((text, objection)) => Err(refusal(handling, new.or(old), &text, objection.reason)),
            None => Ok(()),
        }
    }
}

/// The 403 of a plugin, with the code and reason that the policy asks for.
fn refusal(handling: &Handling, object: Option<&Object>, text: &str, reason: Reason) -> Status {
    let mut status = forbidden(handling.request, object, text);
    (status.code, status.reason) = (reason.code(), reason);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause { message: text.to_owned(), ..Cause::default() });
    }
    status
}

/// What a policy, bound like this, has against a request.
fn objections(policy: &Policy, binding: &ValidatingAdmissionPolicyBinding, question: &Question) -> Vec<Objection> {
    match params::of(policy, binding, question) {
        Ok(params) => params.into_iter().flat_map(|params| asked(policy, question, params)).collect(),
        Err(_) if policy.ignores_failures => Vec::new(),
        Err(why) => vec![Objection::new(format!("failed to configure binding: {why}"))],
    }
}

/// Asks with one set of parameters. Mirrors `validator.Validate`.
fn asked(policy: &Policy, question: &Question, params: Value) -> Vec<Objection> {
    let activation = question.activation(policy, params);
    let fails = |why: String| if policy.ignores_failures { Vec::new() } else { vec![Objection::new(why)] };
    match hold(&policy.conditions, &activation) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(why) => return fails(why),
    }
    let mut budget = Budget::new(Budget::ALL);
    let mut found = Vec::new();
    for validation in &policy.validations {
        match validation.is.program.evaluate(&activation, &mut budget) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => {
                let made = validation.message.as_ref().and_then(|program| program.message(&activation, &mut budget));
                let message = made.unwrap_or_else(|| in_words(validation));
                found.push(Objection { message, reason: validation.reason });
            }
            Err(failure) if budget.is_spent() => return fails(said(&validation.is.text, &failure, true)),
            Err(failure) => found.extend(fails(said(&validation.is.text, &failure, false))),
        }
    }
    found
}

/// Whether all conditions hold, of a policy or a webhook. One that does not decides, whatever became of those before it.
/// Mirrors `matchconditions.matcher.Match`.
pub(super) fn hold(conditions: &[Expression], activation: &Activation) -> Result<bool, String> {
    let mut budget = Budget::new(Budget::CONDITIONS);
    let mut errors = Vec::new();
    for condition in conditions {
        match condition.program.evaluate(activation, &mut budget) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => return Ok(false),
            Err(failure) if budget.is_spent() => return Err(said(&condition.text, &failure, true)),
            Err(failure) => errors.push(said(&condition.text, &failure, false)),
        }
    }
    match errors.len() {
        0 => Ok(true),
        1 => Err(errors.remove(0)),
        _ => Err(format!("[{}]", errors.join(", "))),
    }
}

/// Why an expression came to nothing.
fn said(text: &str, failure: &Failure, spent: bool) -> String {
    if spent {
        return "validation failed due to running out of cost budget, no further validation rules will be run"
            .to_owned();
    }
    format!("expression '{text}' resulted in error: {failure}")
}

/// What the sender is told of a validation that does not hold and makes no message of its own: what it says, or itself.
fn in_words(validation: &Validation) -> String {
    match validation.says.trim() {
        "" => format!("failed expression: {}", validation.is.text.trim()),
        says => says.to_owned(),
    }
}

#[cfg(test)]
mod tests;
