//! Taints of nodes: comparing them, and writing them. Mirrors `pkg/util/taints`, `controller.AddOrUpdateTaintOnNode`
//! and `controllerutil.SwapNodeControllerTaint`.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Taint};
use serde_json::{Value, json};

use client::{Client, Error};
use object::node::taints_of;
use object::pod::assigned_node;
use object::well_known::OUT_OF_SERVICE;
use object::{Accessor, Object, Status};
use wire::Patch;

/// The name of the index of Pods by their node, which the controllers of nodes share.
pub const BY_NODE: &str = "spec.nodeName";

/// After a conflict: so many tries, so long apart, and up to as long again.
const TRIES: u32 = 5;
const BACKOFF: Duration = Duration::from_millis(100);

/// The index function of [`BY_NODE`].
pub fn node_of(object: &Object) -> Vec<String> {
    let Object::Pod(pod) = object else { return Vec::new() };
    assigned_node(pod).map(str::to_owned).into_iter().collect()
}

/// A taint without a value.
pub fn taint(key: &str, effect: &str) -> Taint {
    Taint { key: key.to_owned(), effect: effect.to_owned(), value: None, time_added: None }
}

/// Two taints with the same key and effect are the same taint, even with different values.
pub fn same(a: &Taint, b: &Taint) -> bool {
    a.key == b.key && a.effect == b.effect
}

/// Whether a user has declared, by a taint, that the node is off and stays off.
pub fn is_out_of_service(node: &Node) -> bool {
    taints_of(node).iter().any(|taint| taint.key == OUT_OF_SERVICE)
}

/// Whether the node has this taint.
pub fn has(node: &Node, wanted: &Taint) -> bool {
    taints_of(node).iter().any(|there| same(there, wanted))
}

/// Puts taints on a node, then takes others off: two patches, each only if it changes anything.
pub async fn swap(client: &Client, node: &Node, mut add: Vec<Taint>, remove: &[Taint]) -> Result<(), Error> {
    let name = node.metadata.name();
    for taint in &mut add {
        taint.time_added = Some(client.now().time());
    }
    if !add.is_empty() {
        change(client, name, |taints| with(taints, &add)).await?;
    }
    take_off(client, node, remove).await
}

/// Takes taints off a node that has any of them.
pub async fn take_off(client: &Client, node: &Node, remove: &[Taint]) -> Result<(), Error> {
    if !remove.iter().any(|taint| has(node, taint)) {
        return Ok(());
    }
    let name = node.metadata.name();
    change(client, name, |taints| without(taints, remove)).await
}

fn with(taints: &[Taint], add: &[Taint]) -> Vec<Taint> {
    let kept = taints.iter().filter(|there| !add.iter().any(|new| same(there, new)));
    kept.chain(add).cloned().collect()
}

fn without(taints: &[Taint], remove: &[Taint]) -> Vec<Taint> {
    taints.iter().filter(|there| !remove.iter().any(|gone| same(there, gone))).cloned().collect()
}

/// Reads the node and patches its taints. A conflict means that another client was faster: read again.
async fn change(client: &Client, name: &str, new: impl Fn(&[Taint]) -> Vec<Taint>) -> Result<(), Error> {
    let mut last = None;
    for attempt in 0..TRIES {
        if attempt > 0 {
            let jitter = client.hub().random(|random| random.below(BACKOFF.as_micros() as u64));
            client.sleep(BACKOFF + Duration::from_micros(jitter)).await;
        }
        let node = client.get::<Node>("", name).await?;
        let changed = new(taints_of(&node));
        if changed == taints_of(&node) {
            return Ok(());
        }
        match client.patch::<Node>("", name, taints_patch(&node, &changed)).await {
            Ok(_) => return Ok(()),
            Err(status) if status.is_conflict() => last = Some(status),
            Err(status) => return Err(status.into()),
        }
    }
    Err(last.unwrap_or_else(|| Status::internal("no try was made").into()).into())
}

/// The resourceVersion goes along, since the list of taints is replaced as a whole.
fn taints_patch(node: &Node, taints: &[Taint]) -> Patch {
    let list = if taints.is_empty() { Value::Null } else { json!(taints) };
    Patch::Strategic(json!({
        "metadata": {"resourceVersion": node.metadata.resource_version},
        "spec": {"taints": list},
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taint_replaces_its_like() {
        let old = [taint("a", "NoSchedule"), taint("b", "NoExecute")];
        let new = Taint { value: Some("2".into()), ..taint("a", "NoSchedule") };
        assert_eq!(with(&old, std::slice::from_ref(&new)), [old[1].clone(), new]);
        assert_eq!(without(&old, &[taint("a", "NoSchedule"), taint("b", "NoSchedule")]), [old[1].clone()]);
    }
}
