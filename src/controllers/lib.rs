//! The crate of [`controllers`]; floors below are named as if they stood in it.

use kubestep_machinery::{client, engine, object, rules, wire};

#[path = "mod.rs"]
pub mod controllers;
