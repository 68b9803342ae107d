//! Which zero values Go leaves out when it prints an object.
//!
//! A Go field that is no pointer and says `omitempty` cannot tell `""` or `0` from nothing, so the real API server
//! forgets that they were written: `labels: {}` and `hostNetwork: false` are gone from its answer, while
//! `replicas: 0` and `emptyDir: {}`, behind pointers, stay. The typed objects here are all `Option`s.

use crate::go_types::{Field, GoType, resolve};
use crate::json::Json;

/// Whether `value`, written into the optional `field`, is the same as nothing.
pub fn is_omitted(field: &Field, value: &Json) -> bool {
    match (resolve(field.go_type), value) {
        (_, Json::Null) => true,
        // Who sends no managers wants them forgotten, which is not the same as saying nothing of them.
        (GoType::List(of), Json::Array(_)) if of.ends_with("ManagedFieldsEntry") => false,
        // A list is stored as its items, so one without any is none at all, with `omitempty` or without.
        (GoType::List(_), Json::Array(items)) => items.is_empty(),
        _ if field.always => false,
        (GoType::Map(_), Json::Object(entries)) => entries.is_empty(),
        (GoType::Text, Json::String(text)) => text.is_empty(),
        // Bytes are a string in JSON.
        (GoType::List("uint8"), Json::String(text)) => text.is_empty(),
        (GoType::Bool, Json::Bool(value)) => !value,
        (GoType::Number, Json::Number(number)) => number == "0",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::Kind;

    fn read(kind: Kind, object: Value) -> Value {
        kind.decode(object).expect("it is well formed").to_json()
    }

    #[test]
    fn the_port_of_a_slice_may_be_said_to_have_no_name() {
        let ports = json!([{"name": "", "port": 80, "protocol": "TCP"}]);
        let slice = read(Kind::EndpointSlice, json!({"addressType": "IPv4", "endpoints": [], "ports": ports}));
        assert_eq!(slice["ports"], ports);
        let endpoints = read(Kind::Endpoints, json!({"subsets": [{"ports": ports}]}));
        assert_eq!(endpoints["subsets"][0]["ports"], json!([{"port": 80, "protocol": "TCP"}]));
    }

    #[test]
    fn what_is_behind_a_pointer_stays_and_the_rest_goes() {
        let spec = json!({"hostNetwork": false, "nodeSelector": {}, "nodeName": "", "priority": 0, "enableServiceLinks": false,
            "volumes": [{"name": "a", "hostPath": {"path": "/", "type": ""}}, {"name": "b", "emptyDir": {}},
                {"name": "c", "csi": {"driver": "d", "readOnly": false, "volumeAttributes": {}}}],
            "containers": [{"name": "c", "image": "", "tty": false, "args": [],
                "livenessProbe": {"grpc": {"port": 1, "service": ""}, "periodSeconds": 0, "terminationGracePeriodSeconds": 0}}]});
        let want = json!({"priority": 0, "enableServiceLinks": false,
            "volumes": [{"name": "a", "hostPath": {"path": "/", "type": ""}}, {"name": "b", "emptyDir": {}},
                {"name": "c", "csi": {"driver": "d", "readOnly": false}}],
            "containers": [{"name": "c", "livenessProbe": {"grpc": {"port": 1, "service": ""}, "terminationGracePeriodSeconds": 0}}]});
        assert_eq!(read(Kind::Pod, json!({"spec": spec}))["spec"], want);
    }
}
