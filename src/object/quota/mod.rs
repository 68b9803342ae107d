//! What an object costs a ResourceQuota, and which quotas it counts for.
//!
//! The API server charges a quota before it stores an object, and the quota's controller counts again what is there.
//! Both must come to the same sum, so the arithmetic is here. Mirrors `pkg/quota/v1/evaluator/core` and
//! `k8s.io/apiserver/pkg/quota/v1/generic`.
//!
//! - [`usage`]: what one object costs. [`pod`], [`service`], [`claim`]: the kinds that cost more than their number.
//! - [`matching`]: which of a quota's resources objects of a kind use at all.
//! - [`scope`]: whether a quota is about this object.
//!
//! Left out: resource claims.

use k8s_openapi::api::core::v1::ResourceQuota;

use super::quantity::Amount;
use super::resources::{ResourceList, amounts};
use super::time::Instant;
use super::{Kind, Object};

pub mod claim;
pub mod pod;
pub mod scope;
pub mod service;

pub use scope::is_about;

/// Kinds that the first quotas could count by a name of their own, before there was `count/`.
const NAMED: [Kind; 4] = [Kind::ConfigMap, Kind::ReplicationController, Kind::ResourceQuota, Kind::Secret];

/// Whether any quota counts objects of this kind: all that live in namespaces, but for Events.
pub const fn is_counted(kind: Kind) -> bool {
    kind.info().namespaced && !matches!(kind, Kind::Event)
}

/// `count/deployments.apps`: the number of objects of a kind.
pub fn count_name(kind: Kind) -> String {
    format!("count/{}", kind.info().qualified_plural())
}

/// What `object` costs at `now`. Mirrors `Evaluator.Usage`.
pub fn usage(object: &Object, now: Instant) -> ResourceList {
    let kind = object.kind();
    let mut usage = match object {
        Object::Pod(pod) => pod::usage(pod, now),
        Object::Service(service) => service::usage(service),
        Object::PersistentVolumeClaim(claim) => claim::usage(claim),
        _ if NAMED.contains(&kind) => ResourceList::from([(kind.info().plural.to_owned(), Amount::units(1))]),
        _ => ResourceList::new(),
    };
    usage.insert(count_name(kind), Amount::units(1));
    usage
}

/// Those of a quota's resources that objects of `kind` use. Mirrors `Evaluator.MatchingResources`.
pub fn matching(kind: Kind, hard: &ResourceList) -> Vec<&str> {
    let count = count_name(kind);
    let uses = |name: &str| match kind {
        _ if name == count => true,
        Kind::Pod => pod::uses(name),
        Kind::Service => service::RESOURCES.contains(&name),
        Kind::PersistentVolumeClaim => claim::uses(name),
        _ => NAMED.contains(&kind) && name == kind.info().plural,
    };
    hard.keys().map(String::as_str).filter(|name| uses(name)).collect()
}

/// What the quota allows, as its controller has taken note of it.
pub fn hard(quota: &ResourceQuota) -> ResourceList {
    amounts(quota.status.as_ref().and_then(|status| status.hard.as_ref()))
}

/// What the quota's objects use, as far as it is known.
pub fn used(quota: &ResourceQuota) -> ResourceList {
    amounts(quota.status.as_ref().and_then(|status| status.used.as_ref()))
}

/// `cpu=1,pods=2`: how errors write amounts.
pub fn shown(list: &ResourceList) -> String {
    list.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests;
