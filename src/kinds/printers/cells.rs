//! The cells of the kinds that need few of them each. Mirrors `pkg/printers/internalversion/printers.go`.

use jiff::Timestamp;
use serde_json::Value;

use crate::kinds::printers::duration::{age, since};
use crate::kinds::printers::fields::{at, flag, int, labels, list, map, or_none, plain, selector, text, text_or_none, time};
use crate::kinds::printers::{pod, service};
pub fn name(object: &Value) -> String {
    text(object, "metadata.name").to_owned()
}

pub fn created(object: &Value, now: Timestamp) -> String {
    age(now, object, "metadata.creationTimestamp")
}

/// What is used of what is allowed; limits have a column of their own.
pub fn quota_cells(quota: &Value, now: Timestamp) -> Vec<Value> {
    let column = |limits: bool| {
        let those = map(quota, "status.hard").filter(|(name, _)| name.starts_with("limits.") == limits);
        let used = |name: &str| at(quota, "status.used").get(name).map_or_else(|| "0".to_owned(), plain);
        those.map(|(name, hard)| format!("{name}: {}/{}", used(name), plain(hard))).collect::<Vec<_>>().join(", ")
    };
    cells![name(quota), column(false), column(true), created(quota, now)]
}

/// A component is healthy, or it is not; the condition says why.
pub fn component_cells(component: &Value, _: Timestamp) -> Vec<Value> {
    let healthy = list(component, "conditions").iter().find(|condition| text(condition, "type") == "Healthy");
    let said = |field: &str| healthy.map_or("", |condition| text(condition, field)).to_owned();
    let status = match healthy.map(|condition| text(condition, "status")) {
        None => "Unknown",
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
    };
    cells![name(component), status, said("message"), said("error")]
}

pub fn budget_cells(budget: &Value, now: Timestamp) -> Vec<Value> {
    let amount = |path: &str| match at(budget, path) {
        Value::Null => "N/A".to_owned(),
        amount => plain(amount),
    };
    cells![
        name(budget),
        amount("spec.minAvailable"),
        amount("spec.maxUnavailable"),
        int(budget, "status.disruptionsAllowed"),
        created(budget, now),
    ]
}

pub fn pod_cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let shown = pod::summary(pod);
    let restarts = match shown.last_restart {
        Some(last) if shown.restarts != 0 => format!("{} ({} ago)", shown.restarts, since(now, last)),
        _ => shown.restarts.to_string(),
    };
    cells![
        name(pod),
        format!("{}/{}", shown.ready, shown.containers),
        shown.status,
        restarts,
        created(pod, now),
        text_or_none(pod, "status.podIP"),
        text_or_none(pod, "spec.nodeName"),
        text_or_none(pod, "status.nominatedNodeName"),
        readiness_gates(pod),
    ]
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, "spec.readinessGates");
    let met = |gate: &&Value| pod::condition(pod, text(gate, "conditionType")) == "True";
    match gates.len() {
        0 => "<none>".to_owned(),
        all => format!("{}/{all}", gates.iter().filter(met).count()),
    }
}

pub fn deployment_cells(deployment: &Value, now: Timestamp) -> Vec<Value> {
    let count = |path| int(deployment, path);
    let (containers, images) = containers(deployment, "spec.template");
    cells![
        name(deployment),
        format!("{}/{}", int(deployment, "status.readyReplicas"), int(deployment, "spec.replicas")),
        count("status.updatedReplicas"),
        count("status.availableReplicas"),
        created(deployment, now),
        containers,
        images,
        selector(deployment, "spec.selector"),
    ]
}

pub fn replica_set_cells(set: &Value, now: Timestamp) -> Vec<Value> {
    let count = |path| int(set, path);
    let (containers, images) = containers(set, "spec.template");
    cells![
        name(set),
        count("spec.replicas"),
        count("status.replicas"),
        count("status.readyReplicas"),
        created(set, now),
        containers,
        images,
        selector(set, "spec.selector"),
    ]
}

/// Names and images of the containers in the template at `path`.
pub fn containers(object: &Value, path: &str) -> (String, String) {
    let containers = list(at(object, path), "spec.containers");
    let all = |field| containers.iter().map(|c| text(c, field)).collect::<Vec<_>>().join(",");
    (all("name"), all("image"))
}

pub fn node_cells(node: &Value, now: Timestamp) -> Vec<Value> {
    let mut status = match pod::condition(node, "Ready") {
        "True" => "Ready".to_owned(),
        "" => "Unknown".to_owned(),
        _ => "NotReady".to_owned(),
    };
    if flag(node, "spec.unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let address = |kind: &str| {
        let found = list(node, "status.addresses").iter().find(|a| text(a, "type") == kind);
        or_none(found.map_or("", |a| text(a, "address")))
    };
    let info = |field: &str| {
        let value = text(at(node, "status.nodeInfo"), field);
        if value.is_empty() { "<unknown>".to_owned() } else { value.to_owned() }
    };
    cells![
        name(node),
        status,
        node_roles(node),
        created(node, now),
        text(node, "status.nodeInfo.kubeletVersion"),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        kernel(node, info("kernelVersion")),
        info("containerRuntimeVersion"),
    ]
}

/// The kernel's version, and behind it for which processors it was built.
fn kernel(node: &Value, version: String) -> String {
    match text(at(node, "status.nodeInfo"), "architecture") {
        "" => version,
        architecture => format!("{version} ({architecture})"),
    }
}

/// What the labels `node-role.kubernetes.io/ROLE` and `kubernetes.io/role=ROLE` say.
pub fn node_roles(node: &Value) -> String {
    let role = |(key, value): (&String, &Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) if !role.is_empty() => Some(role.to_owned()),
        _ if key == "kubernetes.io/role" => value.as_str().filter(|r| !r.is_empty()).map(str::to_owned),
        _ => None,
    };
    let roles: std::collections::BTreeSet<String> = map(node, "metadata.labels").filter_map(role).collect();
    or_none(&roles.into_iter().collect::<Vec<_>>().join(","))
}

pub fn service_cells(service: &Value, now: Timestamp) -> Vec<Value> {
    let kind = text(service, "spec.type");
    let port = |port: &Value| {
        let protocol = text(port, "protocol");
        match int(port, "nodePort") {
            0 => format!("{}/{protocol}", int(port, "port")),
            node => format!("{}:{node}/{protocol}", int(port, "port")),
        }
    };
    let ports: Vec<String> = list(service, "spec.ports").iter().map(port).collect();
    cells![
        name(service),
        kind.to_owned(),
        text_or_none(service, "spec.clusterIP"),
        external_ip(service, kind),
        or_none(&ports.join(",")),
        created(service, now),
        labels(service, "spec.selector"),
    ]
}

/// Mirrors `getServiceExternalIP`.
fn external_ip(service: &Value, kind: &str) -> String {
    let mut ips: Vec<&str> = Vec::new();
    if kind == "LoadBalancer" {
        for ingress in list(service, "status.loadBalancer.ingress") {
            ips.extend([text(ingress, "ip"), text(ingress, "hostname")].into_iter().find(|t| !t.is_empty()));
        }
    }
    if kind == "ExternalName" {
        return text(service, "spec.externalName").to_owned();
    }
    ips.extend(list(service, "spec.externalIPs").iter().filter_map(Value::as_str));
    match ips.is_empty() {
        true if kind == "LoadBalancer" => "<pending>".to_owned(),
        _ => or_none(&ips.join(",")),
    }
}

pub fn slice_cells(slice: &Value, now: Timestamp) -> Vec<Value> {
    let (ports, endpoints) = (service::slice_ports(slice), service::slice_endpoints(slice));
    cells![name(slice), text(slice, "addressType").to_owned(), ports, endpoints, created(slice, now)]
}

pub fn data_count(object: &Value) -> usize {
    map(object, "data").count() + map(object, "binaryData").count()
}

pub fn event_cells(event: &Value, now: Timestamp) -> Vec<Value> {
    let seen = |paths: &[&str]| match paths.iter().find_map(|path| time(event, path)) {
        Some(time) => since(now, time),
        None => "<unknown>".to_owned(),
    };
    let series = !at(event, "series").is_null();
    let count = if series { int(event, "series.count") } else { int(event, "count").max(1) };
    let last = match series {
        true => seen(&["series.lastObservedTime"]),
        false => seen(&["lastTimestamp", "firstTimestamp", "eventTime"]),
    };
    let about = text(event, "involvedObject.kind").to_ascii_lowercase();
    let about = match text(event, "involvedObject.name") {
        "" => about,
        name => format!("{about}/{name}"),
    };
    let host = match text(event, "source.host") {
        "" => text(event, "reportingInstance"),
        host => host,
    };
    let component = event_source(event);
    cells![
        last,
        text(event, "type"),
        text(event, "reason"),
        about,
        text(event, "involvedObject.fieldPath"),
        if host.is_empty() { component.to_owned() } else { format!("{component}, {host}") },
        text(event, "message").trim().to_owned(),
        seen(&["firstTimestamp", "eventTime"]),
        count,
        name(event),
    ]
}

/// The component that an Event is from: the old field, or the new one.
pub fn event_source(event: &Value) -> &str {
    match text(event, "source.component") {
        "" => text(event, "reportingComponent"),
        component => component,
    }
}

pub fn priority_class_cells(class: &Value, now: Timestamp) -> Vec<Value> {
    let (value, global) = (int(class, "value"), flag(class, "globalDefault"));
    cells![name(class), value, global, created(class, now), text(class, "preemptionPolicy")]
}

pub fn binding_cells(binding: &Value, now: Timestamp) -> Vec<Value> {
    let role = format!("{}/{}", text(binding, "roleRef.kind"), text(binding, "roleRef.name"));
    let subjects = |kind: &str| {
        let named = list(binding, "subjects").iter().filter(|s| text(s, "kind") == kind);
        let show = |s: &Value| match kind {
            "ServiceAccount" => format!("{}/{}", text(s, "namespace"), text(s, "name")),
            _ => text(s, "name").to_owned(),
        };
        named.map(show).collect::<Vec<_>>().join(", ")
    };
    let [users, groups, accounts] = ["User", "Group", "ServiceAccount"].map(subjects);
    cells![name(binding), role, created(binding, now), users, groups, accounts]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_says_what_it_is_about_and_who_tells_it() {
        let cells = |event: Value| event_cells(&event, Timestamp::UNIX_EPOCH);
        let told = cells(
            json!({"involvedObject": {"kind": "Pod", "name": "web"}, "source": {"component": "kubelet", "host": "n"},
            "reportingComponent": "kubelet", "reportingInstance": "other"}),
        );
        assert_eq!((&told[3], &told[5]), (&json!("pod/web"), &json!("kubelet, n")));
        let newer = json!({"involvedObject": {"kind": "Node"}, "reportingComponent": "default-scheduler",
            "reportingInstance": "default-scheduler-a"});
        let told = cells(newer);
        assert_eq!((&told[3], &told[5]), (&json!("node"), &json!("default-scheduler, default-scheduler-a")));
    }
}
