//! What a learner's file is written with, and all that its program has of the machine: it cannot ask the cluster's own
//! parts what is right, because it does not have them. That, and the questions, is in `src/lab/`.
//!
//! - [`process`]: the learner's process, which is asked a line and answers a line; `channel`: over what.
//! - One module for each exercise: what its function is given, and what it gives back.
//! - [`kube`]: what a controller is written with; [`wire`]: the same as it goes from process to process; [`host`]: runs a
//!   controller's code.
//! - [`reading`]: examples of how all this is used.

mod channel;
pub mod host;
pub mod kube;
mod pause;
pub mod process;
pub mod reading;
pub mod wire;

pub mod admission;
pub mod cache;
pub mod cni;
pub mod collect;
pub mod conditions;
pub mod deployment;
pub mod endpointslice;
pub mod expectations;
pub mod finalizer;
pub mod fit;
pub mod heartbeat;
pub mod job;
pub mod lease;
pub mod operator;
pub mod ownership;
pub mod proxy;
pub mod queue;
pub mod replicaset;
pub mod restart;
pub mod rollout;
pub mod score;
pub mod sync;
pub mod trace;
pub mod update;

/// What the body of an exercise is until a learner writes it. A file that calls this is not started.
///
/// # Panics
/// Always.
pub fn not_started() -> ! {
    panic!("this exercise is not started")
}
