//! Defaults: what the API server fills in when a manifest leaves it out.
//!
//! Mirrors `pkg/apis/*/v1/defaults.go`. An object is copied only when a default is really missing.

use crate::table::row;
use object::Object;

pub mod fields;

/// Fills in what the sender left out. A spec that is left out counts as an empty one: in Go it is a struct, and always
/// there.
pub fn set_defaults(object: &mut Object) {
    if let Some(row) = row(object.kind()) {
        row.set_defaults(object);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use object::Kind;

    #[test]
    fn a_port_of_a_slice_has_a_name_though_it_is_empty() {
        let sent =
            json!({"addressType": "IPv4", "endpoints": [], "ports": [{"port": 80}, {"name": "", "protocol": "UDP"}]});
        let mut slice = Kind::EndpointSlice.decode(sent).unwrap();
        set_defaults(&mut slice);
        let ports = json!([{"name": "", "port": 80, "protocol": "TCP"}, {"name": "", "protocol": "UDP"}]);
        assert_eq!(slice.to_json()["ports"], ports);
        // What is told of it, and read there, is the same.
        assert_eq!(Kind::EndpointSlice.decode(slice.to_json()), Ok(slice));
    }

    #[test]
    fn a_pod_that_is_limited_as_a_whole_requests_something_as_a_whole() {
        let limits = || json!({"limits": {"cpu": "2", "memory": "1Gi"}});
        for (whole, of_container, requests) in [
            (limits(), json!({}), json!({"cpu": "2", "memory": "1Gi"})),
            (limits(), json!({"requests": {"cpu": "500m"}}), json!({"cpu": "500m", "memory": "1Gi"})),
            (json!({"requests": {"cpu": "1"}}), json!({"requests": {"memory": "1Gi"}}), json!({"cpu": "1"})),
        ] {
            let spec = json!({"resources": whole, "containers": [{"name": "a", "resources": of_container}]});
            let mut pod = Kind::Pod.decode(json!({"spec": spec})).unwrap();
            set_defaults(&mut pod);
            assert_eq!(pod.to_json()["spec"]["resources"]["requests"], requests, "{spec}");
        }
    }

    #[test]
    fn what_stands_twice_is_filled_in_from_the_other() {
        for (kind, sent, path, want) in [
            (Kind::Pod, json!({"status": {"podIP": "10.0.0.9"}}), "/status/podIPs", json!([{"ip": "10.0.0.9"}])),
            (Kind::Pod, json!({"status": {"podIPs": [{"ip": "10.0.0.9"}]}}), "/status/podIP", json!("10.0.0.9")),
            (Kind::Node, json!({"spec": {"podCIDR": "10.0.0.0/24"}}), "/spec/podCIDRs", json!(["10.0.0.0/24"])),
            (Kind::Node, json!({"spec": {"podCIDRs": ["10.0.0.0/24"]}}), "/spec/podCIDR", json!("10.0.0.0/24")),
        ] {
            let mut object = kind.decode(sent.clone()).unwrap();
            set_defaults(&mut object);
            assert_eq!(object.to_json().pointer(path), Some(&want), "{sent}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_set_right() {
        let service = json!({"spec": {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}},
            "ports": [{"port": 80, "targetPort": ""}]}});
        let mut service = Kind::Service.decode(service).unwrap();
        set_defaults(&mut service);
        let spec = service.to_json()["spec"].clone();
        assert_eq!((&spec["sessionAffinityConfig"], &spec["ports"][0]["targetPort"]), (&json!(null), &json!(80)));
        let spec = json!({"terminationGracePeriodSeconds": -1, "containers": [{"name": "a"}]});
        let init = json!({"name": "a", "ports": [{"containerPort": 80}]});
        let on_host = json!({"hostNetwork": true, "containers": [], "initContainers": [init]});
        for (kind, sent, path, want) in [
            (Kind::Pod, json!({"spec": spec}), "/spec/terminationGracePeriodSeconds", 1),
            (
                Kind::PodTemplate,
                json!({"template": {"spec": spec}}),
                "/template/spec/terminationGracePeriodSeconds",
                -1,
            ),
            (Kind::Pod, json!({"spec": on_host}), "/spec/initContainers/0/ports/0/hostPort", 80),
        ] {
            let mut object = kind.decode(sent).unwrap();
            set_defaults(&mut object);
            assert_eq!(object.to_json().pointer(path), Some(&json!(want)), "{kind}");
        }
    }

    #[test]
    fn a_driver_has_volumes_that_last_unless_it_says_otherwise() {
        for (spec, want) in [
            (json!({}), json!(["Persistent"])),
            (json!({"volumeLifecycleModes": []}), json!(["Persistent"])),
            (json!({"volumeLifecycleModes": ["Ephemeral"]}), json!(["Ephemeral"])),
        ] {
            let mut driver = Kind::CSIDriver.decode(json!({"metadata": {"name": "d"}, "spec": spec})).unwrap();
            set_defaults(&mut driver);
            assert_eq!(driver.to_json()["spec"]["volumeLifecycleModes"], want, "{spec}");
        }
    }
}
