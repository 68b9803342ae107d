//! Revisions: what a DaemonSet or a StatefulSet asked for before.
//!
//! A Deployment keeps its old templates in its old ReplicaSets. DaemonSets and StatefulSets own their Pods themselves, so
//! they keep each template in a ControllerRevision: an immutable piece of data with a number that grows. The data is the
//! patch that puts the template back, so `kubectl rollout undo` has only to send it. A revision's name ends with the hash
//! of its template, as a ReplicaSet's does; the Pods bear that hash, and so tell which template they are from.
//!
//! Mirrors `pkg/controller/history`, and the parts of the two controllers that use it.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use serde_json::{Value, json};

use object::meta::controller_ref;
use object::template::safe_encode;
use object::{Accessor, Resource, read};

/// The hash of the template that a Pod is from.
pub const REVISION_HASH: &str = "controller-revision-hash";

/// The patch that puts `template` back. Mirrors `getPatch`.
pub fn patch(template: &PodTemplateSpec) -> Value {
    let mut template = serde_json::to_value(template).unwrap_or_default();
    template["$patch"] = json!("replace");
    json!({"spec": {"template": template}})
}

/// The hash of a revision's data: 32-bit FNV-1 over its bytes and the count of collisions. Mirrors
/// `HashControllerRevision`.
pub fn data_hash(data: &Value, collisions: i32) -> String {
    let bytes = format!("{data}{collisions}").into_bytes();
    let hash = bytes.iter().fold(0x811c_9dc5_u32, |hash, byte| hash.wrapping_mul(0x0100_0193) ^ u32::from(*byte));
    safe_encode(&hash.to_string())
}

/// The template in a revision.
pub fn template_of(revision: &ControllerRevision) -> Option<PodTemplateSpec> {
    read::from_value(revision.data.as_ref()?.0.get("spec")?.get("template")?).ok()
}

/// Whether the revision holds this template.
pub fn holds(revision: &ControllerRevision, template: &PodTemplateSpec) -> bool {
    revision.data.as_ref().is_some_and(|data| data.0 == patch(template))
}

/// A new revision of `owner`, with the hash of its template under the label `hash_label`. It takes the template's labels
/// and the owner's annotations along.
pub fn revision_of<T: Resource>(
    owner: &T,
    template: &PodTemplateSpec,
    number: i64,
    (hash_label, hash): (&str, &str),
) -> ControllerRevision {
    let meta = owner.metadata();
    let mut labels = template.metadata.as_ref().and_then(|meta| meta.labels.clone()).unwrap_or_default();
    labels.insert(hash_label.to_owned(), hash.to_owned());
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", meta.name())),
            namespace: meta.namespace.clone(),
            labels: Some(labels),
            annotations: meta.annotations.clone(),
            owner_references: Some(vec![controller_ref(owner)]),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(patch(template))),
        revision: number,
    }
}

/// One more than the highest number.
pub fn next_number(revisions: &[Arc<ControllerRevision>]) -> i64 {
    revisions.iter().map(|revision| revision.revision).max().unwrap_or(0).wrapping_add(1)
}

/// By number; of one number the older first, then by name.
pub fn sort(revisions: &mut [Arc<ControllerRevision>]) {
    revisions.sort_by(|a, b| {
        let key = |r: &ControllerRevision| {
            (r.revision, r.metadata.creation_timestamp.clone().map(|at| at.0), r.metadata.name.clone())
        };
        key(a).cmp(&key(b))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::DaemonSet;

    /// The name that a real cluster gave.
    #[test]
    fn data_has_the_hash_that_a_real_cluster_gives() {
        let container = json!({"image": "postgres:17", "imagePullPolicy": "IfNotPresent", "name": "db", "resources": {},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"});
        let template = json!({"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [container],
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "securityContext": {}, "terminationGracePeriodSeconds": 30}});
        let template: PodTemplateSpec = serde_json::from_value(template).unwrap();
        assert_eq!(data_hash(&patch(&template), 0), "86d58c858");
    }

    #[test]
    fn a_revision_holds_its_template() {
        let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c"}]}});
        let template: PodTemplateSpec = serde_json::from_value(template).unwrap();
        let owner: DaemonSet = serde_json::from_value(json!({"metadata": {"name": "agent"}})).unwrap();
        let revision = revision_of(&owner, &template, 3, (REVISION_HASH, "x7"));
        assert_eq!(revision.metadata.name.as_deref(), Some("agent-x7"));
        assert_eq!(revision.metadata.labels.as_ref().unwrap()[REVISION_HASH], "x7");
        assert!(holds(&revision, &template));
        assert_eq!(template_of(&revision), Some(template.clone()));
        let mut other = template;
        other.metadata.as_mut().unwrap().labels.as_mut().unwrap().insert("b".into(), "c".into());
        assert!(!holds(&revision, &other));
        assert_eq!(next_number(&[Arc::new(revision)]), 4);
        assert_eq!(next_number(&[]), 1);
    }
}
