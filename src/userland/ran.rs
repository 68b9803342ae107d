//! How a command has ended.

/// What a command came to.
#[derive(Debug, Default)]
pub struct Ran {
    /// What it has printed to standard output.
    pub output: String,
    /// The same to standard error.
    pub errors: String,
    /// How it has ended.
    pub code: i32,
    /// The host that it has requested a page from, if the name is unknown in the cluster.
    pub unknown_host: Option<String>,
}

impl Ran {
    /// It has printed this, also to standard error, and has ended with this code.
    pub fn of(output: String, errors: String, code: i32) -> Ran {
        Ran { output, errors, code, unknown_host: None }
    }

    /// It has done well, and has printed this.
    pub fn well(output: impl Into<String>) -> Ran {
        Ran { output: output.into(), ..Ran::default() }
    }

    /// It has ended with this code, and said why.
    pub fn badly(code: i32, why: impl Into<String>) -> Ran {
        Ran { errors: why.into() + "\n", code, ..Ran::default() }
    }
}
