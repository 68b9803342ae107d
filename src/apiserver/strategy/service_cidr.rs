//! What is said of a range of Services' addresses when it is made. Mirrors
//! `pkg/controlplane/controller/defaultservicecidr`, whose write follows the create in a real server; here they are one.

use k8s_openapi::api::networking::v1::{ServiceCIDR, ServiceCIDRStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::object::time::Instant;
use crate::object::well_known::KUBERNETES;

/// The server's own range is ready; of any other, a controller that is not here would say so.
pub(super) fn status(range: &ServiceCIDR, now: Instant) -> Option<ServiceCIDRStatus> {
    let ready = || Condition {
        type_: "Ready".into(),
        status: "True".into(),
        message: "Kubernetes default Service CIDR is ready".into(),
        reason: String::new(),
        last_transition_time: now.time(),
        observed_generation: None,
    };
    let own = range.metadata.name.as_deref() == Some(KUBERNETES);
    own.then(|| ServiceCIDRStatus { conditions: Some(vec![ready()]) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::prepare_for_create;
    use super::*;
    use crate::object::Kind;

    #[test]
    fn the_servers_own_range_is_ready_whatever_comes_with_it() {
        for (name, want) in [("kubernetes", Some("Kubernetes default Service CIDR is ready")), ("another", None)] {
            let status = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "no", "message": "mine",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
            let range = json!({"metadata": {"name": name}, "spec": {"cidrs": ["10.96.0.0/16"]}, "status": status});
            let mut range = Kind::ServiceCIDR.decode(range).unwrap();
            prepare_for_create(&mut range, None, Instant(0));
            assert_eq!(range.to_json()["status"]["conditions"][0]["message"].as_str(), want, "{name}");
        }
    }
}
