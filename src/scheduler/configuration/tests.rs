use super::*;
use crate::plugins::testing::filter_reasons;
use crate::testing::{node, pod, snapshot};

fn read(yaml: &str) -> Result<ProfileList, String> {
    serde_yaml::from_str(yaml).map_err(|error: serde_yaml::Error| error.to_string())
}

/// The plugins of the only profile at a point, with their weights.
fn at(yaml: &str, point: Point) -> String {
    let profile = read(yaml).expect("it makes sense").profiles().remove(0);
    let plugins: Vec<String> =
        profile.at(point).map(|(_, entry)| format!("{}={}", entry.plugin.name(), entry.weight)).collect();
    plugins.join(" ")
}

#[test]
fn plugins_are_switched_by_point_and_everywhere() {
    let score = "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 PodTopologySpread=2 InterPodAffinity=2 \
                 NodeResourcesBalancedAllocation=1 ImageLocality=1";
    let cases = [
        ("[{}]", Point::Score, score),
        ("[{}]", Point::PreEnqueue, "SchedulingGates=0 DefaultPreemption=0"),
        (
            "[{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality}]}}}]",
            Point::Score,
            "ImageLocality=1",
        ),
        (
            "[{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity, weight: 7}]}}}]",
            Point::Score,
            "NodeAffinity=7",
        ),
        (
            "[{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 9}]}}}]",
            Point::Score,
            "NodeResourcesFit=9",
        ),
        (
            "[{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}]}}}]",
            Point::Filter,
            "NodeResourcesFit=1",
        ),
        (
            "[{plugins: {multiPoint: {disabled: [{name: '*'}]}, filter: {enabled: [{name: NodeName}]}}}]",
            Point::Filter,
            "NodeName=0",
        ),
        ("[{plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}}}]", Point::PostFilter, ""),
        (
            "[{plugins: {multiPoint: {enabled: [{name: NodeAffinity}]}, filter: {disabled: [{name: '*'}]}}}]",
            Point::Filter,
            "",
        ),
    ];
    for (yaml, point, plugins) in cases {
        assert_eq!(at(yaml, point), plugins, "{yaml}");
    }
}

#[test]
fn names() {
    let name = |yaml: &str| -> Vec<String> {
        let profiles = read(yaml).expect("it makes sense").profiles();
        profiles.into_iter().map(|profile| profile.scheduler_name).collect()
    };
    assert_eq!(name("[]"), ["default-scheduler"]);
    assert_eq!(name("[{percentageOfNodesToScore: 5}]"), ["default-scheduler"]);
    assert_eq!(name("[{schedulerName: a}, {schedulerName: b}]"), ["a", "b"]);
}

#[test]
fn arguments_that_are_missing_have_their_defaults() {
    for yaml in [
        "[{pluginConfig: [{name: NodeResourcesFit, args: {}}]}]",
        "[{pluginConfig: [{name: InterPodAffinity, args: {}}]}]",
        "[{pluginConfig: [{name: NodeAffinity, args: {}}]}]",
        "[{pluginConfig: [{name: PodTopologySpread, args: {}}]}]",
        "[{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List}}]}]",
        "[{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 0}]}}}]}]",
        "[{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}}]}]",
    ] {
        assert_eq!(read(yaml).map(|profiles| profiles.profiles().len()), Ok(1), "{yaml}");
    }
}

#[test]
fn an_added_affinity_holds_for_every_pod() {
    let required = "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: Exists}]}]}}";
    let yaml = format!("[{{pluginConfig: [{{name: NodeAffinity, args: {{addedAffinity: {required}}}}}]}}]");
    let profiles = read(&yaml).expect("it makes sense").profiles();
    let affinity = profiles[0].plugins.iter().find(|entry| entry.plugin.name() == "NodeAffinity").expect("it is on");
    let snapshot = snapshot(vec![node("n", "")], vec![]);
    let reason = filter_reasons(&*affinity.plugin, pod("p", ""), &snapshot, "n");
    assert_eq!(reason, "node(s) didn't match scheduler-enforced node affinity");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cases = [
        ("[{schedulerName: a}, {}]", "profiles[1].schedulerName: Required value"),
        ("[{schedulerName: a}, {schedulerName: a}]", "profiles[1].schedulerName: Duplicate value: \"a\""),
        (
            "[{percentageOfNodesToScore: 101}]",
            "profiles[0].percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        ),
        (
            "[{schedulerName: a, plugins: {score: {enabled: [{name: Fit}]}}}]",
            "creating profile for scheduler name a: ScorePlugin \"Fit\" does not exist; there are SchedulingGates, ",
        ),
        (
            "[{plugins: {multiPoint: {enabled: [{name: Fit}]}}}]",
            "creating profile for scheduler name default-scheduler: plugin \"Fit\" does not exist; there are ",
        ),
        ("[{plugins: {filter: {disabled: [{name: Fit}]}}}]", "disabled FilterPlugin \"Fit\" does not exist"),
        (
            "[{plugins: {score: {enabled: [{name: NodeName}]}}}]",
            "plugin \"NodeName\" does not extend ScorePlugin plugin",
        ),
        (
            "[{plugins: {score: {enabled: [{name: NodeAffinity}, {name: NodeAffinity}]}}}]",
            "plugin \"NodeAffinity\" already registered as \"ScorePlugin\"",
        ),
        ("[{plugins: {permit: {}}}]", "unknown field `permit`, expected one of `preEnqueue`, `filter`"),
        (
            "[{pluginConfig: [{name: NodePorts, args: {}}]}]",
            "unknown variant `NodePorts`, expected one of `NodeResourcesFit`",
        ),
        (
            "[{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Most}}}]}]",
            "profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: \"Most\": \
             supported values: \"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\"",
        ),
        (
            "[{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}}}]}]",
            "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
        ),
        (
            "[{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 5}}, {name: InterPodAffinity, args: {hardPodAffinityWeight: 5}}]}]",
            "profiles[0].pluginConfig[1]: Duplicate value: \"InterPodAffinity\"",
        ),
        (
            "[{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]",
            "args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
        ),
        (
            "[{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio}}}]}]",
            "requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio",
        ),
        (
            "[{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 5}, {utilization: 5}]}}}}]}]",
            "requestedToCapacityRatio.shape[1].utilization: Invalid value: 5: values must be sorted in increasing order",
        ),
        (
            "[{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{score: 11}]}}}}]}]",
            "requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in valid range [0, 10]",
        ),
        (
            "[{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: Own}}]}]",
            "args.defaultingType: Unsupported value: \"Own\": supported values: \"List\", \"System\"",
        ),
        (
            "[{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}}]}]",
            "args.defaultingType: Invalid value: \"System\": when .defaultConstraints are not empty",
        ),
        (
            "[{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}}]}]",
            "args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
        ),
        (
            "[{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: Perhaps}]}}]}]",
            "whenUnsatisfiable: Unsupported value: \"Perhaps\": supported values: \"DoNotSchedule\", \"ScheduleAnyway\"",
        ),
        (
            "[{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]}}]}]",
            "labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod",
        ),
        (
            "[{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}}]}]",
            "args.defaultConstraints[1]: Duplicate value: \"{a, DoNotSchedule}\"",
        ),
    ];
    for (yaml, why) in cases {
        let error = read(yaml).expect_err(yaml);
        assert!(error.contains(why), "{yaml}: {error}");
    }
}
