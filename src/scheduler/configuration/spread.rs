//! The arguments of PodTopologySpread: constraints for pods that have none.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use serde::{Deserialize, Serialize};

use crate::plugins::pod_topology_spread::PodTopologySpread;

const SYSTEM: &str = "System";
const LIST: &str = "List";

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct PodTopologySpreadArgs {
    default_constraints: Vec<TopologySpreadConstraint>,
    /// Whose constraints those are: the scheduler's own, or these.
    defaulting_type: String,
}

impl Default for PodTopologySpreadArgs {
    fn default() -> PodTopologySpreadArgs {
        PodTopologySpreadArgs { default_constraints: Vec::new(), defaulting_type: SYSTEM.to_owned() }
    }
}

impl PodTopologySpreadArgs {
    pub fn plugin(&self) -> PodTopologySpread {
        PodTopologySpread { defaults: (self.defaulting_type == LIST).then(|| self.default_constraints.clone()) }
    }

    /// Mirrors `ValidatePodTopologySpreadArgs`.
    pub fn check(&self, path: &str) -> Result<(), String> {
        let (given, path_of_type) = (&self.defaulting_type, format!("{path}.defaultingType"));
        if ![SYSTEM, LIST].contains(&given.as_str()) {
            return Err(format!(
                "{path_of_type}: Unsupported value: {given:?}: supported values: \"List\", \"System\""
            ));
        }
        if given == SYSTEM && !self.default_constraints.is_empty() {
            return Err(format!("{path_of_type}: Invalid value: {given:?}: when .defaultConstraints are not empty"));
        }
        let mut seen = BTreeSet::new();
        for (number, constraint) in self.default_constraints.iter().enumerate() {
            let path = format!("{path}.defaultConstraints[{number}]");
            check(constraint, &path)?;
            let (key, when) = (&constraint.topology_key, &constraint.when_unsatisfiable);
            if !seen.insert((key, when)) {
                return Err(format!("{path}: Duplicate value: \"{{{key}, {when}}}\""));
            }
        }
        Ok(())
    }
}

fn check(constraint: &TopologySpreadConstraint, path: &str) -> Result<(), String> {
    let TopologySpreadConstraint { max_skew, topology_key, when_unsatisfiable: when, label_selector, .. } = constraint;
    if *max_skew <= 0 {
        return Err(format!("{path}.maxSkew: Invalid value: {max_skew}: not in valid range (0, inf)"));
    }
    if topology_key.is_empty() {
        return Err(format!("{path}.topologyKey: Required value: can not be empty"));
    }
    if when.is_empty() {
        return Err(format!("{path}.whenUnsatisfiable: Required value: can not be empty"));
    }
    if !["DoNotSchedule", "ScheduleAnyway"].contains(&when.as_str()) {
        return Err(format!(
            "{path}.whenUnsatisfiable: Unsupported value: {when:?}: \
             supported values: \"DoNotSchedule\", \"ScheduleAnyway\""
        ));
    }
    match label_selector {
        None => Ok(()),
        Some(_) => Err(format!(
            "{path}.labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod"
        )),
    }
}
