//! The crate of [`node`]; floors below are named as if they stood in it.

use kubestep_machinery::{apiserver, client, engine, object};

#[path = "mod.rs"]
pub mod node;
