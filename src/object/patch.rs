//! Patches.
