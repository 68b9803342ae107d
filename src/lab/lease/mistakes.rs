//! What learners do instead.

use super::*;
use crate::mistake::mistakes;

/// What learners really write, and how to say so.
pub(super) const MISTAKES: &[Mistake<Rule>] = mistakes! {
    by_renew_time: "its own clock is compared with renewTime, which another clock has written; no two show the same"
        => { is_over: |_, now, spec| now >= spec.renew_time.as_ref().map_or(0, seconds) + duration(spec) };
    by_acquire_time: "its own clock is compared with acquireTime, which another clock has written"
        => { is_over: |_, now, spec| now >= spec.acquire_time.as_ref().map_or(0, seconds) + duration(spec) };
    same_holder: "only another holder counts as a change, so a leader that renews is taken for dead"
        => { is_news: |before, now| holder(before) != holder(now) };
    any_change: "anything that is written into the Lease counts as a renewal, a label too"
        => { is_news: |before, now| before != now };
    once_seen: "the time since the Lease was first seen does not begin anew when it is renewed"
        => { is_news: |_, _| false };
    own_duration: "another's Lease is waited for as long as one's own would last; its leaseDurationSeconds counts"
        => { is_over: |since, now, _| now >= since + LEASE_SECONDS };
    by_deadline: "another's Lease is taken after the ten seconds in which a leader may renew; it lasts longer"
        => { is_over: |since, now, _| now >= since + RENEW_DEADLINE };
    one_more: "another's Lease is waited for one second longer than it lasts"
        => { is_over: |since, now, spec| now > since + duration(spec) };
    one_less: "another's Lease is taken one second before it is over"
        => { is_over: |since, now, spec| now + 1 >= since + duration(spec) };
    at_once: "another's Lease is taken at once" => { is_over: |_, _, _| true };
    never: "another's Lease is never taken: the time for which it was seen never comes to its end"
        => { is_over: |_, _, _| false };
    waits_though_free: "a Lease that was released is waited for, though no copy has it any more" => { is_free: |_| false };
    begins_alike: "a name that begins like its own is taken for its own" => {
        is_own: |holder, me| !holder.is_empty() && holder.starts_with(me)
    };
    blindly: "the Lease is written without the resourceVersion that was read: when two copies take it, both believe to have it"
        => { send: |lease| lease.metadata.resource_version = None };
    no_labels: "the Lease is made anew, and what others wrote into it is lost"
        => { send: |lease| lease.metadata.labels = None };
    with_decision: "it leads as soon as it has decided to write; whether that is written is not known then"
        => { begins: |me, holder| holder.is_none_or(|holder| holder.is_empty() || holder == me) };
    with_name: "it leads as soon as it reads its own name; how long that has stood there is not known then"
        => { begins: |me, holder| holder == Some(me) };
    for_ever: "a leader that cannot renew leads on" => { leads: |_| true };
    as_long_as_the_lease: "a leader that cannot renew leads on until another may begin: nothing is left between the two"
        => { leads: |seconds| seconds < LEASE_SECONDS };
    at_deadline: "a leader still leads when the ten seconds are over" => { leads: |seconds| seconds <= RENEW_DEADLINE };
    from_answer: "a renewal counts from its answer; it was written before, and others count from then"
        => { counts: |_, answered| answered };
    not_seen: "it leads on though it has read another's name in the Lease" => { goes_on: true };
    acquired_anew: "a renewal changes acquireTime, as if it had just become the leader"
        => { renew: |spec| spec.acquire_time.clone_from(&spec.renew_time) };
    counts_renewals: "leaseTransitions counts renewals; it counts changes of the holder"
        => { renew: |spec| spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0) + 1) };
    acquired_before: "acquireTime stays that of the leader before" => {
        take: |spec, before| spec.acquire_time.clone_from(&before.acquire_time)
    };
    not_counted: "leaseTransitions stays as it is when the Lease is taken" => {
        take: |spec, before| spec.lease_transitions = before.lease_transitions
    };
    counted_from_one: "a new Lease has changed hands already: leaseTransitions begins with 0"
        => { create: |spec| spec.lease_transitions = Some(1) };
    counted_anew: "leaseTransitions begins anew when the Lease is taken"
        => { take: |spec, _| spec.lease_transitions = Some(0) };
    keeps_duration: "it takes the Lease with the duration of the leader before" => {
        take: |spec, before| spec.lease_duration_seconds = before.lease_duration_seconds
    };
    releases_others: "it releases a Lease that is another's" => { releases: |_, _| true };
    releases_nothing: "it ends without releasing the Lease, and the others wait for nothing" => { releases: |_, _| false };
    name_stays: "it releases the Lease and leaves its name in it" => {
        release: |spec, before| spec.holder_identity.clone_from(&before.holder_identity)
    };
    duration_stays: "the Lease that it releases still says fifteen seconds" => {
        release: |spec, before| spec.lease_duration_seconds = before.lease_duration_seconds
    };
    times_stay: "the Lease that it releases has the times of its last renewal" => {
        release: |spec, before| {
            spec.acquire_time.clone_from(&before.acquire_time);
            spec.renew_time.clone_from(&before.renew_time);
        }
    } | {
        release: |spec, before| spec.acquire_time.clone_from(&before.acquire_time)
    };
    counts_release: "releasing the Lease counts as a change of its holder" => {
        release: |spec, before| spec.lease_transitions = Some(before.lease_transitions.unwrap_or(0) + 1)
    };
    leads_on: "it leads on after it has released the Lease" => { leads_on: true };
};

/// The same as a time.
const LEASE_SECONDS: u64 = LEASE_DURATION.unsigned_abs() as u64;

fn holder(lease: &Lease) -> Option<&String> {
    lease.spec.as_ref()?.holder_identity.as_ref()
}
