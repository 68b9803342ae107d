//! The collector with a rule that decides in its place: it looks objects up as always, and asks the rule what to do.

use std::rc::Rc;

use client::Error;
use object::Object;
use object::well_known::FOREGROUND;
use wire::Propagation;

use super::GarbageCollector;
use super::attempt_to_delete::Lookup;
use super::graph::{Identity, Uid, owners_of};
use super::requests::claimed_owner;

/// What is to be done about an object.
#[derive(Clone, Debug)]
pub enum Decision {
    /// Nothing.
    Leave,
    /// These owners' references are taken off.
    Disown(Vec<Uid>),
    /// It is deleted.
    Delete(Propagation),
    /// Nothing holds up its foreground deletion.
    LetGo,
}

/// Decides about an object, given its owners that exist and its dependents. None: the collector decides
/// by itself.
pub type Rule = dyn Fn(&Object, &[Object], &[Object]) -> Option<Decision>;

impl GarbageCollector {
    /// What the other rule says, if there is one. The API server is asked about the owners as it always is.
    pub(super) async fn decided_elsewhere(
        &self,
        identity: &Rc<Identity>,
        live: &Object,
        deleting_dependents: bool,
    ) -> Result<Option<Decision>, Error> {
        let Some(rule) = &self.rule else { return Ok(None) };
        let owners = if deleting_dependents { Vec::new() } else { self.owners_there(identity, live).await? };
        let mut seen = live.clone();
        if !deleting_dependents {
            // The collector has not heard of it, and does not look for it.
            seen.meta_mut().deletion_timestamp = None;
        }
        Ok(rule(&seen, &owners, &self.dependents(identity)))
    }

    /// Does what was decided.
    pub(super) async fn carry_through(
        &self,
        identity: &Rc<Identity>,
        live: &Object,
        decision: Decision,
        deleting_dependents: bool,
    ) -> Result<(), Error> {
        match decision {
            Decision::Leave if deleting_dependents => {
                self.hurry_dependents(identity);
                Ok(())
            }
            Decision::Leave => Ok(()),
            Decision::LetGo => self.remove_finalizer(identity, FOREGROUND).await,
            Decision::Disown(owners) => Ok(self.remove_owners(live.kind(), identity, &owners).await?),
            Decision::Delete(how) => {
                if matches!(how, Propagation::Foreground) {
                    self.break_circle(identity, live).await?;
                }
                Ok(self.delete(identity, live, how).await?)
            }
        }
    }

    /// The owners that the object names and that are there. With one that can never be, no other is looked for.
    async fn owners_there(&self, identity: &Identity, live: &Object) -> Result<Vec<Object>, Error> {
        let mut there = Vec::new();
        for reference in owners_of(live.meta()) {
            let owner = claimed_owner(&self.discovery.borrow(), reference, identity);
            match self.look_up(&owner).await? {
                Lookup::There(owner) => there.push(owner),
                Lookup::Absent => {}
                Lookup::Impossible => break,
            }
        }
        Ok(there)
    }

    /// What names the object as an owner.
    fn dependents(&self, identity: &Identity) -> Vec<Object> {
        let graph = self.graph.borrow();
        let of = |uid: &Uid| graph.get(uid)?.object().cloned();
        graph.get(&identity.uid).map_or(Vec::new(), |node| node.dependents.iter().filter_map(of).collect())
    }
}
