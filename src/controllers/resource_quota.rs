//! The ResourceQuota controller: counts what is there.
//!
//! The API server charges a quota for what is created, and does not learn what is gone. So this controller watches
//! every kind that a quota can count, and when an object is deleted, or a Pod ends, it adds up all that the namespace
//! holds and writes the sum into the quota's status. The same brings a new quota to life: before its `status.hard` is
//! written it forbids nothing. Every five minutes all quotas are counted again, in case something was charged and never
//! created.
//!
//! # Must hold
//!
//! - What is created is never added here: that the API server has done already. Kept by the property "nothing is
//!   created that its quota was not charged for".
//! - The sum is written on the version of the quota that was cached: a charge that came in since makes it a conflict,
//!   and everything is counted again. Kept by `some_changes_are_counted_again`.
//!
//! That is not quite enough, here as in Kubernetes. Quotas and Pods come by different watches, so the cache can have a
//! charge already and not yet the Pod that was charged for; a count in that moment takes the Pod for free, and the
//! namespace can get one more than it may. `kubestep explore --property quota-kept` finds the order in which that happens.
//!
//! Mirrors `pkg/controller/resourcequota`.
//!
//! # Left out
//!
//! The second queue for quotas that were never counted, since the first is never long; the monitor's queue of changes. It
//! hears of a new kind from the definition, at once, where the real one asks for all kinds every 30 seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ResourceQuota, ResourceQuotaStatus, Service};

use client::{Change, Client, Controller, ControllerContext, Error, Informer, Lister, Queue, Registration};
use engine::Memory;
use object::pod::status::ContainerStatus;
use object::quantity::Amount;
use object::quota::{self, count_name, hard, is_counted, matching, used};
use object::resources::{ResourceList, add, amounts, quantities};
use object::time::Instant;
use object::{Accessor, Discovery, Key, Kind, Object, Pod};

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: WATCHED,
    workers: 5,
    ..Registration::new("resourcequota-controller", &|context| Rc::new(QuotaController::new(context)))
};

/// Between one count of everything and the next.
const RESYNC: Duration = Duration::from_secs(300);

/// What quotas count: all that lives in namespaces, but for Events; and what says which other kinds there are.
const WATCHED: &[Kind] = &{
    let mut watched = [Kind::CustomResourceDefinition; count() + 1];
    let (mut from, mut to) = (0, 0);
    while from < Kind::ALL.len() {
        if is_counted(Kind::ALL[from]) {
            watched[to] = Kind::ALL[from];
            to += 1;
        }
        from += 1;
    }
    watched
};

const fn count() -> usize {
    let (mut from, mut count) = (0, 0);
    while from < Kind::ALL.len() {
        count += is_counted(Kind::ALL[from]) as usize;
        from += 1;
    }
    count
}

/// Keys are quotas, and one that stands for the count of everything.
struct QuotaController {
    client: Client,
    queue: Queue,
    quotas: Lister<ResourceQuota>,
    caches: BTreeMap<Kind, Informer>,
    custom: Memory<Custom>,
    started: Memory<Option<Instant>>,
}

/// Objects of kinds that users have defined; only their number matters.
#[derive(Clone, Default)]
struct Custom {
    discovery: Discovery,
    /// Names of objects by namespace and by what quotas call their number.
    objects: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Custom {
    fn note(&mut self, change: &Change) {
        let (object, gone) = (change.latest(), matches!(change, Change::Deleted(_)));
        self.discovery.note(object, gone);
        if let kind @ Kind::Custom(_) = object.kind() {
            let names = self.objects.entry((object.namespace().to_owned(), count_name(kind))).or_default();
            if gone {
                names.remove(object.name());
            } else {
                names.insert(object.name().to_owned());
            }
        }
    }

    /// How many there are in a namespace of each kind whose number is wanted.
    fn count(&self, namespace: &str, wanted: &ResourceList) -> ResourceList {
        let names = self.discovery.custom().filter(|kind| is_counted(*kind)).map(count_name);
        let counted = names.filter(|name| wanted.contains_key(name)).map(|name| {
            let place = (namespace.to_owned(), name);
            let number = self.objects.get(&place).map_or(0, BTreeSet::len);
            (place.1, Amount::units(i64::try_from(number).unwrap_or(i64::MAX)))
        });
        counted.collect()
    }
}

impl QuotaController {
    fn new(context: &ControllerContext) -> QuotaController {
        let counted = context.informers.iter().filter(|informer| is_counted(informer.kind()));
        QuotaController {
            client: context.client.clone(),
            queue: context.queue.clone(),
            quotas: context.lister(),
            caches: counted.map(|informer| (informer.kind(), informer.clone())).collect(),
            custom: context.memory(Custom::default()),
            started: context.memory(None),
        }
    }

    fn resync_key() -> Key {
        Key::new("*", "resync")
    }

    /// Counts every quota again. Mirrors `enqueueAll`.
    fn resync(&self) {
        let quotas = self.quotas.list();
        quotas.iter().for_each(|quota| self.queue.add(Key::of_meta(&quota.metadata)));
        if !quotas.is_empty() {
            self.expect_resync();
        }
    }

    /// While there are quotas, the next count of everything has its time.
    fn expect_resync(&self) {
        let now = self.client.now();
        let started = *self.started.borrow_mut().get_or_insert(now);
        self.queue.add_after_background(QuotaController::resync_key(), now.until_round(started, RESYNC));
    }

    /// Mirrors `syncResourceQuota`.
    async fn sync(&self, key: Key) -> Result<(), Error> {
        let Some(quota) = self.quotas.get(&key) else { return Ok(()) };
        let wanted = amounts(quota.spec.as_ref().and_then(|spec| spec.hard.as_ref()));
        let mut counted = used(&quota);
        counted.extend(self.count(&quota, &wanted));
        counted.retain(|name, _| wanted.contains_key(name));
        let known = quota.status.as_ref().is_some_and(|status| status.hard.is_some() && status.used.is_some());
        if known && wanted == hard(&quota) && counted == used(&quota) {
            return Ok(());
        }
        let mut new = ResourceQuota::clone(&quota);
        new.status = Some(ResourceQuotaStatus { hard: Some(quantities(&wanted)), used: Some(quantities(&counted)) });
        self.client.update_status(new).await?;
        Ok(())
    }

    /// What the namespace holds of the resources that the quota measures. Mirrors `CalculateUsage`.
    fn count(&self, quota: &ResourceQuota, wanted: &ResourceList) -> ResourceList {
        let namespace = quota.metadata.namespace();
        let mut total = self.custom.borrow().count(namespace, wanted);
        for (kind, informer) in &self.caches {
            let measured = matching(*kind, wanted);
            if measured.is_empty() {
                continue;
            }
            let mut sum: ResourceList = measured.iter().map(|name| ((*name).to_owned(), Amount::ZERO)).collect();
            for object in informer.in_namespace(namespace).iter().filter(|object| quota::is_about(quota, object)) {
                let mut cost = quota::usage(object, self.client.now());
                cost.retain(|name, _| sum.contains_key(name));
                add(&mut sum, &cost);
            }
            total.extend(sum);
        }
        total
    }

    /// Something that objects of this kind used is free again. Mirrors `replenishQuota`.
    fn replenish(&self, kind: Kind, namespace: &str) {
        for quota in self.quotas.list_namespace(namespace) {
            if !matching(kind, &hard(&quota)).is_empty() {
                self.queue.add(Key::of_meta(&quota.metadata));
            }
        }
    }

    fn quota_changed(&self, old: Option<&ResourceQuota>, new: &Arc<ResourceQuota>) {
        let wanted = |quota: &ResourceQuota| amounts(quota.spec.as_ref().and_then(|spec| spec.hard.as_ref()));
        if old.is_none_or(|old| wanted(old) != wanted(new)) {
            self.queue.add(Key::of_meta(&new.metadata));
        }
        self.expect_resync();
    }
}

/// Whether an object may use less than it did, or count for other quotas. Mirrors `DefaultUpdateFilter`, which lets every
/// change of a claim pass: it compares where amounts are kept, not what they are.
fn frees(old: &Object, new: &Object, now: Instant) -> bool {
    match (old, new) {
        (Object::Pod(old), Object::Pod(new)) => {
            resources_changed(old, new)
                || quota::pod::is_terminating(old) != quota::pod::is_terminating(new)
                || quota::pod::is_charged(old, now) && !quota::pod::is_charged(new, now)
        }
        (Object::Service(old), Object::Service(new)) => type_of(old) != type_of(new),
        (Object::PersistentVolumeClaim(_), Object::PersistentVolumeClaim(_)) => true,
        _ => false,
    }
}

/// Whether a container has got other resources than it had. Mirrors `hasResourcesChanged`.
fn resources_changed(old: &Pod, new: &Pod) -> bool {
    let (Some(old), Some(new)) = (&old.status, &new.status) else { return false };
    differ(old.container_statuses.as_deref(), new.container_statuses.as_deref())
        || differ(old.init_container_statuses.as_deref(), new.init_container_statuses.as_deref())
}

fn differ(old: Option<&[ContainerStatus]>, new: Option<&[ContainerStatus]>) -> bool {
    let of = |name: &str| new.into_iter().flatten().find(|status| status.name.as_str() == name);
    old.into_iter().flatten().any(|old| of(old.name.as_str()).is_some_and(|new| new.resources != old.resources))
}

/// The node ports and balancers of a Service come with its type; none without. Mirrors `GetQuotaServiceType`.
fn type_of(service: &Service) -> Option<&str> {
    let type_ = service.spec.as_ref().and_then(|spec| spec.type_.as_deref());
    type_.filter(|type_| matches!(*type_, "NodePort" | "LoadBalancer"))
}

impl Controller for QuotaController {
    fn on_change(&self, change: &Change) {
        if let Kind::CustomResourceDefinition | Kind::Custom(_) = change.kind() {
            self.custom.borrow_mut().note(change);
        }
        match change {
            Change::Added(Object::ResourceQuota(quota)) => self.quota_changed(None, quota),
            Change::Updated { old: Object::ResourceQuota(old), new: Object::ResourceQuota(new) } => {
                self.quota_changed(Some(old), new);
            }
            Change::Updated { old, new } if frees(old, new, self.client.now()) => {
                self.replenish(change.kind(), new.namespace());
            }
            Change::Deleted(object) => self.replenish(change.kind(), object.namespace()),
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        if key == QuotaController::resync_key() {
            self.resync();
            return Ok(());
        }
        self.sync(key).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn some_changes_are_counted_again() {
        let service = |type_: &str| json!({"spec": {"type": type_}});
        let claim = |class: &str| json!({"spec": {"volumeAttributesClassName": class}});
        let pod = |phase: &str| json!({"spec": {"containers": []}, "status": {"phase": phase}});
        for (kind, old, new, expected) in [
            (Kind::Service, service("ClusterIP"), service("NodePort"), true),
            (Kind::Service, service("LoadBalancer"), service("NodePort"), true),
            (Kind::Service, service("ClusterIP"), service("ExternalName"), false),
            (Kind::PersistentVolumeClaim, claim("gold"), claim("tin"), true),
            (Kind::PersistentVolumeClaim, claim("gold"), claim("gold"), true),
            (Kind::Pod, pod("Pending"), pod("Running"), false),
            (Kind::Pod, pod("Running"), pod("Failed"), true),
            (Kind::ConfigMap, json!({}), json!({"data": {"a": "b"}}), false),
        ] {
            let object = |value: &Value| kind.decode(value.clone()).expect("the object decodes");
            assert_eq!(frees(&object(&old), &object(&new), Instant(0)), expected, "{old} {new}");
        }
    }
}
