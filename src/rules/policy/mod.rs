//! Admission policies: rules and changes in CEL, added by users who may write cluster-scoped objects.
//!
//! A policy says which requests it is about; a binding says where it is in force, and with which parameters. The expressions
//! are compiled once, when the policy is stored ([`compiled`]). Which requests a policy sees: [`super::matching`].
//!
//! - [`mutating`]: a MutatingAdmissionPolicy says what an object is to become; [`patch`]: what its expressions make.
//! - [`validating`]: a ValidatingAdmissionPolicy says what must hold.
//! - [`params`]: the objects that a binding gives its policy as parameters.
//!
//! Here a policy is asked; the API server follows what it says (`apiserver/pipeline/policies.rs`).
//!
//! Mirrors `pkg/admission/plugin/policy/generic` of apiserver.
//!
//! In the status of a policy that validates a controller tells of types that do not fit: [`super::type_checking`].
//!
//! Left out: the `authorizer`; whether the writer of a policy may read its parameters; bindings of Pods, their eviction
//! and commands in them, which a policy does not see. A real server asks the policies that its informers have told it of; here
//! one is asked from the write on that stores it.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::admissionregistration::v1::{MutatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBinding};

use object::{Kind, Object};
use wire::Request;

pub mod compiled;
pub mod mutating;
pub mod params;
pub mod patch;
pub mod validating;

use compiled::{MutatingPolicy, Policy};

/// The policies and bindings that are stored.
#[derive(Clone, Default)]
pub struct Policies {
    validating: Stored<Arc<Policy>, Arc<ValidatingAdmissionPolicyBinding>>,
    mutating: Stored<Arc<MutatingPolicy>, Arc<MutatingAdmissionPolicyBinding>>,
}

/// Those of one sort, by name.
#[derive(Clone)]
struct Stored<P, B> {
    policies: BTreeMap<String, P>,
    /// By the name of the policy.
    bindings: BTreeMap<String, BTreeMap<String, B>>,
}

impl<P, B> Default for Stored<P, B> {
    fn default() -> Stored<P, B> {
        Stored { policies: BTreeMap::new(), bindings: BTreeMap::new() }
    }
}

impl<P, B> Stored<P, B> {
    fn unbind(&mut self, policy: &str, name: &str) {
        if let Some(all) = self.bindings.get_mut(policy) {
            all.remove(name);
        }
    }

    fn bind(&mut self, policy: &str, name: &str, binding: B) {
        self.bindings.entry(policy.to_owned()).or_default().insert(name.to_owned(), binding);
    }

    fn bindings_of(&self, policy: &str) -> impl Iterator<Item = (&String, &B)> {
        self.bindings.get(policy).into_iter().flatten()
    }

    /// Whether no policy has a say in a request. About policies none has, so that an administrator who has locked all users out
    /// can undo it; nor about reviews, which `exclusion/resources.go` names.
    fn concern_none(&self, request: &Request) -> bool {
        const EXEMPT: [Kind; 4] = [
            Kind::ValidatingAdmissionPolicy,
            Kind::ValidatingAdmissionPolicyBinding,
            Kind::MutatingAdmissionPolicy,
            Kind::MutatingAdmissionPolicyBinding,
        ];
        self.policies.is_empty() || EXEMPT.contains(&request.kind) || !request.kind.is_kept()
    }
}

impl Policies {
    /// Whether none has a say in a request.
    pub fn concern_none(&self, request: &Request) -> bool {
        self.validating.concern_none(request)
    }

    /// Whether none may change what a request is about.
    pub fn change_none(&self, request: &Request) -> bool {
        self.mutating.concern_none(request)
    }

    /// Whether there are any that change objects.
    pub fn may_change_objects(&self) -> bool {
        !self.mutating.policies.is_empty()
    }

    /// Takes notice of a change.
    pub fn changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let Policies { validating, mutating } = self;
        let name = old.map_or("", Object::name);
        match old {
            Some(Object::ValidatingAdmissionPolicy(_)) => drop(validating.policies.remove(name)),
            Some(Object::MutatingAdmissionPolicy(_)) => drop(mutating.policies.remove(name)),
            Some(Object::ValidatingAdmissionPolicyBinding(old)) => validating.unbind(&old.spec.policy_name, name),
            Some(Object::MutatingAdmissionPolicyBinding(old)) => mutating.unbind(policy_of(old), name),
            _ => {}
        }
        let name = new.map_or("", Object::name);
        match new {
            Some(Object::ValidatingAdmissionPolicy(new)) => {
                validating.policies.insert(name.to_owned(), Arc::new(Policy::of(new)));
            }
            Some(Object::MutatingAdmissionPolicy(new)) => {
                mutating.policies.insert(name.to_owned(), Arc::new(MutatingPolicy::of(new)));
            }
            Some(Object::ValidatingAdmissionPolicyBinding(new)) => {
                validating.bind(&new.spec.policy_name, name, new.clone());
            }
            Some(Object::MutatingAdmissionPolicyBinding(new)) => mutating.bind(policy_of(new), name, new.clone()),
            _ => {}
        }
    }
}

fn policy_of(binding: &MutatingAdmissionPolicyBinding) -> &str {
    binding.spec.as_ref().and_then(|spec| spec.policy_name.as_deref()).unwrap_or_default()
}
