//! What a program prints, and what it has found out.

use std::net::Ipv4Addr;

/// What a program prints.
#[derive(Debug, Default)]
pub(super) struct Terminal {
    pub(super) output: String,
    pub(super) errors: String,
    /// The host that a page was asked of, if nobody has that name.
    pub(super) unknown_host: Option<String>,
    /// The address that it has tried last.
    pub(super) tried: Option<Ipv4Addr>,
}

impl Terminal {
    /// On standard output.
    pub(super) fn print(&mut self, text: &str) {
        self.output += text;
    }

    /// On standard error.
    pub(super) fn complain(&mut self, text: &str) {
        self.errors += text;
    }
}
