//! `rollout`: the past and progress of a Deployment; [`rollout_sets`] has that of others,
//! [`rollout_history`](super::rollout_history) shows both. Mirrors `k8s.io/kubectl/pkg/polymorphichelpers`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::rollout_history::history;
use super::rollout_sets;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::{Failure, plain_options, timeout};
use crate::cluster::kubectl::client::Stream;
use crate::cluster::kubectl::print::describe::{template_of, template_page};
use crate::cluster::kubectl::print::fields::{at, flag, int, list, namespace_and_name, selector, text};
use crate::object::Kind;
use crate::object::well_known::LAST_APPLIED;
use crate::wire::{Options, Patch, WatchEvent};

const REVISION: &str = "deployment.kubernetes.io/revision";
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// Annotations that `undo` keeps as they are, because they tell of the Deployment and not of its template.
#[rustfmt::skip]
const KEPT: &[&str] = &[
    LAST_APPLIED, REVISION, "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

/// `kubectl rollout VERB deployment/NAME`.
pub async fn rollout(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let Some((verb, words)) = args.words.split_first() else {
        return Err(Failure::text("expected 'rollout status|history|undo|restart|pause|resume TYPE/NAME'"));
    };
    if !matches!(verb.as_str(), "status" | "history" | "undo" | "restart" | "pause" | "resume") {
        return Err(Failure::usage("rollout", format!("unknown command {verb:?}")));
    }
    if words.is_empty() && !args.gives_manifests() {
        return Err(Failure::text("required resource not specified"));
    }
    let (objects, mut failed) = cx.objects_or_all(&format!("rollout {verb}"), words, args).await?;
    if objects.is_empty() && failed.is_empty() && !matches!(verb.as_str(), "history" | "undo") {
        cx.complain(format!("No resources found in {} namespace.", cx.namespace(args)));
    }
    for (kind, object) in objects {
        if let Err(fault) = rollout_one(verb, kind, &object, args, cx).await {
            failed.push(fault);
        }
    }
    Failure::all(failed)
}

async fn rollout_one(verb: &str, kind: Kind, object: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if let Some(why) = unsupported(verb, kind, text(object, "metadata.name")) {
        return Err(Failure::text(why));
    }
    match verb {
        "status" => status(kind, object, args, cx).await,
        "history" => history(kind, object, args, cx).await,
        "undo" if kind == Kind::Deployment => undo(object, args, cx).await,
        "undo" => rollout_sets::undo(kind, object, args, cx).await,
        "restart" => restart(kind, object, args, cx).await,
        "pause" => pause(object, true, args, cx).await,
        _ => pause(object, false, args, cx).await,
    }
}

/// What is said of a kind that does not know the verb.
fn unsupported(verb: &str, kind: Kind, name: &str) -> Option<String> {
    let doing = match verb {
        "pause" => "pausing",
        "resume" => "resuming",
        _ => "restarting",
    };
    let pauses = matches!(verb, "pause" | "resume");
    if kind == Kind::Deployment || !pauses && matches!(kind, Kind::DaemonSet | Kind::StatefulSet) {
        return None;
    }
    let (plural, full) = (kind.info().qualified_plural(), kind.info().qualified_kind());
    // Kinds that run Pods are known to have no history; of others nobody has thought.
    let runs = matches!(kind, Kind::Pod | Kind::ReplicaSet | Kind::ReplicationController | Kind::Job | Kind::CronJob);
    let no_visitor = || format!("no visitor method exists for {{{} {}}}", kind.info().group, kind.info().kind);
    Some(match verb {
        "status" => format!("no status viewer has been implemented for {full}"),
        "history" if runs => format!("no history viewer has been implemented for {full:?}"),
        "history" => format!("error retrieving history for {full:?}, {}", no_visitor()),
        "undo" if runs => format!("no rollbacker has been implemented for {full:?}"),
        "undo" => format!("error retrieving rollbacker for {full:?}, {}", no_visitor()),
        _ => format!("error: {plural} {name:?} {doing} is not supported"),
    })
}

async fn status(kind: Kind, object: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (namespace, name) = namespace_and_name(object);
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
    let revision = args.number("revision")?.unwrap_or(0);
    if revision < 0 {
        return Err(Failure::text(format!("revision must be a positive integer: {revision}")));
    }
    let wanted = move |object: &Value| runs(kind, object, revision).and_then(|()| progress_of(object));
    let mut progress = wanted(first);
    loop {
        let (line, done) = progress.map_err(Failure::text)?;
        cx.line(line);
        if done || args.value("watch") == "false" {
            return Ok(());
        }
        progress = wanted(&next_state(&events).await?);
    }
}

/// Whether a Deployment is at the revision that `--revision` asks for; of others nobody asks.
fn runs(kind: Kind, object: &Value, revision: i64) -> Result<(), String> {
    if revision == 0 || kind != Kind::Deployment {
        return Ok(());
    }
    let running = annotation(object, REVISION);
    let name = text(object, "metadata.name");
    match running.parse::<i64>() {
        Ok(running) if running == revision => Ok(()),
        Ok(running) => Err(format!("desired revision ({revision}) is different from the running revision ({running})")),
        Err(_) => Err(format!("cannot get the revision of deployment {name:?}: {running}")),
    }
}

/// The object after its next change.
async fn next_state(events: &Stream) -> Result<Value, Failure> {
    loop {
        match events.next().await {
            Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => return Ok(object.printed()),
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
pub(super) async fn revisions(deployment: &Value, cx: &Kubectl) -> Result<(Value, BTreeMap<i64, Value>), Failure> {
    let (namespace, name) = namespace_and_name(deployment);
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

/// Puts the template of an older revision back. Its ReplicaSet gets a new revision number then.
async fn undo(deployment: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let name = text(deployment, "metadata.name");
    let (deployment, sets) = revisions(deployment, cx).await?;
    let number = args.number("to-revision")?.unwrap_or(0);
    let set = match number {
        0 => sets.values().rev().nth(1),
        revision => match sets.get(&revision) {
            None => return Err(Failure::text(format!("unable to find specified revision {revision} in history"))),
            set => set,
        },
    };
    let Some(set) = set else {
        return Err(Failure::text(format!("no rollout history found for deployment \"{name}\"")));
    };
    let query = plain_options("", args)?;
    if query.only_here {
        return cx.tell_struct(&deployment, &template_page(at(set, "spec.template")), args);
    }
    if flag(&deployment, "spec.paused") {
        const PAUSED: &str =
            "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again";
        return Err(Failure::text(PAUSED));
    }
    let template = template_of(set);
    if template == *at(&deployment, "spec.template") {
        let how = format!("skipped rollback (current template already matches revision {number})");
        return cx.tell_struct(&deployment, &how, args);
    }
    let patch = json!([
        {"op": "replace", "path": "/spec/template", "value": template},
        {"op": "replace", "path": "/metadata/annotations", "value": undone_annotations(&deployment, set)},
    ]);
    let done = cx.patch(Kind::Deployment, &deployment, Patch::Json(patch), None, query).await;
    done.map_err(|fault| not_restored(&fault, number))?;
    cx.tell_struct(&deployment, "rolled back", args)
}

pub(super) fn not_restored(fault: &Failure, number: i64) -> Failure {
    Failure::text(format!("failed restoring revision {number}: {}", fault.message()))
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
    let [what, name] = [kind.info().qualified_plural(), text(object, "metadata.name").to_owned()];
    if flag(object, "spec.paused") {
        let why = "can't restart paused deployment (run rollout resume first)";
        return Err(Failure::text(format!("error: {what} {name:?} {why}")));
    }
    let now = cx.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if at(object, "spec.template.metadata.annotations").get(RESTARTED_AT).is_some_and(|before| *before == now) {
        const TOO_SOON: &str = "if restart has already been triggered within the past second, please wait before \
                                attempting to trigger another";
        return Err(Failure::text(format!("failed to create patch for {name}: {TOO_SOON}")));
    }
    let patch = json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: now}}}}});
    let new = cx.patch(kind, object, Patch::Strategic(patch), None, plain_options("kubectl-rollout", args)?).await;
    cx.tell_struct(&new.map_err(|fault| not_patched(&fault))?, "restarted", args)
}

fn not_patched(fault: &Failure) -> Failure {
    Failure::text(format!("failed to patch: {}", fault.message()))
}

async fn pause(deployment: &Value, on: bool, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let name = text(deployment, "metadata.name");
    if flag(deployment, "spec.paused") == on {
        let why = if on { "is already paused" } else { "is not paused" };
        return Err(Failure::text(format!("error: deployments.apps \"{name}\" {why}")));
    }
    let patch = json!({"spec": {"paused": if on { json!(true) } else { Value::Null }}});
    let options = plain_options("kubectl-rollout", args)?;
    let new = cx.patch(Kind::Deployment, deployment, Patch::Strategic(patch), None, options).await;
    cx.tell_struct(&new.map_err(|fault| not_patched(&fault))?, if on { "paused" } else { "resumed" }, args)
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
