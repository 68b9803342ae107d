use serde_json::{Value as Json, json};

use crate::ApiServer;
use crate::admission::testing::object;
use crate::waiting::Said;
use object::time::Instant;
use object::{Kind, Object, Status};
use rules::webhook::{AdmissionResponse, Call};
use wire::{Body, DeleteOptions, Error, Patch, Request, Response, Subresource, User, Verb};

/// A server with a Service that has an endpoint, and a stand-in that answers for webhooks.
struct Bench {
    server: ApiServer,
    /// Which webhook was asked what, in order.
    asked: Vec<(String, Json)>,
}

/// Answers a call.
type Script = fn(&Call) -> Said;

fn allowed() -> Said {
    Ok(AdmissionResponse { allowed: true, ..AdmissionResponse::default() })
}

fn denied(message: &str, reason: &str, code: u16) -> Said {
    Ok(AdmissionResponse { message: message.into(), reason: reason.into(), code, ..AdmissionResponse::default() })
}

fn patched(patch: Json) -> Said {
    Ok(AdmissionResponse {
        allowed: true,
        patch: patch.as_array().cloned().unwrap_or_default(),
        ..AdmissionResponse::default()
    })
}

fn data(call: &Call, key: &str) -> String {
    call.request["object"]["data"][key].as_str().unwrap_or_default().to_owned()
}

impl Bench {
    fn new() -> Bench {
        let mut bench = Bench { server: ApiServer::new(1), asked: Vec::new() };
        for (name, stage) in [("default", "prod"), ("play", "test")] {
            bench.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"stage": stage}}}), |_| allowed()).unwrap();
        }
        bench
            .create(
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "gate", "namespace": "default"},
            "spec": {"clusterIP": "10.96.7.7", "ports": [{"port": 443}]}}),
                |_| allowed(),
            )
            .unwrap();
        bench.endpoint(true);
        bench
    }

    fn endpoint(&mut self, ready: bool) {
        let name = if ready { "a" } else { "b" };
        self.create(
            json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": name, "namespace": "default", "labels": {"kubernetes.io/service-name": "gate"}},
            "endpoints": [{"addresses": ["10.244.0.5"], "conditions": {"ready": ready}}]}),
            |_| allowed(),
        )
        .unwrap();
    }

    /// Carries a request out, with answers for as long as it asks for any.
    fn ask(&mut self, request: &Request, script: Script) -> (Result<Response, Status>, Vec<String>) {
        let mut handled = self.server.handle(request, None, Instant::default());
        while let Some(waits) = handled.waits {
            assert!(waits.calls.is_empty() || handled.changes.is_empty() && handled.fanout.is_empty());
            let mut reviews = waits.reviews;
            for call in &waits.calls {
                self.asked.push((call.webhook.clone(), call.request.clone()));
                reviews.hear(call, script(call), Instant(5_000_000_000));
            }
            handled = self.server.resume(None, request, reviews);
        }
        (handled.answer.result.map_err(Error::into_status), handled.answer.warnings)
    }

    fn request(verb: Verb, kind: Kind, namespace: &str, name: &str, body: Body) -> Request {
        Request::new(User::admin().into(), verb, kind, namespace, name, body)
    }

    fn create(&mut self, manifest: Json, script: Script) -> Result<Object, Status> {
        let object = object(manifest);
        let namespace = object.namespace().to_owned();
        let request = Bench::request(Verb::Create, object.kind(), &namespace, "", Body::Object(object));
        self.ask(&request, script).0.map(|response| match response {
            Response::Object(object) => object,
            other => panic!("a create returns its object, not {other:?}"),
        })
    }

    /// Adds a configuration with one webhook about ConfigMaps.
    fn hook(&mut self, kind: &str, name: &str, with: Json) {
        self.create(configuration(kind, name, with), |_| allowed()).unwrap();
    }

    fn map(&mut self, namespace: &str, name: &str, script: Script) -> Result<Object, Status> {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": {"a": "1"}});
        self.create(map, script)
    }

    fn names(&mut self) -> Vec<String> {
        std::mem::take(&mut self.asked).into_iter().map(|(name, _)| name).collect()
    }
}

fn configuration(kind: &str, name: &str, with: Json) -> Json {
    let mut hook = json!({"name": format!("{name}.example.com"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "default", "name": "gate", "path": "/x"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]});
    hook.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "webhooks": [hook]})
}

const MUTATING: &str = "MutatingWebhookConfiguration";
const VALIDATING: &str = "ValidatingWebhookConfiguration";

#[test]
fn what_a_refusal_says() {
    let mut bench = Bench::new();
    bench.hook(VALIDATING, "check", json!({}));
    let cases: [(Script, u16, &str, &str); 5] = [
        (
            |_| denied("no", "Forbidden", 403),
            403,
            "Forbidden",
            "admission webhook \"check.example.com\" denied the request: no",
        ),
        (|_| denied("no", "", 200), 400, "Unknown", "admission webhook \"check.example.com\" denied the request: no"),
        (
            |_| denied("", "Invalid", 422),
            422,
            "Invalid",
            "admission webhook \"check.example.com\" denied the request: Invalid",
        ),
        (
            |_| denied("", "", 0),
            400,
            "Unknown",
            "admission webhook \"check.example.com\" denied the request without explanation",
        ),
        (
            |_| Err("context deadline exceeded".into()),
            500,
            "InternalError",
            "Internal error occurred: failed calling webhook \"check.example.com\": failed to call webhook: Post \
             \"https://gate.default.svc:443/x?timeout=10s\": context deadline exceeded",
        ),
    ];
    for (script, code, reason, message) in cases {
        let status = bench.map("default", "a", script).unwrap_err();
        let found = (status.code, format!("{:?}", status.reason), status.message);
        assert_eq!(found, (code, reason.to_owned(), message.to_owned()));
    }
}

#[test]
fn an_owner_that_a_webhook_adds_again_counts_once() {
    let mut bench = Bench::new();
    bench.hook(MUTATING, "own", json!({}));
    let map = bench.map("default", "a", |_| {
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"});
        patched(json!([{"op": "add", "path": "/metadata/ownerReferences", "value": [owner, owner]}]))
    });
    assert_eq!(map.unwrap().meta().owner_references.as_ref().map(Vec::len), Some(1));
}

#[test]
fn nobody_there_is_known_at_once() {
    for (service, text) in [
        (
            json!({"namespace": "default", "name": "gone"}),
            "\"https://gone.default.svc:443/?timeout=10s\": service \"gone\" not found",
        ),
        (
            json!({"namespace": "default", "name": "gate", "port": 80}),
            "\"https://gate.default.svc:80/?timeout=10s\": no service port 80 found for service \"gate\"",
        ),
        (
            json!({"namespace": "default", "name": "gate"}),
            "\"https://gate.default.svc:443/?timeout=10s\": dial tcp 10.96.7.7:443: connect: connection refused",
        ),
    ] {
        for policy in ["Fail", "Ignore"] {
            let mut bench = Bench::new();
            let delete = Body::Delete(DeleteOptions::default());
            bench
                .ask(&Bench::request(Verb::Delete, Kind::EndpointSlice, "default", "a", delete), |_| allowed())
                .0
                .unwrap();
            bench.endpoint(false);
            bench.hook(VALIDATING, "check", json!({"clientConfig": {"service": service}, "failurePolicy": policy}));
            let found = bench.map("default", "a", |_| panic!("nobody is asked"));
            match policy {
                "Fail" => assert!(found.as_ref().unwrap_err().message.ends_with(text), "{found:?}"),
                _ => assert!(found.is_ok(), "{found:?}"),
            }
        }
    }
}

#[test]
fn a_patch_changes_what_is_stored_and_what_the_next_one_sees() {
    let mut bench = Bench::new();
    bench.hook(MUTATING, "a-first", json!({}));
    bench.hook(MUTATING, "b-second", json!({}));
    bench.hook(VALIDATING, "check", json!({}));
    let stored = bench.map("default", "a", |call| match call.webhook.as_str() {
        "a-first.example.com" => patched(json!([{"op": "add", "path": "/data/b", "value": "2"}])),
        "b-second.example.com" => {
            assert_eq!(data(call, "b"), "2");
            patched(json!([{"op": "add", "path": "/data/c", "value": "3"}]))
        }
        _ => {
            assert_eq!(data(call, "c"), "3");
            let at = call.request["object"]["metadata"]["creationTimestamp"].as_str();
            assert!(at.is_some_and(|at| at.ends_with("00:00:05Z")), "it is made when the last has changed it: {at:?}");
            allowed()
        }
    });
    let stored = stored.unwrap().to_json();
    assert_eq!(stored["data"], json!({"a": "1", "b": "2", "c": "3"}));
    assert_eq!(bench.names(), ["a-first.example.com", "b-second.example.com", "check.example.com"]);
}

#[test]
fn what_is_asked_again_when_others_have_changed_something() {
    for (first, second, asked) in [
        ("IfNeeded", "Never", vec!["a-first", "b-second", "a-first"]),
        ("Never", "IfNeeded", vec!["a-first", "b-second"]),
        ("IfNeeded", "IfNeeded", vec!["a-first", "b-second", "a-first"]),
    ] {
        let mut bench = Bench::new();
        bench.hook(MUTATING, "a-first", json!({"reinvocationPolicy": first}));
        bench.hook(MUTATING, "b-second", json!({"reinvocationPolicy": second}));
        bench
            .map("default", "a", |call| match call.webhook.as_str() {
                "b-second.example.com" => patched(json!([{"op": "add", "path": "/data/b", "value": "2"}])),
                _ => allowed(),
            })
            .unwrap();
        let names: Vec<String> = asked.iter().map(|name| format!("{name}.example.com")).collect();
        assert_eq!(bench.names(), names, "{first} {second}");
    }
}

#[test]
fn policies_take_part_in_the_second_round() {
    for (policy_again, hook_again, seen, asked) in [
        ("IfNeeded", "Never", "2", 1),
        ("Never", "Never", "no", 1),
        ("IfNeeded", "IfNeeded", "2", 2),
        // Nothing has changed since the webhook was asked.
        ("Never", "IfNeeded", "no", 1),
    ] {
        let mut bench = Bench::new();
        let of = |kind: &str, spec: Json| json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "p"}, "spec": spec});
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]});
        let mutation = json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{data: {'seen': object.data.?b.orValue('no')}}"}});
        let spec = json!({"matchConstraints": {"resourceRules": [rule]}, "mutations": [mutation], "reinvocationPolicy": policy_again});
        bench.create(of("MutatingAdmissionPolicy", spec), |_| allowed()).unwrap();
        bench.create(of("MutatingAdmissionPolicyBinding", json!({"policyName": "p"})), |_| allowed()).unwrap();
        bench.hook(MUTATING, "a", json!({"reinvocationPolicy": hook_again}));
        let stored = bench.map("default", "a", |call| {
            assert_ne!(data(call, "seen"), "", "policies come first");
            patched(json!([{"op": "add", "path": "/data/b", "value": "2"}]))
        });
        let stored = stored.unwrap().to_json();
        assert_eq!(
            (stored["data"]["seen"].as_str(), bench.names().len()),
            (Some(seen), asked),
            "{policy_again} {hook_again}"
        );
    }
}

#[test]
fn a_patch_that_cannot_be_done_is_an_error() {
    let cases: [(Script, &str); 3] = [
        (
            |_| patched(json!([{"op": "replace", "path": "/x/y", "value": "2"}])),
            "Internal error occurred: replace operation does not apply: doc is missing path: \"/x/y\": missing value",
        ),
        (
            |_| patched(json!([{"op": "test", "path": "/kind", "value": "2"}])),
            "Internal error occurred: testing value /kind failed: test failed",
        ),
        (|_| patched(json!([{"op": "add", "path": "/data", "value": 7}])), "Internal error occurred: "),
    ];
    for (script, message) in cases {
        let mut bench = Bench::new();
        bench.hook(MUTATING, "label", json!({}));
        let status = bench.map("default", "a", script).unwrap_err();
        assert!(status.code == 500 && status.message.starts_with(message), "{status:?}");
    }
}

#[test]
fn which_requests_a_webhook_sees() {
    for (with, in_play, in_default) in [
        (json!({}), true, true),
        (json!({"rules": null}), false, false),
        (json!({"namespaceSelector": {"matchLabels": {"stage": "prod"}}}), false, true),
        (json!({"objectSelector": {"matchLabels": {"x": "y"}}}), false, false),
        (json!({"matchConditions": [{"name": "play", "expression": "request.namespace == 'play'"}]}), true, false),
    ] {
        let mut bench = Bench::new();
        bench.hook(VALIDATING, "check", with.clone());
        bench.map("play", "a", |_| allowed()).unwrap();
        let seen = !bench.names().is_empty();
        bench.map("default", "a", |_| allowed()).unwrap();
        assert_eq!((seen, !bench.names().is_empty()), (in_play, in_default), "{with}");
    }
}

#[test]
fn a_condition_that_cannot_be_worked_out_follows_the_failure_policy() {
    for (policy, passes) in [("Fail", false), ("Ignore", true)] {
        let mut bench = Bench::new();
        let conditions = json!([{"name": "x", "expression": "object.data.missing == 'a'"}]);
        bench.hook(VALIDATING, "check", json!({"matchConditions": conditions, "failurePolicy": policy}));
        let found = bench.map("default", "a", |_| panic!("nobody is asked"));
        assert_eq!(found.is_ok(), passes, "{found:?}");
    }
}

#[test]
fn whoever_has_locked_everybody_out_can_undo_it() {
    let mut bench = Bench::new();
    let all = json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]);
    bench.hook(VALIDATING, "all", json!({"rules": all}));
    assert!(bench.map("default", "a", |_| denied("no", "", 0)).is_err());
    let delete = Body::Delete(DeleteOptions::default());
    let request = Bench::request(Verb::Delete, Kind::ValidatingWebhookConfiguration, "", "all", delete);
    bench.ask(&request, |_| denied("no", "", 0)).0.unwrap();
    bench.map("default", "a", |_| panic!("nobody is asked any more")).unwrap();
}

#[test]
fn an_object_that_has_changed_meanwhile_is_put_to_the_webhook_again() {
    let mut bench = Bench::new();
    bench.map("default", "a", |_| allowed()).unwrap();
    bench.hook(VALIDATING, "check", json!({}));
    let patch = |key: &str| {
        let patch = Patch::Merge(json!({"data": {key: "2"}}));
        Bench::request(Verb::Patch, Kind::ConfigMap, "default", "a", Body::Patch(patch))
    };
    let mut waits = *bench.server.handle(&patch("b"), None, Instant::default()).waits.expect("it waits");
    bench.ask(&patch("c"), |_| allowed()).0.unwrap();
    waits.reviews.hear(&waits.calls[0], allowed(), Instant::default());
    let again = bench.server.resume(None, &patch("b"), waits.reviews).waits.expect("it waits again");
    assert_eq!((data(&again.calls[0], "b"), data(&again.calls[0], "c")), ("2".into(), "2".into()));
}

/// An update of an old version is refused once it is known what is to be stored: those who may change it are asked before.
#[test]
fn of_a_stale_update_mutating_webhooks_are_asked_and_validating_ones_are_not() {
    let mut bench = Bench::new();
    let mut stale = bench.map("default", "a", |_| allowed()).unwrap();
    bench.hook(MUTATING, "change", json!({}));
    bench.hook(VALIDATING, "check", json!({}));
    stale.meta_mut().resource_version = Some("1".into());
    let request = Bench::request(Verb::Update, Kind::ConfigMap, "default", "a", Body::Object(stale));
    let refused = bench.ask(&request, |_| allowed()).0.unwrap_err();
    assert!(refused.message.contains("the object has been modified"), "{refused:?}");
    assert_eq!(bench.names(), ["change.example.com"]);
}

#[test]
fn of_many_each_is_asked_about_in_its_turn_and_then_goes() {
    let mut bench = Bench::new();
    for name in ["a", "b"] {
        bench.map("default", name, |_| allowed()).unwrap();
    }
    bench.hook(VALIDATING, "check", json!({}));
    let all =
        Bench::request(Verb::DeleteCollection, Kind::ConfigMap, "default", "", Body::Delete(DeleteOptions::default()));
    let no = |call: &Call| {
        if call.request["oldObject"]["metadata"]["name"] == "b" { denied("no", "", 0) } else { allowed() }
    };
    let refused = bench.ask(&all, no).0.unwrap_err();
    assert!(refused.message.contains("denied the request: no"), "{}", refused.message);
    assert_eq!(bench.asked.len(), 2);
    assert!(bench.asked.iter().all(|(_, request)| request["operation"] == "DELETE" && request["object"].is_null()));
    let there = |bench: &Bench, name: &str| bench.server.stored(Kind::ConfigMap, "default", name).is_ok();
    assert_eq!([there(&bench, "a"), there(&bench, "b")], [false, true]);
    bench.ask(&all, |_| allowed()).0.unwrap();
    assert!(!there(&bench, "b"));
}

#[test]
fn what_is_only_tried_is_asked_about_as_such() {
    let mut bench = Bench::new();
    bench.hook(VALIDATING, "check", json!({}));
    let map = object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-", "namespace": "default"}}),
    );
    let mut request = Bench::request(Verb::Create, Kind::ConfigMap, "default", "", Body::Object(map));
    request.options.dry_run = true;
    let (result, _) = bench.ask(&request, |_| {
        Ok(AdmissionResponse { allowed: true, warnings: vec!["mind".into()], ..AdmissionResponse::default() })
    });
    let Ok(Response::Object(shown)) = result else { panic!("{result:?}") };
    let (_, asked) = &bench.asked[0];
    assert_eq!((&asked["dryRun"], &asked["name"]), (&json!(true), &json!(shown.name())), "the name is drawn once");
}

#[test]
fn what_is_wrong_with_a_configuration() {
    let mut bench = Bench::new();
    for (with, wrong) in [
        (
            json!({"name": "check"}),
            "webhooks[0].name: Invalid value: \"check\": should be a domain with at least three segments separated by dots",
        ),
        (json!({"sideEffects": ""}), "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"),
        (
            json!({"sideEffects": "Some"}),
            "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
        ),
        (
            json!({"timeoutSeconds": 31}),
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
        ),
        (
            json!({"failurePolicy": "Maybe"}),
            "webhooks[0].failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"",
        ),
        (
            json!({"reinvocationPolicy": "Often"}),
            "webhooks[0].reinvocationPolicy: Unsupported value: \"Often\": supported values: \"IfNeeded\", \"Never\"",
        ),
        (
            json!({"admissionReviewVersions": []}),
            "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
        ),
        (
            json!({"admissionReviewVersions": ["v2"]}),
            "webhooks[0].admissionReviewVersions: Invalid value: [\"v2\"]: must include at least one of v1, v1beta1",
        ),
        (
            json!({"clientConfig": {}}),
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        ),
        (
            json!({"clientConfig": {"url": "http://a/b"}}),
            "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ),
        (
            json!({"clientConfig": {"service": {"namespace": "a", "name": "b", "path": "x"}}}),
            "webhooks[0].clientConfig.service.path: Invalid value: \"x\": must start with a '/'",
        ),
        (
            json!({"clientConfig": {"service": {"namespace": "", "name": "b"}}}),
            "webhooks[0].clientConfig.service.name: Required value",
        ),
        (
            json!({"clientConfig": {"service": {"namespace": "a", "name": "b", "port": 70000}}}),
            "webhooks[0].clientConfig.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
        ),
        (
            json!({"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": [], "resources": ["pods"]}]}),
            "webhooks[0].rules[0].operations: Required value",
        ),
    ] {
        let status = bench.create(configuration(MUTATING, "check", with.clone()), |_| allowed()).unwrap_err();
        assert!(status.code == 422 && status.message.ends_with(wrong), "{with}: {}", status.message);
    }
}

#[test]
fn of_a_scale_only_the_scale_is_sent_and_changed() {
    let mut bench = Bench::new();
    let labels = json!({"app": "web"});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]}}}});
    bench.create(deployment, |_| allowed()).unwrap();
    let rules = json!([{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments/scale"]}]);
    bench.hook(MUTATING, "most", json!({"rules": rules}));
    let body = Body::Patch(Patch::Merge(json!({"spec": {"replicas": 9}})));
    let request = Bench::request(Verb::Patch, Kind::Deployment, "default", "web", body);
    let request = Request { subresource: Some(Subresource::Scale), ..request };
    let (answer, _) =
        bench.ask(&request, |_| patched(json!([{"op": "replace", "path": "/spec/replicas", "value": 3}])));
    let Ok(Response::Scale(scale)) = answer else { panic!("{answer:?}") };
    assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(3));
    let [(_, asked)] = bench.asked.as_slice() else { panic!("it is asked once") };
    assert_eq!(asked["kind"], json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}));
    assert_eq!((&asked["object"]["kind"], &asked["object"]["spec"]), (&json!("Scale"), &json!({"replicas": 9})));
    assert_eq!((&asked["oldObject"]["spec"], &asked["subResource"]), (&json!({"replicas": 1}), &json!("scale")));
}
