//! Lines of source at which something waits.

use std::borrow::Cow;
use std::panic::Location;

/// A line of source: of this program as the compiler names it, or of a learner's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `src/controllers/pods.rs`, `exercises/06_replicaset/src/lib.rs`.
    pub file: Cow<'static, str>,
    /// Counted from 1.
    pub line: u32,
}

impl From<&'static Location<'static>> for Place {
    fn from(at: &'static Location<'static>) -> Place {
        Place { file: Cow::Borrowed(at.file()), line: at.line() }
    }
}
