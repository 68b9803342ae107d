//! `rollout` of DaemonSets and StatefulSets, whose past is in ControllerRevisions.

use std::collections::BTreeMap;

use serde_json::Value;

use super::deployment::not_restored;
use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use crate::print::describe::template_page;
use crate::print::fields::{at, int, list, namespace_and_name, selector, text};
use object::Kind;
use wire::{Options, Patch};

const ONLY_ROLLING: &str = "rollout status is only available for RollingUpdate strategy type";

fn is_rolling(set: &Value) -> bool {
    text(set, "spec.updateStrategy.type") == "RollingUpdate"
}

/// What to say of a DaemonSet, and whether it is done. Mirrors `DaemonSetStatusViewer.Status`.
pub(super) fn daemon_set_progress(set: &Value) -> Result<(String, bool), String> {
    if !is_rolling(set) {
        return Err(ONLY_ROLLING.to_owned());
    }
    let name = text(set, "metadata.name");
    let status = |field| int(at(set, "status"), field);
    if int(set, "metadata.generation") > status("observedGeneration") {
        return Ok(("Waiting for daemon set spec update to be observed...".to_owned(), false));
    }
    let (wanted, updated) = (status("desiredNumberScheduled"), status("updatedNumberScheduled"));
    let available = status("numberAvailable");
    let why = match () {
        () if updated < wanted => format!("{updated} out of {wanted} new pods have been updated..."),
        () if available < wanted => format!("{available} of {wanted} updated pods are available..."),
        () => return Ok((format!("daemon set \"{name}\" successfully rolled out"), true)),
    };
    Ok((format!("Waiting for daemon set \"{name}\" rollout to finish: {why}"), false))
}

/// What to say of a StatefulSet, and whether it is done. Mirrors `StatefulSetStatusViewer.Status`.
pub(super) fn stateful_set_progress(set: &Value) -> Result<(String, bool), String> {
    if !is_rolling(set) {
        return Err(ONLY_ROLLING.to_owned());
    }
    let status = |field| int(at(set, "status"), field);
    let observed = status("observedGeneration");
    if observed == 0 || int(set, "metadata.generation") > observed {
        return Ok(("Waiting for statefulset spec update to be observed...".to_owned(), false));
    }
    let (wanted, ready, updated) = (int(set, "spec.replicas"), status("readyReplicas"), status("updatedReplicas"));
    if ready < wanted {
        return Ok((format!("Waiting for {} pods to be ready...", wanted - ready), false));
    }
    let partition = at(set, "spec.updateStrategy.rollingUpdate.partition").as_i64();
    let Some(partition) = partition else {
        let [current, update] = ["status.currentRevision", "status.updateRevision"].map(|path| text(set, path));
        if current != update {
            let line =
                format!("waiting for statefulset rolling update to complete {updated} pods at revision {update}...");
            return Ok((line, false));
        }
        let all = status("currentReplicas");
        return Ok((format!("statefulset rolling update complete {all} pods at revision {current}..."), true));
    };
    let rolled = wanted - partition;
    if updated < rolled {
        let why = format!("{updated} out of {rolled} new pods have been updated...");
        return Ok((format!("Waiting for partitioned roll out to finish: {why}"), false));
    }
    Ok((format!("partitioned roll out complete: {updated} new pods have been updated..."), true))
}

/// The DaemonSet or StatefulSet read again, and its ControllerRevisions by number.
pub(super) async fn revisions(kind: Kind, set: &Value, cx: &Kubectl) -> Result<(Value, BTreeMap<i64, Value>), Failure> {
    let (namespace, name) = namespace_and_name(set);
    let set = cx.get_once(kind, namespace, name).await?;
    let options = Options { label_selector: selector(&set, "spec.selector"), ..Options::default() };
    let all = cx.list(Kind::ControllerRevision, namespace, options).await?.items;
    let uid = text(&set, "metadata.uid").to_owned();
    let owned = |one: &Value| list(one, "metadata.ownerReferences").iter().any(|owner| text(owner, "uid") == uid);
    let numbered = all.into_iter().filter(owned).map(|one| (int(&one, "revision"), one)).collect();
    Ok((set, numbered))
}

/// Sends the patch that an older revision holds. The revision gets a new number then.
pub(super) async fn undo(kind: Kind, set: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (set, revisions) = revisions(kind, set, cx).await?;
    let set = &set;
    let number = args.number("to-revision")?.unwrap_or(0);
    let revision = match number {
        0 => revisions.values().rev().nth(1),
        number => match revisions.get(&number) {
            None => return Err(Failure::text(format!("unable to find specified revision {number} in history"))),
            found => found,
        },
    };
    let Some(revision) = revision else {
        return Err(Failure::text("no last revision to roll back to"));
    };
    let query = plain_options("", args)?;
    let data = at(revision, "data");
    let mut template = at(data, "spec.template").clone();
    if let Some(template) = template.as_object_mut() {
        template.remove("$patch");
    }
    if query.only_here {
        return cx.tell_struct(set, &format!("will roll back to {}", template_page(&template)), args);
    }
    if template == *at(set, "spec.template") {
        return cx.tell_struct(
            set,
            &format!("skipped rollback (current template already matches revision {number})"),
            args,
        );
    }
    let done = cx.patch(kind, set, Patch::Strategic(data.clone()), None, query).await;
    done.map_err(|fault| not_restored(&fault, number))?;
    cx.tell_struct(set, "rolled back", args)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(generation: i64, status: Value) -> Value {
        let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}});
        json!({"metadata": {"name": "db", "generation": generation}, "status": status,
            "spec": {"replicas": 3, "updateStrategy": rolling}})
    }

    #[test]
    fn progress_of_a_stateful_set() {
        for (generation, ready, updated, want, done) in [
            (2, 3, 3, "Waiting for statefulset spec update to be observed...", false),
            (1, 1, 0, "Waiting for 2 pods to be ready...", false),
            (1, 3, 1, "Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...", false),
            (1, 3, 2, "partitioned roll out complete: 2 new pods have been updated...", true),
        ] {
            let status = json!({"observedGeneration": 1, "readyReplicas": ready, "updatedReplicas": updated});
            assert_eq!(stateful_set_progress(&set(generation, status)), Ok((want.to_owned(), done)));
        }
    }

    #[test]
    fn progress_of_a_daemon_set() {
        const WAITING: &str = "Waiting for daemon set \"db\" rollout to finish: ";
        for (updated, available, want) in [
            (1, 4, format!("{WAITING}1 out of 4 new pods have been updated...")),
            (4, 3, format!("{WAITING}3 of 4 updated pods are available...")),
            (4, 4, "daemon set \"db\" successfully rolled out".to_owned()),
        ] {
            let status = json!({"observedGeneration": 1, "desiredNumberScheduled": 4,
                "updatedNumberScheduled": updated, "numberAvailable": available});
            let done = available == 4 && updated == 4;
            assert_eq!(daemon_set_progress(&set(1, status)), Ok((want, done)));
        }
    }
}
