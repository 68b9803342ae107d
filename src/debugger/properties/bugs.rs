//! What some scenarios break: properties that hold there only, and are named by them.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use apiserver::host::Engine;
use engine::{Note, Queued, Step, What};
use kubelet::cri::ContainerState;
use kubelet::runtime::Runtime;
use network::kernel::frame::Frame;
use network::netfilter::packet::{Payload, Unreachable};
use object::meta::controller_of;
use object::reader::Reader;
use object::status::Reason;
use object::time::Instant;
use object::well_known::SERVICE_NAME;
use object::{Key, Kind, Object};
use wire::Verb;

use super::{Property, node_of, stored};

/// No ReplicaSet ever has more Pods than it has ever asked for.
#[derive(Clone, Default)]
pub(super) struct NoMorePodsThanAsked {
    /// By the ReplicaSet's uid.
    asked: BTreeMap<String, i32>,
    /// Names of Pods, by the uid of their owner.
    pods: BTreeMap<String, BTreeSet<String>>,
}

impl Property for NoMorePodsThanAsked {
    fn name(&self) -> &'static str {
        "no ReplicaSet ever has more Pods than it asks for"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        for (_, old, new) in stored(step) {
            match new.or(old) {
                Some(Object::ReplicaSet(set)) => {
                    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
                    let asked = self.asked.entry(set.metadata.uid.clone().unwrap_or_default()).or_default();
                    *asked = wanted.max(*asked);
                }
                Some(Object::Pod(pod)) => {
                    let Some(owner) = controller_of(&pod.metadata) else { continue };
                    let pods = self.pods.entry(owner.uid.clone()).or_default();
                    let name = pod.metadata.name.clone().unwrap_or_default();
                    if new.is_none() || pod.metadata.deletion_timestamp.is_some() {
                        pods.remove(&name);
                    } else {
                        pods.insert(name);
                    }
                    let asked = self.asked.get(&owner.uid).copied().unwrap_or(0);
                    if pods.len() > usize::try_from(asked).unwrap_or(0) {
                        return Err(format!("{} asks for {asked} Pods and has {}", owner.name, pods.len()));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A garbage collector deletes nothing whose owner is there.
#[derive(Clone)]
pub(super) struct OwnersAreGone;

impl Property for OwnersAreGone {
    fn name(&self) -> &'static str {
        "what the garbage collector deletes has no owner any more"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        let What::Request { request, .. } = &step.event.what else { return Ok(()) };
        if request.verb != Verb::Delete || !request.user.agent.ends_with("garbage-collector") {
            return Ok(());
        }
        for old in stored(step).filter_map(|(_, old, _)| old) {
            let Some(owner) = controller_of(old.meta()) else { continue };
            let Some(kind) = Kind::from_word(&owner.kind) else { continue };
            let there = Reader::get(&engine.server.api.store, kind, old.namespace(), &owner.name);
            if there.is_some_and(|there| there.meta().uid.as_ref() == Some(&owner.uid)) {
                return Err(format!("it deletes {}, whose owner {} is there", old.name(), owner.name));
            }
        }
        Ok(())
    }
}

/// Controllers read from their caches. Those that look for objects of any kind ask the API server.
#[derive(Clone)]
pub(super) struct NothingListed;

/// They look for objects of any kind.
const LOOK_EVERYWHERE: [&str; 2] = ["generic-garbage-collector", "namespace-controller"];

impl Property for NothingListed {
    fn name(&self) -> &'static str {
        "a controller lists nothing and gets no Pod: it has a cache"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        let What::Request { request, .. } = &step.event.what else { return Ok(()) };
        let (process, agent) = (engine.name(step.event.from), &*request.user.agent);
        // Under the name of the process its caches are filled.
        let is_controller = process == "kube-controller-manager" && agent != process;
        let reads = request.verb == Verb::List || request.verb == Verb::Get && request.kind == Kind::Pod;
        match is_controller && reads && !LOOK_EVERYWHERE.contains(&agent) {
            true => Err(format!("it sends: {}", request.line())),
            false => Ok(()),
        }
    }
}

/// No controller sends what the API server must refuse, however often it is sent.
#[derive(Clone)]
pub(super) struct NothingInvalid;

impl Property for NothingInvalid {
    fn name(&self) -> &'static str {
        "nothing is sent that can never be stored"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        let What::Request { request, .. } = &step.event.what else { return Ok(()) };
        let refused = step.notes.iter().find_map(|note| match note {
            Note::Answered { error: Some(error), .. } if error.reason() == Reason::Invalid => Some(error),
            _ => None,
        });
        match refused.filter(|_| engine.name(step.event.from) == "kube-controller-manager") {
            Some(error) => Err(format!("{}: {error}", request.line())),
            None => Ok(()),
        }
    }
}

/// An operator does not fail at what can only be done once its object is changed; nor does a ReplicaSet's controller at
/// one that is being deleted.
#[derive(Clone)]
pub(super) struct NothingTriedInVain;

/// Whether the data of a site can be read: a number of Pods, and an image.
fn asks_for_pods(data: Option<&BTreeMap<String, String>>) -> bool {
    let of = |key| data.and_then(|data| data.get(key));
    let is_number = of("replicas").is_some_and(|text| text.parse::<i32>().is_ok_and(|count| count >= 0));
    is_number && of("image").is_some_and(|image| !image.is_empty())
}

/// The backoff after a failure is shorter than the delay that a reconcile asks for when it only wants to look again.
const RETRIED_WITHIN: Duration = Duration::from_secs(1);

impl Property for NothingTriedInVain {
    fn name(&self) -> &'static str {
        "what cannot be done is not tried again until it is changed"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        let is_going = |key: &Key| {
            let set = Reader::get(&engine.server.api.store, Kind::ReplicaSet, key.namespace(), key.name());
            set.is_some_and(|set| set.meta().deletion_timestamp.is_some())
        };
        // A site whose spec cannot be read.
        let is_nonsense = |key: &Key| {
            let site = Reader::get(&engine.server.api.store, Kind::ConfigMap, key.namespace(), key.name());
            matches!(site, Some(Object::ConfigMap(site)) if !asks_for_pods(site.data.as_ref()))
        };
        let again = step.notes.iter().find_map(|note| match note {
            Note::Queue { queue, key, how: Queued::Later(at) } => match &**queue {
                "site-operator" => Some((key, *at)),
                "replicaset-controller" => Some((key, *at)).filter(|(key, _)| is_going(key)),
                _ => None,
            },
            _ => None,
        });
        let again = again.filter(|(key, at)| *at < step.time + RETRIED_WITHIN || is_nonsense(key));
        match again {
            Some((key, _)) => Err(format!("{key} is tried again")),
            None => Ok(()),
        }
    }
}

/// What has been the same for a while is not written once more as it is: by then every cache shows it. The API server stores
/// nothing then, but it is asked each time.
#[derive(Clone, Default)]
pub(super) struct NothingWrittenInVain {
    /// When each object was stored last.
    stored: BTreeMap<(Kind, Key), Instant>,
}

/// After so long no cache is behind, if nothing is held back.
const SEEN_AFTER: Duration = Duration::from_millis(500);

impl Property for NothingWrittenInVain {
    fn name(&self) -> &'static str {
        "what is as it should be is not written again"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for object in stored(step).filter_map(|(_, old, new)| new.or(old)) {
            let key = Key::new(object.namespace(), object.name());
            self.stored.insert((object.kind(), key), step.time);
        }
        let What::Request { request, .. } = &step.event.what else { return Ok(()) };
        let writes = matches!(request.verb, Verb::Update | Verb::Patch);
        let is_done = step.notes.iter().any(|note| matches!(note, Note::Answered { error: None, .. }));
        if !writes || !is_done || engine.name(step.event.from) != "kube-controller-manager" {
            return Ok(());
        }
        let key = (request.kind, Key::new(&request.namespace, &request.name));
        match self.stored.get(&key) {
            Some(last) if step.time >= *last + SEEN_AFTER => Err(format!("{} changes nothing", request.line())),
            _ => Ok(()),
        }
    }
}

/// No two nodes run containers of Pods of one name.
#[derive(Clone, Default)]
pub(super) struct OneAtATime {
    /// The nodes that run it, by Pod.
    running: BTreeMap<String, BTreeSet<String>>,
}

impl Property for OneAtATime {
    fn name(&self) -> &'static str {
        "a Pod of one name runs on one node at a time"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        let Some(actor) = engine.actor(step.event.to) else { return Ok(()) };
        let Some(runtime) = actor.as_any().downcast_ref::<Runtime>() else { return Ok(()) };
        let node = actor.name().trim_start_matches("containerd/");
        for nodes in self.running.values_mut() {
            nodes.remove(node);
        }
        let pods: Vec<String> = runtime.with(|state| {
            let runs = state.containers.values().filter(|c| c.status.state == ContainerState::ContainerRunning);
            runs.map(|container| container.status.pod_uid.clone())
                .filter_map(|uid| state.sandboxes.values().find(|sandbox| sandbox.config.uid == uid))
                .map(|sandbox| format!("{}/{}", sandbox.config.namespace, sandbox.config.name))
                .collect()
        });
        for pod in pods {
            let nodes = self.running.entry(pod.clone()).or_default();
            nodes.insert(node.to_owned());
            if nodes.len() > 1 {
                let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
                return Err(format!("{pod} runs on {}", nodes.join(" and ")));
            }
        }
        Ok(())
    }
}

/// A Pod is bound to nodes that are there.
#[derive(Clone)]
pub(super) struct NodesExist;

impl Property for NodesExist {
    fn name(&self) -> &'static str {
        "a Pod is bound only to a node that is there"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for (_, old, new) in stored(step) {
            let (before, after) = (old.and_then(node_of), new.and_then(node_of));
            if let (None, Some(node), Some(pod)) = (before, after, new)
                && Reader::get(&engine.server.api.store, Kind::Node, "", node).is_none()
            {
                return Err(format!("{} is bound to {node}, which does not exist", pod.name()));
            }
        }
        Ok(())
    }
}

/// No endpoint is in two slices of one Service.
#[derive(Clone)]
pub(super) struct OneSliceAnAddress;

impl Property for OneSliceAnAddress {
    fn name(&self) -> &'static str {
        "no address is in two EndpointSlices of one Service"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for new in stored(step).filter_map(|(_, _, new)| new) {
            let prefix = format!("/registry/endpointslices/{}/", new.namespace());
            let others = engine.server.api.store.prefix(&prefix).map(|(_, entry)| &entry.value);
            for other in others.filter(|other| other.name() != new.name() && service_of(other) == service_of(new)) {
                if let Some(address) = addresses_of(new).intersection(&addresses_of(other)).next() {
                    return Err(format!("{address} is in {} and in {}", new.name(), other.name()));
                }
            }
        }
        Ok(())
    }
}

fn service_of(slice: &Object) -> Option<&String> {
    slice.meta().labels.as_ref()?.get(SERVICE_NAME)
}

fn addresses_of(slice: &Object) -> BTreeSet<&str> {
    let Object::EndpointSlice(slice) = slice else { return BTreeSet::new() };
    slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses).map(String::as_str).collect()
}

/// No connection is refused because a rule led to a process that has ended.
#[derive(Clone)]
pub(super) struct NothingSentToTheDead;

impl Property for NothingSentToTheDead {
    fn name(&self) -> &'static str {
        "no connection is sent to a Pod that has ended"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        let What::Packet { message, .. } = &step.event.what else { return Ok(()) };
        let Some(frame) = (&**message as &dyn Any).downcast_ref::<Frame>() else { return Ok(()) };
        match &frame.packet.payload {
            Payload::Rst | Payload::Unreachable { code: Unreachable::Host, .. } => {
                Err(format!("a connection is refused: {}", frame.packet))
            }
            _ => Ok(()),
        }
    }
}
