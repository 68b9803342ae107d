//! What must hold of every run, whatever the scenario, the seed and the faults; and that runs are like those of a real cluster.

mod determinism;
mod faults;
mod fidelity;
mod quiet;
