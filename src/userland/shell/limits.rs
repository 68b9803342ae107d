//! Every limit of the shell: where a script goes beyond one, it is unsupported from there on.

use std::time::Duration;

/// Scripts are nested no deeper than this.
pub(super) const DEPTH_MAX: usize = 24;
/// Bytes of a script.
pub(super) const SCRIPT_MAX: usize = 256 * 1024;
/// A longer text is not compared with a pattern.
pub const PATTERN_MAX: usize = 256;
/// So many operations at one moment, or so many pieces of 256 bytes.
pub(super) const BUDGET: usize = 20_000;
/// A round of a loop that takes less is fast.
pub(super) const ROUND_MIN: Duration = Duration::from_millis(100);
/// So many fast rounds in a row.
pub(super) const ROUNDS_MAX: usize = 1000;
/// Bytes of one command, of what it prints, and of all variables together.
pub(super) const TEXT_MAX: usize = 1 << 20;
