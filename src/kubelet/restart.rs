//! Whether a container that is not running should be.
//!
//! Mirrors `kubecontainer.ShouldContainerBeRestarted` (`pkg/kubelet/container/helpers.go`): a container's own
//! `restartPolicyRules`, then its own `restartPolicy`, then the pod's.

use std::time::Duration;

use k8s_openapi::api::core::v1::Container;

use crate::runtime_pod::{RunState, RuntimePod};
use object::Pod;
use object::pod::is_restarted;
use object::pod::status::ContainerStatus;
use object::text::Text;

/// A run of a container that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The runtime's id.
    pub id: Text,
    /// 0: all went well.
    pub exit_code: i32,
    /// How long it ran.
    pub time: Duration,
}

/// Says how long after the end of its last run a container of a Pod is started again, with all its runs, in place of
/// [`crate::backoff`]; None: it is not.
pub type Restarts = dyn Fn(&Pod, &Container, &[Run]) -> Option<Duration>;

/// Whether the next sync should start this container (again).
pub fn should_start(pod: &Pod, container: &Container, runtime: &RuntimePod) -> bool {
    if pod.metadata.deletion_timestamp.is_some() {
        return false;
    }
    match runtime.container(&container.name) {
        None => true,
        Some(last) => match last.state {
            RunState::Running => false,
            RunState::Unknown | RunState::Created => true,
            RunState::Exited => restarts_after(pod, container, last.exit_code),
        },
    }
}

/// Whether this container is started again after it ended with `exit_code`.
pub fn restarts_after(pod: &Pod, container: &Container, exit_code: i32) -> bool {
    is_restarted(pod.spec.as_deref().and_then(|spec| spec.restart_policy.as_deref()), container, exit_code)
}

/// The exit code of a container that has ended.
pub fn exit_code(status: &ContainerStatus) -> Option<i32> {
    status.state.as_ref()?.terminated.as_ref().map(|t| t.exit_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{container, exited, pod, running};

    #[test]
    fn the_policy_decides() {
        let table = [
            ("Always", Some(exited("web", 0)), true),
            ("Always", Some(exited("web", 1)), true),
            ("Always", Some(running("web")), false),
            ("Always", None, true),
            ("OnFailure", Some(exited("web", 0)), false),
            ("OnFailure", Some(exited("web", 3)), true),
            ("Never", Some(exited("web", 3)), false),
            ("Never", None, true),
        ];
        for (policy, last, expected) in table {
            let mut pod = pod(&["web"]);
            pod.spec.as_mut().unwrap().restart_policy = Some(policy.into());
            let runtime = RuntimePod { containers: last.clone().into_iter().collect(), ..RuntimePod::default() };
            assert_eq!(should_start(&pod, &container("web"), &runtime), expected, "{policy} {last:?}");
        }
    }

    #[test]
    fn nothing_starts_in_a_pod_that_is_being_deleted() {
        let mut pod = pod(&["web"]);
        pod.metadata.deletion_timestamp = Some(object::time::Instant(0).time());
        assert!(!should_start(&pod, &container("web"), &RuntimePod::default()));
    }
}
