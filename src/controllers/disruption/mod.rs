//! The disruption controller: keeps the count by which evictions are allowed.
//!
//! # How a change flows
//!
//! A PodDisruptionBudget says how many of the Pods that it selects must stay healthy, or how many may be missing. It
//! blocks no eviction by itself: it has a status, in which `disruptionsAllowed` says how many Pods may be evicted *now*, and
//! the API server refuses an eviction while that is zero. This controller counts. On every change of a Pod, the key of
//! the budget that covers it is queued, and a worker
//!
//! 1. finds the Pods that the budget selects;
//! 2. works out how many there should be ([`expected`]): as many as were found, if the budget names a number of Pods;
//!    else as many as the controllers of those Pods ask for, since a Pod that was never made cannot be counted;
//! 3. counts the healthy ones: ready, not being deleted, and not evicted a moment ago ([`count`]);
//! 4. writes the status, if it is another one.
//!
//! Evictions do not wait for this. The API server takes one off `disruptionsAllowed` itself, and notes the Pod in
//! `disruptedPods`; until the watch shows that the Pod is being deleted, it is not counted as healthy because of that
//! note. If it is not deleted within two minutes, the note is dropped.
//!
//! # Must hold
//!
//! - When counting fails, no disruption is allowed (`SyncFailed`). Kept by
//!   `a_failure_is_forgotten_though_no_number_changes`.
//! - A write from an old version is refused and the count made anew: else it would give back a disruption that the
//!   API server has just taken. Kept by the property "no eviction takes more than a PodDisruptionBudget gives".
//!
//! Mirrors `pkg/controller/disruption/disruption.go`. Its second queue, of Pods that were marked and not ended, is a
//! row of its own in the table: [`stale`].
//!
//! # Left out
//!
//! The disruption that is found between two Pods of one name: `disruptedPods` holds names, not uids, in Kubernetes too.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::ReplicationController;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use client::{Change, Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use object::budget::{self, SYNC_FAILED};
use object::selector::Selector;
use object::{Accessor, Key, Kind, Object, Pod};

use super::service_pods::{BY_LABEL, index_by_label, with_rarest_label};

pub mod count;
mod expected;
pub mod stale;

use count::Count;

/// The row of the disruption controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[
        Kind::PodDisruptionBudget,
        Kind::Pod,
        Kind::ReplicationController,
        Kind::ReplicaSet,
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::CustomResourceDefinition,
    ],
    event_source: "controllermanager",
    ..Registration::new("disruption-controller", &|context| Rc::new(Disruptions::new(context)))
};

/// A look that was put off goes through the rate limiter as well: what a key waits that has not failed.
const RECHECK_LATER_BY: Duration = Duration::from_millis(5);

/// The controller of PodDisruptionBudgets.
struct Disruptions {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    budgets: Lister<PodDisruptionBudget>,
    pods: Lister<Pod>,
    owners: Owners,
}

/// The caches of what asks for Pods.
struct Owners {
    replication_controllers: Lister<ReplicationController>,
    replica_sets: Lister<ReplicaSet>,
    deployments: Lister<Deployment>,
    stateful_sets: Lister<StatefulSet>,
    /// Of kinds that users have defined the definitions only: the objects are asked for.
    definitions: Lister<CustomResourceDefinition>,
}

impl Disruptions {
    fn new(context: &ControllerContext) -> Disruptions {
        context.add_index::<Pod>(BY_LABEL, index_by_label);
        Disruptions {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            budgets: context.lister(),
            pods: context.lister(),
            owners: Owners {
                replication_controllers: context.lister(),
                replica_sets: context.lister(),
                deployments: context.lister(),
                stateful_sets: context.lister(),
                definitions: context.lister(),
            },
        }
    }
}

impl Controller for Disruptions {
    fn on_change(&self, change: &Change) {
        match change.latest() {
            Object::PodDisruptionBudget(_) => self.queue.add(change.key()),
            Object::Pod(pod) => {
                if let Some(budget) = self.budget_of(pod) {
                    self.queue.add(Key::of_meta(&budget.metadata));
                }
            }
            // What asks for Pods is only read: when a count changes, Pods will.
            _ => {}
        }
    }

    /// One reconcile. Mirrors `sync` and `failSafe`.
    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(budget) = self.budgets.get(&key) else { return Ok(()) };
        match self.try_sync(&key, &budget).await {
            Err(Error::Api(status)) if status.is_conflict() => Err(Error::Api(status)),
            Err(why) => {
                let mut safe = (*budget).clone();
                let status = safe.status.get_or_insert_default();
                status.disruptions_allowed = Some(0);
                budget::set_condition(status, "False", SYNC_FAILED, why.to_string(), self.client.now());
                Ok(self.client.update_status(safe).await.map(|_| ())?)
            }
            done => done,
        }
    }
}

impl Disruptions {
    /// Mirrors `trySync`.
    async fn try_sync(&self, key: &Key, budget: &PodDisruptionBudget) -> Result<(), Error> {
        let pods = self.pods_of(budget).inspect_err(|why| {
            self.tell(budget, EventType::Warning, "NoPods", format!("Failed to get pods: {why}"));
        })?;
        if pods.is_empty() {
            self.tell(budget, EventType::Normal, "NoPods", "No matching pods found");
        }
        let expected = self.expected(budget, &pods).await.inspect_err(|why| {
            let text = format!("Failed to calculate the number of expected pods: {why}");
            self.tell(budget, EventType::Warning, "CalculateExpectedPodCountFailed", text);
        })?;
        if expected.unmanaged {
            self.tell(budget, EventType::Warning, "UnmanagedPods", expected::unmanaged_text(budget));
        }

        let now = self.client.now();
        let disrupted = count::disrupted_pods(budget, &pods, now);
        for pod in &disrupted.overdue {
            // The real one names the namespace twice, too.
            let namespace = key.namespace();
            let text = format!("Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't");
            self.recorder.event(&**pod, EventType::Warning, "NotDeleted", text);
        }
        let count = Count {
            healthy: count::healthy(&pods, &disrupted.pods),
            desired: expected.desired,
            expected: expected.pods,
            disrupted: disrupted.pods,
        };
        if let Some(status) = count.status(budget, now) {
            let counted = PodDisruptionBudget { status: Some(status), ..budget.clone() };
            self.client.update_status(counted).await?;
        }
        if let Some(due) = disrupted.next {
            self.queue.add_after_background(key.clone(), (due - now) + RECHECK_LATER_BY);
        }
        Ok(())
    }

    /// The Pods that the budget selects, in the order of their names. Mirrors `getPodsForPdb`.
    fn pods_of(&self, budget: &PodDisruptionBudget) -> Result<Vec<Arc<Pod>>, Error> {
        let namespace = budget.metadata.namespace();
        let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        let labels = selector.and_then(|selector| selector.match_labels.as_ref());
        let selector = Selector::of_option(selector).map_err(Error::Other)?;
        if selector.is_nothing() {
            return Ok(Vec::new());
        }
        let found = with_rarest_label(&self.pods, namespace, labels);
        let mut pods = found.unwrap_or_else(|| self.pods.list_namespace(namespace));
        pods.retain(|pod| selector.matches(pod.metadata.labels.as_ref()));
        Ok(pods)
    }

    /// The budget of a Pod. Of several it takes the first, and says so. Mirrors `getPdbForPod`.
    fn budget_of(&self, pod: &Pod) -> Option<Arc<PodDisruptionBudget>> {
        let namespace = pod.metadata.namespace();
        let mut those = self.budgets.list_namespace(namespace).into_iter().filter(|there| budget::covers(there, pod));
        let first = those.next()?;
        if those.next().is_some() {
            let [pod_name, chosen] = [&pod.metadata.name, &first.metadata.name].map(|n| n.clone().unwrap_or_default());
            let text = format!(
                "Pod {namespace:?}/{pod_name:?} matches multiple PodDisruptionBudgets.  Chose {chosen:?} arbitrarily."
            );
            self.recorder.event(pod, EventType::Warning, "MultiplePodDisruptionBudgets", text);
        }
        Some(first)
    }

    fn tell(&self, budget: &PodDisruptionBudget, type_: EventType, reason: &str, message: impl Into<String>) {
        self.recorder.event(budget, type_, reason, message);
    }
}
