//! Functions in the places of what they stand for in kube-controller-manager: exercises 01, 09, 17, 18 and 21.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::JobSpec;
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeSpec, NodeStatus, Pod, Taint};

use super::collect::Collecting;
use super::heartbeat::Looking;
use super::job::Running;
use super::oracle::Oracle;
use super::ownership::Ownership;
use super::rollout::Rolling;
use client::{Controller, ControllerContext, Registration};
use cluster::Parts;
use controllers::claim::Verdict;
use controllers::deployment::arithmetic::{available, fenceposts, size, wanted};
use controllers::deployment::rolling::Sizes;
use controllers::deployment::{self, Deployments, Sets};
use controllers::garbage_collector::elsewhere::Decision;
use controllers::garbage_collector::graph::owners_of;
use controllers::garbage_collector::{self, GarbageCollector};
use controllers::job::{Jobs, Outlook};
use controllers::node_lifecycle::health::{Finding, GRACE};
use controllers::pods::is_active;
use controllers::replicaset::ReplicaSets;
use controllers::taint_eviction::{self, Bears};
use controllers::{self, node_lifecycle, replicaset};
use exercise::collect::{self, Action, Item};
use exercise::heartbeat::{self, Fate};
use exercise::job::{self, End};
use exercise::ownership::{self, Claim};
use exercise::rollout::{Rollout, Set};
use object::node::condition;
use object::pod::has_ended;
use object::well_known::{NOT_READY, UNREACHABLE};
use object::{Kind, Object, Pod as SharedPod};
use wire::Propagation;

/// Makes a controller that asks a program.
type New = fn(&ControllerContext, Oracle) -> Rc<dyn Controller>;

/// A cluster with these controllers made otherwise: with a function that asks the program.
fn with_controllers(program: &Path, rows: &[(Registration, New)]) -> Parts {
    let made = rows.iter().map(|(of, new)| {
        let (program, new) = (program.to_owned(), *new);
        let new = Box::leak(Box::new(move |context: &ControllerContext| new(context, Oracle::new(&program))));
        Registration { new, ..*of }
    });
    let made: Vec<Registration> = made.collect();
    let own = |shipped: &Registration| made.iter().find(|row| row.name == shipped.name).copied().unwrap_or(*shipped);
    Parts { controllers: controllers::TABLE.iter().map(own).collect::<Vec<_>>().leak(), ..Parts::default() }
}

/// A cluster whose ReplicaSets ask `claim` about Pods that have no controller, or that they do not select any more.
pub(super) fn with_ownership(program: &Path) -> Parts {
    let new: New = |context, oracle| {
        let rule = move |replica_set: &ReplicaSet, _: &_, pod: &SharedPod| {
            let case = ownership::Case { replica_set: replica_set.clone(), pod: Pod::from(pod.clone()) };
            match oracle.ask::<Ownership>(&case) {
                Claim::Keep => Verdict::Keep,
                Claim::Adopt => Verdict::Adopt,
                Claim::Release => Verdict::Release,
                Claim::Leave => Verdict::Ignore,
            }
        };
        Rc::new(ReplicaSets::<ReplicaSet>::with_rule(context, Rc::new(rule)))
    };
    with_controllers(program, &[(replicaset::REGISTRATION, new)])
}

/// A cluster whose Deployments ask `step` how far a rolling update may go.
pub(super) fn with_rollout(program: &Path) -> Parts {
    let new: New = |context, oracle| {
        let set = |rs: &ReplicaSet| Set { size: size(rs), available: available(rs) };
        let sizes = move |d: &Deployment, sets: &Sets, new: &ReplicaSet| {
            let fenceposts = fenceposts(d);
            let rollout = Rollout {
                replicas: wanted(d),
                max_surge: fenceposts.max_surge,
                max_unavailable: fenceposts.max_unavailable,
                new: set(new),
                old: sets.old.iter().map(|rs| set(rs)).collect(),
            };
            let sizes = oracle.ask::<Rolling>(&rollout);
            Sizes { new: sizes.new, old: sizes.old }
        };
        Rc::new(Deployments::with_arithmetic(context, Rc::new(sizes)))
    };
    with_controllers(program, &[(deployment::REGISTRATION, new)])
}

/// A cluster whose Jobs ask `sync` what they still need.
pub(super) fn with_job(program: &Path) -> Parts {
    let new: New = |context, oracle| {
        let rule = move |spec: &JobSpec, pods: &[Arc<SharedPod>]| {
            let active = pods.iter().filter(|pod| is_active(pod)).count() as i32;
            // What the Job has deleted itself it has let go before, and it counts for nothing.
            let let_go = |pod: &&Arc<SharedPod>| {
                let is_going = pod.metadata.deletion_timestamp.is_some() && !has_ended(pod);
                is_going && !pod.metadata.finalizers.iter().flatten().any(|name| name == controllers::job::TRACKING)
            };
            let counted = pods.iter().filter(|pod| !let_go(pod));
            let pods = counted.map(|pod| Pod::from((**pod).clone())).collect();
            let case = job::Case { job: spec.clone(), pods };
            let step = oracle.ask::<Running>(&case);
            Outlook {
                wanted: active + step.create as i32 - step.delete as i32,
                failed: step.end == Some(End::Failed),
                complete: step.end == Some(End::Complete),
            }
        };
        Rc::new(Jobs::with_rule(context, Rc::new(rule)))
    };
    with_controllers(program, &[(controllers::job::REGISTRATION, new)])
}

/// A cluster whose garbage collector asks `attempt` what becomes of an object.
pub(super) fn with_collect(program: &Path) -> Parts {
    let new: New = |context, oracle| {
        let rule = move |live: &Object, owners: &[Object], dependents: &[Object]| {
            // Whether a kind that users have defined has namespaces the exercise does not know.
            let is_known = |version: &str, kind: &str| Kind::from_manifest(version, kind).is_some();
            if !owners_of(live.meta()).iter().all(|owner| is_known(&owner.api_version, &owner.kind)) {
                return None;
            }
            let all = [live].into_iter().chain(owners).chain(dependents).map(item).collect();
            Some(match oracle.ask::<Collecting>(&collect::Case { item: item(live), all }) {
                Action::Leave => Decision::Leave,
                Action::RemoveOwners(uids) => Decision::Disown(uids.iter().map(|uid| Rc::from(uid.as_str())).collect()),
                Action::RemoveFinalizer => Decision::LetGo,
                Action::Delete(collect::Propagation::Background) => Decision::Delete(Propagation::Background),
                Action::Delete(collect::Propagation::Foreground) => Decision::Delete(Propagation::Foreground),
                Action::Delete(collect::Propagation::Orphan) => Decision::Delete(Propagation::Orphan),
            })
        };
        Rc::new(GarbageCollector::with_rule(context, Rc::new(rule)))
    };
    with_controllers(program, &[(garbage_collector::REGISTRATION, new)])
}

fn item(object: &Object) -> Item {
    Item { kind: object.kind().info().kind.to_owned(), metadata: object.meta().clone() }
}

/// A cluster that asks `look` what is known of a node, and how long its Pods stay.
pub(super) fn with_heartbeat(program: &Path) -> Parts {
    let lifecycle: New = |context, oracle| {
        let rule = move |node: &Node, silent: Duration| {
            // Once the controller has written Unknown itself, what the kubelet said is lost.
            let said_unknown = condition(node, "Ready").is_some_and(|ready| ready.status == "Unknown");
            if said_unknown && silent <= GRACE {
                return None;
            }
            let case = heartbeat::Case { node: node.clone(), silent: seconds_begun(silent), pods: Vec::new() };
            let look = oracle.ask::<Looking>(&case);
            Some(Finding { is_unknown: look.ready == "Unknown", taint: look.taint })
        };
        node_lifecycle::with_rule(context, Rc::new(rule))
    };
    let eviction: New = |context, oracle| {
        let rule = move |taints: &[Taint], pod: &SharedPod| {
            let (node, silent) = with_taints(taints);
            let pods = vec![Pod::from(pod.clone())];
            match oracle.ask::<Looking>(&heartbeat::Case { node, silent, pods }).pods.first() {
                Some(Fate::GoesAfter(0)) => Bears::Not,
                Some(Fate::GoesAfter(seconds)) => Bears::For(Duration::from_secs(*seconds)),
                Some(Fate::Stays) | None => Bears::Always,
            }
        };
        taint_eviction::with_rule(context, Rc::new(rule))
    };
    with_controllers(program, &[(node_lifecycle::REGISTRATION, lifecycle), (taint_eviction::REGISTRATION, eviction)])
}

/// A node that has come to these taints: how long it has been silent, what it said before, and which of them others have
/// put there.
fn with_taints(taints: &[Taint]) -> (Node, u64) {
    let has = |key: &str| taints.iter().any(|taint| taint.key == key);
    let (said, silent, own) = match () {
        () if has(UNREACHABLE) => ("True", GRACE.as_secs() + 1, UNREACHABLE),
        () if has(NOT_READY) => ("False", 0, NOT_READY),
        () => ("True", 0, ""),
    };
    let ready = NodeCondition { type_: "Ready".to_owned(), status: said.to_owned(), ..NodeCondition::default() };
    let others = taints.iter().filter(|taint| taint.key != own).cloned().collect();
    let node = Node {
        spec: Some(NodeSpec { taints: Some(others), ..NodeSpec::default() }),
        status: Some(NodeStatus { conditions: Some(vec![ready]), ..NodeStatus::default() }),
        ..Node::default()
    };
    (node, silent)
}

/// A time in seconds, the last one counted in full: what is a little more than 50 s is more than 50.
pub(super) fn seconds_begun(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}
