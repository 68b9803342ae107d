//! Of two controller managers one works, and when it can renew its Lease no more, the other.

use std::time::Duration;

use cluster::scenario::Scenario;
use debugger::properties::named;
use debugger::{Goal, Session};
use kubestep_tests::seeds::seeds;
use object::Object;

fn session(seed: u64) -> Session {
    Session::of(Scenario { seed, ..Scenario::find("leader-change").expect("the scenario is shipped") })
}

/// Holder and transitions of a component's Lease.
fn lease(session: &Session, component: &str) -> (String, i32) {
    let key = format!("/registry/leases/kube-system/{component}");
    let Some(Object::Lease(lease)) = session.cluster.engine.server.api.store.get(&key).map(|entry| &entry.value) else {
        return (String::new(), -1);
    };
    let spec = lease.spec.clone().unwrap_or_default();
    (spec.holder_identity.unwrap_or_default(), spec.lease_transitions.unwrap_or_default())
}

/// The host of a holder.
fn host(holder: &str) -> &str {
    holder.split('_').next().unwrap_or_default()
}

fn pass(session: &mut Session, seconds: u64) {
    let end = session.cluster.engine.now() + Duration::from_secs(seconds);
    session.go(&mut Goal::Time(end), 0);
}

/// The same, and what in it breaks "at most one leader acts".
fn broken(session: &mut Session, seconds: u64) -> Vec<String> {
    let mut property = named("one-leader").expect("it is a property")();
    let end = session.cluster.engine.now() + Duration::from_secs(seconds);
    let mut broken = Vec::new();
    while session.cluster.engine.now() < end {
        session.go(&mut Goal::Time(end), 1);
        let Some(step) = session.current() else { continue };
        broken.extend(property.check(&session.cluster.engine, step).err());
    }
    broken
}

/// The scenario, step by step as it is told, with many seeds.
#[test]
fn the_standby_takes_over_when_the_leader_has_stopped() {
    for seed in 0..seeds(10) {
        let mut session = session(seed);
        let mut property = named("one-leader").expect("it is a property")();
        let (first, transitions) = lease(&session, "kube-controller-manager");
        assert!(!first.is_empty() && transitions == 0, "seed {seed}: one leads before the first step");
        let (mut ended, mut changed) = (None, None);
        while !session.cluster.is_quiet() {
            let before = session.history().len();
            session.goto(before as u64 + 1);
            let Some(step) = session.history().get(before) else { break };
            property.check(&session.cluster.engine, step).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let notes = format!("{:?}", step.notes);
            let time = step.time;
            if notes.contains("could not renew its lease") {
                ended = ended.or(Some(time));
            }
            if lease(&session, "kube-controller-manager").0 != first {
                changed = changed.or(Some(time));
            }
        }
        let (second, transitions) = lease(&session, "kube-controller-manager");
        assert!(host(&second) != host(&first) && transitions == 1, "seed {seed}: {first}, then {second}");
        let between = changed.expect("it changes") - ended.expect("the first one ends");
        // Twelve seconds after its last renewal the first one ends. The other may have seen that renewal up to 4.4 s late,
        // waits fifteen seconds from there, and looks again within 4.4 s.
        let range = Duration::from_secs(3)..Duration::from_secs(12);
        assert!(range.contains(&between), "seed {seed}: {between:?} between the end and the next beginning");
        let said = session.cluster.kubectl.printed_since(0);
        assert_eq!(said.matches("deployment \"web\" successfully rolled out").count(), 2, "seed {seed}: {said}");
    }
}

/// Renewals go on in the background, every two seconds, and no other replica comes to lead.
#[test]
fn a_leader_that_renews_stays() {
    let mut session = session(3);
    session.go(&mut Goal::Quiet, 0);
    let before = lease(&session, "kube-controller-manager");
    let steps = session.history().len();
    pass(&mut session, 3_600);
    assert_eq!(lease(&session, "kube-controller-manager").0, before.0);
    let renewals = |session: &Session| {
        let lines = session.history()[steps..].iter().map(|step| format!("{:?}", step.event.what));
        lines
            .filter(|what| what.starts_with("Request") && what.contains("Update") && what.contains("kind: Lease"))
            .count()
    };
    assert!(renewals(&session) >= 1_700, "{}", renewals(&session));
}

/// What the property is for, and what leader election cannot give: one who hangs for longer than the Lease lasts wakes up
/// as a leader, and has ten seconds to find out.
#[test]
fn one_who_hangs_and_wakes_up_acts_beside_the_next() {
    let broken_with = |faults: &[(&str, u64)]| {
        let deployment = Scenario::find("deployment").expect("the scenario is shipped");
        let mut session = Session::of(Scenario { managers: 2, ..deployment });
        let leads = host(&lease(&session, "kube-controller-manager").0).replace("control-plane-", "");
        pass(&mut session, 5);
        let mut seen = Vec::new();
        for (fault, seconds) in faults {
            session.act(&fault.replace("LEADER", &format!("kube-controller-manager/{leads}"))).expect("it can be done");
            seen.extend(broken(&mut session, *seconds));
        }
        (lease(&session, "kube-controller-manager").1, seen)
    };
    let hang = "hold LEADER";
    let scale = "type kubectl scale deployment/web --replicas=5";
    let (transitions, seen) = broken_with(&[(hang, 25), ("release", 1), (scale, 5)]);
    assert_eq!(transitions, 1);
    assert!(seen.first().is_some_and(|what| what.contains("writes")), "{seen:?}");
    // One that hangs for a moment, one that is cut off, one that crashes: none of them does.
    for faults in [
        &[(hang, 1), (scale, 5), ("release", 30)][..],
        &[("hold link LEADER kube-apiserver", 1), (scale, 40), ("release", 30)],
        &[("crash LEADER", 1), (scale, 60)],
        &[("stop LEADER", 1), (scale, 60), ("start LEADER", 60)],
        &[("leader-change", 1), (scale, 60)],
    ] {
        let (_, seen) = broken_with(faults);
        assert_eq!(seen, [""; 0], "{faults:?}");
    }
}

#[test]
fn schedulers_stand_for_election_too() {
    let scenario = Scenario { schedulers: 3, ..Scenario::find("pod").expect("the scenario is shipped") };
    let mut session = Session::of(scenario);
    let first = lease(&session, "kube-scheduler");
    assert!(first.0.starts_with("control-plane-") && first.1 == 0);
    session.act("leader-change kube-scheduler").expect("one leads");
    pass(&mut session, 40);
    let second = lease(&session, "kube-scheduler");
    assert!(second.1 == 1 && second.0 != first.0, "{first:?}, then {second:?}");
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let mut alone = Session::of(Scenario::find("pod").expect("the scenario is shipped"));
    for (typed, says) in [
        ("leader-change", "stands for no election"),
        ("leader-change kubelet/node-1", "has no leader"),
        ("leader-change a b", "write: leader-change [COMPONENT]"),
    ] {
        let error = alone.act(typed).expect_err(typed);
        assert!(error.contains(says), "{typed}: {error}");
    }
    let mut session = session(0);
    session.act("leader-change").expect("one leads");
    let error = session.act("leader-change").expect_err("it has begun");
    assert!(error.contains("already"), "{error}");
    pass(&mut session, 11);
    let mut none = session;
    none.act("stop kube-controller-manager/1").expect("it runs");
    none.act("stop kube-controller-manager/2").expect("it runs");
    let error = none.act("leader-change").expect_err("nobody runs");
    assert!(error.contains("no kube-controller-manager leads now"), "{error}");
}
