//! Pods of a node that is not ready are not ready either. Mirrors `controllerutil.MarkPodsNotReady` and `processPod`.

use std::sync::Arc;

use client::{Error, EventType};
use object::pod::assigned_node;
use object::{Key, Pod};

use super::{Monitor, not_ready};

impl Monitor {
    /// Makes the condition Ready of each Pod False, one after the other.
    pub(super) async fn mark_not_ready(&self, pods: Vec<Arc<Pod>>) -> Result<(), Error> {
        let mut failed = None;
        for pod in pods {
            let Some(changed) = with_ready_false(&pod, self.client.now()) else { continue };
            // After the write, so that nothing is said of a Pod that is gone.
            if let Err(status) = self.client.update_status(changed).await {
                if status.is_not_found() {
                    continue;
                }
                failed = Some(status);
            }
            self.recorder.event(&*pod, EventType::Warning, "NodeNotReady", "Node is not ready");
        }
        failed.map_or(Ok(()), |status| Err(status.into()))
    }

    /// A Pod that came to a node already known not to be ready.
    pub(super) async fn mark_late_pod(&self, key: &Key) -> Result<(), Error> {
        let Some(pod) = self.pods.get(key) else { return Ok(()) };
        let late = assigned_node(&pod).is_some_and(|node| self.state.borrow().health.get(node).is_some_and(not_ready));
        if late { self.mark_not_ready(vec![pod]).await } else { Ok(()) }
    }
}

/// The Pod with Ready False; None if it says nothing of it, or says so already.
fn with_ready_false(pod: &Pod, now: object::time::Instant) -> Option<Pod> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let index = conditions.iter().position(|c| c.type_ == "Ready" && c.status != "False")?;
    let mut pod = pod.clone();
    let ready = pod.status.as_mut()?.conditions.as_mut()?.get_mut(index)?;
    ready.status = "False".into();
    ready.last_transition_time = Some(now.time());
    Some(pod)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use object::time::Instant;

    #[test]
    fn only_the_status_and_its_time_change() {
        let pod = |ready: &str| -> Pod {
            let condition = json!({"type": "Ready", "status": ready, "observedGeneration": 1});
            let pod = json!({"metadata": {"generation": 2}, "status": {"conditions": [condition]}});
            serde_json::from_value(pod).expect("the Pod decodes")
        };
        let changed = with_ready_false(&pod("True"), Instant(7_000_000_000)).expect("it changes");
        let want = json!([{"type": "Ready", "status": "False", "observedGeneration": 1,
            "lastTransitionTime": Instant(7_000_000_000).time()}]);
        assert_eq!(json!(changed.status.and_then(|status| status.conditions.clone())), want);
        assert_eq!(with_ready_false(&pod("False"), Instant(7_000_000_000)), None);
    }
}
