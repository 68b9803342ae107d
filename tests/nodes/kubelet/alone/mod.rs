//! The kubelet alone on its node: what it sends to the API server, in order.

mod harness;
mod pods;
mod probes;
mod restarts;
mod runtime;
