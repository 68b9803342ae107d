//! Admission webhooks: programs of the users' own that the API server asks about requests before it carries them out.
//!
//! A configuration says which requests a webhook is about, where it listens, and what follows if it does not answer.
//!
//! - [`hook`]: a configuration, read once when it is stored.
//! - [`call`]: what is asked, where, and how far one gets.
//! - [`response`]: what is answered, and what it means.
//!
//! When they are asked, and how a request waits for them: `apiserver/pipeline/webhooks.rs`.
//!
//! Mirrors `pkg/admission/plugin/webhook/generic` of apiserver.
//!
//! Left out: bindings of Pods, their eviction and commands in them (`CONNECT`), which no webhook sees; `matchPolicy:
//! Equivalent` finds nothing more than `Exact`; managedFields in what is sent; certificates, so that `caBundle` is not looked
//! at; the packets of a call. A real server asks the webhooks that its informers have told it of; here one is asked from the
//! write on that stores it.

use std::collections::BTreeMap;
use std::sync::Arc;

use object::{Kind, Object};
use wire::{Request, Subresource};

pub mod call;
pub mod hook;
pub mod response;

pub use call::Call;
use hook::Hook;
pub use response::AdmissionResponse;

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
    pub fn changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
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
    pub fn may_change_objects(&self) -> bool {
        !self.mutating.is_empty()
    }

    /// Those that may change objects, in their order.
    pub fn mutating(&self) -> impl Iterator<Item = &Hook> {
        self.mutating.values().flat_map(|hooks| hooks.iter())
    }

    /// Those that may only refuse.
    pub fn validating(&self) -> impl Iterator<Item = &Hook> {
        self.validating.values().flat_map(|hooks| hooks.iter())
    }

    /// Whether a request may have to wait for any.
    pub fn concern(&self, request: &Request) -> bool {
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
