//! What the tests of all exercises of this sort have in common.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ReplicaSet;
use serde_json::json;

use super::partner::{self, Make};
use super::{Plan, trial};
use crate::making::pod_for;
use crate::{Exercise, Failure, Judging};
use exercise::host::{Host, Read};
use exercise::kube::{Action, Api, Context, DeleteParams, Error, ListParams, Patch, PatchParams, PostParams};
use object::meta::controller_of;
use object::pod::is_ready;
use object::{Accessor, Pod};

/// What every exercise of this sort must be able to do; called by the tests of each. That each mistake is found and told
/// from the others is shown with programs that make it, by `tests/exercises`: here, that there is one for each.
pub(crate) fn check(exercise: &str, plan: &'static Plan) {
    let here: Make =
        Box::leak(Box::new(|| -> Box<dyn partner::Partner> { Box::new(partner::Here::new(plan.reference)) }));
    let right = trial::judge(exercise, plan, here, "");
    let schedules = right.unwrap_or_else(|failure| panic!("{}\n{}", failure.property, failure.case));
    assert!(schedules > 50, "{schedules}");
    for (name, text) in plan.trials {
        // One trial of every controller takes a number that no solution can have written down; the others take none.
        assert_eq!(trial::drawn(text, exercise).len() == 2, *name == "any-number", "{name}");
    }
    assert!(plan.trials.iter().any(|(name, _)| *name == "any-number"));
    let folder = Exercise::find(exercise).expect("it is in the table").folder;
    let mutants = format!("{}/../../solutions/{folder}/mutants.yaml", env!("CARGO_MANIFEST_DIR"));
    let mutants = std::fs::read_to_string(mutants).expect("it has mutants");
    let mutants: Vec<std::collections::BTreeMap<String, serde_yaml::Value>> = serde_yaml::from_str(&mutants).unwrap();
    let shown = |name: &str| mutants.iter().any(|mutant| mutant["mistake"].as_str() == Some(name));
    let missing: Vec<&str> = plan.mistakes.iter().map(|one| one.name).filter(|name| !shown(name)).collect();
    assert!(missing.is_empty(), "no program makes the mistakes {missing:?}");
}

/// What is said of this controller of ReplicaSets.
fn judged(does: fn(Read) -> Host) -> Failure {
    let Ok(Judging::Controller(plan)) = Exercise::find("replicaset").map(|exercise| &exercise.judging) else {
        unreachable!("it is a controller")
    };
    let here: Make = Box::leak(Box::new(move || -> Box<dyn partner::Partner> { Box::new(partner::Here::new(does)) }));
    *trial::judge("replicaset", plan, here, "").expect_err("it is wrong")
}

/// What two wrong controllers have in common. They write the status first, by a JSON patch; one of the two says nothing of
/// readiness, and the other makes Pods with an annotation of its own.
async fn reconcile(set: Arc<ReplicaSet>, context: Arc<Context>, is_noted: bool) -> Result<Action, Error> {
    if set.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let namespace = set.metadata.namespace();
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
    let mut mine = pods.list(&ListParams::default()).await?.items;
    let is_its = |pod: &Pod| controller_of(&pod.metadata).map(|owner| &owner.uid) == set.metadata.uid.as_ref();
    mine.retain(|pod| is_its(pod) && controllers::pods::is_active(pod));
    let ready = if is_noted { 0 } else { mine.iter().filter(|pod| is_ready(pod)).count() };
    let before = set.status.clone().unwrap_or_default();
    let there = (before.replicas as usize, before.ready_replicas.unwrap_or(0) as usize, before.observed_generation);
    if there != (mine.len(), ready, set.metadata.generation) {
        let add = |path: &str, value: serde_json::Value| json!({"op": "add", "path": path, "value": value});
        let patch = Patch::Json(json!([
            add("/status/observedGeneration", json!(set.metadata.generation)),
            add("/status/readyReplicas", json!(ready)),
            add("/status/replicas", json!(mine.len())),
        ]));
        let sets: Api<ReplicaSet> = Api::namespaced(context.client.clone(), namespace);
        sets.patch_status(set.metadata.name(), &PatchParams::default(), &patch).await?;
    }
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1) as usize;
    for _ in mine.len()..wanted {
        let mut pod = pod_for(&set);
        if is_noted {
            pod.metadata.annotations.get_or_insert_default().insert("example.com/by".to_owned(), "me".to_owned());
        }
        pods.create(&PostParams::default(), &pod).await?;
    }
    // Those that are ready first: the mistake of the other one.
    mine.sort_by_key(|pod| is_ready(pod) == is_noted);
    for pod in mine.iter().take(mine.len().saturating_sub(wanted)) {
        pods.delete(pod.metadata.name(), &DeleteParams::default()).await?;
    }
    Ok(Action::await_change())
}

#[test]
fn another_order_and_another_sort_of_patch_hide_no_mistake() {
    let failure = judged(|read| Host::new(read, |set, context| reconcile(set, context, false)));
    let says = "it deletes Pods that are ready before those that are not";
    assert_eq!(failure.mistake.as_deref(), Some(says), "{}\n{}", failure.property, failure.case);
    assert!(failure.case.contains("\na right one would: delete Pod default/web-"), "{}", failure.case);
}

#[test]
fn of_two_differences_the_one_that_broke_the_property_is_told() {
    let failure = judged(|read| Host::new(read, |set, context| reconcile(set, context, true)));
    assert!(failure.property.starts_with("the status "), "{}", failure.property);
    assert!(
        failure.case.contains("\na right one would: patch the status of ReplicaSet default/web"),
        "{}",
        failure.case
    );
    assert!(failure.case.contains("← here"), "{}", failure.case);
}
