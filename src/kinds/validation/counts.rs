//! Counts of Pods: numbers, percentages, and what a status counts. Mirrors `pkg/apis/apps/validation`.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use object::validation::field::{Path, Problems};

const STATUS: Path = Path::new("status");

const NO_PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
    regex used for validation is '[0-9]+%')";

/// Mirrors `ValidatePositiveIntOrPercent`.
pub fn int_or_percent(problems: &mut Problems, path: &Path, value: &IntOrString) {
    match value {
        IntOrString::Int(number) => problems.not_negative(path, *number),
        IntOrString::String(_) if percent(value).is_some() => {}
        IntOrString::String(_) => problems.invalid(path, value, NO_PERCENT),
    }
}

/// Mirrors `IsNotMoreThan100Percent`.
pub fn not_more_than_all(problems: &mut Problems, path: &Path, value: &IntOrString) {
    if percent(value).is_some_and(|percent| percent > 100) {
        problems.invalid(path, value, "must not be greater than 100%");
    }
}

fn percent(value: &IntOrString) -> Option<u32> {
    let IntOrString::String(text) = value else { return None };
    let digits = text.strip_suffix('%')?;
    digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The number, or the number before the percent sign. Mirrors `getIntOrPercentValue`.
pub fn amount(value: &IntOrString) -> i64 {
    match value {
        IntOrString::Int(number) => i64::from(*number),
        IntOrString::String(text) => percent(value).map(i64::from).or_else(|| text.parse().ok()).unwrap_or(0),
    }
}

/// The count of hash collisions only grows.
pub fn never_decremented(problems: &mut Problems, collisions: i32, before: Option<i32>) {
    if before.is_some_and(|before| collisions < before) {
        problems.invalid(&STATUS.child("collisionCount"), collisions, "cannot be decremented");
    }
}

/// All replicas, those with all labels, those ready, those available, and the generation observed.
pub fn replica_counts(problems: &mut Problems, all: i32, counts: [Option<i32>; 3], observed: Option<i64>) {
    let [labeled, ready, available] = counts.map(|count| count.unwrap_or(0));
    let parts = [("fullyLabeledReplicas", labeled), ("readyReplicas", ready), ("availableReplicas", available)];
    problems.not_negative(&STATUS.child("replicas"), all);
    for (name, value) in parts {
        problems.not_negative(&STATUS.child(name), value);
    }
    problems.not_negative(&STATUS.child("observedGeneration"), observed.unwrap_or(0));
    for (name, value) in parts {
        no_more_than_all(problems, name, value, all);
    }
    no_more_than_ready(problems, available, ready);
}

/// A part is no more than the whole.
pub fn no_more_than_all(problems: &mut Problems, name: &str, value: i32, all: i32) {
    if value > all {
        problems.invalid(&STATUS.child(name), value, "cannot be greater than status.replicas");
    }
}

/// What is available is ready.
pub fn no_more_than_ready(problems: &mut Problems, available: i32, ready: i32) {
    if available > ready {
        problems.invalid(&STATUS.child("availableReplicas"), available, "cannot be greater than readyReplicas");
    }
}
