//! `metrics.k8s.io`: what Pods and nodes use.
//!
//! In a real cluster this is an aggregated API: the API server passes the request on to metrics-server, which asks every
//! kubelet each 15 s (so says the manifest that it comes with) what its containers have used, and keeps the last two
//! answers. A Pod has metrics once it was asked about twice. Who may read them is decided like any other request, in the
//! API group `metrics.k8s.io`.
//!
//! Here what Pods use stands in one place ([`Loads`]), and this module answers as metrics-server would: with what was so when
//! it last asked, at every 15th second.
//!
//! Left out: metrics-server as a Pod, and its own requests to the kubelets; that a load which began between two questions
//! counts in part; limits of containers, and of nodes, that would keep a load down; what the system of a node uses itself.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::Memory;
use object::loads::{Loads, Process};
use object::metrics::{Metrics, Usage};
use object::pod::{assigned_node, is_ready, phase};
use object::quantity::Amount;
use object::time::Instant;
use object::{Accessor, Kind, Object, Pod, node};

use object::reader::Reader;

/// How often the kubelets are asked. `--metric-resolution`.
const RESOLUTION: Duration = Duration::from_secs(15);

/// Where the numbers come from.
#[derive(Clone, Debug, Default)]
pub struct MetricsApi {
    /// What is used; None: there is no metrics-server, and so no such API.
    loads: Option<Memory<Loads>>,
}

impl MetricsApi {
    /// From now on this is measured.
    pub fn install(&mut self, loads: Memory<Loads>) {
        self.loads = Some(loads);
    }

    /// Whether it is there.
    pub fn is_installed(&self) -> bool {
        self.loads.is_some()
    }
}

/// What metrics-server has seen at one time.
pub struct Look<'a> {
    api: &'a MetricsApi,
    reader: &'a dyn Reader,
    then: Instant,
    /// How many Pods share each of the loads that are shared, by its place.
    parts: BTreeMap<usize, i64>,
    /// What the Pods of each node use, once a request has needed it.
    nodes: Option<BTreeMap<String, Usage>>,
}

impl Look<'_> {
    /// What was so when it last asked.
    pub fn new<'a>(api: &'a MetricsApi, reader: &'a dyn Reader, now: Instant) -> Look<'a> {
        let then = last_asked(now);
        Look { api, reader, then, parts: BTreeMap::new(), nodes: None }
    }

    /// What a Pod or a node used, if that is known.
    pub fn at(&mut self, object: &Object) -> Option<Metrics> {
        match object {
            Object::Pod(pod) => self.at_pod(pod),
            Object::Node(node) => self.at_node(node.metadata.name()),
            _ => None,
        }
    }

    /// What a Pod used. None if it was not asked about twice yet, all of its containers running, or its node is silent.
    fn at_pod(&mut self, pod: &Pod) -> Option<Metrics> {
        let (spec, status) = (pod.spec.as_ref()?, pod.status.as_ref()?);
        let statuses = status.container_statuses.as_deref().unwrap_or_default();
        let asked_twice = |name: &str| {
            let running = statuses.iter().find(|c| c.name == name)?.state.as_ref()?.running.as_ref()?;
            Some(Instant::from_time(running.started_at.as_ref()?) + RESOLUTION <= self.then)
        };
        let all = spec.containers.iter().all(|container| asked_twice(&container.name) == Some(true));
        if phase(pod) != "Running" || !all || !self.answers(assigned_node(pod)?) {
            return None;
        }
        let names = spec.containers.iter().map(|container| container.name.clone()).enumerate();
        let containers = names.map(|(i, name)| (name, self.at_container(pod, i))).collect();
        let [namespace, name] = [&pod.metadata.namespace, &pod.metadata.name].map(|n| n.clone().unwrap_or_default());
        Some(Metrics { namespace, name, timestamp: self.then, window: RESOLUTION, containers })
    }

    fn at_container(&mut self, pod: &Pod, at: usize) -> Usage {
        let (api, then) = (self.api, self.then);
        let (Some(loads), Some(container)) = (&api.loads, pod.spec.as_ref().and_then(|s| s.containers.get(at))) else {
            return Usage::default();
        };
        let loads = loads.borrow();
        let words: Vec<String> =
            [&container.command, &container.args].into_iter().flatten().flatten().cloned().collect();
        let limit = container.resources.as_ref().and_then(|needs| needs.limits.as_ref()?.get("memory"));
        let process = Process {
            namespace: pod.metadata.namespace(),
            labels: pod.metadata.labels.as_ref(),
            container: &container.name,
            is_first: at == 0,
            words: &words,
            memory_limit: limit.map_or(0, |limit| Amount::parse(&limit.0).unwrap_or_default().value()),
        };
        let mut share = |place: usize, all: i64| if is_ready(pod) { all / self.parts_of(&loads, place) } else { 0 };
        Usage {
            cpu_millis: loads.cpu_millis(&process, then, &mut share),
            memory_bytes: loads.memory_bytes(&process, then, &mut share),
        }
    }

    /// How many ready Pods share the load in that place; at least the one that asks.
    fn parts_of(&mut self, loads: &Loads, place: usize) -> i64 {
        let Some((load, selector)) = loads.at(place) else { return 1 };
        let takes_part = |object: &Object| match object {
            Object::Pod(pod) => is_ready(pod) && selector.matches(pod.metadata.labels.as_ref()),
            _ => false,
        };
        *self.parts.entry(place).or_insert_with(|| {
            let pods = self.reader.list(Kind::Pod, &load.namespace);
            pods.iter().filter(|object| takes_part(object)).count().max(1) as i64
        })
    }

    fn at_node(&mut self, name: &str) -> Option<Metrics> {
        if !self.answers(name) {
            return None;
        }
        if self.nodes.is_none() {
            self.nodes = Some(self.by_node());
        }
        let used = self.nodes.as_ref().and_then(|nodes| nodes.get(name)).copied().unwrap_or_default();
        let containers = vec![(String::new(), used)];
        let (namespace, name) = (String::new(), name.to_owned());
        Some(Metrics { namespace, name, timestamp: self.then, window: RESOLUTION, containers })
    }

    fn by_node(&mut self) -> BTreeMap<String, Usage> {
        let mut nodes: BTreeMap<String, Usage> = BTreeMap::new();
        for object in self.reader.list(Kind::Pod, "") {
            let Object::Pod(pod) = &object else { continue };
            if let (Some(node), Some(metrics)) = (assigned_node(pod), self.at_pod(pod)) {
                let used = nodes.entry(node.to_owned()).or_default();
                *used = [*used, metrics.total()].into_iter().sum();
            }
        }
        nodes
    }

    /// Whether the node's kubelet answers.
    fn answers(&self, node: &str) -> bool {
        let Some(Object::Node(node)) = self.reader.get(Kind::Node, "", node) else { return false };
        node::is_ready(&node)
    }
}

fn last_asked(now: Instant) -> Instant {
    let round = RESOLUTION.as_nanos() as u64;
    Instant(now.0 / round * round)
}
