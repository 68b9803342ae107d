//! Functions in the places of what they stand for on the nodes: exercises 12 and 13 in the kubelets, 14 in the network
//! plugins, 16 in the kube-proxies.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddrV4};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::cni::Cni;
use super::controlling::seconds_begun;
use super::oracle::Oracle;
use super::proxy::Proxy;
use super::restart::Restarting;
use super::sync::Syncing;
use cluster::Parts;
use exercise::cni;
use exercise::proxy::{self, From, Visit};
use exercise::restart::{self, Restart};
use exercise::sync::{self, Sandbox, Seen, State};
use kubelet::actions::{self, Actions, Compute, Failed};
use kubelet::restart::{Restarts, Run as Ended};
use kubelet::runtime_pod::{RunState, RuntimePod};
use network::cni::exec::Command;
use network::cni::plugins::Ipam;
use network::cni::plugins::Run;
use network::cni::plugins::host_local::ranges::Range;
use network::proxy::chooser::Chooser;
use network::proxy::portal::{Backend, Chosen, Location, Portal};
use object::Pod as SharedPod;
use object::pod::containers;

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
    let special = |one: &Container| one.restart_policy.is_some() || one.restart_policy_rules.is_some();
    if pod.metadata.deletion_timestamp.is_some() || containers(spec).any(special) {
        return None;
    }
    let mut states = BTreeMap::new();
    for last in containers(spec).filter_map(|one| runtime.container(&one.name)) {
        let state = match last.state {
            RunState::Running if (failed.probe)(&last.id).is_none() => State::Running,
            RunState::Exited => State::Exited(last.exit_code),
            _ => return None,
        };
        states.insert(last.name.to_string(), state);
    }
    let sandbox = match runtime.sandbox_needed(spec.host_network == Some(true)) {
        None => Sandbox::Ready,
        Some(_) if runtime.sandboxes.is_empty() => Sandbox::None,
        Some(_) => Sandbox::Lost,
    };
    Some(Seen { sandbox, containers: states })
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
        // The exercise knows neither ephemeral containers nor other sizes, nor that all may start anew.
        start_ephemeral: Vec::new(),
        resize: Vec::new(),
        reset: Vec::new(),
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

/// A cluster whose kubelets ask `restart` how long a container waits that is to be started again.
pub(super) fn with_restart(program: &Path) -> Parts {
    let program = program.to_owned();
    let restarts = Box::leak(Box::new(move || -> Rc<Restarts> {
        let oracle = Oracle::new(&program);
        Rc::new(move |pod: &SharedPod, container: &Container, runs: &[Ended]| {
            let run = |run: &Ended| restart::Run { exit_code: run.exit_code, seconds: seconds_begun(run.time) };
            let case =
                restart::Case { policy: policy(pod, container).to_owned(), runs: runs.iter().map(run).collect() };
            match oracle.ask::<Restarting>(&case) {
                Restart::Never => None,
                Restart::After(seconds) => Some(Duration::from_secs(seconds)),
            }
        })
    }));
    Parts { restarts: Some(restarts), ..Parts::default() }
}

/// The restart policy of a container. One with rules of its own is to be started again if the kubelet asks when.
fn policy<'a>(pod: &'a SharedPod, container: &'a Container) -> &'a str {
    let of_pod = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()).unwrap_or("Always");
    match container.restart_policy_rules {
        Some(_) => "Always",
        None => container.restart_policy.as_deref().unwrap_or(of_pod),
    }
}

/// A cluster whose kube-proxies ask `backends` whom they choose from.
pub(super) fn with_proxy(program: &Path) -> Parts {
    let program = program.to_owned();
    let chooser = Box::leak(Box::new(move || -> Rc<Chooser> {
        let oracle = Oracle::new(&program);
        Rc::new(move |service: &Service, slices: &[Arc<EndpointSlice>], portal: &Portal, here: &Location| {
            // The exercise knows no other ways in, and no hints.
            let hinted = |backend: &Backend| !backend.for_zones.is_empty() || !backend.for_nodes.is_empty();
            let is_known = portal.external_ips.is_empty() && portal.load_balancer_ips.is_empty();
            if !is_known || portal.endpoints.iter().any(hinted) {
                return Ok(None);
            }
            let slices: Vec<EndpointSlice> = slices.iter().map(|slice| EndpointSlice::clone(slice)).collect();
            let ask = |service: &Service, from: From, port: u16| -> Result<Vec<Backend>, String> {
                let protocol = portal.name.protocol.as_str().to_ascii_uppercase();
                let visit = Visit { from, protocol, port: i32::from(port), node: here.node.clone() };
                let case = proxy::Case { service: service.clone(), slices: slices.clone(), visit };
                let texts = oracle.try_ask::<Proxy>(&case)?;
                Ok(texts.iter().filter_map(|text| backend(portal, text)).collect())
            };
            chosen(service, portal, &ask).map(Some)
        })
    }));
    Parts { chooser: Some(chooser), ..Parts::default() }
}

/// Asks for the endpoints of a Service, for a client at this place who asks for this port.
type Ask<'a> = dyn Fn(&Service, From, u16) -> Result<Vec<Backend>, String> + 'a;

/// Whom a node chooses from under each policy. Clients inside and outside have the same rules where both may go anywhere.
fn chosen(service: &Service, portal: &Portal, ask: &Ask) -> Result<Chosen, String> {
    let mut open = service.clone();
    if let Some(spec) = &mut open.spec {
        (spec.internal_traffic_policy, spec.external_traffic_policy) = (None, None);
    }
    let inside = ask(service, From::Inside, portal.port)?;
    let outside = portal.node_port.map(|port| ask(service, From::Outside, port)).transpose()?;
    let everywhere = if portal.uses_local() { ask(&open, From::Inside, portal.port)? } else { Vec::new() };
    let any = !inside.is_empty() || !everywhere.is_empty();
    let (cluster, local) = match (portal.internal_local, portal.external_local, outside) {
        (false, true, Some(outside)) => (inside, outside),
        (false, ..) => (inside, Vec::new()),
        (true, false, Some(outside)) => (outside, inside),
        (true, true, Some(_)) => (everywhere, inside),
        (true, _, None) => (Vec::new(), inside),
    };
    Ok(Chosen { cluster, local, any })
}

/// The endpoint with this address, `10.244.1.2:8080`; one that leads nowhere, if there is none.
fn backend(portal: &Portal, text: &str) -> Option<Backend> {
    let known = portal.endpoints.iter().find(|backend| backend.to_string() == text).cloned();
    known.or_else(|| {
        let address: SocketAddrV4 = text.parse().ok()?;
        let (ip, port, for_zones, for_nodes) = (*address.ip(), address.port(), Vec::new(), Vec::new());
        Some(Backend { ip, port, ready: true, serving: true, terminating: false, local: false, for_zones, for_nodes })
    })
}
