//! Pods, as their controllers see them: which count, which are available, and making them from a template.
//!
//! Mirrors `pkg/controller/controller_utils.go`; what a Pod's status says is in [`object::pod`].

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use client::{Client, Error, EventType, Lister, Recorder, join_all};
use object::meta::controller_of;
use object::pod::Spec;
use object::pod::{has_ended, is_ready, ready_condition};
use object::time::Instant;
use object::{Accessor, Key, Object, Pod, Resource};
use wire::DeleteOptions;

/// The index that finds children by their controller. Its values are [`owned_by`] and [`orphans_of`].
pub const BY_CONTROLLER: &str = "controller";

/// The value of the index [`BY_CONTROLLER`] for one object. Mirrors `PodControllerIndex`.
pub fn index_by_controller(object: &Object) -> Vec<String> {
    let meta = object.meta();
    let namespace = meta.namespace();
    vec![match controller_of(meta) {
        Some(owner) => index_value(namespace, &owner.kind, &owner.name, &owner.uid),
        None => orphans_of(namespace),
    }]
}

/// Where the index has the children of `owner`.
pub fn owned_by<T: Resource>(owner: &T) -> String {
    let meta = owner.metadata();
    let part = |field: &Option<String>| field.clone().unwrap_or_default();
    index_value(&part(&meta.namespace), T::kind().info().kind, &part(&meta.name), &part(&meta.uid))
}

/// Where the index has the objects of a namespace that no controller owns.
pub fn orphans_of(namespace: &str) -> String {
    namespace.to_owned()
}

fn index_value(namespace: &str, kind: &str, name: &str, uid: &str) -> String {
    [namespace, "/", kind, "/", name, "/", uid].concat()
}

/// The cached object that `owner` means, if it is still the same one. Mirrors `resolveControllerRef`.
pub fn resolve<T: Resource>(cached: &Lister<T>, child: &ObjectMeta, owner: &OwnerReference) -> Option<Arc<T>> {
    if owner.kind != T::kind().info().kind {
        return None;
    }
    let object = cached.get(&Key::new(child.namespace.as_deref().unwrap_or_default(), &owner.name))?;
    (object.metadata().uid.as_ref() == Some(&owner.uid)).then_some(object)
}

/// The keys of the objects that may adopt a Pod (or another object) with this metadata and no owner, by its labels. Mirrors
/// `getPodReplicaSets` and its like.
pub fn selecting<T: Resource>(
    cached: &Lister<T>,
    orphan: &ObjectMeta,
    wants: impl Fn(&T, &BTreeMap<String, String>) -> bool,
) -> Vec<Key> {
    let Some(labels) = orphan.labels.as_ref().filter(|labels| !labels.is_empty()) else { return Vec::new() };
    let those = cached.list_namespace(orphan.namespace.as_deref().unwrap_or_default()).into_iter();
    those.filter(|object| wants(object, labels)).map(|object| Key::of_meta(object.metadata())).collect()
}

/// Whether the Pod counts towards its controller's replicas: it has not ended and is not being deleted.
/// Mirrors `controller.IsPodActive`.
pub fn is_active(pod: &Pod) -> bool {
    !has_ended(pod) && pod.metadata.deletion_timestamp.is_none()
}

/// Whether the Pod is on its way out. Mirrors `controller.IsPodTerminating`.
pub fn is_terminating(pod: &Pod) -> bool {
    !has_ended(pod) && pod.metadata.deletion_timestamp.is_some()
}

/// Since when the Pod is ready; None if it is not, or if the time is not recorded.
pub fn ready_since(pod: &Pod) -> Option<Instant> {
    let condition = ready_condition(pod).filter(|condition| condition.status == "True")?;
    condition.last_transition_time.as_ref().map(Instant::from_time)
}

/// Whether the Pod has been ready for `min_ready_seconds`. Mirrors `podutil.IsPodAvailable`.
pub fn is_available(pod: &Pod, min_ready_seconds: i32, now: Instant) -> bool {
    is_ready(pod)
        && (min_ready_seconds == 0 || ready_since(pod).is_some_and(|since| since + seconds(min_ready_seconds) <= now))
}

/// How long until the next of these Pods will have been ready for `min_ready_seconds`, of those that had not been so when
/// they were counted; None if none is on its way. Mirrors `controller.FindMinNextPodAvailabilityCheck`.
pub fn next_availability_check<'a>(
    pods: impl IntoIterator<Item = &'a Arc<Pod>>,
    min_ready_seconds: i32,
    counted: Instant,
    now: Instant,
) -> Option<Duration> {
    let available_at = pods.into_iter().filter_map(|pod| ready_since(pod)).map(|at| at + seconds(min_ready_seconds));
    // It may have become so meanwhile: then at once.
    available_at.filter(|at| *at > counted).min().map(|at| at - now)
}

/// A count of seconds from an object; a negative one is none.
pub fn seconds(count: i32) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or(0))
}

/// Makes and deletes Pods in a controller's name, and tells of it in Events. Mirrors `controller.RealPodControl`.
#[derive(Clone)]
pub struct PodControl {
    /// Asks as the controller.
    pub client: Client,
    /// Signs as the controller.
    pub recorder: Recorder,
}

impl PodControl {
    /// Creates one Pod of `owner` from its template. Mirrors `RealPodControl.CreatePods`.
    pub async fn create<T: Resource>(
        &self,
        owner: &T,
        template: &PodTemplateSpec,
        controller: OwnerReference,
    ) -> Result<Arc<Pod>, Error> {
        self.create_pod(owner, pod_from_template(template, owner.metadata(), controller)).await
    }

    /// Creates this Pod of `owner`.
    pub async fn create_pod<T: Resource>(&self, owner: &T, pod: Pod) -> Result<Arc<Pod>, Error> {
        if pod.metadata.labels.as_ref().is_none_or(|labels| labels.is_empty()) {
            return Err(Error::Other("unable to create pods, no labels".into()));
        }
        match self.client.create(pod).await {
            Ok(pod) => {
                let name = pod.metadata.name();
                self.recorder.event(owner, EventType::Normal, "SuccessfulCreate", format!("Created pod: {name}"));
                Ok(pod)
            }
            Err(status) => {
                // In a terminating namespace failures are expected, and no user is left to read about them.
                if !status.is_namespace_terminating() {
                    let message = format!("Error creating: {status}");
                    self.recorder.event(owner, EventType::Warning, "FailedCreate", message);
                }
                Err(status.into())
            }
        }
    }

    /// Deletes one Pod of `owner`, gracefully. Mirrors `RealPodControl.DeletePod`.
    pub async fn delete<T: Resource>(&self, owner: &T, pod: &Pod) -> Result<(), Error> {
        let namespace = pod.metadata.namespace();
        let name = pod.metadata.name();
        match self.client.delete::<Pod>(namespace, name, DeleteOptions::default()).await {
            Ok(()) => {
                self.recorder.event(owner, EventType::Normal, "SuccessfulDelete", format!("Deleted pod: {name}"));
                Ok(())
            }
            Err(status) if status.is_not_found() => Err(status.into()),
            Err(status) => {
                self.recorder.event(owner, EventType::Warning, "FailedDelete", format!("Error deleting: {status}"));
                Err(Error::Other(format!("unable to delete pods: {status}")))
            }
        }
    }
}

/// The Pod that `template` describes, owned by `controller` and named by the API server.
/// Mirrors `controller.GetPodFromTemplate`.
pub fn pod_from_template(template: &PodTemplateSpec, owner: &ObjectMeta, controller: OwnerReference) -> Pod {
    let from = template.metadata.clone().unwrap_or_default();
    Pod {
        metadata: ObjectMeta {
            generate_name: Some(generate_name(owner.name.as_deref().unwrap_or_default())),
            namespace: owner.namespace.clone(),
            labels: from.labels,
            annotations: from.annotations,
            finalizers: from.finalizers,
            owner_references: Some(vec![controller]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone().map(Spec::from),
        status: None,
    }
}

/// `web-` for the Pods of `web`. An owner whose name is as long as names may be gives it without the dash.
fn generate_name(owner: &str) -> String {
    const NAME_LEN_MAX: usize = 253;
    if owner.len() < NAME_LEN_MAX { format!("{owner}-") } else { owner.to_owned() }
}

/// Does something `count` times in batches of 1, 2, 4, 8 …, each under way together, and stops after the first batch
/// in which one failed: so a template that the API server refuses costs one request and not five hundred.
/// Gives how many succeeded, and the first error. Mirrors `slowStartBatch`.
pub async fn slow_start<F, Fut>(count: usize, mut start: F) -> (usize, Result<(), Error>)
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<(), Error>>,
{
    let (mut remaining, mut successes, mut batch) = (count, 0, 1);
    while remaining > 0 {
        batch = batch.min(remaining);
        let results = join_all((0..batch).map(|_| start()).collect()).await;
        successes += results.iter().filter(|result| result.is_ok()).count();
        if let Some(error) = results.into_iter().find_map(Result::err) {
            return (successes, Err(error));
        }
        remaining -= batch;
        batch *= 2;
    }
    (successes, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(phase: &str, deleting: bool, ready: Option<(&str, u64)>) -> Pod {
        let mut pod = json!({"metadata": {"name": "p"}, "status": {"phase": phase}});
        if deleting {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        if let Some((status, since)) = ready {
            let since = Instant(since * 1_000_000_000).time();
            pod["status"]["conditions"] = json!([{"type": "Ready", "status": status, "lastTransitionTime": since}]);
        }
        serde_json::from_value(pod).unwrap()
    }

    fn at(seconds: u64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    #[test]
    fn which_pods_count() {
        for (phase, deleting, active, terminating) in [
            ("Pending", false, true, false),
            ("Running", false, true, false),
            ("Running", true, false, true),
            ("Succeeded", false, false, false),
            ("Failed", true, false, false),
        ] {
            let pod = pod(phase, deleting, None);
            assert_eq!((is_active(&pod), is_terminating(&pod)), (active, terminating), "{phase} {deleting}");
        }
    }

    #[test]
    fn available_after_min_ready_seconds() {
        for (ready, min, now, want) in [
            (None, 0, 10, false),
            (Some(("False", 0)), 0, 10, false),
            (Some(("True", 10)), 0, 10, true),
            (Some(("True", 10)), 5, 14, false),
            (Some(("True", 10)), 5, 15, true),
        ] {
            assert_eq!(is_available(&pod("Running", false, ready), min, at(now)), want, "{ready:?} {min} {now}");
        }
    }

    #[test]
    fn the_next_check_is_the_earliest_to_come() {
        let pods = [4, 8, 9].map(|since| Arc::new(pod("Running", false, Some(("True", since)))));
        assert_eq!(next_availability_check(&pods, 5, at(10), at(10)), Some(Duration::from_secs(3)));
        assert_eq!(next_availability_check(&pods, 5, at(10), at(13)), Some(Duration::ZERO));
        assert_eq!(next_availability_check(&pods, 5, at(20), at(20)), None);
    }

    #[test]
    fn a_pod_is_what_its_template_says() {
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}});
        let owner = ObjectMeta { name: Some("web".into()), namespace: Some("default".into()), ..Default::default() };
        let pod = pod_from_template(&serde_json::from_value(template).unwrap(), &owner, OwnerReference::default());
        assert_eq!(pod.metadata.generate_name.as_deref(), Some("web-"));
        assert_eq!(pod.metadata.namespace.as_deref(), Some("default"));
        assert_eq!(pod.spec.unwrap().containers[0].name, "c");
        assert_eq!(generate_name(&"x".repeat(253)).len(), 253);
    }
}
