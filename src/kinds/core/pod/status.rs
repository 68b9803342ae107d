//! What a write of a Pod's status cannot take away by leaving it out: the QoS class, and which generation was seen. Mirrors
//! `podStatusStrategy.PrepareForUpdate` of `pkg/registry/core/pod`.

use object::Pod;
use object::pod::status::{PodCondition, PodStatus};
/// Puts it back. Most writers leave nothing out, and the status that they sent stays shared.
pub fn keep_what_is_left_out(new: &mut Pod, old: &Pod) {
    let Some(before) = old.status.as_deref() else { return };
    if new.status.as_deref().is_some_and(|sent| !leaves_out(sent, before)) {
        return;
    }
    let status = new.status.get_or_insert_default();
    keep(&mut status.observed_generation, before.observed_generation);
    if status.qos_class.is_none() {
        status.qos_class.clone_from(&before.qos_class);
    }
    for condition in status.conditions.iter_mut().flatten() {
        let seen = seen_before(condition, before);
        keep(&mut condition.observed_generation, seen);
    }
}

fn leaves_out(sent: &PodStatus, before: &PodStatus) -> bool {
    let mut conditions = sent.conditions.iter().flatten();
    sent.qos_class.is_none() && before.qos_class.is_some()
        || is_unsaid(sent.observed_generation, before.observed_generation)
        || conditions.any(|condition| is_unsaid(condition.observed_generation, seen_before(condition, before)))
}

/// Which generation the condition of this type was about.
fn seen_before(condition: &PodCondition, before: &PodStatus) -> Option<i64> {
    before.conditions.iter().flatten().find(|there| there.type_ == condition.type_)?.observed_generation
}

fn is_unsaid(sent: Option<i64>, before: Option<i64>) -> bool {
    sent.unwrap_or(0) == 0 && before.unwrap_or(0) != 0
}

fn keep(generation: &mut Option<i64>, before: Option<i64>) {
    if is_unsaid(*generation, before) {
        *generation = before;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use object::read;

    #[test]
    fn what_was_seen_stays_seen() {
        let pod = |status: &Value| -> Pod { read::from_value(&json!({"status": status})).unwrap() };
        let ready = |more: Value| {
            let mut condition = json!({"type": "Ready", "status": "True"});
            condition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!([condition])
        };
        let seen = |generation: i64| json!({"observedGeneration": generation});
        let old = json!({"qosClass": "Burstable", "observedGeneration": 2, "conditions": ready(seen(2))});
        for (sent, kept) in [
            (json!({}), json!({"qosClass": "Burstable", "observedGeneration": 2})),
            (
                json!({"phase": "Running", "conditions": ready(json!({}))}),
                json!({"phase": "Running", "qosClass": "Burstable", "observedGeneration": 2, "conditions": ready(seen(2))}),
            ),
            (
                json!({"qosClass": "Burstable", "observedGeneration": 3, "conditions": ready(seen(3))}),
                json!({"qosClass": "Burstable", "observedGeneration": 3, "conditions": ready(seen(3))}),
            ),
        ] {
            let mut new = pod(&sent);
            keep_what_is_left_out(&mut new, &pod(&old));
            assert_eq!(json!(new.status), kept, "{sent}");
        }
    }
}
