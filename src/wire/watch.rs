//! What a watch is told.

use crate::Error;
use object::{Kind, Object};

/// One open watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub u64);

/// What a watch is told.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// The object is new to this watch.
    Added(Object),
    /// It changed.
    Modified(Object),
    /// It is gone, or matches no more. Carries the last state, with the revision of the deletion.
    Deleted(Object),
    /// Nothing happened up to this revision.
    Bookmark {
        /// The kind of the watch's objects.
        kind: Kind,
        /// The revision.
        revision: u64,
        /// Whether it ends the state that a watch with initial events begins with.
        initial_events_end: bool,
    },
    /// The watch is over.
    Error(Error),
}

impl WatchEvent {
    /// `ADDED`, `MODIFIED` … as on the wire.
    pub fn type_str(&self) -> &'static str {
        match self {
            WatchEvent::Added(_) => "ADDED",
            WatchEvent::Modified(_) => "MODIFIED",
            WatchEvent::Deleted(_) => "DELETED",
            WatchEvent::Bookmark { .. } => "BOOKMARK",
            WatchEvent::Error(_) => "ERROR",
        }
    }

    /// The object that it is about.
    pub fn object(&self) -> Option<&Object> {
        match self {
            WatchEvent::Added(o) | WatchEvent::Modified(o) | WatchEvent::Deleted(o) => Some(o),
            WatchEvent::Bookmark { .. } | WatchEvent::Error(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn object_mut(&mut self) -> Option<&mut Object> {
        match self {
            WatchEvent::Added(o) | WatchEvent::Modified(o) | WatchEvent::Deleted(o) => Some(o),
            WatchEvent::Bookmark { .. } | WatchEvent::Error(_) => None,
        }
    }

    /// The kind of that object; none for bookmarks and errors.
    pub fn kind(&self) -> Option<Kind> {
        self.object().map(Object::kind)
    }
}
