//! Is anything heard of a node? Mirrors `tryUpdateNodeHealth`.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};

use object::node::condition;
use object::time::Instant;

/// `--node-monitor-grace-period`: so long a node may be silent.
pub const GRACE: Duration = Duration::from_secs(50);
/// `--node-startup-grace-period`: the same for a node that never told its condition.
const STARTUP_GRACE: Duration = Duration::from_secs(60);

/// The conditions that become Unknown when the kubelet is silent.
const KUBELET_CONDITIONS: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// What follows from how long nothing was heard of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its state is unknown.
    pub is_unknown: bool,
    /// The key of the NoExecute taint that it has for it.
    pub taint: Option<String>,
}

/// Says what follows for a node that was silent for this long, in place of [`NodeHealth::is_silent`] and of
/// what the controller makes of it. None: the controller decides.
pub type Rule = dyn Fn(&Node, Duration) -> Option<Finding>;

/// What is remembered of a node between looks.
///
/// Two clocks are never compared: not what the heartbeats *say* counts, but when they were last seen to *change*, on the
/// controller's own clock.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeHealth {
    /// When a sign of life was last noticed.
    pub probe: Instant,
    /// The Ready condition's heartbeat and status, if it had one.
    ready: Option<(Option<Time>, String)>,
    /// The renew time of its lease.
    renewed: Option<MicroTime>,
}

impl NodeHealth {
    /// The status of Ready when last looked at; None: it had none.
    pub fn ready(&self) -> Option<&str> {
        self.ready.as_ref().map(|(_, status)| status.as_str())
    }

    /// Takes note of what a node shows now.
    pub fn observe(old: Option<NodeHealth>, node: &Node, lease: Option<&Lease>, now: Instant) -> NodeHealth {
        let ready = condition(node, "Ready").map(|c| (c.last_heartbeat_time.clone(), c.status.clone()));
        let renewed = lease.and_then(|lease| lease.spec.as_ref()).and_then(|spec| spec.renew_time.clone());
        let unchanged = old.as_ref().filter(|old| match (&old.ready, &ready) {
            (Some((before, _)), Some((after, _))) => before == after,
            (before, after) => before.is_none() && after.is_none(),
        });
        let probe = match (&old, unchanged) {
            // One that never told its condition is silent since it was made.
            (None, _) if ready.is_none() => node.metadata.creation_timestamp.as_ref().map_or(now, Instant::from_time),
            (_, Some(old)) => old.probe,
            (_, None) => now,
        };
        let before = old.as_ref().and_then(|old| old.renewed.clone());
        let newer = renewed.is_some() && (before.is_none() || before < renewed);
        // A heartbeat in the status begins a new record, and that knows of no lease: unless it is renewed at the same time,
        // it will be new at the next look.
        let kept = unchanged.and(before);
        NodeHealth { probe: if newer { now } else { probe }, ready, renewed: if newer { renewed } else { kept } }
    }

    /// Whether nothing was heard of the node for too long.
    pub fn is_silent(&self, now: Instant) -> bool {
        let grace = if self.ready.is_some() { GRACE } else { STARTUP_GRACE };
        now > self.probe + grace
    }

    /// The controller has written the node's conditions itself.
    pub fn wrote(&mut self, node: &Node) {
        self.ready = condition(node, "Ready").map(|c| (c.last_heartbeat_time.clone(), c.status.clone()));
    }
}

/// The node with all the kubelet's conditions Unknown.
pub fn with_unknown_conditions(node: &Node, now: Instant) -> Node {
    let mut node = node.clone();
    let created = node.metadata.creation_timestamp.clone();
    let conditions = node.status.get_or_insert_default().conditions.get_or_insert_default();
    for type_ in KUBELET_CONDITIONS {
        match conditions.iter_mut().find(|condition| condition.type_ == type_) {
            Some(condition) if condition.status == "Unknown" => {}
            Some(condition) => {
                condition.status = "Unknown".into();
                condition.reason = Some("NodeStatusUnknown".into());
                condition.message = Some("Kubelet stopped posting node status.".into());
                condition.last_transition_time = Some(now.time());
            }
            None => conditions.push(NodeCondition {
                type_: type_.into(),
                status: "Unknown".into(),
                reason: Some("NodeStatusNeverUpdated".into()),
                message: Some("Kubelet never posted node status.".into()),
                last_heartbeat_time: created.clone(),
                last_transition_time: Some(now.time()),
            }),
        }
    }
    node
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use k8s_openapi::api::core::v1::NodeStatus;

    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::default() + Duration::from_secs(seconds)
    }

    fn node(heartbeat: Option<u64>) -> Node {
        let ready = heartbeat.map(|seconds| NodeCondition {
            type_: "Ready".into(),
            status: "True".into(),
            last_heartbeat_time: Some(at(seconds).time()),
            ..NodeCondition::default()
        });
        let status = NodeStatus { conditions: Some(ready.into_iter().collect()), ..NodeStatus::default() };
        Node { status: Some(status), ..Node::default() }
    }

    fn lease(seconds: u64) -> Lease {
        let spec = LeaseSpec { renew_time: Some(at(seconds).micro_time()), ..LeaseSpec::default() };
        Lease { spec: Some(spec), ..Lease::default() }
    }

    #[test]
    fn any_change_is_a_sign_of_life() {
        // The time of the look, the heartbeat and the lease it sees, and the last sign of life after it.
        let looks = [
            (5, Some(0), None, 5),
            (10, Some(0), None, 5),
            (15, Some(10), None, 15),
            (20, Some(10), Some(18), 20),
            (25, Some(10), Some(18), 20),
            (30, Some(10), Some(28), 30),
            // A heartbeat, and the lease that was known before it.
            (35, Some(32), Some(28), 35),
            (40, Some(32), Some(28), 40),
            (45, Some(32), Some(28), 40),
            (50, None, Some(28), 50),
        ];
        let mut health = None;
        for (now, heartbeat, renewed, sign) in looks {
            let lease = renewed.map(lease);
            let seen = NodeHealth::observe(health, &node(heartbeat), lease.as_ref(), at(now));
            assert_eq!(seen.probe, at(sign), "at {now} s");
            health = Some(seen);
        }
    }

    #[test]
    fn silence_is_noticed_after_the_grace_period() {
        let health = NodeHealth::observe(None, &node(Some(0)), None, at(5));
        assert!(!health.is_silent(at(55)));
        assert!(health.is_silent(at(56)));
        let never = NodeHealth::observe(None, &node(None), None, at(5));
        assert!(!never.is_silent(at(65)), "created when first seen, as far as its metadata tells");
        assert!(never.is_silent(at(66)));
    }

    #[test]
    fn all_conditions_become_unknown() {
        let got = with_unknown_conditions(&node(Some(3)), at(60));
        let conditions = got.status.and_then(|status| status.conditions).unwrap_or_default();
        let shown: Vec<(&str, &str, &str)> = conditions
            .iter()
            .map(|c| (c.type_.as_str(), c.status.as_str(), c.reason.as_deref().unwrap_or_default()))
            .collect();
        let never = "NodeStatusNeverUpdated";
        let expected = [
            ("Ready", "Unknown", "NodeStatusUnknown"),
            ("MemoryPressure", "Unknown", never),
            ("DiskPressure", "Unknown", never),
            ("PIDPressure", "Unknown", never),
        ];
        assert_eq!(shown, expected);
        assert_eq!(conditions[0].last_heartbeat_time, Some(at(3).time()), "when it was last heard of stays");
    }
}
