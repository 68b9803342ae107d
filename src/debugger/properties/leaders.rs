//! What leader election is for.

use apiserver::host::Engine;
use client::leader;
use cluster::control_plane::host_of;
use engine::{Step, What};
use object::{Kind, Object};

use super::Property;

/// Of several processes of a component only the one that holds the Lease writes.
///
/// Broken by a leader that hangs for longer than the Lease lasts and then goes on: it has ten seconds to find out. A clock
/// that is wrong by any amount does not break it, since clocks are never compared; one that runs slow would.
#[derive(Clone)]
pub struct OneLeader;

impl Property for OneLeader {
    fn name(&self) -> &'static str {
        "at most one leader acts"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        let What::Request { request, .. } = &step.event.what else { return Ok(()) };
        if !request.verb.writes() || matches!(request.kind, Kind::Lease | Kind::Event) {
            return Ok(());
        }
        let process = engine.name(step.event.from);
        let component = process.split('/').next().unwrap_or(process);
        let key = format!("/registry/leases/{}/{component}", leader::NAMESPACE);
        let Some(Object::Lease(lease)) = engine.server.api.store.get(&key).map(|entry| &entry.value) else {
            return Ok(());
        };
        let holder = leader::holder(lease);
        if holder.split('_').next() == Some(&host_of(process)) {
            return Ok(());
        }
        Err(format!("{process} writes ({}), and {holder} leads", request.line()))
    }
}
