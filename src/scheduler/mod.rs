//! The scheduler: finds a node for each pod that has none. (Draft essay, replaced below.)

pub mod cache;
pub mod classes;
pub mod cycle;
pub mod events;
pub mod filters;
pub mod fit_error;
pub mod framework;
pub mod labels;
pub mod node_info;
pub mod nominator;
pub mod plugins;
pub mod pod_info;
pub mod preemption;
pub mod queue;
pub mod resources;
pub mod snapshot;

#[cfg(test)]
pub mod testing;
