//! A policy with its expressions compiled, and what is wrong with one that is not. Mirrors `pkg/admission/plugin/cel`.

use std::sync::LazyLock;

use k8s_openapi::api::admissionregistration::v1::{MatchResources, ParamKind, ValidatingAdmissionPolicy};

use crate::apiserver::cel::Program;
use crate::apiserver::cel::check::Names;
use crate::apiserver::cel::types::Type;
use crate::object::status::Reason;

/// A policy, ready to be asked.
pub struct Policy {
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
    /// What must hold.
    pub validations: Vec<Validation>,
    /// What is noted in the audit log, by key.
    pub annotations: Vec<(String, Expression)>,
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

impl Policy {
    /// The policy as it is asked. Expressions that do not compile are left out: no policy with one is stored.
    pub fn of(policy: &ValidatingAdmissionPolicy) -> Policy {
        let Some(spec) = &policy.spec else { return Policy::empty() };
        let has_params = spec.param_kind.is_some();
        let mut environment = Environment::new(has_params, spec.variables.is_some());
        let mut variables = Vec::new();
        for variable in spec.variables.iter().flatten() {
            if let Ok(program) = environment.add_variable(&variable.name, &variable.expression) {
                variables.push((variable.name.clone(), program));
            }
        }
        let plain = Environment::new(has_params, false);
        let compiled = |environment: &Environment, text: &str| environment.expression(text, Some(&Type::Bool)).ok();
        let conditions = spec.match_conditions.iter().flatten();
        let validations = spec.validations.iter().flatten().filter_map(|validation| {
            let message = validation.message_expression.as_deref().filter(|text| !text.trim().is_empty());
            Some(Validation {
                is: compiled(&environment, &validation.expression)?,
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
        Policy {
            annotations: annotations.collect(),
            constraints: spec.match_constraints.clone(),
            param_kind: spec.param_kind.clone(),
            ignores_failures: spec.failure_policy.as_deref() == Some("Ignore"),
            conditions: conditions.filter_map(|condition| compiled(&plain, condition.expression.trim())).collect(),
            validations: validations.collect(),
            variables,
        }
    }

    fn empty() -> Policy {
        Policy {
            constraints: None,
            param_kind: None,
            ignores_failures: false,
            conditions: Vec::new(),
            variables: Vec::new(),
            validations: Vec::new(),
            annotations: Vec::new(),
        }
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
