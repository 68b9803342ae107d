//! What must hold of every run, for any scenario, seed and faults; and that runs are like those of a real cluster.

mod determinism;
mod faults;
mod fidelity;
mod quiet;
