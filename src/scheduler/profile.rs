//! A profile: which plugins decide about the pods that name it, and how much the score of each counts.
//!
//! One scheduler serves all of its profiles: they share the cache and the queue, and a pod picks one by its
//! `spec.schedulerName`. A pod that names none of them is not this scheduler's: it is left alone, without a verdict.
//! Mirrors `pkg/scheduler/profile/profile.go` and the lists of plugins in `framework/runtime/framework.go`.

use std::ops::Deref;
use std::rc::Rc;

use super::cycle::PluginSet;
use super::events::ClusterEvent;
use super::framework::{Hint, Plugin, Point};
use super::plugins::default_plugins;
use super::pod_info::PodInfo;
use super::snapshot::Snapshot;
use object::Pod;

/// The profile of pods that do not say otherwise. `DefaultSchedulerName`.
pub const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";

/// A plugin in a profile.
#[derive(Clone)]
pub struct Entry {
    /// The plugin.
    pub plugin: Rc<dyn Plugin>,
    /// What its scores are multiplied with.
    pub weight: i64,
    /// Where it is asked.
    pub points: Vec<Point>,
}

impl Entry {
    /// A plugin that is asked wherever it has something to say.
    pub fn new(plugin: impl Plugin + 'static, weight: i64) -> Entry {
        let points = plugin.points().to_vec();
        Entry { plugin: Rc::new(plugin), weight, points }
    }

    fn at(&self, point: Point) -> bool {
        self.points.contains(&point)
    }
}

/// A profile.
#[derive(Clone)]
pub struct Profile {
    /// The `spec.schedulerName` of its pods.
    pub scheduler_name: String,
    /// The plugins, in the order in which they are asked. One is named by its number here.
    pub plugins: Vec<Entry>,
    /// How many of a hundred nodes must pass before the search stops; 0: it depends on how many there are.
    pub percentage_of_nodes_to_score: usize,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile {
            scheduler_name: DEFAULT_SCHEDULER_NAME.to_owned(),
            plugins: default_plugins(),
            percentage_of_nodes_to_score: 0,
        }
    }
}

impl Profile {
    /// The plugins that are asked at a point, with their numbers.
    pub fn at(&self, point: Point) -> impl Iterator<Item = (usize, &Entry)> {
        self.plugins.iter().enumerate().filter(move |(_, entry)| entry.at(point))
    }

    /// What the plugin of this number is called.
    pub fn name_of(&self, plugin: usize) -> &'static str {
        self.plugins[plugin].plugin.name()
    }

    /// The first plugin that will not have the pod queued.
    pub fn gate(&self, pod: &PodInfo) -> Option<usize> {
        let mut asked = self.at(Point::PreEnqueue);
        asked.find(|(_, entry)| entry.plugin.pre_enqueue(pod).is_err()).map(|(number, _)| number)
    }

    /// The plugins that asked to be told of such a change; all of them for a wildcard.
    pub fn interested(&self, event: &ClusterEvent) -> PluginSet {
        if event.kind.is_wildcard() {
            return PluginSet(u32::MAX);
        }
        let mut plugins = PluginSet::default();
        for (number, entry) in self.plugins.iter().enumerate() {
            if entry.plugin.interests().contains(&event.kind) {
                plugins.insert(number);
            }
        }
        plugins
    }

    /// Whether a plugin that rejected the pod sees hope in the change.
    pub fn sees_hope(&self, pod: &PodInfo, rejected_by: PluginSet, event: &ClusterEvent, snapshot: &Snapshot) -> bool {
        event.kind.is_wildcard()
            || self.plugins.iter().enumerate().any(|(number, entry)| {
                rejected_by.contains(number)
                    && entry.plugin.interests().contains(&event.kind)
                    && entry.plugin.hint(pod, event, snapshot) == Hint::Queue
            })
    }
}

/// All profiles of a scheduler. Clones share them.
#[derive(Clone)]
pub struct Profiles(Rc<[Profile]>);

impl Profiles {
    /// The number of the profile that the pod names; None: it is another scheduler's. Few as they are, they are looked
    /// through.
    pub fn of(&self, pod: &Pod) -> Option<usize> {
        let name = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()).unwrap_or(DEFAULT_SCHEDULER_NAME);
        self.iter().position(|profile| profile.scheduler_name == name)
    }
}

impl From<Vec<Profile>> for Profiles {
    fn from(profiles: Vec<Profile>) -> Profiles {
        Profiles(profiles.into())
    }
}

impl Deref for Profiles {
    type Target = [Profile];

    fn deref(&self) -> &[Profile] {
        &self.0
    }
}
