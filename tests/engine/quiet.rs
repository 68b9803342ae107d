//! Whether anything may come of a quiet cluster is told from what is pending. Where it is told that nothing may, nothing
//! does when the cluster is let run.

use std::time::Duration;

use cluster::scenario::{Nodes, Scenario};
use debugger::{Goal, Session};
use kubestep_tests::scenario;

const MINUTE: Duration = Duration::from_secs(60);

/// Looks at a session where it has come to rest; says whether it was told that nothing may come.
fn told_rightly(session: &mut Session, what: &str) -> bool {
    let told = session.cluster.is_quiet() && !session.cluster.may_stir(MINUTE);
    if told {
        let step = session.comes_within(MINUTE);
        assert_eq!(step, None, "{what}: something comes at step {step:?}, after {}", session.history().len());
    }
    told
}

#[test]
fn nothing_comes_where_nothing_may() {
    let mut told = 0;
    let scenarios: Vec<Scenario> = Scenario::shipped().into_iter().chain(Scenario::bugs()).collect();
    for scenario in &scenarios {
        let mut session = Session::of(scenario.clone());
        session.go(&mut Goal::Quiet, 50_000);
        told += usize::from(told_rightly(&mut session, &scenario.name));
        // What was broken or done by hand a minute ago counts no more.
        let later = session.cluster.engine.now() + Duration::from_secs(90);
        session.go(&mut Goal::Time(later), 50_000);
        told += usize::from(told_rightly(&mut session, &scenario.name));
    }
    assert!(told > scenarios.len(), "it is told in {told} places of {}", 2 * scenarios.len());
}

/// A schedule goes on for ever. Its next time keeps no component busy, but that something will come of it is known.
#[test]
fn a_schedule_does_not_keep_the_cluster_busy() {
    const TICK: &str = "title: tick\ntimeline:\n- kubectl create cronjob tick --image=nginx:1.27 --schedule='* * * * *' -- \
                        sh -c 'sleep 2'\n- sleep 130\n";
    let mut cluster = scenario::started(TICK);
    let start = cluster.engine.now();
    while !cluster.is_quiet() && cluster.engine.now() - start < 10 * MINUTE {
        cluster.step().expect("the schedule goes on");
    }
    assert!(cluster.engine.now() - start < 3 * MINUTE, "it came to rest only after {:?}", cluster.engine.now() - start);
    assert!(cluster.may_stir(MINUTE));
}

/// A container that crashes over and over is started again sooner than in a minute. A scenario with one in it ends where its
/// last line does.
#[test]
fn a_scenario_ends_with_its_last_line() {
    const CRASH: &str = "title: crash\ntimeline:\n- kubectl run bad --image=busybox:1.36 -- sh -c 'sleep 1; exit 1'\n\
                         - kubectl run worse --image=nowhere/none --image-pull-policy=Never\n- sleep 40\n";
    let mut cluster = scenario::started(CRASH);
    let start = cluster.engine.now();
    while !cluster.has_ended() {
        cluster.step().expect("it is tried again");
    }
    let took = (cluster.engine.now() - start).as_secs();
    assert!((40..=50).contains(&took) && !cluster.is_quiet(), "it took {took} s");
}

/// After something breaks, or is done to what the background looks after: it is not told too soon that nothing may come.
#[test]
fn what_is_broken_may_have_consequences() {
    for lines in [
        &["cut node-1"][..],
        &["cut node-1", "mend node-1"],
        &["stop kubelet/node-2"],
        &["node stop 3"],
        &["full node-1 disk"],
        &["skew node-1 -3600"],
        &["fail kubelet/node-1 update leases with 500 times 100"],
        &["node node-1 rm /etc/cni/net.d/10-kubestep.conflist"],
        &["type kubectl delete node node-2"],
        &["type kubectl label node node-2 kubernetes.io/os-"],
        &["type kubectl scale deployment web --replicas=4"],
        &["type kubectl run bad --image=nowhere/none"],
    ] {
        let mut session = Session::of(Scenario::find("deployment").expect("it is shipped"));
        session.go(&mut Goal::Quiet, 50_000);
        lines.iter().for_each(|line| drop(session.act(line).unwrap_or_else(|error| panic!("{line}: {error}"))));
        for _ in 0..12 {
            while !session.cluster.is_quiet() && session.cluster.step().is_some() {}
            told_rightly(&mut session, lines[0]);
            let later = session.cluster.engine.now() + Duration::from_secs(10);
            while session.cluster.step_due(later).is_some() {}
        }
    }
}

/// A process that has lost its watch will list again: until then the cluster is not quiet.
#[test]
fn a_lost_watch_is_waited_for() {
    let mut session = Session::of(Scenario::find("deployment").expect("it is shipped"));
    session.go(&mut Goal::Quiet, 50_000);
    let act = |session: &mut Session, line: &str| drop(session.act(line).unwrap_or_else(|e| panic!("{line}: {e}")));
    let late = |session: &Session| {
        let late = session.cluster.engine.server.api.store.get("/registry/pods/default/late");
        late.map(|entry| entry.value.to_json())
    };
    act(&mut session, "type kubectl run late --image=nginx:1.27");
    while late(&session).is_none() {
        session.cluster.step().expect("kubectl is at work");
    }
    act(&mut session, "disconnect kube-scheduler pods");
    while !session.cluster.is_quiet() {
        session.cluster.step().expect("it is not quiet");
    }
    let late = late(&session).expect("it was made");
    assert!(late["spec"]["nodeName"].is_string(), "the scheduler never heard of it: {late}");
}

/// A large cluster is told to be quiet without a minute of its heartbeats.
#[test]
fn heartbeats_alone_are_quiet() {
    let scenario = Scenario { nodes: Nodes::Count(400), ..Scenario::find("deployment").expect("it is shipped") };
    let mut session = Session::of(scenario);
    session.go(&mut Goal::Time(session.cluster.engine.now() + Duration::from_secs(5)), 0);
    assert!(session.cluster.is_quiet() && !session.cluster.may_stir(MINUTE));
}
