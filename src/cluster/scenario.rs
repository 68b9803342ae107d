//! Scenarios: a title, a story, a cluster, and a timeline of what a person does to it.
//!
//! A scenario is a YAML file. Its timeline is what one would type: kubectl lines, waits, and faults.
//!
//! ```yaml
//! title: A Deployment becomes Pods
//! story: One command asks for two Pods. Five programs that never call one another make them run.
//! nodes: 3
//! files:
//!   web.yaml: |
//!     apiVersion: apps/v1
//!     ...
//! timeline:
//!   - kubectl apply -f web.yaml
//!   - kubectl rollout status deployment/web
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use super::config::number;
use super::webhook::{self, Webhook};
use super::{ControlPlane, NodeConfig, Parts};
use kubectl::workdir::{self, Disk};
use object::nearest::nearest;
use object::nesting;
use object::terminal::harmless;
use scheduler::configuration::ProfileList;

mod case;
mod exploration;
mod nodes;
mod shipped;

pub use case::{Case, Outcome, Refused};
pub use exploration::{Exploration, Fixed, OwnProperty};
pub use nodes::{ImageBehaviour, Network, NodeDescription, Nodes};
use shipped::{BROKEN, BUGS, SHIPPED};

/// More copies of a component show nothing that fewer do not, and each costs memory.
const COPIES_MAX: u16 = 9;

/// One scenario.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What the menu calls it; the file's name without ending.
    #[serde(skip)]
    pub name: String,
    /// A line.
    pub title: String,
    /// Two sentences.
    #[serde(default)]
    pub story: String,
    /// The nodes to start with.
    #[serde(default)]
    pub nodes: Nodes,
    /// Which of the orders that races allow is taken. 0: every message takes its plain time.
    #[serde(default)]
    pub seed: u64,
    /// When the run begins, by the clocks of its machines; 2026-01-01T00:00:00Z, and never sooner, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Time>,
    /// Controllers each of whose requests takes so many milliseconds longer than usual.
    #[serde(default)]
    pub slow: BTreeMap<String, u64>,
    /// Whether watch events arrive after the answers to the writes that they tell of, as in a busy cluster. In a quiet one
    /// they mostly arrive first.
    #[serde(default, rename = "lateWatches", skip_serializing_if = "std::ops::Not::not")]
    pub late_watches: bool,
    /// How packets get from node to node.
    #[serde(default)]
    pub network: Network,
    /// Where the control plane runs.
    #[serde(default, rename = "controlPlane", skip_serializing_if = "ControlPlane::is_apart")]
    pub control_plane: ControlPlane,
    /// Whether the cluster has a DNS server.
    #[serde(default)]
    pub dns: bool,
    /// Whether kube-proxy runs on every node: without it Services have addresses that lead nowhere.
    #[serde(default)]
    pub proxy: bool,
    /// Whether an agent on every node enforces NetworkPolicies: without it they are stored, and that is all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub policies: bool,
    /// Whether a server measures what Pods use: `metrics.k8s.io`. A line `busy …` switches it on as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub metrics: bool,
    /// Who answers as admission webhook, and what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub webhooks: Vec<Webhook>,
    /// How many controller managers there are; one of them leads. None: one, without leader election.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub managers: u16,
    /// The same of schedulers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub schedulers: u16,
    /// The profiles that a scheduler serves, as in the `profiles` of a KubeSchedulerConfiguration; none: the default one.
    #[serde(default, rename = "schedulerProfiles", skip_serializing_if = "ProfileList::is_empty")]
    pub scheduler_profiles: ProfileList,
    /// How many API servers there are, each with a watch cache of its own; none: one.
    #[serde(default, rename = "apiServers", skip_serializing_if = "is_zero")]
    pub api_servers: u16,
    /// Where commands work if they name no namespace. It is there from the start.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// Manifests, by the name under which the timeline uses them.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// A folder with manifests, beside the scenario's file.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// The files that its lines can name.
    #[serde(skip)]
    pub sight: Sight,
    /// How images behave, by name.
    #[serde(default)]
    pub images: BTreeMap<String, ImageBehaviour>,
    /// The cluster has a storage system with a CSI driver, `disk.csi.kubestep.dev`.
    #[serde(default)]
    pub csi: bool,
    /// Claims that name no StorageClass get one of that driver, `standard`.
    #[serde(default)]
    pub default_class: bool,
    /// What happens, line by line.
    #[serde(default)]
    pub timeline: Vec<String>,
    /// Whether its user is asked what happens next, unless told otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiz: bool,
    /// Its narration, stop by stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tour: Vec<TourStop>,
    /// The programs that run instead of those that are shipped, by the name of their row in `bugs::TABLE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<String>,
    /// The exercise whose solution runs in it, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exercise: Option<String>,
    /// The programs that no name stands for: those of a learner.
    #[serde(skip)]
    pub plugged: Plugged,
    /// What is different where the bug that the scenario shows is mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Fixed>,
    /// How far `kubestep explore` looks, unless it is told otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explore: Option<Exploration>,
    /// What must hold in it, beside what must hold anywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<OwnProperty>,
    /// What makes it a case: a cluster that starts broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Case>,
}

/// Programs that a scenario does not name. They are no part of what it says, so scenarios that differ in them are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plugged(pub Option<Parts>);

impl PartialEq for Plugged {
    fn eq(&self, _: &Plugged) -> bool {
        true
    }
}

/// The files that a session can see. The program that runs a scenario decides that, not the scenario.
#[derive(Clone, Debug, Default)]
pub struct Sight(pub Disk);

impl PartialEq for Sight {
    fn eq(&self, _: &Sight) -> bool {
        true
    }
}

/// Where a tour stops.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TourStop {
    /// The condition that holds there first, written as for `until`; empty: where one stands.
    #[serde(default)]
    pub until: String,
    /// What is to be seen there.
    pub text: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references over")]
fn is_zero(count: &u16) -> bool {
    *count == 0
}

fn default_namespace() -> String {
    "default".to_owned()
}

/// Why a scenario cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// There is no such scenario and no such file.
    #[error("there is no scenario {name:?}, and no file of that name; {}cargo run -- scenarios lists them", did_you_mean(*.meant))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        meant: Option<&'static str>,
    },
    /// The file cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The file is not a scenario.
    #[error("{path}: {error}")]
    Malformed {
        /// The file.
        path: String,
        /// Why, with line and column.
        error: serde_yaml::Error,
    },
    /// Nor can it be read.
    #[error("{path}: {message}")]
    Nested {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// A webhook of it makes no sense.
    #[error("{path}: {message}")]
    Webhook {
        /// The file.
        path: String,
        /// Which, and what is wrong with it.
        message: String,
    },
    /// Of something there are to be more than run here.
    #[error("{path}: {field}: {count} are too many; at most {COPIES_MAX} run here, and two or three show all there is")]
    TooMany {
        /// The file.
        path: String,
        /// Which field.
        field: &'static str,
        /// What it says.
        count: u16,
    },
    /// A line by which a case is judged makes no sense.
    #[error("{path}: case: solved: {message}")]
    Case {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// A line of the timeline makes no sense.
    #[error("{path}: timeline line {number}: {message}")]
    Line {
        /// The file.
        path: String,
        /// Counted from 1.
        number: usize,
        /// What is wrong with it.
        message: String,
    },
}

/// The scenarios of a table, read.
fn all_whole(table: &[(&str, &str)]) -> Vec<Scenario> {
    let whole = |error: ScenarioError| -> Scenario { panic!("a shipped scenario is whole: {error}") };
    table.iter().map(|(name, text)| Scenario::parse(name, text).unwrap_or_else(whole)).collect()
}

fn did_you_mean(meant: Option<&str>) -> String {
    meant.map_or(String::new(), |name| format!("did you mean {name}? "))
}

impl Scenario {
    /// All scenarios that come with the program.
    pub fn shipped() -> Vec<Scenario> {
        all_whole(SHIPPED)
    }

    /// All scenarios of bugs.
    pub fn bugs() -> Vec<Scenario> {
        all_whole(BUGS)
    }

    /// All cases of "Broken: find out why", the easiest first.
    pub fn broken() -> Vec<Scenario> {
        all_whole(BROKEN)
    }

    /// The same scenario with the bug that it shows mended. None if it shows none.
    pub fn mended(&self) -> Option<Scenario> {
        let fixed = self.fixed.clone()?;
        let mut scenario = Scenario { parts: fixed.parts, fixed: None, ..self.clone() };
        scenario.files.extend(fixed.files);
        Some(scenario)
    }

    /// A shipped scenario by name, or one from a file.
    pub fn find(name: &str) -> Result<Scenario, ScenarioError> {
        let all = || SHIPPED.iter().chain(BUGS).chain(BROKEN);
        if let Some((name, text)) = all().find(|(shipped, _)| *shipped == name) {
            return Scenario::parse(name, text);
        }
        let path = Path::new(name);
        if !path.is_file() {
            let meant = nearest(name, all().map(|(shipped, _)| *shipped));
            return Err(ScenarioError::Unknown { name: name.to_owned(), meant });
        }
        let text =
            workdir::text_in(path).map_err(|error| ScenarioError::Unreadable { path: name.to_owned(), error })?;
        let mut scenario = Scenario::parse(name, &text)?;
        let beside = path.parent().unwrap_or(Path::new("."));
        scenario.folder = Some(scenario.folder.map_or(beside.to_owned(), |folder| beside.join(folder)));
        scenario.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(scenario)
    }

    /// What it says to its user is text: nothing in it is a command to a terminal, even if a stranger wrote it.
    pub fn make_harmless(&mut self) {
        let told = [&mut self.title, &mut self.story].into_iter();
        let told = told.chain(self.tour.iter_mut().map(|stop| &mut stop.text));
        for text in told.chain(self.case.iter_mut().flat_map(Case::texts)) {
            *text = harmless(text, false).into_owned();
        }
    }

    /// Reads the text of a scenario.
    pub fn parse(path: &str, text: &str) -> Result<Scenario, ScenarioError> {
        nesting::check(text).map_err(|message| ScenarioError::Nested { path: path.to_owned(), message })?;
        let mut scenario: Scenario =
            serde_yaml::from_str(text).map_err(|error| ScenarioError::Malformed { path: path.to_owned(), error })?;
        scenario.name = path.to_owned();
        scenario.make_harmless();
        webhook::check(&scenario.webhooks)
            .map_err(|message| ScenarioError::Webhook { path: path.to_owned(), message })?;
        let copies = [
            ("managers", scenario.managers),
            ("schedulers", scenario.schedulers),
            ("apiServers", scenario.api_servers),
        ];
        if let Some((field, count)) = copies.into_iter().find(|(_, count)| *count > COPIES_MAX) {
            return Err(ScenarioError::TooMany { path: path.to_owned(), field, count });
        }
        for (number, line) in (1..).zip(&scenario.timeline) {
            super::timeline::check(line).map_err(|message| ScenarioError::Line {
                path: path.to_owned(),
                number,
                message,
            })?;
        }
        for line in scenario.case.iter().flat_map(Case::lines) {
            super::timeline::check(line).map_err(|message| ScenarioError::Case { path: path.to_owned(), message })?;
        }
        Ok(scenario)
    }

    /// The nodes it starts with.
    pub fn node_configs(&self) -> Vec<NodeConfig> {
        match &self.nodes {
            Nodes::Count(count) => (1..=usize::from(*count)).map(NodeConfig::numbered).collect(),
            Nodes::List(list) => {
                let mut nodes: Vec<NodeConfig> = list.iter().map(NodeDescription::config).collect();
                number(&mut nodes);
                nodes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_not_any_number_of_copies() {
        for field in ["managers", "schedulers", "apiServers"] {
            let parsed = |count: u16| Scenario::parse("s", &format!("title: t\n{field}: {count}"));
            assert!(parsed(COPIES_MAX).is_ok(), "{field}");
            let error = parsed(COPIES_MAX + 1).unwrap_err().to_string();
            assert!(error.starts_with(&format!("s: {field}: 10 are too many; at most 9 run here")), "{error}");
        }
    }
}
