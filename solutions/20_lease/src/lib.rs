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

/// A copy, and what it knows.
pub struct Elector {
    me: String,
    /// What the Lease said when it was read last, and since when it has been seen to say so.
    seen: Option<(LeaseSpec, u64)>,
    /// When the last Lease was given, and when the last one that was written.
    decided: u64,
    renewed: Option<u64>,
}

/// The copy of this name. It has not seen a Lease yet.
pub fn new(me: &str) -> Elector {
    Elector { me: me.to_owned(), seen: None, decided: 0, renewed: None }
}

impl Candidate for Elector {
    fn decide(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease> {
        self.decided = now;
        let Some(lease) = lease else {
            let mut spec = self.acquired(LeaseSpec::default(), now);
            spec.lease_transitions = Some(0);
            return Some(Lease { spec: Some(spec), ..Lease::default() });
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let since = match &self.seen {
            Some((seen, since)) if *seen == spec => *since,
            _ => now,
        };
        self.seen = Some((spec.clone(), since));
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let spec = if holder == self.me {
            LeaseSpec { renew_time: Some(time(now)), ..spec }
        } else {
            let duration = spec.lease_duration_seconds.unwrap_or(0) as u64;
            if !holder.is_empty() {
                self.renewed = None;
                if now < since + duration {
                    return None;
                }
            }
            self.acquired(spec, now)
        };
        Some(Lease { spec: Some(spec), ..lease.clone() })
    }

    fn written(&mut self, _: u64) {
        self.renewed = Some(self.decided);
    }

    fn leads(&self, now: u64) -> bool {
        self.renewed.is_some_and(|renewed| now < renewed + RENEW_DEADLINE)
    }

    fn release(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease> {
        self.renewed = None;
        let lease = lease?;
        let mut spec = lease.spec.clone()?;
        if spec.holder_identity.as_deref() != Some(self.me.as_str()) {
            return None;
        }
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.acquire_time = Some(time(now));
        spec.renew_time = Some(time(now));
        Some(Lease { spec: Some(spec), ..lease.clone() })
    }
}

impl Elector {
    /// A Lease that belongs to this copy from now on.
    fn acquired(&self, spec: LeaseSpec, now: u64) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: Some(LEASE_DURATION),
            acquire_time: Some(time(now)),
            renew_time: Some(time(now)),
            lease_transitions: Some(spec.lease_transitions.unwrap_or(0) + 1),
            ..spec
        }
    }
}
