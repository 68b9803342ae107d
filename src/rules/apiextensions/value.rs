//! What is wrong with a value, as its schema has it.
//!
//! Mirrors `k8s.io/kube-openapi/pkg/validation/validate` and the words that `pkg/apiserver/validation` of
//! apiextensions-apiserver makes of what it finds. Where the real validator goes through a map in any order, this one
//! goes by name.
//!
//! An update is *ratcheted*: a value that was there before and did not change is not looked at again, so that a schema
//! that has become stricter does not stop a client that changes something else.
//!
//! Left out: formats other than those of [`super::format`].

use serde_json::{Map, Value};

use object::status::Cause;
use object::validation::field::below;

use super::format;
use super::schema::{Checks, ListType, Schema};

/// What is wrong with `value`, which stands at `path`.
pub fn validate(value: &Value, old: Option<&Value>, schema: &Schema, path: &str) -> Vec<Cause> {
    let mut found = Found::default();
    found.value(value, old, schema, path);
    found.causes
}

/// The problems with the fields of a whole object.
pub fn validate_object(content: &Map<String, Value>, old: Option<&Map<String, Value>>, schema: &Schema) -> Vec<Cause> {
    let mut found = Found::default();
    found.combinations(&Value::Object(content.clone()), &schema.checks, "");
    found.fields(content, old, schema, "");
    found.causes
}

/// Items that are the same where none may be. Mirrors `pkg/apiserver/schema/listtype`.
pub fn validate_lists(value: &Value, schema: &Schema, path: &str) -> Vec<Cause> {
    match value {
        Value::Object(fields) => validate_lists_in(fields, schema, path),
        Value::Array(items) => {
            let mut causes = repeated(items, &schema.list, path);
            if let Some(of) = schema.items.as_deref() {
                causes.extend(
                    items.iter().enumerate().flat_map(|(i, item)| validate_lists(item, of, &format!("{path}[{i}]"))),
                );
            }
            causes
        }
        _ => Vec::new(),
    }
}

/// The same in all fields of an object.
pub fn validate_lists_in(fields: &Map<String, Value>, schema: &Schema, path: &str) -> Vec<Cause> {
    let known = fields.iter().filter_map(|(name, value)| Some((name, value, schema.field(name)?)));
    known.flat_map(|(name, value, of)| validate_lists(value, of, &below(path, name))).collect()
}

fn repeated(items: &[Value], list: &ListType, path: &str) -> Vec<Cause> {
    let keys: Vec<Value> = match list {
        ListType::Atomic => return Vec::new(),
        ListType::Set => items.to_vec(),
        ListType::Map(fields) => {
            let key = |item: &Value| fields.iter().filter_map(|f| Some((f.clone(), item.get(f)?.clone()))).collect();
            items.iter().map(|item| Value::Object(key(item))).collect()
        }
    };
    // The second of several is named, and no other.
    let second = |i: &usize| keys[..*i].iter().filter(|key| **key == keys[*i]).count() == 1;
    let causes = (0..keys.len()).filter(second).map(|i| Cause {
        reason: "FieldValueDuplicate".into(),
        message: format!("Duplicate value: {}", keys[i]),
        field: format!("{path}[{i}]"),
    });
    causes.collect()
}

/// The JSON type of a value, in the validator's words.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[derive(Default)]
struct Found {
    causes: Vec<Cause>,
    /// How many checks were passed: of several alternatives the one that fits best is told about.
    passed: usize,
}

impl Found {
    fn add(&mut self, reason: &str, path: &str, message: String) {
        // What is wrong with the object as a whole has a path that is nil in Go, which prints so.
        let field = if path.is_empty() { "<nil>" } else { path };
        self.causes.push(Cause { reason: reason.to_owned(), message, field: field.to_owned() });
    }

    /// `Invalid value: 11: spec.replicas in body should be …`
    fn invalid(&mut self, path: &str, value: &Value, what: &str) {
        self.add("FieldValueInvalid", path, format!("Invalid value: {value}: {path} in body {what}"));
    }

    /// `Invalid value: "string": spec.replicas in body must be of type integer: "string"`
    fn wrong_type(&mut self, path: &str, wanted: &str, is: &str) {
        let message = format!("Invalid value: {is:?}: {path} in body must be of type {wanted}: {is:?}");
        self.add("FieldValueTypeInvalid", path, message);
    }

    fn check(&mut self, holds: bool, path: &str, value: &Value, what: impl FnOnce() -> String) {
        if holds {
            self.passed += 1;
        } else {
            self.invalid(path, value, &what());
        }
    }

    fn value(&mut self, value: &Value, old: Option<&Value>, schema: &Schema, path: &str) {
        if old == Some(value) {
            return;
        }
        self.type_of(value, schema, path);
        let checks = &schema.checks;
        if !value.is_null() {
            self.combinations(value, checks, path);
        }
        match value {
            Value::String(text) => self.text(text, value, schema, path),
            Value::Number(_) => self.number(value, checks, path),
            Value::Array(items) => self.items(items, old.and_then(Value::as_array), schema, path),
            _ => {}
        }
        if !checks.one_of_these.is_empty() && !checks.one_of_these.contains(value) {
            let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let supported: Vec<String> = checks.one_of_these.iter().map(|v| format!("{:?}", shown(v))).collect();
            let message = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
            self.add("FieldValueNotSupported", path, message);
        }
        if let Value::Object(fields) = value {
            self.fields(fields, old.and_then(Value::as_object), schema, path);
        }
    }

    fn type_of(&mut self, value: &Value, schema: &Schema, path: &str) {
        let is = type_of(value);
        let wanted = |name: &str| schema.types.iter().any(|wanted| wanted == name);
        let fits = match value {
            Value::Null => schema.nullable,
            Value::Number(number) => {
                let whole = number.as_f64().is_some_and(|n| n.fract() == 0.0);
                wanted("number") || wanted("integer") && whole
            }
            _ => wanted(is),
        };
        if fits || schema.types.is_empty() {
            self.passed += 1;
        } else {
            self.wrong_type(path, &schema.types.join(","), is);
        }
    }

    fn text(&mut self, text: &str, value: &Value, schema: &Schema, path: &str) {
        let (checks, length) = (&schema.checks, text.chars().count() as i64);
        if let Some(max) = checks.max_length.filter(|max| length > *max) {
            self.add("FieldValueTooLong", path, format!("Too long: may not be more than {max} bytes"));
        }
        if let Some(min) = checks.min_length {
            self.check(length >= min, path, value, || format!("should be at least {min} chars long"));
        }
        if let Some(pattern) = &checks.pattern {
            self.check(pattern.is_match(text), path, value, || format!("should match '{}'", pattern.as_str()));
        }
        if !format::fits(&checks.format, text) {
            self.wrong_type(path, &checks.format, text);
        }
    }

    fn number(&mut self, value: &Value, checks: &Checks, path: &str) {
        let number = value.as_f64().unwrap_or_default();
        if let Some(factor) = checks.multiple_of.filter(|factor| *factor > 0.0) {
            let multiple = (number / factor).fract() == 0.0;
            self.check(multiple, path, value, || format!("should be a multiple of {factor}"));
        }
        if let Some(max) = checks.maximum {
            let (holds, or_equal) =
                if checks.exclusive_maximum { (number < max, "") } else { (number <= max, " or equal to") };
            self.check(holds, path, value, || format!("should be less than{or_equal} {max}"));
        }
        if let Some(min) = checks.minimum {
            let (holds, or_equal) =
                if checks.exclusive_minimum { (number > min, "") } else { (number >= min, " or equal to") };
            self.check(holds, path, value, || format!("should be greater than{or_equal} {min}"));
        }
    }

    fn items(&mut self, items: &[Value], old: Option<&Vec<Value>>, schema: &Schema, path: &str) {
        if let Some(of) = schema.items.as_deref() {
            for (i, item) in items.iter().enumerate() {
                let before = old.and_then(|old| schema.list.counterpart(item, old));
                self.value(item, before, of, &format!("{path}[{i}]"));
            }
        }
        let count = items.len() as i64;
        if let Some(min) = schema.checks.min_items {
            self.check(count >= min, path, &count.into(), || format!("should have at least {min} items"));
        }
        self.at_most(count, schema.checks.max_items, path);
    }

    fn at_most(&mut self, count: i64, max: Option<i64>, path: &str) {
        if let Some(max) = max.filter(|max| count > *max) {
            self.add("FieldValueTooMany", path, format!("Too many: {count}: must have at most {max} items"));
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>, old: Option<&Map<String, Value>>, schema: &Schema, path: &str) {
        let (checks, count) = (&schema.checks, fields.len() as i64);
        if let Some(min) = checks.min_properties {
            self.check(count >= min, path, &count.into(), || format!("should have at least {min} properties"));
        }
        self.at_most(count, checks.max_properties, path);
        for (name, value) in fields {
            if let Some(known) = schema.field(name) {
                self.value(value, old.and_then(|old| old.get(name)), known, &below(path, name));
            }
        }
        for name in checks.required.iter().filter(|name| !fields.contains_key(*name)) {
            self.add("FieldValueRequired", &below(path, name), "Required value".into());
        }
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`. What the alternative that fits best complains of is told too.
    fn combinations(&mut self, value: &Value, checks: &Checks, path: &str) {
        if !checks.any_of.is_empty() && self.how_many(value, &checks.any_of, path) == 0 {
            self.combination(format!("{path:?} must validate at least one schema (anyOf)"));
            self.best(value, &checks.any_of, path);
        }
        if !checks.one_of.is_empty() {
            match self.how_many(value, &checks.one_of, path) {
                1 => self.passed += 1,
                0 => {
                    self.combination(format!(
                        "{path:?} must validate one and only one schema (oneOf). Found none valid"
                    ));
                    self.best(value, &checks.one_of, path);
                }
                valid => self.combination(format!(
                    "{path:?} must validate one and only one schema (oneOf). Found {valid} valid alternatives"
                )),
            }
        }
        if !checks.all_of.is_empty() {
            let valid = self.how_many(value, &checks.all_of, path);
            checks.all_of.iter().for_each(|schema| self.causes.extend(validate(value, None, schema, path)));
            if valid < checks.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                self.combination(format!("{path:?} must validate all the schemas (allOf){none}"));
            }
        }
        if checks.not.as_deref().is_some_and(|not| validate(value, None, not, path).is_empty()) {
            self.combination(format!("{path:?} must not validate the schema (not)"));
        }
    }

    /// The real validator loses the path of these: it is told in the sentence alone.
    fn combination(&mut self, what: String) {
        self.add("FieldValueInvalid", "<nil>", format!("Invalid value: \"\": {what}"));
    }

    fn how_many(&self, value: &Value, schemas: &[Schema], path: &str) -> usize {
        schemas.iter().filter(|schema| validate(value, None, schema, path).is_empty()).count()
    }

    fn best(&mut self, value: &Value, schemas: &[Schema], path: &str) {
        let mut best: Option<Found> = None;
        for schema in schemas {
            let mut found = Found::default();
            found.value(value, None, schema, path);
            if best.as_ref().is_none_or(|best| found.passed > best.passed) {
                best = Some(found);
            }
        }
        self.causes.extend(best.into_iter().flat_map(|found| found.causes));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_wrong_and_did_not_change_may_stay() {
        let item = json!({"type": "object", "required": ["key", "size"], "properties": {
            "key": {"type": "string"}, "size": {"type": "integer", "maximum": 5}}});
        let props = json!({"type": "object", "properties": {
            "number": {"type": "integer", "maximum": 5},
            "plain": {"type": "array", "items": {"type": "integer", "maximum": 5}},
            "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"], "items": item},
            "either": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}}});
        let schema = Schema::of(&serde_json::from_value(props).unwrap());
        let old =
            json!({"number": 9, "plain": [9], "keyed": [{"key": "a", "size": 9}, {"key": "b"}], "either": {"c": 1}});
        let cases = [
            ("nothing", old.clone(), vec![]),
            ("something else", json!({"number": 9, "plain": [1]}), vec![]),
            ("the value", json!({"number": 8}), vec!["number"]),
            ("an item", json!({"plain": [9, 1]}), vec!["plain[0]"]),
            ("the order", json!({"keyed": [{"key": "b"}, {"key": "a", "size": 9}]}), vec![]),
            ("one of two", json!({"keyed": [{"key": "a", "size": 9}, {"key": "b", "size": 7}]}), vec!["keyed[1].size"]),
            ("a field beside", json!({"either": {"c": 2}}), vec!["<nil>", "either.a"]),
        ];
        for (what, new, want) in cases {
            let (new, old) = (new.as_object().unwrap(), old.as_object());
            let fields: Vec<String> = validate_object(new, old, &schema).into_iter().map(|cause| cause.field).collect();
            assert_eq!(fields, want, "{what} changed");
        }
    }

    fn problems(props: Value, value: Value) -> Vec<String> {
        let props = json!({"type": "object", "properties": {"f": props}});
        let schema = Schema::of(&serde_json::from_value(props).unwrap());
        let causes = validate_object(json!({"f": value}).as_object().unwrap(), None, &schema);
        causes.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
    }

    #[test]
    fn wrong_values_are_told_as_kubernetes_tells_them() {
        const INT: &str = "f: Invalid value: ";
        #[rustfmt::skip]
        let cases = [
            (json!({"type": "integer"}), json!("x"), vec![format!("{INT}\"string\": f in body must be of type integer: \"string\"")]),
            (json!({"type": "integer"}), json!(1.5), vec![format!("{INT}\"number\": f in body must be of type integer: \"number\"")]),
            (json!({"type": "integer"}), json!(2.0), vec![]),
            (json!({"type": "number"}), json!(2), vec![]),
            (json!({"type": "string"}), json!(null), vec![format!("{INT}\"null\": f in body must be of type string: \"null\"")]),
            (json!({"type": "string", "nullable": true}), json!(null), vec![]),
            (json!({"type": "boolean"}), json!([]), vec![format!("{INT}\"array\": f in body must be of type boolean: \"array\"")]),
            (json!({"type": "integer", "maximum": 10, "minimum": 1}), json!(11), vec![format!("{INT}11: f in body should be less than or equal to 10")]),
            (json!({"type": "integer", "maximum": 10, "minimum": 1}), json!(0), vec![format!("{INT}0: f in body should be greater than or equal to 1")]),
            (json!({"type": "number", "maximum": 0.5, "exclusiveMaximum": true}), json!(0.5), vec![format!("{INT}0.5: f in body should be less than 0.5")]),
            (json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true}), json!(0), vec![format!("{INT}0: f in body should be greater than 0")]),
            (json!({"type": "integer", "multipleOf": 5}), json!(7), vec![format!("{INT}7: f in body should be a multiple of 5")]),
            (json!({"type": "string", "pattern": "^a+$"}), json!("b"), vec![format!("{INT}\"b\": f in body should match '^a+$'")]),
            (json!({"type": "string", "minLength": 2}), json!("é"), vec![format!("{INT}\"é\": f in body should be at least 2 chars long")]),
            (json!({"type": "string", "maxLength": 1}), json!("ab"), vec!["f: Too long: may not be more than 1 bytes".into()]),
            (json!({"type": "string", "enum": ["A", "B"]}), json!("C"), vec!["f: Unsupported value: \"C\": supported values: \"A\", \"B\"".into()]),
            (json!({"type": "integer", "enum": [1, 2]}), json!(3), vec!["f: Unsupported value: 3: supported values: \"1\", \"2\"".into()]),
            (json!({"type": "array", "items": {"type": "integer"}, "maxItems": 1}), json!([1, "a"]), vec![
                "f[1]: Invalid value: \"string\": f[1] in body must be of type integer: \"string\"".into(), "f: Too many: 2: must have at most 1 items".into()]),
            (json!({"type": "array", "items": {"type": "integer"}, "minItems": 1}), json!([]), vec![format!("{INT}0: f in body should have at least 1 items")]),
            (json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]}), json!({"a": ""}), vec!["f.b: Required value".into()]),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), json!({"k": 1}), vec!["f.k: Invalid value: \"integer\": f.k in body must be of type string: \"integer\"".into()]),
            (json!({"type": "object", "maxProperties": 0}), json!({"k": 1}), vec!["f: Too many: 1: must have at most 0 items".into()]),
            (json!({"x-kubernetes-int-or-string": true}), json!("50%"), vec![]),
            (json!({"x-kubernetes-int-or-string": true}), json!(true), vec![format!("{INT}\"boolean\": f in body must be of type integer,string: \"boolean\"")]),
            (json!({"type": "string", "format": "date-time"}), json!("soon"), vec![format!("{INT}\"soon\": f in body must be of type date-time: \"soon\"")]),
            (json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), json!({}), vec![
                "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found none valid".into(), "f.a: Required value".into()]),
            (json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), json!({"a": 1, "b": 1}), vec![
                "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found 2 valid alternatives".into()]),
            (json!({"type": "string", "not": {"enum": ["root"]}}), json!("root"), vec!["<nil>: Invalid value: \"\": \"f\" must not validate the schema (not)".into()]),
            (json!({"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 3}]}), json!(4), vec![
                format!("{INT}4: f in body should be less than or equal to 3"), "<nil>: Invalid value: \"\": \"f\" must validate all the schemas (allOf)".into()]),
            (json!({"type": "integer", "anyOf": [{"maximum": 1}, {"minimum": 5}]}), json!(3), vec![
                "<nil>: Invalid value: \"\": \"f\" must validate at least one schema (anyOf)".into(), format!("{INT}3: f in body should be less than or equal to 1")]),
        ];
        for (props, value, want) in cases {
            assert_eq!(problems(props.clone(), value.clone()), want, "{props} {value}");
        }
    }

    #[test]
    fn lists_that_are_sets_or_maps_repeat_nothing() {
        let check = |props: Value, value: Value| -> Vec<String> {
            let schema = Schema::of(&serde_json::from_value(props).unwrap());
            validate_lists(&value, &schema, "f").into_iter().map(|c| format!("{}: {}", c.field, c.message)).collect()
        };
        let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
        assert_eq!(check(set, json!(["a", "b", "a", "a"])), ["f[2]: Duplicate value: \"a\""]);
        let map = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n", "p"],
            "items": {"type": "object"}});
        let items = json!([{"n": "a", "p": 1}, {"n": "a", "p": 2}, {"n": "a", "p": 1, "x": 1}]);
        assert_eq!(check(map, items), ["f[2]: Duplicate value: {\"n\":\"a\",\"p\":1}"]);
    }
}
