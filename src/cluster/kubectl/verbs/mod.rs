//! kubectl's commands, a file a family.

pub mod apply;
pub mod change;
pub mod delete;
pub mod get;
pub mod rollout;
pub mod wait;
