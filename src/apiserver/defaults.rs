//! Defaults.

use crate::object::Object;

/// Fills in what the sender left out.
pub fn set_defaults(_: &mut Object) {}
