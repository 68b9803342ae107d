//! Volumes and claims in a whole cluster: who writes what, in which order, and what is said about what cannot be.

mod attach;
mod binding;
mod ephemeral;
mod files;
mod harness;
mod host_path;
mod pods;
mod reclaim;
mod resize;
