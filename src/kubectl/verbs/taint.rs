//! `taint`: what keeps Pods off a node. Mirrors `k8s.io/kubectl/pkg/cmd/taint`.

use serde_json::{Value, json};

use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::WRITE;
use crate::kubectl::Kubectl;
use crate::options::write_options;
use crate::print::fields::{list, text};
use crate::targets::{Target, no_resource_type};
use crate::usage::Usage;
use object::Kind;
use object::patch::diff_strategic;
use object::selector::names::{check_label_key, check_label_value};
use wire::Patch;

/// `kubectl taint`.
pub const TAINT: Command = Command {
    usage: Usage {
        name: "taint",
        words: "nodes NODE KEY=VALUE:EFFECT|KEY- …",
        about: "Keep Pods off nodes, or no longer.",
        flags: &[WRITE, &["selector", "all", "overwrite"]],
        left_out: &["validate"],
        ..Usage::EMPTY
    },
    takes: Takes::first(&["nodes"], Named::Nodes),
    run: Run::There(|args, cx| Box::pin(taint(args, cx))),
    ..Command::EMPTY
};

/// `kubectl taint node NAME key=value:Effect key- key:Effect-`.
async fn taint(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let is_change = |word: &String| word.contains([':', '=']) || (word.ends_with('-') && word.len() > 1);
    let first = args.words.iter().position(is_change).unwrap_or(args.words.len());
    let (resources, changes) = args.words.split_at(first);
    if let Some(stray) = changes.iter().find(|word| !is_change(word)) {
        return Err(Failure::text(format!("all resources must be specified before taint changes: {stray}")));
    }
    let Some((type_, names)) = resources.split_first() else {
        return Err(Failure::text("one or more resources must be specified as <resource> <name>"));
    };
    if changes.is_empty() {
        return Err(Failure::text("at least one taint update is required"));
    }
    let changes = Changes::parse(changes)?;
    only_nodes(&type_.to_lowercase(), cx).await?;
    let (nodes, mut failed) = cx.objects_there("taint", &meant(names, args)?, args).await?;
    for (kind, node) in nodes {
        if kind != Kind::Node {
            let (version, kind) = (kind.info().version, kind.info().kind);
            failed.push(Failure::text(format!("unexpected type *{version}.{kind}, expected Node")));
        } else if let Err(fault) = taint_one(&node, &changes, args, cx).await {
            failed.push(fault);
        }
    }
    Failure::all(failed)
}

/// The first word names the kind, and nothing else: `node/node-1` is none.
async fn only_nodes(type_: &str, cx: &Kubectl) -> Result<(), Failure> {
    if type_.contains('/') {
        return Err(no_resource_type(type_));
    }
    match cx.targets("taint", &[type_.to_owned()]).await?.as_slice() {
        [Target { kind: Kind::Node, .. }] => Ok(()),
        _ => Err(Failure::text(format!("invalid resource type {type_}, only node types are supported"))),
    }
}

/// The words for the nodes that are meant: those selected, even if nodes are named too, or those named.
/// Mirrors `validateFlags` and what `Complete` hands to the builder.
fn meant(names: &[String], args: &Args) -> Result<Vec<String>, Failure> {
    let selected = !args.value("selector").is_empty();
    if selected && args.is_on("all") {
        return Err(Failure::text("setting 'all' parameter with a non empty selector is prohibited"));
    }
    if selected || args.is_on("all") {
        return Ok(vec!["node".to_owned()]);
    }
    if names.is_empty() {
        let why = "at least one resource name must be specified since 'all' parameter is not set";
        return Err(Failure::text(why));
    }
    Ok(names.iter().map(|name| if name.contains('/') { name.clone() } else { format!("node/{name}") }).collect())
}

async fn taint_one(node: &Value, changes: &Changes, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let old = list(node, "spec.taints");
    let overwrites = args.is_on("overwrite");
    let there: Vec<&str> =
        changes.add.iter().filter(|new| old.iter().any(|old| same(old, new))).map(|new| text(new, "key")).collect();
    if !there.is_empty() && !overwrites {
        let why = format!("already has {} taint(s) with same effect(s) and --overwrite is false", there.join(","));
        return Err(Failure::text(format!("node {} {why}", text(node, "metadata.name"))));
    }
    let (taints, how) = changes.applied_to(old, overwrites)?;
    let mut new = node.clone();
    if let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("taints");
        if !taints.is_empty() {
            spec.insert("taints".to_owned(), Value::Array(taints));
        }
    }
    // It is sent even if it changes nothing.
    let patch = Patch::Strategic(diff_strategic(Kind::Node, node, &new));
    let query = write_options("kubectl-taint", args)?;
    let only_here = query.only_here;
    cx.patch(Kind::Node, node, patch, None, query).await?;
    if only_here { cx.tell(&new, how, args) } else { cx.tell_struct(&new, how, args) }
}

/// Taints of one key and effect are the same, even if their values differ.
fn same(a: &Value, b: &Value) -> bool {
    text(a, "key") == text(b, "key") && text(a, "effect") == text(b, "effect")
}

/// What is to come and what is to go, which may have no effect: then all of that key go.
struct Changes {
    add: Vec<Value>,
    remove: Vec<Value>,
}

impl Changes {
    /// Mirrors `parseTaints`, and what `Validate` says of both together.
    fn parse(words: &[String]) -> Result<Changes, Failure> {
        let usage = |why: String| Failure::usage("taint", why);
        let mut changes = Changes { add: Vec::new(), remove: Vec::new() };
        for word in words {
            if let Some(gone) = word.strip_suffix('-') {
                changes.remove.push(parse(gone).map_err(usage)?);
                continue;
            }
            let taint = parse(word).map_err(usage)?;
            if text(&taint, "effect").is_empty() {
                return Err(usage(format!("invalid taint spec: {word}")));
            }
            if changes.add.iter().any(|there| same(there, &taint)) {
                let [key, value, effect] = ["key", "value", "effect"].map(|field| text(&taint, field));
                let shown = format!("{{{key} {value} {effect} <nil>}}");
                return Err(usage(format!("duplicated taints with the same key and effect: {shown}")));
            }
            changes.add.push(taint);
        }
        let both: Vec<String> = changes.in_both().collect();
        if !both.is_empty() {
            const WHY: &str = "can not both modify and remove the following taint(s) in the same command";
            return Err(Failure::text(format!("{WHY}: {}", both.join(", "))));
        }
        Ok(changes)
    }

    fn in_both(&self) -> impl Iterator<Item = String> {
        let pairs = self.add.iter().flat_map(|new| self.remove.iter().map(move |gone| (new, gone)));
        pairs
            .filter(|(new, gone)| goes(new, gone))
            .map(|(_, gone)| format!("{}={}", text(gone, "key"), text(gone, "effect")))
    }

    /// New ones come first, in the order in which they were written. Mirrors `reorganizeTaints`.
    fn applied_to(&self, old: &[Value], overwrites: bool) -> Result<(Vec<Value>, &'static str), Failure> {
        let mut taints = self.add.clone();
        taints.extend(old.iter().filter(|old| !self.add.iter().any(|new| same(old, new))).cloned());
        let added = taints.len() != old.len();
        let mut removed = false;
        let mut missing = Vec::new();
        for gone in &self.remove {
            let before = taints.len();
            taints.retain(|taint| !goes(taint, gone));
            removed = taints.len() != before;
            if !removed {
                let effect = text(gone, "effect");
                let colon = if effect.is_empty() { "" } else { ":" };
                missing.push(Failure::text(format!("taint \"{}{colon}{effect}\" not found", text(gone, "key"))));
            }
        }
        Failure::all(missing)?;
        let how = match (added, removed) {
            (true, true) => "modified",
            _ if overwrites => "modified",
            (true, false) => "tainted",
            (false, _) => "untainted",
        };
        Ok((taints, how))
    }
}

/// Whether a removal is about this taint.
fn goes(taint: &Value, gone: &Value) -> bool {
    text(taint, "key") == text(gone, "key") && (text(gone, "effect").is_empty() || same(taint, gone))
}

/// `key=value:Effect`, `key:Effect` or `key`. Mirrors `parseTaint`.
fn parse(word: &str) -> Result<Value, String> {
    let invalid = |problems: Vec<String>| {
        let why = if problems.is_empty() { String::new() } else { format!(", {}", problems.join("; ")) };
        format!("invalid taint spec: {word}{why}")
    };
    let (key, value, effect) = match word.split(':').collect::<Vec<&str>>().as_slice() {
        // Without an effect all of it is the key.
        [key] => (*key, "", ""),
        [pair, effect] => {
            if !matches!(*effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
                return Err(format!("invalid taint effect: {effect}, unsupported taint effect"));
            }
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if value.contains('=') {
                return Err(invalid(Vec::new()));
            }
            let problems = check_label_value(value);
            if !problems.is_empty() {
                return Err(invalid(problems));
            }
            (key, value, *effect)
        }
        _ => return Err(invalid(Vec::new())),
    };
    let problems = check_label_key(key);
    if !problems.is_empty() {
        return Err(invalid(problems));
    }
    let mut taint = json!({"key": key, "effect": effect});
    if !value.is_empty() {
        taint["value"] = json!(value);
    }
    Ok(taint)
}
