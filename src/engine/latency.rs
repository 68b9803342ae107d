//! How long every kind of hop takes in virtual time: the one place that sets it.
//!
//! The values are close to what recordings of a real control plane on one machine show (a write answered in
//! 2 to 10 ms), so that the default order of events is the usual order of a real cluster. While a real cluster is quiet, a
//! write's watch event reaches its own writer before the answer about twice in three times. Here it does so always with seed 0,
//! and with about that chance where hops vary. A controller that reconciles again at once then sees what it has written. The
//! other order is one choice away (a held watch, another seed), and it is the default of a cluster whose watches are late
//! ([`Latency::watches_are_late`]).
//!
//! Nodes are the exception. A Node is among the largest objects, and the watch cache decodes it twice, as it is and as it was,
//! where the answer is decoded once. In the recordings the watch event of a patched Node came 3 ms after the answer (the median
//! of 23), that of an updated Deployment 1 ms (129). In two of the three in which a node joins, the TTL controller did not yet
//! have its own annotation in its cache when it reconciled again, and patched the Node twice.
//!
//! With a seed other than 0 each hop varies by half its length, which is what real clusters do too.
//!
//! # Must hold
//! - A writer hears of its own write before the answer, unless it wrote a Node or watches are late. Kept by
//!   `a_writer_hears_of_its_write_before_the_answer`.
//! - With other seeds that is so about twice in three times. Kept by `hops_that_vary_have_the_usual_order_mostly`.

use std::time::Duration;

use super::event::What;
use object::Kind;
use object::random::Random;

/// API server to a watching informer.
const USUAL: Duration = Duration::from_micros(2_000);
/// The same for Nodes, and for every kind where watches are late: longer than a write takes to be answered.
const LATE: Duration = Duration::from_micros(3_000);

/// The virtual length of each hop.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Client to API server.
    pub request: Duration,
    /// API server to client, after a read.
    pub read_response: Duration,
    /// API server to client, after a write: etcd has to sync its log.
    pub write_response: Duration,
    /// API server to a watching informer.
    pub notification: Duration,
    /// The same for a Node.
    pub node_notification: Duration,
    /// etcd to an API server that follows it, where there are several.
    pub etcd: Duration,
    /// Between two events of one watch: a client decodes them one by one.
    pub between_notifications: Duration,
    /// A worker is told that its queue holds a key.
    pub wake: Duration,
    /// Kubelet to runtime, runtime to network plugin, and back.
    pub rpc: Duration,
    /// A packet from one network device to the next.
    pub packet: Duration,
    jitter: Option<Random>,
}

impl Latency {
    /// The default lengths; every seed but 0 makes them vary.
    pub fn new(seed: u64) -> Latency {
        Latency {
            request: Duration::from_micros(500),
            read_response: Duration::from_micros(500),
            write_response: Duration::from_micros(2_500),
            notification: USUAL,
            node_notification: LATE,
            etcd: Duration::from_micros(500),
            between_notifications: Duration::from_micros(200),
            wake: Duration::from_micros(100),
            rpc: Duration::from_micros(200),
            packet: Duration::from_micros(50),
            jitter: (seed != 0).then(|| Random::new(seed)),
        }
    }

    /// Whether, from now on, watch events arrive after the answers to the writes that they tell of.
    pub fn watches_are_late(&mut self, late: bool) {
        self.notification = if late { LATE } else { USUAL };
    }

    /// From now on hops vary as with this seed.
    pub fn reseed(&mut self, seed: u64) {
        self.jitter = (seed != 0).then(|| Random::new(seed));
    }

    /// How long `what` is under way.
    pub fn of(&mut self, what: &What) -> Duration {
        let base = match what {
            What::Request { .. } => self.request,
            What::Response { answer, .. } if answer.code == 200 && !answer.wrote => self.read_response,
            What::Response { .. } => self.write_response,
            What::Notification { event, .. } if event.kind() == Some(Kind::Node) => self.node_notification,
            What::Notification { .. } => self.notification,
            What::Wake { .. } => self.wake,
            What::Resume { .. } | What::Fault { .. } => return Duration::ZERO,
            What::Rpc { .. } | What::Reply { .. } => self.rpc,
            What::Packet { .. } => self.packet,
        };
        self.varied(base)
    }

    /// How long what etcd tells an API server is under way.
    pub fn of_etcd(&mut self) -> Duration {
        self.varied(self.etcd)
    }

    fn varied(&mut self, base: Duration) -> Duration {
        match &mut self.jitter {
            None => base,
            Some(random) => base / 2 + Duration::from_nanos(random.below(base.as_nanos() as u64 + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_hears_of_its_write_before_the_answer() {
        let mut latency = Latency::new(0);
        assert!(latency.notification < latency.write_response);
        assert!(latency.node_notification > latency.write_response);
        latency.watches_are_late(true);
        assert!(latency.notification > latency.write_response);
    }

    #[test]
    fn hops_that_vary_have_the_usual_order_mostly() {
        let mut latency = Latency::new(7);
        let (told, answered) = (latency.notification, latency.write_response);
        let first = (0..3000).filter(|_| latency.varied(told) < latency.varied(answered)).count();
        assert!((1900..2200).contains(&first), "{first} of 3000");
    }
}
