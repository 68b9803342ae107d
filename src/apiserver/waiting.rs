//! Requests that wait for admission webhooks.
//!
//! A call takes time, and nothing here waits. So a request that needs an answer which is not there yet is given up before it
//! has changed anything, and says what it would ask ([`Waits`]); the server's host asks, and has it gone through again from
//! the start with what was heard ([`Reviews`]).

use object::Status;
use object::random::Random;
use object::status::Reason;
use object::time::Instant;
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
}

impl Reviews {
    pub(crate) fn new(random: Random, now: Instant) -> Reviews {
        Reviews { random, now, heard: Vec::new() }
    }

    /// A webhook has said something, or is known not to.
    pub fn hear(&mut self, call: &Call, said: Said, now: Instant) {
        if call.mutating {
            self.now = now;
        }
        self.heard.push((call.clone(), said));
    }
}

/// A request that was given up until these have answered.
#[derive(Debug)]
pub struct Waits {
    /// Whom to ask what.
    pub calls: Vec<Call>,
    /// What is known so far.
    pub reviews: Reviews,
}

/// What whoever cannot wait is told.
pub(crate) fn waiting() -> Status {
    Status::new(Reason::ServiceUnavailable, "the request waits for admission webhooks")
}
