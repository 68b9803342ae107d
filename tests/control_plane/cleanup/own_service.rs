//! The Service `kubernetes`: the API server looks after it every ten seconds.

use object::{Accessor, Kind, Object};
use wire::DeleteOptions;

use super::harness::World;

const PARTS: [Kind; 3] = [Kind::Service, Kind::Endpoints, Kind::EndpointSlice];

fn missing(world: &World) -> Vec<Kind> {
    PARTS.into_iter().filter(|kind| world.get(*kind, "default/kubernetes").is_none()).collect()
}

#[test]
fn what_is_deleted_of_the_service_kubernetes_comes_back_within_ten_seconds() {
    for part in PARTS {
        let mut world = World::new(0);
        world.run(12);
        let before = world.get(part, "default/kubernetes").unwrap();
        assert_eq!(world.delete(part, "default/kubernetes", DeleteOptions::default()).code, 200);
        world.run(1);
        assert!(missing(&world).contains(&part), "{part}: it is the next round that brings it back");
        world.wait_until(10, |world| missing(world).is_empty());
        assert_ne!(before.meta().uid, world.get(part, "default/kubernetes").unwrap().meta().uid);
        let Some(Object::Service(service)) = world.get(Kind::Service, "default/kubernetes") else { panic!("{part}") };
        assert_eq!(
            service.spec.as_ref().unwrap().cluster_ip.as_deref(),
            Some("10.96.0.1"),
            "{}",
            service.metadata.name()
        );
    }
}
