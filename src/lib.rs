//! kubestep: Kubernetes, one event at a time.
//!
//! The program is a thin face over crates of its own: `ARCHITECTURE.md` is their map, in the order in which they stand on
//! one another.

pub mod cli;

/// Every step makes and drops some hundred small values; the system's allocator took a third of a run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
