//! What must hold of ResourceQuotas: no client gets more than is left.

use k8s_openapi::api::core::v1::ResourceQuota;

use super::{Property, stored};
use apiserver::host::Engine;
use engine::Step;
use object::quota::{self, hard, shown, used};
use object::reader::Reader;
use object::resources::{ResourceList, add};
use object::{Accessor, Kind, Object};

/// The request that creates an object also charges its quotas, and no charge takes a quota's recorded usage above what it
/// allows. Mirrors what the admission plugin promises, in any order of events.
#[derive(Clone, Default)]
pub(super) struct QuotaHeld;

impl Property for QuotaHeld {
    fn name(&self) -> &'static str {
        "nothing is created that its quota was not charged for"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for object in created(step) {
            for there in Reader::list(&engine.server.api.store, Kind::ResourceQuota, object.namespace()) {
                if let Object::ResourceQuota(quota) = &there {
                    charged(quota, step, object)?;
                }
            }
        }
        Ok(())
    }
}

/// What a quota counts and this step created.
fn created(step: &Step) -> impl Iterator<Item = &Object> {
    stored(step).filter_map(|(_, old, new)| new.filter(|new| old.is_none() && quota::is_counted(new.kind())))
}

/// Whether the quota, which is as this step left it, was charged for `object`, and has not given more than it may.
fn charged(quota: &ResourceQuota, step: &Step, object: &Object) -> Result<(), String> {
    let limits = hard(quota);
    // A quota forbids what its status knows of; it cannot count what made it.
    if !quota::is_about(quota, object) || object.meta().uid == quota.metadata.uid {
        return Ok(());
    }
    let before = stored(step).find_map(|(_, old, new)| match (old, new) {
        (Some(Object::ResourceQuota(old)), Some(new)) if new.meta().uid == quota.metadata.uid => Some(used(old)),
        _ => None,
    });
    let (before, after) = (before.unwrap_or_else(|| used(quota)), used(quota));
    for (name, cost) in quota::usage(object, step.time) {
        let Some(limit) = limits.get(&name).filter(|_| !cost.is_zero()) else { continue };
        let [was, is] = [&before, &after].map(|books| books.get(&name).copied().unwrap_or_default());
        if is < was + cost || is > *limit {
            let (kind, name_of) = (object.kind().info().singular(), quota.metadata.name());
            return Err(format!(
                "{kind} {} costs {name}={cost}, and the books of quota {name_of} went from {was} to {is} of {limit}",
                object.name()
            ));
        }
    }
    Ok(())
}

/// When an object is created, what its namespace holds of everything that it costs is within every quota in force. That is
/// added up from what the API server has stored, not read from the quota's own books.
///
/// It does not hold in every order of events, in Kubernetes neither: the quota's controller counts what its caches hold, and
/// one that hears of a charge sooner than of the object counts that as free.
#[derive(Clone, Default)]
pub(super) struct QuotaKept;

impl Property for QuotaKept {
    fn name(&self) -> &'static str {
        "no namespace holds more than its quota"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        created(step).try_for_each(|object| within(engine, step, object))
    }
}

fn within(engine: &Engine, step: &Step, object: &Object) -> Result<(), String> {
    let (kind, namespace) = (object.kind(), object.namespace());
    for there in Reader::list(&engine.server.api.store, Kind::ResourceQuota, namespace) {
        let Object::ResourceQuota(quota) = &there else { continue };
        // A quota forbids what its status knows of.
        let limits = hard(quota);
        if !quota::is_about(quota, object) || quota::matching(kind, &limits).is_empty() {
            continue;
        }
        let mut held = ResourceList::new();
        for other in Reader::list(&engine.server.api.store, kind, namespace) {
            if quota::is_about(quota, &other) {
                add(&mut held, &quota::usage(&other, step.time));
            }
        }
        let cost = quota::usage(object, step.time);
        let over = cost
            .iter()
            .find(|(name, cost)| !cost.is_zero() && limits.contains_key(*name) && held[*name] > limits[*name]);
        if let Some((name, _)) = over {
            let (key, books) = (format!("{namespace}/{}", there.name()), shown(&used(quota)));
            let (held, limit) = (held[name], limits[name]);
            let kind = kind.info().singular();
            return Err(format!(
                "{kind} {} was created, and {key} allows {name}={limit}, but {held} is held (its books say {books})",
                object.name()
            ));
        }
    }
    Ok(())
}
