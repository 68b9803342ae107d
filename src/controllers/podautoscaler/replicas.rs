//! How many Pods one metric asks for: arithmetic over what Pods use, and nothing else.
//!
//! Mirrors `pkg/controller/podautoscaler/replica_calculator.go` and `metrics/utilization.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use object::Pod;
use object::metrics::Metrics;
use object::pod::{is_sidecar, phase, ready_condition};
use object::quantity::Amount;
use object::resources::{is_pod_level, pod_requests};
use object::time::Instant;

/// So long after its start a Pod's CPU counts only while it is ready.
/// `--horizontal-pod-autoscaler-cpu-initialization-period`.
const CPU_INITIALIZATION: Duration = Duration::from_secs(300);
/// So long after its start a Pod that has become unready is taken for one that never was ready.
/// `--horizontal-pod-autoscaler-initial-readiness-delay`.
const INITIAL_READINESS: Duration = Duration::from_secs(30);

/// What one Pod uses, in thousandths of cores or bytes, and when that was measured.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// How much.
    pub value: i64,
    /// When the measurement ended.
    pub timestamp: Instant,
    /// How long it took.
    pub window: Duration,
}

/// By the Pod's name.
pub type Samples = BTreeMap<String, Sample>;

/// What a metric is held against.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// So many percent of what Pods request.
    Utilization(i32),
    /// So much a Pod, in thousandths.
    Average(i64),
}

/// Which metric, and what of the Pods it looks at.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// `cpu` or `memory`.
    pub resource: &'a str,
    /// One container; empty: all of them.
    pub container: &'a str,
    /// What to hold it against.
    pub target: Target,
    /// How far from 1 the ratio may be below and above before anything is done.
    pub tolerance: (f64, f64),
    /// Now.
    pub now: Instant,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// How many Pods there should be.
    pub replicas: i32,
    /// What is used, in percent of what is requested.
    pub utilization: Option<i32>,
    /// What a Pod uses on average, in thousandths.
    pub average: i64,
}

/// What is used, against the target.
struct Measure {
    ratio: f64,
    utilization: Option<i32>,
    average: i64,
}

/// How many Pods the metric asks for, where `current` are asked for. Mirrors `GetResourceReplicas` and
/// `calcPlainMetricReplicas`.
pub fn propose(question: &Question, current: i32, pods: &[Arc<Pod>], mut samples: Samples) -> Result<Proposal, String> {
    if pods.is_empty() {
        return Err("no pods returned by selector while calculating replica count".to_owned());
    }
    let groups = Groups::of(pods, &samples, question);
    samples.retain(|name, _| !groups.ignored.contains(name) && !groups.unready.contains(name));
    if samples.is_empty() {
        return Err("did not receive metrics for targeted pods (pods might be unready)".to_owned());
    }
    let requests = match question.target {
        Target::Utilization(_) => requests(pods, question.resource, question.container)?,
        Target::Average(_) => BTreeMap::new(),
    };
    let first = measure(question.target, &samples, &requests)?;
    let proposal = |replicas| Proposal { replicas, utilization: first.utilization, average: first.average };
    let within = |ratio: f64| 1.0 - question.tolerance.0 <= ratio && ratio <= 1.0 + question.tolerance.1;

    let unready_count = !groups.unready.is_empty() && first.ratio > 1.0;
    if !unready_count && groups.missing.is_empty() {
        let wanted = (first.ratio * f64::from(groups.ready)).ceil() as i32;
        return Ok(proposal(if within(first.ratio) { current } else { wanted }));
    }
    for name in &groups.missing {
        if let Some(value) = assumed(question.target, first.ratio, requests.get(name).copied().unwrap_or(0)) {
            samples.insert(name.clone(), Sample { value, timestamp: question.now, window: Duration::ZERO });
        }
    }
    if unready_count {
        let idle = Sample { value: 0, timestamp: question.now, window: Duration::ZERO };
        samples.extend(groups.unready.iter().map(|name| (name.clone(), idle)));
    }
    let again = measure(question.target, &samples, &requests)?.ratio;
    // What was filled in may not turn growing into shrinking, or the other way round.
    let turned = (first.ratio < 1.0 && again > 1.0) || (first.ratio > 1.0 && again < 1.0);
    if within(again) || turned {
        return Ok(proposal(current));
    }
    let wanted = (again * samples.len() as f64).ceil() as i32;
    let backwards = (again < 1.0 && wanted > current) || (again > 1.0 && wanted < current);
    Ok(proposal(if backwards { current } else { wanted }))
}

/// What a Pod without a sample is taken to use, so that it holds back the coming change: all that it may when
/// Pods are to go, nothing when Pods are to come. Without a coming change it is left out.
fn assumed(target: Target, ratio: f64, request: i64) -> Option<i64> {
    match target {
        Target::Utilization(percent) if ratio < 1.0 => Some(request * i64::from(percent.max(100)) / 100),
        Target::Average(value) if ratio < 1.0 => Some(value),
        _ => (ratio > 1.0).then_some(0),
    }
}

/// Mirrors `GetResourceUtilizationRatio` and `GetMetricUsageRatio`.
fn measure(target: Target, samples: &Samples, requests: &BTreeMap<String, i64>) -> Result<Measure, String> {
    match target {
        Target::Average(wanted) => {
            let average = samples.values().map(|sample| sample.value).sum::<i64>() / samples.len().max(1) as i64;
            Ok(Measure { ratio: average as f64 / wanted as f64, utilization: None, average })
        }
        Target::Utilization(wanted) => {
            let (mut used, mut requested, mut count) = (0, 0, 0);
            for (name, sample) in samples {
                let Some(request) = requests.get(name) else { continue };
                (used, requested, count) = (used + sample.value, requested + request, count + 1);
            }
            if requested == 0 {
                return Err("no metrics returned matched known pods".to_owned());
            }
            let percent = (used * 100 / requested) as i32;
            let ratio = f64::from(percent) / f64::from(wanted);
            Ok(Measure { ratio, utilization: Some(percent), average: used / count })
        }
    }
}

/// Pods by what their samples are worth.
#[derive(Debug, Default, PartialEq, Eq)]
struct Groups {
    ready: i32,
    unready: BTreeSet<String>,
    missing: BTreeSet<String>,
    ignored: BTreeSet<String>,
}

impl Groups {
    /// Mirrors `groupPods`.
    fn of(pods: &[Arc<Pod>], samples: &Samples, question: &Question) -> Groups {
        let mut groups = Groups::default();
        for pod in pods {
            let name = pod.metadata.name.clone().unwrap_or_default();
            let group = match (phase(pod), samples.get(&name)) {
                _ if pod.metadata.deletion_timestamp.is_some() => &mut groups.ignored,
                ("Failed", _) => &mut groups.ignored,
                ("Pending", _) => &mut groups.unready,
                (_, None) => &mut groups.missing,
                (_, Some(sample)) if question.resource == "cpu" && starting(pod, sample, question.now) => {
                    &mut groups.unready
                }
                _ => {
                    groups.ready += 1;
                    continue;
                }
            };
            group.insert(name);
        }
        groups
    }
}

/// Whether the CPU that a Pod uses may be that of its start, and so says nothing of the load.
fn starting(pod: &Pod, sample: &Sample, now: Instant) -> bool {
    let started = pod.status.as_ref().and_then(|status| status.start_time.as_ref()).map(Instant::from_time);
    let (Some(ready), Some(started)) = (ready_condition(pod), started) else { return true };
    let since = ready.last_transition_time.as_ref().map(Instant::from_time).unwrap_or_default();
    let unready = ready.status == "False";
    if started + CPU_INITIALIZATION > now {
        unready || sample.timestamp < since + sample.window
    } else {
        unready && started + INITIAL_READINESS > since
    }
}

/// What each Pod requests, in thousandths; as a whole, if it says so and no container is meant. Mirrors
/// `calculateRequests`.
fn requests(pods: &[Arc<Pod>], resource: &str, container: &str) -> Result<BTreeMap<String, i64>, String> {
    let mut requests = BTreeMap::new();
    for pod in pods {
        let (name, spec) = (pod.metadata.name.clone().unwrap_or_default(), pod.spec.as_ref());
        let whole = spec.and_then(|spec| spec.resources.as_ref()?.requests.as_ref());
        if container.is_empty() && whole.is_some_and(|whole| whole.keys().any(|name| is_pod_level(name))) {
            let missing = || format!("missing pod-level request for {resource} in Pod {name}");
            let request = *pod_requests(pod).get(resource).ok_or_else(missing)?;
            requests.insert(name, request.milli_value());
            continue;
        }
        let inits = spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
        let sidecars = inits.filter(|init| is_sidecar(init));
        let containers = spec.iter().flat_map(|spec| &spec.containers).chain(sidecars);
        let (mut sum, mut found) = (0, false);
        for there in containers.filter(|there| container.is_empty() || there.name == container) {
            let requested = there.resources.as_ref().and_then(|resources| resources.requests.as_ref()?.get(resource));
            let missing = || format!("missing request for {resource} in container {} of Pod {name}", there.name);
            sum += Amount::of(requested.ok_or_else(missing)?).milli_value();
            found = true;
        }
        if !container.is_empty() && !found {
            return Err(format!("container {container} not found in Pod {name}"));
        }
        requests.insert(name, sum);
    }
    Ok(requests)
}

/// What each Pod uses of a resource; a Pod with a container that was not measured is left out. Mirrors
/// `metrics/client.go`.
pub fn samples_of(metrics: &[Metrics], resource: &str, container: &str) -> Result<Samples, String> {
    let mut samples = Samples::new();
    for of_pod in metrics {
        let mut those =
            of_pod.containers.iter().filter(|(name, _)| container.is_empty() || name == container).peekable();
        if those.peek().is_none() && !container.is_empty() {
            let (namespace, name) = (&of_pod.namespace, &of_pod.name);
            return Err(format!("container {container} not present in metrics for pod {namespace}/{name}"));
        }
        let values: Option<Vec<i64>> = those.map(|(_, usage)| Some(usage.of(resource)?.milli_value())).collect();
        if let Some(values) = values {
            let (timestamp, window) = (of_pod.timestamp, of_pod.window);
            samples.insert(of_pod.name.clone(), Sample { value: values.iter().sum(), timestamp, window });
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests;
