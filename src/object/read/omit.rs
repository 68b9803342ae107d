//! Which zero values Go leaves out when it prints an object.
//!
//! A Go field that is no pointer and says `omitempty` cannot tell `""` or `0` from nothing, so the real API server
//! forgets that they were written: `labels: {}` and `hostNetwork: false` are gone from its answer, while
//! `replicas: 0` and `emptyDir: {}`, behind pointers, stay. The typed objects here are all `Option`s; these tables say
//! which of them are pointers in `k8s.io/api`.

use crate::object::json::Json;

/// Whether `value`, written into the optional `field` of `struct_name` somewhere in an `outermost`, is the same as nothing.
pub fn is_omitted(outermost: &str, struct_name: &str, field: &str, value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty() && is_map(struct_name, field),
        // Two structs have this name: one in Endpoints, and one in slices, which is all pointers.
        Json::String(_) if (outermost, struct_name, field) == ("EndpointSlice", "EndpointPort", "name") => false,
        Json::String(text) => text.is_empty() && !KEPT_STRINGS.contains(&field),
        Json::Bool(false) => PLAIN_BOOLS.contains(&field),
        Json::Number(number) if number == "0" => match (struct_name, field) {
            // A Deployment's spec has a pointer there; Events have none in their `count`.
            ("DeploymentStatus", "replicas") => true,
            ("VolumeNodeResources", "count") => false,
            _ => PLAIN_INTEGERS.contains(&field),
        },
        _ => false,
    }
}

/// Whether the field is a map. An empty struct behind a pointer, such as `emptyDir: {}`, means something.
fn is_map(struct_name: &str, field: &str) -> bool {
    match field {
        // A Service selects by labels, a Deployment by a struct.
        "selector" => struct_name == "ServiceSpec",
        _ => MAPS.contains(&field),
    }
}

#[rustfmt::skip]
const MAPS: [&str; 23] = [
    "allocatable", "annotations", "binaryData", "capacity", "data", "hard", "labels", "limits", "matchLabels",
    "nodeSelector", "overhead", "parameters", "requests", "stringData", "used", "allocatedResources", "volumeAttributes",
    "default", "defaultRequest", "disruptedPods", "max", "maxLimitRequestRatio", "min",
];

/// Strings behind pointers, for which empty means something, and two of Events that are printed even if empty.
#[rustfmt::skip]
const KEPT_STRINGS: [&str; 24] = [
    "apiGroup", "appProtocol", "completionMode", "deviceRequest", "externalTrafficPolicy", "fsGroupChangePolicy",
    "holderIdentity", "hostnameOverride", "ingressClassName", "internalTrafficPolicy", "ipFamilyPolicy",
    "loadBalancerClass", "managedBy", "podReplacementPolicy", "preemptionPolicy", "reportingComponent", "reportingInstance", "restartPolicyRule",
    "runtimeClassName", "storageClassName", "strategy", "timeZone", "volumeAttributesClassName", "volumeMode",
];

/// Booleans that are no pointers: false means nothing.
#[rustfmt::skip]
const PLAIN_BOOLS: [&str; 12] = [
    "globalDefault", "hostIPC", "hostNetwork", "hostPID", "orphanDependents", "paused", "publishNotReadyAddresses",
    "readOnly", "stdin", "stdinOnce", "tty", "unschedulable",
];

/// Integers that are no pointers: zero means nothing.
#[rustfmt::skip]
const PLAIN_INTEGERS: [&str; 22] = [
    "active", "availableReplicas", "count", "currentReplicas", "failed", "failureThreshold", "fullyLabeledReplicas",
    "generation", "hostPort", "initialDelaySeconds", "minReadySeconds", "nodePort", "numberAvailable",
    "numberUnavailable", "observedGeneration", "periodSeconds", "readyReplicas", "succeeded", "successThreshold",
    "timeoutSeconds", "unavailableReplicas", "updatedReplicas",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::object::Kind;

    #[test]
    fn the_port_of_a_slice_may_be_said_to_have_no_name() {
        let ports = json!([{"name": "", "port": 80, "protocol": "TCP"}]);
        let slice = Kind::EndpointSlice.decode(json!({"addressType": "IPv4", "endpoints": [], "ports": ports}));
        assert_eq!(slice.unwrap().to_json()["ports"], ports);
        let endpoints = Kind::Endpoints.decode(json!({"subsets": [{"ports": ports}]})).unwrap().to_json();
        assert_eq!(endpoints["subsets"][0]["ports"], json!([{"port": 80, "protocol": "TCP"}]));
    }
}
