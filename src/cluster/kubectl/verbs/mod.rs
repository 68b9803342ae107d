//! One file a family of commands.

pub mod apply;
pub mod change;
pub mod create;
pub mod delete;
pub mod describe;
pub mod exec;
pub mod from;
pub mod get;
pub mod raw;
pub mod rollout;
pub mod wait;

mod manifests;
