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
