//! Who depends on whom: the graph that the garbage collector builds from all objects' owner references.
//!
//! Nodes are found by uid. An owner that is named before it was seen gets a *virtual* node, which stands for what the
//! reference claims; it has to be looked up at the API server, and is either seen later or proved absent. The graph
//! does nothing by itself: each change gives [`Effect`]s, which are work for the collector's queues.
//!
//! Mirrors `pkg/controller/garbagecollector/graph.go` and `graph_builder.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use object::Object;
use object::meta::has_finalizer;
use object::well_known::{FOREGROUND, ORPHAN};

use super::absent::AbsentOwners;

mod node;

use node::uid_of;
pub use node::{Identity, Node, Uid, owners_of};

/// Work that a change of the graph makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// See whether this object has to go.
    AttemptToDelete(Rc<Identity>),
    /// The same, after a while: this is but the next guess at who an absent owner may be.
    AttemptToDeleteLater(Rc<Identity>),
    /// Free the dependents of this object.
    AttemptToOrphan(Rc<Identity>),
    /// The object names an owner that lives in another namespace.
    WrongNamespace {
        /// The object.
        dependent: Rc<Identity>,
        /// The owner as the reference claims it.
        owner: Identity,
    },
}

/// All objects, by uid, and how they hang together.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: BTreeMap<Uid, Node>,
    /// Owners proved absent.
    pub absent: AbsentOwners,
}

impl Graph {
    /// The node with this uid.
    pub fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// All nodes, by uid.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// An informer tells of an object that is new or has changed.
    pub fn observed(&mut self, object: &Object) -> Vec<Effect> {
        let mut effects = Vec::new();
        let uid = uid_of(object.meta());
        let before = match self.nodes.get(&uid) {
            Some(node) => {
                if !node.is_observed() {
                    self.name_virtual_node(&uid, Identity::of(object), &mut effects);
                }
                self.nodes.get_mut(&uid).and_then(|node| node.object.replace(object.clone()))
            }
            None => {
                self.nodes.insert(uid.clone(), Node::new(Identity::of(object), Some(object.clone())));
                None
            }
        };
        let owners_before = before.as_ref().map_or(&[][..], |object| owners_of(object.meta()));
        if owners_before != owners_of(object.meta()) {
            self.change_owners(&uid, owners_before, owners_of(object.meta()), &mut effects);
        }
        if object.meta().deletion_timestamp.is_some() {
            self.deletion_started(&uid, object.meta(), before.as_ref().map(Object::meta), &mut effects);
        }
        effects
    }

    /// An informer tells that an object is gone.
    pub fn deleted(&mut self, object: &Object) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.remove(&uid_of(object.meta()), Identity::of(object), &mut effects);
        effects
    }

    /// The API server says that there is no such object. Mirrors a virtual delete event.
    pub fn proved_absent(&mut self, identity: &Identity) -> Vec<Effect> {
        let mut effects = Vec::new();
        let Some(node) = self.nodes.get(&identity.uid) else { return effects };
        let (matching, others) = self.split_dependents(node, identity);
        let observed = node.is_observed();
        if (observed && *node.identity == *identity) || (!observed && others.is_empty()) {
            self.remove(&identity.uid.clone(), identity.clone(), &mut effects);
            return effects;
        }
        // What was looked up is not what the node stands for, or not all that its dependents say it is.
        if !matching.is_empty() {
            self.absent.insert(identity.clone());
            effects.extend(matching.iter().filter_map(|uid| self.attempt_to_delete(uid)));
        }
        if !observed && *node.identity == *identity {
            let next = self.next_guess(&others, identity);
            if let (Some(next), Some(node)) = (next, self.nodes.get_mut(&identity.uid)) {
                node.identity = Rc::new(next);
                effects.push(Effect::AttemptToDeleteLater(node.identity.clone()));
            }
        }
        effects
    }

    fn attempt_to_delete(&self, uid: &str) -> Option<Effect> {
        self.nodes.get(uid).map(|node| Effect::AttemptToDelete(node.identity.clone()))
    }

    /// A virtual node turns out to be `identity`: a dependent that claimed otherwise has a wrong owner.
    fn name_virtual_node(&mut self, uid: &Uid, identity: Identity, effects: &mut Vec<Effect>) {
        let Some(node) = self.nodes.get(uid).filter(|node| *node.identity != identity) else { return };
        let (_, others) = self.split_dependents(node, &identity);
        for dependent in others.iter().filter_map(|uid| self.nodes.get(uid)) {
            let elsewhere = dependent.identity.namespace != identity.namespace;
            if !identity.namespace.is_empty() && elsewhere {
                effects.extend(wrong_namespace(dependent, &identity.uid));
            }
            effects.push(Effect::AttemptToDelete(dependent.identity.clone()));
        }
        if let Some(node) = self.nodes.get_mut(uid) {
            node.identity = Rc::new(identity);
        }
    }

    /// Mirrors `processTransitions`.
    fn deletion_started(&mut self, uid: &Uid, new: &ObjectMeta, old: Option<&ObjectMeta>, effects: &mut Vec<Effect>) {
        let starts = |finalizer: &str| {
            let waits = |meta: &ObjectMeta| meta.deletion_timestamp.is_some() && has_finalizer(meta, finalizer);
            waits(new) && !old.is_some_and(waits)
        };
        for owner in owners_of(new) {
            if let Some(owner) = self.nodes.get_mut(owner.uid.as_str()) {
                owner.undeleted.remove(uid);
            }
        }
        let Some(node) = self.nodes.get_mut(uid) else { return };
        if starts(ORPHAN) {
            effects.push(Effect::AttemptToOrphan(node.identity.clone()));
        } else if starts(FOREGROUND) {
            node.deleting_dependents = true;
            let node = &self.nodes[uid];
            effects.extend(node.dependents.iter().filter_map(|uid| self.attempt_to_delete(uid)));
            effects.push(Effect::AttemptToDelete(node.identity.clone()));
        }
    }

    fn change_owners(&mut self, uid: &Uid, old: &[OwnerReference], new: &[OwnerReference], effects: &mut Vec<Effect>) {
        let among = |list: &[OwnerReference], uid: &str| list.iter().any(|reference| reference.uid == uid);
        // Owners that wait for their dependents to go, and no longer have to wait for this one.
        for reference in old.iter().filter(|reference| blocks(reference)) {
            let still = new.iter().find(|r| r.uid == reference.uid).is_some_and(blocks);
            if !still {
                effects.extend(self.attempt_to_delete(&reference.uid));
            }
        }
        let mut doubtful = false;
        for reference in new {
            if among(old, &reference.uid) {
                self.block(uid, reference);
            } else {
                doubtful |= self.join(uid, reference, doubtful, effects);
            }
        }
        if doubtful {
            effects.extend(self.attempt_to_delete(uid));
        }
        for reference in old.iter().filter(|reference| !among(new, &reference.uid)) {
            self.part(uid, &reference.uid);
        }
    }

    /// Makes the object a dependent of the owner that `reference` names. Says whether the owner, as far as it is
    /// known, is not what the reference claims: which is not asked of an object that has to be looked at anyway.
    /// Mirrors `addDependentToOwners`.
    fn join(&mut self, uid: &Uid, reference: &OwnerReference, looked_at: bool, effects: &mut Vec<Effect>) -> bool {
        let Some(dependent) = self.nodes.get(uid) else { return false };
        let namespace = &dependent.identity.namespace;
        let mut doubtful = false;
        match self.nodes.get(reference.uid.as_str()) {
            None => {
                let node = Node::new(Identity::claimed(reference, namespace), None);
                effects.push(Effect::AttemptToDelete(node.identity.clone()));
                self.nodes.insert(node.identity.uid.clone(), node);
            }
            Some(owner) if !looked_at => {
                let apart = owner.identity.namespace != *namespace;
                let elsewhere = apart && !owner.identity.namespace.is_empty();
                if elsewhere && owner.is_observed() {
                    effects.extend(wrong_namespace(dependent, &owner.identity.uid));
                }
                // A virtual owner without a namespace may be one that a cluster-scoped object names wrongly.
                doubtful = elsewhere || !owner.identity.is_named_by(reference) || (apart && !owner.is_observed());
            }
            Some(_) => {}
        }
        if let Some(owner) = self.nodes.get_mut(reference.uid.as_str()) {
            owner.dependents.insert(uid.clone());
        }
        self.block(uid, reference);
        doubtful
    }

    /// Notes whether the object, a dependent of the owner that `reference` names, holds up its deletion.
    fn block(&mut self, uid: &Uid, reference: &OwnerReference) {
        let undeleted = self.nodes.get(uid).is_some_and(|dependent| !dependent.being_deleted());
        if let Some(owner) = self.nodes.get_mut(reference.uid.as_str()).filter(|owner| owner.dependents.contains(uid)) {
            set(&mut owner.blocking, uid, blocks(reference));
            set(&mut owner.undeleted, uid, blocks(reference) && undeleted);
        }
    }

    fn part(&mut self, uid: &Uid, owner: &str) {
        if let Some(owner) = self.nodes.get_mut(owner) {
            owner.dependents.remove(uid);
            owner.blocking.remove(uid);
            owner.undeleted.remove(uid);
        }
    }

    /// Takes a node out. Its dependents have to be looked at, and owners that wait for it, too.
    fn remove(&mut self, uid: &Uid, identity: Identity, effects: &mut Vec<Effect>) {
        let Some(node) = self.nodes.remove(uid) else { return };
        for reference in node.owners() {
            self.part(uid, &reference.uid);
        }
        if !node.dependents.is_empty() {
            self.absent.insert(identity);
        }
        effects.extend(node.dependents.iter().filter_map(|uid| self.attempt_to_delete(uid)));
        let owners = node.owners().iter().filter_map(|reference| self.nodes.get(reference.uid.as_str()));
        let waiting = owners.filter(|owner| owner.deleting_dependents);
        effects.extend(waiting.map(|owner| Effect::AttemptToDelete(owner.identity.clone())));
    }

    /// The dependents of `node` that claim it to be `identity`, and those that claim something else.
    /// Mirrors `partitionDependents`.
    fn split_dependents(&self, node: &Node, identity: &Identity) -> (Vec<Uid>, Vec<Uid>) {
        let (mut matching, mut others) = (Vec::new(), Vec::new());
        for uid in &node.dependents {
            let Some(dependent) = self.nodes.get(uid) else { continue };
            let elsewhere = !identity.namespace.is_empty() && identity.namespace != dependent.identity.namespace;
            let references = dependent.owners().iter().filter(|reference| reference.uid == *identity.uid);
            let claims = references.map(|reference| !elsewhere && identity.is_named_by(reference));
            let claims: BTreeSet<bool> = claims.collect();
            if claims.contains(&true) {
                matching.push(uid.clone());
            }
            if elsewhere || claims.contains(&false) {
                others.push(uid.clone());
            }
        }
        (matching, others)
    }

    /// Who else an absent owner may be, by what its dependents claim: the guesses take turns in their order.
    /// Mirrors `getAlternateOwnerIdentity`.
    fn next_guess(&self, dependents: &[Uid], absent: &Identity) -> Option<Identity> {
        let mut guesses = BTreeSet::new();
        for dependent in dependents.iter().filter_map(|uid| self.nodes.get(uid)) {
            for reference in dependent.owners().iter().filter(|reference| reference.uid == *absent.uid) {
                let mut guess = Identity::claimed(reference, &dependent.identity.namespace);
                // What is absent without a namespace is of a cluster-scoped kind, no matter which dependent names it.
                if absent.namespace.is_empty() && guess.kind == absent.kind && guess.api_version == absent.api_version {
                    guess.namespace.clear();
                }
                if guess != *absent {
                    guesses.insert(guess);
                }
            }
        }
        guesses.range(absent.clone()..).next().or_else(|| guesses.first()).cloned()
    }
}

fn wrong_namespace(dependent: &Node, owner: &str) -> Option<Effect> {
    let reference = dependent.owners().iter().find(|reference| reference.uid == owner)?;
    let owner = Identity::claimed(reference, &dependent.identity.namespace);
    Some(Effect::WrongNamespace { dependent: dependent.identity.clone(), owner })
}

/// Puts `uid` into the set or takes it out.
fn set(set: &mut BTreeSet<Uid>, uid: &Uid, member: bool) {
    if member {
        set.insert(uid.clone());
    } else {
        set.remove(uid);
    }
}

fn blocks(reference: &OwnerReference) -> bool {
    reference.block_owner_deletion == Some(true)
}
