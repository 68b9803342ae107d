//! Conditions in CEL, the language of Kubernetes' own rules, behind `cel:`.
//!
//! ```text
//! cel: object.spec.replicas > 3 && object.metadata.labels.all(key, key.startsWith("app"))
//! ```
//!
//! The names are those of all conditions. It is compiled when it is typed, and has to give true or false. A field that is not
//! there makes it false, as everywhere in conditions; `has(object.spec.nodeName)` asks for one.

use serde_json::Value;

use super::eval::Scope;
use super::{Error, Root};
use rules::cel::eval::Activation;
use rules::cel::failure::Budget;
use rules::cel::types::{Names, Type};
use rules::cel::{self, Failure, Program};

/// What such a condition begins with.
pub const BEGIN: &str = "cel:";

/// A condition, compiled once.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    program: Box<Program>,
    /// Without what it begins with.
    pub source: String,
    /// Where that stands in the text.
    pub at: usize,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.source == other.source
    }
}

impl Rule {
    /// Reads a condition that begins with [`BEGIN`]; none if it does not.
    pub fn read(text: &str) -> Option<Result<Rule, Error>> {
        let source = text.strip_prefix(BEGIN)?.trim();
        let at = text.chars().count() - source.chars().count();
        let error = |at, message| Error { text: text.to_owned(), at, message };
        let names: Names = Root::ALL.iter().map(|(name, _)| ((*name).to_owned(), Type::Dyn)).collect();
        let program = match Program::read(source, &names) {
            Ok(program) => program,
            Err(wrong) => {
                let first = wrong.into_iter().min_by_key(|wrong| wrong.at);
                let (byte, message) = first.map_or((0, String::new()), |wrong| (wrong.at, wrong.text));
                let before = source.get(..byte).unwrap_or(source).chars().count();
                return Some(Err(error(at + before, message)));
            }
        };
        Some(match program.gives {
            Type::Bool | Type::Dyn => Ok(Rule { program: Box::new(program), source: source.to_owned(), at }),
            other => Err(error(at, format!("a condition is true or false, and this is of type {other}"))),
        })
    }

    /// Whether it asks nothing but what an object is like.
    pub fn is_about_an_object(&self) -> bool {
        let others = Root::ALL.iter().filter(|(_, root)| !matches!(root, Root::New | Root::Object));
        !others.into_iter().any(|(name, _)| self.program.uses(name))
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// It compares what cannot be compared, or takes too long.
    pub fn holds(&self, scope: &dyn Scope) -> Result<bool, String> {
        let mut activation = Activation::default();
        let mut is_missing = false;
        for (name, root) in Root::ALL.into_iter().filter(|(name, _)| self.program.uses(name)) {
            let value = scope.root(root);
            is_missing |= value.is_null();
            activation.values.insert(name.to_owned(), cel::Value::of_json(value));
        }
        match self.program.evaluate(&activation, &mut Budget::new(Budget::ALL)) {
            Ok(cel::Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!("a condition is true or false, and this is of type {}", other.type_name())),
            Err(Failure::Error(why)) if is_missing || why.starts_with("no such key") => Ok(false),
            Err(why) => Err(why.to_string()),
        }
    }

    /// The same as a value.
    ///
    /// # Errors
    /// As [`Rule::holds`].
    pub fn value(&self, scope: &dyn Scope) -> Result<Value, String> {
        self.holds(scope).map(Value::Bool)
    }
}
