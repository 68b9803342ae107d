//! What may change in a Pod once it is there. Mirrors `ValidatePodUpdate` and `ValidatePodStatusUpdate`.

use k8s_openapi::api::core::v1::{
    Affinity, Container, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Toleration,
};

use crate::pod_template::spec::{Owner, SPEC, pod_spec};
use crate::validation::diff;
use object::Pod;
use object::pod::status::{ContainerStatus, PodStatus};
use object::pod::{could_restart_all, is_restarted};
use object::selector::names::{check_label_key, check_subdomain};
use object::text::Text;
use object::validation::field::{Json, Literal, Path, Problems, Shown};
use object::validation::internal::Internal;
use object::validation::names::{check_ip, parse_ip_sloppy};
use serde_json::json;

const STATUS: Path = Path::new("status");

const MAY_CHANGE: &str = "pod updates may not change fields other than \
    `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
    additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
    previously negative)";

/// A new version of a Pod's spec.
pub fn pod(problems: &mut Problems, new: &Pod, old: &Pod) {
    let (Some(spec), Some(before)) = (&new.spec, &old.spec) else { return };
    if spec == before {
        return;
    }
    let (spec, before) = (&spec.whole(), &before.whole());
    pod_spec(problems, &SPEC, spec, Owner::Pod(&new.metadata));
    let count = |containers: &Option<Vec<Container>>| containers.as_ref().map_or(0, Vec::len);
    let same_number = spec.containers.len() == before.containers.len();
    let same_inits = count(&spec.init_containers) == count(&before.init_containers);
    const NUMBER: &str = "pod updates may not add or remove containers";
    if !same_number {
        problems.forbidden(&SPEC.child("containers"), NUMBER);
    }
    if !same_inits {
        problems.forbidden(&SPEC.child("initContainers"), NUMBER);
    }
    if !same_number || !same_inits {
        return;
    }
    deadline(problems, spec.active_deadline_seconds, before.active_deadline_seconds);
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    only_added(problems, tolerations, before.tolerations.as_deref().unwrap_or_default());
    no_new_gates(problems, spec, before);
    if is_gated(before) {
        only_fewer_nodes(problems, spec, before);
    }
    let allowed = with_what_may_change(spec, before);
    if allowed != *before {
        let changes = diff::of_structs("PodSpec", before, &allowed);
        // What is empty and what is not there are often one in Go: then nothing has changed.
        if !changes.is_empty() {
            problems.forbidden(&SPEC, &format!("{MAY_CHANGE}\n{changes}"));
        }
    }
}

/// The new spec with everything that may change put back: what still differs may not.
fn with_what_may_change(spec: &PodSpec, before: &PodSpec) -> PodSpec {
    let mut allowed = spec.clone();
    let put_back = |containers: &mut [Container], before: &[Container]| {
        for (container, before) in containers.iter_mut().zip(before) {
            container.image.clone_from(&before.image);
        }
    };
    put_back(&mut allowed.containers, &before.containers);
    let inits = allowed.init_containers.as_deref_mut().unwrap_or_default();
    put_back(inits, before.init_containers.as_deref().unwrap_or_default());
    allowed.active_deadline_seconds = before.active_deadline_seconds;
    allowed.tolerations.clone_from(&before.tolerations);
    if before.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0)
        && spec.termination_grace_period_seconds == Some(1)
    {
        allowed.termination_grace_period_seconds = before.termination_grace_period_seconds;
    }
    allowed.scheduling_gates.clone_from(&before.scheduling_gates);
    if is_gated(before) {
        // While gated, a Pod may be bound to fewer nodes, never to others.
        allowed.node_selector.clone_from(&before.node_selector);
        put_back_node_affinity(&mut allowed, before);
    }
    allowed
}

fn is_gated(spec: &PodSpec) -> bool {
    spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty())
}

fn put_back_node_affinity(allowed: &mut PodSpec, before: &PodSpec) {
    let old = node_affinity(before);
    match &mut allowed.affinity {
        None if old.is_none() => allowed.affinity.clone_from(&before.affinity),
        None => allowed.affinity = Some(Affinity { node_affinity: old.cloned(), ..Affinity::default() }),
        Some(new) if before.affinity.is_none() && new.pod_affinity.is_none() && new.pod_anti_affinity.is_none() => {
            allowed.affinity = None;
        }
        Some(new) => new.node_affinity = old.cloned(),
    }
}

fn node_affinity(spec: &PodSpec) -> Option<&NodeAffinity> {
    spec.affinity.as_ref()?.node_affinity.as_ref()
}

/// What asks more of a node may be added. Mirrors `validateNodeSelectorMutation` and `validateNodeAffinityMutation`.
fn only_fewer_nodes(problems: &mut Problems, spec: &PodSpec, before: &PodSpec) {
    let mut kept = before.node_selector.iter().flatten();
    if !kept.all(|(key, value)| spec.node_selector.as_ref().and_then(|selector| selector.get(key)) == Some(value)) {
        const WHY: &str = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        problems.invalid(&SPEC.child("nodeSelector"), Json(&spec.node_selector), WHY);
    }
    let terms = |spec| {
        let required = node_affinity(spec)?.required_during_scheduling_ignored_during_execution.as_ref()?;
        Some(required.node_selector_terms.as_slice())
    };
    let (new, old) = (terms(spec).unwrap_or_default(), terms(before).unwrap_or_default());
    let path = SPEC.child("affinity");
    let path = path.child("nodeAffinity");
    let path = path.child("requiredDuringSchedulingIgnoredDuringExecution");
    let path = path.child("nodeSelectorTerms");
    if !old.is_empty() && new.len() != old.len() {
        const WHY: &str = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return problems.invalid(&path, Internal("[]NodeSelectorTerm", new), WHY);
    }
    for (i, (new, old)) in new.iter().zip(old).enumerate() {
        if !has_only_more(new, old) {
            const WHY: &str = "only additions are allowed (no mutations or deletions)";
            problems.invalid(&path.index(i), Internal("NodeSelectorTerm", new), WHY);
        }
    }
}

/// Whether a term asks all that it asked before, in that order, and perhaps more. An empty one matched nothing.
fn has_only_more(new: &NodeSelectorTerm, old: &NodeSelectorTerm) -> bool {
    let parts = |term: &'_ NodeSelectorTerm| {
        let list = |list: &Option<Vec<NodeSelectorRequirement>>| list.clone().unwrap_or_default();
        (list(&term.match_expressions), list(&term.match_fields))
    };
    let ((expressions, fields), (old_expressions, old_fields)) = (parts(new), parts(old));
    if old_expressions.is_empty() && old_fields.is_empty() {
        return expressions.is_empty() && fields.is_empty();
    }
    expressions.starts_with(&old_expressions) && fields.starts_with(&old_fields)
}

fn deadline(problems: &mut Problems, new: Option<i64>, old: Option<i64>) {
    let path = SPEC.child("activeDeadlineSeconds");
    match (new, old) {
        (None, Some(_)) => {
            problems.invalid(&path, Literal("null"), "must not update from a positive integer to nil value");
        }
        (Some(new), Some(old)) if new > old => {
            problems.invalid(&path, new, "must be less than or equal to previous value");
        }
        _ => {}
    }
}

/// Mirrors `validateOnlyAddedTolerations`: of one that is there, only the seconds may change.
fn only_added(problems: &mut Problems, new: &[Toleration], old: &[Toleration]) {
    for there in old {
        let same = |toleration: &Toleration| {
            let seconds = there.toleration_seconds;
            Toleration { toleration_seconds: seconds, ..toleration.clone() } == *there
        };
        if !new.iter().any(same) {
            const WHY: &str = "existing toleration can not be modified except its tolerationSeconds";
            problems.forbidden(&SPEC.child("tolerations"), WHY);
            return;
        }
    }
}

fn no_new_gates(problems: &mut Problems, spec: &PodSpec, before: &PodSpec) {
    let there = before.scheduling_gates.as_deref().unwrap_or_default();
    let path = SPEC.child("schedulingGates");
    for (i, gate) in spec.scheduling_gates.iter().flatten().enumerate() {
        if !there.contains(gate) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{}'", gate.name);
            problems.forbidden(&path.index(i).child("name"), &why);
        }
    }
}

/// A new version of a Pod's status.
pub fn pod_status(problems: &mut Problems, new: &Pod, old: &Pod) {
    let (after, before) = (PodStatus::default(), PodStatus::default());
    let (after, before) = (new.status.as_deref().unwrap_or(&after), old.status.as_deref().unwrap_or(&before));
    for (i, condition) in after.conditions.iter().flatten().enumerate() {
        // Said of the Pod itself, they are not looked at. The path has a name of Go.
        if !["PodScheduled", "Ready", "Initialized"].contains(&&*condition.type_) {
            let list = STATUS.child("conditions");
            problems.all_invalid(&list.index(i).child("Type"), &condition.type_, check_label_key(&condition.type_));
        }
    }
    if before.qos_class.is_some() {
        let shown = |class: &Option<Text>| Json(class).shown();
        problems.immutable(&STATUS.child("qosClass"), &after.qos_class, &before.qos_class, shown);
    }
    if let Some(node) = after.nominated_node_name.as_deref().filter(|node| !node.is_empty()) {
        problems.all_invalid(&STATUS.child("nominatedNodeName"), node, check_subdomain(node));
    }
    if after.pod_ips != before.pod_ips {
        let list = STATUS.child("podIPs");
        for (i, ip) in after.pod_ips.iter().flatten().enumerate() {
            if let Some(why) = check_ip(&ip.ip) {
                problems.invalid(&list.index(i), ip.ip.as_str(), why);
            }
        }
        let all: Vec<&str> = after.pod_ips.iter().flatten().map(|ip| ip.ip.as_str()).collect();
        one_of_each_family(problems, &list, &all, "PodIP");
    }
    host_addresses(problems, after);
    let Some(spec) = old.spec.as_ref().filter(|spec| !could_restart_all(spec)) else { return };
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    let statuses = [
        ("containerStatuses", &after.container_statuses, &before.container_statuses, spec.containers.as_slice()),
        ("initContainerStatuses", &after.init_container_statuses, &before.init_container_statuses, inits),
    ];
    for (name, new, old, containers) in statuses {
        let (new, old) = (new.as_deref().unwrap_or_default(), old.as_deref().unwrap_or_default());
        let policy = spec.restart_policy.as_deref();
        stays_ended(problems, &STATUS.child(name), new, old, |name, code| {
            let own = containers.iter().find(|container| container.name == name);
            policy == Some("Always") || own.is_some_and(|container| is_restarted(policy, container, code))
        });
    }
}

/// A node has an address of each family at most. Mirrors `validateHostIPs`.
fn host_addresses(problems: &mut Problems, status: &PodStatus) {
    let list = STATUS.child("hostIPs");
    let all: Vec<&str> = status.host_ips.iter().flatten().map(|ip| ip.ip.as_str()).collect();
    let Some(first) = all.first() else { return };
    if status.host_ip.as_deref().unwrap_or_default() != *first {
        problems.invalid(&list.index(0).child("ip"), *first, "must be equal to `hostIP`");
    }
    for (i, ip) in all.iter().enumerate() {
        if let Some(why) = check_ip(ip) {
            problems.invalid(&list.index(i), *ip, why);
        }
    }
    one_of_each_family(problems, &list, &all, "HostIP");
}

/// Two addresses are of two families. Those of a list of structs of this Go type, which has one field.
fn one_of_each_family(problems: &mut Problems, list: &Path, all: &[&str], type_: &str) {
    if all.len() < 2 {
        return;
    }
    let shown: Vec<_> = all.iter().map(|ip| json!({"ip": ip})).collect();
    let families: Vec<_> = all.iter().filter_map(|ip| Some(parse_ip_sloppy(ip)?.is_ipv4())).collect();
    if all.len() > 2 || families.len() == 2 && families[0] == families[1] {
        const WHY: &str = "may specify no more than one IP for each IP family";
        problems.invalid(list, Internal(&format!("[]{type_}"), &shown), WHY);
    }
    for (i, ip) in all.iter().enumerate() {
        if all[..i].contains(ip) {
            problems.duplicate(&list.index(i), Internal(type_, &shown[i]));
        }
    }
}

/// A container that ended, and is not to be started again, stays ended. Mirrors `ValidateContainerStateTransition`.
fn stays_ended(
    problems: &mut Problems,
    path: &Path,
    new: &[ContainerStatus],
    old: &[ContainerStatus],
    restarts: impl Fn(&str, i32) -> bool,
) {
    for before in old {
        let Some(ended) = before.state.as_ref().and_then(|state| state.terminated.as_ref()) else { continue };
        if restarts(&before.name, ended.exit_code) {
            continue;
        }
        for (i, after) in new.iter().enumerate() {
            let still = after.state.as_ref().is_some_and(|state| state.terminated.is_some());
            if after.name == before.name && !still {
                problems.forbidden(&path.index(i).child("state"), "may not be transitioned to non-terminated state");
            }
        }
    }
}
