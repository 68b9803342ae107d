//! `rollout`: the past and progress of a Deployment; [`rollout_sets`] has that of others. Mirrors
//! `k8s.io/kubectl/pkg/polymorphichelpers`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::rollout_sets;
use crate::apiserver::request::{Options, Patch};
use crate::apiserver::watch::WatchEvent;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::{Failure, plain_options, timeout};
use crate::cluster::kubectl::client::Stream;
use crate::cluster::kubectl::print::describe::{template_of, template_page};
use crate::cluster::kubectl::print::fields::{at, flag, int, list, or_none, selector, text};
use crate::cluster::kubectl::print::{qualified_name, tabs};
use crate::object::Kind;

const REVISION: &str = "deployment.kubernetes.io/revision";
pub(super) const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// Annotations that `undo` keeps as they are, because they tell of the Deployment and not of its template.
#[rustfmt::skip]
const KEPT: &[&str] = &[
    crate::cluster::kubectl::print::describe::LAST_APPLIED, REVISION, "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

/// `kubectl rollout VERB deployment/NAME`.
pub async fn rollout(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let Some((verb, words)) = args.words.split_first() else {
        return Err(Failure::text("expected 'rollout status|history|undo|restart|pause|resume TYPE/NAME'"));
    };
    if !matches!(verb.as_str(), "status" | "history" | "undo" | "restart" | "pause" | "resume") {
        return Err(Failure::text(format!("unknown command \"{verb}\" for \"kubectl rollout\"")));
    }
    for (kind, object) in cx.objects(&format!("rollout {verb}"), words, args).await? {
        let is_set = matches!(kind, Kind::DaemonSet | Kind::StatefulSet);
        let is_supported = match verb.as_str() {
            "pause" | "resume" => kind == Kind::Deployment,
            _ => is_set || kind == Kind::Deployment,
        };
        if !is_supported {
            let what = kind.info().qualified_plural();
            return Err(Failure::text(format!(
                "{what} \"{}\" {verb} is not supported",
                text(&object, "metadata.name")
            )));
        }
        match verb.as_str() {
            "status" => status(kind, &object, args, cx).await?,
            "history" if is_set => rollout_sets::history(&object, args, cx).await?,
            "undo" if is_set => rollout_sets::undo(kind, &object, args, cx).await?,
            "history" => history(&object, args, cx).await?,
            "undo" => undo(&object, args, cx).await?,
            "restart" => restart(kind, &object, args, cx).await?,
            "pause" => pause(&object, true, args, cx).await?,
            _ => pause(&object, false, args, cx).await?,
        }
    }
    Ok(())
}

async fn status(kind: Kind, object: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let [namespace, name] = ["metadata.namespace", "metadata.name"].map(|path| text(object, path));
    let limit = timeout(args, "timeout")?;
    let (listed, events) = cx.follow(kind, namespace, name, limit).await?;
    let Some(first) = listed.items.first() else {
        return Err(crate::object::Status::not_found(kind, name).into());
    };
    let progress_of = match kind {
        Kind::DaemonSet => rollout_sets::daemon_set_progress,
        Kind::StatefulSet => rollout_sets::stateful_set_progress,
        _ => progress_of,
    };
    let mut progress = progress_of(first);
    loop {
        let (line, done) = progress.map_err(Failure::text)?;
        cx.line(line);
        if done || args.value("watch") == "false" {
            return Ok(());
        }
        progress = progress_of(&next_state(&events).await?);
    }
}

/// The object after its next change.
async fn next_state(events: &Stream) -> Result<Value, Failure> {
    loop {
        match events.next().await {
            Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => return Ok(object.to_json()),
            Some(WatchEvent::Deleted(_)) => return Err(Failure::text("object has been deleted")),
            Some(WatchEvent::Error(status)) => return Err(status.into()),
            Some(WatchEvent::Bookmark { .. }) => {}
            None => return Err(Failure::text("timed out waiting for the condition")),
        }
    }
}

/// What to say of a Deployment, and whether it is done. Mirrors `DeploymentStatusViewer.Status`.
fn progress_of(deployment: &Value) -> Result<(String, bool), String> {
    let name = text(deployment, "metadata.name");
    let status = |field| int(at(deployment, "status"), field);
    if int(deployment, "metadata.generation") > status("observedGeneration") {
        return Ok(("Waiting for deployment spec update to be observed...".to_owned(), false));
    }
    let late = |c: &Value| text(c, "type") == "Progressing" && text(c, "reason") == "ProgressDeadlineExceeded";
    if list(deployment, "status.conditions").iter().any(late) {
        return Err(format!("deployment \"{name}\" exceeded its progress deadline"));
    }
    let (wanted, updated) = (int(deployment, "spec.replicas"), status("updatedReplicas"));
    let (all, available) = (status("replicas"), status("availableReplicas"));
    let why = match () {
        () if updated < wanted => format!("{updated} out of {wanted} new replicas have been updated..."),
        () if all > updated => format!("{} old replicas are pending termination...", all - updated),
        () if available < updated => format!("{available} of {updated} updated replicas are available..."),
        () => return Ok((format!("deployment \"{name}\" successfully rolled out"), true)),
    };
    Ok((format!("Waiting for deployment \"{name}\" rollout to finish: {why}"), false))
}

/// The Deployment read again, as a typed object, and its ReplicaSets by revision.
async fn revisions(deployment: &Value, cx: &Kubectl) -> Result<(Value, BTreeMap<i64, Value>), Failure> {
    let [namespace, name] = ["metadata.namespace", "metadata.name"].map(|path| text(deployment, path));
    let deployment = cx.get_once(Kind::Deployment, namespace, name).await?;
    let options = Options { label_selector: selector(&deployment, "spec.selector"), ..Options::default() };
    let sets = cx.list(Kind::ReplicaSet, namespace, options).await?.items;
    let uid = text(&deployment, "metadata.uid").to_owned();
    let owned = |set: &Value| list(set, "metadata.ownerReferences").iter().any(|owner| text(owner, "uid") == uid);
    let numbered = |set: Value| Some((annotation(&set, REVISION).parse().ok()?, set));
    Ok((deployment, sets.into_iter().filter(owned).filter_map(numbered).collect()))
}

/// An annotation's value; empty if there is none.
pub(super) fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    at(object, "metadata.annotations").get(name).and_then(Value::as_str).unwrap_or_default()
}

async fn history(deployment: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (deployment, sets) = revisions(deployment, cx).await?;
    let name = qualified_name(&deployment);
    if let Some(revision) = args.number("revision")?.filter(|revision| *revision > 0) {
        let missing = || Failure::text("unable to find the specified revision");
        let set = sets.get(&revision).ok_or_else(missing)?;
        cx.line(format!("{name} with revision #{revision}\n{}", template_page(at(set, "spec.template"))));
        return Ok(());
    }
    let mut rows = "REVISION\tCHANGE-CAUSE\n".to_owned();
    for (revision, set) in &sets {
        rows.push_str(&format!("{revision}\t{}\n", or_none(annotation(set, CHANGE_CAUSE))));
    }
    cx.line(format!("{name} \n{}", tabs::page(&rows)));
    Ok(())
}

/// Puts the template of an older revision back. Its ReplicaSet gets a new revision number then.
async fn undo(deployment: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let name = text(deployment, "metadata.name");
    if flag(deployment, "spec.paused") {
        let why = "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume";
        return Err(Failure::text(format!("{why} deployment/{name}' and try again")));
    }
    let (deployment, sets) = revisions(deployment, cx).await?;
    let set = match args.number("to-revision")?.unwrap_or(0) {
        0 => sets.values().rev().nth(1),
        revision => match sets.get(&revision) {
            None => return Err(Failure::text(format!("unable to find specified revision {revision} in history"))),
            set => set,
        },
    };
    let Some(set) = set else {
        return Err(Failure::text(format!("no rollout history found for deployment \"{name}\"")));
    };
    let template = template_of(set);
    if template == *at(&deployment, "spec.template") {
        let why = format!("skipped rollback (current template already matches revision {})", annotation(set, REVISION));
        cx.line(format!("{} {why}", qualified_name(&deployment)));
        return Ok(());
    }
    let patch = json!([
        {"op": "replace", "path": "/spec/template", "value": template},
        {"op": "replace", "path": "/metadata/annotations", "value": undone_annotations(&deployment, set)},
    ]);
    cx.patch(Kind::Deployment, &deployment, Patch::Json(patch), None, plain_options("", args)?).await?;
    cx.tell(&deployment, "rolled back", args)?;
    Ok(())
}

/// The Deployment's own annotations, and those that the older revision had beside them.
fn undone_annotations(deployment: &Value, set: &Value) -> Value {
    let of = |object: &Value, own: bool| {
        let all = at(object, "metadata.annotations").as_object().cloned().unwrap_or_default();
        all.into_iter().filter(move |(key, _)| KEPT.contains(&key.as_str()) == own).collect::<Vec<_>>()
    };
    Value::Object(of(deployment, true).into_iter().chain(of(set, false)).collect())
}

async fn restart(kind: Kind, object: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if flag(object, "spec.paused") {
        return Err(Failure::text("can't restart paused deployment (run rollout resume first)"));
    }
    let now = cx.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let patch = json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: now}}}}});
    let options = plain_options("kubectl-rollout", args)?;
    cx.patch(kind, object, Patch::Strategic(patch), None, options).await?;
    cx.tell(object, "restarted", args)
}

async fn pause(deployment: &Value, on: bool, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let name = text(deployment, "metadata.name");
    if flag(deployment, "spec.paused") == on {
        let why = if on { "is already paused" } else { "is not paused" };
        return Err(Failure::text(format!("deployments.apps \"{name}\" {why}")));
    }
    let patch = json!({"spec": {"paused": if on { json!(true) } else { Value::Null }}});
    let options = plain_options("kubectl-rollout", args)?;
    cx.patch(Kind::Deployment, deployment, Patch::Strategic(patch), None, options).await?;
    cx.tell(deployment, if on { "paused" } else { "resumed" }, args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_step_by_step() {
        let told = |generation: i64, status: Value| {
            let metadata = json!({"name": "web", "generation": generation});
            progress_of(&json!({"metadata": metadata, "spec": {"replicas": 4}, "status": status}))
        };
        let waiting = |why: &str| Ok((format!("Waiting for deployment \"web\" rollout to finish: {why}"), false));
        let all = json!({"observedGeneration": 1, "updatedReplicas": 4, "replicas": 4, "availableReplicas": 4});
        let with = |field: &str, n: i64| {
            let mut status = all.clone();
            status[field] = json!(n);
            status
        };
        assert_eq!(told(1, all.clone()), Ok(("deployment \"web\" successfully rolled out".to_owned(), true)));
        assert_eq!(
            told(2, all.clone()),
            Ok(("Waiting for deployment spec update to be observed...".to_owned(), false))
        );
        assert_eq!(told(1, with("updatedReplicas", 2)), waiting("2 out of 4 new replicas have been updated..."));
        assert_eq!(told(1, with("replicas", 5)), waiting("1 old replicas are pending termination..."));
        assert_eq!(told(1, with("availableReplicas", 3)), waiting("3 of 4 updated replicas are available..."));
        let mut late = all;
        late["conditions"] = json!([{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]);
        assert_eq!(told(1, late), Err("deployment \"web\" exceeded its progress deadline".to_owned()));
    }
}
