//! What a program is given beside its words: how it finds names. What it prints, and what it has found out.

use std::net::Ipv4Addr;

use network::kernel::sockets::Resolver;

/// What a program is given, and what it prints.
#[derive(Debug, Default)]
pub(super) struct Terminal {
    /// Its `/etc/resolv.conf`.
    pub(super) resolver: Resolver,
    pub(super) output: String,
    pub(super) errors: String,
    /// The host that a page was requested from, if the name is unknown.
    pub(super) unknown_host: Option<String>,
    /// The address that it has tried last.
    pub(super) tried: Option<Ipv4Addr>,
}

impl Terminal {
    /// Nothing is printed yet.
    pub(super) fn new(resolver: Resolver) -> Terminal {
        Terminal { resolver, ..Terminal::default() }
    }

    /// On standard output.
    pub(super) fn print(&mut self, text: &str) {
        self.output += text;
    }

    /// On standard error.
    pub(super) fn complain(&mut self, text: &str) {
        self.errors += text;
    }
}
