//! kubectl.

pub mod print;
