//! What is asked of a machine's kernel, and of the cluster's DNS server.

use serde_json::{Value, json};

use crate::engine::Message;

use super::dns;

/// A command to run on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execute {
    /// In whose network: a Pod's `namespace/name`; empty: the machine's own.
    pub pod: String,
    /// The command and its arguments.
    pub words: Vec<String>,
}

/// What a command came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// What it printed on standard output.
    pub output: String,
    /// And on standard error.
    pub errors: String,
    /// Its exit code.
    pub code: u8,
    /// The host that it has asked for a page, if nobody in the cluster has that name.
    pub unknown_host: Option<String>,
}

impl Message for Execute {
    fn method(&self) -> &'static str {
        "exec"
    }

    fn json(&self) -> Value {
        json!({"pod": self.pod, "command": self.words})
    }

    fn line(&self) -> String {
        format!("exec {}", self.words.join(" "))
    }
}

impl Message for Executed {
    fn method(&self) -> &'static str {
        "exec"
    }

    fn json(&self) -> Value {
        json!({"output": self.output, "errors": self.errors, "code": self.code})
    }
}

/// A question for the cluster's DNS server, that came to one of its sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked(pub dns::Question);

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told(pub dns::Answer);

impl Message for Asked {
    fn method(&self) -> &'static str {
        "DNS query"
    }

    fn json(&self) -> Value {
        json!({"question": self.0.to_string()})
    }

    fn line(&self) -> String {
        self.0.to_string()
    }
}

impl Message for Told {
    fn method(&self) -> &'static str {
        "DNS answer"
    }

    fn json(&self) -> Value {
        json!({
            "code": self.0.code.as_str(),
            "records": self.0.records.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}
