//! The Pod that `logs deploy/web`, `exec deploy/web` and their like mean: the best of those that the object selects; and what is in it.
//!
//! Mirrors `attachablePodForObject` and `GetFirstPod` of `k8s.io/kubectl/pkg/polymorphichelpers`.

use serde_json::Value;

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::print::fields::{int, list, selector, text};
use crate::targets::Target;
use object::Kind;
use wire::Options;

/// Which Pod is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// To run a command in it: one that has restarted least. `ActivePods`, from the end.
    Exec,
    /// To read its log: one that has restarted most. `ByLogging`.
    Logs,
}

/// The Pod that `NAME` or `TYPE/NAME` means, and out of how many.
pub async fn pod_of(
    verb: &str,
    word: &str,
    order: Order,
    args: &Args,
    cx: &Kubectl,
) -> Result<(Value, usize), Failure> {
    let (kind, object) = object_of(verb, word, args, cx).await?;
    best_pod(word, kind, &object, order, args, cx).await
}

/// The object that `NAME` or `TYPE/NAME` means: without a type, a Pod.
pub async fn object_of(verb: &str, word: &str, args: &Args, cx: &Kubectl) -> Result<(Kind, Value), Failure> {
    let target = match word.contains('/') {
        true => cx.targets(verb, std::slice::from_ref(&word.to_owned())).await?.remove(0),
        false => Target { kind: Kind::Pod, name: Some(word.to_owned()) },
    };
    let name = target.name.as_deref().unwrap_or_default();
    Ok((target.kind, cx.get(target.kind, cx.namespace(args), name).await?))
}

/// The best Pod of an object, and out of how many.
pub async fn best_pod(
    word: &str,
    kind: Kind,
    object: &Value,
    order: Order,
    args: &Args,
    cx: &Kubectl,
) -> Result<(Value, usize), Failure> {
    let pods = pods_of(kind, object, order, args, cx).await?;
    let of = pods.len();
    match pods.into_iter().next() {
        Some(pod) => Ok((pod, of)),
        // The real one waits for a Pod; here nothing would happen meanwhile.
        None => Err(Failure::text(format!("no Pod of {word} is there"))),
    }
}

/// All Pods of an object, the best first.
pub async fn pods_of(
    kind: Kind,
    object: &Value,
    order: Order,
    args: &Args,
    cx: &Kubectl,
) -> Result<Vec<Value>, Failure> {
    if kind == Kind::Pod {
        return Ok(vec![object.clone()]);
    }
    let label_selector = selector(object, "spec.selector");
    if label_selector == "<none>" {
        let kind = kind.info().kind;
        return Err(Failure::text(format!("cannot attach to *{kind}: it selects no Pods")));
    }
    let options = Options { label_selector, limit: 500, ..Options::default() };
    let mut pods = cx.list(Kind::Pod, cx.namespace(args), options).await?.items;
    pods.sort_by_key(|pod| rank(pod, order));
    Ok(pods)
}

/// The best has the least rank: bound, running, ready for long, and old.
fn rank(pod: &Value, order: Order) -> impl Ord + use<> {
    let phase = ["Running", "Unknown", "Pending"].iter().position(|phase| text(pod, "status.phase") == *phase);
    let phase = phase.unwrap_or(if order == Order::Logs { 0 } else { 2 });
    let ready = list(pod, "status.conditions").iter().find(|c| text(c, "type") == "Ready");
    let ready = ready.filter(|condition| text(condition, "status") == "True");
    let since = ready.map(|condition| text(condition, "lastTransitionTime").to_owned());
    let restarts = list(pod, "status.containerStatuses").iter().map(|c| int(c, "restartCount")).max().unwrap_or(0);
    let restarts = if order == Order::Logs { -restarts } else { restarts };
    let made = text(pod, "metadata.creationTimestamp").to_owned();
    (text(pod, "spec.nodeName").is_empty(), phase, since.is_none(), since, restarts, made)
}

/// All containers of a Pod's spec: its own, those before them, and those that were added.
pub fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    ["spec.containers", "spec.initContainers", "spec.ephemeralContainers"].into_iter().flat_map(|path| list(pod, path))
}

/// The names of all, each with what it is unless it is one of the Pod's own. Mirrors `podcmd.AllContainerNames`.
pub fn all_names(pod: &Value) -> Vec<String> {
    let sorts = [("spec.containers", ""), ("spec.ephemeralContainers", " (ephem)"), ("spec.initContainers", " (init)")];
    let names = |(path, sort): (&str, &str)| -> Vec<String> {
        list(pod, path).iter().map(|container| format!("{}{sort}", text(container, "name"))).collect()
    };
    sorts.into_iter().flat_map(names).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_best_pod_comes_first() {
        let pod = |name: &str, node: &str, phase: &str, ready: Option<&str>, restarts: i64, made: &str| {
            let ready: Vec<Value> = ready
                .iter()
                .map(|since| json!({"type": "Ready", "status": "True", "lastTransitionTime": since}))
                .collect();
            json!({"metadata": {"name": name, "creationTimestamp": made}, "spec": {"nodeName": node},
                "status": {"phase": phase, "conditions": ready, "containerStatuses": [{"restartCount": restarts}]}})
        };
        let mut pods = [
            pod("unbound", "", "Pending", None, 0, "2026-01-01T00:00:00Z"),
            pod("ended", "n", "Succeeded", None, 0, "2026-01-01T00:00:02Z"),
            pod("new", "n", "Running", Some("2026-01-01T00:00:09Z"), 0, "2026-01-01T00:00:05Z"),
            pod("old", "n", "Running", Some("2026-01-01T00:00:03Z"), 0, "2026-01-01T00:00:01Z"),
            pod("restarted", "n", "Running", Some("2026-01-01T00:00:03Z"), 2, "2026-01-01T00:00:01Z"),
            pod("unready", "n", "Running", None, 0, "2026-01-01T00:00:00Z"),
        ];
        for (order, expected) in [
            (Order::Exec, "old restarted new unready ended unbound"),
            (Order::Logs, "restarted old new unready ended unbound"),
        ] {
            pods.sort_by_key(|pod| rank(pod, order));
            let names: Vec<&str> = pods.iter().map(|pod| text(pod, "metadata.name")).collect();
            assert_eq!(names.join(" "), expected, "{order:?}");
        }
    }
}
