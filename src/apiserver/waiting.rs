//! Requests that are not answered yet: they wait for admission webhooks, or for etcd between one write and the next.
//!
//! A call takes time, and nothing here waits. So a request that needs an answer which is not there yet is given up before it
//! has changed anything, and says what it would ask ([`Waits`]); the server's host asks, and has it gone through again from
//! the start with what was heard ([`Reviews`]). One that deletes many objects goes on where it was ([`Collection`]).

use object::random::Random;
use object::status::Reason;
use object::time::Instant;
use object::{Object, Status};
use rules::webhook::{AdmissionResponse, Call};

/// What came of a call: an answer, or what a client says that has got none.
pub type Said = Result<AdmissionResponse, String>;

/// What webhooks have said about one request so far.
#[derive(Clone, Debug)]
pub struct Reviews {
    /// What the request draws uids and names from.
    pub(crate) random: Random,
    /// When it arrived, or the last webhook that may change it has answered: objects get this time.
    pub(crate) now: Instant,
    /// What was asked, and what was said, in the order of hearing.
    pub(crate) heard: Vec<(Call, Said)>,
    /// How far it is with deleting many objects.
    pub(crate) collection: Option<Collection>,
}

/// Objects that one request deletes, one after another.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    /// All of them, as they were when the first was to go.
    pub all: Vec<Object>,
    /// Where the next page starts, if the caller wants no more than a page.
    pub next: String,
    /// How many of them have had their turn.
    pub done: usize,
    /// The revision at which they were listed.
    pub revision: u64,
    /// What the caller will be warned of.
    pub warnings: Vec<String>,
}

impl Reviews {
    pub(crate) fn new(random: Random, now: Instant) -> Reviews {
        Reviews { random, now, heard: Vec::new(), collection: None }
    }

    /// It goes on now. What else it deletes, it deletes at this time.
    pub(crate) fn go_on(&mut self, now: Instant) {
        if self.collection.is_some() {
            self.now = now;
        }
    }

    /// A webhook has said something, or is known not to.
    pub fn hear(&mut self, call: &Call, said: Said, now: Instant) {
        if call.mutating {
            self.now = now;
        }
        self.heard.push((call.clone(), said));
    }
}

/// A request that was given up until these have answered, or until what it has written is in etcd.
#[derive(Debug)]
pub struct Waits {
    /// The webhooks to call, and with what; none: the request only has to go on.
    pub calls: Vec<Call>,
    /// What is known so far.
    pub reviews: Reviews,
}

/// What a caller is told who cannot wait.
pub(crate) fn waiting() -> Status {
    Status::new(Reason::ServiceUnavailable, "the request waits for admission webhooks")
}
