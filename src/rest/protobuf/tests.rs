//! Bodies that a real kubectl and a real Helm have sent, and bytes that no client should send.

use std::rc::Rc;

use super::*;
use crate::{HttpRequest, call};
use object::random::Random;
use wire::{Body, User};

fn bytes(text: &str) -> Vec<u8> {
    let text = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
    base64::decode(&text).expect("it is base64")
}

fn read(text: &str) -> Value {
    to_json(&bytes(text), Kind::Pod).expect("it is a message")
}

/// What kubectl 1.36 and Helm 4 sent to a real API server, and what it is in JSON.
fn sent() -> Vec<(&'static str, Value)> {
    let labels = json!({"app": "d2"});
    let template = json!({"metadata": {"labels": labels},
        "spec": {"containers": [{"name": "x", "image": "x:1"}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d2", "labels": labels},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}});
    let port = json!({"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "sv1", "labels": {"app": "sv1"}},
        "spec": {"ports": [port], "selector": {"app": "sv1"}, "type": "ClusterIP"}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "pdb1"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}});
    let path = json!({"path": "/", "pathType": "Exact",
        "backend": {"service": {"name": "web", "port": {"number": 80}}}});
    let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i1"},
        "spec": {"rules": [{"host": "a.b", "http": {"paths": [path]}}]}});
    let metric = json!({"type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}, "minReplicas": 1,
            "maxReplicas": 3, "metrics": [metric]},
        "status": {"desiredReplicas": 0}});
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"namespace": "default", "verb": "create", "resource": "pods"}},
        "status": {"allowed": false}});
    #[rustfmt::skip]
    let sent = vec![
        ("azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EqEBCh0KAmQyEgAaACIAKgAyADgAQgBaCQoDYXBwEgJkMhJyCAESCwoJCgNhcHASAmQyGlkKGwoAEgAaACIA\
          KgAyADgAQgBaCQoDYXBwEgJkMhI6EhwKAXgSA3g6MSoAQgBqAHIAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgAGgwI\
          ABAAGAAgACgAOAAaACIA", deployment),
        ("azhzAAoNCgJ2MRIHU2VydmljZRJpCh8KA3N2MRIAGgAiACoAMgA4AEIAWgoKA2FwcBIDc3YxEkIKGwoHODAtODA4MBIDVENQGFAiBwgAEJA/GgAoABIKCgNh\
          cHASA3N2MRoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoAGgAiAA==", service),
        ("azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSOgoUCgRwZGIxEgAaACIAKgAyADgAQgASFgoGCAAQARoAEgwKCgoDYXBwEgN3ZWIaCggA\
          GAAgACgAMAAaACIA", budget),
        ("azhzAAofChRuZXR3b3JraW5nLms4cy5pby92MRIHSW5ncmVzcxJAChIKAmkxEgAaACIAKgAyADgAQgASJhokCgNhLmISHQobChkKAS8SDSILCgN3ZWISBAoA\
          EFAaBUV4YWN0GgIKABoAIgA=", ingress),
        ("azhzAAopCg5hdXRvc2NhbGluZy92MhIXSG9yaXpvbnRhbFBvZEF1dG9zY2FsZXISYQoTCgN3ZWISABoAIgAqADIAOABCABJEChoKCkRlcGxveW1lbnQSA3dl\
          YhoHYXBwcy92MRABGAMiIgoIUmVzb3VyY2UiFgoDY3B1Eg8KC1V0aWxpemF0aW9uIFAaBBgAIAAaACIA", scaler),
        ("azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSPwoQCgASABoAIgAqADIAOABCABIhCh8KB2RlZmF1bHQS\
          BmNyZWF0ZRoAIgAqBHBvZHMyADoAGggIABIAGgAgABoAIgA=", review),
        ("azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRImChIKAnExEgAaACIAKgAyADgAQgASDgoMCgRwb2RzEgQKAjUwGgAaACIA",
            json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q1"}, "spec": {"hard": {"pods": "50"}}})),
        ("azhzAAoMCgJ2MRIGU2VjcmV0Eh4KEgoCczESABoAIgAqADIAOABCABIGCgFwEgFxGgAaACIA",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s1"}, "data": {"p": "cQ=="}})),
        ("azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxIAGgAiAA==", json!({"apiVersion": "v1", "kind": "DeleteOptions"})),
        ("azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIaChAKABIAGgAiACoAMgA4AEIAEgAaBAoAEgAaACIA",
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "status": {"token": ""}})),
    ];
    sent
}

#[test]
fn what_clients_send_is_what_it_would_be_in_json() {
    for (body, want) in sent() {
        assert_eq!(read(body), want, "{body}");
    }
}

/// A real API server has answered this with a ConfigMap that has managed fields and a time.
#[test]
fn times_and_what_was_json_come_back() {
    let map = read(
        "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEq4BCqEBCgJjbRIAGgF3IgAqJGFjMGJjMGRkLWM0NTMtNDNlYi1iMmYxLTRiZDBkMjM0NjJjODIDMjMxOABC\
         CAj/47HYBhAAigFcCgd1bmtub3duEgZVcGRhdGUaAnYxIggI/+Ox2AYQADIIRmllbGRzVjE6LwoteyJmOmRhdGEiOnsiLiI6e30sImY6ayI6e319LCJm\
         OmltbXV0YWJsZSI6e319QgASBgoBaxIBdiABGgAiAA==",
    );
    let managed = json!({"manager": "unknown", "operation": "Update", "apiVersion": "v1", "time": map["metadata"]["creationTimestamp"],
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {".": {}, "f:k": {}}, "f:immutable": {}}});
    let metadata = json!({"name": "cm", "namespace": "w", "uid": "ac0bc0dd-c453-43eb-b2f1-4bd0d23462c8", "resourceVersion": "231",
        "creationTimestamp": map["metadata"]["creationTimestamp"], "managedFields": [managed]});
    assert_eq!(
        map,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v"}, "immutable": true})
    );
    let at = map["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
    assert!(at.starts_with("202") && at.ends_with('Z') && at.len() == "2026-01-01T00:00:00Z".len(), "{at}");
}

/// A field of a message: its number, and bytes.
fn field(number: usize, bytes: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    for mut varint in [number << 3 | 2, bytes.len()] {
        while varint >= 0x80 {
            field.push(varint as u8 | 0x80);
            varint >>= 7;
        }
        field.push(varint as u8);
    }
    [&field, bytes].concat()
}

fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [PREFIX, &field(1, &type_meta), &field(2, raw)].concat()
}

#[test]
fn what_is_told_apart_by_version_is_read_in_its_own() {
    let reference = [field(1, b"Deployment"), field(2, b"web"), field(3, b"apps/v1")].concat();
    let spec = [&field(1, &reference), &[2 << 3, 1, 3 << 3, 4, 4 << 3, 80][..]].concat();
    let scaler = envelope("autoscaling/v1", "HorizontalPodAutoscaler", &field(2, &spec));
    let read = to_json(&scaler, Kind::HorizontalPodAutoscaler).expect("it is a message");
    assert_eq!(read["spec"]["targetCPUUtilizationPercentage"], 80);
    let token = field(6, &[&field(1, b"vault")[..], &[2 << 3, 0x90, 0x1c]].concat());
    let driver = envelope("storage.k8s.io/v1", "CSIDriver", &field(2, &token));
    let read = to_json(&driver, Kind::CSIDriver).expect("it is a message");
    assert_eq!(read["spec"]["tokenRequests"], json!([{"audience": "vault", "expirationSeconds": 3600}]));
    // What stands among a field's others in JSON is a message here.
    let get = field(2, &[field(1, b"/healthz"), field(2, &[8, 1, 16, 0, 26, 1, b'x'])].concat());
    let probe = [&field(1, &get)[..], &[2 << 3, 5]].concat();
    let container = [field(1, b"a"), field(10, &probe)].concat();
    let pod = envelope("v1", "Pod", &field(2, &field(2, &container)));
    let read = to_json(&pod, Kind::Pod).expect("it is a message");
    let probe = json!({"httpGet": {"path": "/healthz", "port": "x"}, "initialDelaySeconds": 5});
    assert_eq!(read["spec"]["containers"], json!([{"name": "a", "livenessProbe": probe}]));
}

#[test]
fn what_is_no_message_is_told_as_the_real_decoder_tells_it() {
    let object = |raw: &[u8]| envelope("v1", "ConfigMap", raw);
    // `not: {not: {not: …`
    let deep = (0..2000).fold(Vec::new(), |inner, _| field(28, &inner));
    let schema = field(2, &field(7, &field(4, &field(1, &deep))));
    #[rustfmt::skip]
    let cases = [
        (b"".to_vec(), "empty data"),
        (b"{}".to_vec(), "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0\xff\xff".to_vec(), "unexpected EOF"),
        (object(&[2 << 3 | 2, 5, 1]), "unexpected EOF"),
        (object(&[2 << 3, 1]), "proto: wrong wireType = 0 for field Data"),
        (object(&[2 << 3 | 3]), "proto: illegal wireType 3"),
        (object(&[0, 1]), "proto: ConfigMap: illegal tag 0 (wire type 0)"),
        (object(&[0xff; 12]), "proto: integer overflow"),
        (object(&[[2 << 3 | 2].as_slice(), &[0xff; 9], &[1]].concat()), "proto: negative length found during unmarshaling"),
        (envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", &schema), "deep in one another"),
    ];
    for (bytes, want) in cases {
        let told = to_json(&bytes, Kind::ConfigMap).expect_err(want);
        assert!(told.ends_with(want), "{told}");
    }
    // Of what kind it is, it says itself; that this server has none of it is told by the next reader.
    let unknown = to_json(&envelope("v1", "Thing", b"\xff"), Kind::Pod);
    assert_eq!(unknown, Ok(json!({"apiVersion": "v1", "kind": "Thing"})));
}

/// So many of them, or as many as `KUBESTEP_FUZZ` says: a million in CI.
const INPUTS: usize = 20_000;

#[test]
fn no_bytes_break_it() {
    let inputs = std::env::var("KUBESTEP_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(INPUTS);
    let sent: Vec<Vec<u8>> = sent().iter().map(|(body, _)| bytes(body)).collect();
    let check = |body: &[u8]| {
        if let Ok(read) = to_json(body, Kind::Pod) {
            assert!(read.to_string().len() < 100 * body.len(), "{read}");
        }
    };
    let parts = sent.iter().flat_map(|whole| (0..whole.len()).map(|end| &whole[..end]));
    parts.for_each(check);
    let mut random = Random::new(1);
    for input in 0..inputs {
        let mut body = sent[input % sent.len()].clone();
        for _ in 0..=random.below(3) {
            spoil(&mut body, &mut random);
        }
        check(&body);
    }
}

/// Changes a byte, cuts bytes out, brings random ones in, or repeats some.
fn spoil(body: &mut Vec<u8>, random: &mut Random) {
    let mut below = |end: usize| random.below(end as u64) as usize;
    let at = below(body.len());
    let end = at + below(body.len() - at).min(64);
    match below(8) {
        0 if body.len() > end + PREFIX.len() => drop(body.drain(at..end)),
        1 => drop(body.splice(at..at, (0..below(16)).map(|_| below(256) as u8).collect::<Vec<u8>>())),
        2 => drop(body.splice(at..at, body[at..end].to_vec())),
        _ => body[at] = below(256) as u8,
    }
}

#[test]
fn a_body_that_is_no_message_is_refused_in_the_real_words() {
    const WHY: &str = "the object provided is unrecognized (must be of type ConfigMap): ";
    for (body, want) in [
        (&b"k8s\0\xff\xff"[..], "unexpected EOF (6b387300ffff)"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})"),
    ] {
        let http = HttpRequest {
            method: "POST",
            target: "/api/v1/namespaces/w2/configmaps",
            content_type: "application/vnd.kubernetes.protobuf",
            body,
            user: Some(Rc::new(User::admin())),
            ..HttpRequest::default()
        };
        let Body::Refused(refused) = call(&http, &Discovery::default()).expect("the user is known").request.body else {
            panic!("{want}: it is taken");
        };
        assert_eq!(refused.why.map(|why| why.message), Some(format!("{WHY}{want}")));
    }
}
