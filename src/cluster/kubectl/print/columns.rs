//! The columns of `kubectl get`: one row of the table below for each kind.
//!
//! In a real cluster the API server makes these cells and kubectl only aligns them.
//! Mirrors `pkg/printers/internalversion/printers.go`.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;
use serde_json::Value;

use super::duration::{age, since};
use super::fields::{at, flag, int, labels, list, map, or_none, plain, selector, text, text_or_none, time};
use super::{admission, ingress, jsonpath, pod, service, storage, workloads};
use crate::object::{Discovery, Kind};

/// How one kind shows in a table.
pub struct Layout<'a> {
    /// Heads, and whether a column shows with `-o wide` only.
    pub columns: Cow<'a, [(&'a str, bool)]>,
    /// The cells of one object, wide ones included, given the time it is.
    pub cells: Cells<'a>,
}

/// Makes the cells of one object, given the time it is.
pub type Cells<'a> = Box<dyn Fn(&Value, Timestamp) -> Vec<String> + 'a>;

/// How `kind` shows in a table. A kind without a row of its own shows name and age, a custom kind what its definition says.
pub fn layout(kind: Kind, discovery: &Discovery) -> Layout<'_> {
    const ALWAYS: bool = false;
    const WIDE: bool = true;
    macro_rules! layout {
        ($cells:expr, $($name:literal $wide:ident),*) => {
            Layout { columns: Cow::Borrowed(&[$(($name, $wide)),*]), cells: Box::new($cells) }
        };
    }
    if let Some(columns) = discovery.columns(kind) {
        return custom(columns);
    }
    #[rustfmt::skip]
    let layout = match kind {
        Kind::Pod => layout!(pod_cells, "Name" ALWAYS, "Ready" ALWAYS, "Status" ALWAYS, "Restarts" ALWAYS,
            "Age" ALWAYS, "IP" WIDE, "Node" WIDE, "Nominated Node" WIDE, "Readiness Gates" WIDE),
        Kind::Deployment => layout!(deployment_cells, "Name" ALWAYS, "Ready" ALWAYS, "Up-to-date" ALWAYS,
            "Available" ALWAYS, "Age" ALWAYS, "Containers" WIDE, "Images" WIDE, "Selector" WIDE),
        Kind::ReplicaSet | Kind::ReplicationController => layout!(replica_set_cells, "Name" ALWAYS, "Desired" ALWAYS, "Current" ALWAYS,
            "Ready" ALWAYS, "Age" ALWAYS, "Containers" WIDE, "Images" WIDE, "Selector" WIDE),
        Kind::DaemonSet => layout!(workloads::daemon_set_cells, "Name" ALWAYS, "Desired" ALWAYS, "Current" ALWAYS,
            "Ready" ALWAYS, "Up-to-date" ALWAYS, "Available" ALWAYS, "Node Selector" ALWAYS, "Age" ALWAYS,
            "Containers" WIDE, "Images" WIDE, "Selector" WIDE),
        Kind::StatefulSet => layout!(workloads::stateful_set_cells, "Name" ALWAYS, "Ready" ALWAYS, "Age" ALWAYS,
            "Containers" WIDE, "Images" WIDE),
        Kind::ControllerRevision => layout!(workloads::revision_cells, "Name" ALWAYS, "Controller" ALWAYS,
            "Revision" ALWAYS, "Age" ALWAYS),
        Kind::Job => layout!(workloads::job_cells, "Name" ALWAYS, "Status" ALWAYS, "Completions" ALWAYS,
            "Duration" ALWAYS, "Age" ALWAYS, "Containers" WIDE, "Images" WIDE, "Selector" WIDE),
        Kind::CronJob => layout!(workloads::cron_job_cells, "Name" ALWAYS, "Schedule" ALWAYS, "Timezone" ALWAYS,
            "Suspend" ALWAYS, "Active" ALWAYS, "Last Schedule" ALWAYS, "Age" ALWAYS, "Containers" WIDE, "Images" WIDE,
            "Selector" WIDE),
        Kind::Node => layout!(node_cells, "Name" ALWAYS, "Status" ALWAYS, "Roles" ALWAYS, "Age" ALWAYS,
            "Version" ALWAYS, "Internal-IP" WIDE, "External-IP" WIDE, "OS-Image" WIDE, "Kernel-Version" WIDE,
            "Container-Runtime" WIDE),
        Kind::Service => layout!(service_cells, "Name" ALWAYS, "Type" ALWAYS, "Cluster-IP" ALWAYS,
            "External-IP" ALWAYS, "Port(s)" ALWAYS, "Age" ALWAYS, "Selector" WIDE),
        Kind::Endpoints => layout!(|o, now| vec![name(o), service::endpoints(o), created(o, now)],
            "Name" ALWAYS, "Endpoints" ALWAYS, "Age" ALWAYS),
        Kind::EndpointSlice => layout!(slice_cells, "Name" ALWAYS, "AddressType" ALWAYS, "Ports" ALWAYS,
            "Endpoints" ALWAYS, "Age" ALWAYS),
        Kind::IPAddress => layout!(|o, now| vec![name(o), service::parent(o), created(o, now)],
            "Name" ALWAYS, "ParentRef" ALWAYS, "Age" ALWAYS),
        Kind::ServiceCIDR => layout!(|o, now| vec![name(o), service::ranges(o), created(o, now)],
            "Name" ALWAYS, "CIDRs" ALWAYS, "Age" ALWAYS),
        Kind::Ingress => layout!(ingress::cells, "Name" ALWAYS, "Class" ALWAYS, "Hosts" ALWAYS, "Address" ALWAYS,
            "Ports" ALWAYS, "Age" ALWAYS),
        Kind::IngressClass => layout!(ingress::class_cells, "Name" ALWAYS, "Controller" ALWAYS, "Parameters" ALWAYS,
            "Age" ALWAYS),
        Kind::NetworkPolicy => layout!(|o, now| vec![name(o), selector(o, "spec.podSelector"), created(o, now)],
            "Name" ALWAYS, "Pod-Selector" ALWAYS, "Age" ALWAYS),
        Kind::ValidatingAdmissionPolicy => layout!(admission::policy_cells, "Name" ALWAYS, "Validations" ALWAYS,
            "ParamKind" ALWAYS, "Age" ALWAYS),
        Kind::ValidatingAdmissionPolicyBinding => layout!(admission::binding_cells, "Name" ALWAYS, "PolicyName" ALWAYS,
            "ParamRef" ALWAYS, "Age" ALWAYS),
        Kind::MutatingWebhookConfiguration | Kind::ValidatingWebhookConfiguration => {
            layout!(admission::webhooks_cells, "Name" ALWAYS, "Webhooks" ALWAYS, "Age" ALWAYS)
        }
        Kind::ResourceQuota => layout!(quota_cells, "Name" ALWAYS, "Request" ALWAYS, "Limit" ALWAYS, "Age" ALWAYS),
        Kind::PodDisruptionBudget => layout!(budget_cells, "Name" ALWAYS, "Min Available" ALWAYS,
            "Max Unavailable" ALWAYS, "Allowed Disruptions" ALWAYS, "Age" ALWAYS),
        Kind::HorizontalPodAutoscaler => layout!(workloads::autoscaler_cells, "Name" ALWAYS, "Reference" ALWAYS,
            "Targets" ALWAYS, "MinPods" ALWAYS, "MaxPods" ALWAYS, "Replicas" ALWAYS, "Age" ALWAYS),
        Kind::Namespace => layout!(|o, now| vec![name(o), text(o, "status.phase").to_owned(), created(o, now)],
            "Name" ALWAYS, "Status" ALWAYS, "Age" ALWAYS),
        Kind::ConfigMap => layout!(|o, now| vec![name(o), data_count(o), created(o, now)],
            "Name" ALWAYS, "Data" ALWAYS, "Age" ALWAYS),
        Kind::Secret => layout!(|o, now| vec![name(o), text(o, "type").to_owned(), data_count(o), created(o, now)],
            "Name" ALWAYS, "Type" ALWAYS, "Data" ALWAYS, "Age" ALWAYS),
        Kind::Event => layout!(event_cells, "Last Seen" ALWAYS, "Type" ALWAYS, "Reason" ALWAYS, "Object" ALWAYS,
            "Subobject" WIDE, "Source" WIDE, "Message" ALWAYS, "First Seen" WIDE, "Count" WIDE, "Name" WIDE),
        Kind::Lease => layout!(|o, now| vec![name(o), text(o, "spec.holderIdentity").to_owned(), created(o, now)],
            "Name" ALWAYS, "Holder" ALWAYS, "Age" ALWAYS),
        Kind::RuntimeClass => layout!(|o, now| vec![name(o), text(o, "handler").to_owned(), created(o, now)],
            "Name" ALWAYS, "Handler" ALWAYS, "Age" ALWAYS),
        Kind::PriorityClass => layout!(priority_class_cells, "Name" ALWAYS, "Value" ALWAYS, "Global-Default" ALWAYS,
            "Age" ALWAYS, "PreemptionPolicy" ALWAYS),
        Kind::LimitRange | Kind::Role | Kind::ClusterRole | Kind::CustomResourceDefinition => layout!(|o, _| vec![name(o), text(o, "metadata.creationTimestamp").to_owned()],
            "Name" ALWAYS, "Created At" ALWAYS),
        Kind::RoleBinding | Kind::ClusterRoleBinding => layout!(binding_cells, "Name" ALWAYS, "Role" ALWAYS,
            "Age" ALWAYS, "Users" WIDE, "Groups" WIDE, "ServiceAccounts" WIDE),
        Kind::PersistentVolume => layout!(storage::volume_cells, "Name" ALWAYS, "Capacity" ALWAYS,
            "Access Modes" ALWAYS, "Reclaim Policy" ALWAYS, "Status" ALWAYS, "Claim" ALWAYS, "StorageClass" ALWAYS,
            "VolumeAttributesClass" ALWAYS, "Reason" ALWAYS, "Age" ALWAYS, "VolumeMode" WIDE),
        Kind::PersistentVolumeClaim => layout!(storage::claim_cells, "Name" ALWAYS, "Status" ALWAYS, "Volume" ALWAYS,
            "Capacity" ALWAYS, "Access Modes" ALWAYS, "StorageClass" ALWAYS, "VolumeAttributesClass" ALWAYS,
            "Age" ALWAYS, "VolumeMode" WIDE),
        Kind::StorageClass => layout!(storage::class_cells, "Name" ALWAYS, "Provisioner" ALWAYS, "ReclaimPolicy" ALWAYS,
            "VolumeBindingMode" ALWAYS, "AllowVolumeExpansion" ALWAYS, "Age" ALWAYS),
        Kind::VolumeAttachment => layout!(storage::attachment_cells, "Name" ALWAYS, "Attacher" ALWAYS, "PV" ALWAYS,
            "Node" ALWAYS, "Attached" ALWAYS, "Age" ALWAYS),
        Kind::CSIDriver => layout!(storage::driver_cells, "Name" ALWAYS, "AttachRequired" ALWAYS,
            "PodInfoOnMount" ALWAYS, "StorageCapacity" ALWAYS, "TokenRequests" ALWAYS, "RequiresRepublish" ALWAYS,
            "Modes" ALWAYS, "Age" ALWAYS),
        Kind::CSINode => layout!(storage::driver_node_cells, "Name" ALWAYS, "Drivers" ALWAYS, "Age" ALWAYS),
        _ => layout!(|o, now| vec![name(o), created(o, now)], "Name" ALWAYS, "Age" ALWAYS),
    };
    layout
}

/// The columns that a definition asks for. Mirrors `pkg/registry/customresource/tableconvertor` of
/// apiextensions-apiserver.
fn custom(columns: &[CustomResourceColumnDefinition]) -> Layout<'_> {
    let heads = columns.iter().map(|column| (column.name.as_str(), column.priority.unwrap_or(0) > 0));
    let cells = move |object: &Value, now| {
        let cells = columns.iter().map(|column| custom_cell(column, object, now));
        std::iter::once(name(object)).chain(cells).collect()
    };
    Layout { columns: std::iter::once(("Name", false)).chain(heads).collect(), cells: Box::new(cells) }
}

/// The first value at the column's path, if it is of the column's type.
fn custom_cell(column: &CustomResourceColumnDefinition, object: &Value, now: Timestamp) -> String {
    let found = jsonpath::find(&column.json_path, object).unwrap_or_default();
    match (column.type_.as_str(), found.first()) {
        (_, None | Some(Value::Null)) => String::new(),
        ("string", Some(value)) => plain(value),
        ("date", Some(value)) => match value.as_str().map(str::parse) {
            Some(Ok(time)) => since(now, time),
            _ => "<invalid>".to_owned(),
        },
        ("integer", Some(value)) => value.as_f64().map_or_else(String::new, |number| (number as i64).to_string()),
        ("number", Some(Value::Number(number))) => number.to_string(),
        ("boolean", Some(Value::Bool(value))) => value.to_string(),
        _ => String::new(),
    }
}

pub(super) fn name(object: &Value) -> String {
    text(object, "metadata.name").to_owned()
}

pub(super) fn created(object: &Value, now: Timestamp) -> String {
    age(now, object, "metadata.creationTimestamp")
}

/// What is used of what is allowed; limits have a column of their own.
fn quota_cells(quota: &Value, now: Timestamp) -> Vec<String> {
    let column = |limits: bool| {
        let those = map(quota, "status.hard").filter(|(name, _)| name.starts_with("limits.") == limits);
        let used = |name: &str| at(quota, "status.used").get(name).map_or_else(|| "0".to_owned(), plain);
        those.map(|(name, hard)| format!("{name}: {}/{}", used(name), plain(hard))).collect::<Vec<_>>().join(", ")
    };
    vec![name(quota), column(false), column(true), created(quota, now)]
}

fn budget_cells(budget: &Value, now: Timestamp) -> Vec<String> {
    let amount = |path: &str| match at(budget, path) {
        Value::Null => "N/A".to_owned(),
        amount => plain(amount),
    };
    vec![
        name(budget),
        amount("spec.minAvailable"),
        amount("spec.maxUnavailable"),
        int(budget, "status.disruptionsAllowed").to_string(),
        created(budget, now),
    ]
}

fn pod_cells(pod: &Value, now: Timestamp) -> Vec<String> {
    let shown = pod::summary(pod);
    let restarts = match shown.last_restart {
        Some(last) if shown.restarts != 0 => format!("{} ({} ago)", shown.restarts, since(now, last)),
        _ => shown.restarts.to_string(),
    };
    vec![
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

fn deployment_cells(deployment: &Value, now: Timestamp) -> Vec<String> {
    let count = |path| int(deployment, path).to_string();
    let (containers, images) = containers(deployment, "spec.template");
    vec![
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

fn replica_set_cells(set: &Value, now: Timestamp) -> Vec<String> {
    let count = |path| int(set, path).to_string();
    let (containers, images) = containers(set, "spec.template");
    vec![
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
pub(super) fn containers(object: &Value, path: &str) -> (String, String) {
    let containers = list(at(object, path), "spec.containers");
    let all = |field| containers.iter().map(|c| text(c, field)).collect::<Vec<_>>().join(",");
    (all("name"), all("image"))
}

fn node_cells(node: &Value, now: Timestamp) -> Vec<String> {
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
    vec![
        name(node),
        status,
        node_roles(node),
        created(node, now),
        text(node, "status.nodeInfo.kubeletVersion").to_owned(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        info("kernelVersion"),
        info("containerRuntimeVersion"),
    ]
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

fn service_cells(service: &Value, now: Timestamp) -> Vec<String> {
    let kind = text(service, "spec.type");
    let port = |port: &Value| {
        let protocol = text(port, "protocol");
        match int(port, "nodePort") {
            0 => format!("{}/{protocol}", int(port, "port")),
            node => format!("{}:{node}/{protocol}", int(port, "port")),
        }
    };
    let ports: Vec<String> = list(service, "spec.ports").iter().map(port).collect();
    vec![
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

fn slice_cells(slice: &Value, now: Timestamp) -> Vec<String> {
    let (ports, endpoints) = (service::slice_ports(slice), service::slice_endpoints(slice));
    vec![name(slice), text(slice, "addressType").to_owned(), ports, endpoints, created(slice, now)]
}

fn data_count(object: &Value) -> String {
    (map(object, "data").count() + map(object, "binaryData").count()).to_string()
}

fn event_cells(event: &Value, now: Timestamp) -> Vec<String> {
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
    let (component, host) = (event_source(event), text(event, "source.host"));
    vec![
        last,
        text(event, "type").to_owned(),
        text(event, "reason").to_owned(),
        format!("{about}/{}", text(event, "involvedObject.name")),
        text(event, "involvedObject.fieldPath").to_owned(),
        if host.is_empty() { component.to_owned() } else { format!("{component}, {host}") },
        text(event, "message").trim().to_owned(),
        seen(&["firstTimestamp", "eventTime"]),
        count.to_string(),
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

fn priority_class_cells(class: &Value, now: Timestamp) -> Vec<String> {
    let value = plain(at(class, "value"));
    let global = flag(class, "globalDefault").to_string();
    vec![name(class), value, global, created(class, now), text(class, "preemptionPolicy").to_owned()]
}

fn binding_cells(binding: &Value, now: Timestamp) -> Vec<String> {
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
    vec![name(binding), role, created(binding, now), users, groups, accounts]
}
