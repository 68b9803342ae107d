//! A policy with its expressions compiled, and what is wrong with one that is not. Mirrors `pkg/admission/plugin/cel`.

use std::sync::LazyLock;

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, MutatingAdmissionPolicy, Mutation, ParamKind, ValidatingAdmissionPolicy, Variable,
};

use crate::apiserver::cel::check::Names;
use crate::apiserver::cel::types::Type;
use crate::apiserver::cel::{Program, structs};
use crate::object::status::Reason;

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

/// An expression with its text.
pub struct Expression {
    /// As it was written.
    pub text: String,
    /// What it does.
    pub program: Program,
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

/// The names that the expressions of a policy may use.
pub struct Environment {
    names: Names,
    variables: Vec<(String, Type)>,
    has_variables: bool,
}

impl Environment {
    /// What every policy has; `params` only if it has a kind for them, and `variables` if it has any.
    pub fn new(has_params: bool, has_variables: bool) -> Environment {
        let mut names: Names = BASE.clone();
        if has_params {
            names.push(("params".to_owned(), Type::Dyn));
        }
        Environment { names, variables: Vec::new(), has_variables }
    }

    /// The same where it is known what the objects and the parameters are.
    pub fn with_types(mut self, object: Type, params: Option<Type>) -> Environment {
        let names = [("object", Some(object.clone())), ("oldObject", Some(object)), ("params", params)];
        self.names.extend(names.into_iter().filter_map(|(name, of)| Some((name.to_owned(), of?))));
        self
    }

    /// The same for expressions that change objects, which may make some.
    pub fn patching(mut self) -> Environment {
        self.names.extend(structs::names());
        self
    }

    /// An expression with its text.
    pub fn expression(&self, text: &str, wanted: Option<&Type>) -> Result<Expression, String> {
        Ok(Expression { text: text.to_owned(), program: self.compile(text, wanted)? })
    }

    /// Compiles an expression; the error is what is wrong with it, line by line.
    pub fn program(&self, text: &str) -> Result<Program, String> {
        let mut names = self.names.clone();
        if self.has_variables {
            let variables = Type::object("kubernetes.variables", self.variables.iter().cloned());
            names.push(("variables".to_owned(), variables));
        }
        Program::compile(text, &names)
    }

    /// Compiles an expression that has to give a value of some type; the error is what the server says of it.
    pub fn compile(&self, text: &str, wanted: Option<&Type>) -> Result<Program, String> {
        let program = self.program(text).map_err(|why| format!("compilation failed: {why}"))?;
        match wanted {
            Some(wanted) if program.gives != *wanted => {
                Err(format!("must evaluate to {wanted} but got {}", program.gives))
            }
            _ => Ok(program),
        }
    }

    /// Compiles a variable, which later ones and all other expressions may use.
    pub fn add_variable(&mut self, name: &str, text: &str) -> Result<Program, String> {
        let compiled = self.compile(text, None);
        let of = compiled.as_ref().map_or(Type::Dyn, |program| program.gives.clone());
        self.variables.push((name.to_owned(), of));
        compiled
    }
}

/// The names that there always are.
static BASE: LazyLock<Names> = LazyLock::new(|| {
    let names =
        [("object", Type::Dyn), ("oldObject", Type::Dyn), ("namespaceObject", namespace()), ("request", request())];
    names.map(|(name, of)| (name.to_owned(), of)).into()
});

fn fields(name: &str, fields: &[(&str, &str)], more: Vec<(&str, Type)>) -> Type {
    let simple = fields.iter().map(|(field, of)| (*field, Type::read(of)));
    Type::object(name, simple.chain(more).map(|(field, of)| (field.to_owned(), of)))
}

/// Mirrors `BuildRequestType`.
fn request() -> Type {
    let kind = || {
        fields("kubernetes.GroupVersionKind", &["group", "version", "kind"].map(|field| (field, "string")), Vec::new())
    };
    let resource = || {
        let names = ["group", "version", "resource"].map(|field| (field, "string"));
        fields("kubernetes.GroupVersionResource", &names, Vec::new())
    };
    let user =
        [("username", "string"), ("uid", "string"), ("groups", "list(string)"), ("extra", "map(string, list(string))")];
    let simple = [
        ("subResource", "string"),
        ("requestSubResource", "string"),
        ("name", "string"),
        ("namespace", "string"),
        ("operation", "string"),
        ("dryRun", "bool"),
        ("options", "dyn"),
    ];
    let more = vec![
        ("kind", kind()),
        ("resource", resource()),
        ("requestKind", kind()),
        ("requestResource", resource()),
        ("userInfo", fields("kubernetes.UserInfo", &user, Vec::new())),
    ];
    fields("kubernetes.AdmissionRequest", &simple, more)
}

/// Mirrors `BuildNamespaceType`.
fn namespace() -> Type {
    let metadata = [
        ("name", "string"),
        ("generateName", "string"),
        ("namespace", "string"),
        ("labels", "map(string, string)"),
        ("annotations", "map(string, string)"),
        ("UID", "string"),
        ("creationTimestamp", "timestamp"),
        ("deletionGracePeriodSeconds", "int"),
        ("deletionTimestamp", "timestamp"),
        ("generation", "int"),
        ("resourceVersion", "string"),
        ("finalizers", "list(string)"),
    ];
    let condition = [
        ("status", "string"),
        ("type", "string"),
        ("lastTransitionTime", "timestamp"),
        ("message", "string"),
        ("reason", "string"),
    ];
    let conditions = Type::list(fields("kubernetes.NamespaceCondition", &condition, Vec::new()));
    let status = fields("kubernetes.NamespaceStatus", &[("phase", "string")], vec![("conditions", conditions)]);
    let spec = fields("kubernetes.NamespaceSpec", &[("finalizers", "list(string)")], Vec::new());
    let metadata = fields("kubernetes.NamespaceMetadata", &metadata, Vec::new());
    fields("kubernetes.Namespace", &[], vec![("metadata", metadata), ("spec", spec), ("status", status)])
}
