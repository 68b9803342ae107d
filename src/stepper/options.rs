//! What a session does as its user wants it.

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What kubectl is told runs on to its end, as with `!`.
    pub to_end: bool,
    /// What is longer than the screen comes page by page, where a person reads.
    pub pager: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { to_end: false, pager: true }
    }
}

/// Their names.
pub const NAMES: &[&str] = &["to-end", "pager"];

impl Options {
    /// The one of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(&mut self, name: &str) -> Result<&mut bool, String> {
        match name {
            "to-end" => Ok(&mut self.to_end),
            "pager" => Ok(&mut self.pager),
            _ => Err(format!("there is no option {name:?}; there are {}", NAMES.join(", "))),
        }
    }
}

/// What one does, in a few words.
pub fn about(name: &str) -> &'static str {
    match name {
        "to-end" => "a command of kubectl runs to its end, as with !",
        _ => "what is longer than the screen comes page by page",
    }
}
