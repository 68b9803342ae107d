//! Requests as they come over HTTP, and what the server answers.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::ApiServer;
use kinds::printers::View;
use object::Discovery;
use object::time::Instant;
use rest::{HttpRequest, call, respond, watch_line};
use wire::{User, Verb, WatchId};

mod pods;
mod tables;

/// Sends one raw request through the server; gives code, body and watch lines.
fn send(server: &mut ApiServer, method: &str, target: &str, content_type: &str, body: &str) -> (u16, Value, String) {
    send_http(server, &HttpRequest::in_json(Rc::new(User::admin()), method, target, content_type, body))
}

/// Asks for a table.
fn table(server: &mut ApiServer, target: &str) -> (u16, Value, String) {
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let user = Some(Rc::new(User::admin()));
    send_http(server, &HttpRequest { method: "GET", target, accept, user, ..HttpRequest::default() })
}

fn send_http(server: &mut ApiServer, http: &HttpRequest) -> (u16, Value, String) {
    let known = server.discovery();
    let view = View { now: "2026-01-01T00:00:02Z".parse().unwrap(), known: &known };
    let call = match call(http, &known) {
        Ok(call) => call,
        Err(answer) => return (answer.code, serde_json::from_str(&answer.body).unwrap_or_default(), String::new()),
    };
    let watch = (call.request.verb == Verb::Watch).then_some(WatchId(1));
    let handled = server.handle(&call.request, watch, Instant::default());
    let answer = respond(&call, &handled.answer, view);
    let events = handled.fanout.iter().map(|(_, event)| event).enumerate();
    let lines = events.filter_map(|(i, event)| watch_line(&call, event, i == 0, view)).collect();
    (answer.code, serde_json::from_str(&answer.body).unwrap_or_default(), lines)
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn server_with_config_maps(count: usize) -> ApiServer {
    let mut server = ApiServer::new(1);
    let (code, _, _) = send(&mut server, "POST", "/api/v1/namespaces", "", r#"{"metadata":{"name":"default"}}"#);
    assert_eq!(code, 201);
    for i in 0..count {
        let body = format!("{{\"metadata\":{{\"name\":\"c{i}\",\"labels\":{{\"odd\":\"{}\"}}}}}}", i % 2 == 1);
        let (code, answer, _) = send(&mut server, "POST", CONFIG_MAPS, "application/json", &body);
        assert_eq!(code, 201, "{answer}");
    }
    server
}

#[test]
fn an_object_is_created_read_patched_and_deleted() {
    let mut server = server_with_config_maps(1);
    let one = &format!("{CONFIG_MAPS}/c0");
    let (code, body, _) = send(&mut server, "GET", one, "", "");
    assert_eq!((code, &body["kind"], &body["metadata"]["name"]), (200, &json!("ConfigMap"), &json!("c0")));
    let merge = "application/merge-patch+json; charset=utf-8";
    let (code, body, _) = send(&mut server, "PATCH", one, merge, r#"{"data":{"a":"1"}}"#);
    assert_eq!((code, &body["data"]), (200, &json!({"a": "1"})));
    let (code, body, _) = send(&mut server, "PUT", one, "application/yaml", "metadata: {name: c0}\ndata: {b: '2'}");
    assert_eq!((code, &body["data"]), (200, &json!({"b": "2"})));
    let (code, body, _) = send(&mut server, "DELETE", one, "", "");
    assert_eq!((code, &body["status"], &body["details"]["kind"]), (200, &json!("Success"), &json!("configmaps")));
    assert_eq!(send(&mut server, "GET", one, "", "").0, 404);
}

#[test]
fn a_list_comes_in_pages() {
    let mut server = server_with_config_maps(5);
    let (mut token, mut names, mut left) = (String::new(), Vec::new(), Vec::new());
    loop {
        let (code, body, _) = send(&mut server, "GET", &format!("{CONFIG_MAPS}?limit=2&continue={token}"), "", "");
        assert_eq!((code, &body["kind"]), (200, &json!("ConfigMapList")), "{body}");
        let items = body["items"].as_array().cloned().unwrap_or_default();
        assert!(items.iter().all(|item| item.get("kind").is_none()));
        names.extend(items.iter().map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned()));
        left.push(body["metadata"]["remainingItemCount"].clone());
        // What is written between two pages is not seen: the list is of one revision.
        let extra = format!("{{\"metadata\":{{\"name\":\"d{}\"}}}}", names.len());
        assert_eq!(send(&mut server, "POST", CONFIG_MAPS, "", &extra).0, 201);
        match body["metadata"]["continue"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(names, ["c0", "c1", "c2", "c3", "c4"]);
    assert_eq!(left, [json!(3), json!(1), Value::Null]);
}

#[test]
fn a_list_of_the_past_and_of_the_future() {
    let mut server = server_with_config_maps(3);
    let at = |version: u64| format!("{CONFIG_MAPS}?resourceVersion={version}&resourceVersionMatch=Exact");
    let (code, body, _) = send(&mut server, "GET", &at(4), "", "");
    assert_eq!((code, body["items"].as_array().map(Vec::len)), (200, Some(2)));
    assert_eq!(body["metadata"]["resourceVersion"], "4");
    let (code, body, _) = send(&mut server, "GET", &at(99), "", "");
    assert_eq!((code, &body["reason"]), (504, &json!("Timeout")));
    server.store.compact(4);
    let (code, body, _) = send(&mut server, "GET", &at(3), "", "");
    assert_eq!((code, &body["message"]), (410, &json!("The resourceVersion for the provided list is too old.")));
}

#[test]
fn a_watch_is_lines() {
    let mut server = server_with_config_maps(2);
    let target = format!("{CONFIG_MAPS}?watch=1&labelSelector=odd%3Dtrue");
    let (code, body, lines) = send(&mut server, "GET", &target, "", "");
    assert_eq!((code, body), (200, Value::Null));
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), 1);
    assert_eq!((&events[0]["type"], &events[0]["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("c1")));
    let target =
        format!("{CONFIG_MAPS}?watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    let (_, _, lines) = send(&mut server, "GET", &target, "", "");
    assert!(lines.lines().last().is_some_and(|line| line.contains("k8s.io/initial-events-end")), "{lines}");
    let (code, event, _) = send(&mut server, "GET", &format!("{target}&resourceVersion=99"), "", "");
    assert_eq!((code, &event["type"], &event["object"]["code"]), (200, &json!("ERROR"), &json!(504)), "not there yet");
}

#[test]
fn wrong_credentials_end_everything() {
    let http = HttpRequest { method: "GET", target: "/nonsense", ..HttpRequest::default() };
    let answer = call(&http, &Discovery::default()).unwrap_err();
    assert_eq!(answer.code, 401);
}

/// Method, path below the Pods, body and the answer. A patch's media type follows from what it is.
const REFUSED: &str = r#"
PUT | ghost | {"metadata":{"name":"x"},"spec":{"containers":[]}} | 400 the name of the object (x) does not match the name on the URL (ghost)
POST | ghost/eviction | {"metadata":{"name":"x"}} | 400 name in URL does not match name in Eviction object
POST | ghost/binding | {"metadata":{"name":"x"},"target":{"name":"n"}} | 400 name in URL does not match name in Binding object
POST | ghost/binding | {"metadata":{"name":"ghost"},"target":{"kind":"Node"}} | 500 target.name: Required value
POST | ghost/binding | {"metadata":{"name":"ghost"},"target":{"kind":"Pod"}} | 500 [target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]
MERGE | ghost | { | 404 pods "ghost" not found
MERGE | ghost | [] | 404 pods "ghost" not found
MERGE | ghost?fieldValidation=Ignore | [] | 404 pods "ghost" not found
JSON | ghost | {} | 404 pods "ghost" not found
STRATEGIC | ghost | { | 404 pods "ghost" not found
"#;

#[test]
fn what_is_sent_is_looked_at_before_what_is_stored_unless_it_is_a_patch() {
    let mut server = server_with_config_maps(0);
    answered(&mut server, "/api/v1/namespaces/default/pods/", REFUSED);
}

/// Method, path below the namespace, body, and the beginning of the answer.
fn answered(server: &mut ApiServer, below: &str, table: &str) {
    for line in table.trim().lines() {
        let [method, target, body, wanted] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (method, content_type) = match method {
            "MERGE" => ("PATCH", "application/merge-patch+json"),
            "JSON" => ("PATCH", "application/json-patch+json"),
            "STRATEGIC" => ("PATCH", "application/strategic-merge-patch+json"),
            "APPLY" => ("PATCH", "application/apply-patch+yaml"),
            method => (method, "application/json"),
        };
        let target = if target.starts_with('/') { target.to_owned() } else { format!("{below}{target}") };
        let (code, answer, _) = send(server, method, &target, content_type, body);
        let told = format!("{code} {}", answer["message"].as_str().unwrap_or_default());
        assert!(told.starts_with(wanted), "{line}\n{told}");
    }
}

const WEB: &str = r#"{"metadata":{"name":"web"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

const SCALES: &str = r#"
GET | web/scale |  | 200
GET | ghost/scale |  | 404 deployments/scale.apps "ghost" not found
MERGE | ghost/scale | {} | 404 deployments/scale.apps "ghost" not found
GET | /api/v1/namespaces/default/replicationcontrollers/x/scale |  | 404 replicationcontrollers/scale.autoscaling "x" not found
MERGE | web/scale | {"spec":{"replicas":-1}} | 422 Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0
STRATEGIC | web/scale | {"spec":{"replicas":"a"}} | 422  "" is invalid: patch: Invalid value: "map[spec:map[replicas:a]]": unrecognized type: int32
MERGE | web/scale | {"metadata":{"name":"x"}} | 400 the name of the object (x) does not match the name on the URL (web)
MERGE | web/scale | {"metadata":{"uid":"x"}} | 409 Operation cannot be fulfilled on deployments/scale.apps "web": Precondition failed: UID in precondition: x,
MERGE | web/scale | {"metadata":{"resourceVersion":"1"}} | 409 Operation cannot be fulfilled on deployments.apps "web": the object has been modified
MERGE | web/scale?fieldValidation=Strict | {"spec":{"replica":2}} | 422  "" is invalid: patch: Invalid value: "{
PUT | web/scale | {"spec":{"replicas":2}} | 400 the name of the object (web based on URL) was undeterminable: name must be provided
PUT | web/scale | {"metadata":{"name":"web"},"spec":{"replicas":"2"}} | 400 Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32
PUT | web/scale | {"apiVersion":"v1","kind":"Pod"} | 400 Pod in version "v1" cannot be handled as a Scale: converting (v1.Pod) to (autoscaling.Scale): unknown conversion
PUT | web/scale?fieldValidation=Strict | {"metadata":{"name":"web"},"spec":{"replica":2}} | 400 Scale in version "v1" cannot be handled as a Scale: strict decoding error: unknown field "spec.replica"
PUT | web/scale | {"metadata":{"name":"web"},"spec":{"replicas":2}} | 200
POST | /apis/apps/v1/namespaces/default/deployments | {"metadata":{"name":"e"},"spec":{"selector":{},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}} | 422 Deployment.apps "e" is invalid: spec.selector: Invalid value: {}: empty selector is invalid for deployment
"#;

#[test]
fn a_scale_is_refused_as_a_scale() {
    let mut server = server_with_config_maps(0);
    assert_eq!(send(&mut server, "POST", DEPLOYMENTS, "", WEB).0, 201);
    answered(&mut server, &format!("{DEPLOYMENTS}/"), SCALES);
    let (_, scale, _) = send(&mut server, "GET", &format!("{DEPLOYMENTS}/web/scale"), "", "");
    assert_eq!(scale["spec"]["replicas"], json!(2));
}

/// About the one ConfigMap `c0`, whose version is 3.
const OBJECTS: &str = r#"
GET | c0?resourceVersion=abc |  | 500 resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax
GET | c0?resourceVersion=99 |  | 504 Timeout: Too large resource version: 99, current:
GET | c0?resourceVersion=2 |  | 200
GET | /api/v1/namespaces/default/configmaps?resourceVersion=abc |  | 400 invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax
GET | /api/v1/namespaces/default/configmaps?watch=1&resourceVersion=abc |  | 500 resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax
GET | /api/v1/namespaces/default/configmaps?continue=zzz&resourceVersion=1 |  | 400 invalid continue token: continue key is not valid: invalid character '\xcf' looking for beginning of value
MERGE | c0 | {"metadata":{"uid":"x"}} | 422 ConfigMap "c0" is invalid: metadata.uid: Invalid value: "x": field is immutable
PUT | c0 | {"metadata":{"name":"c0","uid":"x"}} | 409 Operation cannot be fulfilled on configmaps "c0": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/c0, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta:
POST | /api/v1/namespaces/default/configmaps | {"data":{"a b":"x"}} | 422 ConfigMap "" is invalid: [metadata.name: Required value: name or generateName is required, data[a b]: Invalid value
APPLY | c1?fieldManager=m | {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c1","resourceVersion":"1"}} | 201
APPLY | c2?fieldManager=m | [ | 400 error decoding YAML: error converting YAML to JSON: yaml:
PUT | c0 | {"data":{}} | 400 the name of the object (c0 based on URL) was undeterminable: name must be provided
MERGE | c0 | {"kind":"Secret"} | 422  "" is invalid: patch: Invalid value: "{
MERGE | c0 | {"apiVersion":"v2"} | 422  "" is invalid: patch: Invalid value: "{
STRATEGIC | c0 | {"kind":"Secret"} | 200
STRATEGIC | c0 | { | 400 unexpected end of JSON input
JSON | c0 | {} | 400 error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp
MERGE | c0?fieldValidation=Ignore | [] | 400 Invalid JSON Patch
MERGE | c0 | [] | 400 error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}
MERGE | c0 | { | 400 error decoding patch: unexpected end of JSON input
MERGE | c0?fieldValidation=Strict | {"data":{"a":"1","a":"2"}} | 422  "" is invalid: patch: Invalid value: "{
STRATEGIC | c0?fieldValidation=Strict | {"data":{"a":"1","a":"2"}} | 422  "" is invalid: patch: Invalid value: "map[data:map[a:2]]": strict decoding error: duplicate field "data.a"
JSON | c0?fieldValidation=Strict | [{"op":"add","path":"/data","value":{},"foo":1}] | 422  "" is invalid: patch: Invalid value: "{
MERGE | c0?fieldValidation=Ignore | {"data":{"a":"1","a":"2"}} | 200
MERGE | c0 | {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"a","uid":"b"}]}} | 422 ConfigMap "c0" is invalid: metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"a","uid":"b"}: /v1, Kind=Event is disallowed from being an owner
APPLY | new?fieldManager=m | {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new","uid":"5"}} | 409 Operation cannot be fulfilled on configmaps "new": uid mismatch: the provided object specified uid 5, and no existing object was found
POST | /api/v1/namespaces/default/configmaps | {"metadata":{"name":"c0","generateName":"c"}} | 409 configmaps "c0" already exists, the server was not able to generate a unique name for the object
PUT | new | {"metadata":{"name":"new"}} | 404 configmaps "new" not found
PUT | /api/v1/namespaces/default/limitranges/new | {"metadata":{"name":"x"}} | 400 the name of the object (x) does not match the name on the URL (new)
PUT | /api/v1/namespaces/default/limitranges/new | {"metadata":{"name":"new","uid":"5"}} | 409 Operation cannot be fulfilled on limitranges "new": StorageError: invalid object, Code: 4, Key: /registry/limitranges/default/new, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: 5, UID in object meta: 
PUT | /api/v1/namespaces/default/limitranges/new | {"metadata":{"name":"new","resourceVersion":"1"},"spec":{"limits":[]}} | 201
DELETE | c0 | hello | 400 couldn't get version/kind; json parse error: invalid character 'h' looking for beginning of value
DELETE | c0 | {"gracePeriodSeconds":"1"} | 400 json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64
DELETE | c0 | {"dryRun":["Some"],"propagationPolicy":"Up"} | 422 DeleteOptions.meta.k8s.io "" is invalid: [propagationPolicy: Unsupported value: "Up": supported values: "Foreground", "Background", "Orphan", "nil", dryRun: Unsupported value: ["Some"]: supported values: "All"]
DELETE | c0?propagationPolicy=Up | {"dryRun":["All"]} | 200
DELETE | c0?dryRun=All |  | 200
GET | c0 |  | 200
"#;

#[test]
fn requests_that_nobody_recorded_are_answered() {
    let mut server = server_with_config_maps(1);
    answered(&mut server, &format!("{CONFIG_MAPS}/"), OBJECTS);
}

/// A user who may change an object may not therefore create it, be it by PUT or by apply.
#[test]
fn who_makes_a_thing_by_changing_it_must_be_allowed_to_create_it() {
    let mut server = server_with_config_maps(0);
    let ranges = "/api/v1/namespaces/default/limitranges";
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = |verbs: &[&str]| json!({"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["limitranges"], "verbs": verbs}]});
    let binding = json!({"metadata": {"name": "r"}, "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "jane"}]});
    send(&mut server, "PUT", &format!("{rbac}/roles/r"), "", &role(&["update", "patch"]).to_string());
    send(&mut server, "PUT", &format!("{rbac}/rolebindings/r"), "", &binding.to_string());
    let ask = |server: &mut ApiServer, method: &str, name: &str| {
        let body =
            json!({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}, "spec": {"limits": []}});
        let content_type = if method == "PATCH" { "application/apply-patch+yaml" } else { "application/json" };
        let target = &format!("{ranges}/{name}?fieldManager=jane");
        let jane = Rc::new(User::component("jane", "user/kubectl"));
        let body = &body.to_string();
        let (code, answer, _) = send_http(server, &HttpRequest::in_json(jane, method, target, content_type, body));
        (code, answer["message"].as_str().unwrap_or_default().to_owned())
    };
    for (method, name) in [("PUT", "a"), ("PATCH", "b")] {
        let refused = (403, format!("limitranges \"{name}\" is forbidden: "));
        assert_eq!(ask(&mut server, method, name), refused, "{method}");
    }
    let all = role(&["update", "patch", "create"]).to_string();
    assert_eq!(send(&mut server, "PUT", &format!("{rbac}/roles/r"), "", &all).0, 200);
    for (method, name) in [("PUT", "a"), ("PATCH", "b")] {
        assert_eq!(ask(&mut server, method, name), (201, String::new()), "{method}");
    }
}

#[test]
fn a_dry_run_finds_what_is_there() {
    let mut server = server_with_config_maps(1);
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c0"}}"#;
    let (code, status, _) = send(&mut server, "POST", &format!("{CONFIG_MAPS}?dryRun=All"), "", body);
    assert_eq!((code, &status["reason"]), (409, &json!("AlreadyExists")));
}

#[test]
fn a_watch_may_begin_from_now_on() {
    let mut server = server_with_config_maps(2);
    let target = format!("{CONFIG_MAPS}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
    assert_eq!(send(&mut server, "GET", &target, "", ""), (200, Value::Null, String::new()));
}

#[test]
fn the_rest_of_a_list_can_be_had_as_it_is_now() {
    let mut server = server_with_config_maps(3);
    let (_, page, _) = send(&mut server, "GET", &format!("{CONFIG_MAPS}?limit=1"), "", "");
    let token = page["metadata"]["continue"].as_str().unwrap();
    assert_eq!(send(&mut server, "DELETE", &format!("{CONFIG_MAPS}/c1"), "", "").0, 200);
    server.store.compact(server.store.revision());
    let (code, told, _) = send(&mut server, "GET", &format!("{CONFIG_MAPS}?limit=1&continue={token}"), "", "");
    assert_eq!((code, &told["reason"]), (410, &json!("Expired")));
    let token = told["metadata"]["continue"].as_str().unwrap();
    let (code, rest, _) = send(&mut server, "GET", &format!("{CONFIG_MAPS}?continue={token}"), "", "");
    assert_eq!((code, &rest["items"][0]["metadata"]["name"]), (200, &json!("c2")));
}

#[test]
fn any_version_is_had_whole() {
    let mut server = server_with_config_maps(3);
    let (_, body, _) = send(&mut server, "GET", &format!("{CONFIG_MAPS}?limit=1&resourceVersion=0"), "", "");
    assert_eq!((body["items"].as_array().map(Vec::len), &body["metadata"]["continue"]), (Some(3), &Value::Null));
}

/// 202 is only for those who say in the old way that dependents are to go, and only while the object is still there.
#[test]
fn what_is_not_gone_yet_is_said_to_few() {
    let mut server = server_with_config_maps(0);
    let held = |name: &str| format!("{{\"metadata\":{{\"name\":{name:?},\"finalizers\":[\"lab.example/hold\"]}}}}");
    #[rustfmt::skip]
    let cases = [
        ("a", held("a"), "", r#"{"orphanDependents":false}"#, 202, "ConfigMap"),
        ("a", String::new(), "", r#"{"orphanDependents":false}"#, 202, "ConfigMap"),
        ("a", String::new(), "", "", 200, "ConfigMap"),
        ("b", held("b"), "?orphanDependents=false", "", 202, "ConfigMap"),
        ("c", held("c"), "", r#"{"propagationPolicy":"Background"}"#, 200, "ConfigMap"),
        ("d", held("d"), "", r#"{"orphanDependents":true}"#, 200, "ConfigMap"),
        ("e", r#"{"metadata":{"name":"e"}}"#.to_owned(), "", r#"{"orphanDependents":false}"#, 200, "Status"),
        ("f", r#"{"metadata":{"name":"f"}}"#.to_owned(), "", r#"{"propagationPolicy":"Foreground"}"#, 200, "ConfigMap"),
    ];
    for (name, object, query, options, code, kind) in cases {
        if !object.is_empty() {
            let (code, told, _) = send(&mut server, "POST", CONFIG_MAPS, "", &object);
            assert_eq!(code, 201, "{told}");
        }
        let (got, told, _) = send(&mut server, "DELETE", &format!("{CONFIG_MAPS}/{name}{query}"), "", options);
        assert_eq!((got, told["kind"].as_str()), (code, Some(kind)), "{name} {query} {options}");
    }
    let (code, told, _) = send(&mut server, "DELETE", "/api/v1/namespaces/default", "", "");
    assert_eq!(
        (code, &told["message"]),
        (403, &json!("namespaces \"default\" is forbidden: this namespace may not be deleted"))
    );
    assert_eq!(send(&mut server, "POST", "/api/v1/namespaces", "", r#"{"metadata":{"name":"n"}}"#).0, 201);
    let (code, told, _) = send(&mut server, "DELETE", "/api/v1/namespaces/n", "", r#"{"orphanDependents":false}"#);
    assert_eq!((code, &told["status"]["phase"]), (202, &json!("Terminating")));
}

/// Which kinds there are, in the order of the groups' priorities; those that are never kept among them.
#[test]
fn discovery_tells_of_all_kinds() {
    let mut server = ApiServer::new(1);
    let (_, groups, _) = send(&mut server, "GET", "/apis", "", "");
    let names: Vec<&str> =
        groups["groups"].as_array().unwrap().iter().filter_map(|group| group["name"].as_str()).collect();
    assert_eq!(names[..4], ["apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io"]);
    let (_, core, _) = send(&mut server, "GET", "/api/v1", "", "");
    let core = core["resources"].as_array().unwrap();
    let binding = json!({"name": "bindings", "singularName": "binding", "namespaced": true, "kind": "Binding", "verbs": ["create"]});
    let component = json!({"name": "componentstatuses", "singularName": "componentstatus", "namespaced": false,
        "kind": "ComponentStatus", "verbs": ["get", "list"], "shortNames": ["cs"]});
    assert_eq!(core[..2], [binding, component]);
    let pods = core.iter().find(|row| row["name"] == "pods").unwrap();
    assert_eq!((&pods["categories"], &pods["shortNames"]), (&json!(["all"]), &json!(["po"])));
    let (_, reviews, _) = send(&mut server, "GET", "/apis/authorization.k8s.io/v1", "", "");
    let reviews = reviews["resources"].as_array().unwrap();
    let told: Vec<(&str, bool)> =
        reviews.iter().map(|row| (row["name"].as_str().unwrap(), row["namespaced"] == true)).collect();
    let want = [
        ("localsubjectaccessreviews", true),
        ("selfsubjectaccessreviews", false),
        ("selfsubjectrulesreviews", false),
        ("subjectaccessreviews", false),
    ];
    assert_eq!(told, want);
    assert!(reviews.iter().all(|row| row["verbs"] == json!(["create"])), "{reviews:?}");
}

#[test]
fn components_are_asked_how_they_are() {
    let mut server = ApiServer::new(1);
    server.neighbours.set("kube-scheduler", false);
    let all = "/api/v1/componentstatuses";
    let (code, told, _) = send(&mut server, "GET", all, "", "");
    let names: Vec<&str> =
        told["items"].as_array().unwrap().iter().filter_map(|one| one["metadata"]["name"].as_str()).collect();
    assert_eq!((code, names, &told["metadata"]), (200, vec!["controller-manager", "etcd-0", "scheduler"], &json!({})));
    let (_, told, _) = table(&mut server, all);
    assert_eq!(told["rows"][0]["cells"], json!(["controller-manager", "Healthy", "ok", ""]));
    let refused = "Get \"https://127.0.0.1:10259/healthz\": dial tcp 127.0.0.1:10259: connect: connection refused";
    assert_eq!(told["rows"][2]["cells"], json!(["scheduler", "Unhealthy", "", refused]));
    let (_, told, _) = send(&mut server, "GET", &format!("{all}?fieldSelector=metadata.name%3Detcd-0"), "", "");
    assert_eq!(told["items"].as_array().map(Vec::len), Some(1));
    server.neighbours.set("kube-scheduler", true);
    let (_, told, _) = send(&mut server, "GET", &format!("{all}/scheduler"), "", "");
    assert_eq!(told["conditions"], json!([{"type": "Healthy", "status": "True", "message": "ok"}]));
    let (code, told, _) = send(&mut server, "GET", &format!("{all}/kubelet"), "", "");
    assert_eq!((code, &told["message"]), (500, &json!("Component not found: kubelet")));
    assert_eq!(send(&mut server, "GET", &format!("{all}?watch=true"), "", "").0, 405);
}

#[test]
fn the_priority_classes_of_the_system_stay() {
    let mut server = ApiServer::new(1);
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    for (name, value) in [("system-node-critical", 2_000_001_000), ("mine", 1)] {
        let class = json!({"metadata": {"name": name}, "value": value}).to_string();
        assert_eq!(send(&mut server, "POST", classes, "", &class).0, 201);
    }
    let (code, told, _) = send(&mut server, "DELETE", &format!("{classes}/system-node-critical"), "", "");
    const WHY: &str = "priorityclasses.scheduling.k8s.io \"system-node-critical\" is forbidden: this is a system priority \
        class and cannot be deleted";
    assert_eq!((code, told["message"].as_str()), (403, Some(WHY)));
    assert_eq!(send(&mut server, "DELETE", &format!("{classes}/mine"), "", "").0, 200);
}

#[test]
fn the_versions_without_a_group_are_told_with_an_address() {
    let mut server = server_with_config_maps(0);
    let (_, told, _) = send(&mut server, "GET", "/api", "", "");
    let address = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": "172.18.0.2:6443"}]);
    assert_eq!(told, json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": address}));
}

#[test]
fn the_root_lists_what_is_no_object() {
    let mut server = server_with_config_maps(0);
    for path in ["/", "/index.html"] {
        let (code, told, _) = send(&mut server, "GET", path, "", "");
        let paths: Vec<&str> = told["paths"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!((code, &paths[1..4]), (200, ["/api", "/api/v1", "/apis"].as_slice()));
        for known in ["/apis/apps", "/apis/apps/v1", "/healthz", "/readyz/shutdown", "/openapi/v3", "/version"] {
            assert!(paths.contains(&known), "{known}");
        }
        assert!(paths.is_sorted());
    }
}

/// What an object is and is called comes first, as Go writes the fields of its types.
#[test]
fn answers_begin_with_what_they_are() {
    let mut server = server_with_config_maps(1);
    let raw = |server: &mut ApiServer, target: &str| {
        let known = server.discovery();
        let user = Some(Rc::new(User::admin()));
        let http = HttpRequest { method: "GET", target, accept: "application/json", user, ..HttpRequest::default() };
        let call = call(&http, &known).unwrap();
        let handled = server.handle(&call.request, None, Instant::default());
        let view = View { now: "2026-01-01T00:00:02Z".parse().unwrap(), known: &known };
        respond(&call, &handled.answer, view).body
    };
    let beginnings = [
        ("/c0", r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"#),
        ("", r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":""#),
        ("", r#"},"items":[{"metadata":{"#),
        ("/ghost", r#"{"kind":"Status","apiVersion":"v1","metadata":{},"#),
    ];
    for (name, part) in beginnings {
        let body = raw(&mut server, &format!("{CONFIG_MAPS}{name}"));
        assert!(body.contains(part), "{name}: {body}");
    }
}

/// Mirrors `rest.BeforeCreate`, `rest.BeforeUpdate` and the store, in their order.
#[test]
fn metadata_that_is_not_the_senders_is_refused_in_turn() {
    let mut server = server_with_config_maps(1);
    const VERSION: &str = "resourceVersion should not be set on objects to be created";
    for (name, data, version, code, message) in [
        ("a", "k", "5", 500, VERSION),
        ("b", "a b", "5", 422, "data[a b]: Invalid value"),
        ("c", "k", "none", 201, ""),
        ("d", "k", "0", 201, ""),
    ] {
        let body = json!({"metadata": {"name": name, "resourceVersion": version}, "data": {data: "1"}}).to_string();
        let (found, told, _) = send(&mut server, "POST", CONFIG_MAPS, "", &body);
        assert_eq!(found, code, "{told}");
        assert!(told["message"].as_str().unwrap_or_default().contains(message), "{told}");
    }
    for (field, value, code) in [
        ("deletionTimestamp", json!("2026-01-01T00:00:00Z"), 422),
        ("deletionGracePeriodSeconds", json!(5), 422),
        ("creationTimestamp", json!("2020-01-01T00:00:00Z"), 200),
        ("generation", json!(9), 200),
    ] {
        let mut body = json!({"metadata": {"name": "c0"}});
        body["metadata"][field] = value;
        let (found, told, _) = send(&mut server, "PUT", &format!("{CONFIG_MAPS}/c0"), "", &body.to_string());
        assert_eq!(found, code, "{told}");
        if code == 422 {
            assert_eq!(told["details"]["causes"][0]["field"], json!(format!("metadata.{field}")), "{told}");
        }
    }
}

#[test]
fn what_is_in_no_namespace_loses_the_one_that_it_names() {
    let mut server = ApiServer::new(1);
    let spec = json!({"": {}, "roles": {"rules": []}, "classes": {"provisioner": "a/b"}});
    for (path, extra) in [
        ("/api/v1/namespaces", &spec[""]),
        ("/api/v1/nodes", &spec[""]),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", &spec["roles"]),
        ("/apis/storage.k8s.io/v1/storageclasses", &spec["classes"]),
    ] {
        let mut object = extra.clone();
        object["metadata"] = json!({"name": "a", "namespace": "kube-system"});
        let (code, made, _) = send(&mut server, "POST", path, "", &object.to_string());
        assert_eq!((code, &made["metadata"]["namespace"]), (201, &Value::Null), "{path}: {made}");
        object["metadata"]["labels"] = json!({"new": "1"});
        let one = format!("{path}/a");
        let (code, put, _) = send(&mut server, "PUT", &one, "", &object.to_string());
        let meta = &put["metadata"];
        assert_eq!(
            (code, &meta["namespace"], &meta["labels"]["new"]),
            (200, &Value::Null, &json!("1")),
            "{path}: {put}"
        );
        let (code, patched, _) = send(&mut server, "PATCH", &one, MERGE, r#"{"metadata":{"namespace":"x"}}"#);
        assert_eq!((code, &patched["metadata"]["namespace"]), (200, &Value::Null), "{path}: {patched}");
        let applied = json!({"metadata": {"name": "b", "namespace": "x"}});
        let query = format!("{path}/b?fieldManager=m");
        let mut config = extra.clone();
        config["metadata"] = applied["metadata"].clone();
        config["apiVersion"] = made["apiVersion"].clone();
        config["kind"] = made["kind"].clone();
        let (code, applied, _) =
            send(&mut server, "PATCH", &query, "application/apply-patch+yaml", &config.to_string());
        assert_eq!((code, &applied["metadata"]["namespace"]), (201, &Value::Null), "{path}: {applied}");
    }
}

const MERGE: &str = "application/merge-patch+json";
