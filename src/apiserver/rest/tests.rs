use serde_json::{Value, json};

use super::*;
use crate::apiserver::ApiServer;
use crate::apiserver::watch::WatchId;
use crate::object::time::Instant;

/// Sends one raw request through the server; gives code, body and watch lines.
fn send(server: &mut ApiServer, method: &str, target: &str, content_type: &str, body: &str) -> (u16, Value, String) {
    let user = Some(Rc::new(User::admin()));
    let http = HttpRequest { method, target, content_type, accept: "application/json", body, user };
    let call = match call(&http, &Discovery::default()) {
        Ok(call) => call,
        Err(answer) => return (answer.code, serde_json::from_str(&answer.body).unwrap_or_default(), String::new()),
    };
    let watch = (call.request.verb == Verb::Watch).then_some(WatchId(1));
    let handled = server.handle(&call.request, watch, Instant::default());
    let answer = respond(&call, &handled.answer);
    let lines = handled.fanout.iter().filter_map(|(_, event)| watch_line(&call, event)).collect();
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
MERGE | ghost | { | 400 error decoding patch: unexpected end of JSON input
MERGE | ghost | [] | 400 error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}
MERGE | ghost?fieldValidation=Ignore | [] | 400 Invalid JSON Patch
JSON | ghost | {} | 400 error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp
STRATEGIC | ghost | { | 400 unexpected end of JSON input
"#;

#[test]
fn what_is_sent_is_looked_at_before_what_is_stored() {
    let mut server = server_with_config_maps(0);
    for line in REFUSED.trim().lines() {
        let [method, target, body, wanted] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (method, content_type) = match method {
            "MERGE" => ("PATCH", "application/merge-patch+json"),
            "JSON" => ("PATCH", "application/json-patch+json"),
            "STRATEGIC" => ("PATCH", "application/strategic-merge-patch+json"),
            method => (method, "application/json"),
        };
        let target = format!("/api/v1/namespaces/default/pods/{target}");
        let (code, answer, _) = send(&mut server, method, &target, content_type, body);
        assert_eq!(format!("{code} {}", answer["message"].as_str().unwrap_or_default()), wanted, "{line}");
    }
}
