//! A policy with its expressions compiled, and what is wrong with one that is not. Mirrors `pkg/admission/plugin/cel`.

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, MutatingAdmissionPolicy, Mutation, ParamKind, ValidatingAdmissionPolicy, Variable,
};

use crate::cel::eval::Activation;
use crate::cel::types::Type;
use crate::cel::{Program, Value, structs};
use crate::expression::{Environment, Expression};
use crate::question::{Question, value_of};
use object::Object;
use object::status::Reason;

/// What policies of both sorts have.
#[derive(Default)]
pub struct Head {
    /// Which requests it is about.
    pub constraints: Option<MatchResources>,
    /// What kind of object its parameters are.
    pub param_kind: Option<ParamKind>,
    /// Whether a request passes that it cannot be asked about.
    pub ignores_failures: bool,
    /// What must hold for it to be asked.
    pub conditions: Vec<Expression>,
    /// What its expressions have in common, by name.
    pub variables: Vec<(String, Program)>,
}

/// A policy that may refuse requests, ready to be asked.
#[derive(Default)]
pub struct Policy {
    /// What both sorts have.
    pub head: Head,
    /// What must hold.
    pub validations: Vec<Validation>,
    /// What is noted in the audit log, by key.
    pub annotations: Vec<(String, Expression)>,
}

/// A policy that changes objects, ready to be asked.
#[derive(Default)]
pub struct MutatingPolicy {
    /// What both sorts have.
    pub head: Head,
    /// What it changes, in its order.
    pub patches: Vec<Patch>,
    /// Whether it wants to see what others have changed after it.
    pub reinvoke: bool,
}

/// The expression that makes a change.
pub enum Patch {
    /// It makes fields that the object is to have.
    Apply(Expression),
    /// It makes the operations of a JSON patch.
    Json(Expression),
}

/// A `patchType`.
pub const APPLY_CONFIGURATION: &str = "ApplyConfiguration";
/// A `patchType`.
pub const JSON_PATCH: &str = "JSONPatch";

/// What an expression of this `patchType` has to make.
pub fn gives(patch_type: &str) -> Type {
    let made = |name: &str| Type::Struct(name.into());
    if patch_type == JSON_PATCH { Type::list(made(structs::JSON_PATCH)) } else { made(structs::OBJECT) }
}

/// One thing that must hold.
pub struct Validation {
    /// What.
    pub is: Expression,
    /// What is said if not.
    pub says: String,
    /// The same, made for the case.
    pub message: Option<Program>,
    /// Reason and code of the refusal.
    pub reason: Reason,
}

// Expressions that do not compile are left out: no policy with one is stored.

impl Head {
    /// What stands first in a policy, and what its other expressions may use.
    fn of(
        constraints: &Option<MatchResources>,
        param_kind: &Option<ParamKind>,
        failure_policy: Option<&str>,
        conditions: Option<&[MatchCondition]>,
        variables: Option<&[Variable]>,
    ) -> (Head, Environment) {
        let has_params = param_kind.is_some();
        let mut environment = Environment::new(has_params, variables.is_some());
        let mut compiled = Vec::new();
        for variable in variables.into_iter().flatten() {
            if let Ok(program) = environment.add_variable(&variable.name, &variable.expression) {
                compiled.push((variable.name.clone(), program));
            }
        }
        let plain = Environment::new(has_params, false);
        let condition = |of: &MatchCondition| plain.expression(of.expression.trim(), Some(&Type::Bool)).ok();
        let head = Head {
            constraints: constraints.clone(),
            param_kind: param_kind.clone(),
            ignores_failures: failure_policy == Some("Ignore"),
            conditions: conditions.into_iter().flatten().filter_map(condition).collect(),
            variables: compiled,
        };
        (head, environment)
    }

    /// What its expressions can use about a request, with one set of parameters.
    pub fn activation<'p>(&'p self, question: &Question, params: Option<&Object>) -> Activation<'p> {
        let mut values = question.values().clone();
        if self.param_kind.is_some() {
            values.insert("params".to_owned(), params.map_or(Value::Null, value_of));
        }
        Activation { values, variables: &self.variables }
    }
}

impl Policy {
    /// The policy as it is asked.
    pub fn of(policy: &ValidatingAdmissionPolicy) -> Policy {
        let Some(spec) = &policy.spec else { return Policy::default() };
        let (head, environment) = Head::of(
            &spec.match_constraints,
            &spec.param_kind,
            spec.failure_policy.as_deref(),
            spec.match_conditions.as_deref(),
            spec.variables.as_deref(),
        );
        let validations = spec.validations.iter().flatten().filter_map(|validation| {
            let message = validation.message_expression.as_deref().filter(|text| !text.trim().is_empty());
            Some(Validation {
                is: environment.expression(&validation.expression, Some(&Type::Bool)).ok()?,
                says: validation.message.clone().unwrap_or_default(),
                message: message.and_then(|text| environment.compile(text, Some(&Type::String)).ok()),
                reason: match validation.reason.as_deref() {
                    Some("Forbidden") => Reason::Forbidden,
                    Some("Unauthorized") => Reason::Unauthorized,
                    Some("RequestEntityTooLarge") => Reason::RequestEntityTooLarge,
                    _ => Reason::Invalid,
                },
            })
        });
        let annotations = spec.audit_annotations.iter().flatten().filter_map(|annotation| {
            Some((annotation.key.clone(), environment.expression(annotation.value_expression.trim(), None).ok()?))
        });
        Policy { head, validations: validations.collect(), annotations: annotations.collect() }
    }
}

impl MutatingPolicy {
    /// The policy as it is asked.
    pub fn of(policy: &MutatingAdmissionPolicy) -> MutatingPolicy {
        let Some(spec) = &policy.spec else { return MutatingPolicy::default() };
        let (head, environment) = Head::of(
            &spec.match_constraints,
            &spec.param_kind,
            spec.failure_policy.as_deref(),
            spec.match_conditions.as_deref(),
            spec.variables.as_deref(),
        );
        let environment = environment.patching();
        let patch = |mutation: &Mutation| {
            let (apply, json) = (mutation.apply_configuration.as_ref(), mutation.json_patch.as_ref());
            let text = match mutation.patch_type.as_str() {
                JSON_PATCH => json?.expression.as_deref()?,
                _ => apply?.expression.as_deref()?,
            };
            let expression = environment.expression(text, Some(&gives(&mutation.patch_type))).ok()?;
            Some(if mutation.patch_type == JSON_PATCH { Patch::Json(expression) } else { Patch::Apply(expression) })
        };
        let patches = spec.mutations.iter().flatten().filter_map(patch).collect();
        MutatingPolicy { head, patches, reinvoke: spec.reinvocation_policy.as_deref() == Some("IfNeeded") }
    }
}
