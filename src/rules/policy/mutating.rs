//! MutatingAdmissionPolicies: changes that requests are given. Mirrors `pkg/admission/plugin/policy/mutating` of apiserver.

use std::sync::Arc;

use crate::cel::eval::Activation;
use crate::expression::hold;
use crate::question::Question;
use object::Object;
use object::status::Reason;

use super::compiled::MutatingPolicy;
use super::{Policies, params};

/// A policy with one binding and one set of parameters.
pub struct Invocation<'a> {
    /// The policy's name.
    pub name: &'a str,
    /// The binding's name.
    pub bound: &'a str,
    /// The policy.
    pub policy: &'a MutatingPolicy,
    params: Option<Object>,
}

/// Why a policy does not let a request pass.
pub struct Failure {
    /// What the sender is told.
    pub message: String,
    /// The reason of the refusal.
    pub reason: Reason,
}

impl Policies {
    /// Which policies are asked about a request, and what is wrong with bindings that are about it.
    pub fn invocations(&self, question: &Question) -> (Vec<Invocation<'_>>, Vec<Failure>) {
        let (mut invocations, mut failures) = (Vec::new(), Vec::new());
        for (name, policy) in &self.mutating.policies {
            if !question.is_of(policy.head.constraints.as_ref()) {
                continue;
            }
            for (bound, binding) in self.mutating.bindings_of(name) {
                let spec = binding.spec.as_ref();
                let resources = spec.and_then(|spec| spec.match_resources.as_ref());
                if !resources.is_none_or(|resources| question.matches(resources)) {
                    continue;
                }
                match params::of(&policy.head, spec.and_then(|spec| spec.param_ref.as_ref()), question) {
                    Ok(all) => {
                        let one = |params| Invocation { name, bound, policy: Arc::as_ref(policy), params };
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
}

impl Invocation<'_> {
    /// By what it is known in the second round.
    pub fn key(&self) -> String {
        let params = self.params.as_ref().map_or(("", ""), |params| (params.namespace(), params.name()));
        format!("{}/{}/{}/{}", self.name, self.bound, params.0, params.1)
    }

    /// What the policy's expressions can use about a request.
    pub fn activation(&self, question: &Question) -> Activation<'_> {
        self.policy.head.activation(question, self.params.as_ref())
    }

    /// Whether the policy's conditions hold, or why that cannot be said.
    pub fn holds(&self, question: &Question) -> Result<bool, String> {
        hold(&self.policy.head.conditions, &self.activation(question))
    }

    /// What follows when it fails: nothing for a policy that ignores failures.
    pub fn failed(&self, why: &str) -> Option<Failure> {
        Failure::of((self.name, self.bound, self.policy), why, Reason::Invalid)
    }
}

impl Failure {
    /// Mirrors `PolicyError`.
    fn of((name, bound, policy): (&str, &str, &MutatingPolicy), why: &str, reason: Reason) -> Option<Failure> {
        let message = format!("policy '{name}' with binding '{bound}' denied request: {why}");
        (!policy.head.ignores_failures).then_some(Failure { message, reason })
    }
}
