//! `metrics.k8s.io`: what Pods and nodes use.
//!
//! In a real cluster this is an aggregated API: the API server passes the request on to metrics-server, which asks every
//! kubelet each 15 s (so says the manifest that it comes with) what its containers have used, and keeps the last two
//! answers. A Pod has metrics once it was asked about twice. Who may read them is decided like any other request, in the
//! API group `metrics.k8s.io`.
//!
//! Here nothing runs that could use a CPU. A scenario says what its Pods use ([`Load`]), and this module answers as
//! metrics-server would: with what was so when it last asked, at every 15th second.
//!
//! Left out: metrics-server as a Pod, and its own requests to the kubelets; that a load which began between two questions
//! counts in part; limits of containers, and of nodes, that would keep a load down; what the system of a node uses itself.

use std::collections::BTreeMap;
use std::time::Duration;

use object::metrics::{Load, Metrics, Usage};
use object::pod::{assigned_node, is_ready, phase};
use object::selector::Selector;
use object::time::Instant;
use object::{Accessor, Kind, Object, Pod, node};

use object::reader::Reader;

/// How often the kubelets are asked. `--metric-resolution`.
const RESOLUTION: Duration = Duration::from_secs(15);

/// Where the numbers come from.
#[derive(Clone, Debug, Default)]
pub struct MetricsApi {
    installed: bool,
    /// In the order in which they came: of several that are about a container the last counts.
    loads: Vec<(Instant, Load, Selector)>,
}

impl MetricsApi {
    /// From now on somebody measures. Until then the API is not there.
    pub fn install(&mut self) {
        self.installed = true;
    }

    /// Whether it is there.
    pub fn is_installed(&self) -> bool {
        self.installed
    }

    /// From now on these Pods use so much. It is an error if the load selects in a way that nobody understands.
    pub fn put_on(&mut self, load: Load, now: Instant) -> Result<(), String> {
        let selector = Selector::parse(&load.selector)?;
        self.install();
        self.loads.push((now, load, selector));
        Ok(())
    }

    /// The last load that says something of this resource of a container, and its place. `given` picks the resource.
    fn of(&self, pod: &Pod, container: usize, then: Instant, given: Given) -> Option<(usize, &Load, i64)> {
        let name = pod.spec.as_ref()?.containers.get(container)?.name.as_str();
        let about = |(_, (since, load, selector)): &(usize, &(Instant, Load, Selector))| {
            *since <= then
                && Some(load.namespace.as_str()) == pod.metadata.namespace.as_deref()
                && given(load).is_some()
                && if load.container.is_empty() { container == 0 } else { load.container == name }
                && selector.matches(pod.metadata.labels.as_ref())
        };
        let (place, (_, load, _)) = self.loads.iter().enumerate().rev().find(about)?;
        Some((place, load, given(load)?))
    }
}

/// What a load says of one resource.
type Given = fn(&Load) -> Option<i64>;

/// What metrics-server has seen at one time.
pub struct Look<'a> {
    api: &'a MetricsApi,
    reader: &'a dyn Reader,
    then: Instant,
    /// How many Pods share each of the loads that are shared, by its place.
    parts: BTreeMap<usize, i64>,
    /// What the Pods of each node use, once anybody wants to know.
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

    fn at_container(&mut self, pod: &Pod, container: usize) -> Usage {
        let mut of = |given: Given| match self.api.of(pod, container, self.then, given) {
            Some((_, load, _)) if load.shared && !is_ready(pod) => 0,
            Some((place, load, amount)) if load.shared => amount / self.parts_of(place),
            Some((_, _, amount)) => amount,
            None => 0,
        };
        Usage { cpu_millis: of(|load| load.cpu_millis), memory_bytes: of(|load| load.memory_bytes) }
    }

    /// How many ready Pods share the load in that place; at least the one that asks.
    fn parts_of(&mut self, place: usize) -> i64 {
        let (_, load, selector) = &self.api.loads[place];
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
