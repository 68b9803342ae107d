//! How long every kind of hop takes in virtual time: the one place that sets it.
//!
//! The values are close to what recordings of a real control plane on one machine show (a write answered in
//! 2 to 10 ms, a watch event right behind it), so that the default order of events is a real cluster's order.
//! With a seed other than 0 each hop varies by half its length, which is what real clusters do too.

use std::time::Duration;

use super::event::What;
use object::random::Random;

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
            notification: Duration::from_micros(3_000),
            etcd: Duration::from_micros(500),
            between_notifications: Duration::from_micros(200),
            wake: Duration::from_micros(100),
            rpc: Duration::from_micros(200),
            packet: Duration::from_micros(50),
            jitter: (seed != 0).then(|| Random::new(seed)),
        }
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
