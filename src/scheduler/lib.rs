//! The crate of [`scheduler`]; floors below are named as if they stood in it.

use kubestep_machinery::{client, engine, object, wire};

#[path = "mod.rs"]
pub mod scheduler;
