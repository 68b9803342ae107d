//! How many seeds a test of faults tries.

/// As many as `KUBESTEP_FAULT_SEEDS` says, or as the test does by itself. CI tries 100.
pub fn seeds(usual: u64) -> u64 {
    std::env::var("KUBESTEP_FAULT_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}
