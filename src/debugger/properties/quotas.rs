//! What must hold of ResourceQuotas: nobody gets more than is left.

use super::{Property, stored};
use crate::apiserver::admission::Reader;
use crate::engine::{Engine, Step};
use crate::object::quota::{self, hard, shown, used};
use crate::object::resources::{ResourceList, add};
use crate::object::{Kind, Object};

/// When an object is created, what its namespace holds of everything that it costs is within every quota in force. That is
/// added up from what the API server has stored, not read from the quota's own books.
#[derive(Default)]
pub(super) struct QuotaHeld;

impl Property for QuotaHeld {
    fn name(&self) -> &'static str {
        "no namespace is given more than its quota"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for (_, old, new) in stored(step) {
            let (None, Some(object)) = (old, new) else { continue };
            if quota::is_counted(object.kind()) {
                within(engine, step, object)?;
            }
        }
        Ok(())
    }
}

fn within(engine: &Engine, step: &Step, object: &Object) -> Result<(), String> {
    let (kind, namespace) = (object.kind(), object.namespace());
    for there in Reader::list(&engine.api.store, Kind::ResourceQuota, namespace) {
        let Object::ResourceQuota(quota) = &there else { continue };
        // A quota forbids what its status knows of.
        let limits = hard(quota);
        if !quota::is_about(quota, object) || quota::matching(kind, &limits).is_empty() {
            continue;
        }
        let mut held = ResourceList::new();
        for other in Reader::list(&engine.api.store, kind, namespace) {
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
