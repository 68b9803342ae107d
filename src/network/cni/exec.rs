//! A run of a plugin: the environment and standard input it gets, and what it prints.
//!
//! Mirrors `pkg/invoke` of libcni, and the error type of `pkg/types`.

use std::fmt;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::disk::Disk;
use engine::Message;

/// `CNI_COMMAND`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Connect a namespace.
    Add,
    /// Undo it.
    Del,
    /// Check whether it is still as it was made.
    Check,
    /// Undo everything that is not named as valid.
    Gc,
    /// Say whether an ADD would work.
    Status,
    /// Say which versions of the specification are understood.
    Version,
}

impl Command {
    /// As the environment has it: `ADD`.
    pub fn as_str(self) -> &'static str {
        self.method().trim_start_matches("CNI ")
    }

    fn method(self) -> &'static str {
        match self {
            Command::Add => "CNI ADD",
            Command::Del => "CNI DEL",
            Command::Check => "CNI CHECK",
            Command::Gc => "CNI GC",
            Command::Status => "CNI STATUS",
            Command::Version => "CNI VERSION",
        }
    }
}

/// The environment of a plugin. What is empty is not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// `CNI_COMMAND`.
    pub command: Command,
    /// `CNI_CONTAINERID`: the sandbox.
    pub container_id: String,
    /// `CNI_NETNS`.
    pub netns: String,
    /// `CNI_IFNAME`.
    pub ifname: String,
    /// `CNI_ARGS`: `K=V;K=V`.
    pub args: String,
    /// `CNI_PATH`: where plugins look for the plugins they call.
    pub path: String,
}

/// One run of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginRun {
    /// The program: `/opt/cni/bin/bridge`.
    pub program: String,
    /// Its environment.
    pub environment: Environment,
    /// Its standard input.
    pub stdin: Value,
}

impl Message for PluginRun {
    fn method(&self) -> &'static str {
        self.environment.command.method()
    }

    fn json(&self) -> Value {
        let environment = &self.environment;
        let variables = [
            ("CNI_COMMAND", environment.command.as_str()),
            ("CNI_CONTAINERID", &environment.container_id),
            ("CNI_NETNS", &environment.netns),
            ("CNI_IFNAME", &environment.ifname),
            ("CNI_ARGS", &environment.args),
            ("CNI_PATH", &environment.path),
        ];
        let set = variables.into_iter().filter(|(_, value)| !value.is_empty());
        let set: serde_json::Map<String, Value> = set.map(|(name, value)| (name.to_owned(), json!(value))).collect();
        json!({"program": self.program, "environment": set, "stdin": self.stdin})
    }
}

/// What a run came to. A plugin that fails prints its error to standard output and exits with 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginExit {
    /// What it printed; null: nothing.
    pub stdout: Result<Rc<Value>, CniError>,
}

impl Message for PluginExit {
    fn method(&self) -> &'static str {
        "CNI result"
    }

    fn json(&self) -> Value {
        match &self.stdout {
            Ok(stdout) => json!({"exitCode": 0, "stdout": **stdout}),
            Err(error) => json!({"exitCode": 1, "stdout": error.json()}),
        }
    }
}

/// A plugin's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CniError {
    /// See the constants of this type.
    pub code: u32,
    /// What happened.
    pub message: String,
    /// More of it; may be empty.
    pub details: String,
}

impl CniError {
    /// The configuration's version is not one the plugin understands.
    pub const INCOMPATIBLE_VERSION: u32 = 1;
    /// A variable of the environment is missing or wrong.
    pub const ENVIRONMENT: u32 = 4;
    /// Standard input could not be read as what it should be.
    pub const DECODING: u32 = 6;
    /// The configuration is wrong.
    pub const CONFIG: u32 = 7;
    /// An error without a code of its own.
    pub const INTERNAL: u32 = 999;

    /// An error without details.
    pub fn new(code: u32, message: impl Into<String>) -> CniError {
        CniError { code, message: message.into(), details: String::new() }
    }

    /// What the plugin prints on standard output.
    pub fn json(&self) -> Value {
        let mut value = json!({"code": self.code, "msg": self.message});
        if !self.details.is_empty() {
            value["details"] = json!(self.details);
        }
        value
    }
}

impl From<String> for CniError {
    fn from(message: String) -> CniError {
        CniError::new(CniError::INTERNAL, message)
    }
}

impl From<&str> for CniError {
    fn from(message: &str) -> CniError {
        CniError::new(CniError::INTERNAL, message)
    }
}

impl fmt::Display for CniError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.details.is_empty() { Ok(()) } else { write!(f, "; {}", self.details) }
    }
}

impl std::error::Error for CniError {}

/// A plugin's program on a disk (`FindInPath`).
pub fn find(disk: &Disk, plugin: &str, directory: &str) -> Result<String, String> {
    if plugin.contains('/') {
        return Err(format!("invalid plugin name: {plugin}"));
    }
    let program = format!("{directory}/{plugin}");
    match disk.has(&program) {
        true => Ok(program),
        false => Err(format!("failed to find plugin {plugin:?} in path [{directory}]")),
    }
}
