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

/// One try after another, each a function of what was read.
pub fn report(site: &Site, ready: Option<i32>, now: u64, api: &mut dyn Api) -> Result<(), Refused> {
    let result = tries(site, ready, now, api, 5);
    if result == Err(Refused::NotFound) { Ok(()) } else { result }
}

fn tries(site: &Site, ready: Option<i32>, now: u64, api: &mut dyn Api, left: u32) -> Result<(), Refused> {
    if left == 0 {
        return Err(Refused::Conflict);
    }
    let mut live = api.get()?;
    if live.metadata.uid != site.metadata.uid {
        return Ok(());
    }
    let old = live.status.clone();
    let generation = site.metadata.generation.unwrap_or(0);
    if old.as_ref().and_then(|old| old.observed_generation).unwrap_or(0) > generation {
        return Ok(());
    }
    let status = live.status.get_or_insert_with(SiteStatus::default);
    status.observed_generation = Some(generation);
    if let Some(ready) = ready {
        status.ready_replicas = Some(ready);
    }
    let all = status.conditions.take().unwrap_or_default();
    let (own, mut others): (Vec<Condition>, Vec<Condition>) = all.into_iter().partition(|one| one.type_ == "Ready");
    let (word, reason, message) = words(ready, site.spec.replicas);
    let mut since = time(now);
    for one in &own {
        if one.status == word {
            since = one.last_transition_time.clone();
        }
    }
    // The order of conditions says nothing: it is the first here.
    others.insert(0, Condition {
        last_transition_time: since,
        message,
        observed_generation: Some(generation),
        reason,
        status: word,
        type_: String::from("Ready"),
    });
    status.conditions = Some(others);
    if says_the_same(old.as_ref(), status) {
        return Ok(());
    }
    match api.update_status(live) {
        Ok(_) => Ok(()),
        Err(Refused::Conflict) => tries(site, ready, now, api, left - 1),
        Err(other) => Err(other),
    }
}

fn says_the_same(old: Option<&SiteStatus>, new: &SiteStatus) -> bool {
    let sorted = |status: &SiteStatus| {
        let mut status = status.clone();
        status.conditions.iter_mut().for_each(|all| all.sort_by_key(|one| one.type_.clone()));
        status
    };
    old.is_some_and(|old| sorted(old) == sorted(new))
}

fn words(ready: Option<i32>, wanted: i32) -> (String, String, String) {
    let (status, reason, message) = match ready {
        Some(n) if n < wanted => ("False", "SomeNotReady", format!("{n} of {wanted} Pods are ready")),
        Some(n) => ("True", "AllReady", format!("{n} of {wanted} Pods are ready")),
        None => ("Unknown", "NotCounted", "the Pods were not counted".into()),
    };
    (status.into(), reason.into(), message)
}
