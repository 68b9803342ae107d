//! What must hold in every run, checked from outside after every event.
//!
//! A property looks at steps, never into a component. Tests, the explorer and the debugger use the same ones.

use std::any::Any;
use std::collections::BTreeMap;

use apiserver::host::Engine;
use engine::{ActorId, Note, Step, What};
use kubelet::runtime::Runtime;
use network::cni::exec::{Command, PluginRun};
use object::pod::{assigned_node, has_ended, is_final};
use object::{Kind, Object};
use wire::{WatchEvent, WatchId};

use super::changes::stored;

mod autoscaling;
mod bugs;
mod evictions;
mod jobs;
mod leaders;
pub mod own;
mod policies;
mod quiet;
mod quotas;
mod services;
mod sets;
mod storage;

/// One property.
pub trait Property: Copied {
    /// What must hold, in words.
    fn name(&self) -> &str;
    /// Looks at one step. An error says what broke it.
    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String>;
    /// Looks at the world when nothing is left to do.
    fn finish(&mut self, _: &Engine) -> Result<(), String> {
        Ok(())
    }
}

/// What every property can do that can be cloned.
pub trait Copied {
    /// One that has seen the same.
    fn copied(&self) -> Box<dyn Property>;
}

impl<P: Property + Clone + 'static> Copied for P {
    fn copied(&self) -> Box<dyn Property> {
        Box::new(self.clone())
    }
}

/// Makes a property that has seen nothing yet.
pub type Make = fn() -> Box<dyn Property>;

/// The properties that hold for any scenario, by the word by which they are asked for.
pub const SHARED: &[(&str, Make)] = &[
    ("bound-once", || Box::new(BoundOnce::default())),
    ("own-pods-only", || Box::new(OwnPodsOnly)),
    ("revisions-grow", || Box::new(RevisionsGrow::default())),
    ("watches-in-order", || Box::new(WatchesInOrder::default())),
    ("writes-have-causes", || Box::new(WritesHaveCauses)),
    ("phases-end", || Box::new(PhasesEnd)),
    ("restarts-grow", || Box::new(RestartsGrow)),
    ("settled", || Box::new(quiet::Settled)),
    ("owners-exist", || Box::new(quiet::OwnersExist)),
    ("namespaces-exist", || Box::new(quiet::NamespacesExist)),
    ("adds-are-undone", || Box::new(AddsAreUndone::default())),
    ("addresses-apart", || Box::new(AddressesApart::default())),
    ("published-once", || Box::new(storage::PublishedOnce::default())),
    ("bound-both-ways", || Box::new(storage::BoundBothWays)),
    ("ready-before-listed", || Box::new(services::ReadyBeforeListed::default())),
    ("ready-answers", || Box::new(services::ReadyAnswers)),
    ("none-to-the-gone", || Box::new(services::NoneToTheGone::default())),
    ("counted-once", || Box::new(jobs::CountedOnce::default())),
    ("quota-held", || Box::new(quotas::QuotaHeld)),
    ("policies-hold", || Box::new(policies::PoliciesHold::default())),
    ("pdb-held", || Box::new(evictions::BudgetsHeld::default())),
    ("hpa-in-bounds", || Box::new(autoscaling::InBounds::default())),
    ("one-a-node", || Box::new(sets::OneANode::default())),
];

/// Properties that hold in some scenarios only, which name them.
pub const SPECIAL: &[(&str, Make)] = &[
    ("no-more-pods-than-asked", || Box::new(bugs::NoMorePodsThanAsked::default())),
    ("quota-kept", || Box::new(quotas::QuotaKept)),
    ("pods-as-asked", || Box::new(quiet::PodsAsAsked)),
    ("nothing-listed", || Box::new(bugs::NothingListed)),
    ("nothing-invalid", || Box::new(bugs::NothingInvalid)),
    ("nothing-tried-in-vain", || Box::new(bugs::NothingTriedInVain)),
    ("nothing-written-in-vain", || Box::new(bugs::NothingWrittenInVain::default())),
    ("owners-are-gone", || Box::new(bugs::OwnersAreGone)),
    ("one-at-a-time", || Box::new(bugs::OneAtATime::default())),
    ("nodes-exist", || Box::new(bugs::NodesExist)),
    ("one-slice-an-address", || Box::new(bugs::OneSliceAnAddress)),
    ("one-leader", || Box::new(leaders::OneLeader)),
    ("nothing-sent-to-the-dead", || Box::new(bugs::NothingSentToTheDead)),
];

/// All properties that hold for any scenario.
pub fn all() -> Vec<Box<dyn Property>> {
    SHARED.iter().map(|(_, make)| make()).collect()
}

/// The property behind a word.
pub fn named(word: &str) -> Result<Make, String> {
    let found = SHARED.iter().chain(SPECIAL).find(|(name, _)| *name == word).map(|(_, make)| *make);
    let names = || SHARED.iter().chain(SPECIAL).map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("there is no property {word:?}; there are {}", names()))
}

/// No two live Pods have the same address. A Pod that is going keeps its address in its status for a while; so does one
/// on a node that is gone.
#[derive(Clone, Default)]
struct AddressesApart {
    /// Whose an address is: the Pod's uid and name.
    owners: BTreeMap<String, (String, String)>,
}

impl Property for AddressesApart {
    fn name(&self) -> &'static str {
        "no two live Pods share an address"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        for (_, old, new) in stored(step) {
            for (object, there) in [(old, false), (new, true)] {
                let Some((address, uid, name)) = object.and_then(live_address) else { continue };
                if !there {
                    if self.owners.get(&address).is_some_and(|owner| owner.0 == uid) {
                        self.owners.remove(&address);
                    }
                    continue;
                }
                let owner = self.owners.entry(address.clone()).or_insert((uid.clone(), name.clone()));
                if owner.0 != uid {
                    return Err(format!("{name} and {} both have {address}", owner.1));
                }
            }
        }
        Ok(())
    }
}

/// The address, uid and name of a Pod that neither is going nor shares its node's network.
fn live_address(object: &Object) -> Option<(String, String, String)> {
    let Object::Pod(pod) = object else { return None };
    let status = pod.status.as_ref()?;
    let on_host = pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or(false);
    if on_host || has_ended(pod) || pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    Some((status.pod_ip.clone()?.into(), pod.metadata.uid.clone()?, pod.metadata.name.clone()?))
}

fn node_of(object: &Object) -> Option<&str> {
    match object {
        Object::Pod(pod) => assigned_node(pod),
        _ => None,
    }
}

/// A Pod gets a node once, and keeps it.
#[derive(Clone, Default)]
struct BoundOnce {
    /// Nodes by the Pod's uid.
    bound: BTreeMap<String, String>,
}

impl Property for BoundOnce {
    fn name(&self) -> &'static str {
        "a Pod is bound at most once and never moves"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        for object in stored(step).filter_map(|(_, _, new)| new) {
            let Some(node) = node_of(object) else { continue };
            let uid = object.meta().uid.clone().unwrap_or_default();
            let before = self.bound.entry(uid).or_insert_with(|| node.to_owned());
            if before != node {
                return Err(format!("{} moved from {before} to {node}", object.name()));
            }
        }
        Ok(())
    }
}

/// A kubelet's Pod informer sees only the Pods of its own node.
#[derive(Clone)]
struct OwnPodsOnly;

impl Property for OwnPodsOnly {
    fn name(&self) -> &'static str {
        "no Pod of one node is in another kubelet's informer"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        for note in &step.notes {
            let Note::Cache { actor, kind: Kind::Pod, new: Some(pod), .. } = note else { continue };
            let Some(node) = engine.name(*actor).strip_prefix("kubelet/") else { continue };
            if node_of(pod) != Some(node) {
                return Err(format!("kubelet/{node} holds {}, which is on {:?}", pod.name(), node_of(pod)));
            }
        }
        Ok(())
    }
}

/// Each change of the store has a revision above the last.
#[derive(Clone, Default)]
struct RevisionsGrow {
    last: u64,
}

impl Property for RevisionsGrow {
    fn name(&self) -> &'static str {
        "resourceVersions only grow"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        for (revision, _, _) in stored(step) {
            if revision <= self.last {
                return Err(format!("revision {revision} came after {}", self.last));
            }
            self.last = revision;
        }
        Ok(())
    }
}

/// A watch is told of each revision once, and of lower ones first. The state with which it begins is in key order.
#[derive(Clone, Default)]
struct WatchesInOrder {
    /// The last revision told, once the state so far was told.
    last: BTreeMap<WatchId, u64>,
}

impl Property for WatchesInOrder {
    fn name(&self) -> &'static str {
        "a watch delivers each revision once, in order"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        let What::Notification { watch, event } = &step.event.what else { return Ok(()) };
        if let WatchEvent::Bookmark { revision, .. } = event {
            self.last.insert(*watch, *revision);
        }
        let (Some(object), Some(last)) = (event.object(), self.last.get_mut(watch)) else { return Ok(()) };
        let revision = object.revision();
        if revision <= *last {
            return Err(format!("{} at revision {revision} came after revision {last}", object.name()));
        }
        *last = revision;
        Ok(())
    }
}

/// Every write was set off by something: the step that sent the write is in the past.
#[derive(Clone)]
struct WritesHaveCauses;

impl Property for WritesHaveCauses {
    fn name(&self) -> &'static str {
        "no write is without a cause"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        if stored(step).next().is_some() && step.event.cause >= step.id {
            return Err(format!("{} wrote, and says it was caused by {}", step.id, step.event.cause));
        }
        Ok(())
    }
}

/// A Pod that has succeeded or failed stays so.
#[derive(Clone)]
struct PhasesEnd;

impl Property for PhasesEnd {
    fn name(&self) -> &'static str {
        "a terminal phase never changes"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        let phase = |object: &Object| match object {
            Object::Pod(pod) => pod.status.as_ref().and_then(|status| status.phase.clone()),
            _ => None,
        };
        for (_, old, new) in stored(step) {
            let (Some(old), Some(new)) = (old, new) else { continue };
            let (before, after) = (phase(old), phase(new));
            if before.as_deref().is_some_and(is_final) && before != after {
                return Err(format!("{} went from {before:?} to {after:?}", new.name()));
            }
        }
        Ok(())
    }
}

/// Restarts are only ever counted up.
#[derive(Clone)]
struct RestartsGrow;

impl Property for RestartsGrow {
    fn name(&self) -> &'static str {
        "restartCount never decreases"
    }

    fn check(&mut self, _: &Engine, step: &Step) -> Result<(), String> {
        let counts = |object: &Object| -> BTreeMap<String, i32> {
            let Object::Pod(pod) = object else { return BTreeMap::new() };
            let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
            statuses.into_iter().flatten().map(|c| (c.name.to_string(), c.restart_count)).collect()
        };
        for (_, old, new) in stored(step) {
            let (Some(old), Some(new)) = (old, new) else { continue };
            let after = counts(new);
            for (container, before) in counts(old) {
                if after.get(&container).is_some_and(|now| *now < before) {
                    return Err(format!("{} of {} fell from {before}", container, new.name()));
                }
            }
        }
        Ok(())
    }
}

/// A network plugin's ADD is undone by its DEL before the next ADD, and in the end unless the sandbox is still there.
#[derive(Clone, Default)]
struct AddsAreUndone {
    /// The node's plugins, and of each run that counts: program, sandbox and interface.
    added: BTreeMap<(ActorId, String), (String, String)>,
}

impl Property for AddsAreUndone {
    fn name(&self) -> &'static str {
        "every ADD of a network plugin has its DEL in the end"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        let What::Rpc { message, .. } = &step.event.what else { return Ok(()) };
        let Some(run) = (&**message as &dyn Any).downcast_ref::<PluginRun>() else { return Ok(()) };
        let (id, ifname) = (&run.environment.container_id, &run.environment.ifname);
        let key = (step.event.to, format!("{} {id} {ifname}", run.program));
        match run.environment.command {
            Command::Add => {
                // What was on a node whose power was cut is gone; its files are collected when it is back.
                self.added.retain(|(actor, _), _| engine.actor(*actor).is_some());
                let before = self.added.insert(key, (id.clone(), ifname.clone()));
                before.map_or(Ok(()), |_| Err(format!("ADD of {} for {id} {ifname} came twice", run.program)))
            }
            Command::Del => {
                self.added.remove(&key);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, engine: &Engine) -> Result<(), String> {
        for ((actor, run), (id, _)) in &self.added {
            let Some(node) = engine.actor(*actor).and_then(|actor| actor.name().strip_prefix("cni/")) else { continue };
            let runtime = engine.find(&format!("containerd/{node}")).and_then(|runtime| engine.actor(runtime));
            let runtime = runtime.and_then(|runtime| runtime.as_any().downcast_ref::<Runtime>());
            if !runtime.is_some_and(|runtime| runtime.with(|state| state.attached.contains(id.as_str()))) {
                return Err(format!("{run} was never undone on {node}"));
            }
        }
        Ok(())
    }
}
