//! What learners do instead.

use super::*;
use crate::mistake::mistakes;

/// What learners really write, and how to say so.
pub(super) const MISTAKES: &[Mistake<Rule>] = mistakes! {
    through_update: "it writes with update, which leaves the status as it is" => { write: |api, site| api.update(site) };
    no_own_generation: "Ready has no observedGeneration: a client cannot tell for which spec it is the answer" => { own: |_| None };
    no_observed: "the status has no observedGeneration of its own" => { observed: |_, before| before };
    live_site: "it reports on the Site that it has just read, which was never acted upon" => { of: |_, there| there.clone() };
    live_generation: "observedGeneration is that of the Site that it has just read, which was never acted upon"
        => { of: |given, there| Site { metadata: there.metadata.clone(), ..given.clone() } };
    live_replicas: "it counts against what the Site asks for by now, and not against what was acted upon"
        => { of: |given, there| Site { spec: there.spec.clone(), ..given.clone() } };
    always_now: "lastTransitionTime is the time of the report, though Ready says what it said before"
        => { since: |_, _, now| now };
    at_any_change: "lastTransitionTime changes with the message; it says since when Ready has its status"
        => {
            since: |before, next, now| {
                let same = |before: &&Condition| before.status == next.status && before.message == next.message;
                since_when(before.filter(same), now)
            }
        };
    at_new_generation: "lastTransitionTime changes with the generation; it says since when Ready has its status"
        => {
            since: |before, next, now| {
                let generation = next.observed_generation;
                let same = |before: &&Condition| before.observed_generation == generation;
                since_when(before.filter(|before| before.status == next.status).filter(same), now)
            }
        };
    never_now: "lastTransitionTime stays, though Ready has another status" => { since: |before, _, now| since_when(before, now) };
    unknown_is_no_turn: "lastTransitionTime stays when Ready becomes Unknown"
        => {
            since: |before, next, now| {
                let same = |before: &&Condition| before.status == next.status || next.status == "Unknown";
                since_when(before.filter(same), now)
            }
        };
    only_own: "the conditions of other writers are lost"
        => {
            put: |all, _, condition| {
                all.clear();
                all.push(condition);
            }
        };
    appends: "it adds a second Ready: of each type there is one condition" => { put: |all, _, condition| all.push(condition) };
    first_of_all: "it takes the first condition for Ready, and others have written that"
        => { place: |all| Some(0).filter(|_| !all.is_empty()) };
    always_writes: "it writes the status though it says all this already" => { is_written: |_, _| true };
    ignores_generation: "it does not write if nothing but the generation is another: clients wait for that"
        => { is_written: |before, after| without_generations(before) != without_generations(after) };
    turns_only: "it writes only if Ready has another status"
        => { is_written: |before, after| word(before) != word(after) };
    no_version: "the resourceVersion is not sent, so that there is no conflict and others' changes are lost"
        => {
            sent: |_, mut there| {
                there.metadata.resource_version = None;
                there
            }
        };
    cached_status: "it changes the status that it was called with; others have written since"
        => {
            base: |given, _| given.status.clone(),
            concerns: |given, there| is_same(given, there) && !is_overtaken(given, given)
        };
    sends_cached: "it sends the version that it was called with, which is old: that is refused each time"
        => { sent: |given, _| given.clone() };
    gives_up_at_once: "a conflict is given to the caller at once; it asks for another try" => { tries: 1 };
    gives_up: "it gives up before the fifth try" => { tries: 4 } | { tries: 3 } | { tries: 2 };
    goes_on: "it goes on after the fifth try" => { tries: 100 };
    sends_again: "after a conflict it sends the same again, without reading" => { live: None };
    new_version_only: "after a conflict it takes over the new resourceVersion only, so that others' changes are lost"
        => { live: Some(|first, now| Site { status: first.status.clone(), ..now }) };
    retries_all: "every refusal of a write is tried again; only a conflict is worth it"
        => { write: |api, site| api.update_status(site).map_err(other_is_conflict) };
    pauses: "it pauses between two tries, and no other program waits meanwhile" => { pauses: true };
    swallows: "it takes a refused write for done" => { written: |_| Ok(()) };
    gone_is_error: "that the Site is gone is no error: there is nothing to report"
        => { read: Err } | { written: Err } | { read: Err, written: Err };
    other_uid: "it reports on another Site of the same name, which was made after this one was deleted"
        => { concerns: |given, there| !is_overtaken(given, there) };
    goes_back: "it puts an old report in the place of one about a newer generation" => { concerns: is_same };
    once_a_generation: "it reports on each generation once only"
        => {
            concerns: |given, there| {
                let said = there.status.as_ref().and_then(|status| status.observed_generation);
                is_same(given, there) && said < given.metadata.generation
            }
        };
    only_newest: "it reports nothing once the spec has changed; the status stays behind while users write often"
        => { concerns: |given, there| is_same(given, there) && there.metadata.generation <= given.metadata.generation };
    unknown_is_false: "Pods that were not counted are taken for not ready: that is Unknown"
        => { says: |ready, wanted| if ready.is_none() { ("False", "SomeNotReady") } else { says(ready, wanted) } };
    unknown_is_nothing: "without a number it says nothing, and clients believe what was said before"
        => { is_said: |ready| ready.is_some() };
    exactly: "more ready Pods than asked for are taken for too few"
        => { says: |ready, wanted| says(ready.map(|ready| if ready > wanted { -1 } else { ready }), wanted) };
    one_is_enough: "one ready Pod is taken for enough"
        => { says: |ready, wanted| says(ready.map(|ready| if ready > 0 { i32::MAX } else { ready }), wanted) };
    none_is_not_ready: "a Site that asks for no Pods is never Ready"
        => { says: |ready, wanted| says(ready.map(|ready| if ready > 0 { ready } else { -1 }), wanted) };
    whole_status: "it makes the status anew, and what others wrote into it is lost" => { kept: |status| status.address = None };
    no_number: "readyReplicas is not written" => { number: |_, before| before };
    unknown_is_zero: "readyReplicas becomes 0 if the Pods were not counted" => { number: |ready, _| ready.or(Some(0)) };
    keeps_message: "the message stays as long as the status is the same, and so does its number"
        => { message: |before, message| before.map_or(message, |before| before.message.clone()) };
};

/// A status without what says which generation it is about.
fn without_generations(status: &SiteStatus) -> SiteStatus {
    let mut status = SiteStatus { observed_generation: None, ..status.clone() };
    status.conditions.iter_mut().flatten().for_each(|one| one.observed_generation = None);
    status
}

fn word(status: &SiteStatus) -> Option<&str> {
    ready_in(status).map(|ready| &*ready.status)
}

/// What is tried again as a conflict is.
fn other_is_conflict(why: Refused) -> Refused {
    if matches!(why, Refused::Other(_)) { Refused::Conflict } else { why }
}
