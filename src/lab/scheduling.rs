//! Exercises 10 and 11 in the cluster: kube-scheduler with a learner's functions in the place of two of its plugins.

use std::borrow::Cow;
use std::path::Path;
use std::rc::Rc;

use k8s_openapi::api::core::v1::{Node, Pod};

use super::fit::Fit;
use super::oracle::Oracle;
use super::score::Scoring;
use cluster::Parts;
use engine::Actor;
use exercise::fit;
use exercise::score::{self, Candidate, Share, Wanted};
use scheduler::KubeScheduler;
use scheduler::events::{ClusterEvent, EventKind};
use scheduler::framework::{Code, Filter, Hint, Plugin, PreFilter, PreScore, Rejection, Score, Verdict};
use scheduler::node_info::{NodeId, NodeInfo};
use scheduler::plugins::taint_toleration::REASON;
use scheduler::pod_info::PodInfo;
use scheduler::profile::{Entry, Profile};
use scheduler::snapshot::Snapshot;

/// A cluster whose scheduler asks `why_not` whether a Pod fits.
pub(super) fn with_fit(program: &Path) -> Parts {
    with(program, |oracle, entry| match entry.plugin.name() {
        "NodeResourcesFit" => Entry { plugin: instead(entry.plugin, YourFit(oracle.clone())), ..entry },
        _ => entry,
    })
}

/// A cluster whose scheduler asks `scores` where a Pod may go, and how good each node is.
pub(super) fn with_score(program: &Path) -> Parts {
    with(program, |oracle, entry| match entry.plugin.name() {
        "TaintToleration" => Entry { plugin: instead(entry.plugin, YourScores(oracle.clone())), weight: 1, ..entry },
        "NodeResourcesFit" => Entry { plugin: instead(entry.plugin, NoScore), ..entry },
        _ => entry,
    })
}

/// All profiles with some entries exchanged.
fn with(program: &Path, exchange: fn(&Oracle, Entry) -> Entry) -> Parts {
    let program = program.to_owned();
    let scheduler = Box::leak(Box::new(move |hub, actor, limits, profiles: Vec<Profile>| -> Rc<dyn Actor> {
        let oracle = Oracle::new(&program);
        let exchanged = |profile: Profile| {
            let plugins = profile.plugins.into_iter().map(|entry| exchange(&oracle, entry)).collect();
            Profile { plugins, ..profile }
        };
        Rc::new(KubeScheduler::new(hub, actor, limits, profiles.into_iter().map(exchanged).collect()))
    }));
    Parts { scheduler, ..Parts::default() }
}

fn plain(pod: &PodInfo) -> Pod {
    Pod::from((*pod.pod).clone())
}

/// A plugin with its questions to nodes exchanged.
struct Instead<Y> {
    of: Rc<dyn Plugin>,
    yours: Y,
}

fn instead(of: Rc<dyn Plugin>, yours: impl Yours) -> Rc<dyn Plugin> {
    Rc::new(Instead { of, yours })
}

/// What is exchanged of a plugin: nothing, unless a method says so.
trait Yours: 'static {
    fn pre_filter<'a>(&'a self, of: &'a dyn Plugin, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        of.pre_filter(pod, snapshot)
    }

    fn pre_score<'a>(
        &'a self,
        of: &'a dyn Plugin,
        pod: &'a PodInfo,
        snapshot: &'a Snapshot,
        feasible: &[NodeId],
    ) -> PreScore<'a> {
        of.pre_score(pod, snapshot, feasible)
    }
}

impl<Y: Yours> Plugin for Instead<Y> {
    fn name(&self) -> &'static str {
        self.of.name()
    }

    fn interests(&self) -> &'static [EventKind] {
        self.of.interests()
    }

    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, snapshot: &Snapshot) -> Hint {
        self.of.hint(pod, event, snapshot)
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        self.yours.pre_filter(&*self.of, pod, snapshot)
    }

    fn pre_score<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot, feasible: &[NodeId]) -> PreScore<'a> {
        self.yours.pre_score(&*self.of, pod, snapshot, feasible)
    }
}

/// The filter of NodeResourcesFit.
struct YourFit(Oracle);

impl Yours for YourFit {
    fn pre_filter<'a>(&'a self, _: &'a dyn Plugin, pod: &'a PodInfo, _: &'a Snapshot) -> PreFilter<'a> {
        PreFilter::Ask(Box::new(Fits { oracle: &self.0, pod: plain(pod) }))
    }
}

struct Fits<'a> {
    oracle: &'a Oracle,
    pod: Pod,
}

impl Fits<'_> {
    fn why_not(&self, node: &Node, running: Vec<Pod>) -> Vec<String> {
        let case = fit::Case { pod: self.pod.clone(), node: node.clone(), running };
        self.oracle.ask::<Fit>(&case)
    }
}

impl Filter for Fits<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        let Some(known) = &node.node else { return Ok(()) };
        let reasons = self.why_not(known, node.pods.iter().map(|pod| plain(pod)).collect());
        if reasons.is_empty() {
            return Ok(());
        }
        // What an empty node could not do either, no preemption can.
        let code = match self.why_not(known, Vec::new()).is_empty() {
            true => Code::Unschedulable,
            false => Code::UnschedulableAndUnresolvable,
        };
        Err(Rejection { code, reasons: reasons.into_iter().map(Cow::Owned).collect() })
    }
}

/// The score of NodeResourcesFit, which is in the learner's already.
struct NoScore;

impl Yours for NoScore {
    fn pre_score<'a>(&'a self, _: &'a dyn Plugin, _: &'a PodInfo, _: &'a Snapshot, _: &[NodeId]) -> PreScore<'a> {
        PreScore::Skip
    }
}

/// All of TaintToleration, and LeastAllocated with it.
struct YourScores(Oracle);

impl Yours for YourScores {
    fn pre_filter<'a>(&'a self, _: &'a dyn Plugin, pod: &'a PodInfo, _: &'a Snapshot) -> PreFilter<'a> {
        PreFilter::Ask(Box::new(MayGo { oracle: &self.0, pod: wanted(pod) }))
    }

    fn pre_score<'a>(
        &'a self,
        _: &'a dyn Plugin,
        pod: &'a PodInfo,
        snapshot: &'a Snapshot,
        feasible: &[NodeId],
    ) -> PreScore<'a> {
        let nodes = feasible.iter().map(|id| candidate(snapshot.node(*id))).collect();
        let scores = self.0.ask::<Scoring>(&score::Case { pod: wanted(pod), nodes });
        let by_node = feasible.iter().copied().zip(scores.into_iter().map(Option::unwrap_or_default)).collect();
        PreScore::Ask(Box::new(Points(by_node)))
    }
}

struct MayGo<'a> {
    oracle: &'a Oracle,
    pod: Wanted,
}

impl Filter for MayGo<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        let case = score::Case { pod: self.pod.clone(), nodes: vec![candidate(node)] };
        match self.oracle.ask::<Scoring>(&case).first() {
            Some(Some(_)) => Ok(()),
            _ => Err(Rejection::unresolvable(REASON)),
        }
    }
}

/// What each node is worth.
struct Points(Vec<(NodeId, i64)>);

impl Score for Points {
    fn score(&self, node: &NodeInfo) -> i64 {
        self.0.iter().find(|(id, _)| *id == node.id).map_or(0, |(_, points)| *points)
    }
}

/// What the exercise knows of a Pod. As in the plugin, one that asks for nothing counts as one that asks for a little.
fn wanted(pod: &PodInfo) -> Wanted {
    let tolerations = pod.pod.spec.as_ref().and_then(|spec| spec.tolerations.clone()).unwrap_or_default();
    Wanted { tolerations, milli_cpu: pod.non_zero_milli_cpu, memory: pod.non_zero_memory }
}

fn candidate(node: &NodeInfo) -> Candidate {
    // A node that has said nothing yet has next to nothing: the exercise knows no nodes with none.
    let share = |allocatable: i64, used: i64| Share { allocatable: allocatable.max(1), used };
    Candidate {
        taints: node.taints().to_vec(),
        milli_cpu: share(node.allocatable.milli_cpu, node.non_zero_milli_cpu),
        memory: share(node.allocatable.memory, node.non_zero_memory),
    }
}
