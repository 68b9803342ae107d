//! What the tests of a whole cluster share. Each folder beside this file that has a `main.rs` is one program of tests, on one
//! concern. `world` is a module of some of them, which add to it.

pub mod project;
pub mod pty;
pub mod scenario;
pub mod seeds;
pub mod skip;
pub mod threads;

pub mod wrong;
