//! CEL, the language of rules: in schemas of custom kinds and in admission policies.
//!
//! A rule is compiled once, when the object that carries it is written, and what cannot work is refused then: the text is
//! parsed ([`parse`], [`macros`], [`tree`]), every part gets its type ([`check`], [`types`]), and what is wrong is
//! shown where it stands ([`report`]). Evaluating it ([`eval`], [`value`]) reads
//! nothing but the values it is given, and pays for each step out of a budget, so that no rule runs for long. The functions
//! there are stand in [`library`], the objects that can be made in [`structs`]; [`mod@format`] and [`url`] are what texts can be.
//!
//! Text is read by the crate `cel`. What follows is ours: that crate checks no types, counts no costs, keeps maps in an order
//! that differs between processes, and knows none of Kubernetes' functions.
//!
//! Mirrors `github.com/google/cel-go` as `k8s.io/apiserver/pkg/cel/environment` sets it up.
//!
//! Must hold:
//! - The same rule on the same values gives the same result in every run. Kept by `the_language` and
//!   `runs_repeat_and_properties_hold`.
//! - No text and no value makes it panic. Kept by `no_text_panics` and `what_goes_wrong_while_it_runs`.
//!
//! Left out: the method `format` of texts, `semver`, the `authorizer`, messages of protocol buffers. Costs are counted in cel-go's units but not always to the same number.

pub mod check;
pub mod duration;
pub mod eval;
pub mod failure;
pub mod format;
pub mod library;
pub mod macros;
pub mod parse;
pub mod report;
pub mod structs;
pub mod tree;
pub mod types;
pub mod url;
pub mod value;

#[cfg(test)]
mod tests;

use eval::{Activation, Run};
use failure::Budget;
pub use failure::Failure;
pub use report::Wrong;
use tree::{Is, Node};
use types::Names;
use types::Type;
pub use value::Value;

/// How long a message that an expression makes may be, in bytes. Mirrors `MaxEvaluatedMessageExpressionSizeBytes`.
const MESSAGE_MAX: usize = 5 * 1024;

/// An expression that was found right.
#[derive(Clone, Debug)]
pub struct Program {
    root: Node,
    /// What it evaluates to.
    pub gives: Type,
}

impl Program {
    /// Compiles `source`, which may use `names`; the error is what cel-go prints, one or more `ERROR: <input>:…`.
    pub fn compile(source: &str, names: &Names) -> Result<Program, String> {
        Program::read(source, names).map_err(|errors| report::report(source, &errors))
    }

    /// The same; the errors are what is wrong, one or more, each with its place.
    ///
    /// # Errors
    /// It is no expression, or its parts do not fit together.
    pub fn read(source: &str, names: &Names) -> Result<Program, Vec<Wrong>> {
        let mut root = parse::parse(source)?;
        let gives = check::check(&mut root, names)?;
        Ok(Program { root, gives })
    }

    /// The value of the expression. The budget counts what it costs.
    ///
    /// # Errors
    /// What went wrong on the way: a key that is not there, a budget that is spent.
    pub fn evaluate(&self, activation: &Activation, budget: &mut Budget) -> Result<Value, Failure> {
        budget.begin();
        Run::new(activation, budget).value(&self.root)
    }

    /// The text that it makes, if that will do as a message: something, on one line, that is not too long.
    pub fn message(&self, activation: &Activation, budget: &mut Budget) -> Option<String> {
        let Ok(Value::String(text)) = self.evaluate(activation, budget) else { return None };
        let text = text.trim();
        let will_do = !text.is_empty() && text.len() <= MESSAGE_MAX && !text.contains('\n');
        will_do.then(|| text.to_owned())
    }

    /// Whether it uses a name anywhere.
    pub fn uses(&self, name: &str) -> bool {
        uses(&self.root, name)
    }
}

fn uses(node: &Node, name: &str) -> bool {
    let in_it = |node: &Node| uses(node, name);
    match &node.is {
        Is::Literal(_) => false,
        Is::Name(there) => there == name,
        Is::Select { of, .. } => in_it(of),
        Is::Call { target, args, .. } => target.as_deref().is_some_and(in_it) || args.iter().any(in_it),
        Is::List(items) => items.iter().any(|(item, _)| in_it(item)),
        Is::Map(entries) => entries.iter().any(|(key, value, _)| in_it(key) || in_it(value)),
        Is::Struct { fields, .. } => fields.iter().any(|field| in_it(&field.value)),
        Is::Fold(fold) => [&fold.range, &fold.start, &fold.condition, &fold.step, &fold.end].into_iter().any(in_it),
    }
}
