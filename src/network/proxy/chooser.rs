//! A function that chooses among the endpoints of Services, in place of [`Portal::choose`].

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::portal::{Chosen, Location, Portal};
use super::proxier::Proxier;

/// Chooses in place of [`Portal::choose`]. None: the proxy chooses itself.
///
/// # Errors
/// Why there is no answer: then the proxy has crashed.
pub type Chooser = dyn Fn(&Service, &[Arc<EndpointSlice>], &Portal, &Location) -> Result<Option<Chosen>, String>;

impl Proxier {
    /// Asks the chooser about the Services that have changed.
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
