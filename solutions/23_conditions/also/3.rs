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

/// Sends an object with nothing but what a write of the status is taken by: name, uid and version, and the whole status.
pub fn report(site: &Site, ready: Option<i32>, now: u64, api: &mut dyn Api) -> Result<(), Refused> {
    let mut last = Ok(());
    for _ in 1..=5 {
        last = once(site, ready, now, api);
        if last != Err(Refused::Conflict) {
            break;
        }
    }
    last.or_else(|why| if matches!(why, Refused::NotFound) { Ok(()) } else { Err(why) })
}

fn once(site: &Site, ready: Option<i32>, now: u64, api: &mut dyn Api) -> Result<(), Refused> {
    let Site { metadata, status, spec } = api.get()?;
    let acted = site.metadata.generation.unwrap_or_default();
    let said = status.clone().unwrap_or_default();
    if metadata.uid != site.metadata.uid || said.observed_generation.is_some_and(|said| said > acted) {
        return Ok(());
    }
    let mut conditions = said.conditions.clone().unwrap_or_default();
    let mine = conditions.iter().position(|condition| condition.type_ == "Ready");
    let wanted = site.spec.replicas;
    let (word, reason, message) = if let Some(ready) = ready {
        let all = ready >= wanted;
        let (word, reason) = if all { ("True", "AllReady") } else { ("False", "SomeNotReady") };
        (word, reason, format!("{ready} of {wanted} Pods are ready"))
    } else {
        ("Unknown", "NotCounted", String::from("the Pods were not counted"))
    };
    let turned = mine.is_none_or(|mine| conditions[mine].status != word);
    let mut next = Condition {
        last_transition_time: time(now),
        message,
        observed_generation: Some(acted),
        reason: reason.to_string(),
        status: word.to_string(),
        type_: "Ready".to_string(),
    };
    if let Some(mine) = mine {
        let before = conditions.remove(mine);
        if !turned {
            next.last_transition_time = before.last_transition_time;
        }
        conditions.insert(mine, next);
    } else {
        conditions.push(next);
    }
    let next = SiteStatus {
        observed_generation: Some(acted),
        ready_replicas: ready.or(said.ready_replicas),
        address: said.address.clone(),
        conditions: Some(conditions),
    };
    if said == next {
        return Ok(());
    }
    api.update_status(Site { metadata, spec, status: Some(next) }).map(|_| ())
}
