//! DefaultTolerationSeconds: a Pod stays five minutes on a node that stopped answering, unless it says otherwise.
//! Mirrors `plugin/pkg/admission/defaulttolerationseconds`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Toleration;

use object::well_known::{NOT_READY, UNREACHABLE};
use object::{Object, Status};

use super::Attributes;

/// `--default-not-ready-toleration-seconds` and `--default-unreachable-toleration-seconds`.
const TOLERATION_SECONDS: i64 = 300;

const TAINTS: [&str; 2] = [NOT_READY, UNREACHABLE];

/// Adds to a Pod the two tolerations that it lacks.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    if attributes.request.subresource.is_some() {
        return Ok(());
    }
    let Object::Pod(pod) = object else { return Ok(()) };
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let missing: Vec<&str> = TAINTS.into_iter().filter(|taint| !tolerations.iter().any(|t| covers(t, taint))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let tolerations = Arc::make_mut(pod).spec.get_or_insert_default().tolerations.get_or_insert_default();
    tolerations.extend(missing.into_iter().map(default_toleration));
    Ok(())
}

/// Whether a toleration already speaks of NoExecute by this taint. No key means every taint, no effect every effect.
fn covers(toleration: &Toleration, taint: &str) -> bool {
    let (key, effect) =
        (toleration.key.as_deref().unwrap_or_default(), toleration.effect.as_deref().unwrap_or_default());
    (key.is_empty() || key == taint) && (effect.is_empty() || effect == "NoExecute")
}

fn default_toleration(taint: &str) -> Toleration {
    Toleration {
        key: Some(taint.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        toleration_seconds: Some(TOLERATION_SECONDS),
        ..Toleration::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Objects, create};
    use super::*;

    #[test]
    fn what_the_pod_says_is_left_alone() {
        let added =
            |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
        let (not_ready, unreachable) = (added(TAINTS[0]), added(TAINTS[1]));
        let own = json!({"key": TAINTS[0], "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
        let other_effect = json!({"key": TAINTS[0], "operator": "Exists", "effect": "NoSchedule"});
        let everything = json!({"operator": "Exists"});
        for (before, after) in [
            (json!([]), json!([not_ready, unreachable])),
            (json!([own]), json!([own, unreachable])),
            (json!([other_effect]), json!([other_effect, not_ready, unreachable])),
            (json!([everything]), json!([everything])),
        ] {
            let spec = json!({"containers": [], "tolerations": before});
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec});
            let got = create(admit, &Objects::default(), pod).expect("admitted").to_json();
            assert_eq!(got["spec"]["tolerations"], after);
        }
    }
}
