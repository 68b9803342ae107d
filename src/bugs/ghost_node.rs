//! A scheduler that binds Pods to a node that is gone (#56261, #94437).
//!
//! The scheduler keeps what it knows of nodes in a cache of its own. If it misses that a node was deleted, because the one
//! event that says so was lost, the node stays in the cache as a ghost: empty, so that it is the best place for every new
//! Pod. The API server does not check that a node exists when a Pod is bound to it. The Pods stay Pending for ever.
//!
//! Right, as the issue asks for: not to trust the cache with the last word. This one looks the node up before it binds, and
//! forgets a node that is not found. The shipped scheduler trusts its informers, which relist when a watch breaks and so
//! never miss a deletion for good; against an API server that loses an event it is as helpless as the wrong one.

use std::collections::BTreeSet;
use std::rc::Rc;

use k8s_openapi::api::core::v1::Node;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use cluster::{Account, Parts};
use controllers::ControllerManager;
use engine::Memory;
use object::pod::assigned_node;
use object::{Key, Kind, Object, Pod};
use wire::Binding;

use super::FEW;

const NAME: &str = "kube-scheduler";

const fn row(new: client::Make) -> Registration {
    Registration { watches: &[Kind::Node, Kind::Pod], ..Registration::new(NAME, new) }
}

static WRONG: &[Registration] = &[row(&|context| SmallScheduler::with(false, context))];
static RIGHT: &[Registration] = &[row(&|context| SmallScheduler::with(true, context))];

/// A cluster with a small scheduler, wrong or right.
pub fn parts(right: bool) -> Parts {
    const RULES: &[(&str, &str, &str)] = &[("get,list,watch", "", "nodes,pods"), ("create", "", "pods/binding")];
    let accounts = &[Account { name: NAME, rules: RULES }];
    let parts = Parts { controllers: &FEW, accounts, ..Parts::default() };
    if right {
        Parts { scheduler: &|hub, id, _, _| Rc::new(ControllerManager::operator(hub, id, NAME, RIGHT)), ..parts }
    } else {
        Parts { scheduler: &|hub, id, _, _| Rc::new(ControllerManager::operator(hub, id, NAME, WRONG)), ..parts }
    }
}

/// Binds each Pod to the node with the fewest.
struct SmallScheduler {
    careful: bool,
    client: Client,
    queue: Queue,
    pods: Lister<Pod>,
    nodes: Memory<BTreeSet<String>>,
}

impl SmallScheduler {
    fn with(careful: bool, context: &ControllerContext) -> Rc<dyn Controller> {
        let (client, queue, nodes) = (context.client.clone(), context.queue.clone(), context.memory(BTreeSet::new()));
        Rc::new(SmallScheduler { careful, client, queue, pods: context.lister(), nodes })
    }
}

impl Controller for SmallScheduler {
    fn on_change(&self, change: &Change) {
        let name = change.key().name().to_owned();
        match (change, change.latest()) {
            (Change::Deleted(_), Object::Node(_)) => {
                self.nodes.borrow_mut().remove(&name);
            }
            (_, Object::Node(_)) => {
                self.nodes.borrow_mut().insert(name);
            }
            _ => self.queue.add(change.key()),
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(pod) = self.pods.get(&key).filter(|pod| assigned_node(pod).is_none()) else { return Ok(()) };
        let pods = self.pods.list();
        let on = |node: &str| pods.iter().filter(|pod| assigned_node(pod) == Some(node)).count();
        let best = self.nodes.borrow().iter().min_by_key(|node| on(node)).cloned();
        let Some(node) = best else { return Err(Error::Other("0 nodes are available".to_owned())) };
        if self.careful
            && let Err(status) = self.client.get::<Node>("", &node).await
        {
            if status.is_not_found() {
                self.nodes.borrow_mut().remove(&node);
            }
            return Err(status.into());
        }
        let binding = Binding { uid: pod.metadata.uid.clone(), node, ..Binding::default() };
        Ok(self.client.bind(key.namespace(), key.name(), binding).await?)
    }
}
