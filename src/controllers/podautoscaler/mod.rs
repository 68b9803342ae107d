//! The horizontal pod autoscaler: asks a workload for as many Pods as its load needs.
//!
//! # How it works
//!
//! Every other controller in this folder is driven by changes. This one is driven by time: no watch event says that a
//! CPU is busy, so every fifteen seconds, for each HorizontalPodAutoscaler, a worker
//!
//! 1. GETs the `scale` of the target: how many Pods it asks for, and their selector. Every kind with that subresource
//!    can be scaled; the controller needs to know none of the kinds;
//! 2. asks `metrics.k8s.io` for what those Pods use, and works out for each metric how many there should be ([`replicas`]):
//!    the ratio of what is used to what should be, times the Pods. Of several metrics the one that asks for most counts;
//! 3. lets that pass through what is remembered, the rate, and the bounds ([`limits`]): a scale down waits until nothing
//!    higher was recommended for five minutes, a scale up goes to the double at most, or to four Pods;
//! 4. PUTs the `scale` if it is another number, and the status with its three conditions.
//!
//! So it writes a number into the spec of another object, and that is all it does. The Deployment's controller takes it from
//! there, and does not know which client wrote it.
//!
//! # Must hold
//!
//! - The number asked of a target is never below `minReplicas` nor above `maxReplicas`, for any values of the metrics. Kept
//!   by the property "no autoscaler asks for fewer Pods than minReplicas or more than maxReplicas".
//! - A metric that cannot be read never makes Pods go; it may let others make Pods come. Kept by
//!   `without_numbers_there_is_no_answer` and `what_cannot_be_measured_gets_its_condition`.
//! - A target with no Pods asked for is left alone: that is how autoscaling is switched off. Kept by
//!   `bounds_hold_when_somebody_moves_them`.
//!
//! Mirrors `pkg/controller/podautoscaler/horizontal.go`.
//!
//! # Left out
//!
//! Metrics of Pods, objects and from outside (`custom.metrics.k8s.io`, `external.metrics.k8s.io`): no server serves those APIs
//! here, and the conditions say so as they do in a cluster without an adapter. Scaling to zero.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, MetricStatus};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use client::{Change, Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use engine::Memory;
use object::selector::Selector;
use object::status::Reason;
use object::{Discovery, Key, Kind, Object, Pod, Resource};

use super::service_pods::{BY_LABEL, index_by_label};

pub mod limits;
mod metrics;
pub mod replicas;
mod status;

use limits::{Past, Wish};
use status::{ABLE_TO_SCALE, SCALING_ACTIVE, SCALING_LIMITED, say};

/// The row of the autoscaler.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::HorizontalPodAutoscaler, Kind::Pod, Kind::CustomResourceDefinition],
    workers: 5,
    ..Registration::new("horizontal-pod-autoscaler", &|context| Rc::new(Autoscalers::new(context)))
};

/// How often each autoscaler is looked at. `--horizontal-pod-autoscaler-sync-period`.
const SYNC_PERIOD: Duration = Duration::from_secs(15);
/// A scale that was made from an old version is written again this often, so long after it. `retry.DefaultRetry`.
const SCALE_RETRIES: usize = 4;
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// The controller of HorizontalPodAutoscalers.
struct Autoscalers {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    autoscalers: Lister<HorizontalPodAutoscaler>,
    pods: Lister<Pod>,
    definitions: Lister<CustomResourceDefinition>,
    memory: Memory<BTreeMap<Key, Remembered>>,
}

/// What is known of an autoscaler beside its object.
#[derive(Clone, Default)]
struct Remembered {
    past: Past,
    /// Of its target's Pods.
    selector: Option<Selector>,
}

impl Autoscalers {
    fn new(context: &ControllerContext) -> Autoscalers {
        context.add_index::<Pod>(BY_LABEL, index_by_label);
        // Whether the last look failed or not, the next is as far away.
        context.queue.retry_from(SYNC_PERIOD);
        context.queue.retry_within(SYNC_PERIOD);
        Autoscalers {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            autoscalers: context.lister(),
            pods: context.lister(),
            definitions: context.lister(),
            memory: context.memory(BTreeMap::new()),
        }
    }
}

impl Controller for Autoscalers {
    fn on_change(&self, change: &Change) {
        // After any change the next look is a period away; Pods and definitions are read, but their changes start no look.
        if change.kind() != Kind::HorizontalPodAutoscaler {
            return;
        }
        if let Change::Deleted(_) = change
            && let Some(known) = self.memory.borrow_mut().get_mut(&change.key())
        {
            // Its Pods may be another's at once; what it has recommended is forgotten at the next look.
            known.selector = None;
        }
        self.queue.add_after_background(change.key(), SYNC_PERIOD);
    }

    fn look(&self) -> Vec<String> {
        let shown = |(key, known): (&Key, &Remembered)| {
            let wishes: Vec<String> = known.past.recommendations.iter().map(|(at, n)| format!("{n} at {at}")).collect();
            format!("{key}: recommended {}", wishes.join(", "))
        };
        self.memory.borrow().iter().map(shown).collect()
    }

    /// One look. Mirrors `processNextWorkItem`.
    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(cached) = self.autoscalers.get(&key) else {
            self.memory.borrow_mut().remove(&key);
            return Ok(());
        };
        let mut hpa = (*cached).clone();
        let result = self.scale(&key, &mut hpa).await;
        let written =
            if hpa.status == cached.status { Ok(()) } else { self.client.update_status(hpa).await.map(|_| ()) };
        let failed = result.err().or(written.err().map(|status| status.to_string().into()));
        if let Some(Failed { why, told }) = failed {
            if let Some(message) = told {
                self.recorder.event(&*cached, EventType::Warning, "FailedComputeMetricsReplicas", message);
            }
            // What failed is tried again at the next look, and not sooner.
            return Err(Error::Unchanged(why));
        }
        self.queue.add_after_background(key, SYNC_PERIOD);
        Ok(())
    }
}

impl Autoscalers {
    /// Looks, decides, scales, and notes all of it in the status. An error says what could not be done. Mirrors
    /// `reconcileAutoscaler`.
    async fn scale(&self, key: &Key, hpa: &mut HorizontalPodAutoscaler) -> Result<(), Failed> {
        let (kind, scale) = self.target(key, hpa).await?;
        let current = scale.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(0);
        let (min, max, now) = (hpa.spec.min_replicas.unwrap_or(1), hpa.spec.max_replicas, self.client.now());
        self.with_past(key, |past| past.begin(current, now));
        let wish = Wish { current, desired: current, min, max, now };
        let plan = if current == 0 && min != 0 {
            const WHY: &str = "scaling is disabled since the replica count of the target is zero";
            say(hpa, SCALING_ACTIVE, false, "ScalingDisabled", WHY, now);
            Plan::without_metrics(current, "")
        } else if current > max {
            Plan::without_metrics(max, "Current number of replicas above Spec.MaxReplicas")
        } else if current < min {
            Plan::without_metrics(min, "Current number of replicas below Spec.MinReplicas")
        } else {
            self.by_metrics(key, hpa, &scale, wish).await?
        };
        let scaled = plan.replicas != current;
        if scaled {
            self.rescale(key, hpa, (kind, &scale), wish, &plan).await?;
        }
        status::set(hpa, current, plan.replicas, plan.statuses, scaled.then(|| self.client.now()));
        plan.failed.map_or(Ok(()), |why| Err(why.into()))
    }

    /// The target's kind and scale.
    async fn target(&self, key: &Key, hpa: &mut HorizontalPodAutoscaler) -> Result<(Kind, Scale), String> {
        let target = hpa.spec.scale_target_ref.clone();
        let group = target.api_version.as_deref().and_then(|version| version.split_once('/')).map_or("", |(g, _)| g);
        let found = match self.kind_of(target.api_version.as_deref().unwrap_or_default(), group, &target.kind) {
            Some(kind) => match self.client.get_scale(kind, key.namespace(), &target.name).await {
                Ok(scale) => Ok((kind, scale)),
                Err(status) => Err((status.to_string(), "failed to query scale subresource for")),
            },
            None => {
                let why = format!("no matches for kind {:?} in group {group:?}", target.kind);
                Err((why, "unable to determine resource for scale target reference"))
            }
        };
        let now = self.client.now();
        match found {
            Ok(found) => {
                const GOT: &str = "the HPA controller was able to get the target's current scale";
                say(hpa, ABLE_TO_SCALE, true, "SucceededGetScale", GOT, now);
                Ok(found)
            }
            Err((why, doing)) => {
                self.recorder.event(hpa, EventType::Warning, "FailedGetScale", why.clone());
                let text = format!("the HPA controller was unable to get the target's current scale: {why}");
                say(hpa, ABLE_TO_SCALE, false, "FailedGetScale", text, now);
                Err(format!("{doing} {}/{}/{}: {why}", target.kind, key.namespace(), target.name))
            }
        }
    }

    /// The kind of a target, which may be one that a user has defined. Of a built-in one the version does not matter.
    fn kind_of(&self, api_version: &str, group: &str, kind: &str) -> Option<Kind> {
        let of_that_name = |there: &&Kind| there.info().kind == kind && there.info().group == group;
        Kind::ALL.iter().find(of_that_name).copied().or_else(|| {
            let definitions: Vec<Object> = self.definitions.list().into_iter().map(Resource::into_object).collect();
            Discovery::of(&definitions).from_manifest(api_version, kind)
        })
    }

    /// What the metrics ask for, and what comes of that.
    async fn by_metrics(
        &self,
        key: &Key,
        hpa: &mut HorizontalPodAutoscaler,
        scale: &Scale,
        wish: Wish,
    ) -> Result<Plan, Failed> {
        let computed = self.compute(key, hpa, scale, wish.current).await;
        let (wanted, metric) = match computed.wanted {
            Ok(wanted) => wanted,
            Err(why) => {
                let before = hpa.status.as_ref().map_or(0, |status| status.desired_replicas);
                status::set(hpa, wish.current, before, computed.statuses, None);
                let text = format!("failed to compute desired number of replicas based on listed metrics: {why}");
                return Err(Failed { why: text, told: Some(why) });
            }
        };
        let wish = Wish { desired: wanted, now: self.client.now(), ..wish };
        let decision = self.with_past(key, |past| past.decide(wish, hpa.spec.behavior.as_ref()));
        let (able, (limited, why)) = (decision.able, decision.limited);
        say(hpa, ABLE_TO_SCALE, true, able.0, able.1, wish.now);
        say(hpa, SCALING_LIMITED, limited, why.0, why.1, wish.now);
        // It may be that only a recommendation of a minute ago asks for another number; then no reason is given.
        let why = match wanted.cmp(&wish.current) {
            Ordering::Greater => format!("{metric} above target"),
            Ordering::Less => "All metrics below target".to_owned(),
            Ordering::Equal => String::new(),
        };
        Ok(Plan { replicas: decision.replicas, why, statuses: computed.statuses, failed: computed.failed })
    }

    /// Writes the target's scale.
    async fn rescale(
        &self,
        key: &Key,
        hpa: &mut HorizontalPodAutoscaler,
        (kind, scale): (Kind, &Scale),
        wish: Wish,
        plan: &Plan,
    ) -> Result<(), String> {
        let Plan { replicas, why, statuses, .. } = plan;
        let written = self.write_scale(kind, scale, *replicas).await;
        let now = self.client.now();
        if let Err(error) = written {
            let text = format!("New size: {replicas}; reason: {why}; error: {error}");
            self.recorder.event(hpa, EventType::Warning, "FailedRescale", text);
            let text = format!("the HPA controller was unable to update the target scale: {error}");
            say(hpa, ABLE_TO_SCALE, false, "FailedUpdateScale", text, now);
            let before = hpa.status.as_ref().map_or(0, |status| status.desired_replicas);
            status::set(hpa, wish.current, before, statuses.clone(), None);
            return Err(format!("failed to rescale {kind} {}: {error}", hpa.spec.scale_target_ref.name));
        }
        let text = format!("the HPA controller was able to update the target scale to {replicas}");
        say(hpa, ABLE_TO_SCALE, true, "SucceededRescale", text, now);
        let text = format!("New size: {replicas}; reason: {why}");
        self.recorder.event(hpa, EventType::Normal, "SuccessfulRescale", text);
        self.with_past(key, |past| past.scaled(Wish { now, ..wish }, *replicas, hpa.spec.behavior.as_ref()));
        Ok(())
    }

    /// Writes again, from what the API server has now, if another client was faster.
    async fn write_scale(&self, kind: Kind, scale: &Scale, replicas: i32) -> Result<Scale, wire::Error> {
        let [namespace, name] =
            [&scale.metadata.namespace, &scale.metadata.name].map(|text| text.as_deref().unwrap_or_default());
        let (mut newest, mut retries) = (scale.clone(), 0);
        loop {
            let refused = match self.client.update_scale(kind, &newest, replicas).await {
                Ok(written) => return Ok(written),
                Err(refused) => refused,
            };
            if let Ok(there) = self.client.get_scale(kind, namespace, name).await {
                newest = there;
            }
            if refused.reason() != Reason::Conflict || retries == SCALE_RETRIES {
                return Err(refused);
            }
            retries += 1;
            self.client.sleep(RETRY_PAUSE).await;
        }
    }

    fn with_past<T>(&self, key: &Key, work: impl FnOnce(&mut Past) -> T) -> T {
        work(&mut self.memory.borrow_mut().entry(key.clone()).or_default().past)
    }
}

/// What went wrong with a look.
struct Failed {
    why: String,
    /// What an Event tells of it once the status is written.
    told: Option<String>,
}

impl From<String> for Failed {
    fn from(why: String) -> Failed {
        Failed { why, told: None }
    }
}

/// What a look has led to.
struct Plan {
    /// How many Pods to ask for.
    replicas: i32,
    /// Why it is another number, for the Event.
    why: String,
    statuses: Vec<MetricStatus>,
    /// What went wrong with a metric that did not matter in the end.
    failed: Option<String>,
}

impl Plan {
    fn without_metrics(replicas: i32, why: &str) -> Plan {
        Plan { replicas, why: why.to_owned(), statuses: Vec::new(), failed: None }
    }
}
