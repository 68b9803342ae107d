//! The spine of the course: the stages between `kubectl apply` and a reachable Pod, and where a step stands among them.

use apiserver::host::Engine;
use engine::{Step, StepId};
use object::{Kind, Object};

use super::Session;
use super::chapters::{CHAPTERS, Chapter};
use super::facts::{Class, Facts};

/// One stage.
#[derive(Debug)]
pub struct Stage {
    /// A few words.
    pub name: &'static str,
    /// Who does it, and what.
    pub story: &'static str,
    /// The chapter of the book that tells of it.
    pub chapter: &'static Chapter,
    fits: fn(&Facts) -> bool,
}

/// All stages, in the order in which a Deployment's Pod first comes to them.
pub const STAGES: &[Stage] = &[
    Stage {
        name: "keystroke",
        story: "kubectl reads the manifest, asks for the current state, and sends the desired one",
        chapter: &CHAPTERS[0],
        fits: |facts| facts.from.starts_with("user/") || facts.to.starts_with("user/"),
    },
    Stage {
        name: "Deployment",
        story: "the deployment controller creates a ReplicaSet for the template, and counts",
        chapter: &CHAPTERS[7],
        fits: |facts| is_about(facts, "deployment-controller", Kind::Deployment),
    },
    Stage {
        name: "ReplicaSet",
        story: "the replicaset controller creates the missing Pods",
        chapter: &CHAPTERS[6],
        fits: |facts| is_about(facts, "replicaset-controller", Kind::ReplicaSet),
    },
    Stage {
        name: "scheduling",
        story: "the scheduler picks a node and asks the API server to bind the Pod to it",
        chapter: &CHAPTERS[8],
        fits: |facts| {
            let told = is_of(facts.to, "kube-scheduler") && facts.class == Class::Notification;
            let about_pod = facts.subjects.iter().any(|subject| subject.kind == Kind::Pod);
            facts.from == "kube-scheduler" || is_of(facts.to, "kube-scheduler") && (!told || about_pod)
        },
    },
    Stage {
        name: "Pod arrives",
        story: "the kubelet sees a Pod with its node's name, admits it, and mounts its volumes",
        chapter: &CHAPTERS[9],
        fits: |facts| facts.to.starts_with("kubelet/") && facts.class == Class::Notification,
    },
    Stage {
        name: "sandbox",
        story: "the runtime creates the Pod's network namespace, and the CNI plugins give it an address",
        chapter: &CHAPTERS[10],
        fits: |facts| facts.to.starts_with("cni/") || facts.from.starts_with("cni/") || method(facts, "PodSandbox"),
    },
    Stage {
        name: "image",
        story: "the runtime pulls the image, unless the node has it",
        chapter: &CHAPTERS[9],
        fits: |facts| method(facts, "Image"),
    },
    Stage {
        name: "container",
        story: "the runtime creates the container and starts its process",
        chapter: &CHAPTERS[9],
        fits: |facts| method(facts, "CreateContainer") || method(facts, "StartContainer"),
    },
    Stage {
        name: "status",
        story: "the kubelet reports what runs, and probes whether it is ready",
        chapter: &CHAPTERS[9],
        fits: |facts| facts.from.starts_with("kubelet/") && writes(facts, Kind::Pod) && !deleting(facts),
    },
    Stage {
        name: "traffic",
        story: "EndpointSlices name the ready Pods, and each node's proxy sends packets to them",
        chapter: &CHAPTERS[11],
        fits: |facts| facts.from.starts_with("endpointslice") || facts.to.starts_with("kube-proxy"),
    },
    Stage {
        name: "deletion",
        story: "a Pod gets a deletion time; the kubelet stops it, and deletes it in the end",
        chapter: &CHAPTERS[13],
        fits: |facts| deleting(facts) || method(facts, "StopContainer") || method(facts, "StopPodSandbox"),
    },
];

/// Whether a process is one of a component: `kube-scheduler`, `kube-scheduler/2`.
fn is_of(process: &str, component: &str) -> bool {
    process.split('/').next() == Some(component)
}

fn is_about(facts: &Facts, controller: &str, kind: Kind) -> bool {
    let works = |task: &str| task.split(' ').next() == Some(controller);
    let informed = facts.class == Class::Notification && is_of(facts.to, "kube-controller-manager");
    facts.from == controller
        || facts.tasks().any(works)
        || (informed && facts.subjects.iter().any(|subject| subject.kind == kind))
}

fn method(facts: &Facts, part: &str) -> bool {
    facts.class == Class::Runtime && facts.method.is_some_and(|method| method.contains(part))
}

fn writes(facts: &Facts, kind: Kind) -> bool {
    facts.class == Class::Request && facts.subjects.iter().any(|subject| subject.kind == kind)
}

fn deleting(facts: &Facts) -> bool {
    let dying = |object: &Object| object.meta().deletion_timestamp.is_some();
    let about_pod = facts.subjects.iter().filter(|subject| subject.kind == Kind::Pod);
    let is_refused = facts.code.is_some_and(|code| code >= 400);
    facts.class != Class::Notification
        && !is_refused
        && about_pod.into_iter().any(|s| facts.verb == Some("delete") || s.new.or(s.old).is_some_and(dying))
}

/// The stage of a step by itself: its place among [`STAGES`]. The last that fits counts: a later stage says more.
fn stage_of(engine: &Engine, step: &Step) -> Option<usize> {
    if step.event.background {
        return None;
    }
    let facts = Facts::of(engine, step);
    // What breaks a component is typed. It is nothing that the component does.
    let stages = if facts.class == Class::Fault { &STAGES[..1] } else { STAGES };
    stages.iter().rposition(|stage| (stage.fits)(&facts))
}

/// Where a session stands on the spine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The stage of the current step, or of the nearest of its causes that has one.
    pub here: Option<usize>,
    /// The first step of each stage that has been reached.
    pub reached: Vec<Option<StepId>>,
}

/// How far the session has come with its current step.
pub fn progress(session: &Session) -> Progress {
    let engine = &session.cluster.engine;
    let mut reached = vec![None; STAGES.len()];
    for step in session.history() {
        if let Some(stage) = stage_of(engine, step) {
            reached[stage].get_or_insert(step.id);
        }
    }
    let here = session.current().and_then(|step| {
        let causes = std::iter::once(step).chain(session.why(step.id));
        causes.into_iter().find_map(|step| stage_of(engine, step))
    });
    Progress { here, reached }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;
    use cluster::scenario::Scenario;

    #[test]
    fn what_breaks_a_component_is_typed_and_not_its_work() {
        let mut session = Session::of(Scenario::find("deployment").expect("it is shipped"));
        for broken in ["hold kube-scheduler", "stop kubelet/node-2"] {
            session.choose(Choice::parse(broken, "default").expect("it is a choice")).expect("it can be done");
            let progress = progress(&session);
            assert_eq!(progress.here, Some(0), "{broken}");
            assert!(progress.reached[1..].iter().all(Option::is_none), "{broken}: {:?}", progress.reached);
        }
    }
}
