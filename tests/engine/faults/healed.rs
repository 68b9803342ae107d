//! What a cluster comes through by itself, or with a restart at the latest.

use debugger::{Goal, Session};
use engine::What;
use kubestep_tests::seeds::seeds;
use kubestep_tests::threads;
use object::random::Random;

use super::harness::{SEEDS, STEPS, available, can_get_lost, give_up_nodes, inflict, session, settle};

/// Faults that a cluster comes through by itself.
const HEALED: &[&[&str]] = &[
    &["crash kube-controller-manager"],
    &["crash kube-scheduler"],
    &["crash kubelet/node-1"],
    &["crash kubelet/node-2"],
    &["crash kube-apiserver"],
    &["stop kube-apiserver", "start kube-apiserver"],
    &["stop kube-controller-manager", "start kube-controller-manager"],
    &["stop kube-scheduler", "start kube-scheduler"],
    &["compact"],
    &["hold kube-controller-manager deployments", "compact", "release"],
    &["fail * with 409"],
    &["fail * with 429 times 3"],
    &["fail * with 500"],
    &["fail * with 503 times 2"],
    &["fail * with lost"],
    &["fail * with lost-after"],
    &["fail replicaset-controller create pods with lost-after"],
    &["fail kube-scheduler create pods with lost-after"],
    &["cut node-1", "mend node-1"],
    &["hold kube-scheduler pods", "release"],
    &["hold kube-controller-manager", "release kube-controller-manager"],
    &["hold link kubelet/node-2 kube-apiserver", "release"],
    &["seed 7"],
    &["slow nginx 20"],
    &["node stop 1"],
    &["node stop 2", "node start 2"],
    &["node shutdown 1"],
    &["full node-1 disk"],
    &["full node-1 memory"],
    &["full node-1 disk", "relieve node-1"],
    &["full node-2 pids", "relieve node-2"],
    &["skew node-2 3600"],
    &["disconnect kube-scheduler nodes"],
    &["disconnect kube-controller-manager pods"],
    &["disconnect kubelet/* pods"],
    &["skew node-1 -3600", "skew node-1 0"],
];

#[test]
fn the_cluster_comes_through() {
    threads::share(HEALED, |fault| comes_through(fault));
}

fn comes_through(fault: &[&str]) {
    for seed in 1..=seeds(SEEDS) {
        let mut session = session(seed);
        let typed = inflict(&mut session, fault, seed);
        settle(&mut session);
        if fault == ["node stop 1"] {
            give_up_nodes(&mut session);
        }
        assert_eq!(available(&session), 2, "{typed:?}");
        assert!(session.crashes().is_empty(), "{typed:?}: {:?}", session.crashes());
        if seed == 1 {
            assert_eq!(broken(&mut session), [""; 0], "{typed:?}");
        }
    }
}

/// What must hold in every run and does not, over all steps of a session.
fn broken(session: &mut Session) -> Vec<String> {
    let compared = session.compare([None, None]).expect("a session can be laid beside itself");
    compared.ends[0].broken.clone()
}

/// A container whose process ends is started anew by its kubelet, which counts that.
#[test]
fn containers_that_are_killed_start_anew() {
    for (seed, how) in (1..=seeds(SEEDS)).flat_map(|seed| [(seed, "kill"), (seed, "oom")]) {
        let mut session = session(seed);
        session.go(&mut Goal::Quiet, 100_000);
        let store = &session.cluster.engine.server.api.store;
        let key = store.prefix("/registry/pods/default/").next().map(|(key, _)| key.to_owned());
        let key = key.expect("the Deployment has Pods");
        session.act(&format!("{how} {}", key.trim_start_matches("/registry/pods/"))).expect("it runs");
        settle(&mut session);
        let pod = session.cluster.engine.server.api.store.get(&key).expect("it stays").value.to_json();
        let container = &pod["status"]["containerStatuses"][0];
        assert_eq!(
            (available(&session), &container["restartCount"]),
            (2, &1.into()),
            "{how}, seed {seed}: {container}"
        );
        let reason = if how == "oom" { "OOMKilled" } else { "Error" };
        assert_eq!(container["lastState"]["terminated"]["reason"], reason, "{container}");
    }
}

/// Any one message that can get lost is lost. The client that waits for it sees an error and tries again; an informer cannot know
/// what its watch did not say. That state has a name: a stale cache. A restart heals it.
#[test]
fn one_lost_message_is_healed_by_a_restart_at_the_latest() {
    let mut stale = 0;
    for seed in 1..=seeds(SEEDS).max(8) {
        let mut session = session(seed);
        let mut random = Random::new(seed ^ 0xd0);
        session.goto(10 + random.below(STEPS));
        let lossy: Vec<_> = session.cluster.engine.pending().filter(|event| can_get_lost(&event.what)).collect();
        if lossy.is_empty() {
            continue;
        }
        let event = lossy[random.below(lossy.len() as u64) as usize];
        let (id, notification) = (event.id, matches!(event.what, What::Notification { .. }));
        session.act(&format!("drop {id}")).expect("it can get lost");
        settle(&mut session);
        if available(&session) != 2 {
            assert!(notification, "seed {seed}: {id} was a call, which is tried again");
            stale += 1;
            let components = ["kube-controller-manager", "kube-scheduler"].map(str::to_owned).into_iter();
            let kubelets = (1..=3).map(|n| format!("kubelet/node-{n}"));
            for component in components.chain(kubelets) {
                session.act(&format!("crash {component}")).expect("it runs");
            }
            settle(&mut session);
        }
        assert_eq!(available(&session), 2, "seed {seed}, {id}");
    }
    println!("{stale} caches stayed stale until a restart");
}
