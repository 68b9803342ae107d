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

use crate::object::metrics::{GROUP, Load, Metrics, Usage};
use crate::object::pod::{assigned_node, is_ready, phase};
use crate::object::selector::Selector;
use crate::object::status::Reason;
use crate::object::time::Instant;
use crate::object::{Accessor, Kind, Object, Pod, Status, node};
use crate::wire::{Response, Verb};

use super::{ApiServer, Handling, Outcome};
use crate::object::reader::Reader;

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

impl ApiServer {
    /// `GET` or `LIST` of what Pods or nodes use.
    pub(super) fn metrics(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let plural = request.kind.info().plural;
        if !self.metrics.installed {
            let status = Status::not_served();
            let message = format!("{} (get {plural}.{GROUP})", status.message);
            return Err(Status { message, ..status });
        }
        handling.stage("aggregation", || format!("to metrics-server: {plural}.{GROUP}"));
        let mut look = Look::new(self, last_asked(handling.now));
        if request.verb == Verb::Get {
            let object = self.stored(request.kind, &request.namespace, &request.name).ok();
            let found = object.and_then(|object| look.at(&object));
            return found.map(|metrics| (200, Response::Metrics(vec![metrics]))).ok_or_else(|| {
                let namespace =
                    if request.namespace.is_empty() { String::new() } else { request.namespace.clone() + "/" };
                let (kind, name) = (request.kind.info().singular(), namespace + &request.name);
                Status::new(Reason::NotFound, format!("{kind}metrics.{GROUP} {name:?} not found"))
            });
        }
        let objects = self.matching(handling)?;
        let all: Vec<Metrics> = objects.iter().filter_map(|object| look.at(object)).collect();
        Ok((200, Response::Metrics(all)))
    }
}

/// What metrics-server has seen at one time.
struct Look<'a> {
    server: &'a ApiServer,
    then: Instant,
    /// How many Pods share each of the loads that are shared, by its place.
    parts: BTreeMap<usize, i64>,
    /// What the Pods of each node use, once anybody wants to know.
    nodes: Option<BTreeMap<String, Usage>>,
}

impl Look<'_> {
    fn new(server: &ApiServer, then: Instant) -> Look<'_> {
        Look { server, then, parts: BTreeMap::new(), nodes: None }
    }

    fn at(&mut self, object: &Object) -> Option<Metrics> {
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
        let mut of = |given: Given| match self.server.metrics.of(pod, container, self.then, given) {
            Some((_, load, _)) if load.shared && !is_ready(pod) => 0,
            Some((place, load, amount)) if load.shared => amount / self.parts_of(place),
            Some((_, _, amount)) => amount,
            None => 0,
        };
        Usage { cpu_millis: of(|load| load.cpu_millis), memory_bytes: of(|load| load.memory_bytes) }
    }

    /// How many ready Pods share the load in that place; at least the one that asks.
    fn parts_of(&mut self, place: usize) -> i64 {
        let (_, load, selector) = &self.server.metrics.loads[place];
        let takes_part = |object: &Object| match object {
            Object::Pod(pod) => is_ready(pod) && selector.matches(pod.metadata.labels.as_ref()),
            _ => false,
        };
        *self.parts.entry(place).or_insert_with(|| {
            let pods = Reader::list(&self.server.store, Kind::Pod, &load.namespace);
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
        for object in Reader::list(&self.server.store, Kind::Pod, "") {
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
        let Some(Object::Node(node)) = Reader::get(&self.server.store, Kind::Node, "", node) else { return false };
        node::is_ready(&node)
    }
}

fn last_asked(now: Instant) -> Instant {
    let round = RESOLUTION.as_nanos() as u64;
    Instant(now.0 / round * round)
}
