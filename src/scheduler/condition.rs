//! The patch that puts a condition into a pod's status. Mirrors `podutil.UpdatePodCondition` and
//! `util.PatchPodStatus`.

use std::time::Duration;

use serde_json::{Value, json};

use client::Client;
use object::patch::diff::diff_strategic;
use object::pod::status::{PodCondition, PodStatus};
use object::status::Reason;
use object::time::Instant;
use object::{Key, Kind, Pod};
use wire::{Error, Patch, Transport};

/// `retry.DefaultBackoff`: what the server was in no state to write is sent again after these.
const BACKOFF: [Duration; 3] = [Duration::from_millis(10), Duration::from_millis(50), Duration::from_millis(250)];

/// PATCHes the status of a pod.
pub async fn write(client: &Client, pod: &Key, patch: Value) -> Result<(), Error> {
    for wait in BACKOFF {
        match client.patch_status::<Pod>(pod.namespace(), pod.name(), Patch::Strategic(patch.clone())).await {
            Err(error) if is_passing(&error) => client.sleep(wait).await,
            result => return result.map(drop),
        }
    }
    client.patch_status::<Pod>(pod.namespace(), pod.name(), Patch::Strategic(patch)).await.map(drop)
}

/// Mirrors `util.Retriable`.
fn is_passing(error: &Error) -> bool {
    matches!(error.reason(), Reason::InternalError | Reason::ServiceUnavailable | Reason::Conflict)
        || *error == Error::Transport(Transport::Refused)
}

/// A strategic merge patch that sets `condition`, and the nominated node if one is given (or, if that is empty, takes
/// it away). None if the pod says all that already; a new generation alone is not worth a patch. The time of the last
/// transition moves only when the status does.
pub fn patch(pod: &Pod, mut condition: PodCondition, nominated: Option<&str>, now: Instant) -> Option<Value> {
    let old = pod.status.clone().unwrap_or_default();
    let nominated_now = old.nominated_node_name.as_deref().unwrap_or_default();
    let mut new = old.clone();
    let conditions = new.conditions.get_or_insert_default();
    condition.last_transition_time = Some(now.time());
    match conditions.iter_mut().find(|other| other.type_ == condition.type_) {
        None => conditions.push(condition),
        Some(before) => {
            if says_the_same(before, &condition) && nominated.is_none_or(|node| node == nominated_now) {
                return None;
            }
            if before.status == condition.status {
                condition.last_transition_time = before.last_transition_time.clone();
            }
            *before = PodCondition { last_probe_time: before.last_probe_time.clone(), ..condition };
        }
    }
    if let Some(node) = nominated {
        new.nominated_node_name = (!node.is_empty()).then(|| node.into());
    }
    let patch = diff_strategic(Kind::Pod, &part(&old), &part(&new));
    patch.as_object().is_some_and(|fields| !fields.is_empty()).then_some(patch)
}

/// What `UpdatePodCondition` compares.
fn says_the_same(before: &PodCondition, new: &PodCondition) -> bool {
    (&before.status, &before.reason, &before.message) == (&new.status, &new.reason, &new.message)
}

/// The part of the status that can differ, as Go prints it: an absent probe time is null.
fn part(status: &PodStatus) -> Value {
    let mut part = json!({});
    if let Some(conditions) = &status.conditions {
        let with_probe_time = |condition: &PodCondition| {
            let mut value = json!(condition);
            if condition.last_probe_time.is_none() {
                value["lastProbeTime"] = Value::Null;
            }
            value
        };
        part["conditions"] = conditions.iter().map(with_probe_time).collect();
    }
    if let Some(node) = &status.nominated_node_name {
        part["nominatedNodeName"] = json!(node);
    }
    json!({ "status": part })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pod;
    use object::Status;

    fn unschedulable(message: &str) -> PodCondition {
        PodCondition {
            type_: "PodScheduled".into(),
            status: "False".into(),
            reason: Some("Unschedulable".into()),
            message: Some(message.into()),
            observed_generation: Some(1),
            ..PodCondition::default()
        }
    }

    /// `util.Retriable` has had the conflict since 1.36.
    #[test]
    fn what_may_be_over_in_a_moment_is_sent_again() {
        for (reason, again) in [
            (Reason::Conflict, true),
            (Reason::InternalError, true),
            (Reason::ServiceUnavailable, true),
            (Reason::NotFound, false),
            (Reason::TooManyRequests, false),
        ] {
            assert_eq!(is_passing(&Status::new(reason, "no").into()), again, "{reason:?}");
        }
        assert!(is_passing(&Transport::Refused.into()));
    }

    #[test]
    fn the_first_time_all_of_it_is_sent_then_only_what_changed() {
        let mut pod = pod("p", "");
        let first = patch(&pod, unschedulable("no"), Some("node-2"), Instant(0)).expect("there is something to say");
        assert_eq!(
            first,
            json!({"status": {"conditions": [{"lastProbeTime": null, "lastTransitionTime": "2026-01-01T00:00:00Z",
                "message": "no", "observedGeneration": 1, "reason": "Unschedulable", "status": "False",
                "type": "PodScheduled"}], "nominatedNodeName": "node-2"}})
        );
        let status = PodStatus {
            conditions: Some(vec![PodCondition {
                last_transition_time: Some(Instant(0).time()),
                ..unschedulable("no")
            }]),
            ..PodStatus::default()
        };
        pod.status = Some(status.into());
        let later = Instant(9_000_000_000);
        assert_eq!(patch(&pod, unschedulable("no"), None, later), None);
        let of_generation_2 = || PodCondition { observed_generation: Some(2), ..unschedulable("no") };
        assert_eq!(patch(&pod, of_generation_2(), Some(""), later), None);
        assert!(patch(&pod, of_generation_2(), Some("node-2"), later).is_some());
        assert_eq!(
            patch(&pod, unschedulable("still no"), None, later).expect("the message changed"),
            json!({"status": {"$setElementOrder/conditions": [{"type": "PodScheduled"}],
                "conditions": [{"message": "still no", "type": "PodScheduled"}]}})
        );
    }
}
