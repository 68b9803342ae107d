//! The plugins of the default profile, one file each.
//!
//! Mirrors `pkg/scheduler/framework/plugins` and the order and weights of `apis/config/v1/default_plugins.go`.
//! The plugins with an extension point of their own stand where that point is: PrioritySort is the order of
//! [`queue`](super::queue)'s active queue, DefaultPreemption is [`preemption`](super::preemption), DefaultBinder is
//! the binding in [`actor`](super::actor).

use std::rc::Rc;

use super::framework::Plugin;

pub mod balanced_allocation;
pub mod image_locality;
pub mod inter_pod_affinity;
pub mod node_affinity;
pub mod node_name;
pub mod node_ports;
pub mod node_resources_fit;
pub mod node_unschedulable;
pub mod node_volume_limits;
pub mod pod_topology_spread;
pub mod scheduling_gates;
pub mod taint_toleration;
pub mod testing;
pub mod volume_binding;
pub mod volume_restrictions;
pub mod volume_zone;

/// A plugin in a profile.
#[derive(Clone)]
pub struct Entry {
    /// The plugin.
    pub plugin: Rc<dyn Plugin>,
    /// What its scores are multiplied with.
    pub weight: i64,
}

/// The default profile, in its order: filters run in this order and the first no decides.
pub fn default_profile() -> Vec<Entry> {
    fn entry(plugin: impl Plugin + 'static, weight: i64) -> Entry {
        Entry { plugin: Rc::new(plugin), weight }
    }
    vec![
        entry(scheduling_gates::SchedulingGates, 0),
        entry(node_unschedulable::NodeUnschedulable, 0),
        entry(node_name::NodeName, 0),
        entry(taint_toleration::TaintToleration, 3),
        entry(node_affinity::NodeAffinity, 2),
        entry(node_ports::NodePorts, 0),
        entry(node_resources_fit::NodeResourcesFit, 1),
        entry(volume_restrictions::VolumeRestrictions, 0),
        entry(node_volume_limits::NodeVolumeLimits, 0),
        entry(volume_binding::VolumeBinding, 0),
        entry(volume_zone::VolumeZone, 0),
        entry(pod_topology_spread::PodTopologySpread, 2),
        entry(inter_pod_affinity::InterPodAffinity, 2),
        entry(balanced_allocation::BalancedAllocation, 1),
        entry(image_locality::ImageLocality, 1),
    ]
}
