//! What a scheduler plugin is, and what passes between plugins and the cycle.
//!
//! Mirrors the extension points of the scheduling framework (`staging/src/k8s.io/kube-scheduler/framework`). There a
//! plugin leaves what it worked out about the pod in a `CycleState` for its own later calls. Here its first call
//! hands back the object that takes the later ones: [`Plugin::pre_filter`] gives a [`Filter`] to ask of each node,
//! and [`Plugin::pre_score`] gives a [`Score`].

use std::borrow::Cow;

use super::events::{ClusterEvent, EventKind};
use super::node_info::{NodeId, NodeInfo};
use super::pod_info::PodInfo;
use super::snapshot::Snapshot;

/// The best score a node can have from one plugin. `MaxNodeScore`.
pub const MAX_NODE_SCORE: i64 = 100;

/// Whether removing other pods could change a plugin's mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Not now, but it might with fewer pods there: preemption may help.
    Unschedulable,
    /// Not while the node and the pod are as they are: preemption cannot help.
    UnschedulableAndUnresolvable,
}

/// A plugin's no, with the reasons as the user will read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Whether preemption may help.
    pub code: Code,
    /// Why; several if one plugin found several things wrong.
    pub reasons: Vec<Reason>,
}

/// Why a node, or a pod, was turned down: `node(s) had untolerated taint(s)`.
pub type Reason = Cow<'static, str>;

/// A plugin's answer about one node.
pub type Verdict = Result<(), Rejection>;

impl Rejection {
    /// A no that preemption might turn into a yes.
    pub fn unschedulable(reason: impl Into<Reason>) -> Rejection {
        Rejection { code: Code::Unschedulable, reasons: vec![reason.into()] }
    }

    /// A no that preemption cannot turn.
    pub fn unresolvable(reason: impl Into<Reason>) -> Rejection {
        Rejection { code: Code::UnschedulableAndUnresolvable, reasons: vec![reason.into()] }
    }

    /// The reasons as one text. Mirrors `Status.Message`.
    pub fn message(&self) -> String {
        self.reasons.join(", ")
    }
}

/// An extension point: where a profile may ask a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// May the pod be queued? [`Plugin::pre_enqueue`]
    PreEnqueue,
    /// May it run on this node? [`Plugin::pre_filter`]
    Filter,
    /// No node will do: what now?
    PostFilter,
    /// How good is this node? [`Plugin::pre_score`]
    Score,
}

impl Point {
    /// All of them.
    pub const ALL: &[Point] = &[Point::PreEnqueue, Point::Filter, Point::PostFilter, Point::Score];

    /// What kube-scheduler calls those who may be asked there.
    pub fn interface(self) -> &'static str {
        match self {
            Point::PreEnqueue => "PreEnqueuePlugin",
            Point::Filter => "FilterPlugin",
            Point::PostFilter => "PostFilterPlugin",
            Point::Score => "ScorePlugin",
        }
    }
}

/// A plugin: any of the calls may be left out.
pub trait Plugin {
    /// As the configuration and the messages spell it.
    fn name(&self) -> &'static str;

    /// Where it has something to say.
    fn points(&self) -> &'static [Point] {
        &[Point::Filter]
    }

    /// May the pod be queued at all? A rejected pod waits, without attempts, for an event of [`Plugin::interests`].
    fn pre_enqueue(&self, _pod: &PodInfo) -> Verdict {
        Ok(())
    }

    /// The changes after which a pod that this plugin rejected may be worth another try.
    fn interests(&self) -> &'static [EventKind] {
        &[]
    }

    /// Whether this very change could let this very pod pass: the queueing hint.
    fn hint(&self, _pod: &PodInfo, _event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        Hint::Queue
    }

    /// Looks at the pod and the whole cluster, once an attempt.
    fn pre_filter<'a>(&'a self, _pod: &'a PodInfo, _snapshot: &'a Snapshot) -> PreFilter<'a> {
        PreFilter::Skip
    }

    /// Looks at the pod and the nodes that passed, once an attempt.
    fn pre_score<'a>(&'a self, _pod: &'a PodInfo, _snapshot: &'a Snapshot, _feasible: &[NodeId]) -> PreScore<'a> {
        PreScore::Skip
    }
}

/// What a plugin says of the pod before it is asked about nodes.
pub enum PreFilter<'a> {
    /// This pod is none of my business: any node will do.
    Skip,
    /// Ask me about each node.
    Ask(Box<dyn Filter + 'a>),
    /// Ask me, and only about these nodes.
    AskAbout(Vec<String>, Box<dyn Filter + 'a>),
    /// No node will do.
    Reject(Rejection),
}

/// A plugin's question to each node, for one pod.
pub trait Filter {
    /// May the pod run on this node?
    fn filter(&self, node: &NodeInfo) -> Verdict;

    /// Suppose that `pod` were on `node` too: nominated pods are counted so. Mirrors `PreFilterExtensions.AddPod`.
    fn add_pod(&mut self, _pod: &PodInfo, _node: &NodeInfo) {}

    /// Suppose that `pod` were gone from `node`: a preemption tries that. Undone by [`Filter::add_pod`].
    fn remove_pod(&mut self, _pod: &PodInfo, _node: &NodeInfo) {}
}

/// What a plugin says before it scores.
pub enum PreScore<'a> {
    /// I have no preference for this pod; I add nothing to any node.
    Skip,
    /// Ask me about each node that passed.
    Ask(Box<dyn Score + 'a>),
}

/// A plugin's opinion of each node that passed, for one pod.
pub trait Score {
    /// How good the node is, in any unit that the plugin likes.
    fn score(&self, node: &NodeInfo) -> i64;

    /// Brings the scores of all nodes to 0..=100; `raw` is in the order of the feasible nodes.
    fn normalise(&self, _raw: &mut [i64]) {}
}

/// A queueing hint's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Try the pod again.
    Queue,
    /// The change is of no use to the pod.
    QueueSkip,
}

impl Hint {
    /// `Queue` if the condition holds.
    pub fn queue_if(worthwhile: bool) -> Hint {
        if worthwhile { Hint::Queue } else { Hint::QueueSkip }
    }
}

/// Scales to 0..=100 by the greatest score; `reverse` makes the greatest the worst.
/// Mirrors `helper.DefaultNormalizeScore`.
pub fn normalise_by_maximum(scores: &mut [i64], reverse: bool) {
    let max = scores.iter().copied().max().unwrap_or(0);
    for score in scores {
        let scaled = if max == 0 { 0 } else { MAX_NODE_SCORE * *score / max };
        *score = if reverse { MAX_NODE_SCORE - scaled } else { scaled };
    }
}
