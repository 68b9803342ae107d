//! The crate of [`controllers`]; floors below are named as if they stood in it.

use kubestep_machinery::{apiserver, client, engine, kinds, object, rules, store, wire};

#[path = "mod.rs"]
pub mod controllers;
