//! One file a family of commands.

pub mod about;
pub mod apply;
mod apply_last;
pub mod auth;
pub mod autoscale;
pub mod change;
pub mod config;
pub mod create;
pub mod debug;
pub mod delete;
pub mod describe;
pub mod diff;
pub mod drain;
pub mod events;
pub mod exec;
pub mod explain;
pub mod expose;
pub mod from;
pub mod get;
pub mod label;
pub mod logs;
mod pod_of;
mod prune;
pub mod raw;
pub mod replace;
pub mod rollout;
mod rollout_history;
mod rollout_sets;
pub mod run;
pub mod server_side;
pub mod set;
pub mod taint;
pub mod top;
pub mod wait;
mod watch;

mod manifests;
