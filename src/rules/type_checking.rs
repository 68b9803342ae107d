//! Whether the expressions of a ValidatingAdmissionPolicy fit the kinds that it is about.
//!
//! When a policy is written, it is not known what `object` is, and its fields are not checked. But a policy that names its
//! kinds one by one says enough: each expression is compiled again for each of these, with the types that its fields have,
//! and what is found is a warning. It stands in the policy's status, and changes nothing of what the policy does.
//!
//! Fields are called as in rules: a reserved word is escaped, `metadata.__namespace__`. Quantities have no type there, so
//! that no expression may name a field of them, nor a map: `resources.limits`. That is so in a real cluster too, though a
//! policy may well use either.
//!
//! kube-controller-manager does this, with what the API server has of the language: a library that both have. Mirrors
//! `pkg/admission/plugin/policy/validating/typechecking.go` of apiserver and `SchemaDeclType`.
//!
//! Left out: the types of kinds that users define: nothing is said of those. The `authorizer`. In errors, a real server
//! adds a number to the name of a kind's type.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::admissionregistration::v1::{
    ExpressionWarning, NamedRuleWithOperations, ParamKind, ValidatingAdmissionPolicy, ValidatingAdmissionPolicySpec,
};

use object::Kind;
use object::explain::built_in;

use super::apiextensions::rules::model::escape;
use super::cel::types::Type;
use super::expression::Environment;

/// Of one rule no more kinds are looked at. Mirrors `maxTypesToCheck`.
const KINDS_MAX: usize = 10;

/// What does not fit.
pub fn warnings(policy: &ValidatingAdmissionPolicy) -> Vec<ExpressionWarning> {
    let Some(spec) = &policy.spec else { return Vec::new() };
    let environments: Vec<_> = kinds(spec).into_iter().map(|kind| (kind, environment(spec, kind))).collect();
    let mut warnings = Vec::new();
    for (i, validation) in spec.validations.iter().flatten().enumerate() {
        let message = validation.message_expression.as_deref().unwrap_or_default();
        for (field, text) in [("expression", validation.expression.as_str()), ("messageExpression", message)] {
            let wrong = environments.iter().filter(|_| !text.is_empty()).filter_map(|(kind, environment)| {
                let info = kind.info();
                let why = environment.program(text).err()?;
                Some(format!("{}/{}, Kind={}: {why}\n", info.group, info.version, info.kind))
            });
            let wrong: Vec<String> = wrong.collect();
            if !wrong.is_empty() {
                let field_ref = format!("spec.validations[{i}].{field}");
                warnings.push(ExpressionWarning { field_ref, warning: wrong.join("\n") });
            }
        }
    }
    warnings
}

/// The kinds that a policy names, by group and name. A rule with a `*` says nothing, but for one among its resources; and
/// what comes after one that names too many is not looked at. Mirrors `typesToCheck`.
fn kinds(spec: &ValidatingAdmissionPolicySpec) -> Vec<Kind> {
    let rules = spec.match_constraints.iter().flat_map(|constraints| constraints.resource_rules.iter().flatten());
    let mut named: BTreeSet<Kind> = BTreeSet::new();
    for of_rule in rules.map(kinds_of) {
        let is_full = of_rule.len() == KINDS_MAX;
        named.extend(of_rule);
        if is_full {
            break;
        }
    }
    let mut named: Vec<Kind> = named.into_iter().collect();
    named.sort_by_key(|kind| (kind.info().group, kind.info().version, kind.info().kind));
    named
}

fn kinds_of(rule: &NamedRuleWithOperations) -> Vec<Kind> {
    let sorted = |texts: &Option<Vec<String>>| {
        let mut texts: Vec<String> = texts.iter().flatten().cloned().collect();
        texts.sort();
        texts
    };
    let [groups, versions, resources] = [&rule.api_groups, &rule.api_versions, &rule.resources].map(sorted);
    if groups.iter().chain(&versions).any(|text| text.contains('*')) {
        return Vec::new();
    }
    let named = |group: &String, version: &String, resource: &String| {
        let is_it = |kind: &&Kind| {
            let info = kind.info();
            (info.group, info.version, info.plural) == (group.as_str(), version.as_str(), resource.as_str())
        };
        Kind::ALL.iter().find(is_it).copied()
    };
    let (versions, resources) = (&versions, &resources);
    let places = groups.iter().flat_map(|group| versions.iter().map(move |version| (group, version)));
    let places = places.flat_map(|(group, version)| resources.iter().map(move |resource| (group, version, resource)));
    places.filter_map(|(group, version, resource)| named(group, version, resource)).take(KINDS_MAX).collect()
}

/// What the expressions may use if the object is of this kind.
fn environment(spec: &ValidatingAdmissionPolicySpec, kind: Kind) -> Environment {
    let params = spec.param_kind.as_ref().map(|of| kind_of(of).map_or(Type::Dyn, type_of));
    let mut environment =
        Environment::new(params.is_some(), spec.variables.is_some()).with_types(type_of(kind), params);
    for variable in spec.variables.iter().flatten() {
        // One that is wrong is of any type for the others.
        let _ = environment.add_variable(&variable.name, &variable.expression);
    }
    environment
}

fn kind_of(params: &ParamKind) -> Option<Kind> {
    let (version, name) = (params.api_version.as_deref()?, params.kind.as_deref()?);
    Kind::ALL.iter().copied().find(|kind| kind.info().api_version == version && kind.info().kind == name)
}

/// The type of the objects of a built-in kind.
fn type_of(kind: Kind) -> Type {
    Types { kind, structs: BTreeMap::new() }.of_struct(&mut Vec::new())
}

/// The types of a kind's fields.
struct Types {
    kind: Kind,
    /// Those that have been seen, by name. One that contains itself is anything there.
    structs: BTreeMap<String, Type>,
}

impl Types {
    /// The type of the struct at a path, or of the items there.
    fn of_struct(&mut self, path: &mut Vec<&'static str>) -> Type {
        let Some((name, fields)) = built_in::fields(self.kind, path).filter(|(_, fields)| !fields.is_empty()) else {
            return Type::Dyn;
        };
        self.structs.insert(name.clone(), Type::Dyn);
        let mut typed = Vec::new();
        for (field, type_name) in fields {
            path.push(field);
            typed.extend(escape(field).zip(self.named(&type_name, path)));
            path.pop();
        }
        let of = Type::object(&name, typed);
        self.structs.insert(name, of.clone());
        of
    }

    /// The type of this name, which is that of the field at a path; none if no expression may name the field.
    fn named(&mut self, name: &str, path: &mut Vec<&'static str>) -> Option<Type> {
        if let Some(item) = name.strip_prefix("[]") {
            return self.named(item, path).map(Type::list);
        }
        if let Some(value) = name.strip_prefix("map[string]") {
            return self.named(value, path).map(|value| Type::Map(Box::new(Type::String), Box::new(value)));
        }
        Some(match name {
            "boolean" => Type::Bool,
            "integer" => Type::Int,
            "number" => Type::Double,
            "string" => Type::String,
            "ByteString" => Type::Bytes,
            "Time" | "MicroTime" => Type::Timestamp,
            "Quantity" => return None,
            _ => match self.structs.get(name) {
                Some(of) => of.clone(),
                None => self.of_struct(path),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn told(rules: Value, more: Value, expression: &str) -> Vec<(String, String)> {
        let mut spec =
            json!({"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": expression}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let policy = serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap();
        warnings(&policy).into_iter().map(|warning| (warning.field_ref, warning.warning)).collect()
    }

    fn rule(group: &str, resources: &[&str]) -> Value {
        json!({"apiGroups": [group], "apiVersions": ["v1"], "operations": ["*"], "resources": resources})
    }

    fn one(expression: &str) -> String {
        let told = told(json!([rule("apps", &["deployments"])]), json!({}), expression);
        told.into_iter().map(|(_, warning)| warning).collect()
    }

    #[test]
    fn a_field_that_the_kind_has_not_is_told_with_its_place() {
        assert_eq!(
            one("object.spec.replica <= 5"),
            "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replica'\n | object.spec.replica <= 5\n | \
             ...........^\n"
        );
        let wrong = |expression: &str| one(expression).lines().next().unwrap_or_default().to_owned();
        const HEAD: &str = "apps/v1, Kind=Deployment: ERROR: <input>:1";
        for (expression, want) in [
            ("object.spec.replicas <= '5'", ":22: found no matching overload for '_<=_' applied to '(int, string)'"),
            ("oldObject == null || oldObject.replicas > 1", ":31: undefined field 'replicas'"),
            ("object.metadata.namespace == 'a'", ":16: undefined field 'namespace'"),
            (
                "object.spec.template.spec.containers.all(c, 'cpu' in c.resources.limits)",
                ":65: undefined field 'limits'",
            ),
            (
                "object.metadata.creationTimestamp == 'now'",
                ":35: found no matching overload for '_==_' applied to \
                                                             '(google.protobuf.Timestamp, string)'",
            ),
        ] {
            assert_eq!(wrong(expression), format!("{HEAD}{want}"), "{expression}");
        }
    }

    #[test]
    fn what_fits_is_not_told_of() {
        for expression in [
            "object.metadata.__namespace__ == 'a' && object.spec.replicas > 1",
            "'team' in object.metadata.?labels.orValue({})",
            "object.spec.template.spec.containers.all(c, c.image.contains(':') && c.ports.exists(p, p.containerPort == 80))",
            "object.spec.strategy.rollingUpdate.maxSurge == 1 || object.spec.strategy.rollingUpdate.maxSurge == '25%'",
            "request.operation == 'CREATE' || oldObject.status.conditions.exists(c, c.type == 'Available')",
            "object.metadata.managedFields.all(m, has(m.fieldsV1.any))",
        ] {
            assert_eq!(one(expression), "", "{expression}");
        }
    }

    #[test]
    fn every_kind_that_is_named_is_looked_at_and_no_other() {
        let of = |rules: Value| told(rules, json!({}), "object.replicas > 1");
        let lines = |told: Vec<(String, String)>| -> Vec<String> {
            let heads = told.iter().flat_map(|(_, text)| text.lines()).filter(|line| line.contains("Kind="));
            heads.map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect()
        };
        let both = of(json!([rule("apps", &["replicasets", "deployments"]), rule("", &["pods", "pods/status"])]));
        assert_eq!(both.len(), 1, "a warning an expression");
        assert_eq!(both[0].0, "spec.validations[0].expression");
        assert_eq!(lines(both), ["/v1, Kind=Pod", "apps/v1, Kind=Deployment", "apps/v1, Kind=ReplicaSet"]);
        assert!(of(json!([rule("*", &["deployments"])])).is_empty());
        assert!(of(json!([rule("example.com", &["things"])])).is_empty());
        assert_eq!(lines(of(json!([rule("apps", &["*", "deployments"])]))), ["apps/v1, Kind=Deployment"]);
        let many = [
            "bindings",
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "namespaces",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "secrets",
            "services",
        ];
        let full = lines(of(json!([rule("", &many), rule("apps", &["deployments"])])));
        assert!(full.len() == KINDS_MAX && full.iter().all(|line| line.starts_with("/v1")), "{full:?}");
    }

    #[test]
    fn variables_and_parameters_have_types_too() {
        let rules = || json!([rule("apps", &["deployments"])]);
        let more = |kind: &str, text: &str| {
            let kind = json!({"apiVersion": "v1", "kind": kind});
            json!({"paramKind": kind, "variables": [{"name": "most", "expression": text}]})
        };
        const FITS: &str = "object.spec.replicas <= variables.most";
        assert!(told(rules(), more("ConfigMap", "int(params.data.replicas)"), FITS).is_empty());
        assert!(told(rules(), more("Thing", "params.spec.most"), FITS).is_empty());
        let wrong = told(rules(), more("ConfigMap", "params.data.replicas"), FITS);
        assert!(wrong[0].1.contains("applied to '(int, string)'"), "{wrong:?}");
        let wrong = json!({"validations": [{"expression": "true", "messageExpression": "object.nme"}]});
        assert_eq!(told(rules(), wrong, "")[0].0, "spec.validations[0].messageExpression");
    }

    #[test]
    fn every_kind_has_a_type() {
        for kind in Kind::built_in() {
            assert!(matches!(type_of(kind), Type::Object(_)), "{kind:?}");
        }
    }
}
