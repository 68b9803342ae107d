//! Custom objects over HTTP, when their definition changes.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::ApiServer;
use kinds::printers::View;
use object::time::Instant;
use object::{Discovery, Object};
use rest::{HttpRequest, call, respond, watch_line};
use wire::{User, Verb, WatchId};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com";
const THINGS: &str = "/apis/example.com/v1/things";
const MERGE: &str = "application/merge-patch+json";

fn definitions(server: &ApiServer) -> Vec<Object> {
    let all = server.store.prefix("/registry/apiextensions.k8s.io/customresourcedefinitions/");
    all.map(|(_, entry)| entry.value.clone()).collect()
}

/// Sends one raw request; gives code and body, or the first event of a watch.
fn send(server: &mut ApiServer, method: &str, target: &str, content_type: &str, body: &Value) -> (u16, Value) {
    let (code, body, _) = ask(server, method, target, content_type, body);
    (code, body)
}

/// The same with the warnings.
fn ask(
    server: &mut ApiServer,
    method: &str,
    target: &str,
    content_type: &str,
    body: &Value,
) -> (u16, Value, Vec<String>) {
    let body = body.to_string();
    let body = if method == "GET" { "" } else { &body };
    let http = HttpRequest::in_json(Rc::new(User::admin()), method, target, content_type, body);
    let known = Discovery::of(&definitions(server));
    let view = View { now: Instant::default().timestamp(), known: &known };
    let call = call(&http, &known).unwrap_or_else(|answer| panic!("{}", answer.body));
    let watch = (call.request.verb == Verb::Watch).then_some(WatchId(1));
    let handled = server.handle(&call.request, watch, Instant(1_000_000_000));
    if let (Some(watch), Some((_, event))) = (watch, handled.fanout.first()) {
        server.close_watch(watch);
        let event = serde_json::from_str(&watch_line(&call, event, true, view).unwrap()).unwrap();
        return (200, event, Vec::new());
    }
    let answer = respond(&call, &handled.answer, view);
    (answer.code, serde_json::from_str(&answer.body).unwrap(), handled.answer.warnings)
}

fn versions(spec: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}});
    json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}])
}

/// A server with a custom kind, Thing, and one object of it, `a`.
fn server() -> ApiServer {
    let mut server = ApiServer::new(1);
    let text = json!({"type": "string"});
    let definition = json!({"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing"}, "versions": versions(&json!({"colour": text, "shape": text}))}});
    assert_eq!(send(&mut server, "POST", DEFINITIONS, "", &definition).0, 201);
    let condition = |name| json!({"type": name, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"status": {"conditions": [condition("NamesAccepted"), condition("Established")]}});
    assert_eq!(send(&mut server, "PATCH", &format!("{DEFINITION}/status"), MERGE, &status).0, 200);
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"},
        "spec": {"colour": "red", "shape": "round"}});
    assert_eq!(send(&mut server, "POST", THINGS, "", &thing).0, 201);
    server
}

/// A default that the schema gains is seen at once, and a field that it loses is gone at once. etcd keeps the object as it was
/// written, until a client writes it again, even without a change.
#[test]
fn what_is_stored_is_read_as_the_schema_is_now() {
    let mut server = server();
    let now = json!({"colour": {"type": "string"}, "size": {"type": "integer", "default": 3}});
    let change = json!({"spec": {"versions": versions(&now)}});
    assert_eq!(send(&mut server, "PATCH", DEFINITION, MERGE, &change).0, 200);
    let want = json!({"colour": "red", "size": 3});
    let one = format!("{THINGS}/a");
    let (_, seen) = send(&mut server, "GET", &one, "", &Value::Null);
    assert_eq!(seen["spec"], want);
    let (_, list) = send(&mut server, "GET", THINGS, "", &Value::Null);
    assert_eq!(list["items"][0]["spec"], want);
    let (_, event) = send(&mut server, "GET", &format!("{THINGS}?watch=1"), "", &Value::Null);
    assert_eq!(event["object"]["spec"], want);
    let stored = server.store.get("/registry/example.com/things/a").unwrap().value.to_json();
    assert_eq!(stored["spec"], json!({"colour": "red", "shape": "round"}));

    let (code, written) = send(&mut server, "PATCH", &one, MERGE, &json!({}));
    assert_eq!((code, &written["spec"], &written["metadata"]["generation"]), (200, &want, &json!(1)));
    assert_ne!(written["metadata"]["resourceVersion"], seen["metadata"]["resourceVersion"], "it is written anew");
    let stored = server.store.get("/registry/example.com/things/a").unwrap().value.to_json();
    assert_eq!(stored["spec"], want);
    let (_, again) = send(&mut server, "PATCH", &one, MERGE, &json!({}));
    assert_eq!(again["metadata"]["resourceVersion"], written["metadata"]["resourceVersion"], "once");
}

/// A finalizer that names no domain is allowed, and warned of once.
#[test]
fn finalizers_need_no_domain() {
    let mut server = server();
    let one = format!("{THINGS}/a");
    let hold = |names: &[&str]| json!({"metadata": {"finalizers": names}});
    let prefer = |name: &str, path: &str| {
        format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with \
             other finalizer writers"
        )
    };
    for (names, want) in [
        (&["hold"][..], vec![prefer("hold", "")]),
        (
            &["hold", "hold.example.com", "example.com/hold", "orphan"],
            vec![prefer("hold.example.com", " including a path (/)")],
        ),
        (&["hold"], vec![]),
    ] {
        let (code, _, warnings) = ask(&mut server, "PATCH", &one, MERGE, &hold(names));
        assert_eq!((code, warnings), (200, want), "{names:?}");
    }
}

#[test]
fn a_schema_is_asked_about_the_whole_object() {
    let mut server = server();
    let schema = json!({"type": "object", "required": ["apiVersion", "kind", "metadata", "spec"], "minProperties": 4,
        "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}}},
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let versions = json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]);
    let patch = json!({"spec": {"versions": versions}});
    let (code, answer) = send(&mut server, "PATCH", DEFINITION, MERGE, &patch);
    assert_eq!(code, 200, "{answer}");
    let thing =
        |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {}});
    assert_eq!(send(&mut server, "POST", THINGS, "", &thing("ab")).0, 201);
    let (code, refused) = send(&mut server, "POST", THINGS, "", &thing("b"));
    let want = "Thing.example.com \"b\" is invalid: metadata.name: Invalid value: \"b\": metadata.name in body should match '^a'";
    assert_eq!((code, &refused["message"]), (422, &json!(want)));
    let bare = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "ac"}});
    let (code, refused) = send(&mut server, "POST", THINGS, "", &bare);
    assert_eq!((code, &refused["details"]["causes"][0]["field"]), (422, &json!("<nil>")), "{refused}");
}
