//! Leader election: of several processes of a component one works, the others wait. Mirrors
//! `client-go/tools/leaderelection` with a Lease as its lock.
//!
//! Each candidate tries to write its name into the Lease; the resourceVersion lets only one of two succeed. The leader
//! writes the time again every two seconds. A candidate that has seen the Lease stay as it is for fifteen seconds takes
//! it. A leader that cannot write for ten seconds ends: so it has stopped before another begins.
//!
//! Must hold:
//! - No candidate compares the time in the Lease with its own clock, so clocks may differ by any amount. Kept by
//!   `the_standby_takes_over_when_the_leader_has_stopped`.
//!
//! What the ten and the fifteen seconds rest on is that clocks run equally fast, and that a process which is late notices
//! before it acts. One that hangs for longer and wakes up does not: it begins a renewal then, and until the deadline of
//! that is over two act. Only what the API server checks with every write (a resourceVersion) is safe against that.
//!
//! Left out: releasing the Lease at an orderly end; the Event `stopped leading`, which a process that ends at once never
//! gets to send.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::api::Client;
use super::recorder::{EventType, Recorder};
use engine::{Actor, ActorId, Delivery, Hub, Memory, Note};
use object::time::Instant;
use wire::{Error, User};

/// The namespace of the leases.
pub const NAMESPACE: &str = "kube-system";
/// So long a Lease that stays as it is belongs to its holder. `--leader-elect-lease-duration`.
const LEASE_DURATION: Duration = Duration::from_secs(15);
/// So long a leader may fail to renew it. `--leader-elect-renew-deadline`.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// So often it is renewed, and so often others try. `--leader-elect-retry-period`.
const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// Others wait up to so many times longer, each a little differently. `JitterFactor`.
const JITTER: f64 = 1.2;
/// How many updates a leader tries before it gives up: two in each try.
pub const UPDATES_UNTIL_LOST: u32 = 2 * (RENEW_DEADLINE.as_secs() / RETRY_PERIOD.as_secs()) as u32;

/// Wake: try to get the Lease, or renew it.
pub const TRY: &str = "leader election";
const LEAD: &str = "leads";
/// Wake: the Lease was not renewed in time.
pub const DEADLINE: &str = "renew deadline";

/// Requests a second that a candidate's client may send, and how many at once.
const QPS: u32 = 20;
const BURST: u32 = 30;

/// Who stands for election, and for what.
pub struct Candidate<'a> {
    /// The component: the name of its Lease.
    pub component: &'static str,
    /// The process: `kube-scheduler/2`.
    pub process: &'a str,
    /// The machine it runs on.
    pub host: &'a str,
}

/// A process that works as long as it leads.
pub struct Elected {
    name: Rc<str>,
    worker: Rc<dyn Actor>,
    election: Rc<Election>,
    /// Ends the process; it is then started again.
    end: Rc<dyn Fn()>,
}

struct Election {
    component: &'static str,
    identity: String,
    hub: Hub,
    actor: ActorId,
    client: Client,
    recorder: Recorder,
    state: Memory<State>,
}

#[derive(Clone, Default)]
struct State {
    /// The Lease as last seen, and when it was first seen so.
    seen: Option<Arc<Lease>>,
    since: Instant,
    leads: bool,
    /// A try is under way.
    trying: bool,
    /// A renewal has begun and not succeeded; which, so that a deadline of another is known.
    renewing: Option<u64>,
    renewals: u64,
}

impl Elected {
    /// `worker` as a candidate, in its place as `actor`. `end` is called when it must not work any more.
    pub fn new(
        hub: Hub,
        actor: ActorId,
        candidate: &Candidate<'_>,
        worker: Rc<dyn Actor>,
        end: Rc<dyn Fn()>,
    ) -> Elected {
        let Candidate { component, process, host } = candidate;
        let user = Rc::new(User::component(&format!("system:{component}"), process));
        let new_client = || Client::new(hub.clone(), actor, user.clone(), QPS, BURST);
        let recorder = Recorder::new(new_client(), component, "");
        let identity = format!("{host}_{}", hub.random(|random| random.uid()));
        let (client, state) = (new_client(), hub.memory(State::default()));
        let election = Election { component, identity, hub, actor, client, recorder, state };
        Elected { name: (*process).into(), worker, election: Rc::new(election), end }
    }
}

impl Actor for Elected {
    fn name(&self) -> &str {
        &self.name
    }

    /// The first try is part of starting; from then on all goes on in the background.
    fn start(&self) {
        let election = self.election.clone();
        let label = format!("{} leader election", self.name);
        election.state.borrow_mut().trying = true;
        self.election.hub.spawn(self.election.actor, label, async move { election.attempt().await });
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Wake { what: TRY, .. } => self.election.tick(&self.name),
            Delivery::Wake { what: LEAD, .. } => self.worker.start(),
            Delivery::Wake { what: DEADLINE, key } => {
                if self.election.is_lost(&key) {
                    (self.end)();
                }
            }
            other => self.worker.deliver(other),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self.worker.as_any()
    }
}

impl Election {
    /// Time to try, or to renew. A renewal that does not succeed is tried again until its deadline.
    fn tick(self: &Rc<Self>, process: &str) {
        let mut state = self.state.borrow_mut();
        if state.leads {
            if state.renewing.is_none() {
                state.renewals += 1;
                state.renewing = Some(state.renewals);
                self.hub.wake_background(self.actor, DEADLINE, state.renewals.to_string(), RENEW_DEADLINE);
            }
            self.hub.wake_background(self.actor, TRY, "", RETRY_PERIOD);
        }
        if !std::mem::replace(&mut state.trying, true) {
            let (me, label) = (self.clone(), format!("{process} leader election"));
            self.hub.spawn_background(self.actor, label, async move { me.attempt().await });
        }
    }

    /// Whether this deadline was that of a renewal that has not succeeded.
    fn is_lost(&self, renewal: &str) -> bool {
        let lost = self.state.borrow().renewing.is_some_and(|renewing| renewing.to_string() == renewal);
        if lost {
            let text = || format!("{} could not renew its lease for ten seconds: it ends", self.identity);
            self.hub.note(|| Note::Text { topic: "leader", text: text() });
        }
        lost
    }

    async fn attempt(&self) {
        let held = self.acquire_or_renew().await.unwrap_or(false);
        let mut state = self.state.borrow_mut();
        state.trying = false;
        match (held, state.leads) {
            (true, true) => state.renewing = None,
            (true, false) => {
                state.leads = true;
                let lease = state.seen.clone();
                drop(state);
                if let Some(lease) = lease {
                    let message = format!("{} became leader", self.identity);
                    self.recorder.event(&*lease, EventType::Normal, "LeaderElection", message);
                }
                self.hub.wake(self.actor, LEAD, "", Duration::ZERO);
                self.hub.wake_background(self.actor, TRY, "", RETRY_PERIOD);
            }
            (false, true) => {}
            (false, false) => {
                let share = self.hub.random(|random| random.below(1_000)) as f64 / 1e3;
                self.hub.wake_background(self.actor, TRY, "", RETRY_PERIOD.mul_f64(1.0 + JITTER * share));
            }
        }
    }

    /// `tryAcquireOrRenew`: whether the Lease is ours now.
    async fn acquire_or_renew(&self) -> Result<bool, Error> {
        let seen = self.state.borrow().seen.clone();
        if let Some(lease) = seen.filter(|lease| self.is_ours(lease) && !self.has_expired()) {
            // The leader knows what it wrote last, and need not read.
            if let Ok(written) = self.client.update(self.renewed(&lease)).await {
                self.saw(written);
                return Ok(true);
            }
        }
        let lease = match self.client.get::<Lease>(NAMESPACE, self.component).await {
            Ok(lease) => lease,
            Err(error) if error.is_not_found() => {
                let written = self.client.create(self.first()).await?;
                self.saw(written);
                return Ok(true);
            }
            Err(error) => return Err(error),
        };
        self.saw(lease.clone());
        if !self.is_ours(&lease) && !holder(&lease).is_empty() && !self.has_expired() {
            return Ok(false);
        }
        let written = self.client.update(self.renewed(&lease)).await?;
        self.saw(written);
        Ok(true)
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        holder(lease) == self.identity
    }

    /// Whether the Lease has stayed as it is for too long, by this process' own clock.
    fn has_expired(&self) -> bool {
        let state = self.state.borrow();
        let seconds = state.seen.as_ref().and_then(|lease| lease.spec.as_ref()?.lease_duration_seconds);
        let duration = seconds.map_or(LEASE_DURATION, |seconds| Duration::from_secs(seconds.max(0) as u64));
        self.hub.now() - state.since >= duration
    }

    /// Remembers the Lease, and since when it is what it is.
    fn saw(&self, lease: Arc<Lease>) {
        let mut state = self.state.borrow_mut();
        if state.seen.as_ref().is_none_or(|seen| seen.spec != lease.spec) {
            state.since = self.hub.now();
        }
        state.seen = Some(lease);
    }

    fn first(&self) -> Lease {
        let metadata = ObjectMeta {
            name: Some(self.component.into()),
            namespace: Some(NAMESPACE.into()),
            ..ObjectMeta::default()
        };
        Lease { metadata, spec: Some(self.spec(None)) }
    }

    /// The Lease with our name in it, as of now.
    fn renewed(&self, lease: &Lease) -> Lease {
        Lease { metadata: lease.metadata.clone(), spec: Some(self.spec(lease.spec.as_ref())) }
    }

    fn spec(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let now = self.hub.now().micro_time();
        let ours = before.filter(|spec| spec.holder_identity.as_deref() == Some(&self.identity));
        let transitions = before.map_or(0, |spec| spec.lease_transitions.unwrap_or(0) + i32::from(ours.is_none()));
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(LEASE_DURATION.as_secs() as i32),
            acquire_time: ours.and_then(|spec| spec.acquire_time.clone()).or(Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }
}

/// The holder of a Lease; empty: none.
pub fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}
