//! The stepper as WebAssembly: what the pages of the course, and the playground, run in a Worker.
//!
//! A page says [`Request`](page::Request)s in JSON and gets one answer for each. Answers to commands are the lines of
//! `docs/json.md`, as they come from `kubestep step --json` and from the course's server, so that a page has one way to
//! show them. `page` is all of it; `abi` is the boundary of the module.

mod abi;
pub mod page;
