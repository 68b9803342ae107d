//! Two small garbage collectors that are wrong, each in its own way.
//!
//! # The hasty one deletes live children (#88097, #65200)
//!
//! It deletes a Pod whose owner it does not know. But its two watches, of Pods and of their owners, have no order between
//! them: it may hear of a Pod before it hears of the ReplicaSet that made it, above all when it has just started and its
//! caches fill one after another. That was suspected when living objects were deleted in many namespaces, in an upgrade.
//!
//! The real collector asked the API server even then, but not always the right question. It looked for an owner where the
//! first reference to its uid that it had heard of said; if that one was wrong, as one into another namespace is, nothing
//! was there, and the uid counted as gone for all who named it. After a start the order is by chance. Since pull request
//! #92743 the uid is not enough: kind, namespace and name belong to it.
//!
//! Right: to take "I do not know it" for a question, not for an answer, and to ask the API server before anything is
//! deleted; and to compare the uid, since another object of the same name is another owner.
//!
//! # The other never finds orphans that were there before it (#109748)
//!
//! It deletes children when it hears that their owner is deleted. If it is not running at that moment, it never hears of
//! it, and the children stay for ever. This is what *edge-triggered* means: to act on a change. A crash loses changes; it
//! never loses the state.
//!
//! Right: to look at the state, at the start and whenever anything changes: is the owner of this object there?
//!
//! The right part for both is the shipped collector, [`controllers::garbage_collector`].

use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use k8s_openapi::api::apps::v1::ReplicaSet;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use cluster::{Account, Parts};
use object::meta::controller_of;
use object::{Key, Kind, Object, Pod};
use wire::DeleteOptions;

use super::shipped_without;

const NAME: &str = "garbage-collector";

const ACCOUNTS: &[Account] = &[Account {
    name: NAME,
    rules: &[("get,list,watch", "apps", "replicasets"), ("delete,get,list,watch", "", "pods")],
}];

static OTHERS: LazyLock<Vec<Registration>> = LazyLock::new(|| shipped_without("generic-garbage-collector"));

const fn row(new: client::Make) -> Registration {
    Registration { watches: &[Kind::ReplicaSet, Kind::Pod], ..Registration::new(NAME, new) }
}

static HASTY: &[Registration] = &[row(&|context| Collector::with(false, context))];
static EDGE_TRIGGERED: &[Registration] = &[row(&|context| Collector::with(true, context))];

/// The one that deletes what it does not know the owner of.
pub fn hasty() -> Parts {
    Parts { controllers: &OTHERS, programs: operator!(NAME, HASTY), accounts: ACCOUNTS, ..Parts::default() }
}

/// The one that acts on deletions only.
pub fn edge_triggered() -> Parts {
    Parts { controllers: &OTHERS, programs: operator!(NAME, EDGE_TRIGGERED), accounts: ACCOUNTS, ..Parts::default() }
}

/// Collects Pods. Keys are Pods whose owner seems to be gone.
struct Collector {
    edge_triggered: bool,
    client: Client,
    queue: Queue,
    sets: Lister<ReplicaSet>,
    pods: Lister<Pod>,
}

impl Collector {
    fn with(edge_triggered: bool, context: &ControllerContext) -> Rc<dyn Controller> {
        let (client, queue) = (context.client.clone(), context.queue.clone());
        Rc::new(Collector { edge_triggered, client, queue, sets: context.lister(), pods: context.lister() })
    }
}

impl Controller for Collector {
    fn on_change(&self, change: &Change) {
        match (change, change.latest()) {
            (Change::Deleted(_), Object::ReplicaSet(set)) => {
                let owned = |pod: &&Arc<Pod>| controller_of(&pod.metadata).map(|o| &o.uid) == set.metadata.uid.as_ref();
                for pod in self.pods.list_namespace(change.key().namespace()).iter().filter(owned) {
                    self.queue.add(Key::of_meta(&pod.metadata));
                }
            }
            (Change::Added(_), Object::Pod(_)) if !self.edge_triggered => self.queue.add(change.key()),
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(pod) = self.pods.get(&key) else { return Ok(()) };
        let Some(owner) = controller_of(&pod.metadata) else { return Ok(()) };
        let known = self.sets.get(&Key::new(key.namespace(), &owner.name));
        if known.is_some_and(|set| set.metadata.uid.as_ref() == Some(&owner.uid)) {
            return Ok(());
        }
        let options = DeleteOptions { uid: pod.metadata.uid.clone(), ..DeleteOptions::default() };
        match self.client.delete::<Pod>(key.namespace(), key.name(), options).await {
            Err(status) if !status.is_not_found() => Err(status.into()),
            _ => Ok(()),
        }
    }
}
