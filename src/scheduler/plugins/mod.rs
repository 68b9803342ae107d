//! The plugins of the default profile, one file each.
//!
//! Mirrors `pkg/scheduler/framework/plugins` and the order and weights of `apis/config/v1/default_plugins.go`.
//! The plugins with an extension point of their own stand where that point is: PrioritySort is the order of
//! [`queue`](super::queue)'s active queue, DefaultPreemption is [`preemption`](super::preemption), DefaultBinder is
//! `Scheduler::bind` in [`attempt`](super::attempt).

use super::evict::DefaultPreemption;
use super::profile::Entry;

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

/// The plugins of the default profile, in its order: filters run in this order and the first no decides.
pub fn default_plugins() -> Vec<Entry> {
    vec![
        Entry::new(scheduling_gates::SchedulingGates, 0),
        Entry::new(node_unschedulable::NodeUnschedulable, 0),
        Entry::new(node_name::NodeName, 0),
        Entry::new(taint_toleration::TaintToleration, 3),
        Entry::new(node_affinity::NodeAffinity::default(), 2),
        Entry::new(node_ports::NodePorts, 0),
        Entry::new(node_resources_fit::NodeResourcesFit::default(), 1),
        Entry::new(volume_restrictions::VolumeRestrictions, 0),
        Entry::new(node_volume_limits::NodeVolumeLimits, 0),
        Entry::new(volume_binding::VolumeBinding, 0),
        Entry::new(volume_zone::VolumeZone, 0),
        Entry::new(pod_topology_spread::PodTopologySpread::default(), 2),
        Entry::new(inter_pod_affinity::InterPodAffinity::default(), 2),
        Entry::new(DefaultPreemption::default(), 0),
        Entry::new(balanced_allocation::BalancedAllocation, 1),
        Entry::new(image_locality::ImageLocality, 1),
    ]
}
