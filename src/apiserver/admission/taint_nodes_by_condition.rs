//! TaintNodesByCondition: a new Node is tainted until the node lifecycle controller has seen that it is ready, so that
//! nothing is scheduled onto it in between. Mirrors `plugin/pkg/admission/nodetaint`.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Taint;

use object::well_known::NOT_READY;
use object::{Object, Status};

use super::Attributes;

/// Adds the taint to a Node that is created.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    if !attributes.is_create() {
        return Ok(());
    }
    let Object::Node(node) = object else { return Ok(()) };
    let taints = Arc::make_mut(node).spec.get_or_insert_default().taints.get_or_insert_default();
    if !taints.iter().any(|taint| taint.key == NOT_READY && taint.effect == "NoSchedule") {
        taints.push(Taint { key: NOT_READY.into(), effect: "NoSchedule".into(), ..Taint::default() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Objects, create};
    use super::*;

    #[test]
    fn a_new_node_is_tainted_once() {
        let taint = json!({"key": NOT_READY, "effect": "NoSchedule"});
        let other = json!({"key": "gpu", "effect": "NoSchedule"});
        for (before, after) in [
            (json!([]), json!([taint])),
            (json!([other]), json!([other, taint])),
            (json!([taint, other]), json!([taint, other])),
        ] {
            let node =
                json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": before}});
            let got = create(admit, &Objects::default(), node).expect("admitted").to_json();
            assert_eq!(got["spec"]["taints"], after);
        }
    }
}
