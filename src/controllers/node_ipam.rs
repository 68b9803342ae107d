//! The node IPAM controller: each node gets a range of addresses for its Pods, a /24 of the cluster's 10.244.0.0/16.
//! Mirrors `pkg/controller/nodeipam/ipam/range_allocator.go` and `ipam/cidrset`.
//!
//! The allocator remembers which ranges it gave away; the Node's `spec.podCIDR` is where everybody else reads it. A
//! Node that changes again before the controller has seen its own patch is given a second range, which the API server
//! refuses three times with 422: real clusters do that too.
//!
//! Left out: trying for ever, ever slower, when all ranges are given away; here such a node waits until another one
//! goes.

use std::collections::BTreeSet;
use std::rc::Rc;

use k8s_openapi::api::core::v1::{Node, ObjectReference};
use serde_json::json;

use client::{Change, Client, Controller, ControllerContext, Error, EventType, Lister, Queue, Recorder, Registration};
use engine::Memory;
use object::node::pod_cidrs;
use object::{Key, Kind, Object};
use wire::Patch;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Node],
    workers: 30,
    account: Some("node-controller"),
    event_source: "cidrAllocator",
    ..Registration::new("node-ipam-controller", &|context| Rc::new(RangeAllocator::new(context)))
};

/// `--cluster-cidr=10.244.0.0/16`: the second number of the addresses.
const FIRST: u32 = 244;
/// A /16 holds 256 of `--node-cidr-mask-size=24`. So that clusters of thousands of nodes need no flag, more /16s follow
/// the first: those up to 10.255, and then the others of 10.128.0.0/9.
const RANGES: u32 = 256 * (256 - LOWEST);
/// The second number of the lowest addresses.
const LOWEST: u32 = 128;

/// How often the patch is tried.
const UPDATE_TRIES: usize = 3;

/// Which of the cluster's ranges are given away.
#[derive(Clone, Debug, Default)]
struct Ranges {
    used: BTreeSet<u32>,
    /// Where the search starts: ranges are handed out round robin, so that one just freed is not reused at once.
    next: u32,
}

impl Ranges {
    /// Takes the next free range.
    fn allocate(&mut self) -> Option<u32> {
        let free = (0..RANGES).map(|step| (self.next + step) % RANGES).find(|range| !self.used.contains(range))?;
        self.used.insert(free);
        self.next = (free + 1) % RANGES;
        Some(free)
    }

    fn occupy(&mut self, cidr: &str) {
        self.used.extend(range_of(cidr));
    }

    fn release(&mut self, cidr: &str) {
        if let Some(range) = range_of(cidr) {
            self.used.remove(&range);
        }
    }
}

/// The addresses of a range by its number, counted from 0: `10.244.0.0/24`. After the last comes the first again.
pub fn cidr_of(range: u32) -> String {
    let second = LOWEST + (FIRST - LOWEST + range / 256) % (256 - LOWEST);
    format!("10.{second}.{}.0/24", range % 256)
}

/// The number of a range; None if it is not one of the cluster's.
fn range_of(cidr: &str) -> Option<u32> {
    let (second, third) = cidr.strip_prefix("10.")?.strip_suffix(".0/24")?.split_once('.')?;
    let (second, third): (u32, u32) = (second.parse().ok()?, third.parse().ok()?);
    let is_one = (LOWEST..256).contains(&second) && third < 256;
    is_one.then(|| (second + 256 - FIRST) % (256 - LOWEST) * 256 + third)
}

/// Keys are nodes.
struct RangeAllocator {
    client: Client,
    recorder: Recorder,
    queue: Queue,
    nodes: Lister<Node>,
    ranges: Memory<Ranges>,
    /// Nodes for which there was no range.
    waiting: Memory<BTreeSet<Key>>,
}

impl RangeAllocator {
    fn new(context: &ControllerContext) -> RangeAllocator {
        RangeAllocator {
            client: context.client.clone(),
            recorder: context.recorder.clone(),
            queue: context.queue.clone(),
            nodes: context.lister(),
            ranges: context.memory(Ranges::default()),
            waiting: context.memory(BTreeSet::new()),
        }
    }
}

impl Controller for RangeAllocator {
    fn on_change(&self, change: &Change) {
        let Object::Node(node) = change.latest() else { return };
        let mut ranges = self.ranges.borrow_mut();
        match change {
            Change::Deleted(_) => {
                pod_cidrs(node).iter().for_each(|cidr| ranges.release(cidr));
                std::mem::take(&mut *self.waiting.borrow_mut()).into_iter().for_each(|key| self.queue.add(key));
            }
            _ if pod_cidrs(node).is_empty() => self.queue.add(change.key()),
            _ => pod_cidrs(node).iter().for_each(|cidr| ranges.occupy(cidr)),
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(node) = self.nodes.get(&key) else { return Ok(()) };
        if node.metadata.deletion_timestamp.is_some() || !pod_cidrs(&node).is_empty() {
            return Ok(());
        }
        let Some(range) = self.ranges.borrow_mut().allocate() else {
            self.tell(&node, "CIDRNotAvailable");
            self.waiting.borrow_mut().insert(key);
            return Ok(());
        };
        let cidr = cidr_of(range);
        let patch = || Patch::Strategic(json!({"spec": {"podCIDR": cidr, "podCIDRs": [cidr]}}));
        let mut last = None;
        for _ in 0..UPDATE_TRIES {
            match self.client.patch::<Node>("", key.name(), patch()).await {
                Ok(_) => return Ok(()),
                Err(status) => last = Some(status),
            }
        }
        self.tell(&node, "CIDRAssignmentFailed");
        self.ranges.borrow_mut().release(&cidr);
        last.map_or(Ok(()), |status| Err(status.into()))
    }
}

impl RangeAllocator {
    /// Mirrors `controllerutil.RecordNodeStatusChange`.
    fn tell(&self, node: &Node, what: &str) {
        let name = node.metadata.name.clone().unwrap_or_default();
        let message = format!("Node {name} status is now: {what}");
        let about = ObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Node".into()),
            name: Some(name),
            uid: node.metadata.uid.clone(),
            ..ObjectReference::default()
        };
        self.recorder.event_about(about, EventType::Normal, what, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_go_round() {
        let mut ranges = Ranges::default();
        ranges.occupy("10.244.1.0/24");
        ranges.occupy("192.168.7.0/24");
        let take = |ranges: &mut Ranges| ranges.allocate().map(cidr_of).unwrap_or_default();
        assert_eq!(take(&mut ranges), "10.244.0.0/24");
        assert_eq!(take(&mut ranges), "10.244.2.0/24");
        ranges.release("10.244.0.0/24");
        assert_eq!(take(&mut ranges), "10.244.3.0/24", "a range just freed waits its turn");
        (4..RANGES).for_each(|range| assert_eq!(range_of(&take(&mut ranges)), Some(range)));
        assert_eq!(take(&mut ranges), "10.244.0.0/24");
        assert_eq!(take(&mut ranges), "", "all are given away");
    }
}
