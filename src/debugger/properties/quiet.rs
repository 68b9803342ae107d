//! What must hold when nothing is left to do.

use std::collections::BTreeSet;

use super::Property;
use crate::engine::{Engine, Step};
use crate::object::{Key, Kind, Object};

/// Once all is quiet, every Deployment has what it asks for.
pub(super) struct Settled;

impl Property for Settled {
    fn name(&self) -> &'static str {
        "every Deployment comes to have the replicas it asks for"
    }

    fn check(&mut self, _: &Engine, _: &Step) -> Result<(), String> {
        Ok(())
    }

    fn finish(&mut self, engine: &Engine) -> Result<(), String> {
        for (_, entry) in engine.api.store.prefix("/registry/deployments/") {
            let Object::Deployment(deployment) = &entry.value else { continue };
            let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
            let there = deployment.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0);
            if wanted != there {
                return Err(format!("{} asks for {wanted} and has {there}", entry.value.name()));
            }
        }
        Ok(())
    }
}

/// Once all is quiet, the garbage collector has nothing left to do.
pub(super) struct OwnersExist;

impl Property for OwnersExist {
    fn name(&self) -> &'static str {
        "in a quiet cluster no object has an owner that does not exist"
    }

    fn check(&mut self, _: &Engine, _: &Step) -> Result<(), String> {
        Ok(())
    }

    fn finish(&mut self, engine: &Engine) -> Result<(), String> {
        let objects = || engine.api.store.prefix("/registry/").map(|(_, entry)| &entry.value);
        let there: BTreeSet<&String> = objects().filter_map(|object| object.meta().uid.as_ref()).collect();
        for object in objects() {
            let owners = object.meta().owner_references.iter().flatten();
            if let Some(owner) = owners.into_iter().find(|owner| !there.contains(&owner.uid)) {
                let (kind, name) = (object.kind(), Key::of(object));
                return Err(format!("{kind} {name} is owned by {} {}, which is gone", owner.kind, owner.name));
            }
        }
        Ok(())
    }
}

/// Once all is quiet, the namespace controller has left nothing behind.
pub(super) struct NamespacesExist;

impl Property for NamespacesExist {
    fn name(&self) -> &'static str {
        "in a quiet cluster nothing lives in a namespace that does not exist"
    }

    fn check(&mut self, _: &Engine, _: &Step) -> Result<(), String> {
        Ok(())
    }

    fn finish(&mut self, engine: &Engine) -> Result<(), String> {
        let objects = || engine.api.store.prefix("/registry/").map(|(_, entry)| &entry.value);
        let there: BTreeSet<&str> =
            objects().filter(|object| object.kind() == Kind::Namespace).map(Object::name).collect();
        match objects().find(|object| object.kind().info().namespaced && !there.contains(object.namespace())) {
            Some(object) => Err(format!("{} {} has lost its namespace", object.kind(), Key::of(object))),
            None => Ok(()),
        }
    }
}
