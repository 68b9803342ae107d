//! A page as it is written, and what several kinds' pages have on them.

use jiff::Timestamp;
use serde_json::Value;

use super::super::cells::event_source;
use super::super::duration::since;
use super::super::fields::{at, int, list, map, or_none, plain, text, time};
use object::terminal::escaped;
use object::well_known::LAST_APPLIED;

/// What a page shows beside the object itself; kubectl asks for each of them.
#[derive(Clone, Debug, Default)]
pub struct Related {
    /// Events about the object; None if they were not asked for.
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

/// A page as it is written, with tabs.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) now: Timestamp,
}

impl Page {
    /// A line of it. Mirrors `prefixWriter`, whose lines have nothing in them that a terminal takes for a command.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(&escaped(line.as_ref()));
        self.text.push('\n');
    }

    /// `Name:<tab>value`.
    pub(super) fn field(&mut self, name: &str, value: impl AsRef<str>) {
        self.line(format!("{name}:\t{}", value.as_ref()));
    }

    pub(super) fn name(&mut self, object: &Value) {
        self.field("Name", text(object, "metadata.name"));
    }

    pub(super) fn namespace(&mut self, object: &Value) {
        self.field("Namespace", text(object, "metadata.namespace"));
    }

    /// Name, labels and annotations: how pages begin that name no namespace.
    pub(super) fn head(&mut self, object: &Value) {
        self.name(object);
        self.labels("Labels", object, "metadata.labels");
        self.annotations("Annotations", object, "metadata.annotations");
    }

    /// One label a line. Mirrors `printLabelsMultiline`.
    pub(super) fn labels(&mut self, title: &str, object: &Value, path: &str) {
        let labels: Vec<String> = map(object, path).map(|(key, value)| format!("{key}={}", plain(value))).collect();
        self.lines(title, &labels);
    }

    /// The first line behind the title, the others below it.
    pub(super) fn lines(&mut self, title: &str, lines: &[String]) {
        self.field(title, lines.first().map_or("<none>", String::as_str));
        for line in lines.iter().skip(1) {
            self.line(format!("\t{line}"));
        }
    }

    /// Mirrors `printAnnotationsMultiline`: without the one that holds the whole manifest, and long values shortened.
    pub(super) fn annotations(&mut self, title: &str, object: &Value, path: &str) {
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

    pub(super) fn controlled_by(&mut self, object: &Value) {
        let owners = list(object, "metadata.ownerReferences");
        if let Some(owner) = owners.iter().find(|o| at(o, "controller") == &Value::Bool(true)) {
            self.field("Controlled By", format!("{}/{}", text(owner, "kind"), text(owner, "name")));
        }
    }

    /// Mirrors `DescribeEvents`.
    pub(super) fn events(&mut self, events: &[Value]) {
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
pub(super) fn tolerations(page: &mut Page, title: &str, object: &Value, path: &str) {
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
pub(super) fn conditions(page: &mut Page, object: &Value) {
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
pub(super) fn go_list(values: &[Value]) -> String {
    format!("[{}]", values.iter().map(plain).collect::<Vec<_>>().join(" "))
}

pub(super) fn joined(values: &[String]) -> String {
    or_none(&values.join(", "))
}
