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
    const NO_REQUEST: &str = "must be the name of a request in the claim or the name of a request and a subrequest separated by \
        '/'";
    let told =
        |parameters: serde_json::Value| json!({"config": [{"opaque": {"driver": "d", "parameters": parameters}}]});
    for (put, want) in [
        (json!({"constraints": [{"requests": ["gpu"], "matchAttribute": "example.com/model"}]}), String::new()),
        (
            json!({"constraints": [{"requests": ["other"], "matchAttribute": "example.com/model"}]}),
            format!("spec.devices.constraints[0].requests[0]: Invalid value: \"other\": {NO_REQUEST}"),
        ),
        (
            json!({"constraints": [{"matchAttribute": "model"}]}),
            "spec.devices.constraints[0].matchAttribute: Invalid value: \"model\": a fully qualified name must be a domain \
             and a name separated by a slash"
                .to_owned(),
        ),
        (json!({"config": [{}]}), "spec.devices.config[0].opaque: Required value".to_owned()),
        (told(json!({"a": 1})), String::new()),
        (
            told(json!([1])),
            "spec.devices.config[0].opaque.parameters: Invalid value: \"<value omitted>\": must be a valid JSON object"
                .to_owned(),
        ),
    ] {
        let mut claim = claim(json!([{"name": "gpu", "exactly": class()}]));
        claim["spec"]["devices"].as_object_mut().unwrap().extend(put.as_object().unwrap().clone());
        assert_eq!(wrong(Kind::ResourceClaim, claim), want, "{put}");
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
        (json!({"allNodes": false}), "spec.allNodes: Invalid value: false: must be either unset or set to true"),
        (json!({"devices": [{"name": "a", "attributes": {"example.com/v": {"version": "1.2.3-rc.1+b"}}}]}), ""),
        (
            json!({"devices": [{"name": "a", "attributes": {"v": {"version": "1.2"}}}]}),
            "spec.devices[0].attributes[v].version: Invalid value: \"1.2\": must be a string compatible with semver.org spec 2.0.0",
        ),
        (
            json!({"devices": [{"name": "a", "capacity": {"/c": {"value": "1"}}}]}),
            "spec.devices[0].capacity: Invalid value: \"\": the domain must not be empty",
        ),
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
        (
            json!({"type": "Exempt"}),
            "spec.type: Invalid value: \"Exempt\": type must be 'Exempt' if and only if name is 'exempt'",
        ),
        (
            json!({"type": "Limited", "limited": {"lendablePercent": 101, "limitResponse": {"type": "Reject"}}}),
            "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
        ),
        (
            json!({"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 4}}}}),
            "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (4)",
        ),
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
fn rules_of_flows() {
    let user = || json!([{"kind": "User", "user": {"name": "a"}}]);
    let all = |put: serde_json::Value| {
        let mut rule = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]});
        rule.as_object_mut().unwrap().extend(put.as_object().unwrap().clone());
        json!({"subjects": user(), "resourceRules": [rule]})
    };
    let url =
        |url: &str| json!({"subjects": user(), "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": [url]}]});
    let of = |subject: serde_json::Value| {
        let mut rule = all(json!({}));
        rule["subjects"] = json!([subject]);
        rule
    };
    #[rustfmt::skip]
    let cases = [
        (all(json!({})), ""),
        (json!({"resourceRules": all(json!({}))["resourceRules"]}), "subjects: Required value: subjects must contain at least one value"),
        (json!({"subjects": user()}), ": Required value: at least one of resourceRules and nonResourceRules has to be non-empty"),
        (of(json!({"kind": "Robot"})), "subjects[0].kind: Unsupported value: \"Robot\": supported values: \"Group\", \"ServiceAccount\", \"User\""),
        (of(json!({"kind": "User"})), "subjects[0].user: Required value: user is required when subject kind is 'User'"),
        (of(json!({"kind": "User", "user": {"name": "a"}, "group": {"name": "b"}})),
            "subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'"),
        (of(json!({"kind": "ServiceAccount", "serviceAccount": {"name": "*"}})),
            "subjects[0].serviceAccount.namespace: Required value: must specify namespace for service account"),
        (all(json!({"verbs": ["fly"]})), "resourceRules[0].verbs: Unsupported value: [\"fly\"]: supported values: \"create\", \"delete\", \
            \"deletecollection\", \"get\", \"list\", \"patch\", \"proxy\", \"update\", \"watch\""),
        (all(json!({"apiGroups": ["*", "apps"]})),
            "resourceRules[0].apiGroups: Invalid value: [\"*\",\"apps\"]: if '*' is present, must not specify other api groups"),
        (all(json!({"namespaces": null})),
            "resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace"),
        (url("/healthz/*"), ""),
        (url("healthz"), "nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"healthz\": must start with slash"),
        (url("/a*b"), "nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"/a*b\": wildcard can only do suffix matching"),
    ];
    for (rule, want) in cases {
        let spec = json!({"priorityLevelConfiguration": {"name": "global-default"}, "rules": [rule]});
        let want = match want.strip_prefix(':') {
            _ if want.is_empty() => String::new(),
            Some(rest) => format!("spec.rules[0]:{rest}"),
            None => format!("spec.rules[0].{want}"),
        };
        assert_eq!(wrong(Kind::FlowSchema, json!({"metadata": {"name": "x"}, "spec": spec})), want, "{rule}");
    }
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
        (
            "v1.agg.example.com",
            json!({"service": {"namespace": "w", "name": "agg", "port": 70000}}),
            "spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
        ),
        (
            "v1.agg.example.com",
            json!({"service": null, "insecureSkipTLSVerify": false, "caBundle": "AAAA"}),
            "spec.caBundle: Invalid value: \"3 bytes\": local APIServices may not have a caBundle",
        ),
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
        (
            json!({"signerName": "mine"}),
            "spec.signerName: Invalid value: \"mine\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
        ),
        (
            json!({"signerName": "mine/x"}),
            "spec.signerName: Invalid value: \"mine\": should be a domain with at least two segments separated by dots",
        ),
        (json!({"request": "aGVsbG8="}), BLOCK),
        (json!({"signerName": "kubernetes.io/legacy-unknown"}), LEGACY),
    ] {
        assert_eq!(wrong(Kind::CertificateSigningRequest, request(put.clone())), want, "{put}");
    }
    let usage = wrong(Kind::CertificateSigningRequest, request(json!({"usages": ["fly"]})));
    assert!(usage.starts_with("spec.usages[0]: Unsupported value: \"fly\": supported values: \"any\", \"cert sign\""));
}
