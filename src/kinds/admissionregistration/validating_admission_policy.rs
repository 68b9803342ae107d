//! ValidatingAdmissionPolicies.

use k8s_openapi::api::admissionregistration::v1::{
    AuditAnnotation, ValidatingAdmissionPolicy, ValidatingAdmissionPolicySpec, Validation as Condition,
};

use crate::admissionregistration::matching::match_conditions;
use crate::admissionregistration::policy;
use crate::admissionregistration::policy::{compiles, head, variables};
use crate::printers::columns::{AGE, NAME, column, integer};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use crate::strategy::kept::keep_metadata;
use crate::warnings::names;
use object::Accessor;
use object::selector::names::check_label_key;
use object::validation::field::{Json, Path, Problems};
use rules::cel::types::Type;
use rules::expression::Environment;

/// What the server knows of ValidatingAdmissionPolicies.
pub const ROW: Row<ValidatingAdmissionPolicy> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|policy, _| policy.status = Some(Default::default())),
        prepare_for_status_update: Some(|new, old, _| keep_metadata(&mut new.metadata, &old.metadata)),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: |told, object| names::of_static_name(told, object.metadata.name()), ..Warnings::DEFAULT },
    ..Row::new(Facts {
        unconditional_update: false,
        any_finalizers: true,
        table: Table {
            columns: &[NAME, integer("Validations"), column("ParamKind"), AGE],
            cells: policy::policy_cells,
        },
        ..Facts::new("/registry/validatingadmissionpolicies/", 17)
    })
};

const SPEC: Path = Path::new("spec");
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const ANNOTATIONS_MAX: usize = 20;
const VALUE_MAX: usize = 5 * 1024;

/// A policy that says nothing of failures refuses what it cannot be asked about.
fn defaults(policy: &mut ValidatingAdmissionPolicy) {
    let spec = policy.spec.get_or_insert_default();
    policy::spec_defaults(&mut spec.failure_policy, &mut spec.match_constraints);
}

/// The spec of a policy.
fn validate(problems: &mut Problems, policy: &ValidatingAdmissionPolicy) {
    let default = ValidatingAdmissionPolicySpec::default();
    let spec = policy.spec.as_ref().unwrap_or(&default);
    head(problems, spec.failure_policy.as_deref(), spec.param_kind.as_ref(), spec.match_constraints.as_ref());
    let has_params = spec.param_kind.is_some();
    let conditions = spec.match_conditions.as_deref().unwrap_or_default();
    match_conditions(problems, &SPEC.child("matchConditions"), conditions, has_params);
    let environment = variables(problems, spec.variables.as_deref(), has_params);
    let (checks, audit) = (SPEC.child("validations"), SPEC.child("auditAnnotations"));
    let validations = spec.validations.as_deref().unwrap_or_default();
    let annotations = spec.audit_annotations.as_deref().unwrap_or_default();
    if validations.is_empty() && annotations.is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        problems.required(&checks, why);
        problems.required(&audit, why);
    }
    for (i, one) in validations.iter().enumerate() {
        validate_one(problems, &checks.index(i), one, &environment);
    }
    let name = policy.metadata.name();
    audit_annotations(problems, &audit, name, annotations, &environment);
}

fn validate_one(problems: &mut Problems, path: &Path, validation: &Condition, environment: &Environment) {
    const MISSING: &str = "expression is not specified";
    compiles(problems, &path.child("expression"), &validation.expression, MISSING, environment, &Type::Bool);
    let made = validation.message_expression.as_deref().unwrap_or_default();
    let at = path.child("messageExpression");
    if !made.is_empty() && made.trim().is_empty() {
        problems.invalid(&at, made, "must be non-empty if specified");
    } else if !made.is_empty() {
        compiles(problems, &at, made, "", environment, &Type::String);
    }
    let message = validation.message.as_deref().unwrap_or_default();
    if !message.is_empty() && message.trim().is_empty() {
        problems.invalid(&path.child("message"), message, "must be non-empty if specified");
    } else if message.trim().contains(['\n', '\r']) {
        problems.invalid(&path.child("message"), message, "must not contain line breaks");
    }
    if let Some(reason) = validation.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
        problems.not_supported(&path.child("reason"), reason, &REASONS);
    }
}

fn audit_annotations(
    problems: &mut Problems,
    path: &Path,
    name: &str,
    annotations: &[AuditAnnotation],
    environment: &Environment,
) {
    if annotations.len() > ANNOTATIONS_MAX {
        let why = format!("must not have more than {ANNOTATIONS_MAX} auditAnnotations");
        problems.invalid(path, Json(&annotations), &why);
    }
    for (i, annotation) in annotations.iter().enumerate() {
        let path = path.index(i);
        let (key, value) = (path.child("key"), path.child("valueExpression"));
        let whole = format!("{name}/{}", annotation.key);
        problems.all_invalid(&key, &whole, check_label_key(&whole));
        let text = annotation.value_expression.trim();
        if text.is_empty() {
            problems.required(&value, "valueExpression is not specified");
        } else if text.len() > VALUE_MAX {
            problems.required(&value, &format!("must not exceed {VALUE_MAX} bytes in length"));
        } else {
            match environment.compile(text, None) {
                Ok(program) if matches!(program.gives, Type::String | Type::Null | Type::Dyn) => {}
                Ok(program) => {
                    let why = format!("must evaluate to one of [string null_type] but got {}", program.gives);
                    problems.invalid(&value, annotation.value_expression.as_str(), &why);
                }
                Err(why) => problems.invalid(&value, annotation.value_expression.as_str(), &why),
            }
        }
        if annotations[..i].iter().any(|before| before.key == annotation.key) {
            problems.duplicate(&key, annotation.key.as_str());
        }
    }
}
