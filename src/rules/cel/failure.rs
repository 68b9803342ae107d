//! Why an expression comes to nothing, and what it may cost.

use super::value::Value;

/// Why an expression came to no value. What the text is decides what the caller says around it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// `no such key: x`, `division by zero` …
    #[error("{0}")]
    Error(String),
    /// The budget was spent.
    #[error("operation cancelled: actual cost limit exceeded")]
    Cost,
}

/// What one expression may cost. Mirrors `PerCallLimit` of `pkg/apis/cel/config.go`.
const PER_CALL: u64 = 1_000_000;

/// What expressions may still cost.
#[derive(Clone, Debug)]
pub struct Budget {
    all: u64,
    call: u64,
}

impl Budget {
    /// For all rules of one object or all expressions of one policy. Mirrors `RuntimeCELCostBudget`.
    pub const ALL: u64 = 10_000_000;
    /// For all match conditions of one policy. Mirrors `RuntimeCELCostBudgetMatchConditions`.
    pub const CONDITIONS: u64 = 2_500_000;

    /// A budget of so many units.
    pub fn new(all: u64) -> Budget {
        Budget { all, call: 0 }
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.all == 0
    }

    /// The next expression begins.
    pub(super) fn begin(&mut self) {
        self.call = PER_CALL;
    }

    /// Pays for a step.
    pub(super) fn pay(&mut self, units: u64) -> Result<(), Failure> {
        self.all = self.all.saturating_sub(units);
        self.call = self.call.saturating_sub(units);
        if self.all == 0 || self.call == 0 { Err(Failure::Cost) } else { Ok(()) }
    }

    /// Whether two values are equal; looking into them is paid for, since a few letters can make a value that is very deep.
    pub(super) fn same(&mut self, a: &Value, b: &Value) -> Result<bool, Failure> {
        self.pay(1)?;
        Ok(match (a, b) {
            (Value::List(a), Value::List(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                for (a, b) in a.iter().zip(b.iter()) {
                    if !self.same(a, b)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Map(a), Value::Map(b)) => {
                if a.len() != b.len() {
                    return Ok(false);
                }
                for ((name, a), (other, b)) in a.iter().zip(b.iter()) {
                    if name != other || !self.same(a, b)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Struct(a), Value::Struct(b)) => {
                if a.name != b.name || a.fields.len() != b.fields.len() {
                    return Ok(false);
                }
                for ((name, a), (other, b)) in a.fields.iter().zip(&b.fields) {
                    if name != other || !self.same(a, b)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Optional(Some(a)), Value::Optional(Some(b))) => return self.same(a, b),
            _ => {
                self.pay(a.size().min(b.size()) / 10)?;
                a == b
            }
        })
    }
}

/// An error that the language knows.
pub(super) fn error(text: String) -> Failure {
    Failure::Error(text)
}

/// What only a running program can find: the values are not of the types that the function takes.
pub(super) fn no_such_overload() -> Failure {
    error("no such overload".to_owned())
}
