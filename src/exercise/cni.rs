//! Exercise 14: a CNI plugin that gives addresses, and the files in its folder.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::process;

/// The files in the network's folder, `/var/lib/cni/networks/NETWORK`: name and text.
pub type Files = BTreeMap<String, String>;

/// The name of the file that says which address was given last.
pub const LAST: &str = "last_reserved_ip.0";

/// Which addresses there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The first address to give.
    pub start: Ipv4Addr,
    /// The last one.
    pub end: Ipv4Addr,
    /// The router's address, which no Pod gets.
    pub gateway: Ipv4Addr,
}

/// One run of the plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// `CNI_COMMAND`.
    pub command: Command,
    /// `CNI_CONTAINERID`: the sandbox of a Pod.
    pub container: String,
    /// `CNI_IFNAME`: the interface that is to have the address.
    pub ifname: String,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = format!("{:?}", self.command).to_uppercase();
        write!(f, "{command} {} {}", self.container, self.ifname)
    }
}

/// What the plugin is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Give an address.
    Add,
    /// Take it back.
    Del,
    /// Is it still there?
    Check,
}

/// A question to the function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// Which addresses there are.
    pub range: Range,
    /// The files before the first call.
    pub files: Files,
    /// One after the other.
    pub calls: Vec<Call>,
}

/// What each call has said, and the files after all of them.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What was said.
    pub said: Vec<Result<Option<Ipv4Addr>, String>>,
    /// The files.
    pub files: Files,
}

/// Answers with this function.
pub fn answer(run: fn(&Range, &mut Files, &Call) -> Result<Option<Ipv4Addr>, String>) {
    process::answer(|case: &Case| {
        let mut files = case.files.clone();
        let said = case.calls.iter().map(|call| run(&case.range, &mut files, call)).collect();
        Outcome { said, files }
    });
}
