//! Whether an image has to be pulled, and what is said about it.
//!
//! Mirrors `EnsureImageExists` (`pkg/kubelet/images/image_manager.go`): the plain part. Pulls themselves are made
//! one at a time per node (`serializeImagePulls`), by the worker's future; see `sync.rs`.

use std::time::Duration;

use k8s_openapi::api::core::v1::Container;

use crate::status::inputs::WaitingReason;
use object::time::go_duration;

/// What to do about an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It is here and will do.
    Use,
    /// Ask the registry.
    Pull,
    /// It is not here, and may not be pulled.
    Refuse,
}

/// The policy in force: the API server's default, `Always` for no tag or `latest`.
pub fn policy(container: &Container) -> &str {
    let image = container.image.as_deref().unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or(image);
    let latest = !name.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    container.image_pull_policy.as_deref().unwrap_or(if latest { "Always" } else { "IfNotPresent" })
}

/// `imagePullPrecheck`.
pub fn plan(container: &Container, present: bool) -> Plan {
    match (policy(container), present) {
        ("Never", false) => Plan::Refuse,
        ("Always", _) | ("IfNotPresent", false) => Plan::Pull,
        _ => Plan::Use,
    }
}

/// The key under which failed pulls of an image back off, for one pod.
pub fn backoff_key(uid: &str, image: &str) -> String {
    format!("{uid}_{image}")
}

/// The Event of an image that need not be pulled.
pub fn present_message(image: &str) -> String {
    format!("Container image \"{image}\" already present on machine and can be accessed by the pod")
}

/// The Event of a pull that worked. Both times count whole milliseconds, as the kubelet truncates them.
pub fn pulled_message(image: &str, took: Duration, with_wait: Duration, size: u64) -> String {
    let (took, with_wait) = (go_duration(millis(took)), go_duration(millis(with_wait)));
    format!(
        "Successfully pulled image \"{image}\" in {took} ({with_wait} including waiting). Image size: {size} bytes."
    )
}

/// The waiting reason of a container whose pull has just failed.
pub fn pull_failed(error: &str) -> WaitingReason {
    WaitingReason { reason: "ErrImagePull".into(), message: error.into() }
}

/// The waiting reason of a container whose image may not be tried again yet.
pub fn pull_back_off(image: &str, last_error: Option<&str>) -> WaitingReason {
    let back_off = back_off_message(image);
    let message = last_error.map_or_else(|| back_off.clone(), |error| format!("{back_off}: ErrImagePull: {error}"));
    WaitingReason { reason: "ImagePullBackOff".into(), message }
}

/// The text of the BackOff event.
pub fn back_off_message(image: &str) -> String {
    format!("Back-off pulling image \"{image}\"")
}

fn millis(d: Duration) -> Duration {
    Duration::from_millis(d.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::container;

    #[test]
    fn the_policy_and_what_is_there_decide() {
        let table = [
            ("nginx:1.27", None, false, Plan::Pull),
            ("nginx:1.27", None, true, Plan::Use),
            ("nginx", None, true, Plan::Pull),
            ("registry:5000/nginx", None, true, Plan::Pull),
            ("registry:5000/nginx:1", None, true, Plan::Use),
            ("nginx:latest", Some("IfNotPresent"), true, Plan::Use),
            ("nginx:1.27", Some("Never"), false, Plan::Refuse),
        ];
        for (image, policy, present, expected) in table {
            let mut container = container("web");
            container.image = Some(image.into());
            container.image_pull_policy = policy.map(Into::into);
            assert_eq!(plan(&container, present), expected, "{image} {policy:?} {present}");
        }
    }

    #[test]
    fn a_pull_reports_its_times_and_size() {
        let took = Duration::from_millis(403);
        let expected = "Successfully pulled image \"nginx:1.27\" in 403ms (403ms including waiting). \
                        Image size: 75497472 bytes.";
        assert_eq!(pulled_message("nginx:1.27", took, took, 75_497_472), expected);
    }
}
