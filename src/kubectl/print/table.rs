//! Tables: `kubectl get`.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use super::fields::{self, at, labels, text};
use super::layout::{Layout, any_layout, layout};
use super::names::{kind_of, qualified_singular};
use super::tabs;
use object::terminal::escaped;
use object::{Discovery, Kind, versions};

/// How a table is to look.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// `-o wide`.
    pub wide: bool,
    /// `--show-labels`.
    pub labels: bool,
    /// `-A`: a first column with the namespace.
    pub namespaces: bool,
    /// Names as `deployment.apps/web`, as when several kinds are listed.
    pub prefix: bool,
    /// `-L app`: a column with the value of each of these labels.
    pub label_columns: Vec<String>,
    /// `--no-headers`.
    pub no_headers: bool,
    /// `--server-print=false`: what kubectl itself knows of any object, its name and age.
    pub bare: bool,
}

/// The table of objects of one kind. What is known of custom kinds says which columns they have.
pub fn table(kind: Kind, objects: &[Value], look: Look, now: Timestamp, discovery: &Discovery) -> String {
    tabs::table(&(lines(kind, objects, &look, now, discovery).join("\n") + "\n"))
}

/// Its lines before they are lined up: cells with tabs between them.
pub fn lines(kind: Kind, objects: &[Value], look: &Look, now: Timestamp, discovery: &Discovery) -> Vec<String> {
    // The server makes its tables from the stored version, even if another version was asked for.
    let stored = versions::stored_as(kind);
    let of_stored =
        |object: &Value| versions::to_stored(stored, object).map(|object| object.to_json()).unwrap_or_default();
    let objects: Cow<[Value]> = if stored == kind { objects.into() } else { objects.iter().map(of_stored).collect() };
    let kind = stored;
    let layout = if look.bare { any_layout() } else { layout(kind, discovery) };
    let shown: Vec<usize> =
        (0..layout.columns.len()).filter(|&i| look.wide || layout.columns[i].priority == 0).collect();
    let head = |i: &usize| layout.columns[*i].name.to_ascii_uppercase();
    let mut rows = Vec::new();
    if !look.no_headers {
        let mut heads: Vec<String> = shown.iter().map(head).collect();
        heads.extend(look.label_columns.iter().map(|key| key.rsplit('/').next().unwrap_or(key).to_ascii_uppercase()));
        rows.push(row(look, "NAMESPACE", heads, "LABELS".to_owned()));
    }
    for object in &*objects {
        let mut cells = (layout.cells)(object, now);
        if look.prefix {
            cells = prefixed(kind, &layout, cells);
        }
        let mut cells: Vec<String> = shown.iter().filter_map(|&i| cells.get(i)).map(printed).collect();
        let own = at(object, "metadata.labels");
        cells.extend(look.label_columns.iter().map(|key| own[key].as_str().unwrap_or_default().to_owned()));
        rows.push(row(look, text(object, "metadata.namespace"), cells, labels(object, "metadata.labels")));
    }
    rows
}

/// Tables of objects of any kinds, one after the other, as `-o wide` of a mixed list shows them.
pub fn plain(objects: &[Value], wide: bool, now: Timestamp) -> String {
    let mut out = Vec::new();
    for group in objects.chunk_by(|a, b| kind_of(a) == kind_of(b)) {
        if let Some(kind) = kind_of(&group[0]) {
            out.push(table(kind, group, Look { wide, ..Look::default() }, now, &Discovery::default()));
        }
    }
    out.join("\n")
}

fn prefixed(kind: Kind, layout: &Layout, mut cells: Vec<Value>) -> Vec<Value> {
    // The name is not always first: Events begin with their age, and show no name without -o wide.
    if let Some(i) = layout.columns.iter().position(|column| column.name == "Name") {
        cells[i] = format!("{}/{}", qualified_singular(kind), fields::plain(&cells[i])).into();
    }
    cells
}

fn row(look: &Look, namespace: &str, mut cells: Vec<String>, labels: String) -> String {
    if look.namespaces {
        cells.insert(0, namespace.to_owned());
    }
    if look.labels {
        cells.push(labels);
    }
    cells.iter().map(|cell| escaped(cell)).collect::<Vec<_>>().join("\t")
}

fn printed(cell: &Value) -> String {
    if cell.is_null() { String::new() } else { one_line(&fields::plain(cell)) }
}

/// A message may have several lines or tabs; a table shows the first line. Mirrors `printRows`.
fn one_line(cell: &str) -> String {
    match cell.split_once(['\n', '\r', '\u{c}']) {
        Some((first, _)) => format!("{}...", first.replace('\t', " ")),
        None => cell.replace('\t', " "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:00:02Z".parse().unwrap()
    }

    #[test]
    fn several_kinds_carry_their_names() {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"app": "web"}},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                "template": {"spec": {"containers": [{"name": "nginx", "image": "nginx:1.27"}]}}},
            "status": {"readyReplicas": 2, "updatedReplicas": 2, "availableReplicas": 2},
        });
        let look = Look { wide: true, prefix: true, ..Look::default() };
        let want = "\
NAME                  READY   UP-TO-DATE   AVAILABLE   AGE   CONTAINERS   IMAGES       SELECTOR
deployment.apps/web   2/2     2            2           2s    nginx        nginx:1.27   app=web
";
        assert_eq!(
            table(Kind::Deployment, std::slice::from_ref(&deployment), look, now(), &Discovery::default()),
            want
        );
        let look = Look { labels: true, no_headers: true, ..Look::default() };
        let want = "web   2/2   2     2     2s    app=web\n";
        assert_eq!(table(Kind::Deployment, &[deployment], look, now(), &Discovery::default()), want);
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "x\u{1b}c"}},
            "status": {"phase": "Failed", "reason": "\u{1b}]0;pwn\u{7}"}});
        let look = Look { label_columns: vec!["app".to_owned()], ..Look::default() };
        let lines = lines(Kind::Pod, &[pod], &look, now(), &Discovery::default());
        assert_eq!(lines[1].split('\t').collect::<Vec<_>>()[2..], ["^[]0;pwn\u{7}", "0", "<unknown>", "x^[c"]);
    }

    #[test]
    fn a_node_and_an_event_have_their_columns() {
        let node = json!({"metadata": {"name": "node-1", "creationTimestamp": "2025-12-31T23:53:40Z",
            "labels": {"node-role.kubernetes.io/control-plane": ""}}, "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "Unknown"}], "nodeInfo": {"kubeletVersion": "v1.36.2"}}});
        let want = "\
NAME     STATUS                        ROLES           AGE     VERSION
node-1   NotReady,SchedulingDisabled   control-plane   6m22s   v1.36.2
";
        assert_eq!(table(Kind::Node, &[node], Look::default(), now(), &Discovery::default()), want);
        let event = json!({"metadata": {"name": "web.1"}, "type": "Normal", "reason": "Scheduled", "message": "a\nb",
            "involvedObject": {"kind": "Pod", "name": "web"}, "eventTime": "2026-01-01T00:00:01.5Z"});
        let want = "\
LAST SEEN   TYPE     REASON      OBJECT    MESSAGE
0s          Normal   Scheduled   pod/web   a...
";
        assert_eq!(table(Kind::Event, &[event], Look::default(), now(), &Discovery::default()), want);
    }
}
