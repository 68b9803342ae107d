//! IngressClasses. Mirrors `ValidateIngressClass` of `pkg/apis/networking/validation`.

use jiff::Timestamp;
use k8s_openapi::api::networking::v1::{IngressClass, IngressClassParametersReference};
use serde_json::Value;

use crate::defaults::fields::or;
use crate::networking::ingress::reference;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{at, or_none, text};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation};
use object::validation::field::{Path, Problems};
use object::validation::names::{check_dns_label, prefixed_path};

/// What the server knows of IngressClasses.
pub const ROW: Row<IngressClass> = Row {
    defaults: Some(defaults),
    strategy: Strategy { generation: Generation::Counted(|new, old| new.spec != old.spec), ..Strategy::DEFAULT },
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts {
        table: Table { columns: &[NAME, column("Controller"), column("Parameters"), AGE], cells },
        ..Facts::new("/registry/ingressclasses/", 11)
    })
};

const SPEC: Path = Path::new("spec");

/// The longest name of a class's controller.
const CONTROLLER_LEN_MAX: usize = 250;

/// What says more about a class is an object of the cluster.
fn defaults(class: &mut IngressClass) {
    if let Some(parameters) = class.spec.as_mut().and_then(|spec| spec.parameters.as_mut()) {
        or(&mut parameters.scope, "Cluster".to_owned());
    }
}

/// The spec of an IngressClass.
pub fn validate(problems: &mut Problems, class: &IngressClass) {
    let spec = class.spec.as_ref();
    let controller = spec.and_then(|spec| spec.controller.as_deref()).unwrap_or_default();
    let path = SPEC.child("controller");
    if controller.len() > CONTROLLER_LEN_MAX {
        problems.too_long(&path, CONTROLLER_LEN_MAX);
    }
    prefixed_path(problems, &path, controller);
    if let Some(parameters) = spec.and_then(|spec| spec.parameters.as_ref()) {
        self::parameters(problems, &SPEC.child("parameters"), parameters);
    }
}

/// The controller of a class stays.
pub fn validate_update(problems: &mut Problems, new: &IngressClass, old: &IngressClass) {
    let of = |class: &IngressClass| class.spec.as_ref().and_then(|spec| spec.controller.clone()).unwrap_or_default();
    if of(new) != of(old) {
        problems.invalid(&SPEC.child("controller"), of(new).as_str(), "field is immutable");
    }
    validate(problems, new);
}

/// The cells of an IngressClass.
fn cells(class: &Value, now: Timestamp) -> Vec<Value> {
    let [kind, group, to] = ["kind", "apiGroup", "name"].map(|part| text(class, &format!("spec.parameters.{part}")));
    let kind = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let parameters = if to.is_empty() { String::new() } else { format!("{kind}/{to}") };
    let controller = text(class, "spec.controller");
    let marks = at(class, "metadata.annotations").get("ingressclass.kubernetes.io/is-default-class");
    let default = if marks.is_some_and(|value| value == "true") { " (default)" } else { "" };
    cells![name(class) + default, controller, or_none(&parameters), created(class, now)]
}

/// Where a class says more about itself. Mirrors `validateIngressClassParametersReference`.
fn parameters(problems: &mut Problems, path: &Path, to: &IngressClassParametersReference) {
    reference(problems, path, to.api_group.as_deref(), &to.kind, &to.name);
    let at = path.child("namespace");
    match (to.scope.as_deref(), to.namespace.as_deref()) {
        (None, _) => problems.required(&path.child("scope"), ""),
        (Some("Namespace"), None) => problems.required(&at, "`parameters.scope` is set to 'Namespace'"),
        (Some("Namespace"), Some(namespace)) => problems.all_invalid(&at, namespace, check_dns_label(namespace)),
        (Some("Cluster"), Some(_)) => problems.forbidden(&at, "`parameters.scope` is set to 'Cluster'"),
        (Some("Cluster"), None) => {}
        (Some(scope), _) => problems.not_supported(&path.child("scope"), scope, &["Cluster", "Namespace"]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_of_a_class() {
        for (more, want) in [
            (json!({"scope": "Cluster"}), ""),
            (json!({"scope": "Namespace", "namespace": "n"}), ""),
            (json!({}), "spec.parameters.scope: Required value"),
            (
                json!({"scope": "Pod"}),
                "spec.parameters.scope: Unsupported value: \"Pod\": supported values: \"Cluster\", \"Namespace\"",
            ),
            (
                json!({"scope": "Namespace"}),
                "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
            ),
            (
                json!({"scope": "Cluster", "namespace": "n"}),
                "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
            ),
            (json!({"scope": "Cluster", "kind": ""}), "spec.parameters.kind: Required value"),
        ] {
            let mut parameters = json!({"apiGroup": "a.io", "kind": "Settings", "name": "s"});
            parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let spec = json!({"controller": "a.io/b", "parameters": parameters});
            let mut problems = Problems::default();
            validate(&mut problems, &serde_json::from_value(json!({"spec": spec})).expect("an IngressClass"));
            let found: Vec<String> =
                problems.0.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
            assert_eq!(found.join(", "), want, "{more}");
        }
    }

    #[test]
    fn a_class_names_its_controller_for_good() {
        let class = |controller: &str| -> IngressClass {
            serde_json::from_value(json!({"spec": {"controller": controller}})).expect("an IngressClass")
        };
        for (controller, good) in [("example.com/ingress", true), ("", false), ("ingress", false), ("a_b/c", false)] {
            let mut problems = Problems::default();
            validate(&mut problems, &class(controller));
            assert_eq!(problems.0.is_empty(), good, "{controller}");
        }
        let mut problems = Problems::default();
        validate_update(&mut problems, &class("a.io/b"), &class("a.io/c"));
        assert_eq!(problems.0.len(), 1);
    }
}
