//! The page about a Pod.

use serde_json::Value;

use super::super::duration::age;
use super::super::fields::{at, int, list, long_time, or_none, text};
use super::super::pod::is_finished;
use super::page::{Page, tolerations};
use super::{containers, volumes};

pub(super) fn describe(page: &mut Page, pod: &Value) {
    page.name(pod);
    page.namespace(pod);
    describe_placement(page, pod);
    page.labels("Labels", pod, "metadata.labels");
    page.annotations("Annotations", pod, "metadata.annotations");
    describe_status(page, pod);
    page.controlled_by(pod);
    optional(page, "NominatedNodeName", text(pod, "status.nominatedNodeName"));
    if !at(pod, "spec.resources").is_null() {
        page.line("Resources:");
        containers::resources(page, at(pod, "spec"), "  ");
    }
    if !list(pod, "spec.initContainers").is_empty() {
        let (specs, statuses) = (list(pod, "spec.initContainers"), list(pod, "status.initContainerStatuses"));
        containers::describe(page, "Init Containers", specs, statuses, "", Some(pod));
    }
    let (specs, statuses) = (list(pod, "spec.containers"), list(pod, "status.containerStatuses"));
    containers::describe(page, "Containers", specs, statuses, "", Some(pod));
    if !list(pod, "spec.ephemeralContainers").is_empty() {
        let (specs, statuses) = (list(pod, "spec.ephemeralContainers"), list(pod, "status.ephemeralContainerStatuses"));
        containers::describe(page, "Ephemeral Containers", specs, statuses, "", Some(pod));
    }
    describe_gates(page, pod);
    describe_conditions(page, pod);
    volumes::describe(page, list(pod, "spec.volumes"), "");
    page.field("QoS Class", text(pod, "status.qosClass"));
    page.labels("Node-Selectors", pod, "spec.nodeSelector");
    tolerations(page, "Tolerations", pod, "spec.tolerations");
    topology(page, list(pod, "spec.topologySpreadConstraints"), "");
}

fn optional(page: &mut Page, name: &str, value: &str) {
    if !value.is_empty() {
        page.field(name, value);
    }
}

fn describe_placement(page: &mut Page, pod: &Value) {
    if let Some(priority) = at(pod, "spec.priority").as_i64() {
        page.field("Priority", priority.to_string());
    }
    optional(page, "Priority Class Name", text(pod, "spec.priorityClassName"));
    optional(page, "Runtime Class Name", text(pod, "spec.runtimeClassName"));
    optional(page, "Service Account", text(pod, "spec.serviceAccountName"));
    let node = match text(pod, "spec.nodeName") {
        "" => String::new(),
        node => format!("{node}/{}", text(pod, "status.hostIP")),
    };
    page.field("Node", or_none(&node));
    if let Some(time) = long_time(pod, "status.startTime") {
        page.field("Start Time", time);
    }
}

fn describe_status(page: &mut Page, pod: &Value) {
    if !at(pod, "metadata.deletionTimestamp").is_null() && !is_finished(pod) {
        let lasts = age(page.now, pod, "metadata.deletionTimestamp");
        page.field("Status", format!("Terminating (lasts {lasts})"));
        let grace = int(pod, "metadata.deletionGracePeriodSeconds");
        page.field("Termination Grace Period", format!("{grace}s"));
    } else {
        page.field("Status", text(pod, "status.phase"));
    }
    optional(page, "Reason", text(pod, "status.reason"));
    optional(page, "Message", text(pod, "status.message"));
    let profile = at(pod, "spec.securityContext.seccompProfile");
    optional(page, "SeccompProfile", text(profile, "type"));
    optional(page, "LocalhostProfile", text(profile, "localhostProfile"));
    page.field("IP", text(pod, "status.podIP"));
    let ips = list(pod, "status.podIPs");
    match ips {
        [] => page.field("IPs", "<none>"),
        ips => {
            page.line("IPs:");
            ips.iter().for_each(|ip| page.field("  IP", text(ip, "ip")));
        }
    }
}

fn describe_gates(page: &mut Page, pod: &Value) {
    let gates = list(pod, "spec.readinessGates");
    if gates.is_empty() {
        return;
    }
    page.line("Readiness Gates:\n  Type\tStatus");
    for gate in gates {
        let kind = text(gate, "conditionType");
        let status = super::super::pod::condition(pod, kind);
        page.line(format!("  {kind} \t{} ", or_none(status)));
    }
}

fn describe_conditions(page: &mut Page, pod: &Value) {
    let conditions = list(pod, "status.conditions");
    if conditions.is_empty() {
        return;
    }
    page.line("Conditions:\n  Type\tStatus");
    for condition in conditions {
        page.line(format!("  {} \t{} ", text(condition, "type"), text(condition, "status")));
    }
}

/// `topology.kubernetes.io/zone:DoNotSchedule when max skew 1 is exceeded for selector app=web`, by key.
pub(super) fn topology(page: &mut Page, constraints: &[Value], indent: &str) {
    if constraints.is_empty() {
        return;
    }
    let show = |c: &&Value| {
        let (key, when, skew) = (text(c, "topologyKey"), text(c, "whenUnsatisfiable"), int(c, "maxSkew"));
        let selector = match at(c, "labelSelector") {
            Value::Null => String::new(),
            _ => format!(" for selector {}", super::super::fields::selector(c, "labelSelector")),
        };
        format!("{key}:{when} when max skew {skew} is exceeded{selector}")
    };
    let mut constraints: Vec<&Value> = constraints.iter().collect();
    constraints.sort_by_key(|constraint| text(constraint, "topologyKey"));
    page.lines(&format!("{indent}Topology Spread Constraints"), &constraints.iter().map(show).collect::<Vec<_>>());
}
