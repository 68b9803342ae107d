//! What a real API server said of devices, flows, and other kinds that nothing here acts on.

use k8s_openapi::ByteString;
use serde_json::json;

use super::{changed, wrong};
use object::Kind;

#[test]
fn claims_of_devices() {
    let claim = |request: serde_json::Value| {
        json!({"metadata": {"name": "x", "namespace": "n"},
        "spec": {"devices": {"requests": request}}})
    };
    let class = || json!({"deviceClassName": "gpu.example.com"});
    for (requests, want) in [
        (json!([{"name": "gpu", "exactly": class()}]), ""),
        (json!([{"name": "gpu", "exactly": {}}]), "spec.devices.requests[0].exactly.deviceClassName: Required value"),
        (
            json!([{"name": "a", "exactly": class()}, {"name": "a", "exactly": class()}]),
            "spec.devices.requests[1]: Duplicate value: \"a\"",
        ),
        (
            json!([{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "allocationMode": "Some"}}]),
            "spec.devices.requests[0].exactly.allocationMode: Unsupported value: \"Some\": supported values: \"All\", \
             \"ExactCount\"",
        ),
        (
            json!([{"name": "a"}]),
            "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
        ),
    ] {
        assert_eq!(wrong(Kind::ResourceClaim, claim(requests.clone())), want, "{requests}");
    }
    let template = |name: &str| {
        json!({"metadata": {"name": "rct", "namespace": "w"},
        "spec": {"spec": {"devices": {"requests": [{"name": name, "exactly": class()}]}}}})
    };
    let shown = "{\"Spec\":{\"Devices\":{\"Requests\":[{\"Name\":\"other\",\"Exactly\":{\"DeviceClassName\":\
        \"gpu.example.com\",\"Selectors\":null,\"AllocationMode\":\"ExactCount\",\"Count\":1,\"AdminAccess\":null,\
        \"Tolerations\":null,\"Capacity\":null},\"FirstAvailable\":null}],\"Constraints\":null,\"Config\":null}}}";
    let want = format!("spec: Invalid value: {shown}: field is immutable");
    assert_eq!(changed(Kind::ResourceClaimTemplate, template("gpu"), template("other")), want);
}

#[test]
fn classes_of_devices() {
    let class = |expression: &str| json!({"metadata": {"name": "gpu.example.com"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}});
    const AT: &str = "spec.selectors[0].cel.expression: Invalid value";
    for (expression, want) in [
        ("device.driver == \"gpu.example.com\"", String::new()),
        (
            "device.attributes[\"gpu.example.com\"].model == \"A\" && device.capacity[\"gpu.example.com\"].memory.isGreaterThan(quantity(\"1Gi\"))",
            String::new(),
        ),
        (
            "device.",
            format!(
                "{AT}: \"device.\": compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | device.\n | .......^"
            ),
        ),
        ("device.driver", format!("{AT}: \"device.driver\": must evaluate to bool or the unknown type, not string")),
    ] {
        assert_eq!(wrong(Kind::DeviceClass, class(expression)), want, "{expression}");
    }
}

#[test]
fn slices_of_devices() {
    let slice = |put: serde_json::Value| {
        let pool = json!({"name": "pool", "generation": 1, "resourceSliceCount": 1});
        let mut spec =
            json!({"driver": "gpu.example.com", "nodeName": "n9", "pool": pool, "devices": [{"name": "gpu-0"}]});
        spec.as_object_mut().unwrap().extend(put.as_object().unwrap().clone());
        json!({"metadata": {"name": "x"}, "spec": spec})
    };
    const PLACE: &str = "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, \
        `perDeviceNodeSelection` is required";
    let none = json!({"name": "pool", "generation": 1, "resourceSliceCount": 0});
    for (put, want) in [
        (json!({}), ""),
        (json!({"nodeName": null}), PLACE),
        (json!({"pool": none}), "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"),
    ] {
        assert_eq!(wrong(Kind::ResourceSlice, slice(put.clone())), want, "{put}");
    }
}

#[test]
fn classes_of_attributes() {
    let class = |put: serde_json::Value| {
        let mut class =
            json!({"metadata": {"name": "x"}, "driverName": "csi.example.com", "parameters": {"iops": "100"}});
        class.as_object_mut().unwrap().extend(put.as_object().unwrap().clone());
        class
    };
    const NONE: &str = "parameters: Required value: must contain at least one key/value pair";
    for (put, want) in
        [(json!({}), ""), (json!({"driverName": ""}), "driverName: Required value"), (json!({"parameters": {}}), NONE)]
    {
        assert_eq!(wrong(Kind::VolumeAttributesClass, class(put.clone())), want, "{put}");
    }
    let other = class(json!({"parameters": {"iops": "5"}}));
    let found = changed(Kind::VolumeAttributesClass, class(json!({})), other);
    assert_eq!(found, "parameters: Forbidden: updates to parameters are forbidden.");
}

#[test]
fn levels_and_flows() {
    let level = |spec: serde_json::Value| json!({"metadata": {"name": "x"}, "spec": spec});
    for (spec, want) in [
        (json!({"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}), ""),
        (json!({"type": "Exempt"}), ""),
        (
            json!({"type": "Odd", "limited": {"limitResponse": {"type": "Reject"}}}),
            "spec.type: Unsupported value: \"Odd\": supported values: \"Exempt\", \"Limited\"",
        ),
        (json!({"type": "Limited"}), "spec.limited: Required value: must not be empty when type is Limited"),
        (
            json!({"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}}}),
            "spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is Limited",
        ),
        (
            json!({"type": "Limited", "limited": {"nominalConcurrencyShares": -1, "limitResponse": {"type": "Reject"}}}),
            "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
        ),
    ] {
        assert_eq!(wrong(Kind::PriorityLevelConfiguration, level(spec.clone())), want, "{spec}");
    }
    let schema = level(json!({"priorityLevelConfiguration": {"name": "global-default"},
        "distinguisherMethod": {"type": "ByHair"}}));
    let want = "spec.distinguisherMethod.type: Unsupported value: {\"Type\":\"ByHair\"}: supported values: \"ByNamespace\", \
        \"ByUser\"";
    assert_eq!(wrong(Kind::FlowSchema, schema), want);
}

#[test]
fn servers_of_groups() {
    let service = |name: &str, put: serde_json::Value| {
        let mut spec = json!({"group": "agg.example.com", "version": "v1", "groupPriorityMinimum": 100,
            "versionPriority": 10, "insecureSkipTLSVerify": true, "service": {"namespace": "w", "name": "agg"}});
        spec.as_object_mut().unwrap().extend(put.as_object().unwrap().clone());
        json!({"metadata": {"name": name}, "spec": spec})
    };
    const NAME: &str = "metadata.name: Invalid value: \"v2.agg.example.com\": must be `spec.version+\".\"+spec.group`: \
        \"v1.agg.example.com\"";
    const BUNDLE: &str = "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present";
    for (name, put, want) in [
        ("v1.agg.example.com", json!({}), ""),
        ("v2.agg.example.com", json!({}), NAME),
        ("v1.agg.example.com", json!({"caBundle": "AAAA"}), BUNDLE),
    ] {
        assert_eq!(wrong(Kind::APIService, service(name, put)), want);
    }
}

#[test]
fn requests_for_certificates() {
    let request = |put: serde_json::Value| {
        let pem = ByteString(include_bytes!("../../../object/x509/recorded-request.pem").to_vec());
        let mut spec =
            json!({"request": pem, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]});
        spec.as_object_mut().unwrap().extend(put.as_object().unwrap().clone());
        json!({"metadata": {"name": "x"}, "spec": spec})
    };
    const LEGACY: &str = "spec.signerName: Invalid value: \"kubernetes.io/legacy-unknown\": the legacy signerName is not \
                          allowed via this API version";
    const BLOCK: &str = "spec.request: Invalid value: \"aGVsbG8=\": PEM block type must be CERTIFICATE REQUEST";
    for (put, want) in [
        (json!({}), ""),
        (json!({"signerName": ""}), "spec.signerName: Required value"),
        (json!({"request": "aGVsbG8="}), BLOCK),
        (json!({"signerName": "kubernetes.io/legacy-unknown"}), LEGACY),
    ] {
        assert_eq!(wrong(Kind::CertificateSigningRequest, request(put.clone())), want, "{put}");
    }
    let usage = wrong(Kind::CertificateSigningRequest, request(json!({"usages": ["fly"]})));
    assert!(usage.starts_with("spec.usages[0]: Unsupported value: \"fly\": supported values: \"any\", \"cert sign\""));
}
