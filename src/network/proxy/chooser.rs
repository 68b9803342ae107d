//! Somebody else who chooses among the endpoints of Services, in place of [`Portal::choose`].

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::Proxier;
use super::portal::{Backend, Choice, Location, Portal};

/// Which endpoints somebody else has chosen, in the order of their text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Under the policy Cluster.
    pub cluster: Vec<Backend>,
    /// Under the policy Local.
    pub local: Vec<Backend>,
    /// Whether there is one anywhere.
    pub any: bool,
}

/// Chooses in place of [`Portal::choose`]. None: it is for the proxy to say.
///
/// # Errors
/// Why there is no answer: then the proxy has crashed.
pub type Chooser = dyn Fn(&Service, &[Arc<EndpointSlice>], &Portal, &Location) -> Result<Option<Chosen>, String>;

impl Chosen {
    /// The same, as the rules are written from it.
    pub(super) fn choice(&self) -> Choice<'_> {
        let mut reachable: Vec<&Backend> = self.cluster.iter().chain(&self.local).collect();
        reachable.sort_by_key(ToString::to_string);
        reachable.dedup_by_key(|backend| backend.to_string());
        Choice { cluster: self.cluster.iter().collect(), local: self.local.iter().collect(), reachable, any: self.any }
    }
}

impl Proxier {
    /// Asks somebody else about the Services that have changed.
    pub(super) fn ask(&mut self, chooser: &Chooser) -> Result<(), String> {
        for key in self.changed.clone() {
            let mut chosen = BTreeMap::new();
            if let Some(service) = self.services.get(&key) {
                let slices: Vec<_> = self.slices.get(&key).into_iter().flat_map(BTreeMap::values).cloned().collect();
                for portal in self.portals_of(&key) {
                    let said = chooser(service, &slices, &portal, &self.here)?;
                    chosen.extend(said.map(|said| (portal.name, said)));
                }
            }
            if chosen.is_empty() {
                self.chosen.remove(&key)
            } else {
                self.chosen.insert(key, chosen)
            };
        }
        Ok(())
    }
}
