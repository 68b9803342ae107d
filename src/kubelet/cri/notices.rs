//! What kubelet and runtime tell each other beside CRI, each in place of something that a real one finds by asking.

use serde::Serialize;
use serde_json::{Value, json};

use engine::Message;
use engine::event::printed;
use object::text::Text;

/// A process has ended, and the kubelet's next relist would find something. No runtime says this to a kubelet of 1.36, unless
/// EventedPLEG is switched on: it stands for the relists that find nothing, which are left out here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RelistWouldFind {
    /// The container.
    pub id: Text,
}

/// Ctrl-C for the line that runs. No reply is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Interrupt {
    /// The connection.
    pub stream: u64,
}

/// The shell at the other end is gone, though its user has not typed that it should end. No reply is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StreamEnded {
    /// The connection.
    pub stream: u64,
    /// How it has ended.
    pub code: i32,
}

/// What a runtime that is asked for its Status may have to say has changed. Not CRI: a real kubelet asks every five
/// seconds, and this one when there may be news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConditionsMayDiffer;

impl Message for ConditionsMayDiffer {
    fn method(&self) -> &'static str {
        "ConditionsMayDiffer"
    }

    fn json(&self) -> Value {
        json!({})
    }
}

impl Message for RelistWouldFind {
    fn method(&self) -> &'static str {
        "a relist would find something"
    }

    fn json(&self) -> Value {
        printed(self)
    }
}

impl Message for Interrupt {
    fn method(&self) -> &'static str {
        "Ctrl-C"
    }

    fn json(&self) -> Value {
        printed(self)
    }
}

impl Message for StreamEnded {
    fn method(&self) -> &'static str {
        "StreamEnded"
    }

    fn json(&self) -> Value {
        printed(self)
    }
}
