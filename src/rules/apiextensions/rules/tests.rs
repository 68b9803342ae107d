use serde_json::json;

use super::*;
use crate::apiextensions::structural;
use object::validation::field::{Path, Problems};
use object::{Kind, Object, custom};

fn props(spec: Json, rules: Json) -> JSONSchemaProps {
    let schema = json!({"type": "object", "properties": {"spec": spec}, "x-kubernetes-validations": rules});
    serde_json::from_value(schema).unwrap()
}

fn object(spec: Json) -> CustomObject {
    let kind = custom::CustomKind::new("example.com", "v1", "things", "Thing", true);
    let Ok(Object::Custom(object)) = Kind::Custom(kind).decode(json!({"metadata": {"name": "t"}, "spec": spec})) else {
        panic!("it is a custom object");
    };
    (*object).clone()
}

fn problems(props: &JSONSchemaProps, new: Json, old: Option<Json>) -> Vec<String> {
    let mut found = Problems::default();
    structural::validate(&mut found, props, &Path::new("s"));
    assert_eq!(found.0, [], "the schema is sound");
    let mut schema = Schema::of(props);
    compile(&mut schema, props, true);
    let causes = validate(&schema, &object(new), old.map(object).as_ref(), &[]);
    causes.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

fn spec(rules: Json) -> Json {
    json!({"type": "object", "x-kubernetes-validations": rules, "properties": {
        "min": {"type": "integer"}, "max": {"type": "integer"}, "name": {"type": "string"}, "ratio": {"type": "number"},
        "until": {"type": "string", "format": "date-time"}, "wait": {"type": "string", "format": "duration"},
        "a-b": {"type": "boolean"}, "namespace": {"type": "string"}, "port": {"x-kubernetes-int-or-string": true},
        "tags": {"type": "array", "items": {"type": "string"}},
        "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
        "empty": {"type": "string", "nullable": true},
    }})
}

#[test]
fn rules_that_hold_and_rules_that_do_not() {
    let full = json!({"min": 1, "max": 5, "name": "web", "ratio": 2, "until": "2026-01-01T00:00:00Z", "wait": "90s",
        "a-b": true, "namespace": "n", "port": 80, "tags": ["x", "y"], "limits": {"a/b": 3}, "empty": null, "unknown": 1});
    const HOLD: [&str; 12] = [
        "self.min <= self.max",
        "self.a__dash__b && self.__namespace__ == 'n'",
        "self.ratio == 2.0 && self.until < timestamp('2027-01-01T00:00:00Z') && self.wait == duration('1m30s')",
        "type(self.port) == int && self.port == 80",
        "self.tags.all(t, t.size() == 1) && self.tags == ['x', 'y']",
        "self.limits['a/b'] == 3 && 'a/b' in self.limits && self.limits.all(k, self.limits[k] > 0)",
        "has(self.empty) && has(self.min)",
        "!has(self.empty) || true",
        "self.?name.orValue('') == 'web'",
        "self.name.matches('^[a-z]+$') && self.name in ['web', 'db']",
        "quantity(string(self.max)).isGreaterThan(quantity('1'))",
        "self.tags.exists_one(t, t == 'x') && self.tags.isSorted() && self.tags.indexOf('y') == 1",
    ];
    for rule in HOLD {
        let props = props(spec(json!([{"rule": rule}])), json!([]));
        assert_eq!(problems(&props, full.clone(), None), [""; 0], "{rule}");
    }
    for (rule, want) in [
        (json!({"rule": "self.min > self.max"}), "spec: Invalid value: failed rule: self.min > self.max"),
        (json!({"rule": "self.min > self.max", "message": " too small "}), "spec: Invalid value: too small"),
        (
            json!({"rule": "self.min > self.max", "message": "m", "messageExpression": "'min is ' + string(self.min)"}),
            "spec: Invalid value: min is 1",
        ),
        (
            json!({"rule": "self.min > self.max", "message": "m", "messageExpression": "self.tags[7]"}),
            "spec: Invalid value: m",
        ),
        (
            json!({"rule": "false", "reason": "FieldValueForbidden", "fieldPath": ".max", "message": "no"}),
            "spec.max: Forbidden: no",
        ),
        (
            json!({"rule": "false", "reason": "FieldValueRequired", "fieldPath": ".limits['a.b']", "message": "no"}),
            "spec.limits[a.b]: Required value: no",
        ),
        (json!({"rule": "false", "reason": "FieldValueDuplicate"}), "spec: Duplicate value"),
        (
            json!({"rule": "self.tags[5] == 'x'"}),
            "spec: Invalid value: \"object\": index out of bounds: 5 evaluating rule: self.tags[5] == 'x'",
        ),
        (
            json!({"rule": "self.port == 'x' || self.port.startsWith('8')"}),
            "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, \
             function or macro signature for rule: self.port == 'x' || self.port.startsWith('8')",
        ),
    ] {
        let props = props(spec(json!([rule])), json!([]));
        assert_eq!(problems(&props, full.clone(), None), [want], "{rule}");
    }
}

#[test]
fn rules_stand_at_any_depth() {
    let rule = |rule: &str| json!([{"rule": rule}]);
    let port = json!({"type": "object", "required": ["name"], "x-kubernetes-validations": rule("self.port > 0"), "properties": {
        "name": {"type": "string", "x-kubernetes-validations": rule("self != 'bad'")}, "port": {"type": "integer"}}});
    let spec = json!({"type": "object", "properties": {
        "ports": {"type": "array", "items": port, "x-kubernetes-validations": rule("self.size() < 4")},
        "env": {"type": "object", "additionalProperties": {"type": "string", "x-kubernetes-validations": rule("self != ''")}}}});
    let root = json!([{"rule": "self.metadata.name.size() > 3"}, {"rule": "self.kind == 'Thing' && has(self.spec)"}]);
    let props = props(spec, root);
    let new = json!({"ports": [{"name": "a", "port": 1}, {"name": "bad", "port": 0}], "env": {"A": "", "B": "b"}});
    let want = [
        "<nil>: Invalid value: failed rule: self.metadata.name.size() > 3",
        "spec.env[A]: Invalid value: \"\": failed rule: self != ''",
        "spec.ports[1]: Invalid value: failed rule: self.port > 0",
        "spec.ports[1].name: Invalid value: \"bad\": failed rule: self != 'bad'",
    ];
    assert_eq!(problems(&props, new, None), want);
}

#[test]
fn rules_about_what_was_before() {
    let items = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
        "type": "object", "required": ["name"], "x-kubernetes-validations": [{"rule": "self.size >= oldSelf.size", "message": "shrank"}],
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}});
    let class =
        json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "immutable"}]});
    let set = json!({"type": "integer", "x-kubernetes-validations": [
        {"rule": "!oldSelf.hasValue() || self >= oldSelf.value()", "optionalOldSelf": true, "message": "goes up"},
        {"rule": "oldSelf.hasValue() || self == 0", "optionalOldSelf": true, "message": "starts at 0"}]});
    let spec = json!({"type": "object", "properties": {"class": class, "items": items, "n": set}});
    let props = props(spec, json!([]));
    let item = |name: &str, size: i64| json!({"name": name, "size": size});
    let old = json!({"class": "a", "items": [item("x", 2), item("y", 1)], "n": 1});
    assert_eq!(problems(&props, json!({"class": "b", "items": [item("x", 1)]}), None), [""; 0], "nothing was before");
    assert_eq!(problems(&props, json!({"n": 1}), None), ["spec.n: Invalid value: 1: starts at 0"]);
    let new = json!({"class": "b", "items": [item("y", 3), item("x", 1), item("z", 0)], "n": 0});
    let want = [
        "spec.class: Invalid value: \"b\": immutable",
        "spec.items[1]: Invalid value: shrank",
        "spec.n: Invalid value: 0: goes up",
    ];
    assert_eq!(problems(&props, new, Some(old)), want);
}

#[test]
fn rules_that_a_definition_is_refused_for() {
    let rule = |more: Json| json!({"type": "object", "properties": {"n": {"type": "integer"}}, "x-kubernetes-validations": [more]});
    const AT: &str = "s.properties[spec].x-kubernetes-validations[0]";
    let quoted = |rule: &str| {
        format!(
            "{{\"Rule\":\"{rule}\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}}"
        )
    };
    #[rustfmt::skip]
    let cases = [
        (rule(json!({"rule": "self.m > 1"})), format!("{AT}.rule: Invalid value: {}: compilation failed: ERROR: <input>:1:5: undefined field 'm'\n | self.m > 1\n | ....^", quoted("self.m \\u003e 1"))),
        (rule(json!({"rule": "self.n"})), format!("{AT}.rule: Invalid value: {}: cel expression must evaluate to a bool", quoted("self.n"))),
        (rule(json!({"rule": " "})), format!("{AT}.rule: Required value: rule is not specified")),
        (rule(json!({"rule": "true", "message": " "})), format!("{AT}.message: Invalid value: \" \": must be non-empty if specified")),
        (rule(json!({"rule": "true", "message": "a\nb"})), format!("{AT}.message: Invalid value: \"a\\nb\": must not contain line breaks")),
        (rule(json!({"rule": "true ||\nfalse"})), format!("{AT}.message: Required value: message must be specified if rule contains line breaks")),
        (rule(json!({"rule": "true", "reason": "Bad"})), format!("{AT}.reason: Unsupported value: \"Bad\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"")),
        (rule(json!({"rule": "true", "fieldPath": ".m"})), format!("{AT}.fieldPath: Invalid value: \".m\": must be a valid path")),
        (rule(json!({"rule": "true", "optionalOldSelf": true})), format!("{AT}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule")),
    ];
    for (spec, want) in cases {
        let mut found = Problems::default();
        structural::validate(&mut found, &props(spec.clone(), json!([])), &Path::new("s"));
        let texts: Vec<String> = found.0.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        assert_eq!(texts, [want], "{spec}");
    }
    let list = json!({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}});
    let mut found = Problems::default();
    structural::validate(&mut found, &props(list, json!([])), &Path::new("s"));
    let why = "Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[spec]";
    assert_eq!(found.0[0].message, why);
    let text = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]});
    let map = json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": text}});
    let mut found = Problems::default();
    structural::validate(&mut found, &props(map, json!([])), &Path::new("s"));
    assert_eq!(found.0[0].message, why, "nor of an atomic map are the parts what they were");
}

#[test]
fn a_costly_rule_ends_the_questions_and_a_wrong_type_forestalls_them() {
    let numbers = json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [
        {"rule": "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"}, {"rule": "false"}]});
    let spec = json!({"type": "object", "properties": {"numbers": numbers}});
    let props = props(spec, json!([]));
    let many: Vec<i64> = (0..200).collect();
    let want = "spec.numbers: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation \
                rules will be run due to call cost exceeds limit for rule: self.all(a, self.all(b, self.all(c, a + b + c >= 0)))";
    assert_eq!(problems(&props, json!({"numbers": many}), None), [want]);
    let mut schema = Schema::of(&props);
    compile(&mut schema, &props, true);
    let before = cause("FieldValueTypeInvalid", "spec.numbers", "x".into());
    let causes = validate(&schema, &object(json!({"numbers": "x"})), None, &[before]);
    let why = "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing \
               errors to complete validation";
    assert_eq!((causes[0].field.as_str(), causes[0].message.as_str()), ("<nil>", why));
}

#[test]
fn names_that_cel_can_use() {
    for (name, want) in [
        ("a", Some("a")),
        ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
        ("a__b", Some("a__underscores__b")),
        ("namespace", Some("__namespace__")),
        ("1a", None),
        ("a b", None),
        ("é", None),
    ] {
        assert_eq!(model::escape(name).as_deref(), want, "{name}");
    }
}
