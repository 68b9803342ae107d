//! Several API servers before one etcd: who says what they have seen never sees less, and who does not say it may.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::scenario::Scenario;
use debugger::properties::named;
use debugger::{Goal, Session};
use engine::{ActorId, Pending, What};
use kubestep_tests::seeds::seeds;
use object::random::Random;
use object::{Key, Kind};

/// A Deployment with so many API servers; `old`: informers begin with a list as old as it may be.
fn deployment(seed: u64, api_servers: u16, old: bool) -> Session {
    let deployment = Scenario::find("deployment").expect("the scenario is shipped");
    let parts = old.then(|| "stale-lists".to_owned());
    Session::of(Scenario { seed, api_servers, parts, ..deployment })
}

fn pass(session: &mut Session, seconds: u64) {
    let end = session.cluster.engine.now() + Duration::from_secs(seconds);
    session.go(&mut Goal::Time(end), 0);
}

fn act(session: &mut Session, text: &str) {
    session.act(text).unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// What was printed since the beginning.
fn printed(session: &Session) -> String {
    session.cluster.kubectl.printed_since(0)
}

/// The newest revision that each cache of a process has heard of.
fn heard(session: &Session, process: &str) -> Vec<u64> {
    let informers = session.cluster.informers(process).unwrap_or_default();
    informers.iter().map(|informer| informer.cache().borrow().revision()).collect()
}

/// Which API server the last request of a process went to.
fn server_of(session: &Session, process: &str) -> String {
    let engine = &session.cluster.engine;
    let to = |event: &Pending| {
        let asks = matches!(event.what, What::Request { .. }) && engine.name(event.from) == process;
        asks.then(|| engine.name(event.to).to_owned())
    };
    session.history().iter().rev().find_map(|step| to(&step.event)).expect("it asks")
}

/// What may happen to caches and connections.
const TROUBLE: &[&str] = &[
    "crash kube-apiserver/1",
    "crash kube-apiserver/2",
    "hold kube-apiserver/1 pods",
    "hold kube-apiserver/2 pods",
    "hold kube-apiserver/2 replicasets",
    "hold link etcd kube-apiserver/1",
    "hold link etcd kube-apiserver/2",
    "release",
    "disconnect kubelet/node-1 pods",
    "disconnect kube-scheduler pods",
    "disconnect kube-controller-manager pods",
    "crash kubelet/node-1",
    "crash kube-scheduler",
    "compact",
];

/// Caches only go forward while their process lives, through whichever server it is told; and when all is mended they are
/// what the store is.
#[test]
fn who_says_what_they_have_seen_never_sees_less() {
    let (seeds, mut newer) = (seeds(10), 0);
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let mut session = deployment(seed, 2 + (seed % 2) as u16, seed % 4 < 2);
        let mut seen: BTreeMap<ActorId, Vec<u64>> = BTreeMap::new();
        for turn in 0..24 {
            let trouble = TROUBLE[random.below(TROUBLE.len() as u64) as usize];
            // Some cannot be, as to hold what is held.
            let _ = session.act(trouble);
            if turn % 6 == 5 {
                act(&mut session, &format!("type kubectl scale deployment/web --replicas={}", 1 + turn / 6));
            }
            for _ in 0..random.below(60) {
                session.goto(session.history().len() as u64 + 1);
                let Some(step) = session.current() else { break };
                let name = session.cluster.engine.name(step.event.to).to_owned();
                let Some(id) = session.cluster.engine.find(&name) else { continue };
                let now = heard(&session, &name);
                let before = seen.insert(id, now.clone()).unwrap_or_default();
                let back = before.iter().zip(&now).any(|(before, now)| now < before);
                assert!(!back, "seed {seed}, after {trouble}: {name} went from {before:?} to {now:?}");
                newer += before.iter().zip(&now).filter(|(before, now)| now > before).count();
            }
        }
        act(&mut session, "release");
        pass(&mut session, 30);
        session.go(&mut Goal::Quiet, 100_000);
        let store = pods_in_store(&session);
        for process in ["kube-scheduler", "kube-controller-manager"] {
            assert_eq!(pods_known(&session, process), store, "seed {seed}: {process}");
        }
    }
    assert!(newer as u64 > 20 * seeds, "caches went forward only {newer} times");
}

fn pods_in_store(session: &Session) -> BTreeMap<Key, u64> {
    let entries = session.cluster.engine.server.api.store.prefix("/registry/pods/");
    entries.map(|(_, entry)| (Key::of(&entry.value), entry.mod_revision)).collect()
}

fn pods_known(session: &Session, process: &str) -> BTreeMap<Key, u64> {
    let informers = session.cluster.informers(process).expect("it has informers");
    let informer = informers.iter().find(|informer| informer.kind() == Kind::Pod).expect("it watches Pods");
    let cache = informer.cache().borrow();
    cache.objects().iter().map(|(key, object)| (key.clone(), object.revision())).collect()
}

/// A kubelet that starts anew at a server that lags: with a list as old as it may be it sees the past, with WatchList it
/// waits until the server has caught up.
#[test]
fn who_starts_anew_may_see_the_past() {
    for seed in 0..seeds(10).min(5) {
        for old in [true, false] {
            let mut session = deployment(seed, 2, old);
            session.go(&mut Goal::Quiet, 100_000);
            act(&mut session, "crash kube-apiserver/2");
            pass(&mut session, 3);
            act(&mut session, "hold link etcd kube-apiserver/2");
            act(&mut session, "type kubectl scale deployment/web --replicas=9");
            pass(&mut session, 20);
            let knew = heard(&session, "kubelet/node-1");
            act(&mut session, "crash kubelet/node-1");
            pass(&mut session, 10);
            assert_eq!(server_of(&session, "kubelet/node-1"), "kube-apiserver/2", "seed {seed}");
            let knows = heard(&session, "kubelet/node-1");
            let what = format!("seed {seed}, old {old}: {knew:?}, then {knows:?}");
            match old {
                true => assert!(knew.iter().zip(&knows).any(|(before, now)| 0 < *now && now < before), "{what}"),
                false => assert!(knows.iter().zip(&knew).all(|(now, before)| *now == 0 || now >= before), "{what}"),
            }
            act(&mut session, "release");
            pass(&mut session, 10);
            let knows = heard(&session, "kubelet/node-1");
            assert_eq!(knew.len(), knows.len(), "{what}, in the end {knows:?}");
            assert!(knew.iter().zip(&knows).all(|(before, now)| now >= before), "{what}, in the end {knows:?}");
        }
    }
}

/// A list that does not say how old it may be is of the newest state, however old the cache: it waits for it, and after three
/// seconds etcd is asked.
#[test]
fn a_list_without_a_revision_is_of_the_newest_state() {
    let mut session = deployment(0, 2, false);
    session.go(&mut Goal::Quiet, 100_000);
    assert_eq!(server_of(&session, "user/kubectl"), "kube-apiserver/1");
    act(&mut session, "hold kube-apiserver/1 pods");
    act(&mut session, "type kubectl create -f web.yaml --dry-run=client");
    act(&mut session, "type kubectl run late --image=nginx:1.27");
    pass(&mut session, 1);
    let before = session.cluster.engine.now();
    act(&mut session, "type kubectl get pods");
    pass(&mut session, 2);
    assert!(!printed(&session).contains("late   "), "{}", printed(&session));
    pass(&mut session, 2);
    assert!(printed(&session).contains("late "), "{}", printed(&session));
    let stages = format!("{:?}", session.history().iter().filter(|step| step.time > before).collect::<Vec<_>>());
    assert!(stages.contains("the request waits until it has come to"), "it waits");
    assert!(stages.contains("three seconds are over"), "in vain");
    // Where the cache catches up in time, it answers.
    act(&mut session, "type kubectl get pods late -o name");
    act(&mut session, "type kubectl get pods -o name");
    pass(&mut session, 1);
    act(&mut session, "release");
    pass(&mut session, 1);
    assert_eq!(printed(&session).matches("pod/late").count(), 3, "created, got, listed: {}", printed(&session));
}

/// With all of them down no server answers; with one left every client turns to that one, and stays.
#[test]
fn clients_turn_to_a_server_that_runs() {
    let mut session = deployment(0, 2, false);
    act(&mut session, "stop kube-apiserver/2");
    session.go(&mut Goal::Quiet, 100_000);
    pass(&mut session, 5);
    let asks = |event: &Pending| matches!(event.what, What::Request { .. });
    let servers = |session: &Session, from: usize| -> Vec<String> {
        let engine = &session.cluster.engine;
        let mut to: Vec<String> = session.history()[from..]
            .iter()
            .filter(|step| asks(&step.event))
            .map(|step| engine.name(step.event.to).to_owned())
            .collect();
        to.sort_unstable();
        to.dedup();
        to
    };
    let here = session.history().len();
    act(&mut session, "start kube-apiserver/2");
    act(&mut session, "type kubectl scale deployment/web --replicas=4");
    pass(&mut session, 20);
    assert_eq!(servers(&session, here), ["kube-apiserver/1"]);
    assert_eq!(pods_in_store(&session).len(), 4, "{}", printed(&session));
    act(&mut session, "stop kube-apiserver/1");
    act(&mut session, "stop kube-apiserver/2");
    pass(&mut session, 10);
    act(&mut session, "start kube-apiserver/2");
    let here = session.history().len();
    pass(&mut session, 10);
    act(&mut session, "type kubectl scale deployment/web --replicas=2");
    pass(&mut session, 20);
    assert_eq!(servers(&session, here), ["kube-apiserver/2"]);
    assert_eq!(pods_in_store(&session).len(), 2, "{}", printed(&session));
}

/// The walk: two nodes run one Pod, unless informers begin with the newest state.
#[test]
fn the_past_comes_alive_on_the_first_node() {
    for seed in 0..seeds(10).min(5) {
        let walk = Scenario::find("api-servers").expect("the scenario is shipped");
        let mended = walk.mended().expect("it shows a bug");
        for (scenario, breaks) in [(walk, true), (mended, false)] {
            let mut session = Session::of(Scenario { seed, ..scenario });
            let mut property = named("one-at-a-time").expect("it is a property")();
            let mut broken = Vec::new();
            while !session.cluster.is_quiet() {
                session.goto(session.history().len() as u64 + 1);
                let Some(step) = session.current() else { break };
                broken.extend(property.check(&session.cluster.engine, step).err());
            }
            assert_eq!(!broken.is_empty(), breaks, "seed {seed}: {broken:?}");
            assert_eq!(session.cluster.failures.get(), 0, "seed {seed}: {}", printed(&session));
            assert_eq!(pods_in_store(&session).len(), 1);
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let mut session = deployment(0, 2, false);
    for (typed, says) in [
        ("stop kube-apiserver", "what can is kube-apiserver/1, kube-apiserver/2, kube-controller-manager"),
        ("start kube-apiserver/2", "kube-apiserver/2 runs already"),
        ("crash kube-apiserver/3", "cannot be stopped or started"),
        ("crash etcd", "cannot be stopped or started"),
        ("hold etcd pods", "etcd watches no pods"),
    ] {
        let error = session.act(typed).expect_err(typed);
        assert!(error.contains(says), "{typed}: {error}");
    }
    let told = |session: &Session| {
        let engine = &session.cluster.engine;
        let tells =
            |event: &&Pending| engine.name(event.from) == "etcd" && matches!(event.what, What::Notification { .. });
        engine.pending().find(tells).map(|event| event.id)
    };
    while told(&session).is_none() {
        session.goto(session.history().len() as u64 + 1);
    }
    let told = told(&session).expect("etcd has just been written");
    let error = session.act(&format!("drop {told}")).expect_err("it cannot get lost");
    assert!(error.contains("lose nothing in between"), "{error}");
    let mut alone = deployment(0, 0, false);
    for typed in ["crash kube-apiserver/1", "hold link etcd kube-apiserver"] {
        alone.act(typed).expect_err(typed);
    }
    act(&mut alone, "crash kube-apiserver");
}
