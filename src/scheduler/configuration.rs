//! How profiles are written down: the list `profiles` of a `KubeSchedulerConfiguration`.
//!
//! A profile begins with the plugins of the default one. `multiPoint` switches a plugin off or on wherever it has
//! something to say; a list of one extension point does so there only, and comes first. What is enabled anew without a
//! weight weighs 1. Mirrors `apis/config/v1/default_plugins.go`, `apis/config/validation` and the checks of
//! `framework/runtime/framework.go`, whose words the errors have.
//!
//! Left out: an order of one's own, plugins are asked in the order of the default profile; the extension points beside
//! these, `preFilter` and `preScore` going with `filter` and `score`; the arguments of other plugins; a look at the terms
//! of an `addedAffinity`: one that makes no sense holds for no node.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::framework::{MAX_NODE_SCORE, Point};
use super::plugins::default_plugins;
use super::plugins::inter_pod_affinity::InterPodAffinity;
use super::plugins::node_affinity::NodeAffinity;
use super::plugins::node_resources_fit::{NodeResourcesFit, ResourceWeight, ShapePoint, Strategy};
use super::profile::{DEFAULT_SCHEDULER_NAME, Entry, Profile};

mod spread;

const LEAST_ALLOCATED: &str = "LeastAllocated";
const MOST_ALLOCATED: &str = "MostAllocated";
const REQUESTED_TO_CAPACITY_RATIO: &str = "RequestedToCapacityRatio";
const STRATEGIES: [&str; 3] = [LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO];

/// What a point of a curve can score at most. `MaxCustomPriorityScore`.
const MAX_CUSTOM_PRIORITY_SCORE: i64 = 10;

/// The profiles of a scheduler. They make sense: what does not is refused when it is read.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Vec<KubeSchedulerProfile>")]
pub struct ProfileList(Vec<KubeSchedulerProfile>);

/// One of them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KubeSchedulerProfile {
    /// The `spec.schedulerName` of its pods.
    #[serde(default)]
    scheduler_name: String,
    #[serde(default)]
    percentage_of_nodes_to_score: i64,
    #[serde(default)]
    plugins: Plugins,
    #[serde(default)]
    plugin_config: Vec<PluginConfig>,
}

/// What is switched off and on, point by point.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Plugins {
    pre_enqueue: Switches,
    filter: Switches,
    post_filter: Switches,
    score: Switches,
    multi_point: Switches,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
struct Switches {
    enabled: Vec<Enabled>,
    disabled: Vec<Disabled>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Enabled {
    name: String,
    #[serde(default)]
    weight: u32,
}

/// A plugin, or `*` for all.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Disabled {
    name: String,
}

/// The arguments of a plugin that takes any.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, tag = "name", content = "args")]
enum PluginConfig {
    NodeResourcesFit(NodeResourcesFitArgs),
    InterPodAffinity(InterPodAffinityArgs),
    NodeAffinity(NodeAffinityArgs),
    PodTopologySpread(spread::PodTopologySpreadArgs),
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct NodeResourcesFitArgs {
    scoring_strategy: ScoringStrategy,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ScoringStrategy {
    #[serde(rename = "type", default)]
    type_: String,
    #[serde(default)]
    resources: Vec<ResourceSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requested_to_capacity_ratio: Option<RequestedToCapacityRatioParam>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct RequestedToCapacityRatioParam {
    shape: Vec<UtilizationShapePoint>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
struct UtilizationShapePoint {
    utilization: i64,
    score: i64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct ResourceSpec {
    name: String,
    /// 0 is as good as none: 1.
    #[serde(default)]
    weight: i64,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct InterPodAffinityArgs {
    hard_pod_affinity_weight: i64,
    ignore_preferred_terms_of_existing_pods: bool,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct NodeAffinityArgs {
    added_affinity: k8s_openapi::api::core::v1::NodeAffinity,
}

impl Default for InterPodAffinityArgs {
    fn default() -> InterPodAffinityArgs {
        InterPodAffinityArgs { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

impl Default for NodeResourcesFitArgs {
    fn default() -> NodeResourcesFitArgs {
        let type_ = LEAST_ALLOCATED.to_owned();
        let strategy = ScoringStrategy { type_, resources: Vec::new(), requested_to_capacity_ratio: None };
        NodeResourcesFitArgs { scoring_strategy: strategy }
    }
}

impl TryFrom<Vec<KubeSchedulerProfile>> for ProfileList {
    type Error = String;

    fn try_from(mut profiles: Vec<KubeSchedulerProfile>) -> Result<ProfileList, String> {
        if let [only] = profiles.as_mut_slice()
            && only.scheduler_name.is_empty()
        {
            DEFAULT_SCHEDULER_NAME.clone_into(&mut only.scheduler_name);
        }
        let mut names = BTreeSet::new();
        for (number, profile) in profiles.iter().enumerate() {
            profile.check(&format!("profiles[{number}]"))?;
            let name = &profile.scheduler_name;
            if !names.insert(name) {
                return Err(format!("profiles[{number}].schedulerName: Duplicate value: {name:?}"));
            }
        }
        Ok(ProfileList(profiles))
    }
}

impl ProfileList {
    /// Whether the default profile is all there is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The profiles as the scheduler has them. The default one, if none is written down.
    pub fn profiles(&self) -> Vec<Profile> {
        if self.is_empty() {
            vec![Profile::default()]
        } else {
            self.0.iter().map(KubeSchedulerProfile::profile).collect()
        }
    }
}

impl KubeSchedulerProfile {
    fn check(&self, path: &str) -> Result<(), String> {
        if self.scheduler_name.is_empty() {
            return Err(format!("{path}.schedulerName: Required value"));
        }
        let percentage = self.percentage_of_nodes_to_score;
        if !(0..=100).contains(&percentage) {
            let path = format!("{path}.percentageOfNodesToScore");
            return Err(format!("{path}: Invalid value: {percentage}: not in valid range [0-100]"));
        }
        for (number, config) in self.plugin_config.iter().enumerate() {
            let path = format!("{path}.pluginConfig[{number}]");
            if self.plugin_config[..number].iter().any(|other| other.name() == config.name()) {
                return Err(format!("{path}: Duplicate value: {:?}", config.name()));
            }
            config.check(&format!("{path}.args"))?;
        }
        let wrong = |why: String| format!("creating profile for scheduler name {}: {why}", self.scheduler_name);
        self.plugins.check().map_err(wrong)
    }

    fn profile(&self) -> Profile {
        let mut plugins = default_plugins();
        for entry in &mut plugins {
            let given = self.plugin_config.iter().find(|config| config.name() == entry.plugin.name());
            given.into_iter().for_each(|config| config.give(entry));
            self.plugins.switch(entry);
        }
        plugins.retain(|entry| !entry.points.is_empty());
        Profile {
            scheduler_name: self.scheduler_name.clone(),
            plugins,
            percentage_of_nodes_to_score: usize::try_from(self.percentage_of_nodes_to_score).unwrap_or(0),
        }
    }
}

impl Plugins {
    fn at(&self, point: Point) -> &Switches {
        match point {
            Point::PreEnqueue => &self.pre_enqueue,
            Point::Filter => &self.filter,
            Point::PostFilter => &self.post_filter,
            Point::Score => &self.score,
        }
    }

    fn check(&self) -> Result<(), String> {
        let known = default_plugins();
        for point in Point::ALL {
            self.at(*point).check(&known, Some(*point))?;
        }
        self.multi_point.check(&known, None)
    }

    /// Leaves the plugin the points at which it is on, with the weight that it has where it scores.
    fn switch(&self, entry: &mut Entry) {
        let (name, default) = (entry.plugin.name(), entry.weight);
        let weight_at = |point: Point| match self.at(point).decide(name).or_else(|| self.multi_point.decide(name)) {
            Some(Switch::On { weight }) => Some(weight),
            Some(Switch::Off) => None,
            None => Some(default),
        };
        entry.points.retain(|point| weight_at(*point).is_some());
        entry.weight = weight_at(Point::Score).unwrap_or(0);
    }
}

/// What a list says of a plugin that it is about.
enum Switch {
    Off,
    On { weight: i64 },
}

impl Switches {
    /// What the list says of a plugin, if anything.
    fn decide(&self, name: &str) -> Option<Switch> {
        let enabled = self.enabled.iter().find(|enabled| enabled.name == name);
        if let Some(enabled) = enabled {
            return Some(Switch::On { weight: i64::from(enabled.weight.max(1)) });
        }
        self.disabled.iter().any(|disabled| ["*", name].contains(&disabled.name.as_str())).then_some(Switch::Off)
    }

    /// `point` is None for all.
    fn check(&self, known: &[Entry], point: Option<Point>) -> Result<(), String> {
        let find = |name: &str| known.iter().find(|entry| entry.plugin.name() == name);
        let names = || known.iter().map(|entry| entry.plugin.name()).collect::<Vec<_>>().join(", ");
        let interface = point.map_or("plugin", Point::interface);
        for (number, Enabled { name, .. }) in self.enabled.iter().enumerate() {
            let Some(entry) = find(name) else {
                return Err(format!("{interface} {name:?} does not exist; there are {}", names()));
            };
            if point.is_some_and(|point| !entry.points.contains(&point)) {
                return Err(format!("plugin {name:?} does not extend {interface} plugin"));
            }
            if self.enabled[..number].iter().any(|other| other.name == *name) {
                return Err(format!("plugin {name:?} already registered as {interface:?}"));
            }
        }
        match self.disabled.iter().find(|disabled| disabled.name != "*" && find(&disabled.name).is_none()) {
            None => Ok(()),
            Some(Disabled { name }) => {
                Err(format!("disabled {interface} {name:?} does not exist; there are {}", names()))
            }
        }
    }
}

impl PluginConfig {
    fn name(&self) -> &'static str {
        match self {
            PluginConfig::NodeResourcesFit(_) => "NodeResourcesFit",
            PluginConfig::InterPodAffinity(_) => "InterPodAffinity",
            PluginConfig::NodeAffinity(_) => "NodeAffinity",
            PluginConfig::PodTopologySpread(_) => "PodTopologySpread",
        }
    }

    fn check(&self, path: &str) -> Result<(), String> {
        match self {
            PluginConfig::NodeResourcesFit(args) => args.scoring_strategy.check(&format!("{path}.scoringStrategy")),
            PluginConfig::InterPodAffinity(InterPodAffinityArgs { hard_pod_affinity_weight: weight, .. }) => {
                in_range(&format!("{path}.hardPodAffinityWeight"), *weight, 100)
            }
            PluginConfig::NodeAffinity(_) => Ok(()),
            PluginConfig::PodTopologySpread(args) => args.check(path),
        }
    }

    /// Exchanges the plugin for one with these arguments.
    fn give(&self, entry: &mut Entry) {
        let weight = entry.weight;
        *entry = match self {
            PluginConfig::NodeResourcesFit(args) => {
                let ScoringStrategy { resources, .. } = &args.scoring_strategy;
                let weight_of = |it: &ResourceSpec| if it.weight == 0 { 1 } else { it.weight };
                let weights =
                    resources.iter().map(|it| ResourceWeight { name: it.name.clone(), weight: weight_of(it) });
                let fit =
                    NodeResourcesFit { strategy: args.scoring_strategy.strategy(), ..NodeResourcesFit::default() };
                let weighed =
                    if resources.is_empty() { fit } else { NodeResourcesFit { resources: weights.collect(), ..fit } };
                Entry::new(weighed, weight)
            }
            PluginConfig::InterPodAffinity(args) => {
                let plugin = InterPodAffinity {
                    hard_pod_affinity_weight: args.hard_pod_affinity_weight,
                    ignore_preferred_terms_of_existing_pods: args.ignore_preferred_terms_of_existing_pods,
                };
                Entry::new(plugin, weight)
            }
            PluginConfig::PodTopologySpread(args) => Entry::new(args.plugin(), weight),
            PluginConfig::NodeAffinity(args) => Entry::new(NodeAffinity { added: args.added_affinity.clone() }, weight),
        };
    }
}

impl ScoringStrategy {
    /// Mirrors `ValidateNodeResourcesFitArgs`.
    fn check(&self, path: &str) -> Result<(), String> {
        if !STRATEGIES.contains(&self.type_.as_str()) {
            let names: Vec<String> = STRATEGIES.iter().map(|name| format!("{name:?}")).collect();
            let (given, names) = (&self.type_, names.join(", "));
            return Err(format!("{path}.type: Unsupported value: {given:?}: supported values: {names}"));
        }
        for (number, ResourceSpec { name, weight }) in self.resources.iter().enumerate() {
            if !(0..=100).contains(weight) {
                return Err(format!(
                    "{path}.resources[{number}].weight: Invalid value: {weight}: \
                     resource weight of {name} not in valid range (0, 100]"
                ));
            }
        }
        let path = format!("{path}.requestedToCapacityRatio");
        match (&self.requested_to_capacity_ratio, self.type_ == REQUESTED_TO_CAPACITY_RATIO) {
            (None, true) => Err(format!("{path}: Required value: must be specified when type is {}", self.type_)),
            (Some(_), false) => {
                Err(format!("{path}: Forbidden: must be nil when type is not {REQUESTED_TO_CAPACITY_RATIO}"))
            }
            (Some(ratio), true) => check_shape(&ratio.shape, &format!("{path}.shape")),
            (None, false) => Ok(()),
        }
    }

    fn strategy(&self) -> Strategy {
        match (self.type_.as_str(), &self.requested_to_capacity_ratio) {
            (REQUESTED_TO_CAPACITY_RATIO, Some(ratio)) => {
                let point = |point: &UtilizationShapePoint| ShapePoint {
                    utilization: point.utilization,
                    score: point.score * (MAX_NODE_SCORE / MAX_CUSTOM_PRIORITY_SCORE),
                };
                Strategy::RequestedToCapacityRatio(ratio.shape.iter().map(point).collect())
            }
            (MOST_ALLOCATED, _) => Strategy::MostAllocated,
            _ => Strategy::LeastAllocated,
        }
    }
}

/// Mirrors `validateFunctionShape`.
fn check_shape(shape: &[UtilizationShapePoint], path: &str) -> Result<(), String> {
    if shape.is_empty() {
        return Err(format!("{path}: Required value: at least one point must be specified"));
    }
    if let Some(at) = (1..shape.len()).find(|at| shape[at - 1].utilization >= shape[*at].utilization) {
        let given = shape[at].utilization;
        return Err(format!(
            "{path}[{at}].utilization: Invalid value: {given}: values must be sorted in increasing order"
        ));
    }
    for (at, point) in shape.iter().enumerate() {
        in_range(&format!("{path}[{at}].utilization"), point.utilization, 100)?;
        in_range(&format!("{path}[{at}].score"), point.score, MAX_CUSTOM_PRIORITY_SCORE)?;
    }
    Ok(())
}

fn in_range(path: &str, value: i64, max: i64) -> Result<(), String> {
    match (0..=max).contains(&value) {
        true => Ok(()),
        false => Err(format!("{path}: Invalid value: {value}: not in valid range [0, {max}]")),
    }
}

#[cfg(test)]
mod tests;
