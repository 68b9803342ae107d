//! Events go an hour after they were last written, and a component that reports the same again goes on counting.

use object::{Kind, Object};
use serde_json::json;

use super::harness::World;

/// Reasons and counts of the Events about a Pod, in the order of their names.
fn told(world: &World, pod: &str) -> Vec<(String, i32)> {
    let events = world.list(Kind::Event, "default").into_iter().filter_map(|object| match object {
        Object::Event(event) if event.involved_object.name.as_deref() == Some(pod) => Some(event),
        _ => None,
    });
    events
        .map(|event| (event.reason.as_deref().unwrap_or_default().to_owned(), event.count.unwrap_or_default()))
        .collect()
}

#[test]
fn an_event_goes_after_an_hour() {
    let mut world = World::new(1);
    world.create(Kind::Pod, "default/web", &[], json!({"containers": [{"name": "a", "image": "nginx:1.27"}]}));
    world.run(5);
    let at_first = told(&world, "web").len();
    assert_eq!(at_first, 5, "{:?}", told(&world, "web"));
    // The lease lasts for an hour and a minute; the start of the cluster has used a few seconds of that.
    world.run(3590);
    assert_eq!(told(&world, "web").len(), at_first);
    let revision = world.cluster.engine.server.api.store.revision();
    world.run(70);
    assert_eq!(told(&world, "web"), []);
    let gone: Vec<_> = world.cluster.engine.server.api.store.changes_after(revision).unwrap().collect();
    assert!(gone.iter().any(|change| change.key.starts_with("/registry/events/default/web.") && change.new.is_none()));
    assert!(world.get(Kind::Pod, "default/web").is_some(), "only Events go");
}

#[test]
fn what_is_told_again_stays_and_counts_on() {
    let mut world = World::new(1);
    let image = json!({"containers": [{"name": "a", "image": "nginx:no-such"}]});
    world.create(Kind::Pod, "default/web", &[], image);
    let back_off = |world: &World| told(world, "web").into_iter().find(|(reason, _)| reason == "BackOff");
    world.run(1800);
    let (_, early) = back_off(&world).expect("it is told");
    world.run(3 * 3600);
    let (_, late) = back_off(&world).expect("it is told again and again, and stays");
    assert!(late > early, "{early} {late}");
    assert!(!told(&world, "web").iter().any(|(reason, _)| reason == "Scheduled"), "told once, and forgotten");
}
