//! Every fault, at any place of a rollout, with any seed: the cluster comes through it, or ends in a state that has a name.
//!
//! `KUBESTEP_FAULT_SEEDS` sets how many seeds each fault is tried with. A failing one names the commands that show it.

mod harness;
mod healed;
mod lasting;
mod level;
mod shortage;
mod shutdown;
mod stateful_set;
mod steps;
