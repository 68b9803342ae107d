//! What must hold when nothing is left to do.

use std::collections::{BTreeMap, BTreeSet};

use super::Property;
use apiserver::host::Engine;
use engine::Step;
use object::meta::controller_of;
use object::pod::has_ended;
use object::{Accessor, Key, Kind, Object};

/// Once all is quiet, every Deployment has what it asks for.
#[derive(Clone)]
pub(super) struct Settled;

impl Property for Settled {
    fn name(&self) -> &'static str {
        "every Deployment comes to have the replicas it asks for"
    }

    fn check(&mut self, _: &Engine, _: &Step) -> Result<(), String> {
        Ok(())
    }

    fn finish(&mut self, engine: &Engine) -> Result<(), String> {
        for (_, entry) in engine.server.api.store.prefix("/registry/deployments/") {
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

/// Once all is quiet, every ReplicaSet controls just as many Pods that count as it asks for.
#[derive(Clone)]
pub(super) struct PodsAsAsked;

impl Property for PodsAsAsked {
    fn name(&self) -> &'static str {
        "every ReplicaSet comes to have the Pods it asks for, and they are its own"
    }

    fn check(&mut self, _: &Engine, _: &Step) -> Result<(), String> {
        Ok(())
    }

    fn finish(&mut self, engine: &Engine) -> Result<(), String> {
        let mut pods: BTreeMap<&str, i32> = BTreeMap::new();
        for (_, entry) in engine.server.api.store.prefix("/registry/pods/") {
            let Object::Pod(pod) = &entry.value else { continue };
            let counts = !has_ended(pod) && pod.metadata.deletion_timestamp.is_none();
            if let Some(owner) = controller_of(&pod.metadata).filter(|_| counts) {
                *pods.entry(&owner.uid).or_default() += 1;
            }
        }
        for (_, entry) in engine.server.api.store.prefix("/registry/replicasets/") {
            let Object::ReplicaSet(set) = &entry.value else { continue };
            let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
            let there = pods.get(set.metadata.uid()).copied().unwrap_or(0);
            if wanted != there {
                return Err(format!("{} asks for {wanted} Pods and has {there}", entry.value.name()));
            }
        }
        Ok(())
    }
}

/// Once all is quiet, the garbage collector has nothing left to do.
#[derive(Clone)]
pub(super) struct OwnersExist;

impl Property for OwnersExist {
    fn name(&self) -> &'static str {
        "in a quiet cluster no object has an owner that does not exist"
    }

    fn check(&mut self, _: &Engine, _: &Step) -> Result<(), String> {
        Ok(())
    }

    fn finish(&mut self, engine: &Engine) -> Result<(), String> {
        let objects = || engine.server.api.store.prefix("/registry/").map(|(_, entry)| &entry.value);
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
#[derive(Clone)]
pub(super) struct NamespacesExist;

impl Property for NamespacesExist {
    fn name(&self) -> &'static str {
        "in a quiet cluster nothing lives in a namespace that does not exist"
    }

    fn check(&mut self, _: &Engine, _: &Step) -> Result<(), String> {
        Ok(())
    }

    fn finish(&mut self, engine: &Engine) -> Result<(), String> {
        let objects = || engine.server.api.store.prefix("/registry/").map(|(_, entry)| &entry.value);
        let there: BTreeSet<&str> =
            objects().filter(|object| object.kind() == Kind::Namespace).map(Object::name).collect();
        match objects().find(|object| object.kind().info().namespaced && !there.contains(object.namespace())) {
            Some(object) => Err(format!("{} {} has lost its namespace", object.kind(), Key::of(object))),
            None => Ok(()),
        }
    }
}
