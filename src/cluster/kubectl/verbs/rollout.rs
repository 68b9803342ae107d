//! `rollout`: status, history, undo, restart, pause, resume of Deployments.

use serde_json::{Value, json};

use crate::apiserver::request::{Body, Patch, Verb};
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::client::{failure, targets};
use crate::cluster::kubectl::print::{qualified_name, qualified_singular};
use crate::cluster::kubectl::{Failure, Kubectl};
use crate::object::Kind;

use super::wait::{Deadline, timeout};

/// Where a ReplicaSet says which revision it is.
const REVISION: &str = "/metadata/annotations/deployment.kubernetes.io~1revision";

/// `kubectl rollout WHAT deployment/NAME`.
pub async fn rollout(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let Some((what, words)) = args.words.split_first() else {
        return Err(Failure::error("rollout takes: status, history, undo, restart, pause or resume"));
    };
    for (kind, name) in targets(words)? {
        if kind != Kind::Deployment {
            let text = format!("no rollout {what} for {}", qualified_singular(kind));
            return Err(Failure::error(text));
        }
        match what.as_str() {
            "status" => status(args, kubectl, &name).await?,
            "history" => history(kubectl, &name).await?,
            "undo" => undo(args, kubectl, &name).await?,
            "restart" => restart(kubectl, &name).await?,
            "pause" => pause(kubectl, &name, true).await?,
            "resume" => pause(kubectl, &name, false).await?,
            other => return Err(Failure::error(format!("unknown command \"{other}\" for \"kubectl rollout\""))),
        }
    }
    Ok(())
}

async fn status(args: &Args, kubectl: &Kubectl, name: &str) -> Result<(), Failure> {
    let refused = |status: crate::object::Status| failure(&status, "");
    kubectl.get(Kind::Deployment, name).await.map_err(refused)?;
    let (now, stream) = kubectl.follow(Kind::Deployment, name).await.map_err(refused)?;
    // Without --timeout kubectl waits for ever.
    let timeout = timeout(args, 365 * 24 * 3600)?;
    let mut stream = Deadline::new(kubectl, stream, timeout);
    let mut next = now.map(|object| (object, false));
    while let Some((object, deleted)) = next {
        if deleted {
            return Err(Failure::error("object has been deleted"));
        }
        let (line, done) = progress(&object, name)?;
        kubectl.print(&line);
        if done || args.flag("watch") == "false" {
            return Ok(());
        }
        next = stream.next().await;
    }
    Err(Failure::error("timed out waiting for the condition"))
}

/// One line of `rollout status`, and whether it is the last. Mirrors `polymorphichelpers/rollout_status.go`.
fn progress(deployment: &Value, name: &str) -> Result<(String, bool), Failure> {
    let int = |path: &str| deployment.pointer(path).and_then(Value::as_i64).unwrap_or(0);
    if int("/metadata/generation") > int("/status/observedGeneration") {
        return Ok(("Waiting for deployment spec update to be observed...\n".into(), false));
    }
    let conditions = deployment.pointer("/status/conditions").and_then(Value::as_array);
    let exceeded = conditions
        .into_iter()
        .flatten()
        .any(|c| c["type"] == "Progressing" && c["reason"] == "ProgressDeadlineExceeded");
    if exceeded {
        return Err(Failure::error(format!("deployment \"{name}\" exceeded its progress deadline")));
    }
    let (wanted, updated) = (int("/spec/replicas"), int("/status/updatedReplicas"));
    let (all, available) = (int("/status/replicas"), int("/status/availableReplicas"));
    let waiting = |text: String| (format!("Waiting for deployment \"{name}\" rollout to finish: {text}\n"), false);
    Ok(if updated < wanted {
        waiting(format!("{updated} out of {wanted} new replicas have been updated..."))
    } else if all > updated {
        waiting(format!("{} old replicas are pending termination...", all - updated))
    } else if available < updated {
        waiting(format!("{available} of {updated} updated replicas are available..."))
    } else {
        (format!("deployment \"{name}\" successfully rolled out\n"), true)
    })
}

/// A Deployment and its ReplicaSets by revision, oldest first.
async fn revisions(kubectl: &Kubectl, name: &str) -> Result<(Value, Vec<(i64, Value)>), Failure> {
    let refused = |status: crate::object::Status| failure(&status, "");
    // kubectl asks twice: once to find the object, once to read its history.
    kubectl.get(Kind::Deployment, name).await.map_err(refused)?;
    let deployment = kubectl.get(Kind::Deployment, name).await.map_err(refused)?;
    let labels = deployment.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let pairs = labels.into_iter().flatten().map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default()));
    let selector = pairs.collect::<Vec<_>>().join(",");
    let sets = kubectl.list(Kind::ReplicaSet, &selector, "").await.map_err(refused)?;
    let uid = &deployment["metadata"]["uid"];
    let owned = sets.into_iter().filter(|set| set["metadata"]["ownerReferences"][0]["uid"] == *uid);
    let mut revisions: Vec<(i64, Value)> =
        owned.filter_map(|set| Some((set.pointer(REVISION)?.as_str()?.parse().ok()?, set))).collect();
    revisions.sort_by_key(|(revision, _)| *revision);
    Ok((deployment, revisions))
}

async fn history(kubectl: &Kubectl, name: &str) -> Result<(), Failure> {
    let (deployment, revisions) = revisions(kubectl, name).await?;
    kubectl.print(&format!("{} \nREVISION  CHANGE-CAUSE\n", qualified_name(&deployment)));
    for (revision, set) in revisions {
        let cause = set.pointer("/metadata/annotations/kubernetes.io~1change-cause").and_then(Value::as_str);
        kubectl.print(&format!("{revision:<10}{}\n", cause.unwrap_or("<none>")));
    }
    kubectl.print("\n");
    Ok(())
}

async fn undo(args: &Args, kubectl: &Kubectl, name: &str) -> Result<(), Failure> {
    let (deployment, revisions) = revisions(kubectl, name).await?;
    let wanted = match args.flag("to-revision") {
        "" | "0" => revisions.iter().rev().nth(1),
        text => {
            let number: i64 = text.parse().map_err(|_| Failure::error(format!("invalid revision {text:?}")))?;
            let found = revisions.iter().find(|(revision, _)| *revision == number);
            if found.is_none() {
                return Err(Failure::error(format!("unable to find specified revision {number} in history")));
            }
            found
        }
    };
    let Some((revision, set)) = wanted else {
        return Err(Failure::error(format!("no rollout history found for deployment \"{name}\"")));
    };
    let mut template = set["spec"]["template"].clone();
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove("pod-template-hash");
    }
    if template == deployment["spec"]["template"] {
        let text = format!("skipped rollback (current template already matches revision {revision})");
        kubectl.print(&format!("{} {text}\n", qualified_name(&deployment)));
        return Ok(());
    }
    let patch = Patch::Json(json!([{"op": "replace", "path": "/spec/template", "value": template}]));
    let request = kubectl.request(Verb::Patch, Kind::Deployment, name, Body::Patch(patch));
    let patched = kubectl.send_for_object(request).await.map_err(|status| failure(&status, ""))?;
    kubectl.print(&format!("{} rolled back\n", qualified_name(&patched)));
    Ok(())
}

async fn restart(kubectl: &Kubectl, name: &str) -> Result<(), Failure> {
    kubectl.get(Kind::Deployment, name).await.map_err(|status| failure(&status, ""))?;
    let at = kubectl.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let annotations = json!({"kubectl.kubernetes.io/restartedAt": at});
    let patch = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
    send(kubectl, name, patch, "restarted").await
}

async fn pause(kubectl: &Kubectl, name: &str, on: bool) -> Result<(), Failure> {
    let live = kubectl.get(Kind::Deployment, name).await.map_err(|status| failure(&status, ""))?;
    let paused = live["spec"]["paused"] == true;
    let done = if on { "paused" } else { "resumed" };
    if paused == on {
        return Err(Failure::error(format!(
            "deployments.apps \"{name}\" is {}",
            if on { "already paused" } else { "not paused" }
        )));
    }
    let wanted = if on { json!(true) } else { Value::Null };
    send(kubectl, name, json!({"spec": {"paused": wanted}}), done).await
}

async fn send(kubectl: &Kubectl, name: &str, patch: Value, done: &str) -> Result<(), Failure> {
    let body = Body::Patch(Patch::Strategic(patch));
    let mut request = kubectl.request(Verb::Patch, Kind::Deployment, name, body);
    request.options.field_manager = "kubectl-rollout".into();
    let patched = kubectl.send_for_object(request).await.map_err(|status| failure(&status, ""))?;
    kubectl.print(&format!("{} {done}\n", qualified_name(&patched)));
    Ok(())
}
