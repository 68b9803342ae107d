//! All containers of a pod are started again where they are, because one of them ended with a code that a rule of its own
//! (`restartPolicyRules`, action `RestartAllContainers`) is about.
//!
//! One sync finds the end and says so: condition AllContainersRestarting. It stops what still runs, at once and without
//! preStop hooks, and removes all that there is. The next finds nothing, says that too, and begins with the init containers:
//! in the same sandbox, with the same address and volumes. No restart policy is consulted, and there is no backoff.
//!
//! Mirrors `ShouldAllContainersRestart`, `AllContainersRestartCleanedUp` (`pkg/kubelet/container/helpers.go`) and
//! `getContainersToReset` (`pkg/kubelet/kuberuntime/kuberuntime_manager.go`).

use k8s_openapi::api::core::v1::{Container, PodSpec};

use crate::restart::exit_code;
use crate::runtime_pod::{RunState, RuntimePod};
use object::pod::status::{ContainerStatus, PodStatus};
use object::pod::{containers, restarts_all};
use object::text::Text;

/// The condition: all containers are being started anew.
pub const ALL_RESTARTING: &str = "AllContainersRestarting";
/// Why a container waits or has ended that was removed to be started anew.
pub const REASON: &str = "RestartingAllContainers";
/// What its status says beside that.
pub const MESSAGE: &str = "The container is removed because RestartAllContainers in place";

/// A container that is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    /// The runtime's id.
    pub id: Text,
    /// Its name in the Pod's spec.
    pub name: String,
    /// It has to be stopped first.
    pub kill: bool,
}

/// Whether all are to be started anew: `old` says that it has begun, or a container ended in that way, as the runtime has it
/// or, where it is not asked, as `old` tells.
pub fn is_due(spec: &PodSpec, runtime: Option<&RuntimePod>, old: &PodStatus) -> bool {
    let has_ended = |container: &Container| {
        if let Some(runtime) = runtime {
            let last = runtime.container(&container.name).filter(|last| last.state == RunState::Exited);
            let Some(last) = last else { return false };
            if restarts_all(container, last.exit_code) {
                return true;
            }
        }
        let statuses = old.init_container_statuses.iter().chain(&old.container_statuses).flatten();
        let told = { statuses }.find(|status| status.name == container.name).and_then(exit_code);
        told.is_some_and(|code| restarts_all(container, code))
    };
    has_begun(old) || containers(spec).any(has_ended)
}

/// Whether a status says that all containers are being started anew.
pub fn has_begun(status: &PodStatus) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    conditions.any(|condition| condition.type_ == ALL_RESTARTING && condition.status == "True")
}

/// Whether the runtime has none of the containers any more.
pub fn is_cleaned_up(spec: &PodSpec, runtime: &RuntimePod) -> bool {
    containers(spec).all(|container| runtime.container(&container.name).is_none())
}

/// Whether a container waits, or waited until it was made again, to be started anew with all the others.
pub fn is_of(status: &ContainerStatus) -> bool {
    let end = status.last_state.as_ref().and_then(|last| last.terminated.as_ref());
    end.is_some_and(|end| end.reason.as_deref() == Some(REASON))
}

/// All that has to go. That which began it goes last: were the kubelet to stop in between, it would still find it.
pub fn resets(spec: &PodSpec, runtime: &RuntimePod) -> Vec<Reset> {
    let (mut others, mut began) = (Vec::new(), Vec::new());
    for container in containers(spec) {
        for there in runtime.containers.iter().filter(|there| there.name == container.name) {
            let kill = there.state != RunState::Exited;
            let list = if !kill && restarts_all(container, there.exit_code) { &mut began } else { &mut others };
            list.push(Reset { id: there.id.clone(), name: there.name.to_string(), kill });
        }
    }
    others.append(&mut began);
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{exited, pod, running, sandboxed};

    /// A spec whose container `trigger` has the rule, for code 42.
    fn spec() -> PodSpec {
        let mut spec = PodSpec::from(pod(&["trigger", "other"]).spec.unwrap());
        let rules = r#"[{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]"#;
        spec.containers[0].restart_policy_rules = serde_json::from_str(rules).unwrap();
        spec
    }

    #[test]
    fn only_the_right_end_of_the_right_container_begins_it() {
        let none = PodStatus::default();
        for (containers, due) in [
            (vec![running("trigger"), running("other")], false),
            (vec![exited("trigger", 1), running("other")], false),
            (vec![running("trigger"), exited("other", 42)], false),
            (vec![exited("trigger", 42), running("other")], true),
        ] {
            assert_eq!(is_due(&spec(), Some(&sandboxed(containers.clone())), &none), due, "{containers:?}");
        }
        let begun = r#"{"conditions": [{"type": "AllContainersRestarting", "status": "True"}]}"#;
        assert!(is_due(&spec(), Some(&sandboxed(vec![])), &serde_json::from_str(begun).unwrap()), "until all is over");
        let told = r#"{"containerStatuses": [{"name": "trigger", "image": "", "imageID": "", "ready": false,
            "restartCount": 0, "state": {"terminated": {"exitCode": 42}}}]}"#;
        assert!(is_due(&spec(), None, &serde_json::from_str(told).unwrap()));
    }

    #[test]
    fn what_began_it_goes_last() {
        let reset = |name: &str, kill| Reset { id: format!("{name}-id").into(), name: name.into(), kill };
        let runtime = sandboxed(vec![exited("trigger", 42), running("other")]);
        assert_eq!(resets(&spec(), &runtime), [reset("other", true), reset("trigger", false)]);
        assert!(!is_cleaned_up(&spec(), &runtime));
        assert!(is_cleaned_up(&spec(), &sandboxed(vec![])));
    }
}
