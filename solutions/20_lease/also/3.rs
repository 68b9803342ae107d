//! Exercise 20: which of several copies works?
//!
//! Several copies of a program run, so that there is another if one fails; one works, the others wait. They agree by a Lease,
//! which all read and write. Each copy has a clock of its own: all run equally fast, and none shows the same time.
//!
//! `decide` is called every few seconds with the Lease as it has just been read:
//!
//! - no Lease: give a new one with your name (`holderIdentity`), `LEASE_DURATION` (`leaseDurationSeconds`), your time (`time(now)`)
//!   as `acquireTime` and `renewTime`, and 0 `leaseTransitions`;
//! - one with your name: renew it. Only `renewTime` changes;
//! - one without a name (empty, or none): it was released. Take it;
//! - one with another's name: it is theirs while they renew it. Take it when its spec has stayed the same for the number of
//!   seconds in its `leaseDurationSeconds`, or longer, by your own clock and since you first saw it so. Else give nothing.
//!
//! To take it: your name, `LEASE_DURATION`, your time as `acquireTime` and `renewTime`, and one more in `leaseTransitions`. The rest
//! stays as you read it, labels too. So does the `resourceVersion`: when two copies take the Lease at once, the API server
//! refuses the second.
//!
//! You lead once `written` tells you that the Lease which you gave was written, and for `RENEW_DEADLINE` seconds, counted from the
//! `decide` that gave it: nine seconds after that you lead, ten seconds after it you do not. Each renewal that was written
//! begins the ten seconds again. You stop leading when you read another's name in the Lease. `leads` is asked before each
//! action that is the leader's alone.
//!
//! `release` is called once, before an orderly end: from then on you do not lead. If the Lease has your name, give it with an empty
//! name, 1 as `leaseDurationSeconds`, and your time as `acquireTime` and `renewTime`; the rest stays.

#![allow(unused_imports)]

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kubestep_exercise::lease::{Candidate, LEASE_DURATION, RENEW_DEADLINE, seconds, time};

// Yours from here.

/// Remembers only what counts as a sign of life, and asks a small function what is to be done.
#[derive(Clone, Debug, Default)]
pub struct Elector {
    me: String,
    sign: Option<LeaseSpec>,
    first_seen: u64,
    begun: Option<u64>,
    led_since: Option<u64>,
}

pub fn new(me: &str) -> Elector {
    Elector { me: me.to_owned(), ..Default::default() }
}

fn is_due(spec: &LeaseSpec, unchanged_for: u64) -> bool {
    match spec.holder_identity.as_deref() {
        None | Some("") => true,
        Some(_) => unchanged_for >= spec.lease_duration_seconds.map_or(0, |seconds| seconds.max(0) as u64),
    }
}

fn own(me: &str, now: u64, transitions: i32, before: LeaseSpec) -> Option<LeaseSpec> {
    let now = Some(time(now));
    let mut spec = before;
    spec.holder_identity = Some(me.to_owned());
    spec.lease_duration_seconds = Some(LEASE_DURATION);
    spec.acquire_time = now.clone();
    spec.renew_time = now;
    spec.lease_transitions = Some(transitions);
    Some(spec)
}

impl Candidate for Elector {
    fn decide(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease> {
        self.begun = Some(now);
        match lease {
            None => Some(Lease { spec: own(&self.me, now, 0, LeaseSpec::default()), ..Lease::default() }),
            Some(Lease { metadata, spec }) => {
                let spec = spec.clone().unwrap_or_default();
                if self.sign.as_ref() != Some(&spec) {
                    (self.sign, self.first_seen) = (Some(spec.clone()), now);
                }
                let mine = spec.holder_identity.as_ref() == Some(&self.me);
                let free = spec.holder_identity.as_ref().is_none_or(String::is_empty);
                if !mine && !free {
                    self.led_since = None;
                }
                let spec = match mine {
                    true => Some(LeaseSpec { renew_time: Some(time(now)), ..spec }),
                    false if !is_due(&spec, now - self.first_seen) => return None,
                    false => own(&self.me, now, spec.lease_transitions.unwrap_or_default() + 1, spec),
                };
                Some(Lease { metadata: metadata.clone(), spec })
            }
        }
    }

    fn written(&mut self, _: u64) {
        self.led_since = self.begun.take();
    }

    fn leads(&self, now: u64) -> bool {
        matches!(self.led_since, Some(since) if now - since < RENEW_DEADLINE)
    }

    fn release(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease> {
        let was_mine = |spec: &&LeaseSpec| spec.holder_identity.as_ref() == Some(&self.me);
        let spec = lease.and_then(|lease| lease.spec.as_ref()).filter(was_mine).cloned();
        self.led_since = None;
        let now = Some(time(now));
        let spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            acquire_time: now.clone(),
            renew_time: now,
            ..spec?
        };
        lease.map(|lease| Lease { spec: Some(spec), metadata: lease.metadata.clone() })
    }
}
