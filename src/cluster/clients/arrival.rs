//! What passes between the cluster and clients outside, as values.

use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};

use rest::exchange::{RawAnswer, RawRequest};

/// A program's name is cut to so many characters.
const PROGRAM_MAX: usize = 40;

/// The number of a request and its answer, counted from 1 in a run. A watch keeps it for as long as it is open.
pub type ExchangeId = u64;

/// A request from a client outside, as it came by its connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// The user whom the connection itself names. None: the request's token does, or the client is anonymous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Identity>,
    /// `GET`, `POST` …
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names and values of the headers, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// What was sent.
    #[serde(default, skip_serializing_if = "RequestBody::is_empty")]
    pub body: RequestBody,
}

/// A user's name and groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// `kubernetes-admin`, `jane` …
    pub name: String,
    /// Beside `system:authenticated`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// The body of a request: text where it is text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestBody {
    /// JSON, YAML …
    Text(String),
    /// Protobuf, say, in base64 where it is written down.
    Bytes {
        /// The bytes.
        base64: ByteString,
    },
}

impl Default for RequestBody {
    fn default() -> RequestBody {
        RequestBody::Text(String::new())
    }
}

impl From<Vec<u8>> for RequestBody {
    fn from(bytes: Vec<u8>) -> RequestBody {
        match String::from_utf8(bytes) {
            Ok(text) => RequestBody::Text(text),
            Err(error) => RequestBody::Bytes { base64: ByteString(error.into_bytes()) },
        }
    }
}

impl RequestBody {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            RequestBody::Text(text) => text.as_bytes(),
            RequestBody::Bytes { base64 } => &base64.0,
        }
    }

    fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }
}

impl Arrival {
    /// The value of a header, empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    /// Names and values of its headers.
    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    /// The request with these headers, which are [`pairs`](Arrival::pairs).
    pub(super) fn raw<'a>(&'a self, headers: &'a [(&'a str, &'a str)]) -> RawRequest<'a> {
        RawRequest { method: &self.method, target: &self.target, headers, body: self.body.bytes() }
    }

    /// The program that sent it, by its user agent: `kubectl`, `helm`, `python-requests` … It is part of a name, so it is what
    /// stands before any character that no name has.
    pub fn program(&self) -> &str {
        let (agent, in_name) = (self.header("User-Agent"), |c: char| c.is_ascii_alphanumeric() || "._-".contains(c));
        let end = agent.find(|c| !in_name(c)).unwrap_or(agent.len()).min(PROGRAM_MAX);
        if end == 0 { "unknown" } else { &agent[..end] }
    }

    /// `GET /api/v1/pods`.
    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}

/// A request under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its number.
    pub number: ExchangeId,
    /// The actor: `wire/kubectl-1`.
    pub client: String,
    /// `GET /api/v1/pods?watch=true`.
    pub label: String,
    /// A watch that is open, or about to be.
    pub is_watch: bool,
}

/// What goes back to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// All of an answer.
    Answer(RawAnswer),
    /// A watch is open: status 200, and lines of this media type.
    Begins(&'static str),
    /// A line of a watch.
    Line(String),
    /// The connection goes on as a WebSocket with this protocol.
    Upgraded(&'static str),
    /// A frame of it.
    Frame(Vec<u8>),
    /// The watch, or the connection, is over.
    Ends,
    /// No API server runs: the connection is closed.
    Closed,
}
