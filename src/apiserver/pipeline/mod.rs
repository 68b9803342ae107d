//! Stages.

mod mutating_admission;
mod patched_by_policy;
pub mod policies;
mod webhooks;

#[cfg(test)]
mod tests;
