//! What an update of a StatefulSet takes away at once.

use cluster::scenario::Scenario;
use kubestep_tests::seeds::seeds;

use super::harness::SEEDS;

/// The gate MaxUnavailableStatefulSet is off: what asks for two at a time is not stored, neither when the set is made nor when
/// it is changed, and the update takes one Pod after another.
#[test]
fn a_stateful_set_updates_one_pod_at_a_time_whatever_it_asks() {
    let strategy = "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 2, partition: 0}}";
    let mut scenario = Scenario::find("statefulset").expect("the scenario is shipped");
    for text in scenario.files.values_mut() {
        *text = text.replace("  serviceName: db", &format!("  serviceName: db\n  updateStrategy: {strategy}"));
    }
    let ask = "kubectl patch sts db --type=merge -p '{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{\"maxUnavailable\":3}}}}'";
    let show = "kubectl get sts db -o jsonpath='strategy {.spec.updateStrategy}.'";
    let lines = [
        "kubectl apply -f db.yaml",
        "kubectl rollout status sts/db --timeout=90s",
        show,
        ask,
        show,
        "kubectl set image sts/db db=postgres:18",
        "kubectl rollout status sts/db --timeout=120s",
    ];
    scenario.timeline = lines.map(str::to_owned).to_vec();
    for seed in 0..seeds(SEEDS) {
        let mut cluster = bugs::cluster(&Scenario { seed, ..scenario.clone() });
        let (mut up, mut fewest) = (0, usize::MAX);
        while !cluster.is_quiet() {
            cluster.step().expect("a cluster at rest has timers");
            let pods = cluster.engine.server.api.store.prefix("/registry/pods/default/");
            let there = pods.filter(|(_, entry)| entry.value.meta().deletion_timestamp.is_none()).count();
            up = up.max(there);
            if up == 3 {
                fewest = fewest.min(there);
            }
        }
        let kept = "strategy {\"rollingUpdate\":{\"partition\":0},\"type\":\"RollingUpdate\"}.";
        let printed = cluster.kubectl.printed_since(0);
        assert_eq!(printed.matches(kept).count(), 2, "seed {seed}: {printed}");
        assert_eq!((up, fewest), (3, 2), "seed {seed}");
    }
}
