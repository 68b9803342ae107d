//! What a ReplicaSet remembers of its Deployment, in annotations: which revision it is, and for which size it was
//! made. Mirrors `pkg/controller/deployment/util/deployment_util.go`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::arithmetic::{max_replicas as most, wanted};
use object::template::TEMPLATE_HASH;
use object::well_known::LAST_APPLIED;

/// Which rollout of the Deployment this is, counted from 1; the Deployment carries its newest.
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// Earlier revisions that this ReplicaSet has been, separated by commas.
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// The Deployment's `spec.replicas` when the ReplicaSet was last scaled.
pub const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// The same with the surge.
pub const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// Asks for a rollback: an old way, which kubectl uses no more.
pub const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

/// Annotations that are the Deployment's own and are not copied to ReplicaSets.
const NOT_COPIED: &[&str] = &[LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO];

/// A longer revision history loses its oldest entries.
const REVISION_HISTORY_LEN_MAX: usize = 2000;

/// An object's annotations.
pub type Annotations = BTreeMap<String, String>;

fn annotation<'a>(meta: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    meta.annotations.as_ref()?.get(name).map(String::as_str)
}

/// The ReplicaSet's revision; 0 without the annotation, None if it is no number.
pub fn revision(meta: &ObjectMeta) -> Option<i64> {
    annotation(meta, REVISION).map_or(Some(0), |text| text.parse().ok())
}

/// The greatest revision of these. Mirrors `MaxRevision`.
pub fn max_revision<'a>(sets: impl Iterator<Item = &'a ReplicaSet>) -> i64 {
    sets.filter_map(|rs| revision(&rs.metadata)).max().unwrap_or(0).max(0)
}

/// The second greatest revision: what a rollback to "the one before" means. Mirrors `LastRevision`.
pub fn last_revision<'a>(sets: impl Iterator<Item = &'a ReplicaSet>) -> i64 {
    let (mut newest, mut last) = (0, 0);
    for revision in sets.filter_map(|rs| revision(&rs.metadata)) {
        if revision >= newest {
            (newest, last) = (revision, newest);
        } else {
            last = last.max(revision);
        }
    }
    last
}

/// The Deployment's size when the ReplicaSet was last scaled.
pub fn desired_replicas(rs: &ReplicaSet) -> Option<i32> {
    annotation(&rs.metadata, DESIRED_REPLICAS)?.parse().ok().filter(|count| *count >= 0)
}

/// The same with the surge.
pub fn max_replicas(rs: &ReplicaSet) -> Option<i32> {
    annotation(&rs.metadata, MAX_REPLICAS)?.parse().ok().filter(|count| *count >= 0)
}

fn set(annotations: &mut Annotations, name: &str, value: &str) -> bool {
    annotations.insert(name.to_owned(), value.to_owned()).as_deref() != Some(value)
}

/// Writes down for which size the ReplicaSet is scaled; whether anything changed. Mirrors `SetReplicasAnnotations`.
pub fn set_replicas(meta: &mut ObjectMeta, d: &Deployment) -> bool {
    let annotations = meta.annotations.get_or_insert_default();
    let desired = set(annotations, DESIRED_REPLICAS, &wanted(d).to_string());
    set(annotations, MAX_REPLICAS, &most(d).to_string()) || desired
}

/// Gives the Deployment the revision of its newest ReplicaSet; whether it changed. Mirrors `SetDeploymentRevision`.
pub fn set_deployment_revision(d: &mut Deployment, revision: &str) -> bool {
    set(d.metadata.annotations.get_or_insert_default(), REVISION, revision)
}

/// Brings the annotations of the newest ReplicaSet up to date; whether they changed. `exists` is false for one that
/// is about to be created. Mirrors `SetNewReplicaSetAnnotations`.
pub fn set_new_replica_set(d: &Deployment, meta: &mut ObjectMeta, new_revision: i64, exists: bool) -> bool {
    let annotations = meta.annotations.get_or_insert_default();
    let mut changed = copy_from_deployment(d, annotations);
    let old = annotations.get(REVISION).cloned();
    // A revision that is no number is left alone.
    let Ok(old_number) = old.as_deref().filter(|text| !text.is_empty()).unwrap_or("0").parse::<i64>() else {
        return false;
    };
    // Usually the newest has the greatest number, but older ones may have been deleted since it got its own.
    if old_number < new_revision {
        changed |= set(annotations, REVISION, &new_revision.to_string());
        // It is used again after a rollback: its earlier numbers are kept as history.
        if let Some(old) = old {
            add_to_history(annotations, &old);
        }
    }
    if !exists {
        changed |= set_replicas(meta, d);
    }
    changed
}

fn copy_from_deployment(d: &Deployment, to: &mut Annotations) -> bool {
    let mut changed = false;
    for (name, value) in d.metadata.annotations.iter().flatten() {
        if !NOT_COPIED.contains(&name.as_str()) {
            changed |= set(to, name, value);
        }
    }
    changed
}

fn add_to_history(annotations: &mut Annotations, revision: &str) {
    let history = annotations.get(REVISION_HISTORY).cloned().unwrap_or_default();
    let mut entries: Vec<&str> = history.split(',').filter(|entry| !entry.is_empty()).collect();
    let len = |entries: &[&str]| entries.iter().map(|entry| entry.len() + 1).sum::<usize>() + revision.len();
    while !entries.is_empty() && len(&entries) > REVISION_HISTORY_LEN_MAX {
        entries.remove(0);
    }
    entries.push(revision);
    annotations.insert(REVISION_HISTORY.to_owned(), entries.join(","));
}

/// Which revision the old annotation asks to go back to, if it is there and a number. Mirrors `getRollbackTo`.
pub fn rollback_to(d: &Deployment) -> Option<i64> {
    annotation(&d.metadata, ROLLBACK_TO)?.parse().ok()
}

/// Takes over template and annotations of an old ReplicaSet.
/// Mirrors `SetFromReplicaSetTemplate` and `SetDeploymentAnnotationsTo`.
pub fn roll_back(d: &mut Deployment, rs: &ReplicaSet) {
    let mut template = template_of(rs).cloned().unwrap_or_default();
    if let Some(labels) = template.metadata.as_mut().and_then(|meta| meta.labels.as_mut()) {
        labels.remove(TEMPLATE_HASH);
    }
    if let Some(spec) = &mut d.spec {
        spec.template = template;
    }
    let copied = |name: &str| !NOT_COPIED.contains(&name);
    let own = d.metadata.annotations.get_or_insert_default();
    own.retain(|name, _| !copied(name));
    let theirs = rs.metadata.annotations.iter().flatten();
    own.extend(theirs.filter(|(name, _)| copied(name)).map(|(name, value)| (name.clone(), value.clone())));
}

/// The ReplicaSet's Pod template.
pub fn template_of(rs: &ReplicaSet) -> Option<&PodTemplateSpec> {
    rs.spec.as_ref()?.template.as_ref()
}

/// Whether the two templates make the same Pods: the hash label, which only the ReplicaSet's has, does not count.
/// Mirrors `EqualIgnoreHash`.
pub fn equal_ignoring_hash(a: &PodTemplateSpec, b: &PodTemplateSpec) -> bool {
    fn plain(template: &PodTemplateSpec) -> ObjectMeta {
        let mut meta = template.metadata.clone().unwrap_or_default();
        if let Some(labels) = &mut meta.labels {
            labels.remove(TEMPLATE_HASH);
        }
        // None and empty are the same, as for `equality.Semantic`.
        meta.labels = meta.labels.filter(|labels| !labels.is_empty());
        meta.annotations = meta.annotations.filter(|annotations| !annotations.is_empty());
        meta
    }
    a.spec == b.spec && plain(a) == plain(b)
}

/// Oldest first, and by name if they are of the same second. Mirrors `ReplicaSetsByCreationTimestamp`.
pub fn by_creation(a: &ReplicaSet, b: &ReplicaSet) -> Ordering {
    let created = |rs: &ReplicaSet| rs.metadata.creation_timestamp.as_ref().map(|time| time.0);
    created(a).cmp(&created(b)).then_with(|| a.metadata.name.cmp(&b.metadata.name))
}

/// Lowest revision first. Mirrors `ReplicaSetsByRevision`.
pub fn by_revision(a: &ReplicaSet, b: &ReplicaSet) -> Ordering {
    let revisions = revision(&a.metadata).zip(revision(&b.metadata));
    revisions.map_or(Ordering::Equal, |(a, b)| a.cmp(&b)).then_with(|| by_creation(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn meta(annotations: Value) -> ObjectMeta {
        serde_json::from_value(json!({"annotations": annotations})).unwrap()
    }

    fn deployment(annotations: Value) -> Deployment {
        let spec =
            json!({"replicas": 4, "selector": {}, "template": {}, "strategy": {"rollingUpdate": {"maxSurge": 1}}});
        serde_json::from_value(json!({"metadata": {"annotations": annotations}, "spec": spec})).unwrap()
    }

    fn replica_set(revision: &str) -> ReplicaSet {
        ReplicaSet { metadata: meta(json!({REVISION: revision})), ..ReplicaSet::default() }
    }

    #[test]
    fn a_new_replica_set_is_annotated() {
        let d = deployment(json!({"note": "x", REVISION: "7", LAST_APPLIED: "{}"}));
        let mut new = ObjectMeta::default();
        assert!(set_new_replica_set(&d, &mut new, 2, false));
        let want = json!({"note": "x", REVISION: "2", DESIRED_REPLICAS: "4", MAX_REPLICAS: "5"});
        assert_eq!(serde_json::to_value(new.annotations).unwrap(), want);
    }

    #[test]
    fn an_existing_one_is_changed_only_if_need_be() {
        let d = deployment(json!({}));
        for (before, revision, after) in [
            (json!({REVISION: "2"}), 2, None),
            (json!({REVISION: "3"}), 2, None),
            (json!({REVISION: "x"}), 2, None),
            (json!({}), 1, Some(json!({REVISION: "1"}))),
            (json!({REVISION: "1"}), 3, Some(json!({REVISION: "3", REVISION_HISTORY: "1"}))),
            (json!({REVISION: "3", REVISION_HISTORY: "1"}), 5, Some(json!({REVISION: "5", REVISION_HISTORY: "1,3"}))),
        ] {
            let mut rs = meta(before.clone());
            assert_eq!(set_new_replica_set(&d, &mut rs, revision, true), after.is_some(), "{before}");
            assert_eq!(serde_json::to_value(rs.annotations).unwrap(), after.unwrap_or(before));
        }
    }

    #[test]
    fn a_long_history_loses_its_oldest() {
        let mut annotations = Annotations::new();
        for revision in 1..1000 {
            add_to_history(&mut annotations, &revision.to_string());
        }
        let history = &annotations[REVISION_HISTORY];
        assert!(history.len() <= REVISION_HISTORY_LEN_MAX && history.ends_with(",998,999"), "{}", history.len());
    }

    #[test]
    fn revisions_are_counted() {
        for (revisions, max, last) in [
            (vec!["1"], 1, 0),
            (vec!["1", "3", "2"], 3, 2),
            (vec!["3", "1"], 3, 1),
            (vec!["x", "2"], 2, 0),
            (vec![], 0, 0),
        ] {
            let sets: Vec<_> = revisions.iter().map(|revision| replica_set(revision)).collect();
            assert_eq!((max_revision(sets.iter()), last_revision(sets.iter())), (max, last), "{revisions:?}");
        }
    }

    #[test]
    fn templates_are_compared_without_the_hash() {
        let template = |labels: Value, image: &str| -> PodTemplateSpec {
            let spec = json!({"containers": [{"name": "c", "image": image}]});
            serde_json::from_value(json!({"metadata": {"labels": labels}, "spec": spec})).unwrap()
        };
        let plain = template(json!({"app": "web"}), "nginx");
        assert!(equal_ignoring_hash(&plain, &template(json!({"app": "web", TEMPLATE_HASH: "1"}), "nginx")));
        assert!(!equal_ignoring_hash(&plain, &template(json!({"app": "web"}), "nginx:2")));
        assert!(!equal_ignoring_hash(&plain, &template(json!({"app": "db"}), "nginx")));
    }
}
