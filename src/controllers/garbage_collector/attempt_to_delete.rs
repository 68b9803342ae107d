//! Whether an object has to go, and how. Mirrors `attemptToDeleteItem` of `garbagecollector.go`.

use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::json;

use client::Error;
use object::meta::has_finalizer;
use object::well_known::{FOREGROUND, ORPHAN};
use object::{Key, Kind, Object};
use wire::Propagation;

use super::graph::{Identity, Node, Uid, owners_of};
use super::requests::{Unreachable, claimed_owner};
use super::{DELETE, GarbageCollector, key};

/// How often the real collector looks whether the API server has learned new kinds.
const DISCOVERY_PERIOD: Duration = Duration::from_secs(30);

/// An object's owners, by what has become of them.
#[derive(Debug, Default)]
pub struct Owners {
    /// There, and here to stay.
    pub solid: Vec<Uid>,
    /// Not there.
    pub dangling: Vec<Uid>,
    /// Being deleted in the foreground: they wait for this object to go.
    pub waiting: Vec<Uid>,
}

/// What is to be done about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has an owner that stays.
    Keep,
    /// It has an owner that stays; the references to the other owners are removed.
    Disown,
    /// An owner waits for it, and it has dependents of its own, which go first.
    DeleteDependentsFirst,
    /// It has no owner that stays.
    Delete,
}

impl Owners {
    /// What follows, for an object that itself has dependents or has none.
    pub fn verdict(&self, has_dependents: bool) -> Verdict {
        if self.solid.is_empty() {
            let first = !self.waiting.is_empty() && has_dependents;
            return if first { Verdict::DeleteDependentsFirst } else { Verdict::Delete };
        }
        if self.dangling.is_empty() && self.waiting.is_empty() { Verdict::Keep } else { Verdict::Disown }
    }
}

impl GarbageCollector {
    /// One attempt. A node that stays virtual is looked at again: the object is there, and its informer must tell.
    pub(super) async fn attempt_to_delete(&self, key: Key, identity: &Rc<Identity>) -> Result<(), Error> {
        match self.resource(identity) {
            Ok(kind) => self.attempt(kind, identity).await?,
            Err(Unreachable::NamespacedOwnerOfClusterScoped) => return Ok(()),
            Err(Unreachable::UnknownKind) => {
                self.queue.add_after_background(key, DISCOVERY_PERIOD);
                return Ok(());
            }
        }
        let unseen = self.graph.borrow().get(&identity.uid).is_some_and(|node| !node.is_observed());
        match identity.known_kind(&self.discovery.borrow()) {
            // No informer tells of Events.
            Some(Kind::Event) => {}
            _ if unseen => self.queue.add_rate_limited(key),
            _ => {}
        }
        Ok(())
    }

    async fn attempt(&self, kind: Kind, identity: &Rc<Identity>) -> Result<(), Error> {
        let (being_deleted, deleting_dependents) = self.deletion_of(identity);
        // Deletion is a one-way street; the dependents' turn comes when the object is gone.
        if being_deleted && !deleting_dependents {
            return Ok(());
        }
        let live = self.live(kind, identity).await?;
        let Some(live) = live.filter(|live| live.meta().uid.as_deref() == Some(&*identity.uid)) else {
            let effects = self.graph.borrow_mut().proved_absent(identity);
            self.carry_out(effects);
            return Ok(());
        };
        let (_, deleting_dependents) = self.deletion_of(identity);
        if let Some(decision) = self.decided_elsewhere(identity, &live, deleting_dependents).await? {
            return self.carry_through(identity, &live, decision, deleting_dependents).await;
        }
        if deleting_dependents {
            return self.wait_for_dependents(identity).await;
        }
        if owners_of(live.meta()).is_empty() {
            return Ok(());
        }
        let Some(owners) = self.classify(identity, owners_of(live.meta())).await? else { return Ok(()) };
        self.decide(identity, &live, owners).await
    }

    /// Whether the object is being deleted, and whether its dependents go first.
    fn deletion_of(&self, identity: &Identity) -> (bool, bool) {
        let graph = self.graph.borrow();
        graph.get(&identity.uid).map_or((false, false), |node| (node.being_deleted(), node.deleting_dependents))
    }

    /// The object's foreground deletion ends when nothing blocks it. Mirrors `processDeletingDependentsItem`; what is
    /// being deleted already is not queued for nothing.
    async fn wait_for_dependents(&self, identity: &Identity) -> Result<(), Error> {
        let is_blocked = self.graph.borrow().get(&identity.uid).is_some_and(|node| !node.is_unblocked());
        if !is_blocked {
            return self.remove_finalizer(identity, FOREGROUND).await;
        }
        self.hurry_dependents(identity);
        Ok(())
    }

    /// Queues what holds up the object's foreground deletion.
    pub(super) fn hurry_dependents(&self, identity: &Identity) {
        let graph = self.graph.borrow();
        let undeleted = graph.get(&identity.uid).into_iter().flat_map(|node| node.undeleted());
        undeleted.filter_map(|uid| graph.get(uid)).for_each(|node| self.queue.add(key(DELETE, &node.identity)));
    }

    /// What has become of each owner. None: one of them can never be, so the object is left alone.
    /// Mirrors `classifyReferences`.
    async fn classify(&self, identity: &Identity, references: &[OwnerReference]) -> Result<Option<Owners>, Error> {
        let mut owners = Owners::default();
        for reference in references {
            let owner = claimed_owner(&self.discovery.borrow(), reference, identity);
            let list = match self.look_up(&owner).await? {
                Lookup::Impossible => return Ok(None),
                Lookup::Absent => &mut owners.dangling,
                Lookup::There(live) if waits_for_dependents(&live) => &mut owners.waiting,
                Lookup::There(_) => &mut owners.solid,
            };
            list.push(owner.uid);
        }
        Ok(Some(owners))
    }

    /// Whether an owner is there: from memory if it is known to be absent, else from the API server.
    /// Mirrors `isDangling`.
    pub(super) async fn look_up(&self, owner: &Identity) -> Result<Lookup, Error> {
        if self.graph.borrow_mut().absent.contains(owner) {
            return Ok(Lookup::Absent);
        }
        let kind = match self.resource(owner) {
            Ok(kind) => kind,
            Err(Unreachable::NamespacedOwnerOfClusterScoped) => return Ok(Lookup::Impossible),
            Err(Unreachable::UnknownKind) => {
                let (kind, version) = (&owner.kind, &owner.api_version);
                return Err(Error::Other(format!("unable to get REST mapping for {version}/{kind}.")));
            }
        };
        match self.live(kind, owner).await? {
            Some(live) if live.meta().uid.as_deref() == Some(&*owner.uid) => Ok(Lookup::There(live)),
            _ => {
                self.graph.borrow_mut().absent.insert(owner.clone());
                Ok(Lookup::Absent)
            }
        }
    }

    async fn decide(&self, identity: &Identity, live: &Object, owners: Owners) -> Result<(), Error> {
        let has_dependents = self.graph.borrow().get(&identity.uid).is_some_and(|node| !node.dependents.is_empty());
        match owners.verdict(has_dependents) {
            Verdict::Keep => {}
            Verdict::Disown => {
                let gone = [owners.dangling, owners.waiting].concat();
                self.remove_owners(live.kind(), identity, &gone).await?;
            }
            Verdict::DeleteDependentsFirst => {
                self.break_circle(identity, live).await?;
                self.delete(identity, live, Propagation::Foreground).await?;
            }
            Verdict::Delete => self.delete(identity, live, policy_of(live)).await?,
        }
        Ok(())
    }

    /// If a dependent waits for its own dependents, it may be waiting, in a circle, for this object: which therefore
    /// stops blocking its owners.
    pub(super) async fn break_circle(&self, identity: &Identity, live: &Object) -> Result<(), Error> {
        let circle = {
            let graph = self.graph.borrow();
            let waits = |uid: &Uid| graph.get(uid).is_some_and(|dependent| dependent.deleting_dependents);
            graph.get(&identity.uid).is_some_and(|node| node.dependents.iter().any(waits))
        };
        if !circle {
            return Ok(());
        }
        let unblocked = |owner: &OwnerReference| OwnerReference { block_owner_deletion: Some(false), ..owner.clone() };
        let (all, blocking): (Vec<OwnerReference>, Vec<OwnerReference>) = {
            let graph = self.graph.borrow();
            let owners = graph.get(&identity.uid).map_or(&[][..], Node::owners);
            let blocking = owners.iter().filter(|owner| owner.block_owner_deletion == Some(true));
            (owners.iter().map(unblocked).collect(), blocking.map(unblocked).collect())
        };
        let strategic = match blocking[..] {
            [] => json!({"metadata": {"uid": *identity.uid}}),
            _ => json!({"metadata": {"uid": *identity.uid, "ownerReferences": blocking}}),
        };
        Ok(self.patch_owners(live.kind(), identity, strategic, |_| all).await?)
    }
}

/// What is found of an owner.
pub(super) enum Lookup {
    There(Object),
    Absent,
    Impossible,
}

/// Whether an owner is being deleted in the foreground.
pub fn waits_for_dependents(owner: &Object) -> bool {
    owner.meta().deletion_timestamp.is_some() && has_finalizer(owner.meta(), FOREGROUND)
}

/// An object that carries a finalizer of the collector's was to be deleted so, and is.
pub fn policy_of(object: &Object) -> Propagation {
    if has_finalizer(object.meta(), ORPHAN) {
        Propagation::Orphan
    } else if has_finalizer(object.meta(), FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_to_go() {
        for (solid, dangling, waiting, dependents, want) in [
            (1, 0, 0, false, Verdict::Keep),
            (2, 0, 0, true, Verdict::Keep),
            (1, 1, 0, false, Verdict::Disown),
            (1, 0, 1, true, Verdict::Disown),
            (0, 1, 0, true, Verdict::Delete),
            (0, 1, 1, false, Verdict::Delete),
            (0, 0, 1, false, Verdict::Delete),
            (0, 0, 1, true, Verdict::DeleteDependentsFirst),
            (0, 1, 1, true, Verdict::DeleteDependentsFirst),
        ] {
            let uids = |n: usize| vec![Uid::from("u"); n];
            let owners = Owners { solid: uids(solid), dangling: uids(dangling), waiting: uids(waiting) };
            assert_eq!(owners.verdict(dependents), want, "{owners:?}");
        }
    }
}
