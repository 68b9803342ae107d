//! Freeing the dependents of an object that goes without them. Mirrors `attemptToOrphanWorker`.

use std::rc::Rc;

use client::{Error, join_all};
use object::well_known::ORPHAN;

use super::GarbageCollector;
use super::graph::Identity;

impl GarbageCollector {
    /// Takes the object's name off all dependents at once, and then lets the object go.
    pub(super) async fn attempt_to_orphan(&self, identity: &Identity) -> Result<(), Error> {
        let dependents: Vec<Rc<Identity>> = {
            let graph = self.graph.borrow();
            let dependents = graph.get(&identity.uid).into_iter().flat_map(|node| &node.dependents);
            dependents.filter_map(|uid| Some(graph.get(uid)?.identity.clone())).collect()
        };
        let owner = [identity.uid.clone()];
        let free = |dependent: &Rc<Identity>| {
            let (dependent, owner) = (dependent.clone(), &owner);
            async move {
                let Some(kind) = dependent.known_kind(&self.discovery.borrow()) else { return Ok(()) };
                self.remove_owners(kind, &dependent, owner).await
            }
        };
        let results = join_all(dependents.iter().map(free).collect()).await;
        let failed: Vec<String> = results.into_iter().filter_map(|r| r.err().map(|e| e.to_string())).collect();
        if !failed.is_empty() {
            let all = failed.join(", ");
            return Err(Error::Other(format!("failed to orphan dependents of owner {identity}, got errors: {all}")));
        }
        self.remove_finalizer(identity, ORPHAN).await
    }
}
