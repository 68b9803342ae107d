//! Zones: when many nodes fall silent at once, the network is the likelier culprit, and evicting everything would make
//! it worse. Mirrors `handleDisruption`, `ComputeZoneState` and `scheduler/rate_limited_queue.go`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;

use object::time::Instant;
use object::well_known::{REGION, ZONE};

/// `--node-eviction-rate` 0.1 a second.
const INTERVAL: Duration = Duration::from_secs(10);
/// `--secondary-node-eviction-rate` 0.01 a second.
const SECONDARY_INTERVAL: Duration = Duration::from_secs(100);
/// `--large-cluster-size-threshold`: in smaller zones the secondary rate is 0.
const LARGE_ZONE: usize = 50;
/// `--unhealthy-zone-threshold`, in percent.
const UNHEALTHY_PERCENT: usize = 55;

/// How a zone is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZoneState {
    /// Not looked at yet.
    #[default]
    Initial,
    /// Most nodes answer.
    Normal,
    /// Many do not.
    Partial,
    /// None does.
    Full,
}

/// How a zone is whose nodes have these Ready statuses.
pub fn state_of(ready: usize, not_ready: usize) -> ZoneState {
    match (ready, not_ready) {
        (0, 1..) => ZoneState::Full,
        (_, 3..) if not_ready * 100 >= UNHEALTHY_PERCENT * (ready + not_ready) => ZoneState::Partial,
        _ => ZoneState::Normal,
    }
}

/// The zone of a node: its region and zone labels. Mirrors `GetZoneKey`.
pub fn zone_of(node: &Node) -> String {
    let label = |name: &str| node.metadata.labels.as_ref().and_then(|labels| labels.get(name)).cloned();
    let region = label(REGION).unwrap_or_default();
    format!("{region}/{}", label(ZONE).unwrap_or_default())
}

/// The nodes of a zone that are to be tainted NoExecute, one by one, not too fast.
#[derive(Clone, Debug)]
pub struct Zone {
    /// How the zone is.
    pub state: ZoneState,
    /// Waiting to be tainted, oldest first.
    queue: VecDeque<String>,
    /// Waiting, or tainted and not heard of since.
    known: BTreeSet<String>,
    /// Between one node and the next; None: stop.
    interval: Option<Duration>,
    /// When the next node may be tainted.
    next: Instant,
}

impl Default for Zone {
    fn default() -> Zone {
        let (queue, known) = (VecDeque::new(), BTreeSet::new());
        Zone { state: ZoneState::Initial, queue, known, interval: Some(INTERVAL), next: Instant::default() }
    }
}

impl Zone {
    /// Queues a node, unless it is known.
    pub fn add(&mut self, node: &str) {
        if self.known.insert(node.to_owned()) {
            self.queue.push_back(node.to_owned());
        }
    }

    /// The node may be queued once more.
    pub fn forget(&mut self, node: &str) {
        self.known.remove(node);
    }

    /// The node is heard of again.
    pub fn remove(&mut self, node: &str) {
        self.known.remove(node);
        self.queue.retain(|queued| queued != node);
    }

    /// The next node to taint, if it is time.
    pub fn take(&mut self, now: Instant) -> Option<String> {
        let interval = self.interval?;
        if now < self.next {
            return None;
        }
        let node = self.queue.pop_front()?;
        self.next = now + interval;
        Some(node)
    }

    /// Tainting failed: it stays the next one.
    pub fn put_back(&mut self, node: String) {
        self.queue.push_front(node);
    }

    /// When there is something to do, if ever.
    pub fn due(&self) -> Option<Instant> {
        (self.interval.is_some() && !self.queue.is_empty()).then_some(self.next)
    }

    /// Sets the speed that befits a state. Mirrors `setLimiterInZone`.
    pub fn enter(&mut self, state: ZoneState, size: usize) {
        self.state = state;
        self.interval = match state {
            ZoneState::Partial => (size > LARGE_ZONE).then_some(SECONDARY_INTERVAL),
            _ => Some(INTERVAL),
        };
    }

    /// Every zone is dark: taint no node.
    pub fn stop(&mut self) {
        self.state = ZoneState::Full;
        self.interval = None;
    }
}

/// What a change of all zones' states asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruption {
    /// No node answers any more: untaint all and stop.
    Begins,
    /// Some node answers again: give all of them time to.
    Ends,
    /// Neither.
    None,
}

/// Moves zones to their new states, given how many nodes of each are ready and not ready.
pub fn handle_disruption(zones: &mut BTreeMap<String, Zone>, counts: &BTreeMap<String, (usize, usize)>) -> Disruption {
    let now_dark = counts.values().all(|&(ready, not_ready)| state_of(ready, not_ready) == ZoneState::Full);
    zones.retain(|zone, _| counts.contains_key(zone));
    for zone in counts.keys() {
        zones.entry(zone.clone()).or_default();
    }
    let was_dark = zones.values().all(|zone| zone.state == ZoneState::Full);
    if now_dark && was_dark {
        return Disruption::None;
    }
    for (name, zone) in zones.iter_mut() {
        let (ready, not_ready) = counts.get(name).copied().unwrap_or_default();
        match state_of(ready, not_ready) {
            _ if now_dark => zone.stop(),
            state if was_dark || state != zone.state => zone.enter(state, ready + not_ready),
            _ => {}
        }
    }
    match (now_dark, was_dark) {
        (true, _) => Disruption::Begins,
        (_, true) => Disruption::Ends,
        _ => Disruption::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_as_its_nodes_are() {
        for (ready, not_ready, expected) in [
            (3, 0, ZoneState::Normal),
            (0, 1, ZoneState::Full),
            (1, 2, ZoneState::Normal),
            (2, 3, ZoneState::Partial),
            (3, 3, ZoneState::Normal),
            (0, 9, ZoneState::Full),
        ] {
            assert_eq!(state_of(ready, not_ready), expected, "{ready} ready, {not_ready} not");
        }
    }

    #[test]
    fn nodes_are_tainted_one_every_ten_seconds() {
        let at = |seconds: u64| Instant::default() + Duration::from_secs(seconds);
        let mut zone = Zone::default();
        zone.add("a");
        zone.add("b");
        zone.add("a");
        assert_eq!(zone.take(at(1)).as_deref(), Some("a"));
        assert_eq!(zone.take(at(2)), None);
        assert_eq!(zone.due(), Some(at(11)));
        assert_eq!(zone.take(at(11)).as_deref(), Some("b"));
        zone.add("a");
        assert_eq!(zone.due(), None, "a node that was tainted is not queued again");
        zone.remove("a");
        zone.add("a");
        assert_eq!(zone.due(), Some(at(21)), "after it was heard of, it is");
    }

    #[test]
    fn the_whole_cluster_going_dark_stops_evictions() {
        let counts = |a: (usize, usize), b: (usize, usize)| BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)]);
        let mut zones = BTreeMap::new();
        let steps = [
            (counts((2, 0), (2, 0)), Disruption::None),
            (counts((0, 2), (2, 0)), Disruption::None),
            (counts((0, 2), (0, 2)), Disruption::Begins),
            (counts((0, 2), (0, 2)), Disruption::None),
            (counts((0, 2), (1, 1)), Disruption::Ends),
        ];
        for (index, (counts, expected)) in steps.into_iter().enumerate() {
            assert_eq!(handle_disruption(&mut zones, &counts), expected, "step {index}");
        }
        assert_eq!((zones["a"].state, zones["b"].state), (ZoneState::Full, ZoneState::Normal));
    }
}
