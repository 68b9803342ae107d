//! The crate of [`book`]; floors below are named as if they stood in it.
//!
//! It is no part of the program that steps, runs and grades: what it is made of would have to be compiled before the first
//! step. [`book::command::COURSE`] is what that program has of it, once it is asked for the course.

use kubestep::{cli, cluster, debugger, engine, lab, object};

#[path = "mod.rs"]
pub mod book;
