//! ValidatingAdmissionPolicies: rules that requests must keep. Mirrors `pkg/admission/plugin/policy/validating` of apiserver.
//!
//! A binding says what is done about a request that breaks its policy: it is refused (`Deny`), its sender is warned
//! (`Warn`), or a note is made in the audit log (`Audit`). A policy may also write there about every request that it sees:
//! `auditAnnotations`.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;

use crate::cel::Value;
use crate::cel::eval::Activation;
use crate::cel::failure::Budget;
use crate::expression::{hold, said};
use crate::question::Question;
use object::status::Reason;

use super::compiled::{Policy, Validation};
use super::{Policies, params};

/// No note is longer, in bytes. Mirrors `maxAuditAnnotationValueLength`.
const NOTE_MAX: usize = 10 * 1024;

/// A policy in force, with one of its bindings.
pub struct Bound<'a> {
    /// The policy's name.
    pub name: &'a str,
    /// The binding's name.
    pub bound: &'a str,
    policy: &'a Policy,
    binding: &'a ValidatingAdmissionPolicyBinding,
}

/// What a policy has against a request.
pub struct Objection {
    /// In the policy's words.
    pub message: String,
    /// Reason and code of a refusal.
    pub reason: Reason,
    /// Which of its expressions has.
    pub expression: usize,
    /// It is not what the policy says of the object: a parameter is missing, or what is to be noted could not be worked out.
    /// That refuses, and nothing else that the binding wants is done.
    pub of_policy: bool,
}

impl Objection {
    fn new(message: String, expression: usize) -> Objection {
        Objection { message, reason: Reason::Invalid, expression, of_policy: false }
    }
}

/// Notes for the audit log, by key. Of several bindings each value is noted once.
pub type Notes = BTreeMap<String, Vec<String>>;

impl Policies {
    /// The policies that a request is put to, once for each of their bindings.
    pub fn validating<'a>(&'a self, question: &'a Question) -> impl Iterator<Item = Bound<'a>> {
        let policies = &self.validating;
        let about = policies.policies.iter().filter(|(_, policy)| question.is_of(policy.head.constraints.as_ref()));
        let bound = about.flat_map(|(name, policy)| {
            policies.bindings_of(name).map(move |(bound, binding)| Bound { name, bound, policy, binding })
        });
        bound.filter(|bound| {
            bound.binding.spec.match_resources.as_ref().is_none_or(|resources| question.matches(resources))
        })
    }
}

impl Bound<'_> {
    /// What is to be done about objections: `Deny`, `Warn`, `Audit`.
    pub fn actions(&self) -> &[String] {
        &self.binding.spec.validation_actions
    }

    /// What the policy, bound like this, has against the request. What it has to note goes to the notes.
    pub fn objections(&self, question: &Question, notes: &mut Notes) -> Vec<Objection> {
        let (name, policy) = (self.name, self.policy);
        match params::of(&policy.head, self.binding.spec.param_ref.as_ref(), question) {
            Ok(params) => {
                let activations = params.iter().map(|params| policy.head.activation(question, params.as_ref()));
                { activations }.flat_map(|activation| asked(name, policy, &activation, notes)).collect()
            }
            Err(_) if policy.head.ignores_failures => Vec::new(),
            Err(why) => {
                vec![Objection { of_policy: true, ..Objection::new(format!("failed to configure binding: {why}"), 0) }]
            }
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
