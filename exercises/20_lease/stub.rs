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

/// A copy: give it the fields that it needs.
#[derive(Default)]
pub struct Elector {}

/// The copy of this name. It has not seen a Lease yet.
pub fn new(me: &str) -> Elector {
    let _ = me;
    Elector::default()
}

impl Candidate for Elector {
    fn decide(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease> {
        let _ = (lease, now);
        kubestep_exercise::not_started()
    }

    fn written(&mut self, now: u64) {
        let _ = now;
        kubestep_exercise::not_started()
    }

    fn leads(&self, now: u64) -> bool {
        let _ = now;
        kubestep_exercise::not_started()
    }

    fn release(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease> {
        let _ = (lease, now);
        kubestep_exercise::not_started()
    }
}
