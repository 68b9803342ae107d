//! What a Service says in vain. Mirrors `pkg/api/service/warnings.go`.

use k8s_openapi::api::core::v1::Service;

use crate::kinds::warnings::addresses;

/// How a Service was told to lead to Pods nearby, before it was told by the other.
pub(super) const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";

pub fn of_service(told: &mut Vec<String>, service: &Service) {
    let Some(spec) = &service.spec else { return };
    let external = spec.type_.as_deref() == Some("ExternalName");
    let headless = spec.type_.as_deref() == Some("ClusterIP") && spec.cluster_ip.as_deref() == Some("None");
    let some = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let addresses = spec.external_ips.as_ref().is_some_and(|ips| !ips.is_empty());
    if service.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(TOPOLOGY_HINTS)) {
        told.push(format!("annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"));
    }
    addresses::inside(told, spec);
    let cases = [
        (headless && some(&spec.load_balancer_ip), "spec.loadBalancerIP is ignored for headless services"),
        (headless && addresses, "spec.externalIPs is ignored for headless services"),
        (
            headless && spec.session_affinity.as_deref() != Some("None"),
            "spec.SessionAffinity is ignored for headless services",
        ),
    ];
    say(told, &cases);
    addresses::outside(told, spec);
    if addresses && !headless && !external {
        told.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned());
    }
    addresses::balanced(told, spec);
    let cases = [
        (external && addresses, "spec.externalIPs is ignored when spec.type is \"ExternalName\""),
        (!external && some(&spec.external_name), "spec.externalName is ignored when spec.type is not \"ExternalName\""),
        (
            spec.traffic_distribution.as_deref() == Some("PreferClose"),
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
        ),
    ];
    say(told, &cases);
}

/// Says what is so.
fn say(told: &mut Vec<String>, cases: &[(bool, &str)]) {
    told.extend(cases.iter().filter(|(so, _)| *so).map(|(_, why)| (*why).to_owned()));
}
