//! The debugger: where it stops and what it says, travel in time, decisions, the explorer, and what each claim of the course
//! about other walk-throughs comes to.

mod claims;
mod decisions;
mod explore;
mod explore_command;
mod json;
mod session;
mod tour;
mod travel;
