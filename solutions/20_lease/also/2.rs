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

/// What a Lease may be to a copy.
enum Is {
    Missing,
    Mine,
    Free,
    Theirs,
}

/// What a copy does at present.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Waits,
    Leads { until: u64 },
    HasEnded,
}

pub struct Elector {
    me: String,
    observed: Vec<(u64, Lease)>,
    last: u64,
    role: Role,
}

pub fn new(me: &str) -> Elector {
    Elector { me: me.to_string(), observed: vec![], last: 0, role: Role::Waits }
}

impl Elector {
    /// Keeps what was seen, the newest last, as long as it says the same.
    fn observe(&mut self, lease: &Lease, now: u64) {
        self.observed.retain(|(_, before)| before.spec == lease.spec);
        self.observed.push((now, lease.clone()));
    }

    fn what(&self, lease: Option<&Lease>, now: u64) -> Is {
        let Some(spec) = lease.and_then(|lease| lease.spec.as_ref()) else { return Is::Missing };
        let first = self.observed.first().map_or(now, |(at, _)| *at);
        match spec.holder_identity.as_deref().unwrap_or("") {
            "" => Is::Free,
            name if name == self.me => Is::Mine,
            _ if (now - first) as i64 >= spec.lease_duration_seconds.unwrap_or_default() as i64 => Is::Free,
            _ => Is::Theirs,
        }
    }
}

impl Candidate for Elector {
    fn decide(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease> {
        if let Some(lease) = lease {
            self.observe(lease, now);
            let names = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_ref());
            if names.is_some_and(|name| !name.is_empty() && *name != self.me) {
                self.role = Role::Waits;
            }
        }
        self.last = now;
        let mut give = lease.cloned().unwrap_or_else(Lease::default);
        let mut spec = give.spec.take().unwrap_or_default();
        match self.what(lease, now) {
            Is::Theirs => return None,
            Is::Mine => {}
            free => {
                spec.holder_identity = Some(self.me.clone());
                spec.lease_duration_seconds = Some(LEASE_DURATION);
                spec.acquire_time = Some(time(now));
                let before = spec.lease_transitions.unwrap_or(0);
                spec.lease_transitions = Some(if matches!(free, Is::Missing) { 0 } else { before + 1 });
            }
        }
        spec.renew_time = Some(time(now));
        give.spec = Some(spec);
        Some(give)
    }

    fn written(&mut self, _: u64) {
        if self.role != Role::HasEnded {
            self.role = Role::Leads { until: self.last + RENEW_DEADLINE };
        }
    }

    fn leads(&self, now: u64) -> bool {
        matches!(self.role, Role::Leads { until } if now < until)
    }

    fn release(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease> {
        self.role = Role::HasEnded;
        let is_mine = matches!(self.what(lease, now), Is::Mine);
        let mut give = lease.filter(|_| is_mine)?.clone();
        let spec = give.spec.as_mut()?;
        spec.holder_identity = Some("".into());
        spec.lease_duration_seconds = Some(1);
        (spec.acquire_time, spec.renew_time) = (Some(time(now)), Some(time(now)));
        Some(give)
    }
}
