//! What protects the program quickly: every scenario is walked once, and sessions print what their transcripts say.
//! `cargo test` runs it after the verdicts of the exercises; `cargo test --workspace` runs all other tests too.

#[path = "../../src/book/numbers.rs"]
mod numbers;
mod scenarios;
#[path = "../threads/mod.rs"]
mod threads;
mod transcripts;
