//! Pods over HTTP: binding, deleting, connecting, logs.

use super::*;

const PODS: &str = "/api/v1/namespaces/default/pods";

/// A server whose namespace can have Pods.
fn server_with_account() -> ApiServer {
    let mut server = server_with_config_maps(0);
    let account = "/api/v1/namespaces/default/serviceaccounts";
    assert_eq!(send(&mut server, "POST", account, "", r#"{"metadata":{"name":"default"}}"#).0, 201);
    server
}

/// Each delete of a Pod on a node, and the grace and the generation that it then has.
#[test]
fn a_later_delete_only_shortens_the_grace() {
    let mut server = server_with_account();
    let pod = r#"{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}"#;
    let (code, told, _) = send(&mut server, "POST", PODS, "", pod);
    assert_eq!(code, 201, "{told}");
    for (query, grace) in [
        ("?gracePeriodSeconds=60", 60),
        ("", 60),
        ("?gracePeriodSeconds=90", 60),
        ("?gracePeriodSeconds=10", 10),
        ("?gracePeriodSeconds=-5", 1),
    ] {
        let (code, dying, _) = send(&mut server, "DELETE", &format!("{PODS}/p{query}"), "", "");
        assert_eq!((code, &dying["metadata"]["deletionGracePeriodSeconds"]), (200, &json!(grace)), "{query}: {dying}");
        assert_eq!(dying["metadata"]["generation"], json!(2));
        let ends = format!("2026-01-01T00:{:02}:{:02}Z", grace / 60, grace % 60);
        assert_eq!(dying["metadata"]["deletionTimestamp"], json!(ends), "{query}");
    }
    let (_, gone, _) = send(&mut server, "DELETE", &format!("{PODS}/p?gracePeriodSeconds=0"), "", "");
    assert_eq!(gone["metadata"]["deletionGracePeriodSeconds"], json!(0));
    assert_eq!(send(&mut server, "GET", &format!("{PODS}/p"), "", "").0, 404);
}

/// What happens to its dependents is said by the first delete.
#[test]
fn a_pod_that_is_held_is_not_held_by_more() {
    let mut server = server_with_account();
    let pod = r#"{"metadata":{"name":"p","finalizers":["a/b"]},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;
    assert_eq!(send(&mut server, "POST", PODS, "", pod).0, 201);
    for policy in ["Background", "Foreground"] {
        let (code, dying, _) = send(&mut server, "DELETE", &format!("{PODS}/p?propagationPolicy={policy}"), "", "");
        assert_eq!((code, &dying["metadata"]["deletionGracePeriodSeconds"]), (200, &json!(0)), "{dying}");
        assert_eq!(dying["metadata"]["finalizers"], json!(["a/b"]), "{policy}");
    }
}

/// A Pod that is deleted by force is marked first, so that who watches sees it going before it is gone.
#[test]
fn a_pod_is_marked_before_it_is_gone() {
    let mut server = server_with_account();
    let pod = r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;
    assert_eq!(send(&mut server, "POST", PODS, "", pod).0, 201);
    let since = server.store.revision();
    assert_eq!(send(&mut server, "DELETE", &format!("{PODS}/p"), "", "").0, 200);
    let (_, _, lines) = send(&mut server, "GET", &format!("{PODS}?watch=1&resourceVersion={since}"), "", "");
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen = |event: &Value| {
        let meta = &event["object"]["metadata"];
        (event["type"].clone(), meta["deletionGracePeriodSeconds"].clone(), meta["generation"].clone())
    };
    let want = |type_: &str| (json!(type_), json!(0), json!(2));
    assert_eq!(events.iter().map(seen).collect::<Vec<_>>(), [want("MODIFIED"), want("DELETED")]);
}

/// A Pod is bound by a Binding that names it, as well as at its own endpoint.
#[test]
fn a_binding_may_say_itself_which_pod_it_is_about() {
    let mut server = server_with_account();
    let pod = r#"{"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}"#;
    assert_eq!(send(&mut server, "POST", PODS, "", pod).0, 201);
    let bindings = "/api/v1/namespaces/default/bindings";
    #[rustfmt::skip]
    let cases = [
        (json!({"target": {"kind": "Node", "name": "n1"}}), 400, "Name parameter required."),
        (json!({"metadata": {"name": "web"}, "target": {"kind": "Pod", "name": "n1"}}), 500,
            "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\""),
        (json!({"metadata": {"name": "db"}, "target": {"name": "n1"}}), 404, "pods \"db\" not found"),
        (json!({"metadata": {"name": "web", "namespace": "other"}, "target": {"name": "n1"}}), 400,
            "the namespace of the provided object does not match the namespace sent on the request"),
    ];
    for (binding, code, message) in cases {
        let (got, told, _) = send(&mut server, "POST", bindings, "", &binding.to_string());
        assert_eq!((got, told["message"].as_str()), (code, Some(message)), "{binding}");
    }
    let binding = json!({"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n1"}}).to_string();
    let (code, told, _) = send(&mut server, "POST", bindings, "", &binding);
    let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    assert_eq!((code, told), (201, success));
    let (_, pod, _) = send(&mut server, "GET", &format!("{PODS}/web"), "", "");
    assert_eq!(pod["spec"]["nodeName"], "n1");
    let (code, told, _) = send(&mut server, "POST", bindings, "", &binding);
    let why = "Operation cannot be fulfilled on pods/binding \"web\": pod web is already assigned to node \"n1\"";
    assert_eq!((code, told["message"].as_str()), (409, Some(why)));
}

/// A connection to a Pod is checked like any request, and then wants another protocol.
#[test]
fn a_plain_request_is_not_connected() {
    let mut server = server_with_account();
    let node =
        json!({"metadata": {"name": "n1"}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}});
    assert_eq!(send(&mut server, "POST", "/api/v1/nodes", "", &node.to_string()).0, 201);
    let pod =
        json!({"metadata": {"name": "web"}, "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i:1"}]}});
    assert_eq!(send(&mut server, "POST", PODS, "", &pod.to_string()).0, 201);
    for (method, path, code, message) in [
        ("GET", "web/exec?command=ls&command=-l", 400, "Upgrade request required"),
        ("POST", "web/attach?container=c", 400, "Upgrade request required"),
        ("POST", "web/portforward", 400, "Upgrade request required"),
        ("POST", "web/exec", 400, "you must specify at least one command for the container"),
        ("GET", "web/exec?command=ls&container=d", 400, "container d is not valid for pod web"),
        ("GET", "db/portforward", 404, "pods \"db\" not found"),
        ("PUT", "web/exec", 405, "the server does not allow this method on the requested resource"),
    ] {
        let (got, told, _) = send(&mut server, method, &format!("{PODS}/{path}"), "", "");
        assert_eq!((got, told["message"].as_str()), (code, Some(message)), "{method} {path}");
    }
    let (_, core, _) = send(&mut server, "GET", "/api/v1", "", "");
    let exec = core["resources"].as_array().unwrap().iter().find(|row| row["name"] == "pods/exec");
    let want = json!({"name": "pods/exec", "singularName": "", "namespaced": true, "kind": "PodExecOptions", "verbs": ["create", "get"]});
    assert_eq!(exec, Some(&want));
}

#[test]
fn the_log_of_a_pod_without_a_node_is_empty() {
    let mut server = server_with_account();
    let container = |name: &str| json!({"name": name, "image": "i:1"});
    let spec = json!({"initContainers": [container("in")], "containers": [container("a"), container("b")]});
    let pod = json!({"metadata": {"name": "web"}, "spec": spec});
    assert_eq!(send(&mut server, "POST", PODS, "", &pod.to_string()).0, 201);
    for (path, code, message) in [
        ("log", 400, Some("a container name must be specified for pod web, choose one of: [in a b]")),
        ("log?container=c", 400, Some("container c is not valid for pod web")),
        ("log?container=in", 204, None),
        ("attach?container=a", 400, Some("pod web does not have a host assigned")),
    ] {
        let method = if path.starts_with("log") { "GET" } else { "POST" };
        let (got, told, _) = send(&mut server, method, &format!("{PODS}/web/{path}"), "", "");
        assert_eq!((got, told["message"].as_str()), (code, message), "{path}");
    }
}

/// What the server prints although no client has written it is no change when it comes back.
#[test]
fn a_toleration_can_be_added_to_whatever_volumes_there_are() {
    let mut server = server_with_account();
    let template = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let env = json!({"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}});
    let spec = json!({"containers": [{"name": "a", "image": "i:1", "env": [env]}],
        "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]});
    let pod = json!({"metadata": {"name": "web"}, "spec": spec});
    assert_eq!(send(&mut server, "POST", PODS, "", &pod.to_string()).0, 201);
    let toleration = json!({"key": "a", "operator": "Exists"});
    let patch = json!([{"op": "add", "path": "/spec/tolerations", "value": [toleration]}]).to_string();
    let (code, told, _) = send(&mut server, "PATCH", &format!("{PODS}/web"), "application/json-patch+json", &patch);
    assert_eq!((code, &told["spec"]["tolerations"][0]["key"]), (200, &json!("a")), "{told}");
}

const SENT_TO_PARTS: &str = r#"
POST | pods/web/eviction | {"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}} | 400 Pod in version "v1" cannot be handled as a Eviction: converting (v1.Pod) to (policy.Eviction): unknown conversion
POST | pods/web/eviction | {"apiVersion":"policy/v9","kind":"Eviction"} | 400 Eviction in version "v9" cannot be handled as a Eviction: no kind "Eviction" is registered for version "policy/v9" in scheme
POST | pods/web/eviction | {"metadata":{"name":"web","namespace":"other"}} | 400 the namespace of the provided object does not match the namespace sent on the request
POST | pods/web/binding | {"metadata":{"name":"web","namespace":"other"},"target":{"name":"n"}} | 400 the namespace of the provided object does not match the namespace sent on the request
POST | serviceaccounts/default/token | {"apiVersion":"v1","kind":"Pod"} | 400 Pod in version "v1" cannot be handled as a TokenRequest: converting (v1.Pod) to (authentication.TokenRequest): unknown conversion
POST | serviceaccounts/default/token | {"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Pod"}}} | 400 Name parameter required.
POST | serviceaccounts/default/token | {"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":"gone"}}} | 404 secrets "gone" not found
POST | serviceaccounts/default/token | {"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Node","name":"gone"}}} | 404 nodes "gone" not found
POST | serviceaccounts/default/token | {"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"web","uid":"x"}}} | 409 Operation cannot be fulfilled on Pod "web": the UID in the bound object reference (x) does not match
POST | serviceaccounts/default/token | {"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":"s"}}} | 201
GET | pods/web/log?tailLines=x |  | 400 strconv.ParseInt: parsing "x": invalid syntax
GET | pods/web/log?sinceTime=x |  | 400 parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"
GET | pods/web/log?sinceTime=2026-01-01T00:00:00Z&sinceSeconds=0 |  | 422 PodLogOptions "web" is invalid: : Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified
DELETE | configmaps?continue=x |  | 400 invalid continue token: continue key is not valid
DELETE | configmaps?resourceVersion=x |  | 400 invalid resource version
"#;

#[test]
fn what_is_sent_to_a_part_of_an_object_is_of_its_kind_and_about_it() {
    let mut server = server_with_account();
    let pod = r#"{"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}"#;
    assert_eq!(send(&mut server, "POST", PODS, "", pod).0, 201);
    let secrets = "/api/v1/namespaces/default/secrets";
    assert_eq!(send(&mut server, "POST", secrets, "", r#"{"metadata":{"name":"s"}}"#).0, 201);
    answered(&mut server, "/api/v1/namespaces/default/", SENT_TO_PARTS);
}
