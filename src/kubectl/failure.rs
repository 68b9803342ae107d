//! Why a command fails, in kubectl's words.

use std::fmt;

use crate::manifest::ManifestError;
use object::Status;
use object::status::{Details, Reason};
use object::well_known::API_SERVER_IP;
use wire::{self, Transport};

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The API server refused.
    Server {
        /// Its answer.
        status: Box<Status>,
        /// `error when creating "web.yaml": `, or nothing.
        context: String,
    },
    /// There was no answer.
    Unanswered {
        /// Why.
        why: Transport,
        /// As with an answer.
        context: String,
    },
    /// kubectl itself found something wrong.
    Text(String),
    /// Several things went wrong, with one object each.
    Many(Vec<Failure>),
    /// The complaint is printed already.
    Told,
}

impl Failure {
    /// Something that kubectl itself found wrong.
    pub fn text(text: impl Into<String>) -> Failure {
        Failure::Text(text.into())
    }

    /// A command whose words make no sense, and where to read on. Mirrors `UsageErrorf`.
    pub fn usage(command: &str, why: impl fmt::Display) -> Failure {
        Failure::Text(format!("{why}\nSee 'kubectl {command} -h' for help and examples"))
    }

    /// What went wrong with some of several objects; nothing, if that is nothing.
    pub fn all(mut faults: Vec<Failure>) -> Result<(), Failure> {
        match faults.len() {
            0 => Ok(()),
            1 => Err(faults.remove(0)),
            _ => Err(Failure::Many(faults)),
        }
    }

    /// The message alone, as it stands within another.
    pub fn message(&self) -> String {
        match self {
            Failure::Server { status, .. } => status.message.clone(),
            Failure::Unanswered { why, .. } => why.words().to_owned(),
            Failure::Text(text) => text.clone(),
            Failure::Many(_) => self.to_string(),
            Failure::Told => String::new(),
        }
    }

    /// The same fault, saying that it happened while `doing` (`creating`) what is in `file`.
    pub fn while_doing(self, doing: &str, file: &str) -> Failure {
        match self {
            Failure::Server { status, .. } => {
                Failure::Server { status, context: format!("error when {doing} \"{file}\": ") }
            }
            Failure::Unanswered { why, .. } => {
                Failure::Unanswered { why, context: format!("error when {doing} \"{file}\": ") }
            }
            Failure::Text(text) => Failure::Text(format!("error when {doing} \"{file}\": {text}")),
            other => other,
        }
    }

    /// Whether the object was not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Failure::Server { status, .. } if status.is_not_found())
    }

    /// Whether the object had changed in between.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Failure::Server { status, .. } if status.is_conflict())
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        Failure::Server { status: Box::new(status), context: String::new() }
    }
}

impl From<wire::Error> for Failure {
    fn from(error: wire::Error) -> Failure {
        match error {
            wire::Error::Status(status) => status.into(),
            wire::Error::Transport(why) => Failure::Unanswered { why, context: String::new() },
        }
    }
}

impl From<ManifestError> for Failure {
    fn from(error: ManifestError) -> Failure {
        Failure::Text(error.to_string())
    }
}

impl fmt::Display for Failure {
    /// Mirrors `cmdutil.StandardErrorMessage`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Text(text) if text.starts_with("error: ") => f.write_str(text),
            Failure::Text(text) => write!(f, "error: {text}"),
            Failure::Many(faults) => {
                // Beside others it is told without the word.
                let line =
                    |fault: &Failure| if let Failure::Text(text) = fault { text.clone() } else { fault.to_string() };
                f.write_str(&faults.iter().map(line).collect::<Vec<_>>().join("\n"))
            }
            Failure::Told => Ok(()),
            Failure::Unanswered { why: Transport::Refused, .. } => {
                let why = "was refused - did you specify the right host or port?";
                write!(f, "The connection to the server {API_SERVER_IP}:6443 {why}")
            }
            Failure::Unanswered { why, context } => write!(f, "Error from server: {context}{}", why.words()),
            Failure::Server { status, .. } if status.reason == Reason::Invalid => write_invalid(f, status),
            Failure::Server { status, .. } if status.reason == Reason::Unauthorized => {
                write!(f, "error: You must be logged in to the server ({})", status.message)
            }
            Failure::Server { status, context } if status.reason == Reason::Unknown => {
                write!(f, "Error from server: {context}{}", status.message)
            }
            Failure::Server { status, context } => {
                write!(f, "Error from server ({:?}): {context}{}", status.reason, status.message)
            }
        }
    }
}

/// `The Pod "web" is invalid: …`, one line a cause if there are several.
fn write_invalid(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    let is_nameless = |details: &&Details| details.kind.is_empty() && details.name.is_empty();
    let details = match status.details.as_deref() {
        Some(details) if is_nameless(&details) && !details.causes.is_empty() => {
            f.write_str("The request is invalid")?;
            details
        }
        Some(details) if !is_nameless(&details) => {
            write!(f, "The {} {:?} is invalid", details.kind, details.name)?;
            details
        }
        _ => return write!(f, "The request is invalid: {}", status.message),
    };
    let mut causes: Vec<String> = Vec::new();
    for cause in &details.causes {
        let line = format!("{}: {}", cause.field, cause.message);
        if !causes.contains(&line) {
            causes.push(line);
        }
    }
    match causes.as_slice() {
        [] => Ok(()),
        [one] => write!(f, ": {one}"),
        many => write!(f, ": {}", many.iter().map(|cause| format!("\n* {cause}")).collect::<String>()),
    }
}
