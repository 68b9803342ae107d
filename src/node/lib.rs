//! The crate of [`node`]; floors below are named as if they stood in it.

use kubestep_machinery::{client, engine, kinds, object, wire};

#[path = "mod.rs"]
pub mod node;
