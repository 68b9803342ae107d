//! What the metrics of an autoscaler ask for: whom it asks, and what it says when it is not told.

use std::sync::Arc;

use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::autoscaling::v2::{
    ContainerResourceMetricStatus, HPAScalingRules, HorizontalPodAutoscaler, MetricSpec, MetricStatus, MetricTarget,
    MetricValueStatus, ResourceMetricStatus,
};

use crate::service_pods::selected;
use client::EventType;
use object::quantity::Amount;
use object::selector::{Selector, format_label_selector};
use object::{Key, Pod};

use super::Autoscalers;
use super::replicas::{Proposal, Question, Target, propose, samples_of};
use super::status::{SCALING_ACTIVE, say};

/// How far from 1 the ratio may be before anything is done. `--horizontal-pod-autoscaler-tolerance`.
const TOLERANCE: f64 = 0.1;

/// What all metrics together came to.
pub(super) struct Computed {
    /// How many Pods, and which metric asked for the most; or why that is unknown.
    pub wanted: Result<(i32, String), String>,
    /// What each metric is now. One that could not be read is empty.
    pub statuses: Vec<MetricStatus>,
    /// What went wrong with some of the metrics while others asked for more Pods.
    pub failed: Option<String>,
}

/// One metric.
struct Answer {
    replicas: i32,
    name: String,
    status: MetricStatus,
}

/// Why a metric cannot be read.
struct Unreadable {
    /// For the condition ScalingActive.
    reason: &'static str,
    /// For the condition and the Event.
    why: String,
    /// What was wanted: `failed to get cpu resource metric value`.
    wanted: String,
}

impl Autoscalers {
    /// Asks for each metric; the one that asks for most Pods counts. Mirrors `computeReplicasForMetrics`.
    pub(super) async fn compute(
        &self,
        key: &Key,
        hpa: &mut HorizontalPodAutoscaler,
        scale: &Scale,
        current: i32,
    ) -> Computed {
        let pods = match self.pods_of(key, hpa, scale) {
            Ok(pods) => pods,
            Err(why) => return Computed { wanted: Err(why), statuses: Vec::new(), failed: None },
        };
        let metrics = hpa.spec.metrics.clone().unwrap_or_default();
        let (mut statuses, mut most, mut bad) = (Vec::new(), None::<(i32, String)>, Vec::new());
        for metric in &metrics {
            match self.ask(key, hpa, metric, current, &pods).await {
                Ok(Answer { replicas, name, status }) => {
                    statuses.push(status);
                    if most.as_ref().is_none_or(|(most, _)| *most == 0 || replicas > *most) {
                        most = Some((replicas, name));
                    }
                }
                Err(unreadable) => {
                    self.recorder.event(hpa, EventType::Warning, unreadable.reason, unreadable.why.clone());
                    statuses.push(MetricStatus::default());
                    bad.push(unreadable);
                }
            }
        }
        let count = bad.len();
        let failed = bad.first().map(|Unreadable { why, wanted, .. }| {
            let of = metrics.len();
            format!("invalid metrics ({count} invalid out of {of}), first error is: {wanted}: {why}")
        });
        let now = self.client.now();
        match (most, bad.first()) {
            // What cannot be read may ask for more: so nothing shrinks.
            (Some((replicas, name)), first) if first.is_none() || replicas >= current => {
                let text = format!("the HPA was able to successfully calculate a replica count from {name}");
                say(hpa, SCALING_ACTIVE, true, "ValidMetricFound", text, now);
                Computed { wanted: Ok((replicas, name)), statuses, failed }
            }
            (_, first) => {
                if let Some(Unreadable { reason, why, .. }) = first {
                    let text = format!("the HPA was unable to compute the replica count: {why}");
                    say(hpa, SCALING_ACTIVE, false, reason, text, now);
                }
                Computed { wanted: Err(failed.unwrap_or_default()), statuses, failed: None }
            }
        }
    }

    /// The target's Pods, unless another autoscaler has them as well. Mirrors `validateAndParseSelector`.
    fn pods_of(
        &self,
        key: &Key,
        hpa: &mut HorizontalPodAutoscaler,
        scale: &Scale,
    ) -> Result<(Selector, Vec<Arc<Pod>>), String> {
        let text = scale.status.as_ref().and_then(|status| status.selector.clone()).unwrap_or_default();
        let refuse = |hpa: &mut HorizontalPodAutoscaler, event: &str, reason: &str, why: String, said: &str| {
            self.recorder.event(hpa, EventType::Warning, event, why.clone());
            say(hpa, SCALING_ACTIVE, false, reason, said, self.client.now());
            Err(why)
        };
        if text.is_empty() {
            const SAID: &str = "the HPA target's scale is missing a selector";
            return refuse(hpa, "SelectorRequired", "InvalidSelector", "selector is required".to_owned(), SAID);
        }
        let selector = match Selector::parse(&text) {
            Ok(selector) => selector,
            Err(why) => {
                let why = format!("couldn't convert selector into a corresponding internal selector object: {why}");
                return refuse(hpa, "InvalidSelector", "InvalidSelector", why.clone(), &why);
            }
        };
        let pods = selected(&self.pods, key.namespace(), &selector);
        let mut memory = self.memory.borrow_mut();
        memory.entry(key.clone()).or_default().selector = Some(selector.clone());
        let has_any = |other: &Selector| pods.iter().any(|pod| other.matches(pod.metadata.labels.as_ref()));
        let same = memory.iter().filter(|(other, known)| {
            other.namespace() == key.namespace() && (*other == key || known.selector.as_ref().is_some_and(has_any))
        });
        let same: Vec<&str> = same.map(|(other, _)| other.as_str()).collect();
        if same.len() > 1 {
            let why = format!("pods by selector {text} are controlled by multiple HPAs: [{}]", same.join(" "));
            return refuse(hpa, "AmbiguousSelector", "AmbiguousSelector", why.clone(), &why);
        }
        Ok((selector, pods))
    }

    /// Mirrors `computeReplicasForMetric`.
    async fn ask(
        &self,
        key: &Key,
        hpa: &HorizontalPodAutoscaler,
        metric: &MetricSpec,
        current: i32,
        pods: &(Selector, Vec<Arc<Pod>>),
    ) -> Result<Answer, Unreadable> {
        if let Some(resource) = &metric.resource {
            let answer = self.ask_resource(key, hpa, (&resource.name, ""), &resource.target, current, pods).await;
            let (proposal, name) = answer.map_err(|why| Unreadable {
                reason: "FailedGetResourceMetric",
                why,
                wanted: format!("failed to get {} resource metric value", resource.name),
            })?;
            let resource =
                Some(ResourceMetricStatus { name: resource.name.clone(), current: value(&resource.name, proposal) });
            let status = MetricStatus { type_: "Resource".to_owned(), resource, ..MetricStatus::default() };
            return Ok(Answer { replicas: proposal.replicas, name, status });
        }
        if let Some(resource) = &metric.container_resource {
            let (of, container) = (resource.name.as_str(), resource.container.as_str());
            let answer = self.ask_resource(key, hpa, (of, container), &resource.target, current, pods).await;
            let (proposal, name) = answer.map_err(|why| Unreadable {
                reason: "FailedGetContainerResourceMetric",
                why,
                wanted: format!("failed to get {container} container metric value"),
            })?;
            let (name_of, container) = (of.to_owned(), container.to_owned());
            let status = ContainerResourceMetricStatus { name: name_of, container, current: value(of, proposal) };
            let container_resource = Some(status);
            let status =
                MetricStatus { type_: "ContainerResource".to_owned(), container_resource, ..MetricStatus::default() };
            return Ok(Answer { replicas: proposal.replicas, name, status });
        }
        Err(unserved(key.namespace(), metric))
    }

    /// Mirrors `computeStatusForResourceMetricGeneric`.
    async fn ask_resource(
        &self,
        key: &Key,
        hpa: &HorizontalPodAutoscaler,
        (resource, container): (&str, &str),
        wanted: &MetricTarget,
        current: i32,
        (selector, pods): &(Selector, Vec<Arc<Pod>>),
    ) -> Result<(Proposal, String), String> {
        let (target, noun) = match (&wanted.average_value, wanted.average_utilization) {
            (Some(value), _) => (Target::Average(Amount::of(value).milli_value()), "usage"),
            (None, Some(percent)) => (Target::Utilization(percent), "utilization"),
            (None, None) => {
                const WHY: &str = "invalid resource metric source: neither an average utilization target nor an \
                                   average value (usage) target was set";
                return Err(WHY.to_owned());
            }
        };
        let failed = |why: String| format!("failed to get {resource} {noun}: {why}");
        let unable = |why: String| failed(format!("unable to get metrics for resource {resource}: {why}"));
        let metrics = self.client.pod_metrics(key.namespace(), &selector.to_string()).await;
        let metrics =
            metrics.map_err(|why| unable(format!("unable to fetch metrics from resource metrics API: {why}")))?;
        if metrics.is_empty() {
            return Err(unable("no metrics returned from resource metrics API".to_owned()));
        }
        let samples = samples_of(&metrics, resource, container);
        let samples = samples.map_err(|why| unable(format!("failed to get container metrics: {why}")))?;
        let question = Question { resource, container, target, tolerance: tolerance(hpa), now: self.client.now() };
        let proposal = propose(&question, current, pods, samples).map_err(failed)?;
        let name = match target {
            Target::Average(_) => format!("{resource} resource"),
            Target::Utilization(_) if container.is_empty() => {
                format!("{resource} resource utilization (percentage of request)")
            }
            Target::Utilization(_) => format!("{resource} container resource utilization (percentage of request)"),
        };
        Ok((proposal, name))
    }
}

/// Why a metric of another sort cannot be read: this cluster serves no custom and no external metrics API.
fn unserved(namespace: &str, metric: &MetricSpec) -> Unreadable {
    const NO_CUSTOM: &str = "unable to fetch metrics from custom metrics API: no custom metrics API \
                             (custom.metrics.k8s.io) registered";
    if let Some(pods) = &metric.pods {
        let why = format!("unable to get metric {}: {NO_CUSTOM}", pods.metric.name);
        let wanted = "failed to get pods metric value".to_owned();
        return Unreadable { reason: "FailedGetPodsMetric", why, wanted };
    }
    if let Some(object) = &metric.object {
        let (name, of) = (&object.metric.name, &object.described_object);
        let why = format!("unable to get metric {name}: {} on {namespace} {}/{NO_CUSTOM}", of.kind, of.name);
        let wanted = "failed to get object metric value".to_owned();
        return Unreadable { reason: "FailedGetObjectMetric", why, wanted };
    }
    let external = metric.external.as_ref().map(|external| &external.metric);
    let name = external.map_or("", |metric| metric.name.as_str());
    let labels = external.and_then(|metric| metric.selector.as_ref());
    let labels = labels.map_or_else(|| "nil".to_owned(), |labels| format_label_selector(Some(labels)));
    let why = format!(
        "unable to get external metric {namespace}/{name}/{labels}: unable to fetch metrics from external metrics API: \
         the server could not find the requested resource (get {name}.external.metrics.k8s.io)"
    );
    let wanted = format!("failed to get {name} external metric value");
    Unreadable { reason: "FailedGetExternalMetric", why, wanted }
}

/// Memory is written as metrics-server writes it.
fn value(resource: &str, proposal: Proposal) -> MetricValueStatus {
    let average = Amount::millis(proposal.average);
    let average = if resource == "memory" { average.in_bytes() } else { average };
    MetricValueStatus {
        average_utilization: proposal.utilization,
        average_value: Some(average.to_quantity()),
        value: None,
    }
}

/// Below and above 1.
fn tolerance(hpa: &HorizontalPodAutoscaler) -> (f64, f64) {
    let behavior = hpa.spec.behavior.as_ref();
    let of = |rules: Option<&HPAScalingRules>| {
        let set = rules.and_then(|rules| rules.tolerance.as_ref());
        set.map_or(TOLERANCE, |set| Amount::of(set).milli_value() as f64 / 1e3)
    };
    (of(behavior.and_then(|b| b.scale_down.as_ref())), of(behavior.and_then(|b| b.scale_up.as_ref())))
}
