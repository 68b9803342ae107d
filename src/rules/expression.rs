//! Expressions of policies and webhooks: the names that they may use, and what is said when one fails. Mirrors
//! `pkg/admission/plugin/cel` and `pkg/admission/plugin/webhook/matchconditions` of apiserver.

use std::sync::LazyLock;

use super::cel::eval::Activation;
use super::cel::failure::Budget;
use super::cel::types::Names;
use super::cel::types::Type;
use super::cel::{Failure, Program, Value, structs};

/// An expression with its text.
pub struct Expression {
    /// As it was written.
    pub text: String,
    /// What it does.
    pub program: Program,
}

/// Whether all conditions hold, of a policy or a webhook. One that does not decides, even if one before it is an error.
/// Mirrors `matchconditions.matcher.Match`.
pub fn hold(conditions: &[Expression], activation: &Activation) -> Result<bool, String> {
    let mut budget = Budget::new(Budget::CONDITIONS);
    let mut errors = Vec::new();
    for condition in conditions {
        match condition.program.evaluate(activation, &mut budget) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => return Ok(false),
            Err(failure) if budget.is_spent() => return Err(said(&condition.text, &failure, true)),
            Err(failure) => errors.push(said(&condition.text, &failure, false)),
        }
    }
    match errors.len() {
        0 => Ok(true),
        1 => Err(errors.remove(0)),
        _ => Err(format!("[{}]", errors.join(", "))),
    }
}

/// Why an expression came to nothing.
pub fn said(text: &str, failure: &Failure, spent: bool) -> String {
    if spent {
        return "validation failed due to running out of cost budget, no further validation rules will be run"
            .to_owned();
    }
    format!("expression '{text}' resulted in error: {failure}")
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
