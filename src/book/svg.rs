//! Pictures of a scene: who told whom what; where everything is; what a Pod's conditions were when.
//!
//! Colours are classes of the book's stylesheet, one for each component, the same as in the terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::{html, icon};
use debugger::scene::{Scene, Step};
use object::text::shortened;

/// From one lifeline to the next.
const GAP: usize = 64;
/// From one row to the next.
const ROW: usize = 19;
/// The head of a sequence diagram.
const HEAD: usize = 46;
/// The widest text beside the lifelines, in letters.
const TEXT: usize = 66;

/// The class of a process, by its component.
pub fn component(name: &str) -> &'static str {
    match name.split('/').next().unwrap_or(name) {
        "user" => "ks-user",
        "kube-apiserver" => "ks-api",
        "kube-controller-manager" => "ks-kcm",
        "kube-scheduler" => "ks-scheduler",
        "kubelet" => "ks-kubelet",
        "containerd" | "cni" => "ks-runtime",
        "kube-proxy" => "ks-proxy",
        _ => "ks-other",
    }
}

/// Where a process stands among others: from the user inwards.
fn rank(name: &str) -> usize {
    const ORDER: [&str; 6] =
        ["user", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "containerd"];
    let base = name.split('/').next().unwrap_or(name);
    ORDER.iter().position(|one| *one == base).unwrap_or(ORDER.len())
}

/// A name in two short lines: `kube-controller-manager` and `kubelet/node-1`.
fn head(name: &str) -> (String, String) {
    match name {
        "kube-apiserver" => ("API".into(), "server".into()),
        "kube-controller-manager" => ("controller".into(), "manager".into()),
        "kube-scheduler" => ("scheduler".into(), String::new()),
        other => other.split_once('/').map_or((other.into(), String::new()), |(kind, node)| (kind.into(), node.into())),
    }
}

/// Who told whom what, row by row. Answers stand with their requests. On a narrow screen the stylesheet shows the
/// lifelines' part only (`--tall`), and draws the words back over it (`--back`).
pub fn sequence(scene: &Scene) -> String {
    let rows: Vec<&Step> = scene.steps.iter().filter(|step| step.class != "response").collect();
    let mut lifelines: Vec<&str> = Vec::new();
    for name in rows.iter().flat_map(|row| [row.from.as_str(), row.to.as_str()]) {
        if !lifelines.contains(&name) {
            lifelines.push(name);
        }
    }
    lifelines.sort_by_key(|name| (rank(name), name.rsplit('/').next().map(str::to_owned)));
    let x = |name: &str| 44 + GAP * lifelines.iter().position(|one| *one == name).unwrap_or_default();
    let (right, height) = (44 + GAP * lifelines.len(), HEAD + ROW * rows.len() + 8);
    let width = right + TEXT * 6 + 10;
    let mut out = format!(
        "<svg class=\"ks-sequence\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         preserveAspectRatio=\"xMinYMin slice\" style=\"--tall:{height}px;--back:{}px\" aria-label=\"Sequence diagram: {}\">",
        4 - right as i64,
        html::text(&scene.title)
    );
    for name in &lifelines {
        let (at, class, (first, second)) = (x(name), component(name), head(name));
        let _ = write!(
            out,
            "<g class=\"{class}\"><text x=\"{at}\" y=\"14\" text-anchor=\"middle\">{}</text>\
             <text x=\"{at}\" y=\"28\" text-anchor=\"middle\">{}</text><path d=\"M{at} 36V{height}\"/></g>",
            html::text(&first),
            html::text(&second)
        );
    }
    for (n, row) in rows.iter().enumerate() {
        let y = HEAD + ROW * n + 8;
        let (from, to, class) = (x(&row.from), x(&row.to), component(&row.from));
        let _ = match from == to {
            true => write!(out, "<circle class=\"{class}\" cx=\"{from}\" cy=\"{y}\" r=\"3\"/>"),
            false => {
                let tip: i64 = if to > from { -6 } else { 6 };
                write!(out, "<path class=\"ks-arrow {class}\" d=\"M{from} {y}H{to}m{tip} -3l{} 3l{tip} 3\"/>", -tip)
            }
        };
        let _ = write!(out, "<text class=\"ks-what\" x=\"{right}\" y=\"{}\">{}</text>", y + 4, html::text(&label(row)));
    }
    out + "</svg>"
}

fn label(step: &Step) -> String {
    let answer = step.answer.map_or(String::new(), |code| format!(" → {code}"));
    let text = format!("{}{answer}", step.what);
    shortened(&text, TEXT).into_owned()
}

/// The objects of a scene after its last step.
fn objects_at_end(scene: &Scene) -> BTreeMap<String, Value> {
    let mut objects = scene.start.objects.clone();
    for change in scene.steps.iter().flat_map(|step| &step.changes) {
        let before = objects.remove(&change.object);
        objects.extend(change.after.of(before).map(|after| (change.object.clone(), after)));
    }
    objects
}

fn at<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Where everything is after the last step: the control plane, the nodes, and the Pods on them.
pub fn topology(scene: &Scene) -> String {
    let objects = objects_at_end(scene);
    let pods: Vec<&Value> = objects.iter().filter(|(name, _)| name.starts_with("Pod ")).map(|(_, pod)| pod).collect();
    let of_node = |node: &str| pods.iter().filter(|pod| at(pod, "/spec/nodeName") == node).copied().collect::<Vec<_>>();
    let deepest = scene.nodes.iter().map(|node| of_node(node).len()).max().unwrap_or_default();
    let (wide, columns) = (236, scene.nodes.len().clamp(1, 3));
    let tall = 46 + 44 * deepest.max(1);
    let lines = scene.nodes.len().div_ceil(columns);
    let (width, height) = (columns * (wide + 14) + 14, 104 + lines * (tall + 14));
    let mut out = format!(
        "<svg class=\"ks-topology\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Topology: {}\">",
        html::text(&scene.title)
    );
    let part = (width - 28) / 3;
    for (n, name) in ["kube-apiserver", "kube-controller-manager", "kube-scheduler"].iter().enumerate() {
        let x = 14 + n * part;
        let _ = write!(
            out,
            "<g class=\"{}\"><rect x=\"{x}\" y=\"12\" width=\"{}\" height=\"34\" rx=\"5\"/>\
             <text x=\"{}\" y=\"34\" text-anchor=\"middle\">{name}</text></g>",
            component(name),
            part - 8,
            x + (part - 8) / 2
        );
    }
    let unbound = pods.iter().filter(|pod| at(pod, "/spec/nodeName").is_empty()).count();
    let others: Vec<String> = count_kinds(&objects);
    let waiting = if unbound > 0 { format!(" · {unbound} Pods without a node") } else { String::new() };
    let _ = write!(
        out,
        "<text x=\"14\" y=\"70\" class=\"ks-faint\">in etcd: {}{waiting}</text>",
        html::text(&others.join(", "))
    );
    for (n, node) in scene.nodes.iter().enumerate() {
        let (x, y) = (14 + (n % columns) * (wide + 14), 88 + (n / columns) * (tall + 14));
        let _ = write!(
            out,
            "<g class=\"ks-kubelet\"><rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{tall}\" rx=\"6\"/>\
             {}<text x=\"{}\" y=\"{}\">{}</text></g>",
            icon::at("Node", x + 10, y + 9),
            x + 33,
            y + 22,
            html::text(node)
        );
        for (row, pod) in of_node(node).iter().enumerate() {
            let (px, py) = (x + 10, y + 34 + 44 * row);
            let phase = at(pod, "/status/phase");
            let _ = write!(
                out,
                "<g class=\"ks-pod ks-{}\"><rect x=\"{px}\" y=\"{py}\" width=\"{}\" height=\"38\" rx=\"4\"/>{}\
                 <text x=\"{}\" y=\"{}\">{}</text><text x=\"{}\" y=\"{}\" class=\"ks-faint\">{} {}</text></g>",
                html::text(&phase.to_lowercase()),
                wide - 20,
                icon::at("Pod", px + 8, py + 11),
                px + 32,
                py + 16,
                html::text(at(pod, "/metadata/name")),
                px + 32,
                py + 31,
                html::text(phase),
                html::text(at(pod, "/status/podIP"))
            );
        }
    }
    out + "</svg>"
}

/// `2 Pods, 1 Service`.
fn count_kinds(objects: &BTreeMap<String, Value>) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in objects.keys() {
        *counts.entry(name.split(' ').next().unwrap_or_default()).or_default() += 1;
    }
    counts.into_iter().map(|(kind, n)| format!("{n} {kind}{}", if n == 1 { "" } else { "s" })).collect()
}

/// What a Pod's conditions were, over the steps in which it changed. The error says which Pods there are.
pub fn conditions(scene: &Scene, pod: &str) -> Result<String, String> {
    let mut versions: Vec<(u64, Value)> = Vec::new();
    let mut now = BTreeMap::new();
    for (name, object) in scene.start.objects.iter().filter(|(name, _)| name.starts_with("Pod ")) {
        now.insert(name.clone(), object.clone());
    }
    let fits = |name: &str| name.starts_with("Pod ") && name.rsplit('/').next().is_some_and(|n| n.starts_with(pod));
    let chosen = scene.steps.iter().flat_map(|step| &step.changes).map(|change| change.object.as_str());
    let Some(chosen) = now.keys().map(String::as_str).chain(chosen).find(|name| fits(name)).map(str::to_owned) else {
        return Err(format!("no Pod of this scene has a name that begins with {pod:?}"));
    };
    for step in &scene.steps {
        for change in step.changes.iter().filter(|change| change.object == chosen) {
            let Some(object) = change.after.of(now.remove(&chosen)) else { continue };
            versions.push((step.t_us, object.clone()));
            now.insert(chosen.clone(), object);
        }
    }
    Ok(chart(&chosen, &versions))
}

/// The rows of such a picture.
const CONDITIONS: [&str; 5] = ["PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"];

fn chart(pod: &str, versions: &[(u64, Value)]) -> String {
    let (left, column) = (190, 92);
    let (width, height) = (left + column * versions.len().max(1) + 10, 40 + 26 * (CONDITIONS.len() + 1));
    let mut out = format!(
        "<svg class=\"ks-conditions\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Conditions of {} over time\">",
        html::text(pod)
    );
    for (row, name) in std::iter::once("phase").chain(CONDITIONS).enumerate() {
        let _ = write!(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", left - 10, 48 + 26 * row);
    }
    for (n, (time, pod)) in versions.iter().enumerate() {
        let x = left + column * n;
        let _ = write!(out, "<text x=\"{x}\" y=\"16\" class=\"ks-faint\">{:.3} s</text>", *time as f64 / 1e6);
        let phase = at(pod, "/status/phase");
        let empty = Vec::new();
        let list = pod.pointer("/status/conditions").and_then(Value::as_array).unwrap_or(&empty);
        let status = |name: &str| list.iter().find(|one| at(one, "/type") == name).map_or("", |one| at(one, "/status"));
        for (row, text) in std::iter::once(phase).chain(CONDITIONS.map(status)).enumerate() {
            let class = match text {
                "True" | "Running" | "Succeeded" => "ks-yes",
                "False" | "Failed" => "ks-no",
                "" => "ks-none",
                _ => "ks-wait",
            };
            let y = 32 + 26 * row;
            let _ = write!(
                out,
                "<g class=\"{class}\"><rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"22\" rx=\"3\"/>\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text></g>",
                column - 4,
                x + column / 2 - 2,
                y + 16,
                html::text(text)
            );
        }
    }
    out + "</svg>"
}
