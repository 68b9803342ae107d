//! The TTL controller: tells kubelets how long they may keep a Secret or ConfigMap before asking for it again. The more
//! nodes, the longer. Mirrors `pkg/controller/ttl/ttl_controller.go`.

use std::rc::Rc;

use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use client::{Change, Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use engine::Memory;
use object::{Key, Kind, Object};
use wire::Patch;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Node],
    workers: 5,
    ..Registration::new("ttl-controller", &|context| Rc::new(Ttl::new(context)))
};

const ANNOTATION: &str = "node.alpha.kubernetes.io/ttl";

/// From so many nodes, up to so many, so many seconds. The steps overlap, so that one node more or less does not change
/// every Node back and forth.
/// Mirrors `ttlBoundaries`.
const STEPS: &[(usize, usize, u32)] =
    &[(0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, usize::MAX, 300)];

/// Keys are nodes.
struct Ttl {
    client: Client,
    queue: Queue,
    nodes: Lister<Node>,
    count: Memory<usize>,
    step: Memory<usize>,
}

impl Ttl {
    fn new(context: &ControllerContext) -> Ttl {
        Ttl {
            client: context.client.clone(),
            queue: context.queue.clone(),
            nodes: context.lister(),
            count: context.memory(0),
            step: context.memory(0),
        }
    }

    fn seconds(&self) -> u32 {
        STEPS.get(self.step.get()).map_or(0, |(_, _, seconds)| *seconds)
    }

    fn count(&self, count: usize) {
        self.count.set(count);
        self.step.set(step_for(self.step.get(), count));
    }

    fn is_right(&self, node: &Node) -> bool {
        let there = node.metadata.annotations.as_ref().and_then(|annotations| annotations.get(ANNOTATION));
        there.and_then(|there| there.parse().ok()) == Some(self.seconds())
    }
}

impl Controller for Ttl {
    fn on_change(&self, change: &Change) {
        let Object::Node(node) = change.latest() else { return };
        match change {
            Change::Added(_) => self.count(self.count.get() + 1),
            Change::Deleted(_) => return self.count(self.count.get().saturating_sub(1)),
            Change::Updated { .. } => {}
        }
        if !self.is_right(node) {
            self.queue.add(change.key());
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(node) = self.nodes.get(&key) else { return Ok(()) };
        if self.is_right(&node) {
            return Ok(());
        }
        let patch = json!({"metadata": {"annotations": {ANNOTATION: self.seconds().to_string()}}});
        self.client.patch::<Node>("", key.name(), Patch::Strategic(patch)).await?;
        Ok(())
    }
}

/// The step after `step` when there are `count` nodes.
fn step_for(step: usize, count: usize) -> usize {
    let mut step = step;
    while step > 0 && count < STEPS[step].0 {
        step -= 1;
    }
    while step + 1 < STEPS.len() && count > STEPS[step].1 {
        step += 1;
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_overlap() {
        for (step, count, expected) in
            [(0, 3, 0), (0, 100, 0), (0, 101, 1), (1, 95, 1), (1, 89, 0), (0, 5000, 4), (4, 20_000, 4), (4, 10, 0)]
        {
            assert_eq!(step_for(step, count), expected, "{count} nodes after step {step}");
        }
    }
}
