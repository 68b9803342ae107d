//! Taints of nodes, and the tolerations of Pods.

use k8s_openapi::api::core::v1::{Taint, Toleration};

/// Whether a Pod with this toleration bears the taint. Mirrors `Toleration.ToleratesTaint`.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (key, effect) = (text(&toleration.key), text(&toleration.effect));
    if (!effect.is_empty() && effect != taint.effect) || (!key.is_empty() && key != taint.key) {
        return false;
    }
    match text(&toleration.operator).as_str() {
        "" | "Equal" => text(&toleration.value) == text(&taint.value),
        operator => operator == "Exists",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerations_match_taints() {
        let toleration = |key: &str, operator: &str, value: &str, effect: &str| Toleration {
            key: Some(key.to_owned()),
            operator: Some(operator.to_owned()),
            value: Some(value.to_owned()),
            effect: Some(effect.to_owned()),
            toleration_seconds: None,
        };
        let taint = Taint {
            value: Some("yes".into()),
            key: "maintenance".into(),
            effect: "NoExecute".into(),
            ..Taint::default()
        };
        for (toleration, expected) in [
            (toleration("maintenance", "Equal", "yes", "NoExecute"), true),
            (toleration("maintenance", "", "yes", ""), true),
            (toleration("maintenance", "Exists", "", "NoExecute"), true),
            (toleration("", "Exists", "", ""), true),
            (toleration("maintenance", "Equal", "no", "NoExecute"), false),
            (toleration("maintenance", "Exists", "", "NoSchedule"), false),
            (toleration("other", "Exists", "", ""), false),
        ] {
            assert_eq!(tolerates(&toleration, &taint), expected, "{toleration:?}");
        }
    }
}
