//! The API server, the controllers and the scheduler: what they answer, write and decide, in whole clusters.

mod api_port;
mod autoscaling;
mod bootstrap;
mod cleanup;
mod controllers;
mod leaders;
mod openapi;
mod raw;
mod scheduler;
mod servers;
mod webhooks;
mod wire;
mod wire_rules;
#[path = "../world/mod.rs"]
mod world;
