use serde_json::{Value as Json, json};

use crate::ApiServer;
use crate::admission::testing::object;
use object::time::Instant;
use object::{Kind, Object, Status};
use wire::{Body, DeleteOptions, Error, Patch, Request, Subresource, User, Verb};

mod mutating;

/// A server with objects in it.
struct Bench(ApiServer);

impl Bench {
    fn new() -> Bench {
        let mut bench = Bench(ApiServer::new(1));
        for (name, stage) in [("default", "prod"), ("play", "test")] {
            bench.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"stage": stage}}})).unwrap();
        }
        bench
    }

    fn ask(&mut self, request: Request) -> (Result<(), Status>, Vec<String>) {
        let answer = self.0.handle(&request, None, Instant::default()).answer;
        (answer.result.map(|_| ()).map_err(Error::into_status), answer.warnings)
    }

    fn request(verb: Verb, kind: Kind, namespace: &str, name: &str, body: Body) -> Request {
        Request::new(User::admin().into(), verb, kind, namespace, name, body)
    }

    fn create(&mut self, manifest: Json) -> Result<(), Status> {
        let object = object(manifest);
        let namespace = object.namespace().to_owned();
        self.ask(Bench::request(Verb::Create, object.kind(), &namespace, "", Body::Object(object))).0
    }

    fn policy(&mut self, name: &str, spec: Json, binding: Json) {
        let of = |kind: &str, spec: Json| json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        let mut whole = json!({"matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        self.create(of("ValidatingAdmissionPolicy", whole)).unwrap();
        let mut bound = json!({"policyName": name, "validationActions": ["Deny"]});
        bound.as_object_mut().unwrap().extend(binding.as_object().unwrap().clone());
        self.create(of("ValidatingAdmissionPolicyBinding", bound)).unwrap();
    }

    /// What a new ConfigMap is told.
    fn map(&mut self, namespace: &str, name: &str, data: Json) -> String {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data});
        self.create(map).map_or_else(|status| status.message, |()| "created".to_owned())
    }
}

fn validation(expression: &str) -> Json {
    json!({"validations": [{"expression": expression}]})
}

#[test]
fn what_a_request_is_refused_with() {
    for (spec, code, reason, why) in [
        (validation("object.data.a == '2'"), 422, "Invalid", "failed expression: object.data.a == '2'"),
        (json!({"validations": [{"expression": "false", "message": " no "}]}), 422, "Invalid", "no"),
        (
            json!({"validations": [{"expression": "false", "message": "no", "messageExpression": "'a is ' + object.data.a"}]}),
            422,
            "Invalid",
            "a is 1",
        ),
        (
            json!({"validations": [{"expression": "false", "message": "no", "messageExpression": "'' + object.data.b"}]}),
            422,
            "Invalid",
            "no",
        ),
        (
            json!({"validations": [{"expression": "false", "reason": "Forbidden", "message": "no"}]}),
            403,
            "Forbidden",
            "no",
        ),
        (
            validation("object.data.b == '2'"),
            422,
            "Invalid",
            "expression 'object.data.b == '2'' resulted in error: no such key: b",
        ),
        (
            json!({"variables": [{"name": "x", "expression": "object.data.b"}], "validations": [{"expression": "variables.x == ''"}]}),
            422,
            "Invalid",
            "expression 'variables.x == ''' resulted in error: composited variable \"x\" fails to evaluate: no such key: b",
        ),
        (
            json!({"matchConditions": [{"name": "c", "expression": "object.data.b == ''"}], "validations": [{"expression": "true"}]}),
            422,
            "Invalid",
            "expression 'object.data.b == ''' resulted in error: no such key: b",
        ),
    ] {
        let mut bench = Bench::new();
        bench.policy("p", spec, json!({}));
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}, "data": {"a": "1"}});
        let status = bench.create(map).unwrap_err();
        let text = format!("ValidatingAdmissionPolicy 'p' with binding 'p' denied request: {why}");
        assert_eq!(status.message, format!("configmaps \"m\" is forbidden: {text}"));
        assert_eq!((status.code, format!("{:?}", status.reason).as_str()), (code, reason));
        let details = status.details.unwrap();
        assert_eq!((details.kind.as_str(), details.causes[0].field.as_str()), ("configmaps", ""));
        assert_eq!(details.causes[0].message, text);
    }
}

#[test]
fn what_expressions_can_see() {
    const HOLD: [&str; 10] = [
        "object.metadata.name == 'm' && oldObject == null && object.kind == 'ConfigMap'",
        "request.operation == 'CREATE' && request.name == 'm' && request.namespace == 'default'",
        "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps' && request.resource.group == ''",
        "request.userInfo.username == 'kubernetes-admin' && 'system:masters' in request.userInfo.groups",
        "namespaceObject.metadata.labels.stage == 'prod' && namespaceObject.status.phase == 'Active'",
        "namespaceObject.metadata.creationTimestamp < timestamp('2100-01-01T00:00:00Z')",
        "!has(request.subResource) && !request.dryRun && has(object.data.a) && !has(object.data.b)",
        "object.data.all(k, object.data[k].size() < 5) && object.?metadata.?labels.?team.orValue('none') == 'none'",
        "has(object.metadata.labels) || true",
        "int(object.data.a) + 1 == 2",
    ];
    for expression in HOLD {
        let mut bench = Bench::new();
        bench.policy("p", validation(expression), json!({}));
        assert_eq!(bench.map("default", "m", json!({"a": "1"})), "created", "{expression}");
    }
}

/// A Deployment with one replica and a label.
fn deployment() -> Json {
    let labels = json!({"app": "web"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default", "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "web", "image": "web:1", "env": [{"name": "A", "value": "1"}], "args": ["x"]}]}}}})
}

/// What a change of the Deployment's scale is about.
fn of_scale() -> Json {
    json!({"resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["deployments/scale"]}]})
}

impl Bench {
    /// Asks for so many replicas of the Deployment.
    fn scale(&mut self, replicas: i32) -> Result<(), Status> {
        let body = Body::Patch(Patch::Merge(json!({"spec": {"replicas": replicas}})));
        let request = Bench::request(Verb::Patch, Kind::Deployment, "default", "web", body);
        self.ask(Request { subresource: Some(Subresource::Scale), ..request }).0
    }
}

#[test]
fn who_is_asked_about_a_scale_sees_a_scale() {
    const HOLD: [&str; 6] = [
        "object.kind == 'Scale' && object.apiVersion == 'autoscaling/v1' && request.kind.kind == 'Scale'",
        "request.kind.group == 'autoscaling' && request.resource.resource == 'deployments' && request.subResource == 'scale'",
        "request.operation == 'UPDATE' && object.metadata.name == 'web' && object.metadata.namespace == 'default'",
        "!has(object.metadata.labels) && !has(object.spec.template) && object.status.selector == 'app=web'",
        "oldObject.spec.replicas == 1 && object.spec.replicas == 4",
        "!has(oldObject.metadata.labels) && oldObject.kind == 'Scale'",
    ];
    for expression in HOLD {
        let mut bench = Bench::new();
        bench.create(deployment()).unwrap();
        let mut spec = validation(expression);
        spec["matchConstraints"] = of_scale();
        bench.policy("p", spec, json!({}));
        assert_eq!(bench.scale(4).map_err(|status| status.message), Ok(()), "{expression}");
    }
    // A Scale has no labels to be selected by.
    let mut bench = Bench::new();
    bench.create(deployment()).unwrap();
    let mut spec = validation("false");
    spec["matchConstraints"] = of_scale();
    bench.policy("p", spec, json!({"matchResources": {"objectSelector": {"matchLabels": {"app": "web"}}}}));
    assert!(bench.scale(4).is_ok());
    bench.0.policies.changed(Some(&bound("p")), None);
    bench
        .create(json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "q"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}))
        .unwrap();
    let refused = bench.scale(5).unwrap_err().message;
    assert_eq!(
        refused,
        "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'q' denied request: failed expression: false"
    );
}

#[test]
fn which_requests_a_policy_is_about() {
    let mut bench = Bench::new();
    let spec = json!({"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
            "operations": ["UPDATE", "DELETE"], "resources": ["configmaps"]}],
        "excludeResourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "resourceNames": ["free"]}]},
        "matchConditions": [{"name": "kept", "expression": "oldObject.data.?kept.orValue('') == 'yes'"}],
        "validations": [{"expression": "object != null && object.data == oldObject.data", "message": "kept"}]});
    bench.policy("p", spec, json!({"matchResources": {"namespaceSelector": {"matchLabels": {"stage": "prod"}}}}));
    for (namespace, name, kept) in
        [("default", "m", "yes"), ("default", "n", "no"), ("default", "free", "yes"), ("play", "m", "yes")]
    {
        assert_eq!(bench.map(namespace, name, json!({"kept": kept})), "created");
    }
    let patch = |value: &str| Body::Patch(Patch::Merge(json!({"data": {"x": value}})));
    for (namespace, name, refused) in
        [("default", "m", true), ("default", "n", false), ("default", "free", false), ("play", "m", false)]
    {
        let update = Bench::request(Verb::Patch, Kind::ConfigMap, namespace, name, patch("1"));
        let delete =
            Bench::request(Verb::Delete, Kind::ConfigMap, namespace, name, Body::Delete(DeleteOptions::default()));
        assert_eq!(bench.ask(update).0.is_err(), refused, "update {namespace}/{name}");
        assert_eq!(bench.ask(delete).0.is_err(), refused, "delete {namespace}/{name}");
    }
}

#[test]
fn parameters_come_from_objects() {
    let mut bench = Bench::new();
    let spec = json!({"paramKind": {"apiVersion": "v1", "kind": "Secret"},
        "validations": [{"expression": "params == null || object.data.n != params.stringData.?bad.orValue('')"}]});
    bench.policy(
        "p",
        json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConditions": [{"name": "others", "expression": "object.metadata.name != 'limits'"}],
        "validations": [{"expression": "int(object.data.n) <= int(params.data.most)"}]}),
        json!({"paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}}),
    );
    bench.policy("q", spec, json!({}));
    let denied = |why: &str| {
        format!("configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: {why}")
    };
    let missing = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert_eq!(bench.map("default", "m", json!({"n": "1"})), denied(missing));
    let limits = |most: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits", "namespace": "default"}, "data": {"most": most}});
    // It would need itself.
    assert!(bench.create(limits("3")).is_err());
    bench.0.policies.changed(Some(&bound("p")), None);
    bench.create(limits("3")).unwrap();
    bench.0.policies.changed(None, Some(&bound("p")));
    assert_eq!(
        bench.map("default", "m", json!({"n": "4"})),
        denied("failed expression: int(object.data.n) <= int(params.data.most)")
    );
    assert_eq!(bench.map("default", "m", json!({"n": "3"})), "created");
}

fn bound(name: &str) -> Object {
    object(
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"], "paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}}}),
    )
}

#[test]
fn warnings_ignored_failures_and_policies_that_go() {
    let mut bench = Bench::new();
    bench.policy("warns", validation("object.data.a == '2'"), json!({"validationActions": ["Warn", "Audit"]}));
    bench.policy(
        "lenient",
        json!({"failurePolicy": "Ignore", "validations": [{"expression": "object.data.b == ''"}]}),
        json!({}),
    );
    let map = object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}, "data": {"a": "1"}}),
    );
    let create = Bench::request(Verb::Create, Kind::ConfigMap, "default", "", Body::Object(map));
    let (result, warnings) = bench.ask(create);
    assert!(result.is_ok());
    let warning = "Validation failed for ValidatingAdmissionPolicy 'warns' with binding 'warns': failed expression: object.data.a == '2'";
    assert_eq!(warnings, [warning]);
    let missing = json!({"validationActions": ["Warn"], "paramRef": {"name": "no", "parameterNotFoundAction": "Deny"}});
    let of = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{"expression": "true"}]});
    bench.policy("bound", of, missing);
    let said = bench.map("default", "n", json!({}));
    assert!(said.contains("failed to configure binding"), "that it only warns is for what it says: {said}");
    bench.0.policies.changed(Some(&bound("bound")), None);
    bench.policy("denies", validation("false"), json!({}));
    assert_ne!(bench.map("default", "n", json!({})), "created");
    let delete = Bench::request(Verb::Delete, Kind::ValidatingAdmissionPolicy, "", "denies", Body::None);
    bench.ask(delete).0.unwrap();
    assert_eq!(bench.map("default", "n", json!({})), "created");
}

#[test]
fn a_costly_policy_is_stopped() {
    let mut bench = Bench::new();
    let text = "a".repeat(200);
    let expression = "object.data.t.split('').all(a, object.data.t.split('').all(b, object.data.t.split('').all(c, a == b && b == c)))";
    bench.policy("p", validation(expression), json!({}));
    let said = bench.map("default", "m", json!({"t": text}));
    assert!(said.ends_with("resulted in error: operation cancelled: actual cost limit exceeded"), "{said}");
}

#[test]
fn what_bad_policies_get() {
    let rules = json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]});
    let policy = |more: Json| {
        let mut spec = json!({"matchConstraints": rules, "validations": [{"expression": "true"}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("ValidatingAdmissionPolicy", spec)
    };
    let binding = |more: Json| {
        let mut spec = json!({"policyName": "p", "validationActions": ["Deny"]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("ValidatingAdmissionPolicyBinding", spec)
    };
    let rule = |more: Json| {
        let mut rule = rules["resourceRules"][0].clone();
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        policy(json!({"matchConstraints": {"resourceRules": [rule]}}))
    };
    const AT: &str = "spec.matchConstraints.resourceRules[0]";
    #[rustfmt::skip]
    let cases = [
        (policy(json!({"failurePolicy": "Maybe"})), "spec.failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"".to_owned()),
        (policy(json!({"matchConstraints": null})), "spec.matchConstraints: Required value".into()),
        (policy(json!({"matchConstraints": {}})), "spec.matchConstraints.resourceRules: Required value".into()),
        (policy(json!({"validations": []})), "[spec.validations: Required value: validations or auditAnnotations must contain at least one item, spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item]".into()),
        (policy(json!({"validations": [{"expression": " "}]})), "spec.validations[0].expression: Required value: expression is not specified".into()),
        (policy(json!({"validations": [{"expression": "object.spec.hostNetwork"}]})), "spec.validations[0].expression: Invalid value: \"object.spec.hostNetwork\": must evaluate to bool but got dyn".into()),
        (policy(json!({"validations": [{"expression": "1"}]})), "spec.validations[0].expression: Invalid value: \"1\": must evaluate to bool but got int".into()),
        (policy(json!({"validations": [{"expression": "objct.x"}]})), "spec.validations[0].expression: Invalid value: \"objct.x\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'objct' (in container '')\n | objct.x\n | ^".into()),
        (policy(json!({"validations": [{"expression": "params.x"}]})), "spec.validations[0].expression: Invalid value: \"params.x\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.x\n | ^".into()),
        (policy(json!({"validations": [{"expression": "true", "messageExpression": "1"}]})), "spec.validations[0].messageExpression: Invalid value: \"1\": must evaluate to string but got int".into()),
        (policy(json!({"validations": [{"expression": "true", "message": "a\nb"}]})), "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks".into()),
        (policy(json!({"validations": [{"expression": "true", "reason": "Why"}]})), "spec.validations[0].reason: Unsupported value: \"Why\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\"".into()),
        (policy(json!({"variables": [{"name": "a-b", "expression": "1"}]})), "spec.variables[0].name: Invalid value: \"a-b\": must be a valid CEL identifier".into()),
        (policy(json!({"variables": [{"name": "for", "expression": "1"}]})), "spec.variables[0].name: Invalid value: \"for\": must be a valid CEL identifier".into()),
        (policy(json!({"variables": [{"name": "a", "expression": "1"}], "validations": [{"expression": "variables.b == 1"}]})), "spec.validations[0].expression: Invalid value: \"variables.b == 1\": compilation failed: ERROR: <input>:1:10: undefined field 'b'\n | variables.b == 1\n | .........^".into()),
        (policy(json!({"matchConditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}]})), "spec.matchConditions[1].name: Duplicate value: \"a\"".into()),
        (policy(json!({"matchConditions": [{"name": "", "expression": ""}]})), "[spec.matchConditions[0].expression: Required value, spec.matchConditions[0].name: Required value]".into()),
        (policy(json!({"paramKind": {"apiVersion": "a/b/c", "kind": "X"}})), "spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c".into()),
        (policy(json!({"auditAnnotations": [{"key": "k", "valueExpression": "1"}]})), "spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but got int".into()),
        (rule(json!({"operations": ["READ"]})), format!("{AT}.operations[0]: Unsupported value: \"READ\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"")),
        (rule(json!({"operations": ["*", "CREATE"]})), format!("{AT}.operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must not specify other operations")),
        (rule(json!({"apiVersions": []})), format!("{AT}.apiVersions: Required value")),
        (rule(json!({"resources": []})), format!("{AT}.resources: Required value")),
        (rule(json!({"resources": ["pods/*", "pods/status"]})), format!("{AT}.resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status")),
        (rule(json!({"resources": ["*/status", "pods/status"]})), format!("{AT}.resources[1]: Invalid value: \"pods/status\": if '*/status' is present, must not specify pods/status")),
        (rule(json!({"resources": ["*", "pods"]})), format!("{AT}.resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other resources without subresources")),
        (rule(json!({"resourceNames": ["a/b"]})), format!("{AT}.resourceNames[0]: Invalid value: \"a/b\": may not contain '/'")),
        (binding(json!({"matchResources": {"matchPolicy": "Near"}})), "spec.matchResources.matchPolicy: Unsupported value: \"Near\": supported values: \"Equivalent\", \"Exact\"".into()),
        (binding(json!({"paramRef": {"name": "a%", "parameterNotFoundAction": "Allow"}})), "spec.paramRef.name: Invalid value: \"a%\": may not contain '%'".into()),
        (rule(json!({"scope": "World"})), format!("{AT}.scope: Unsupported value: \"World\": supported values: \"*\", \"Cluster\", \"Namespaced\"")),
        (binding(json!({"policyName": ""})), "spec.policyName: Required value".into()),
        (binding(json!({"validationActions": []})), "spec.validationActions: Required value: at least one validation action is required".into()),
        (binding(json!({"validationActions": ["Deny", "Deny"]})), "spec.validationActions[1]: Duplicate value: \"Deny\"".into()),
        (binding(json!({"validationActions": ["Deny", "Warn"]})), "spec.validationActions: Invalid value: [\"Deny\",\"Warn\"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)".into()),
        (binding(json!({"paramRef": {"parameterNotFoundAction": "Allow"}})), "spec.paramRef: Required value: one of name or selector must be specified".into()),
        (binding(json!({"paramRef": {"name": "x"}})), "spec.paramRef.parameterNotFoundAction: Required value".into()),
        (binding(json!({"paramRef": {"name": "x", "selector": {}, "parameterNotFoundAction": "Allow"}})), "[spec.paramRef.name: Forbidden: name and selector are mutually exclusive, spec.paramRef.selector: Forbidden: name and selector are mutually exclusive]".into()),
    ];
    // What comes before a star is left alone, and a part of nothing in particular is one, too.
    for resources in [json!(["pods/status", "pods/*"]), json!(["pods", "*"]), json!(["/status"])] {
        let (kind, spec) = rule(json!({"resources": resources}));
        let manifest = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "p"}, "spec": spec});
        assert!(Bench::new().create(manifest).is_ok(), "{resources}");
    }
    for ((kind, spec), want) in cases {
        let manifest = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "p"}, "spec": spec});
        let status = Bench::new().create(manifest).unwrap_err();
        let want = format!("{kind}.admissionregistration.k8s.io \"p\" is invalid: {want}");
        assert_eq!(status.message, want);
    }
}
