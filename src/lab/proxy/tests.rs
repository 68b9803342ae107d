use std::sync::Arc;

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::*;
use network::netfilter::Protocol;
use network::proxy::portal::{Location, portals};

#[test]
fn the_rule_passes_and_every_known_mistake_is_named() {
    crate::function::check::<Proxy>("proxy");
}

#[test]
fn the_rule_is_that_of_our_proxy() {
    for case in Proxy::questions() {
        let named = |slice: &EndpointSlice| (slice.metadata.name.clone().unwrap_or_default(), Arc::new(slice.clone()));
        let slices = case.slices.iter().map(named).collect();
        let here = Location { node: case.visit.node.clone(), ..Location::default() };
        let portals = portals(&case.service, &slices, &here);
        let asked = u16::try_from(case.visit.port).unwrap();
        let meant = portals.iter().find(|portal| {
            let port = if case.visit.from == From::Inside { Some(portal.port) } else { portal.node_port };
            port == Some(asked) && Protocol::parse(&case.visit.protocol) == Some(portal.name.protocol)
        });
        let ours: Vec<String> = meant.map_or(Vec::new(), |portal| {
            let choice = portal.choose(&here);
            let local = if case.visit.from == From::Inside { portal.internal_local } else { portal.external_local };
            let chosen = if local { choice.local } else { choice.cluster };
            chosen.iter().map(ToString::to_string).collect()
        });
        assert_eq!(ours, Proxy::right(&case), "{}", Proxy::show(&case));
    }
}
