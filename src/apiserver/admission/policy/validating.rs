//! ValidatingAdmissionPolicies: rules that requests must keep. Mirrors `pkg/admission/plugin/policy/validating`.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
use serde_json::json;

use crate::apiserver::cel::Value;
use crate::apiserver::cel::eval::{Activation, Budget};
use crate::apiserver::{ApiServer, Handling};
use crate::object::status::{Cause, Reason};
use crate::object::{Object, Status};

use super::super::forbidden;
use super::compiled::{Policy, Validation};
use super::question::Question;
use super::{hold, params, said};

/// The plugin's name.
pub const NAME: &str = "ValidatingAdmissionPolicy";

/// The key of the note on what the action `Audit` is about. There is one of a request, on the first such objection.
const FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";
/// No note is longer, in bytes. Mirrors `maxAuditAnnotationValueLength`.
const NOTE_MAX: usize = 10 * 1024;

/// What a policy has against a request.
struct Objection {
    message: String,
    reason: Reason,
    /// Which of its expressions has.
    expression: usize,
    /// It is not what the policy says of the object: a parameter is missing, or what is to be noted could not be worked out.
    /// That refuses, and whatever else the binding wants is not done.
    of_policy: bool,
}

impl Objection {
    fn new(message: String, expression: usize) -> Objection {
        Objection { message, reason: Reason::Invalid, expression, of_policy: false }
    }
}

/// Notes for the audit log, by key. Of several bindings each value is noted once.
type Notes = BTreeMap<String, Vec<String>>;

impl ApiServer {
    /// Asks the policies about a request that would make `new` of `old`.
    pub(crate) fn ask_policies(
        &mut self,
        handling: &mut Handling,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Result<(), Status> {
        let policies = &self.policies.validating;
        if policies.concern_none(handling.request) {
            return Ok(());
        }
        let question = Question::new(handling.request, old, new, &self.store, &self.definitions);
        let (mut notes, mut consequences) = (Notes::new(), Consequences::default());
        for (name, policy) in &policies.policies {
            if !question.is_of(policy.head.constraints.as_ref()) {
                continue;
            }
            for (bound, binding) in policies.bindings_of(name) {
                if !binding.spec.match_resources.as_ref().is_none_or(|resources| question.matches(resources)) {
                    continue;
                }
                let objections = objections(name, policy, binding, &question, &mut notes);
                let actions = &binding.spec.validation_actions;
                handling.stage(NAME, || {
                    let said: Vec<&str> = objections.iter().map(|objection| objection.message.as_str()).collect();
                    let said = if said.is_empty() { "allowed" } else { &said.join("; ") };
                    format!("{name} with binding {bound} ({}): {said}", actions.join(", "))
                });
                for objection in objections {
                    consequences.follow(handling, (name, bound), actions, objection);
                }
            }
        }
        let notes = notes.into_iter().map(|(key, values)| (key, values.join(", ")));
        let notes = notes.filter(|(_, value)| !value.is_empty());
        for (key, value) in notes.chain(consequences.failure.map(|value| (FAILURE.to_owned(), value))) {
            handling.note_in_audit(key, value);
        }
        match consequences.denied {
            Some((text, objection)) => Err(refusal(handling, new.or(old), &text, objection.reason)),
            None => Ok(()),
        }
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
    /// Whatever the binding's `validationActions` ask for. A policy that is itself at fault denies in any case.
    fn follow(
        &mut self,
        handling: &mut Handling,
        (name, bound): (&str, &str),
        actions: &[String],
        objection: Objection,
    ) {
        let wants = |wanted: &str| !objection.of_policy && actions.iter().any(|action| action == wanted);
        let of = format!("{NAME} '{name}' with binding '{bound}'");
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
fn refusal(handling: &Handling, object: Option<&Object>, text: &str, reason: Reason) -> Status {
    let mut status = forbidden(handling.request, object, text);
    (status.code, status.reason) = (reason.code(), reason);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause { message: text.to_owned(), ..Cause::default() });
    }
    status
}

/// What a policy, bound like this, has against a request. What it has to note goes to the notes.
fn objections(
    name: &str,
    policy: &Policy,
    binding: &ValidatingAdmissionPolicyBinding,
    question: &Question,
    notes: &mut Notes,
) -> Vec<Objection> {
    match params::of(&policy.head, binding.spec.param_ref.as_ref(), question) {
        Ok(params) => {
            let activations = params.iter().map(|params| question.activation(&policy.head, params.as_ref()));
            { activations }.flat_map(|activation| asked(name, policy, &activation, notes)).collect()
        }
        Err(_) if policy.head.ignores_failures => Vec::new(),
        Err(why) => {
            vec![Objection { of_policy: true, ..Objection::new(format!("failed to configure binding: {why}"), 0) }]
        }
    }
}

/// Asks with one set of parameters. Mirrors `validator.Validate`.
fn asked(name: &str, policy: &Policy, activation: &Activation, notes: &mut Notes) -> Vec<Objection> {
    let failed =
        |why: String, at: usize| if policy.head.ignores_failures { Vec::new() } else { vec![Objection::new(why, at)] };
    match hold(&policy.head.conditions, activation) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(why) => return failed(why, 0),
    }
    let mut budget = Budget::new(Budget::ALL);
    let mut found = Vec::new();
    for (at, validation) in policy.validations.iter().enumerate() {
        let fails = |why: String| failed(why, at);
        match validation.is.program.evaluate(activation, &mut budget) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => {
                let made = validation.message.as_ref().and_then(|program| program.message(activation, &mut budget));
                let message = made.unwrap_or_else(|| in_words(validation));
                found.push(Objection { reason: validation.reason, ..Objection::new(message, at) });
            }
            Err(failure) if budget.is_spent() => return fails(said(&validation.is.text, &failure, true)),
            Err(failure) => found.extend(fails(said(&validation.is.text, &failure, false))),
        }
    }
    found.extend(noted(name, policy, activation, &mut budget, notes));
    found
}

/// Works out the notes of a policy. Null is none. Mirrors `auditAnnotationCollector`.
fn noted(
    name: &str,
    policy: &Policy,
    activation: &Activation,
    budget: &mut Budget,
    notes: &mut Notes,
) -> Vec<Objection> {
    let mut found = Vec::new();
    for (key, of) in &policy.annotations {
        let why = match of.program.evaluate(activation, budget) {
            Ok(Value::String(text)) => {
                let values = notes.entry(format!("{name}/{key}")).or_default();
                let value = shortened(text.trim());
                if !value.is_empty() && !values.contains(&value) {
                    values.push(value);
                }
                continue;
            }
            Ok(Value::Null) => continue,
            Ok(other) => format!("valueExpression '{}' resulted in unsupported return type: {other:?}", of.text),
            Err(failure) => format!("valueExpression '{}' resulted in error: {failure}", of.text),
        };
        if !policy.head.ignores_failures {
            found.push(Objection { of_policy: true, ..Objection::new(why, 0) });
        }
    }
    found
}

/// As much of a note as fits.
fn shortened(text: &str) -> String {
    let mut end = text.len().min(NOTE_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// What the sender is told of a validation that does not hold and makes no message of its own: what it says, or itself.
fn in_words(validation: &Validation) -> String {
    match validation.says.trim() {
        "" => format!("failed expression: {}", validation.is.text.trim()),
        says => says.to_owned(),
    }
}
