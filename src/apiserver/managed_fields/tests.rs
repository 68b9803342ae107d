//! What the server says of who manages what, over HTTP.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::ApiServer;
use kinds::printers::View;
use object::Discovery;
use object::time::Instant;
use rest::{HttpRequest, call, respond, watch_line};
use wire::{User, Verb, WatchId};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

struct Bench {
    server: ApiServer,
    seconds: u64,
}

impl Bench {
    fn new() -> Bench {
        let mut bench = Bench { server: ApiServer::new(1), seconds: 0 };
        bench.send("POST", "/api/v1/namespaces", "", r#"{"metadata":{"name":"default"}}"#);
        bench
    }

    /// Sends one raw request, a second after the last; gives code and body.
    fn send(&mut self, method: &str, target: &str, content_type: &str, body: &str) -> (u16, Value) {
        self.seconds += 1;
        let http = HttpRequest::in_json(Rc::new(User::admin()), method, target, content_type, body);
        let known = Discovery::default();
        let view = View { now: Instant::default().timestamp(), known: &known };
        let call = match call(&http, &known) {
            Ok(call) => call,
            Err(answer) => return (answer.code, serde_json::from_str(&answer.body).unwrap()),
        };
        let watch = (call.request.verb == Verb::Watch).then_some(WatchId(1));
        let handled = self.server.handle(&call.request, watch, Instant(self.seconds * 1_000_000_000));
        if let Some((_, event)) = handled.fanout.first() {
            return (200, serde_json::from_str(&watch_line(&call, event, true, view).unwrap()).unwrap());
        }
        let answer = respond(&call, &handled.answer, view);
        (answer.code, serde_json::from_str(&answer.body).unwrap())
    }

    fn apply(&mut self, target: &str, query: &str, config: &Value) -> (u16, Value) {
        self.send("PATCH", &format!("{target}?{query}"), APPLY, &config.to_string())
    }

    /// Each manager with its operation, subresource and fields.
    fn managed(&mut self, target: &str) -> Vec<(String, Value)> {
        let (_, object) = self.send("GET", target, "", "");
        let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let one = |entry: Value| {
            let [manager, operation, part] = ["manager", "operation", "subresource"]
                .map(|field| entry[field].as_str().unwrap_or_default().to_owned());
            (format!("{manager}/{operation}/{part}"), entry["fieldsV1"].clone())
        };
        entries.into_iter().map(one).collect()
    }

    /// When each manager last wrote.
    fn times(&mut self, target: &str) -> Vec<Value> {
        let (_, object) = self.send("GET", target, "", "");
        let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| entry["time"].clone()).collect()
    }

    fn managers(&mut self, target: &str) -> Vec<String> {
        self.managed(target).into_iter().map(|(name, _)| name).collect()
    }
}

fn web(replicas: Option<i64>, image: &str) -> Value {
    let mut config = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": image, "ports": [{"containerPort": 80}]}]}}}});
    if let Some(replicas) = replicas {
        config["spec"]["replicas"] = json!(replicas);
    }
    config
}

/// The fields that a created Deployment has in a real cluster, defaults and all.
#[test]
fn who_creates_an_object_manages_all_that_was_sent_and_defaulted() {
    let mut bench = Bench::new();
    let body = web(Some(2), "nginx").to_string();
    let (code, created) = bench.send("POST", &format!("{DEPLOYMENTS}?fieldManager=test"), "", &body);
    assert_eq!(code, 201);
    let port = json!({".": {}, "f:containerPort": {}, "f:protocol": {}});
    let container = json!({".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {},
        "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": port},
        "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {}});
    let spec = json!({"f:containers": {"k:{\"name\":\"web\"}": container}, "f:dnsPolicy": {}, "f:restartPolicy": {},
        "f:schedulerName": {}, "f:securityContext": {}, "f:terminationGracePeriodSeconds": {}});
    let want = json!({"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:progressDeadlineSeconds": {},
        "f:replicas": {}, "f:revisionHistoryLimit": {}, "f:selector": {},
        "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}},
        "f:template": {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": spec}}});
    let entry = json!([{"manager": "test", "operation": "Update", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:02Z",
        "fieldsType": "FieldsV1", "fieldsV1": want}]);
    assert_eq!(created["metadata"]["managedFields"], entry);
}

#[test]
fn what_admission_and_the_server_fill_in_is_nobodys() {
    let mut bench = Bench::new();
    let service = r#"{"metadata":{"name":"s"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}"#;
    bench.send("POST", "/api/v1/namespaces/default/services?fieldManager=test", "", service);
    let fields = bench.managed("/api/v1/namespaces/default/services/s").remove(0).1;
    let port = json!({".": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}});
    let want = json!({"f:spec": {"f:internalTrafficPolicy": {}, "f:selector": {}, "f:sessionAffinity": {}, "f:type": {},
        "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": port}}});
    assert_eq!(fields, want);
}

#[test]
fn updates_of_a_part_are_managed_apart() {
    let mut bench = Bench::new();
    bench.send("POST", &format!("{DEPLOYMENTS}?fieldManager=creator"), "", &web(Some(2), "nginx").to_string());
    bench.send(
        "PATCH",
        &format!("{WEB}/status?fieldManager=seer"),
        MERGE,
        r#"{"status":{"replicas":1},"spec":{"replicas":9}}"#,
    );
    bench.send("PATCH", &format!("{WEB}/scale?fieldManager=scaler"), MERGE, r#"{"spec":{"replicas":3}}"#);
    let managed = bench.managed(WEB);
    let names: Vec<&str> = managed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["scaler/Update/scale", "creator/Update/", "seer/Update/status"]);
    assert!(managed[1].1["f:spec"].get("f:replicas").is_none(), "the scaler has taken it");
    assert_eq!(managed[2].1, json!({"f:status": {"f:replicas": {}}}));
    assert_eq!(managed[0].1, json!({"f:spec": {"f:replicas": {}}}));
    let times = bench.times(WEB);
    assert_eq!(times, [Value::Null, json!("2026-01-01T00:00:02Z"), json!("2026-01-01T00:00:03Z")]);
    bench.send("PATCH", &format!("{WEB}/scale?fieldManager=other"), MERGE, r#"{"spec":{"replicas":3}}"#);
    assert_eq!(bench.managed(WEB), managed, "who changes nothing takes nothing");
}

/// Of writes of a Pod's status the statuses alone are remembered, until one writes more.
#[test]
fn a_row_of_statuses_is_managed_as_one() {
    const POD: &str = "/api/v1/namespaces/default/pods/web";
    let mut bench = Bench::new();
    bench.send("POST", "/api/v1/namespaces/default/serviceaccounts", "", r#"{"metadata":{"name":"default"}}"#);
    let pod = r#"{"metadata":{"name":"web"},"spec":{"containers":[{"name":"web","image":"nginx"}]}}"#;
    assert_eq!(bench.send("POST", "/api/v1/namespaces/default/pods?fieldManager=me", "", pod).0, 201);
    let mut tell = |change: &str| {
        assert_eq!(bench.send("PATCH", &format!("{POD}/status?fieldManager=kubelet"), MERGE, change).0, 200);
        let managed = bench.managed(POD);
        assert_eq!(managed.len(), 2);
        managed[1].clone()
    };
    let of = |fields: Value| ("kubelet/Update/status".to_owned(), fields);
    tell(r#"{"status":{"phase":"Running","hostIP":"172.18.0.2"}}"#);
    let told = tell(r#"{"status":{"nominatedNodeName":"n1"}}"#);
    assert_eq!(told, of(json!({"f:status": {"f:hostIP": {}, "f:phase": {}, "f:nominatedNodeName": {}}})));
    let told = tell(r#"{"metadata":{"labels":{"app":"web"}},"status":{"reason":"Here"}}"#);
    let status = json!({"f:hostIP": {}, "f:phase": {}, "f:nominatedNodeName": {}, "f:reason": {}});
    let labels = json!({"f:labels": {".": {}, "f:app": {}}});
    assert_eq!(told, of(json!({"f:metadata": labels, "f:status": status})));
    let told = tell(r#"{"status":{"nominatedNodeName":null}}"#);
    let status = json!({"f:hostIP": {}, "f:phase": {}, "f:reason": {}});
    assert_eq!(told, of(json!({"f:metadata": labels, "f:status": status})));
}

#[test]
fn applying_creates_changes_and_takes_away() {
    let mut bench = Bench::new();
    let (code, created) = bench.apply(WEB, "fieldManager=kubectl", &web(Some(2), "nginx:1"));
    assert_eq!((code, &created["spec"]["replicas"]), (201, &json!(2)));
    let (code, again) = bench.apply(WEB, "fieldManager=kubectl", &web(Some(2), "nginx:1"));
    assert_eq!((code, &again), (200, &created), "nothing has changed, not even a time");
    let (_, changed) = bench.apply(WEB, "fieldManager=kubectl", &web(None, "nginx:2"));
    assert_eq!(changed["spec"]["replicas"], 1, "what is applied no more is gone, and the default is back");
    assert_eq!(changed["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    assert_eq!(changed["metadata"]["generation"], 2);
    let container = json!({".": {}, "f:image": {}, "f:name": {},
        "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}});
    let want = json!({"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:selector": {}, "f:template": {
        "f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": container}}}}});
    assert_eq!(bench.managed(WEB), [("kubectl/Apply/".to_owned(), want)]);
}

#[test]
fn who_applies_what_is_there_has_written_nothing() {
    let mut bench = Bench::new();
    bench.apply(WEB, "fieldManager=me", &web(Some(2), "nginx"));
    bench.apply(WEB, "fieldManager=you", &web(Some(2), "nginx"));
    assert_eq!(bench.managers(WEB), ["you/Apply/", "me/Apply/"]);
    assert_eq!(bench.times(WEB), [Value::Null, json!("2026-01-01T00:00:02Z")]);
    bench.apply(WEB, "fieldManager=me", &web(None, "nginx"));
    assert_eq!(bench.times(WEB), [Value::Null, json!("2026-01-01T00:00:02Z")], "its replicas are left to the other");
    bench.apply(WEB, "fieldManager=me", &web(None, "nginx:2"));
    let (code, _) = bench.apply(WEB, "fieldManager=me&force=true", &web(None, "nginx:2"));
    assert_eq!((code, bench.managers(WEB)), (200, vec!["you/Apply/".to_owned(), "me/Apply/".to_owned()]));
    assert_eq!(bench.times(WEB)[1], "2026-01-01T00:00:09Z".to_owned());
}

#[test]
fn a_field_of_another_is_a_conflict() {
    let mut bench = Bench::new();
    bench.send("POST", &format!("{DEPLOYMENTS}?fieldManager=creator"), "", &web(Some(2), "nginx:1").to_string());
    let (code, status) = bench.apply(WEB, "fieldManager=me", &web(Some(3), "nginx:1"));
    const ONE: &str = "Apply failed with 1 conflict: conflict with \"creator\" using apps/v1: .spec.replicas";
    assert_eq!((code, &status["reason"], &status["message"]), (409, &json!("Conflict"), &json!(ONE)));
    let cause = json!({"reason": "FieldManagerConflict", "message": "conflict with \"creator\" using apps/v1", "field": ".spec.replicas"});
    assert_eq!(status["details"], json!({"causes": [cause]}));
    let (_, status) = bench.apply(WEB, "fieldManager=me", &web(Some(3), "nginx:2"));
    let image = ".spec.template.spec.containers[name=\"web\"].image";
    let two = format!(
        "Apply failed with 2 conflicts: conflicts with \"creator\" using apps/v1:\n- .spec.replicas\n- {image}"
    );
    assert_eq!(status["message"], json!(two));
    let before = bench.managers(WEB);
    assert_eq!(bench.apply(WEB, "fieldManager=me&force=true&dryRun=All", &web(Some(3), "nginx:2")).0, 200);
    assert_eq!(bench.managers(WEB), before, "a dry run stores nothing");
    let (code, forced) = bench.apply(WEB, "fieldManager=me&force=true", &web(Some(3), "nginx:2"));
    assert_eq!((code, &forced["spec"]["replicas"]), (200, &json!(3)));
    assert_eq!(bench.managers(WEB), ["me/Apply/", "creator/Update/"]);
}

#[test]
fn what_is_wrong_with_a_configuration_is_said() {
    let mut bench = Bench::new();
    let (code, status) = bench.apply(WEB, "", &web(None, "nginx"));
    const NOBODY: &str =
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
    assert_eq!((code, &status["message"]), (422, &json!(NOBODY)));
    let (code, status) = bench.send("PATCH", &format!("{WEB}?force=true"), MERGE, "{}");
    const FORCE: &str =
        "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch";
    assert_eq!((code, &status["message"]), (422, &json!(FORCE)));
    let config = |path: &str, value: Value| {
        let mut config = web(None, "nginx");
        *config.pointer_mut(path).unwrap() = value;
        config
    };
    let container = "/spec/template/spec/containers/0";
    const TYPED: &str = "failed to create typed patch object (/web; apps/v1, Kind=Deployment): ";
    for (config, code, message) in [
        (config("/apiVersion", json!("v1")), 400, "invalid object type: /v1, Kind=Deployment".into()),
        (
            config("/metadata", json!({"name": "web", "managedFields": []})),
            400,
            "metadata.managedFields must be nil".into(),
        ),
        (
            config("/metadata/name", json!("other")),
            400,
            "the name of the object (other) does not match the name on the URL (web)".to_owned(),
        ),
        (
            config("/spec/template/spec", json!({"foo": 1})),
            500,
            format!("{TYPED}.spec.template.spec.foo: field not declared in schema"),
        ),
        (
            config(container, json!({"name": "a", "bar": 1})),
            500,
            format!("{TYPED}.spec.template.spec.containers[name=\"a\"].bar: field not declared in schema"),
        ),
        (
            config(container, json!({"image": "a"})),
            500,
            format!(
                "{TYPED}.spec.template.spec.containers: element 0: \
            associative list with keys has an element that omits all key fields [\"name\"] (and doesn't have default \
            values for any key fields)"
            ),
        ),
    ] {
        let (got, status) = bench.apply(WEB, "fieldManager=me", &config);
        assert_eq!((got, &status["message"]), (code, &json!(message)), "{config}");
    }
    bench.apply(WEB, "fieldManager=me", &web(None, "nginx"));
    let stale = config("/metadata", json!({"name": "web", "resourceVersion": "1"}));
    let (code, status) = bench.apply(WEB, "fieldManager=me", &stale);
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")), "{status}");
}

#[test]
fn a_part_is_applied_at_its_endpoint() {
    let mut bench = Bench::new();
    bench.apply(WEB, "fieldManager=me", &web(Some(1), "nginx"));
    let scale =
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 2}});
    let (code, status) = bench.apply(&format!("{WEB}/scale"), "fieldManager=hpa", &scale);
    assert_eq!(
        (code, &status["message"]),
        (409, &json!("Apply failed with 1 conflict: conflict with \"me\": .spec.replicas"))
    );
    bench.send("PATCH", &format!("{WEB}?fieldManager=other"), MERGE, r#"{"spec":{"replicas":3}}"#);
    let (_, status) = bench.apply(&format!("{WEB}/scale"), "fieldManager=hpa", &scale);
    const WITH: &str = "Apply failed with 1 conflict: conflict with \"other\" using autoscaling/v1: .spec.replicas";
    assert_eq!(status["message"], WITH);
    bench.apply(WEB, "fieldManager=me&force=true", &web(Some(1), "nginx"));
    bench.apply(WEB, "fieldManager=me", &web(None, "nginx"));
    bench.send("PATCH", &format!("{WEB}/scale?fieldManager=scaler"), MERGE, r#"{"spec":{"replicas":3}}"#);
    assert_eq!(bench.managers(WEB), ["me/Apply/"], "of replicas that nobody manages nobody takes any by an update");
    let (_, status) = bench.apply(&format!("{WEB}/scale"), "fieldManager=hpa", &scale);
    const BEFORE: &str = "Apply failed with 1 conflict: conflict with \"before-first-apply\" with subresource \"scale\" using \
        autoscaling/v1: .spec.replicas";
    assert_eq!(status["message"], BEFORE);
    let (code, scaled) = bench.apply(&format!("{WEB}/scale"), "fieldManager=hpa&force=true", &scale);
    assert_eq!((code, &scaled["spec"]["replicas"]), (200, &json!(2)));
    let status =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 7}, "status": {"replicas": 2}});
    let (code, seen) = bench.apply(&format!("{WEB}/status"), "fieldManager=seer", &status);
    assert_eq!((code, &seen["spec"]["replicas"], &seen["status"]["replicas"]), (200, &json!(2), &json!(2)));
    assert_eq!(bench.managers(WEB), ["hpa/Apply/scale", "me/Apply/", "seer/Apply/status"]);
}

#[test]
fn managers_can_be_taken_away_and_written() {
    let mut bench = Bench::new();
    bench.apply(WEB, "fieldManager=me", &web(Some(1), "nginx"));
    let entries = bench.send("GET", WEB, "", "").1["metadata"]["managedFields"].clone();
    let (_, reset) = bench.send("PATCH", WEB, MERGE, r#"{"metadata":{"managedFields":[{}]}}"#);
    assert_eq!(reset["metadata"].get("managedFields"), None);
    let (_, kept) = bench.send("PATCH", WEB, MERGE, r#"{"metadata":{"managedFields":[]}}"#);
    assert_eq!(kept["metadata"]["resourceVersion"], reset["metadata"]["resourceVersion"], "there was nothing to take");
    bench.send("PATCH", &format!("{WEB}?fieldManager=other"), MERGE, r#"{"spec":{"paused":false}}"#);
    bench.send("PATCH", &format!("{WEB}/status?fieldManager=seer"), MERGE, r#"{"status":{"replicas":1}}"#);
    assert_eq!(bench.managers(WEB), Vec::<String>::new(), "of what nobody manages nobody takes anything by an update");
    bench.apply(WEB, "fieldManager=you&force=true", &web(Some(2), "nginx"));
    assert_eq!(bench.managers(WEB), ["you/Apply/", "before-first-apply/Update/"]);
    assert_eq!(bench.managed(WEB)[1].1.get("f:status"), None, "the endpoint lets no status through");
    bench.send("PATCH", WEB, MERGE, r#"{"metadata":{"managedFields":[]}}"#);
    assert_eq!(bench.managers(WEB), Vec::<String>::new(), "an empty list will do");
    let patch = json!([{"op": "add", "path": "/metadata/managedFields", "value": entries}]);
    let (code, _) = bench.send("PATCH", WEB, "application/json-patch+json", &patch.to_string());
    assert_eq!((code, bench.managers(WEB)), (200, vec!["me/Apply/".to_owned()]));
}

#[test]
fn the_first_server_side_apply_takes_over_from_the_client_side_one() {
    let mut bench = Bench::new();
    let mut object = web(Some(1), "nginx:1");
    object["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": format!("{}\n", web(Some(1), "nginx:1"))});
    bench.send("POST", &format!("{DEPLOYMENTS}?fieldManager=kubectl-client-side-apply"), "", &object.to_string());
    let (code, _) = bench.apply(WEB, "fieldManager=other", &web(Some(1), "nginx:2"));
    assert_eq!(code, 409, "only kubectl knows what its annotation means");
    let (code, applied) = bench.apply(WEB, "fieldManager=kubectl", &web(Some(1), "nginx:2"));
    assert_eq!(code, 200, "{applied}");
    let kept = &applied["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    assert_eq!(kept, &json!(format!("{}\n", web(Some(1), "nginx:2"))));
    bench.send("PATCH", &format!("{WEB}/scale?fieldManager=scaler"), MERGE, r#"{"spec":{"replicas":3}}"#);
    let (code, status) = bench.apply(WEB, "fieldManager=kubectl", &web(Some(1), "nginx:2"));
    const WITH: &str = "conflict with \"scaler\" with subresource \"scale\" using apps/v1: .spec.replicas";
    assert_eq!((code, &status["message"]), (409, &json!(format!("Apply failed with 1 conflict: {WITH}"))));
}

#[test]
fn lists_and_watches_show_managers_too() {
    let mut bench = Bench::new();
    bench.apply(WEB, "fieldManager=me", &web(Some(1), "nginx"));
    let (_, list) = bench.send("GET", DEPLOYMENTS, "", "");
    assert_eq!(list["items"][0]["metadata"]["managedFields"][0]["manager"], "me");
    let (_, event) = bench.send("GET", &format!("{DEPLOYMENTS}?watch=true"), "", "");
    assert_eq!(event["object"]["metadata"]["managedFields"][0]["manager"], "me");
}
