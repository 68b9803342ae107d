//! What an imitation of the API server gets wrong: the rules that a recording of a real one ends with, a few rows each.
//!
//! The rows of a rule are sent in order to one server, which nothing but the API machinery runs behind. A row is who asks, the
//! method and the path, the headers that matter, a body, the code, and what the answer says or its headers have. What needs
//! controllers, kubelets or clients is tested with those.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use apiserver::ApiServer;
use apiserver::authorization::bootstrap;
use object::time::Instant;
use rest::exchange::{Caller, RawAnswer, RawRequest, Told, exchange};
use wire::{Answer, Body, Request, User, Verb};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const NOT_SERVED: &str = "the server could not find the requested resource";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const CM: &str = "/api/v1/namespaces/default/configmaps";

/// A kind whose objects have a size that is not over their greatest.
const WIDGETS: &str = r#"{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
    {"type":"object","properties":{"spec":{"type":"object","required":["size"],
        "x-kubernetes-validations":[{"rule":"self.size <= self.max","message":"size over max"}],
        "properties":{"size":{"type":"integer"},"max":{"type":"integer","default":10}}}}}}}]}}"#;
const ESTABLISHED: &str = r#"{"status":{"conditions":[
    {"type":"NamesAccepted","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"},
    {"type":"Established","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}"#;
const APPROVED: &str =
    r#"{"status":{"conditions":[{"type":"Approved","status":"True","reason":"Me","message":"ok"}]}}"#;

/// Who asks, the method and the path, `Name: value` of headers, the body, the code, and what must be there: `Name: value` of a
/// header, or a part of the body; behind `!` what must not.
type Row<'r> = (&'r str, &'r str, &'r [&'r str], &'r str, u16, &'r [&'r str]);

/// A server, and its clients.
struct Asked(RefCell<ApiServer>);

impl Default for Asked {
    /// With the rights that every user has.
    fn default() -> Asked {
        let mut server = ApiServer::new(5);
        for role in bootstrap::objects() {
            let own = Rc::new(User::loopback());
            let request =
                Request::new(own, Verb::Create, role.kind(), role.namespace(), "", Body::Object(role.clone()));
            server.handle(&request, None, Instant::default());
        }
        Asked(RefCell::new(server))
    }
}

impl Asked {
    fn answer(&self, who: &str, line: &str, headers: &[&str], body: &str) -> Option<RawAnswer> {
        let (method, target) = line.split_once(' ').expect("a method and a path");
        let headers: Vec<(&str, &str)> = headers.iter().filter_map(|header| header.split_once(": ")).collect();
        let raw = RawRequest { method, target, headers: &headers, body: body.as_bytes() };
        let user = |name: &str, groups: &[&str]| User {
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            agent: "test".into(),
            ..User::default()
        };
        let caller = match who {
            "" => Caller::Known(Rc::new(User { agent: "test".into(), ..User::admin() })),
            "nobody" => Caller::At { peer: [192, 0, 2, 1].into(), agent: "test/192.0.2.1".into() },
            name => Caller::Known(Rc::new(user(name, &["dev", "system:authenticated"]))),
        };
        let ask = async |request: Request| -> Option<Answer> {
            Some(self.0.borrow_mut().handle(&request, None, Instant::default()).answer)
        };
        let told = pin!(exchange(&raw, &caller, Instant::default, &ask));
        match told.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Told::Answer(answer)) => Some(answer),
            Poll::Ready(_) => None,
            Poll::Pending => panic!("{line} waits, though each answer is there at once"),
        }
    }
}

fn check(rule: usize, rows: &[Row]) -> Vec<String> {
    let server = Asked::default();
    let named = "{\"metadata\":{\"name\":\"default\"}}";
    for path in ["/api/v1/namespaces", "/api/v1/namespaces/default/serviceaccounts"] {
        server.answer("", &format!("POST {path}"), &[], named);
    }
    let mut wrong = Vec::new();
    for (who, line, headers, body, code, wanted) in rows {
        let Some(answer) = server.answer(who, line, headers, body) else {
            wrong.push(format!("{rule}. {who} {line}: no plain answer"));
            continue;
        };
        if answer.code != *code {
            wrong.push(format!("{rule}. {who} {line}: {code} is {}: {}", answer.code, answer.body));
        }
        for part in *wanted {
            let is_there = |part: &str| {
                let of_header = part.split_once(": ").is_some_and(|(name, value)| {
                    answer.headers.iter().any(|(other, there)| *other == name && there.contains(value))
                });
                of_header || answer.body.contains(part)
            };
            let as_wanted = match part.strip_prefix('!') {
                Some(part) => !is_there(part),
                None => is_there(part),
            };
            if !as_wanted {
                let body: String = answer.body.chars().take(600).collect();
                wrong.push(format!("{rule}. {who} {line}: {part:?}: {:?} {body}", answer.headers));
            }
        }
    }
    wrong
}

#[test]
fn rules_of_the_wire_hold() {
    let cm = |name: &str| format!("{{\"metadata\":{{\"name\":\"{name}\"}}}}");
    let [a, b, c] = ["a", "b", "c"].map(cm);
    let long = format!("{{\"metadata\":{{\"name\":\"long\"}},\"data\":{{\"a\":\"{}\"}}}}", "x".repeat((1 << 20) + 1));
    let huge = format!("{{\"metadata\":{{\"name\":\"huge\"}},\"data\":{{\"a\":\"{}\"}}}}", "x".repeat(3 << 20));
    let noted =
        format!("{{\"metadata\":{{\"name\":\"noted\",\"annotations\":{{\"a\":\"{}\"}}}}}}", "x".repeat(256 << 10));
    let pod = r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x"}],"terminationGracePeriodSeconds":-1}}"#;
    let secret = r#"{"metadata":{"name":"s"},"stringData":{"a":"b"}}"#;
    let lease = r#"{"metadata":{"name":"l"},"spec":{"holderIdentity":"a"}}"#;
    let review = r#"{"spec":{}}"#;
    let (crds, widgets) =
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.com/v1/namespaces/default/widgets");
    let widget = |name: &str, spec: &str| {
        format!(r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{name}"}},"spec":{spec}}}"#)
    };
    let [over, missing, fits] = [("over", r#"{"size":11}"#), ("missing", "{}"), ("fits", r#"{"size":3}"#)]
        .map(|(name, spec)| widget(name, spec));
    let request = object::base64::padded(include_bytes!("../../src/object/x509/recorded-request.pem"));
    let signing = |name: &str, usage: &str| {
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"request":"{request}","signerName":"kubernetes.io/kube-apiserver-client","usages":["{usage}"],"username":"root","groups":["system:masters"]}}}}"#
        )
    };
    let [jane, fly] = [("jane", "client auth"), ("fly", "fly")].map(|(name, usage)| signing(name, usage));
    let (csrs, roles) =
        ("/apis/certificates.k8s.io/v1/certificatesigningrequests", "/apis/rbac.authorization.k8s.io/v1/clusterroles");
    #[rustfmt::skip]
    let rules: &[(usize, &[Row])] = &[
        (1, &[
            ("", "GET /api/v1/namespaces/default/foos", &[], "", 404, &[NOT_SERVED, "\"details\":{}", "Content-Type: application/json"]),
            ("", "GET /apis/apps/v9/deployments", &[], "", 404, &[NOT_SERVED, "\"details\":{}"]),
            ("", "GET /apis/nope.example.com/v1/foos", &[], "", 404, &["404 page not found\n", "X-Content-Type-Options: nosniff"]),
            ("", "GET /openapi/v3/apis/nope", &[], "", 404, &["!Content-Type: application", "!{"]),
        ]),
        (2, &[
            ("alice", "GET /api/v1/namespaces/default/foos", &[], "", 403, &["cannot list resource \\\"foos\\\""]),
            ("alice", "GET /apis/nope.example.com/v1/foos", &[], "", 403, &["forbidden"]),
            ("alice", "POST /api/v1/namespaces/none/configmaps", &[], "{", 403, &["cannot create resource"]),
            ("alice", "GET /api/v1/namespaces/default/pods/p/log", &[], "", 403, &["pods/log", "\"kind\":\"pods\""]),
        ]),
        (3, &[
            ("", "HEAD /api/v1/namespaces", &[], "", 405, &["!Allow: "]),
            ("", "HEAD /healthz", &[], "", 200, &[]),
            ("", "OPTIONS /api/v1/namespaces", &[], "", 405, &["the server does not allow this method", "!Allow: "]),
            ("", "POST /apis", &[], "", 200, &["APIGroupList"]),
            ("", "POST /healthz", &[], "", 200, &["ok"]),
            ("", "POST /api/v1", &[], "", 405, &[]),
            ("", "POST /api/v1/configmaps", &[], &a, 405, &[]),
            ("", "DELETE /api/v1/namespaces", &[], "", 405, &[]),
            ("", "DELETE /api/v1/configmaps", &[], "", 405, &[]),
        ]),
        (4, &[
            ("", "GET /version/", &[], "", 200, &["v1.36.2"]), ("", "GET /api/", &[], "", 200, &["APIVersions"]),
            ("", "GET /api/v1/namespaces/", &[], "", 200, &["NamespaceList"]),
            ("", "GET /api/v1//namespaces", &[], "", 404, &["\"code\":404"]),
            ("", "GET /api/v1/namespaces/default/pods/..", &[], "", 400, &["Name parameter invalid"]),
        ]),
        (5, &[
            ("", "GET /api/v1/namespaces/default", &[], "", 200, &["{\"kind\":\"Namespace\",\"apiVersion\":\"v1\""]),
            ("", "GET /api/v1/namespaces/default?pretty=true", &[], "", 200, &["{\n  \"kind\": \"Namespace\""]),
            ("", "GET /api/v1/namespaces/default", &["User-Agent: curl/8"], "", 200, &["{\n  \"kind\""]),
            ("", &format!("GET {CM}/none"), &[&format!("Accept: {TABLE}")], "", 404, &["{\n  \"kind\": \"Status\""]),
        ]),
        (6, &[
            ("", "GET /openapi/v3", &[], "", 200, &["Content-Type: text/plain; charset=utf-8", "apis/apps/v1?hash="]),
            ("", "GET /openapi/v3/apis/apps/v1", &[], "", 200, &["Etag: \"", "Last-Modified: ", "io.k8s.api.apps.v1.Deployment"]),
            ("", "GET /openapi/v3/apis/apps/v1?hash=ABC", &[], "", 301, &["Location: /openapi/v3/apis/apps/v1?hash=", "!{"]),
            ("", "GET /openapi/v3/apis/apps/v1", &["Accept: application/yaml"], "", 406, &["!{", "!Content-Type: a"]),
            ("", "GET /openapi/v2", &[], "", 200, &["Etag: \"", "\"swagger\":\"2.0\""]),
        ]),
        (7, &[
            ("", "GET /api", &[&format!("Accept: {AGGREGATED}")], "", 200, &["APIGroupDiscoveryList", "Etag: \"", &format!("Content-Type: {AGGREGATED}")]),
            ("", "GET /apis", &[&format!("Accept: {AGGREGATED},application/json")], "", 200, &["\"name\":\"apps\"", "!storagemigration"]),
            ("", "GET /apis", &["Accept: application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"], "", 406, &["only the following media types"]),
            ("", "GET /apis/apps", &[&format!("Accept: {AGGREGATED}")], "", 406, &[]),
            ("", "GET /apis", &[], "", 200, &["APIGroupList"]),
        ]),
        (8, &[
            ("", "GET /api/v1/namespaces", &["Accept: application/*"], "", 406, &["Available representations"]),
            ("", "GET /api/v1/namespaces", &["Accept: */*"], "", 200, &["NamespaceList"]),
            ("", "GET /api/v1/namespaces", &["Accept: application/json;q=0.5;charset=utf-8"], "", 200, &["NamespaceList"]),
            ("", "GET /api/v1/namespaces", &["Accept: text/plain"], "", 406, &["Available representations", "stream=watch"]),
            ("", "GET /api/v1/namespaces", &["Accept: application/json;as=Chair;v=v1;g=meta.k8s.io"], "", 406, &["only the following media types are accepted"]),
            ("", "GET /api/v1/namespaces?watch=1", &["Accept: application/yaml"], "", 406, &["stream=watch"]),
            ("", "GET /api/v1/namespaces/default", &["Accept: application/cbor"], "", 406, &["\"406: Not Acceptable\\n\\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf\""]),
            ("", "GET /api/v1/namespaces?watch=1", &["Accept: application/cbor"], "", 406, &["\"406: Not Acceptable\\n\\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch\""]),
            ("", "GET /api/v1/namespaces", &["Accept: application/cbor, application/json"], "", 200, &["NamespaceList"]),
        ]),
        (9, &[("", "GET /api/v1/namespaces", &[&format!("Accept: {PARTIAL}")], "", 406, &["you requested PartialObjectMetadata, but the requested object is a list"])]),
        (10, &[
            ("", &format!("POST {CM}"), &[], &a, 201, &[]), ("", &format!("POST {CM}"), &[], "{}", 422, &["name or generateName is required"]),
            ("", &format!("POST {CM}"), &[], "null", 422, &["name or generateName is required"]),
            ("", &format!("POST {CM}"), &["Content-Type: application/yaml"], "metadata:\n  name: y\n---\nmetadata:\n  name: z\n", 201, &["\"name\":\"y\""]),
            ("", &format!("POST {CM}"), &["Content-Type: text/plain"], &b, 415, &["the body of the request was in an unknown format"]),
            ("", &format!("PATCH {CM}/a"), &["Content-Type: text/plain"], "{}", 415, &["415: Unsupported Media Type"]),
            ("", &format!("POST {CM}"), &["Content-Type: application/cbor"], "\u{a0}", 415, &["the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"]),
            ("", &format!("PATCH {CM}/a?fieldManager=m"), &["Content-Type: application/apply-patch+cbor"], "\u{a0}", 415, &["415: Unsupported Media Type"]),
        ]),
        (11, &[
            ("", &format!("POST {CM}"), &[], r#"{"Metadata":{},"x":1,"metadata":{"name":"a"}}"#, 201, &["Warning: unknown field \\\"Metadata\\\"", "Warning: unknown field \\\"x\\\""]),
            ("", &format!("POST {CM}"), &[], r#"{"x":1,"metadata":{"name":"a"}}"#, 409, &["Warning: unknown field \\\"x\\\""]),
            ("", &format!("POST {CM}?fieldValidation=Strict"), &[], r#"{"x":1,"metadata":{"name":"b"}}"#, 400, &["strict decoding error: unknown field"]),
        ]),
        (12, &[
            ("", &format!("POST {CM}"), &[], &a, 201, &[]), ("", &format!("POST {CM}"), &[], &b, 201, &[]), ("", &format!("POST {CM}"), &[], &c, 201, &[]),
            ("", &format!("GET {CM}?limit=-1"), &[], "", 200, &["\"name\":\"c\"", "!continue"]),
            ("", &format!("GET {CM}?limit=1"), &[], "", 200, &["\"continue\":\"", "remainingItemCount"]),
            ("", &format!("GET {CM}?limit=1&resourceVersion=0"), &[], "", 200, &["!\"continue\":\"", "\"name\":\"c\""]),
            ("", &format!("GET {CM}?limit=1&labelSelector=!x"), &[], "", 200, &["\"continue\":\"", "!remainingItemCount"]),
            ("", &format!("GET {CM}?colour=red"), &[], "", 200, &[]),
        ]),
        (13, &[
            ("", &format!("GET {CM}?resourceVersion=x"), &[], "", 400, &[]), ("", "GET /api/v1/namespaces/default?resourceVersion=x", &[], "", 500, &[]),
            ("", &format!("GET {CM}?resourceVersionMatch=Exact"), &[], "", 422, &["ListOptions.meta.k8s.io \\\"\\\" is invalid"]),
            ("", &format!("GET {CM}?limit=x"), &[], "", 400, &["strconv.ParseInt: parsing \\\"x\\\": invalid syntax"]),
        ]),
        (14, &[
            ("", &format!("GET {CM}?fieldSelector=x=y"), &[], "", 400, &["\\\"x\\\" is not a known field selector: only \\\"metadata.name\\\", \\\"metadata.namespace\\\""]),
            ("", "GET /api/v1/pods?fieldSelector=x=y", &[], "", 400, &["field label not supported: x"]),
        ]),
        (15, &[
            ("", &format!("GET {CM}?labelSelector=a+in+(*)"), &[], "", 400, &["unable to parse requirement", "values[0][a]"]),
            ("", &format!("GET {CM}?labelSelector=a+in+()"), &[], "", 200, &[]),
        ]),
        (16, &[
            ("", "PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/l", &[], lease, 201, &[]),
            ("", &format!("PUT {CM}/none"), &[], &cm("none"), 404, &[]),
            ("", "PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/l", &[], lease, 422, &["metadata.resourceVersion: Invalid value: 0: must be specified for an update"]),
        ]),
        (17, &[
            ("", &format!("POST {CM}"), &[], r#"{"metadata":{"name":"a","generation":7}}"#, 201, &["\"generation\":7"]),
            ("", "POST /api/v1/namespaces/default/secrets", &[], secret, 201, &["!\"generation\""]),
            ("", "POST /apis/networking.k8s.io/v1/namespaces/default/networkpolicies", &[], r#"{"metadata":{"name":"n"},"spec":{"podSelector":{}}}"#, 201, &["\"generation\":1"]),
        ]),
        (18, &[
            ("", &format!("POST {CM}"), &[], r#"{"metadata":{"name":"a","uid":"mine","selfLink":"x","creationTimestamp":"2001-01-01T00:00:00Z"}}"#, 201, &["!managedFields", "!mine", "!selfLink", "!2001"]),
        ]),
        (19, &[
            ("", &format!("POST {CM}"), &[], &a, 201, &[]), ("", &format!("DELETE {CM}/a"), &[], "", 200, &["\"status\":\"Success\"", "\"uid\""]),
            ("", "POST /api/v1/namespaces/default/serviceaccounts", &[], &a, 201, &[]),
            ("", "DELETE /api/v1/namespaces/default/serviceaccounts/a", &[], "", 200, &["\"kind\":\"ServiceAccount\""]),
            ("", &format!("POST {CM}"), &[], &b, 201, &[]),
            ("", &format!("DELETE {CM}/b"), &[], r#"{"preconditions":{"uid":"x"}}"#, 409, &["Operation cannot be fulfilled on ConfigMap \\\"b\\\": the UID in the precondition"]),
            ("", &format!("DELETE {CM}/b"), &[], r#"{"kind":"Pod","apiVersion":"v1"}"#, 400, &[]),
        ]),
        (20, &[
            ("", &format!("POST {CM}"), &[], &a, 201, &[]),
            ("", &format!("PATCH {CM}/a"), &[&format!("Content-Type: {MERGE}")], r#"{"data":1}"#, 422, &[" \\\"\\\" is invalid: patch: Invalid value"]),
            ("", &format!("PATCH {CM}/a"), &["Content-Type: application/json-patch+json"], r#"[{"op":"remove","path":"/x"}]"#, 422, &["the server rejected our request due to an error in our request"]),
            ("", &format!("PATCH {CM}/a?force=true"), &[&format!("Content-Type: {MERGE}")], "{}", 422, &["force"]),
        ]),
        (21, &[
            ("", &format!("PATCH {CM}/a"), &[&format!("Content-Type: {APPLY}")], &a, 422, &["fieldManager"]),
            ("", &format!("PATCH {CM}/a?fieldManager=m"), &[&format!("Content-Type: {APPLY}")], r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"x":1}"#, 500, &["failed to create typed patch object (/a; /v1, Kind=ConfigMap)", "!\"reason\""]),
            ("", &format!("PATCH {CM}/a?fieldManager=m"), &[&format!("Content-Type: {APPLY}")], r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"1"}}"#, 201, &[]),
            ("", &format!("PATCH {CM}/a?fieldManager=n"), &[&format!("Content-Type: {APPLY}")], r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"2"}}"#, 409, &["conflict with \\\"m\\\": .data.a"]),
            ("", &format!("PATCH {CM}/a?fieldManager=m"), &[&format!("Content-Type: {APPLY}")], r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[]}}"#, 400, &["managedFields"]),
        ]),
        (22, &[("", "POST /api/v1/namespaces/default/services", &[], r#"{"metadata":{"name":"A_"},"spec":{"ports":[{"port":0}]}}"#, 422, &["metadata.name: Invalid value: \\\"A_\\\"", "spec.ports[0].port"])]),
        (23, &[
            ("", "POST /api/v1/namespaces/default/pods", &[], pod, 201, &["\"terminationGracePeriodSeconds\":1,"]),
            ("", "POST /apis/apps/v1/namespaces/default/deployments", &[], r#"{"metadata":{"name":"a.b"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}}"#, 201, &[]),
            ("", "POST /apis/policy/v1/namespaces/default/poddisruptionbudgets", &[], r#"{"metadata":{"name":"a"},"spec":{"selector":{}}}"#, 201, &[]),
        ]),
        (24, &[
            ("", &format!("POST {crds}"), &[], WIDGETS, 201, &[]),
            ("", &format!("PATCH {crds}/widgets.example.com/status"), &[&format!("Content-Type: {MERGE}")], ESTABLISHED, 200, &[]),
            ("", &format!("POST {widgets}"), &[], &fits, 201, &["\"max\":10"]),
            ("", &format!("POST {widgets}"), &[], &missing, 422, &["Widget.example.com \\\"missing\\\" is invalid: [spec.size: Required value, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]"]),
            ("", &format!("POST {widgets}"), &[], &over, 422, &["Widget.example.com \\\"over\\\" is invalid: spec: Invalid value: size over max"]),
        ]),
        (25, &[
            ("", &format!("POST {CM}"), &[], &long, 422, &["Too long"]), ("", &format!("POST {CM}"), &[], &noted, 422, &["metadata.annotations: Too long"]),
            ("", &format!("POST {CM}"), &[], &huge, 413, &["Request entity too large: limit is 3145728"]),
        ]),
        (26, &[
            ("", "POST /api/v1/namespaces/default/pods", &[], pod, 201, &[]),
            ("", "GET /api/v1/namespaces/default/pods/p/log", &[], "", 204, &["!{"]),
            ("", "GET /api/v1/namespaces/default/pods/p/exec", &[], "", 400, &["pod p does not have a host assigned"]),
            ("", "POST /api/v1/namespaces/default/pods/p/binding", &[], r#"{"metadata":{"name":"p"},"target":{"kind":"Node"}}"#, 500, &["target.name: Required value", "!\"reason\""]),
        ]),
        (27, &[
            ("", "POST /api/v1/namespaces/default/pods", &[], pod, 201, &[]),
            ("", "GET /api/v1/namespaces/default/pods/p/ephemeralcontainers", &[], "", 200, &["\"kind\":\"Pod\""]),
            ("", "GET /api/v1/namespaces/default/pods/p/resize", &[], "", 200, &["\"kind\":\"Pod\""]),
        ]),
        (28, &[
            ("nobody", "GET /healthz", &["Authorization: Bearer nonsense"], "", 401, &["Unauthorized", "!WWW-Authenticate: "]),
            ("nobody", "GET /api", &["Authorization: Basic YTpi"], "", 403, &["system:anonymous"]),
            ("nobody", "GET /livez", &[], "", 200, &["ok"]), ("nobody", "GET /version", &[], "", 200, &["v1.36.2"]),
        ]),
        // Left out: that they have no rules until the controller has run.
        (29, &[
            ("", &format!("GET {roles}/admin"), &[], "", 200, &["\"clusterRoleSelectors\":[{\"matchLabels\":{\"rbac.authorization.k8s.io/aggregate-to-admin\":\"true\"}}]"]),
            ("", &format!("GET {roles}/edit"), &[], "", 200, &["aggregate-to-edit\":\"true\"}}]", "aggregate-to-admin\":\"true\""]),
            ("", &format!("GET {roles}/view"), &[], "", 200, &["aggregate-to-view\":\"true\"}}]", "aggregate-to-edit\":\"true\""]),
            ("", &format!("GET {roles}/system:aggregate-to-view"), &[], "", 200, &["!clusterRoleSelectors", "aggregate-to-view\":\"true\""]),
        ]),
        (30, &[
            ("alice", &format!("GET {CM}"), &["Impersonate-User: bob"], "", 403, &["cannot impersonate"]),
            ("", &format!("GET {CM}"), &["Impersonate-Group: g"], "", 400, &[]),
            ("", &format!("GET {CM}"), &["Impersonate-User: "], "", 200, &[]),
        ]),
        (31, &[
            ("", "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &[], review, 422, &[".authorization.k8s.io \\\"\\\" is invalid"]),
        ]),
        (32, &[
            ("alice", &format!("POST {csrs}"), &[], &jane, 403, &["cannot create resource"]),
            ("", &format!("POST {csrs}"), &[], &jane, 201, &["\"username\":\"kubernetes-admin\"", "!\"root\""]),
            ("", &format!("POST {csrs}"), &[], &fly, 422, &["spec.usages[0]: Unsupported value: \\\"fly\\\": supported values: \\\"any\\\", \\\"cert sign\\\"", "\\\"timestamping\\\""]),
            ("", &format!("PATCH {csrs}/jane"), &[&format!("Content-Type: {MERGE}")], APPROVED, 200, &["!Approved"]),
            ("", &format!("PATCH {csrs}/jane/status"), &[&format!("Content-Type: {MERGE}")], APPROVED, 422, &["status.conditions: Forbidden: updates may not add a condition of type \\\"Approved\\\""]),
            ("", &format!("PATCH {csrs}/jane/approval"), &[&format!("Content-Type: {MERGE}")], APPROVED, 200, &["Approved"]),
        ]),
        (33, &[
            ("", "GET /api/v1/namespaces/default/endpoints", &[], "", 200, &["Warning: v1 Endpoints is deprecated"]),
            ("", "GET /api/v1/componentstatuses", &[], "", 200, &["Warning: v1 ComponentStatus is deprecated"]),
        ]),
        (34, &[
            ("", "POST /api/v1/namespaces", &[], &a, 201, &[]), ("", "DELETE /api/v1/namespaces/a", &[], "", 200, &["\"phase\":\"Terminating\""]),
            ("", "POST /api/v1/namespaces/a/configmaps", &[], &b, 403, &["NamespaceTerminating"]),
            ("", "DELETE /api/v1/namespaces/a", &[], "", 200, &["\"kind\":\"Namespace\""]),
            ("", "GET /api/v1/namespaces/a", &[], "", 200, &["Terminating"]),
        ]),
        (37, &[("", "GET /version/?timeout=32s", &[], "", 200, &["v1.36.2"])]),
    ];
    let wrong: Vec<String> = rules.iter().flat_map(|(rule, rows)| check(*rule, rows)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a client has already it is not sent again (rules 6, 7 and 35).
#[test]
fn what_a_client_has_is_not_sent_again() {
    let server = Asked::default();
    let accept = format!("Accept: {AGGREGATED}");
    for (path, accept) in [
        ("/api", accept.as_str()),
        ("/apis", &accept),
        ("/openapi/v3", "Accept: application/json, */*"),
        ("/openapi/v3/api/v1", "Accept: application/json"),
        ("/openapi/v2", "Accept: application/json"),
    ] {
        let line = format!("GET {path}");
        let first = server.answer("", &line, &[accept], "").expect("it is answered");
        let tag = first.header("Etag").to_owned();
        assert!(first.code == 200 && tag.len() > 40, "{path}: {} {tag}", first.code);
        let again = server.answer("", &line, &[accept, &format!("If-None-Match: {tag}")], "").expect("it is answered");
        assert_eq!((again.code, again.body.as_str(), again.header("Etag")), (304, "", tag.as_str()), "{path}");
        let other = server.answer("", &line, &[accept, "If-None-Match: \"ABC\""], "").expect("it is answered");
        assert_eq!(other.code, 200, "{path}");
    }
}
