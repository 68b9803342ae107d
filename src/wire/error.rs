//! Why a call came to nothing: the API server refused it, or there was no answer at all.

use std::fmt;

use object::Status;
use object::status::Reason;

/// Why a call came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The API server's answer.
    Status(Status),
    /// There is no answer: the words are the client's own.
    Transport(Transport),
}

/// Why there is no answer. Mirrors what Go's `net/http` says to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// No process takes the connection.
    Refused,
    /// The connection breaks before the answer has come. The request may have been carried out.
    Lost,
}

impl Transport {
    /// The client's words for it.
    pub fn words(self) -> &'static str {
        match self {
            Transport::Refused => "connect: connection refused",
            Transport::Lost => "http2: client connection lost",
        }
    }
}

impl Error {
    /// The API server's answer, if there is one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Error::Status(status) => Some(status),
            Error::Transport(_) => None,
        }
    }

    /// The sentence for people.
    pub fn message(&self) -> &str {
        match self {
            Error::Status(status) => &status.message,
            Error::Transport(transport) => transport.words(),
        }
    }

    /// The machine's word for it, which only an answer has. Mirrors `apierrors.ReasonForError`.
    pub fn reason(&self) -> Reason {
        self.status().map_or(Reason::Unknown, |status| status.reason)
    }

    /// Whether the object is not there.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// Whether it was made from an old version.
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// Whether the name is taken.
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// Whether nothing can be made in the namespace any more, because it is being deleted.
    pub fn is_namespace_terminating(&self) -> bool {
        self.status().is_some_and(Status::is_namespace_terminating)
    }

    /// The same for a reader of statuses alone: a call without an answer is a Go error without a reason.
    pub fn into_status(self) -> Status {
        match self {
            Error::Status(status) => status,
            Error::Transport(transport) => Status::new(Reason::Unknown, transport.words()),
        }
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Error {
        Error::Status(status)
    }
}

impl From<Transport> for Error {
    fn from(transport: Transport) -> Error {
        Error::Transport(transport)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Error {}
