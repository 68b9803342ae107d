//! Saying of a Pod, before it is deleted, that it did not fail by itself. Mirrors `pkg/util/pod.PatchPodStatus` as the
//! controllers that delete Pods use it.

use serde_json::{Value, json};

use object::Pod;
use object::budget::DISRUPTION_TARGET;
use object::pod::status::PodCondition;
use object::time::Instant;
use wire::Patch;

/// Why a Pod is about to be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disruption {
    /// `DeletionByTaintManager`.
    pub reason: &'static str,
    /// A sentence.
    pub message: &'static str,
}

/// The strategic merge patch that writes the condition (if it is not there already) and the phase (if one is given, and
/// with it how new the Pod was that it is about) into the Pod's status; None if that changes nothing.
pub fn patch(pod: &Pod, phase: Option<&str>, disruption: Option<Disruption>, now: Instant) -> Option<Patch> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let disruption = disruption.filter(|disruption| !conditions.iter().any(|there| says(there, *disruption)));
    let mut status = json!({});
    if let Some(phase) = phase {
        status["phase"] = json!(phase);
        let observed = pod.status.as_ref().and_then(|status| status.observed_generation);
        if observed != pod.metadata.generation {
            status["observedGeneration"] = json!(pod.metadata.generation);
        }
    }
    if let Some(disruption) = disruption {
        let there = conditions.iter().find(|there| there.type_ == DISRUPTION_TARGET);
        let appended = there.is_none().then_some(DISRUPTION_TARGET);
        let types = conditions.iter().map(|c| c.type_.as_str()).chain(appended);
        let order: Vec<Value> = types.map(|type_| json!({"type": type_})).collect();
        status["$setElementOrder/conditions"] = json!(order);
        status["conditions"] = json!([written(there, disruption, pod.metadata.generation, now)]);
    }
    (status != json!({})).then(|| Patch::Strategic(json!({"metadata": {"uid": pod.metadata.uid}, "status": status})))
}

/// The condition as the patch has it: whole, or what is new of one that is there for another reason. That stays where it
/// is in the list, and since when it holds, it has held.
fn written(there: Option<&PodCondition>, disruption: Disruption, generation: Option<i64>, now: Instant) -> Value {
    let Disruption { reason, message } = disruption;
    let mut new = json!({
        "type": DISRUPTION_TARGET, "status": "True", "reason": reason, "message": message,
        "lastProbeTime": null, "lastTransitionTime": now.time(), "observedGeneration": generation,
    });
    if let (Some(there), Some(fields)) = (there, new.as_object_mut()) {
        fields.remove("lastProbeTime");
        if there.status == "True" {
            fields.remove("status");
            fields.remove("lastTransitionTime");
        }
        let same = [
            ("reason", there.reason.as_deref() == Some(reason)),
            ("message", there.message.as_deref() == Some(message)),
            ("observedGeneration", there.observed_generation == generation),
        ];
        same.iter().filter(|(_, same)| *same).for_each(|(field, _)| _ = fields.remove(*field));
    }
    new
}

fn says(condition: &PodCondition, disruption: Disruption) -> bool {
    condition.type_ == DISRUPTION_TARGET
        && condition.status == "True"
        && condition.reason.as_deref() == Some(disruption.reason)
        && condition.message.as_deref() == Some(disruption.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHY: Disruption = Disruption { reason: "Because", message: "so it is" };

    #[test]
    fn only_what_is_new_is_written() {
        let ready = json!({"type": "Ready", "status": "True"});
        let told = json!({"type": DISRUPTION_TARGET, "status": "True", "reason": "Because", "message": "so it is"});
        for (conditions, phase, disruption, order) in [
            (json!([ready]), None, None, None),
            (json!([ready]), Some("Failed"), None, Some(json!(null))),
            (json!([ready]), None, Some(WHY), Some(json!([{"type": "Ready"}, {"type": DISRUPTION_TARGET}]))),
            (json!([told]), None, Some(WHY), None),
            (json!([told]), Some("Failed"), Some(WHY), Some(json!(null))),
        ] {
            let pod = json!({"metadata": {"uid": "u"}, "status": {"conditions": conditions}});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            let sent = patch(&pod, phase, disruption, Instant(0));
            let found = sent.map(|sent| {
                let Patch::Strategic(sent) = sent else { panic!("a strategic merge patch") };
                assert_eq!((&sent["metadata"]["uid"], sent["status"]["phase"].as_str()), (&json!("u"), phase));
                sent["status"]["$setElementOrder/conditions"].clone()
            });
            assert_eq!(found, order, "{phase:?} {disruption:?}");
        }
    }

    /// A phase is about the Pod as it was seen; a condition says by itself what it is about.
    #[test]
    fn a_phase_comes_with_the_generation_that_was_seen() {
        for (observed, phase, expected) in [
            (json!(null), Some("Failed"), json!(2)),
            (json!(1), Some("Failed"), json!(2)),
            (json!(2), Some("Failed"), json!(null)),
            (json!(1), None, json!(null)),
        ] {
            let pod = json!({"metadata": {"uid": "u", "generation": 2}, "status": {"observedGeneration": observed}});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            let Some(Patch::Strategic(sent)) = patch(&pod, phase, Some(WHY), Instant(0)) else {
                panic!("a strategic merge patch")
            };
            assert_eq!(sent["status"]["observedGeneration"], expected, "{observed} {phase:?}");
        }
    }

    #[test]
    fn a_condition_that_is_there_for_another_reason_stays_where_it_is() {
        let order = json!([{"type": DISRUPTION_TARGET}, {"type": "Ready"}]);
        for (status, expected) in [
            ("True", json!({"type": DISRUPTION_TARGET, "reason": "Because", "message": "so it is"})),
            (
                "False",
                json!({"type": DISRUPTION_TARGET, "status": "True", "reason": "Because", "message": "so it is",
                "lastTransitionTime": Instant(0).time()}),
            ),
        ] {
            let other = json!({"type": DISRUPTION_TARGET, "status": status, "reason": "Other", "message": "it was",
                "observedGeneration": 2});
            let pod = json!({"metadata": {"uid": "u", "generation": 2},
                "status": {"conditions": [other, {"type": "Ready", "status": "True"}]}});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            let Some(Patch::Strategic(sent)) = patch(&pod, None, Some(WHY), Instant(0)) else {
                panic!("a strategic merge patch")
            };
            assert_eq!(sent["status"], json!({"$setElementOrder/conditions": order, "conditions": [expected]}));
        }
    }
}
