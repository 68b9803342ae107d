use serde_json::{Value as Json, json};

use super::{Bench, deployment, of_scale};
use crate::admission::testing::object;
use object::time::Instant;
use object::{Kind, Status};
use wire::{Body, DeleteOptions, Error, Patch, Response, Verb};

const POLICY: &str = "MutatingAdmissionPolicy";
const BINDING: &str = "MutatingAdmissionPolicyBinding";

/// A policy about all that is made or changed, with these mutations.
fn policy(name: &str, mutations: &[Json], more: &Json) -> Json {
    let mut spec = json!({"reinvocationPolicy": "Never", "mutations": mutations, "matchConstraints": {"resourceRules": [
        {"apiGroups": ["", "apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps", "deployments", "pods"]}]}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    named(POLICY, name, &spec)
}

fn named(kind: &str, name: &str, spec: &Json) -> Json {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn apply(expression: &str) -> Json {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patch(expression: &str) -> Json {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

impl Bench {
    /// Adds a policy and its binding.
    fn mutate(&mut self, name: &str, mutations: &[Json], more: Json) {
        self.create(policy(name, mutations, &more)).unwrap();
        self.create(named(BINDING, name, &json!({"policyName": name}))).unwrap();
    }

    fn answer(&mut self, verb: Verb, kind: Kind, name: &str, body: Body) -> Result<Json, Status> {
        let request = Bench::request(verb, kind, "default", name, body);
        self.0.handle(&request, None, Instant::default()).answer.result.map_err(Error::into_status).map(|response| {
            match response {
                Response::Object(object) => object.to_json(),
                _ => Json::Null,
            }
        })
    }

    fn made(&mut self, manifest: Json) -> Result<Json, Status> {
        let object = object(manifest);
        self.answer(Verb::Create, object.kind(), "", Body::Object(object))
    }

    /// What a new ConfigMap with these data has in the end.
    fn data(&mut self, data: Json) -> Json {
        self.made(config_map(data)).unwrap()["data"].clone()
    }

    fn refusal(&mut self, data: Json) -> Status {
        self.made(config_map(data)).unwrap_err()
    }
}

fn config_map(data: Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "m-", "namespace": "default"}, "data": data})
}

#[test]
fn a_configuration_is_laid_over_the_object() {
    let mut bench = Bench::new();
    let sidecar =
        "Object{spec: Object.spec{replicas: 3, template: Object.spec.template{spec: Object.spec.template.spec{
        containers: [Object.spec.template.spec.containers{name: 'proxy', image: 'proxy:1', ports: [
            Object.spec.template.spec.containers.ports{containerPort: 80}]},
          Object.spec.template.spec.containers{name: 'web', env: [
            Object.spec.template.spec.containers.env{name: 'B', value: object.metadata.name}]}]}}}}";
    bench.mutate("sidecar", &[apply(sidecar)], json!({}));
    let made = bench.made(deployment()).unwrap();
    let containers = &made["spec"]["template"]["spec"]["containers"];
    let of = |field: &str| containers.as_array().unwrap().iter().map(|c| c[field].clone()).collect::<Vec<_>>();
    assert_eq!(made["spec"]["replicas"], 3);
    assert_eq!(of("name"), ["proxy", "web"], "in the order of the configuration");
    assert_eq!(containers[1]["env"], json!([{"name": "A", "value": "1"}, {"name": "B", "value": "web"}]));
    assert_eq!(of("image"), ["proxy:1", "web:1"]);
    assert_eq!(containers[0]["imagePullPolicy"], "IfNotPresent", "what is added is defaulted");
    assert_eq!(containers[0]["ports"], json!([{"containerPort": 80, "protocol": "TCP"}]));
}

#[test]
fn a_scale_is_changed_as_a_scale() {
    for mutation in [
        apply("Object{spec: Object.spec{replicas: 3}}"),
        patch(
            "[JSONPatch{op: 'test', path: '/kind', value: 'Scale'}, JSONPatch{op: 'replace', path: '/spec/replicas', value: 3}]",
        ),
    ] {
        let mut bench = Bench::new();
        bench.create(deployment()).unwrap();
        let condition = json!([{"name": "many", "expression": "object.spec.replicas > 3"}]);
        bench.mutate("most", &[mutation], json!({"matchConstraints": of_scale(), "matchConditions": condition}));
        for (asked, got) in [(2, 2), (9, 3)] {
            bench.scale(asked).unwrap();
            let there = bench.answer(Verb::Get, Kind::Deployment, "web", Body::None).unwrap();
            assert_eq!(there["spec"]["replicas"], got, "{asked} are asked for");
            assert_eq!(there["spec"]["template"]["spec"]["containers"][0]["image"], "web:1");
        }
    }
    let mut bench = Bench::new();
    bench.create(deployment()).unwrap();
    let labelled = patch("[JSONPatch{op: 'add', path: '/spec/template', value: 1}]");
    bench.mutate("labels", &[labelled], json!({"matchConstraints": of_scale()}));
    assert!(bench.scale(2).unwrap_err().message.contains("spec.template"), "a Scale has no such field");
}

#[test]
fn a_json_patch_is_done() {
    let mut bench = Bench::new();
    let escaped = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}},
        JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/x'), value: '1'},
        JSONPatch{op: 'move', from: '/data/a', path: '/data/b'}, JSONPatch{op: 'test', path: '/data/b', value: '1'}]";
    bench.mutate(
        "patches",
        &[patch(escaped)],
        json!({"matchConditions": [{"name": "a", "expression": "'a' in object.data"}]}),
    );
    let made = bench.made(config_map(json!({"a": "1"}))).unwrap();
    assert_eq!(
        (&made["metadata"]["labels"], &made["data"]),
        (&json!({"a": "b", "example.com/x": "1"}), &json!({"b": "1"}))
    );
    assert_eq!(bench.data(json!({"a": "2"})), json!({"a": "2"}), "the test fails: nothing is done");
    assert_eq!(bench.data(json!({"c": "3"})), json!({"c": "3"}), "the condition does not hold");
}

#[test]
fn each_sees_what_those_before_it_have_made() {
    let mut bench = Bench::new();
    let count = "[JSONPatch{op: 'add', path: '/data/' + variables.next, value: variables.next}]";
    let variables = json!([{"name": "next", "expression": "'n' + string(size(object.data))"}]);
    bench.mutate("a", &[patch(count), patch(count)], json!({"variables": variables}));
    bench.mutate("b", &[apply("Object{data: {'seen': object.data.?n2.orValue('no')}}")], json!({}));
    let validation = json!({"validations": [{"expression": "object.data.seen == 'n2'"}]});
    bench.policy("p", validation, json!({}));
    assert_eq!(bench.data(json!({"x": ""})), json!({"x": "", "n1": "n1", "n2": "n2", "seen": "n2"}));
}

#[test]
fn who_is_asked_twice() {
    for (first, second, want) in [
        ("Never", "Never", json!({"k": "", "a": "1", "b": "1"})),
        ("IfNeeded", "Never", json!({"k": "", "a": "11", "b": "1"})),
        ("Never", "IfNeeded", json!({"k": "", "a": "1", "b": "11"})),
        ("IfNeeded", "IfNeeded", json!({"k": "", "a": "11", "b": "11"})),
    ] {
        let mut bench = Bench::new();
        for (name, again) in [("a", first), ("b", second)] {
            let more = format!("Object{{data: {{'{name}': object.data.?{name}.orValue('') + '1'}}}}");
            bench.mutate(name, &[apply(&more)], json!({"reinvocationPolicy": again}));
        }
        assert_eq!(bench.data(json!({"k": ""})), want, "{first} {second}");
    }
}

#[test]
fn plugins_see_what_policies_have_made() {
    let mut bench = Bench::new();
    bench.create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}})).unwrap();
    bench.create(json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000})).unwrap();
    bench.mutate("p", &[patch("[JSONPatch{op: 'add', path: '/spec/priorityClassName', value: 'high'}, JSONPatch{op: 'remove', path: '/spec/priority'}]")], json!({}));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "c"}]}});
    assert_eq!(bench.made(pod).unwrap()["spec"]["priority"], 1000, "the plugin has worked out the priority once more");
}

#[test]
fn which_requests_are_changed() {
    let mut bench = Bench::new();
    let excluded = json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "resourceNames": ["free"]}]);
    let mut spec = policy(
        "p",
        &[apply("Object{data: {'by': request.operation, 'in': namespaceObject.metadata.labels.stage}}")],
        &json!({}),
    );
    spec["spec"]["matchConstraints"]["excludeResourceRules"] = excluded;
    bench.create(spec).unwrap();
    let prod = json!({"namespaceSelector": {"matchLabels": {"stage": "prod"}}});
    bench.create(named(BINDING, "p", &json!({"policyName": "p", "matchResources": prod}))).unwrap();
    for (namespace, name, by) in [("default", "m", Some("CREATE")), ("default", "free", None), ("play", "m", None)] {
        assert_eq!(bench.map(namespace, name, json!({"k": "v"})), "created");
        let stored = bench.0.stored(Kind::ConfigMap, namespace, name).unwrap().to_json();
        assert_eq!(stored["data"].get("by").and_then(Json::as_str), by, "{namespace}/{name}");
    }
    let merge = Body::Patch(Patch::Merge(json!({"data": {"x": "1"}})));
    let patched = bench.answer(Verb::Patch, Kind::ConfigMap, "m", merge).unwrap();
    assert_eq!(patched["data"], json!({"k": "v", "x": "1", "by": "UPDATE", "in": "prod"}));
    bench.answer(Verb::Delete, Kind::ConfigMap, "m", Body::Delete(DeleteOptions::default())).unwrap();
    // Without a binding, or about policies, nothing is in force.
    bench.answer(Verb::Delete, Kind::MutatingAdmissionPolicyBinding, "p", Body::None).unwrap_or_default();
}

#[test]
fn parameters_are_there_for_each_change() {
    let mut bench = Bench::new();
    for (name, value) in [("one", "1"), ("two", "2")] {
        let labels = json!({"for": "p"});
        bench.create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default", "labels": labels},
            "stringData": {"v": value}, "type": "Opaque"})).unwrap();
    }
    let kind = json!({"paramKind": {"apiVersion": "v1", "kind": "Secret"}});
    let mutation = apply("Object{data: {params.metadata.name: params == null ? '' : request.name}}");
    bench.create(policy("p", &[mutation], &kind)).unwrap();
    let selector = json!({"selector": {"matchLabels": {"for": "p"}}, "parameterNotFoundAction": "Deny"});
    bench.create(named(BINDING, "p", &json!({"policyName": "p", "paramRef": selector}))).unwrap();
    assert_eq!(bench.data(json!({})), json!({"one": "", "two": ""}));
    let missing = json!({"name": "gone", "parameterNotFoundAction": "Deny"});
    bench.create(named(BINDING, "q", &json!({"policyName": "p", "paramRef": missing}))).unwrap();
    let status = bench.refusal(json!({}));
    assert_eq!(
        status.message,
        "policy 'p' with binding 'q' denied request: failed to configure binding: no params found for policy binding with \
         `Deny` parameterNotFoundAction"
    );
    assert_eq!((status.code, format!("{:?}", status.reason).as_str()), (403, "Forbidden"));
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let broken = "error applying patch: ";
    #[rustfmt::skip]
    let cases = [
        (apply("Object{data: {'a': object.data.x}}"), "expression 'Object{data: {'a': object.data.x}}' resulted in error: no such key: x".to_owned()),
        (apply("Object{metadata: Object.spec{}}"), "type mismatch: unexpected type name \"Object.spec\", expected \"Object.metadata\", which matches field name path from root Object type".into()),
        (apply("Object{spec: Object.spec{a: 1}}"), format!("{broken}failed to convert patch object to typed object: .spec: field not declared in schema")),
        (apply("Object{data: {'a': 1}}"), format!("{broken}failed to convert patch object to typed object: .data.a: expected string, got &value.valueUnstructured{{Value:1}}")),
        (apply("Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{uid: 'x'}]}}"), format!("{broken}invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .metadata.ownerReferences[0]")),
        (patch("[JSONPatch{op: 'replace', path: '/x/y', value: 1}]"), "JSONPath: replace operation does not apply: doc is missing path: \"/x/y\": missing value".into()),
        (patch("[JSONPatch{op: 'append', path: '/data'}]"), "JSONPath: Unexpected kind: append".into()),
        (patch("[JSONPatch{op: 'add', path: '/data', value: Object.data{x: Object.x{}}}]"), "type mismatch: unexpected type name \"Object.x\", expected \"Object.data.x\", which matches field name path from root Object type".into()),
        (patch("[JSONPatch{op: 'add', path: '/data/q', value: quantity('1')}]"), "JSONPath valueExpression evaluated to a type that could not marshal to JSON: unable to convert kubernetes.Quantity to JSON".into()),
    ];
    for (mutation, why) in cases {
        for ignores in [false, true] {
            let mut bench = Bench::new();
            let failure_policy = if ignores { "Ignore" } else { "Fail" };
            bench.mutate("p", std::slice::from_ref(&mutation), json!({"failurePolicy": failure_policy}));
            if ignores {
                assert_eq!(bench.data(json!({"k": "v"})), json!({"k": "v"}), "{mutation}");
                continue;
            }
            let status = bench.refusal(json!({"k": "v"}));
            assert_eq!(status.message, format!("policy 'p' with binding 'p' denied request: {why}"));
            assert_eq!((status.code, format!("{:?}", status.reason).as_str()), (403, "Invalid"));
            let details = status.details.unwrap();
            assert_eq!((details.kind.as_str(), details.causes.len()), ("configmaps", 1));
            assert_eq!(details.causes[0].message, status.message);
        }
    }
}

#[test]
fn what_is_atomic_is_told_with_all_its_places() {
    let mut bench = Bench::new();
    let template = "Object.spec.template.spec";
    let change = format!("Object{{spec: Object.spec{{selector: Object.spec.selector{{matchLabels: {{'a': 'b'}}}},
        template: Object.spec.template{{spec: {template}{{nodeSelector: {{'c': 'd'}}, containers: [{template}.containers{{name: 'web', args: ['-v']}}]}}}}}}}}");
    bench.mutate("p", &[apply(&change)], json!({}));
    let status = bench.made(deployment()).unwrap_err();
    assert_eq!(
        status.message,
        "policy 'p' with binding 'p' denied request: error applying patch: invalid ApplyConfiguration: may not mutate atomic \
         arrays, maps or structs: .spec.selector, .spec.template.spec.containers[0].args, .spec.template.spec.nodeSelector"
    );
}

#[test]
fn what_is_no_object_any_more_fails_whatever_the_policy_says() {
    for (value, why) in [
        ("path: '/spec', value: 1", "Internal error occurred: strict decoding error: unknown field \"spec\""),
        (
            "path: '/data', value: 'x'",
            "Internal error occurred: json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string",
        ),
    ] {
        let mut bench = Bench::new();
        let mutation = patch(&format!("[JSONPatch{{op: 'add', {value}}}]"));
        bench.mutate("p", &[mutation], json!({"failurePolicy": "Ignore"}));
        let status = bench.refusal(json!({"k": "v"}));
        assert_eq!((status.code, status.message.as_str()), (500, why));
    }
}

#[test]
fn all_failures_are_told_and_the_first_speaks() {
    let mut bench = Bench::new();
    bench.mutate("a", &[apply("Object{data: {'a': object.data.x}}"), apply("Object{data: {'b': 'b'}}")], json!({}));
    bench.mutate(
        "b",
        &[apply("Object{data: {'c': 'c'}}")],
        json!({"matchConditions": [{"name": "c", "expression": "object.data.y == ''"}]}),
    );
    let status = bench.refusal(json!({"k": "v"}));
    let told: Vec<String> = status.details.unwrap().causes.into_iter().map(|cause| cause.message).collect();
    let said = |name: &str, what: &str, key: &str| {
        format!(
            "policy '{name}' with binding '{name}' denied request: expression '{what}' resulted in error: no such key: {key}"
        )
    };
    assert_eq!(told, [said("a", "Object{data: {'a': object.data.x}}", "x"), said("b", "object.data.y == ''", "y")]);
    assert_eq!(status.message, told[0]);
}

#[test]
fn a_costly_change_is_stopped() {
    let mut bench = Bench::new();
    let all = "object.data.t.split('')";
    let costly = format!("{all}.all(a, {all}.all(b, {all}.all(c, a == b && b == c)))");
    bench.mutate("p", &[apply(&format!("Object{{data: {{'a': {costly} ? 'x' : 'y'}}}}"))], json!({}));
    let said = bench.refusal(json!({"t": "a".repeat(200)})).message;
    assert!(said.ends_with("resulted in error: operation cancelled: actual cost limit exceeded"), "{said}");
}

#[test]
fn policies_are_not_about_policies() {
    let mut bench = Bench::new();
    let rules =
        json!({"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]});
    let fails = apply("Object{data: {'a': object.nothing}}");
    bench.mutate("p", &[fails], json!({"matchConstraints": rules}));
    bench.policy("v", json!({"validations": [{"expression": "true"}]}), json!({}));
    bench.mutate("q", &[apply("Object{}")], json!({}));
    assert!(bench.made(config_map(json!({}))).is_err());
    bench.ask(Bench::request(Verb::Delete, Kind::MutatingAdmissionPolicy, "", "p", Body::None)).0.unwrap();
    bench.made(config_map(json!({}))).unwrap();
}

#[test]
fn what_is_left_out_of_policies_is_filled_in() {
    let mut bench = Bench::new();
    bench.mutate("p", &[apply("Object{}")], json!({}));
    let stored = bench.0.stored(Kind::MutatingAdmissionPolicy, "", "p").unwrap().to_json();
    assert_eq!((&stored["spec"]["failurePolicy"], &stored["metadata"]["generation"]), (&json!("Fail"), &json!(1)));
    let constraints = &stored["spec"]["matchConstraints"];
    assert_eq!((&constraints["matchPolicy"], &constraints["objectSelector"]), (&json!("Equivalent"), &json!({})));
    assert_eq!(constraints["resourceRules"][0]["scope"], "*");
}

#[test]
fn what_bad_policies_that_change_get() {
    let of = |more: Json| (POLICY, policy("p", &[apply("Object{}")], &more)["spec"].clone());
    let change = |mutation: Json| of(json!({"mutations": [mutation]}));
    let deletes = json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "DELETE"], "resources": ["pods"]}]});
    let binding = |more: Json| {
        let mut spec = json!({"policyName": "p"});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        (BINDING, spec)
    };
    const SUPPORTED: &str =
        "Unsupported value: \"DELETE\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"UPDATE\"";
    #[rustfmt::skip]
    let cases = [
        (of(json!({"failurePolicy": "Maybe"})), "spec.failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"".to_owned()),
        (of(json!({"matchConstraints": null})), "spec.matchConstraints: Required value".into()),
        (of(json!({"matchConstraints": deletes})), format!("spec.matchConstraints.resourceRules.operations: {SUPPORTED}")),
        (of(json!({"mutations": []})), "spec.mutations: Required value: mutations must contain at least one item".into()),
        (of(json!({"reinvocationPolicy": ""})), "spec.reinvocationPolicy: Required value".into()),
        (of(json!({"reinvocationPolicy": "Often"})), "spec.reinvocationPolicy: Unsupported value: \"Often\": supported values: \"IfNeeded\", \"Never\"".into()),
        (of(json!({"variables": [{"name": "a", "expression": "Object{}"}]})), "spec.variables[0].expression: Invalid value: \"Object{}\": compilation failed: ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')\n | Object{}\n | ......^".into()),
        (change(json!({"patchType": ""})), "spec.mutations[0].patchType: Required value".into()),
        (change(json!({"patchType": "Merge"})), "spec.mutations[0].patchType: Unsupported value: \"Merge\": supported values: \"ApplyConfiguration\", \"JSONPatch\"".into()),
        (change(json!({"patchType": "JSONPatch"})), "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch".into()),
        (change(json!({"patchType": "ApplyConfiguration"})), "spec.mutations[0].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration".into()),
        (change(json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}, "jsonPatch": {"expression": "x"}})), "spec.mutations[0].jsonPatch: Invalid value: \"{jsonPatch}\": must not be specified when patchType is ApplyConfiguration".into()),
        (change(apply(" ")), "spec.mutations[0].applyConfiguration.expression: Required value".into()),
        (change(apply("Object.spec{}")), "spec.mutations[0].applyConfiguration.expression: Invalid value: \"Object.spec{}\": must evaluate to Object but got Object.spec".into()),
        (change(patch("[1]")), "spec.mutations[0].jsonPatch.expression: Invalid value: \"[1]\": must evaluate to list(JSONPatch) but got list(int)".into()),
        (change(apply(" objct ")), "spec.mutations[0].applyConfiguration.expression: Invalid value: \"objct\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'objct' (in container '')\n | objct\n | ^".into()),
        (binding(json!({"policyName": ""})), "spec.policyName: Required value".into()),
        (binding(json!({"matchResources": deletes})), format!("spec.matchResources.resourceRules.operations: {SUPPORTED}")),
        (binding(json!({"paramRef": {"name": "x"}})), "spec.paramRef.parameterNotFoundAction: Required value".into()),
    ];
    for ((kind, spec), want) in cases {
        let status = Bench::new().create(named(kind, "p", &spec)).unwrap_err();
        assert_eq!(status.message, format!("{kind}.admissionregistration.k8s.io \"p\" is invalid: {want}"));
    }
}
