//! Exercise 23: what does a status say?
//!
//! `Site` is a kind of your own, and a Site's status is a resource of its own: `update` writes all but the status, `update_status`
//! writes the status and nothing else. An operator has done what a Site asks for. Now it says in the status how far that is.
//! Clients wait for the condition `Ready`, so it must not say more than is known.
//!
//! `report` is called with the Site as the operator acted upon it, with the number of its Pods that are ready, and with the time.
//! The Site is from a cache: its spec may have changed since, and its status too. Write into the status:
//!
//! - `observedGeneration`: the generation that the operator acted upon, and `readyReplicas`: the number. Without a number
//!   `readyReplicas` stays;
//! - the condition `Ready`. Its `status` and `reason` are `True` and `AllReady` if as many Pods are ready as that generation asks
//!   for, or more; `False` and `SomeNotReady` if fewer are; `Unknown` and `NotCounted` without a number. Its `message` is
//!   `2 of 3 Pods are ready`, or `the Pods were not counted`. It has an `observedGeneration` of its own, the same one;
//! - its `lastTransitionTime`: `time(now)` if `Ready` was not there or had another `status`. Else it stays, even if another field changes.
//!
//! The status has other writers. Their conditions and fields stay as they are. A status that says all this already is not written.
//!
//! Read the Site before each write (`get`). A write is refused with `Refused::Conflict` if the Site has another resourceVersion
//! than you send. Then what you know is old: read again. Try five times at most, without a pause, then give that refusal to the
//! caller; any other refusal at once. Three times there is nothing to report, and that is no error: the Site is gone
//! (`Refused::NotFound`); it has another uid, so it is a new Site of the same name; or its status has the `observedGeneration` of a
//! newer generation than yours.

#![allow(unused_imports)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kubestep_exercise::conditions::{Api, Refused, Site, SiteStatus, seconds, time};

// Yours from here.

/// What comes of one try.
enum Try {
    Done,
    Again,
}

/// Changes what differs, field by field, and counts whether any did.
pub fn report(site: &Site, ready: Option<i32>, now: u64, api: &mut dyn Api) -> Result<(), Refused> {
    let mut count = 0;
    loop {
        match attempt(site, ready, now, api)? {
            Try::Done => return Ok(()),
            Try::Again if count == 4 => return Err(Refused::Conflict),
            Try::Again => count += 1,
        }
    }
}

fn attempt(site: &Site, ready: Option<i32>, now: u64, api: &mut dyn Api) -> Result<Try, Refused> {
    let mut live = match api.get() {
        Ok(live) => live,
        Err(Refused::NotFound) => return Ok(Try::Done),
        Err(other) => return Err(other),
    };
    let generation = site.metadata.generation;
    let reported = live.status.as_ref().and_then(|status| status.observed_generation);
    match (&live.metadata.uid, reported) {
        (uid, _) if *uid != site.metadata.uid => return Ok(Try::Done),
        (_, Some(newer)) if Some(newer) > generation => return Ok(Try::Done),
        _ => {}
    }
    let status = live.status.get_or_insert_default();
    let mut changed = set(&mut status.observed_generation, generation);
    if ready.is_some() {
        changed |= set(&mut status.ready_replicas, ready);
    }
    let conditions = status.conditions.get_or_insert_default();
    if !conditions.iter().any(|one| one.type_ == "Ready") {
        // Of no status yet, so that any is another.
        conditions.push(Condition {
            type_: "Ready".to_owned(),
            status: String::new(),
            reason: String::new(),
            message: String::new(),
            observed_generation: None,
            last_transition_time: time(0),
        });
    }
    for one in conditions.iter_mut().filter(|one| one.type_ == "Ready") {
        let (status, reason) = match ready.map(|ready| ready >= site.spec.replicas) {
            Some(true) => ("True", "AllReady"),
            Some(false) => ("False", "SomeNotReady"),
            None => ("Unknown", "NotCounted"),
        };
        if set(&mut one.status, status.to_owned()) {
            one.last_transition_time = time(now);
            changed = true;
        }
        let message = ready.map(|ready| format!("{ready} of {} Pods are ready", site.spec.replicas));
        changed |= set(&mut one.reason, reason.to_owned());
        changed |= set(&mut one.message, message.unwrap_or("the Pods were not counted".to_owned()));
        changed |= set(&mut one.observed_generation, generation);
    }
    if !changed {
        return Ok(Try::Done);
    }
    match api.update_status(live) {
        Ok(_) | Err(Refused::NotFound) => Ok(Try::Done),
        Err(Refused::Conflict) => Ok(Try::Again),
        Err(other) => Err(other),
    }
}

/// Whether that changes it.
fn set<T: PartialEq>(there: &mut T, next: T) -> bool {
    let differs = *there != next;
    *there = next;
    differs
}
