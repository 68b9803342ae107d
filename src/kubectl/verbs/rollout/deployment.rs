//! `rollout` of Deployments, whose past is in their ReplicaSets.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use crate::print::describe::{template_of, template_page};
use crate::print::fields::{at, flag, int, list, namespace_and_name, selector, text};
use object::Kind;
use object::well_known::LAST_APPLIED;
use wire::{Options, Patch};

const REVISION: &str = "deployment.kubernetes.io/revision";

/// Annotations that `undo` keeps as they are, because they tell of the Deployment and not of its template.
#[rustfmt::skip]
const KEPT: &[&str] = &[
    LAST_APPLIED, REVISION, "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

/// Whether a Deployment is at the revision that `--revision` asks for; other kinds always pass.
pub(super) fn runs(kind: Kind, object: &Value, revision: i64) -> Result<(), String> {
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

/// What to say of a Deployment, and whether it is done. Mirrors `DeploymentStatusViewer.Status`.
pub(super) fn progress_of(deployment: &Value) -> Result<(String, bool), String> {
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
pub(super) async fn undo(deployment: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
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
