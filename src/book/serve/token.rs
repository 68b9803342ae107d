//! What only pages of this run know.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A word that nobody can guess. The standard library seeds its hash tables from the system's randomness; four of them
/// give 256 bits.
pub fn new() -> String {
    (0..4).map(|_| format!("{:016x}", RandomState::new().build_hasher().finish())).collect()
}
