use super::*;
use crate::events::EventKind;
use crate::profile::{Entry, Profile};
use crate::testing::{info, node, pod};

fn queue() -> SchedulingQueue {
    SchedulingQueue::new(vec![Profile::default()].into())
}

fn at(millis: u64) -> Instant {
    Instant(millis * 1_000_000)
}

/// The number of a plugin in the default profile.
fn number(name: &str) -> usize {
    Profile::default().plugins.iter().position(|entry| entry.plugin.name() == name).expect("the profile has the plugin")
}

/// Pops the next pod and sends it back as rejected by `plugin`.
fn fail(queue: &mut SchedulingQueue, plugin: &str, now: Instant) -> Key {
    let mut pod = queue.pop(now).expect("a pod is there");
    let key = pod.info.key.clone();
    pod.rejected_by.insert(number(plugin));
    queue.requeue(pod, now, &Snapshot::default());
    key
}

fn names(queue: &mut SchedulingQueue, now: Instant) -> Vec<String> {
    std::iter::from_fn(|| queue.pop(now).map(|pod| pod.info.key.name().to_owned())).collect()
}

fn where_is(queue: &SchedulingQueue, name: &str) -> &'static str {
    queue.pending().find(|(key, _, _)| key.name() == name).map_or("nowhere", |(_, place, _)| place)
}

#[test]
fn higher_priority_first_then_earlier() {
    let mut queue = queue();
    for (name, priority, time) in [("a", 0, 1), ("b", 5, 3), ("c", 5, 2), ("d", 0, 1)] {
        queue.add(info(pod(name, &format!("{{priority: {priority}}}"))), at(time));
    }
    assert_eq!(names(&mut queue, at(4)), ["c", "b", "a", "d"]);
}

#[test]
fn a_rejected_pod_waits_for_a_change_that_helps() {
    let mut queue = queue();
    queue.add(info(pod("p", "{containers: [{name: a, resources: {requests: {cpu: 6}}}]}")), at(0));
    fail(&mut queue, "NodeResourcesFit", at(0));
    assert_eq!(where_is(&queue, "p"), "unschedulable");
    assert!(queue.pop(at(60_000)).is_none(), "no number of seconds alone brings it back");

    let small = ClusterEvent::node_added(&Arc::new(node("small", "")));
    let big = ClusterEvent::node_added(&Arc::new(node("big", "{status: {allocatable: {cpu: 8, pods: 110}}}")));
    let taint = ClusterEvent { kind: EventKind::NodeUpdateTaint, ..big.clone() };
    for (event, moved) in [(small, 0), (taint, 0), (big, 1)] {
        assert_eq!(queue.move_all(&event, at(200), &Snapshot::default()), moved, "{:?}", event.kind);
    }
    assert_eq!(where_is(&queue, "p"), "backoff");
    assert_eq!(names(&mut queue, at(200)), ["p"], "with nothing else to do it need not wait");
}

#[test]
fn room_given_up_is_news_to_those_of_no_higher_priority() {
    let mut queue = queue();
    for (name, priority) in [("low", 1), ("same", 5), ("high", 9)] {
        let spec = format!("{{priority: {priority}, containers: [{{name: a, resources: {{requests: {{cpu: 1}}}}}}]}}");
        queue.add(info(pod(name, &spec)), at(0));
    }
    (0..3).for_each(|_| drop(fail(&mut queue, "NodeResourcesFit", at(0))));
    let mut nominated = pod("nominated", "");
    nominated.status.get_or_insert_default().nominated_node_name = Some("n".into());
    let event = ClusterEvent::pod_deleted(&Arc::new(nominated));
    assert_eq!(queue.move_up_to(5, &event, at(200), &Snapshot::default()), 2);
    assert_eq!(where_is(&queue, "high"), "unschedulable");
}

#[test]
fn backoff_doubles_and_ends_on_a_whole_second() {
    let mut queue = queue();
    queue.add(info(pod("p", "")), at(0));
    let mut now = at(500);
    for expected in [1, 2, 4, 8, 10, 10] {
        fail(&mut queue, "NodeResourcesFit", now);
        queue.move_all(&ClusterEvent::wildcard(EventKind::ForceActivate), now, &Snapshot::default());
        let (flush, _) = queue.next_backoff_flush().expect("it backs off");
        assert_eq!(flush, whole_second(now + Duration::from_secs(expected + 1)), "{expected}");
        queue.flush_backoff(Instant(flush.0 - 1));
        assert_eq!(where_is(&queue, "p"), "backoff");
        queue.flush_backoff(flush);
        assert_eq!(where_is(&queue, "p"), "active");
        now = flush + Duration::from_millis(300);
    }
}

#[test]
fn an_attempt_that_broke_off_must_wait_it_out() {
    let mut queue = queue();
    queue.add(info(pod("p", "")), at(0));
    let broken = queue.pop(at(0)).expect("a pod is there");
    queue.requeue(broken, at(0), &Snapshot::default());
    assert_eq!(where_is(&queue, "p"), "backoff");
    assert!(queue.pop(at(100)).is_none());
    queue.flush_backoff(at(2_000));
    assert_eq!(names(&mut queue, at(2_000)), ["p"]);
}

#[test]
fn a_change_during_the_attempt_is_not_missed() {
    let mut queue = queue();
    queue.add(info(pod("p", "{containers: [{name: a, resources: {requests: {cpu: 1}}}]}")), at(0));
    let mut attempt = queue.pop(at(0)).expect("a pod is there");
    let gone = Arc::new(pod("other", "{nodeName: n}"));
    queue.move_all(&ClusterEvent::pod_deleted(&gone), at(1), &Snapshot::default());
    attempt.rejected_by.insert(number("NodeResourcesFit"));
    queue.requeue(attempt, at(2), &Snapshot::default());
    assert_eq!(where_is(&queue, "p"), "backoff");
    assert!(queue.changes.is_empty(), "nobody needs the change any more");
}

#[test]
fn gates_hold_a_pod_without_attempts_until_they_are_gone() {
    let mut queue = queue();
    let gated = Arc::new(pod("p", "{schedulingGates: [{name: g}]}"));
    queue.add(Arc::new(PodInfo::new(gated.clone())), at(0));
    assert_eq!((where_is(&queue, "p"), queue.has_next()), ("gated", false));
    assert_eq!(queue.next_unschedulable_flush(), None);
    queue.update(&gated, Arc::new(pod("p", "")), at(1), &Snapshot::default());
    assert_eq!(where_is(&queue, "p"), "active");
}

#[test]
fn a_pod_that_is_held_back_waits_for_its_gate_alone() {
    let mut queue = queue();
    let big = ClusterEvent::node_added(&Arc::new(node("big", "")));
    queue.add(info(pod("p", "{containers: [{name: a, resources: {requests: {cpu: 1}}}]}")), at(0));
    let mut attempt = queue.pop(at(0)).expect("a pod is there");
    attempt.rejected_by.insert(number("NodeResourcesFit"));
    queue.requeue(attempt.with_pod(Arc::new(pod("p", "{schedulingGates: [{name: g}]}"))), at(0), &Snapshot::default());
    assert_eq!(queue.move_all(&big, at(1), &Snapshot::default()), 1);
    assert_eq!(where_is(&queue, "p"), "gated");
    assert_eq!(queue.move_all(&big, at(2), &Snapshot::default()), 0, "nothing that the gate listens to");
}

#[test]
fn five_minutes_are_enough_waiting() {
    let mut queue = queue();
    queue.add(info(pod("p", "")), at(0));
    fail(&mut queue, "NodeResourcesFit", at(1_000));
    assert_eq!(queue.next_unschedulable_flush(), Some(at(330_000)));
    queue.flush_unschedulable(at(301_000));
    assert_eq!(where_is(&queue, "p"), "unschedulable");
    queue.flush_unschedulable(at(330_000));
    assert_eq!(where_is(&queue, "p"), "active", "its backoff is long over");
}

/// The same number is another plugin in another profile.
#[test]
fn hints_are_those_of_the_pods_own_profile() {
    let fits: Vec<Entry> =
        Profile::default().plugins.into_iter().filter(|entry| entry.plugin.name() == "NodeResourcesFit").collect();
    let fitting = Profile { scheduler_name: "fitting".to_owned(), plugins: fits, ..Profile::default() };
    let mut queue = SchedulingQueue::new(vec![Profile::default(), fitting].into());
    let snapshot = Snapshot::default();
    for (name, scheduler) in [("a", "default-scheduler"), ("b", "fitting"), ("c", "nobody")] {
        queue.add(info(pod(name, &format!("{{schedulerName: {scheduler}}}"))), at(0));
        if let Some(mut attempt) = queue.pop(at(0)) {
            attempt.rejected_by.insert(0);
            queue.requeue(attempt, at(0), &snapshot);
        }
    }
    let waits = |queue: &SchedulingQueue| -> Vec<String> {
        queue.pending().map(|(key, place, pod)| format!("{} {place} {}", key.name(), pod.profile)).collect()
    };
    assert_eq!(waits(&queue), ["a unschedulable 0", "b unschedulable 1"], "c is another scheduler's");
    let gone = ClusterEvent::pod_deleted(&Arc::new(pod("old", "{nodeName: n}")));
    assert_eq!(queue.move_all(&gone, at(20_000), &snapshot), 1);
    assert_eq!(waits(&queue), ["a unschedulable 0", "b active 1"]);
}
