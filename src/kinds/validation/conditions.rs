//! Conditions of a status. Mirrors `ValidateConditions` of `k8s.io/apimachinery/pkg/apis/meta/v1/validation`.
//!
//! Left out: that one says since when it is so; the typed struct has a time always.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use object::selector::names::check_label_key;
use object::validation::field::{Path, Problems};

const STATUSES: &[&str] = &["False", "True", "Unknown"];
const REASON_LEN_MAX: usize = 1024;
const MESSAGE_LEN_MAX: usize = 32 * 1024;
const NO_REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of \
    alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or \
    'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
    '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/// Each type is there once.
pub fn conditions(problems: &mut Problems, list: &Path, conditions: &[Condition]) {
    for (i, one) in conditions.iter().enumerate() {
        let path = list.index(i);
        if conditions[..i].iter().any(|before| before.type_ == one.type_) {
            problems.duplicate(&path.child("type"), one.type_.as_str());
        }
        condition(problems, &path, one);
    }
}

/// Mirrors `ValidateCondition`.
fn condition(problems: &mut Problems, path: &Path, condition: &Condition) {
    problems.all_invalid(&path.child("type"), &condition.type_, check_label_key(&condition.type_));
    if !STATUSES.contains(&condition.status.as_str()) {
        problems.not_supported(&path.child("status"), condition.status.as_str(), STATUSES);
    }
    if let Some(generation) = condition.observed_generation.filter(|generation| *generation < 0) {
        problems.invalid(&path.child("observedGeneration"), generation, "must be greater than or equal to zero");
    }
    let (at, reason) = (path.child("reason"), condition.reason.as_str());
    if reason.is_empty() {
        problems.required(&at, "");
    } else if !is_reason(reason) {
        problems.invalid(&at, reason, NO_REASON);
    }
    if reason.len() > REASON_LEN_MAX {
        problems.too_long(&at, REASON_LEN_MAX);
    }
    if condition.message.len() > MESSAGE_LEN_MAX {
        problems.too_long(&path.child("message"), MESSAGE_LEN_MAX);
    }
}

fn is_reason(reason: &str) -> bool {
    let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.bytes().all(|c| word(c) || b",:".contains(&c))
        && reason.bytes().last().is_some_and(word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_condition() {
        let one = |type_: &str, status: &str, reason: &str| {
            let time = "2026-01-01T00:00:00Z";
            json!({"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": time})
        };
        let list = json!([
            one("Ready", "True", "All:Fine_"),
            one("Ready", "Yes", "9"),
            one("a b", "False", ""),
            one("B", "Unknown", "A,")
        ]);
        let list: Vec<Condition> = serde_json::from_value(list).unwrap();
        let mut problems = Problems::default();
        conditions(&mut problems, &Path::new("c"), &list);
        let found: Vec<String> = problems.0.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        assert_eq!(found[0], "c[1].type: Duplicate value: \"Ready\"");
        assert_eq!(
            found[1],
            "c[1].status: Unsupported value: \"Yes\": supported values: \"False\", \"True\", \"Unknown\""
        );
        assert_eq!(found[2], format!("c[1].reason: Invalid value: \"9\": {NO_REASON}"));
        assert!(found[3].starts_with("c[2].type: Invalid value: \"a b\": name part must consist"), "{}", found[3]);
        assert_eq!(found[4], "c[2].reason: Required value");
        assert_eq!(found[5], format!("c[3].reason: Invalid value: \"A,\": {NO_REASON}"));
        assert_eq!(found.len(), 6);
    }
}
