//! A small ReplicaSet controller, with as much care as one gives it. It creates what is missing; it never deletes.

use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue};
use controllers::expectations::Expectations;
use object::meta::{controller_of, controller_ref};
use object::pod::Spec;
use object::{Accessor, Key, Object, Pod};

/// How it guards against acting on a cache that has not seen what it has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Not at all.
    None,
    /// It counts, and looks then whether all that it expects has been seen.
    CountThenCheck,
    /// It looks, and counts then. What it expects it expects for five minutes.
    CheckThenCount,
}

/// The controller.
pub struct Replicas {
    guard: Guard,
    client: Client,
    queue: Queue,
    sets: Lister<ReplicaSet>,
    pods: Lister<Pod>,
    expectations: Expectations,
}

impl Replicas {
    /// A controller with this guard.
    pub fn with(guard: Guard, context: &ControllerContext) -> Rc<dyn Controller> {
        Rc::new(Replicas {
            guard,
            client: context.client.clone(),
            queue: context.queue.clone(),
            sets: context.lister(),
            pods: context.lister(),
            expectations: Expectations::new(context.client.hub()),
        })
    }
}

impl Controller for Replicas {
    fn on_change(&self, change: &Change) {
        let Object::Pod(pod) = change.latest() else { return self.queue.add(change.key()) };
        let Some(owner) = controller_of(&pod.metadata) else { return };
        let owner = Key::new(change.key().namespace(), &owner.name);
        if let Change::Added(_) = change {
            self.expectations.creation_observed(&owner);
        }
        self.queue.add(owner);
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(set) = self.sets.get(&key) else { return Ok(()) };
        let seen = || self.guard == Guard::None || self.expectations.satisfied(&key, self.client.now());
        let missing = if self.guard == Guard::CountThenCheck {
            let missing = self.missing(&set);
            // Time passes between the two looks. In the real one another goroutine ran; here a request is answered.
            self.client.get::<ReplicaSet>(key.namespace(), key.name()).await?;
            if seen() { missing } else { 0 }
        } else if seen() {
            self.missing(&set)
        } else {
            0
        };
        if missing == 0 {
            return Ok(());
        }
        self.expectations.expect_creations(&key, missing, self.client.now());
        for left in (1..=missing).rev() {
            if let Err(status) = self.create(&set).await {
                (0..left).for_each(|_| self.expectations.creation_observed(&key));
                return Err(status);
            }
        }
        Ok(())
    }
}

impl Replicas {
    /// How many Pods are missing, by the cache.
    fn missing(&self, set: &ReplicaSet) -> usize {
        let uid = set.metadata.uid.as_deref();
        let mine = |pod: &&Arc<Pod>| controller_of(&pod.metadata).map(|owner| owner.uid.as_str()) == uid;
        let namespace = set.metadata.namespace();
        let there = self.pods.list_namespace(namespace).iter().filter(mine).count();
        let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        usize::try_from(wanted).unwrap_or(0).saturating_sub(there)
    }

    async fn create(&self, set: &ReplicaSet) -> Result<(), Error> {
        let template = set.spec.as_ref().and_then(|spec| spec.template.clone()).unwrap_or_default();
        let metadata = ObjectMeta {
            generate_name: set.metadata.name.as_ref().map(|name| format!("{name}-")),
            namespace: set.metadata.namespace.clone(),
            owner_references: Some(vec![controller_ref(set)]),
            ..template.metadata.unwrap_or_default()
        };
        self.client.create(Pod { metadata, spec: template.spec.map(Spec::from), status: None }).await?;
        Ok(())
    }
}
