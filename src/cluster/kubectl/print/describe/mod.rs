//! Describe pages. Mirrors `k8s.io/kubectl/pkg/describe/describe.go`: lines of `Name:<tab>value`, lined up at the end.

mod addresses;
mod any;
mod autoscaler;
mod containers;
mod ingress;
mod network_policy;
mod node;
mod pod;
mod policy;
mod rbac;
mod service;
mod sets;
mod simple;
mod storage;
mod volumes;
mod workloads;

pub use node::taint_text;

use jiff::Timestamp;
use serde_json::Value;

use super::cells::event_source;
use super::duration::since;
use super::fields::{at, int, list, map, or_none, plain, text, time};
use super::tabs;
use crate::object::Kind;
use crate::object::well_known::LAST_APPLIED;

/// What a page shows beside the object itself; kubectl asks for each of them.
#[derive(Clone, Debug, Default)]
pub struct Related {
    /// Events about the object; None if nobody wants to see them.
    pub events: Option<Vec<Value>>,
    /// A Deployment's ReplicaSets.
    pub replica_sets: Vec<Value>,
    /// A ReplicaSet's or a node's Pods, or those of a claim's namespace.
    pub pods: Vec<Value>,
    /// A Service's EndpointSlices.
    pub slices: Vec<Value>,
    /// A Namespace's ResourceQuotas.
    pub quotas: Vec<Value>,
    /// A Namespace's LimitRanges.
    pub limit_ranges: Vec<Value>,
    /// The endpoints behind each `service:port` that an Ingress names, in brackets, or why they are not known.
    pub backends: std::collections::BTreeMap<String, String>,
    /// A node's Lease, or why there is none.
    pub lease: Option<Result<Value, String>>,
}

/// The page about `object`.
pub fn describe(kind: Kind, object: &Value, related: &Related, now: Timestamp) -> String {
    let mut page = Page { text: String::new(), now };
    (row(kind).map_or(ANY, |row| row.page))(&mut page, object, related);
    if let Some(events) = related.events.as_ref().filter(|_| has_events(kind)) {
        page.events(events);
    }
    tabs::page(&page.text)
}

/// Whether the page about a kind ends with its Events; that of a Namespace ends with its quotas.
pub fn has_events(kind: Kind) -> bool {
    row(kind).is_none_or(|row| row.events)
}

/// How a kind is described.
struct Row {
    kind: Kind,
    page: Describe,
    /// Whether the page ends with the object's Events.
    events: bool,
}

/// Writes the page about an object.
type Describe = fn(&mut Page, &Value, &Related);

/// The page about an object of a kind without a row.
const ANY: Describe = |page, object, _| any::describe(page, object);

fn row(kind: Kind) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.kind == kind)
}

const fn with_events(kind: Kind, page: Describe) -> Row {
    Row { kind, page, events: true }
}

const fn without_events(kind: Kind, page: Describe) -> Row {
    Row { kind, page, events: false }
}

/// The kinds that have pages of their own.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    without_events(Kind::Namespace, |page, object, related| {
        simple::describe_namespace(page, object);
        policy::of_namespace(page, &related.quotas, &related.limit_ranges);
    }),
    with_events(Kind::Node, |page, object, related| node::describe(page, object, related)),
    with_events(Kind::Pod, |page, object, _| pod::describe(page, object)),
    with_events(Kind::Service, |page, object, related| service::describe_service(page, object, &related.slices)),
    with_events(Kind::ConfigMap, |page, object, _| simple::describe_config_map(page, object)),
    without_events(Kind::Secret, |page, object, _| simple::describe_secret(page, object)),
    with_events(Kind::ServiceAccount, |page, object, _| simple::describe_service_account(page, object)),
    with_events(Kind::Deployment, |page, object, related| workloads::describe_deployment(page, object, &related.replica_sets)),
    with_events(Kind::ReplicaSet, |page, object, related| workloads::describe_replica_set(page, object, &related.pods)),
    with_events(Kind::PriorityClass, |page, object, _| simple::describe_priority_class(page, object)),
    without_events(Kind::Role, |page, object, _| rbac::describe_role(page, object)),
    without_events(Kind::RoleBinding, |page, object, _| rbac::describe_binding(page, object)),
    without_events(Kind::ClusterRole, |page, object, _| rbac::describe_role(page, object)),
    without_events(Kind::ClusterRoleBinding, |page, object, _| rbac::describe_binding(page, object)),
    with_events(Kind::PersistentVolume, |page, object, _| storage::describe_volume(page, object)),
    with_events(Kind::PersistentVolumeClaim, |page, object, related| storage::describe_claim(page, object, &related.pods)),
    with_events(Kind::StorageClass, |page, object, _| storage::describe_class(page, object)),
    with_events(Kind::CSINode, |page, object, _| storage::describe_driver_node(page, object)),
    with_events(Kind::Endpoints, |page, object, _| service::describe_endpoints(page, object)),
    with_events(Kind::EndpointSlice, |page, object, _| service::describe_slice(page, object)),
    with_events(Kind::IPAddress, |page, object, _| addresses::describe_address(page, object)),
    with_events(Kind::ServiceCIDR, |page, object, _| addresses::describe_range(page, object)),
    with_events(Kind::ReplicationController, |page, object, related| workloads::describe_replica_set(page, object, &related.pods)),
    with_events(Kind::DaemonSet, |page, object, related| sets::describe_daemon_set(page, object, &related.pods)),
    with_events(Kind::StatefulSet, |page, object, related| sets::describe_stateful_set(page, object, &related.pods)),
    with_events(Kind::Job, |page, object, _| sets::describe_job(page, object)),
    with_events(Kind::CronJob, |page, object, _| sets::describe_cron_job(page, object)),
    with_events(Kind::Ingress, |page, object, related| ingress::describe(page, object, &related.backends)),
    with_events(Kind::IngressClass, |page, object, _| ingress::describe_class(page, object)),
    without_events(Kind::NetworkPolicy, |page, object, _| network_policy::describe(page, object)),
    without_events(Kind::ResourceQuota, |page, object, _| policy::describe_quota(page, object)),
    without_events(Kind::LimitRange, |page, object, _| policy::describe_limit_range(page, object)),
    with_events(Kind::PodDisruptionBudget, |page, object, _| simple::describe_budget(page, object)),
    with_events(Kind::HorizontalPodAutoscaler, |page, object, _| autoscaler::describe(page, object)),
];

/// A Pod template alone, as `rollout history --revision` shows it: with the tabs as they are, for nothing aligns them
/// there. Mirrors `printTemplate`.
pub fn template_page(template: &Value) -> String {
    let mut page = Page { text: String::new(), now: Timestamp::UNIX_EPOCH };
    workloads::describe_template(&mut page, template);
    page.text
}

pub(in crate::cluster::kubectl) use workloads::template_of;

/// A page as it is written, with tabs.
struct Page {
    text: String,
    now: Timestamp,
}

impl Page {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// `Name:<tab>value`.
    fn field(&mut self, name: &str, value: impl AsRef<str>) {
        self.line(format!("{name}:\t{}", value.as_ref()));
    }

    fn name(&mut self, object: &Value) {
        self.field("Name", text(object, "metadata.name"));
    }

    fn namespace(&mut self, object: &Value) {
        self.field("Namespace", text(object, "metadata.namespace"));
    }

    /// Name, labels and annotations: how pages begin that name no namespace.
    fn head(&mut self, object: &Value) {
        self.name(object);
        self.labels("Labels", object, "metadata.labels");
        self.annotations("Annotations", object, "metadata.annotations");
    }

    /// One label a line. Mirrors `printLabelsMultiline`.
    fn labels(&mut self, title: &str, object: &Value, path: &str) {
        let labels: Vec<String> = map(object, path).map(|(key, value)| format!("{key}={}", plain(value))).collect();
        self.lines(title, &labels);
    }

    /// The first line behind the title, the others below it.
    fn lines(&mut self, title: &str, lines: &[String]) {
        self.field(title, lines.first().map_or("<none>", String::as_str));
        for line in lines.iter().skip(1) {
            self.line(format!("\t{line}"));
        }
    }

    /// Mirrors `printAnnotationsMultiline`: without the one that holds the whole manifest, and long values shortened.
    fn annotations(&mut self, title: &str, object: &Value, path: &str) {
        const LENGTH_MAX: usize = 140;
        let mut lines = Vec::new();
        for (key, value) in map(object, path).filter(|(key, _)| *key != LAST_APPLIED) {
            let value = value.as_str().unwrap_or_default().trim_end_matches('\n');
            if value.len() + key.len() + 2 <= LENGTH_MAX && !value.contains('\n') {
                lines.push(format!("{key}: {value}"));
                continue;
            }
            lines.push(format!("{key}:"));
            lines.extend(value.split('\n').map(|line| format!("  {}", shorten(line, LENGTH_MAX - 2))));
        }
        self.lines(title, &lines);
    }

    fn controlled_by(&mut self, object: &Value) {
        let owners = list(object, "metadata.ownerReferences");
        if let Some(owner) = owners.iter().find(|o| at(o, "controller") == &Value::Bool(true)) {
            self.field("Controlled By", format!("{}/{}", text(owner, "kind"), text(owner, "name")));
        }
    }

    /// Mirrors `DescribeEvents`.
    fn events(&mut self, events: &[Value]) {
        if events.is_empty() {
            self.field("Events", "<none>");
            return;
        }
        let mut events: Vec<&Value> = events.iter().collect();
        // Events of the new API have no lastTimestamp, and so come first, as they do in a real cluster.
        events.sort_by_key(|event| time(event, "lastTimestamp"));
        self.line("Events:\n  Type\tReason\tAge\tFrom\tMessage");
        self.line("  ----\t------\t----\t----\t-------");
        for event in events {
            let (kind, reason, from) = (text(event, "type"), text(event, "reason"), event_source(event));
            let message = text(event, "message").trim();
            self.line(format!("  {kind}\t{reason}\t{}\t{from}\t{message}", event_age(event, self.now)));
        }
    }
}

/// `5s`, or `3s (x6 over 6s)` for one that was seen again.
pub fn event_age(event: &Value, now: Timestamp) -> String {
    let ago = |paths: &[&str]| match paths.iter().find_map(|path| time(event, path)) {
        Some(time) => since(now, time),
        None => "<unknown>".to_owned(),
    };
    let first = ago(&["eventTime", "firstTimestamp"]);
    if !at(event, "series").is_null() {
        let last = ago(&["series.lastObservedTime"]);
        return format!("{last} (x{} over {first})", int(event, "series.count"));
    }
    match int(event, "count") {
        count if count > 1 => format!("{} (x{count} over {first})", ago(&["lastTimestamp"])),
        _ => first,
    }
}

fn shorten(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Mirrors `printTolerationsMultiline`.
fn tolerations(page: &mut Page, title: &str, object: &Value, path: &str) {
    let mut tolerations: Vec<&Value> = list(object, path).iter().collect();
    tolerations.sort_by_key(|t| text(t, "key"));
    page.lines(title, &tolerations.into_iter().map(toleration_text).collect::<Vec<_>>());
}

/// `node.kubernetes.io/not-ready:NoExecute op=Exists for 300s`
pub fn toleration_text(toleration: &Value) -> String {
    let [key, value, effect] = ["key", "value", "effect"].map(|field| text(toleration, field));
    let mut out = key.to_owned();
    if !value.is_empty() {
        out.push_str(&format!("={value}"));
    }
    if !effect.is_empty() {
        out.push_str(&format!(":{effect}"));
    }
    if text(toleration, "operator") == "Exists" && value.is_empty() {
        out.push_str(if key.is_empty() && effect.is_empty() { "op=Exists" } else { " op=Exists" });
    }
    if let Some(seconds) = at(toleration, "tolerationSeconds").as_i64() {
        out.push_str(&format!(" for {seconds}s"));
    }
    out
}

/// The conditions of a workload: type, status, reason.
fn conditions(page: &mut Page, object: &Value) {
    let conditions = list(object, "status.conditions");
    if conditions.is_empty() {
        return;
    }
    page.line("Conditions:\n  Type\tStatus\tReason\n  ----\t------\t------");
    for condition in conditions {
        let [kind, status, reason] = ["type", "status", "reason"].map(|field| text(condition, field));
        page.line(format!("  {kind} \t{status}\t{reason}"));
    }
}

/// `[a b]` as Go prints a list of strings.
fn go_list(values: &[Value]) -> String {
    format!("[{}]", values.iter().map(plain).collect::<Vec<_>>().join(" "))
}

fn joined(values: &[String]) -> String {
    or_none(&values.join(", "))
}
