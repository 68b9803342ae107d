//! The mistakes that learners really make. Each is the rule with one of its functions replaced by another, and stands in one
//! row of its exercise's table: its name, by which `solutions/*/mutants.yaml` names it, the sentence that a verdict has for it,
//! and what it does instead.

/// A mistake.
#[derive(Clone, Copy)]
pub struct Mistake<D> {
    /// Its name within the exercise. Several have the same name where one sentence says what is wrong with all of them.
    pub name: &'static str,
    /// What a verdict says of it.
    pub says: &'static str,
    /// What it does: of a function another rule, of a controller another program.
    pub does: D,
}

impl<D> Mistake<D> {
    /// Its name, and what is said of it.
    pub fn known(&self) -> Known {
        Known { name: self.name, says: self.says }
    }
}

/// A mistake that a verdict may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name within the exercise.
    pub name: &'static str,
    /// What a verdict says of it.
    pub says: &'static str,
}

/// A table of mistakes: `name: "sentence" => { what is replaced in RULE }`, in several ways where the sentence says all of them.
macro_rules! mistakes {
    ($($name:ident: $says:literal => $({ $($wrong:tt)* })|+;)*) => {
        &[$($($crate::mistake::Mistake {
            name: stringify!($name),
            says: $says,
            does: Rule { $($wrong)*, ..RULE },
        }),+),*]
    };
}

/// The same of a controller: each is what the module's `host` makes of the rule.
macro_rules! mistaken_hosts {
    ($($name:ident: $says:literal => $({ $($wrong:tt)* })|+;)*) => {
        &[$($($crate::mistake::Mistake {
            name: stringify!($name),
            says: $says,
            does: |read| host(read, Rule { $($wrong)*, ..RULE }),
        }),+),*]
    };
}

pub(super) use {mistaken_hosts, mistakes};
