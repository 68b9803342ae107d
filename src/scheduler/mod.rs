//! The scheduler: finds a node for each pod that has none. (Draft essay, replaced below.)

pub mod actor;
mod attempt;
pub mod cache;
pub mod classes;
mod condition;
pub mod cycle;
pub mod events;
mod evict;
pub mod filters;
pub mod fit_error;
pub mod framework;
mod handlers;
pub mod labels;
pub mod node_info;
pub mod nominator;
pub mod plugins;
pub mod pod_info;
pub mod preemption;
pub mod queue;
pub mod resources;
pub mod snapshot;
mod table;

pub use actor::KubeScheduler;

#[cfg(test)]
pub mod testing;
