//! A word that was never used before and that is not to be guessed. It never is a part of a verdict.

use std::hash::{BuildHasher, RandomState};

/// A word of letters and digits, and a colon.
pub(super) fn nonce() -> String {
    let half = || RandomState::new().hash_one(0_u8);
    format!("{:016x}{:016x}:", half(), half())
}
