//! `scale`, `set`, `label`, `annotate`, `taint`, `cordon`, `patch`: small changes to objects that are there.

use serde_json::{Map, Value, json};

use crate::apiserver::request::{Body, Patch, Subresource, Verb};
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::client::{failure, subresource, targets};
use crate::cluster::kubectl::print::{qualified_name, qualified_singular};
use crate::cluster::kubectl::{Failure, Kubectl};
use crate::object::{Kind, patch as patches};

/// `kubectl scale deployment/web --replicas=3`.
pub async fn scale(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let Ok(replicas) = args.flag("replicas").parse::<i64>() else {
        return Err(Failure::error("required flag(s) \"replicas\" not set"));
    };
    for (kind, name) in targets(&args.words)? {
        if let Err(status) = kubectl.get(kind, &name).await {
            return Err(Failure::error(format!("no objects passed to scale {status}")));
        }
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let request = kubectl.request(Verb::Patch, kind, &name, Body::Patch(patch));
        kubectl.send(subresource(request, Subresource::Scale)).await.map_err(|status| failure(&status, ""))?;
        kubectl.print(&format!("{}/{name} scaled\n", qualified_singular(kind)));
    }
    Ok(())
}

/// `kubectl set image deployment/web nginx=nginx:1.28`.
pub async fn set(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let Some(("image", words)) = args.words.split_first().map(|(first, rest)| (first.as_str(), rest)) else {
        return Err(Failure::error("set takes: image KIND/NAME CONTAINER=IMAGE"));
    };
    let (changes, objects): (Vec<String>, Vec<String>) = words.iter().cloned().partition(|word| word.contains('='));
    for (kind, name) in targets(&objects)? {
        let live = kubectl.get(kind, &name).await.map_err(|status| failure(&status, ""))?;
        let mut new = live.clone();
        for change in &changes {
            set_image(&mut new, change)?;
        }
        let change = patches::diff_strategic(kind, &live, &new);
        if change.as_object().is_none_or(Map::is_empty) {
            continue;
        }
        let mut request = kubectl.request(Verb::Patch, kind, &name, Body::Patch(Patch::Strategic(change)));
        request.options.field_manager = "kubectl-set".into();
        let patched = kubectl.send_for_object(request).await.map_err(|status| failure(&status, ""))?;
        kubectl.print(&format!("{} image updated\n", qualified_name(&patched)));
    }
    Ok(())
}

fn set_image(object: &mut Value, change: &str) -> Result<(), Failure> {
    let (container, image) = change.split_once('=').unwrap_or((change, ""));
    let mut found = false;
    for path in ["/spec/template/spec/containers", "/spec/template/spec/initContainers", "/spec/containers"] {
        for item in object.pointer_mut(path).and_then(Value::as_array_mut).into_iter().flatten() {
            if container == "*" || item.get("name").and_then(Value::as_str) == Some(container) {
                item["image"] = json!(image);
                found = true;
            }
        }
    }
    if found { Ok(()) } else { Err(Failure::error(format!("unable to find container named \"{container}\""))) }
}

/// `kubectl label` and `kubectl annotate`: `key=value` sets, `key-` removes.
pub async fn label(args: &Args, kubectl: &Kubectl, field: &str) -> Result<(), Failure> {
    let is_change = |word: &String| word.contains('=') || word.ends_with('-');
    let (changes, objects): (Vec<String>, Vec<String>) = args.words.iter().cloned().partition(is_change);
    if changes.is_empty() {
        return Err(Failure::error(format!("at least one {} update is required", field.trim_end_matches('s'))));
    }
    for (kind, name) in chosen(args, kubectl, &objects).await? {
        let live = kubectl.get(kind, &name).await.map_err(|status| failure(&status, ""))?;
        let mut wanted = Map::new();
        for change in &changes {
            let (key, value) = match change.split_once('=') {
                Some((key, value)) => (key, json!(value)),
                None => (change.trim_end_matches('-'), Value::Null),
            };
            let there = live["metadata"][field].get(key).and_then(Value::as_str);
            if let (Some(there), Some(new)) = (there, value.as_str())
                && there != new
                && !args.is_set("overwrite")
            {
                let text = format!("'{key}' already has a value ({there}), and --overwrite is false");
                return Err(Failure::error(text));
            }
            wanted.insert(key.to_owned(), value);
        }
        let patch = Patch::Merge(json!({"metadata": {field: wanted}}));
        let mut request = kubectl.request(Verb::Patch, kind, &name, Body::Patch(patch));
        request.options.field_manager = format!("kubectl-{}", args.verb);
        let patched = kubectl.send_for_object(request).await.map_err(|status| failure(&status, ""))?;
        let removed = changes.iter().all(|change| !change.contains('='));
        let done = match (args.verb.as_str(), removed) {
            ("label", false) => "labeled",
            ("label", true) => "unlabeled",
            _ => "annotated",
        };
        kubectl.print(&format!("{} {done}\n", qualified_name(&patched)));
    }
    Ok(())
}

/// Objects by name, by selector, or all of a kind.
async fn chosen(args: &Args, kubectl: &Kubectl, words: &[String]) -> Result<Vec<(Kind, String)>, Failure> {
    let named = targets(words)?;
    if named.iter().all(|(_, name)| !name.is_empty()) {
        return Ok(named);
    }
    if args.flag("selector").is_empty() && !args.is_set("all") {
        return Err(Failure::error("resource(s) were provided, but no name was specified"));
    }
    let mut all = Vec::new();
    for (kind, _) in named {
        let items = kubectl.list(kind, args.flag("selector"), "").await.map_err(|status| failure(&status, ""))?;
        all.extend(items.iter().map(|o| (kind, o["metadata"]["name"].as_str().unwrap_or_default().to_owned())));
    }
    Ok(all)
}

/// `kubectl taint node node-1 key=value:Effect`, `key:Effect-`, `key-`.
pub async fn taint(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let is_change = |word: &String| word.contains([':', '=']) || word.ends_with('-');
    let (changes, objects): (Vec<String>, Vec<String>) = args.words.iter().cloned().partition(is_change);
    for (kind, name) in targets(&objects)? {
        if kind != Kind::Node {
            return Err(Failure::error(format!("invalid resource type {kind}, only node types are supported")));
        }
        let live = kubectl.get(kind, &name).await.map_err(|status| failure(&status, ""))?;
        let mut taints: Vec<Value> = live["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let mut removed = false;
        for change in &changes {
            removed |= change_taints(&mut taints, change, &name)?;
        }
        let wanted = if taints.is_empty() { Value::Null } else { json!(taints) };
        let patch = Patch::Merge(json!({"spec": {"taints": wanted}}));
        let mut request = kubectl.request(Verb::Patch, kind, &name, Body::Patch(patch));
        request.options.field_manager = "kubectl-taint".into();
        kubectl.send(request).await.map_err(|status| failure(&status, ""))?;
        kubectl.print(&format!("node/{name} {}\n", if removed { "untainted" } else { "tainted" }));
    }
    Ok(())
}

/// Adds or removes one taint. True if it removed one.
fn change_taints(taints: &mut Vec<Value>, change: &str, node: &str) -> Result<bool, Failure> {
    let removal = change.strip_suffix('-');
    let (rest, effect) = removal.unwrap_or(change).rsplit_once(':').unwrap_or((removal.unwrap_or(change), ""));
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    let matches = |taint: &Value| taint["key"] == key && (effect.is_empty() || taint["effect"] == effect);
    let before = taints.len();
    taints.retain(|taint| !matches(taint));
    if removal.is_some() {
        if taints.len() == before {
            return Err(Failure::error(format!("taint \"{rest}\" not found on node \"{node}\"")));
        }
        return Ok(true);
    }
    if !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect) {
        return Err(Failure::error(format!("invalid taint effect: {effect}, unsupported taint effect")));
    }
    let mut taint = json!({"effect": effect, "key": key});
    if !value.is_empty() {
        taint["value"] = json!(value);
    }
    taints.push(taint);
    Ok(false)
}

/// `kubectl cordon` and `kubectl uncordon`.
pub async fn cordon(args: &Args, kubectl: &Kubectl, on: bool) -> Result<(), Failure> {
    for name in &args.words {
        kubectl.get(Kind::Node, name).await.map_err(|status| failure(&status, ""))?;
        let wanted = if on { json!(true) } else { Value::Null };
        let patch = Patch::Strategic(json!({"spec": {"unschedulable": wanted}}));
        let request = kubectl.request(Verb::Patch, Kind::Node, name, Body::Patch(patch));
        kubectl.send(request).await.map_err(|status| failure(&status, ""))?;
        kubectl.print(&format!("node/{name} {}\n", if on { "cordoned" } else { "uncordoned" }));
    }
    Ok(())
}

/// `kubectl patch KIND NAME -p PATCH [--type strategic|merge|json] [--subresource status]`.
pub async fn patch(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let text = args.flag("patch");
    let value: Value = serde_json::from_str(text)
        .or_else(|_| serde_yaml::from_str(text))
        .map_err(|error| Failure::error(format!("unable to parse {text:?}: {error}")))?;
    let patch = match args.flag("type") {
        "" | "strategic" => Patch::Strategic(value),
        "merge" => Patch::Merge(value),
        "json" => Patch::Json(value),
        other => return Err(Failure::error(format!("--type must be one of [json merge strategic], not \"{other}\""))),
    };
    for (kind, name) in targets(&args.words)? {
        kubectl.get(kind, &name).await.map_err(|status| failure(&status, ""))?;
        let mut request = kubectl.request(Verb::Patch, kind, &name, Body::Patch(patch.clone()));
        request.options.field_manager = "kubectl-patch".into();
        if args.flag("subresource") == "status" {
            request.subresource = Some(Subresource::Status);
        }
        let patched = kubectl.send_for_object(request).await.map_err(|status| failure(&status, ""))?;
        kubectl.print(&format!("{} patched\n", qualified_name(&patched)));
    }
    Ok(())
}
