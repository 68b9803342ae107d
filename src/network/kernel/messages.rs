//! What is asked of a machine's kernel, and of the cluster's DNS server.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::dns;
use engine::Message;
use object::text::shortened;

/// A command to run on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execute {
    /// In whose network: a Pod's `namespace/name`; empty: the machine's own.
    pub pod: String,
    /// The command and its arguments.
    pub words: Vec<String>,
    /// Whose programs there are.
    pub userland: Userland,
}

/// Whose programs a container has. Those of the same name do not all do the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Userland {
    /// Of everybody's Linux, and of the tools that people debug with.
    #[default]
    Usual,
    /// Busybox, since 1.29 with a resolver of its own.
    Busybox,
    /// Busybox up to 1.28, which has the C library resolve names.
    OldBusybox,
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
    /// The host of the page that it asked for, if the name is unknown in the cluster.
    pub unknown_host: Option<String>,
}

/// A word of a command is shown no further than this: a token has hundreds of characters.
const SHOWN_MAX: usize = 80;

impl Execute {
    /// The command in a line, for display.
    pub fn shown(&self) -> String {
        self.words.iter().map(|word| shortened(word, SHOWN_MAX)).collect::<Vec<_>>().join(" ")
    }
}

impl Message for Execute {
    fn method(&self) -> &'static str {
        "exec"
    }

    fn json(&self) -> Value {
        json!({"pod": self.pod, "command": self.words})
    }

    fn line(&self) -> String {
        format!("exec {}", self.shown())
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
pub struct DnsQuery(pub dns::Question);

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsResponse(pub dns::Answer);

impl Message for DnsQuery {
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

impl Message for DnsResponse {
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

/// A process that has entered a network namespace sends something to a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dial {
    /// The namespace; empty: the machine's own.
    pub namespace: String,
    /// Whose port: often `localhost`'s.
    pub address: Ipv4Addr,
    /// The port.
    pub port: u16,
    /// What it sends.
    pub data: String,
}

/// A process of a machine wants to listen for TCP connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// At which address; `0.0.0.0`: at every one.
    pub address: Ipv4Addr,
    /// The port; 0: any that is free.
    pub port: u16,
    /// The process.
    pub name: String,
}

/// It listens at this port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listening(pub u16);

/// A process listens no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close(pub u16);

/// To the process that listens: something came by a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The port at which it listens.
    pub port: u16,
    /// Who has connected, as the packets say it.
    pub peer: Ipv4Addr,
    /// What came.
    pub data: String,
}

/// To [`Dial`] and [`Incoming`]: what is said to that; None: the connection is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard(pub Option<String>);

impl Message for Dial {
    fn method(&self) -> &'static str {
        "dial"
    }

    fn json(&self) -> Value {
        json!({"namespace": self.namespace, "address": self.address.to_string(), "port": self.port, "data": self.data})
    }

    fn line(&self) -> String {
        match self.address.is_loopback() {
            true => format!("dial localhost:{}", self.port),
            false => format!("dial {}:{}", self.address, self.port),
        }
    }
}

impl Message for Listen {
    fn method(&self) -> &'static str {
        "listen"
    }

    fn json(&self) -> Value {
        json!({"address": self.address.to_string(), "port": self.port, "process": self.name})
    }

    fn line(&self) -> String {
        format!("listen {}:{}", self.address, self.port)
    }
}

impl Message for Listening {
    fn method(&self) -> &'static str {
        "listen"
    }

    fn json(&self) -> Value {
        json!({"port": self.0})
    }
}

impl Message for Close {
    fn method(&self) -> &'static str {
        "close"
    }

    fn json(&self) -> Value {
        json!({"port": self.0})
    }

    fn line(&self) -> String {
        format!("close port {}", self.0)
    }
}

impl Message for Incoming {
    fn method(&self) -> &'static str {
        "accept"
    }

    fn json(&self) -> Value {
        json!({"port": self.port, "from": self.peer.to_string(), "data": self.data})
    }

    fn line(&self) -> String {
        format!("accept at port {}", self.port)
    }
}

impl Message for Heard {
    fn method(&self) -> &'static str {
        "heard"
    }

    fn json(&self) -> Value {
        json!({"data": self.0})
    }
}
