//! Functions in the places of what they stand for, elsewhere than in the scheduler: exercises 01, 09 and 19 in
//! kube-controller-manager, 12 in the kubelets, 14 in the nodes' network plugins.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::JobSpec;
use k8s_openapi::api::core::v1::{Container, Pod};

use super::cni::{self, Cni};
use super::job::{self, End, Running};
use super::oracle::Oracle;
use super::ownership::{self, Claim, Ownership};
use super::rollout::{Rolling, Rollout, Set};
use super::sync::{self, Sandbox, Seen, State, Syncing};
use crate::client::{Controller, ControllerContext, Registration};
use crate::cluster::Parts;
use crate::controllers::claim::Verdict;
use crate::controllers::deployment::arithmetic::{available, fenceposts, size, wanted};
use crate::controllers::deployment::rolling::Sizes;
use crate::controllers::deployment::{self, Deployments, Sets};
use crate::controllers::job::{Jobs, Outlook};
use crate::controllers::pods::is_active;
use crate::controllers::replicaset::ReplicaSets;
use crate::controllers::{self, replicaset};
use crate::node::cni::exec::Command;
use crate::node::cni::plugins::Run;
use crate::node::cni::plugins::host_local::Ipam;
use crate::node::cni::plugins::host_local::ranges::Range;
use crate::node::kubelet::actions::{self, Actions, Compute, Failed};
use crate::node::kubelet::runtime_pod::{RunState, RuntimePod};
use crate::object::Pod as SharedPod;

/// A cluster with this controller made otherwise: with a function that asks the program.
fn with_controller(
    program: &Path,
    of: Registration,
    new: fn(&ControllerContext, Oracle) -> Rc<dyn Controller>,
) -> Parts {
    let program = program.to_owned();
    let new = Box::leak(Box::new(move |context: &ControllerContext| new(context, Oracle::new(&program))));
    let row = Registration { new, ..of };
    let table = controllers::TABLE.iter().map(|shipped| if shipped.name == row.name { row } else { *shipped });
    Parts { controllers: table.collect::<Vec<_>>().leak(), ..Parts::default() }
}

/// A cluster whose ReplicaSets ask `claim` about Pods that nobody controls, or that they do not select any more.
pub(super) fn with_ownership(program: &Path) -> Parts {
    with_controller(program, replicaset::REGISTRATION, |context, oracle| {
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
    })
}

/// A cluster whose Deployments ask `step` how far a rolling update may go.
pub(super) fn with_rollout(program: &Path) -> Parts {
    with_controller(program, deployment::REGISTRATION, |context, oracle| {
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
    })
}

/// A cluster whose Jobs ask `sync` what they still need.
pub(super) fn with_job(program: &Path) -> Parts {
    with_controller(program, controllers::job::REGISTRATION, |context, oracle| {
        let rule = move |spec: &JobSpec, pods: &[Arc<SharedPod>]| {
            let active = pods.iter().filter(|pod| is_active(pod)).count() as i32;
            let pods = pods.iter().map(|pod| Pod::from((**pod).clone())).collect();
            let case = job::Case { job: spec.clone(), pods };
            let step = oracle.ask::<Running>(&case);
            Outlook {
                wanted: active + step.create as i32 - step.delete as i32,
                failed: step.end == Some(End::Failed),
                complete: step.end == Some(End::Complete),
            }
        };
        Rc::new(Jobs::with_rule(context, Rc::new(rule)))
    })
}

/// A cluster whose kubelets ask `sync` what to do to a Pod, if it is one of those that the exercise knows.
pub(super) fn with_sync(program: &Path) -> Parts {
    let program = program.to_owned();
    let compute = Box::leak(Box::new(move || -> Rc<Compute> {
        let oracle = Oracle::new(&program);
        Rc::new(move |pod: &SharedPod, runtime: &RuntimePod, failed: &Failed| match seen(pod, runtime, failed) {
            Some(seen) => {
                let case = sync::Case { pod: Pod::from(pod.clone()), seen };
                actions_of(&oracle.ask::<Syncing>(&case), pod, runtime)
            }
            None => actions::compute(pod, runtime, failed),
        })
    }));
    Parts { compute: Some(compute), ..Parts::default() }
}

/// What the exercise sees of a Pod. None if there is more to see: sidecars, containers with rules of their own, failed
/// probes, a deletion, a container that the runtime has lost.
fn seen(pod: &SharedPod, runtime: &RuntimePod, failed: &Failed) -> Option<Seen> {
    let spec = pod.spec.as_deref()?;
    let all = || spec.init_containers.iter().flatten().chain(&spec.containers);
    let special = |one: &Container| one.restart_policy.is_some() || one.restart_policy_rules.is_some();
    if pod.metadata.deletion_timestamp.is_some() || all().any(special) {
        return None;
    }
    let mut containers = BTreeMap::new();
    for last in all().filter_map(|one| runtime.container(&one.name)) {
        let state = match last.state {
            RunState::Running if (failed.probe)(&last.id).is_none() => State::Running,
            RunState::Exited => State::Exited(last.exit_code),
            _ => return None,
        };
        containers.insert(last.name.clone(), state);
    }
    let sandbox = match runtime.sandbox_needed(spec.host_network == Some(true)) {
        None => Sandbox::Ready,
        Some(_) if runtime.sandboxes.is_empty() => Sandbox::None,
        Some(_) => Sandbox::Lost,
    };
    Some(Seen { sandbox, containers })
}

/// The same in the kubelet's own words. Names that the Pod does not have are nothing to start.
fn actions_of(said: &sync::Actions, pod: &SharedPod, runtime: &RuntimePod) -> Actions {
    let spec = pod.spec.as_deref();
    let index = |all: &[Container], names: &[String]| -> Vec<usize> {
        names.iter().filter_map(|name| all.iter().position(|one| one.name == *name)).collect()
    };
    let inits = spec.and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default();
    let containers = spec.map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let attempt = runtime.sandboxes.first().map_or(0, |newest| newest.attempt + 1);
    Actions {
        kill_pod: said.kill_pod,
        create_sandbox: said.create_sandbox.then_some(attempt),
        kill: Vec::new(),
        start_init: index(inits, &said.start_init),
        start: index(containers, &said.start),
    }
}

/// A cluster on whose nodes `run` gives Pods their addresses. If it comes to no end it is a plugin that has crashed.
pub(super) fn with_cni(program: &Path) -> Parts {
    let program = program.to_owned();
    let ipam = Box::leak(Box::new(move || -> Rc<Ipam> {
        let oracle = Oracle::new(&program);
        Rc::new(move |run: &Run, range: &Range, files: &mut cni::Files| {
            let Some((range, call)) = call(run, range) else { return Err("the range is not one of IPv4".to_owned()) };
            let case = cni::Case { range, files: files.clone(), calls: vec![call] };
            let outcome = oracle.try_ask::<Cni>(&case);
            let outcome = outcome.map_err(|how| format!("netplugin failed with no error message: {how}"))?;
            *files = outcome.files;
            let said = outcome.said.into_iter().next().unwrap_or(Ok(None));
            said.map(|address| address.map(IpAddr::from))
        })
    }));
    Parts { ipam: Some(ipam), ..Parts::default() }
}

/// A run of the plugin as the exercise knows it.
fn call(run: &Run, range: &Range) -> Option<(cni::Range, cni::Call)> {
    let v4 = |address: IpAddr| if let IpAddr::V4(address) = address { Some(address) } else { None };
    let (start, end) = range.ends()?;
    let range = cni::Range { start: v4(start)?, end: v4(end)?, gateway: v4(range.gateway?)? };
    let command = match run.environment.command {
        Command::Add => cni::Command::Add,
        Command::Del => cni::Command::Del,
        _ => cni::Command::Check,
    };
    let environment = run.environment;
    let (container, ifname) = (environment.container_id.clone(), environment.ifname.clone());
    Some((range, cni::Call { command, container, ifname }))
}
