//! Exercise 20: processes that elect a leader by a Lease. Mirrors `tryAcquireOrRenew` and `release` of
//! `client-go/tools/leaderelection`, which the cluster's own components use too (`client/leader.rs`).
//!
//! Several of the learner's candidates run side by side, each with a clock of its own, and a small API server has their Lease.
//! A script says which of them tries when, whose write fails and whose answer gets lost.
//!
//! Must hold:
//! - By the rule two never lead at once, though their clocks differ, as long as only they write which of them has the Lease. Kept by
//!   `two_never_lead_at_once`.
//! - The Lease of one that is gone is taken by the time for which it was seen, not by the times that stand in it. Kept by
//!   `a_dead_leaders_lease_is_taken_by_the_takers_own_clock`.
//!
//! Left out: clocks that run faster than others; the renewal that does not read before it writes; that a process ends which leads
//! no more.

use std::cell::Cell;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use serde_json::{Value, json};

use super::function::Function;
use super::mistake::Mistake;
use super::words::{Part, listed, part};
use super::{Exercise, Judging, words};
use exercise::lease::{
    Act, Candidate, Case, LEASE_DURATION, Moment, OTHER, RENEW_DEADLINE, Wrote, name, run, seconds, time,
};

mod mistakes;
mod questions;

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "20_lease",
    title: "Which of several copies works?",
    outcome: "elect a leader by a Lease, with clocks that disagree, and never have two",
    needs: &["update", "heartbeat"],
    hints: [
        "You read renewTime in the Lease, and it says 12:00:03. Your clock says 12:00:40. Is the leader dead? What do you have to \
         see, and for how long, before you may say so?",
        "Keep the spec as you saw it last, and what your clock showed when you first saw it so. A spec that says anything new \
         starts that time anew; a label does not. For leading, keep the time of the decide, and make it count only when you \
         are told that it was written.",
        "decide: note now. None: create. If the spec differs from the one that you keep: keep this one, since now. Your name: \
         renewTime = time(now). Another's name: you do not lead; if now < since + leaseDurationSeconds, give nothing. Else take \
         it. Give a clone of the Lease that you read with the spec changed, so labels and resourceVersion stay. written: what \
         you noted becomes the time of your renewal. leads: there is one, and now < renewal + 10.",
    ],
    minutes: 40,
    judging: Judging::of::<Electing>(),
};

pub(super) struct Electing;

impl Function for Electing {
    type Question = Case;
    type Answer = Vec<Moment>;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = mistakes::MISTAKES;

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn answer(rule: &Rule, case: &Case) -> Vec<Moment> {
        run(case, |me| Elector::new(rule, me))
    }

    fn property(case: &Case, given: Option<&Vec<Moment>>) -> &'static str {
        let right = Electing::right(case);
        let Some(given) = given else { return "every copy gives answers" };
        let lead_more = |(given, right): (&Moment, &Moment)| given.leads.len() > 1 && right.leads.len() < 2;
        if given.iter().zip(&right).any(lead_more) {
            return "two never lead at once";
        }
        let differs = given.iter().zip(&right).find(|(given, right)| given != right);
        let Some((given, right)) = differs else { return "every copy gives answers" };
        match (given.writes.first(), right.writes.first()) {
            (Some(_), None) => "a Lease stays with its holder as long as that renews it",
            (None, Some(wrote)) if wrote.holder.is_empty() => "a leader that ends in order releases the Lease",
            (None, Some(_)) => "a Lease is renewed, and taken once it was seen unchanged for its duration",
            _ if blindly(given) => "when two copies write at once, one is refused",
            _ if labels(given) != labels(right) => "what others write into the Lease stays",
            _ if given.writes != right.writes => {
                "a Lease says which copy has it, since when, and how often it has changed hands"
            }
            _ if given.leads.len() > right.leads.len() => "a leader that cannot renew stops in time",
            _ => "the copy that has the Lease leads",
        }
    }

    fn show(case: &Case) -> String {
        let clocks = case.clocks.iter().enumerate().map(|(n, clock)| format!("that of {} {clock} s", name(n, 0)));
        let mut text = format!("the clocks show at first: {}\n", listed(clocks));
        text += &match &case.lease {
            None => "there is no Lease\n".to_owned(),
            Some(lease) => words::field("the Lease", &said(lease)) + "\n",
        };
        for (times, acts) in &case.script {
            let acts = acts.iter().map(|act| in_words(*act)).collect::<Vec<_>>().join("; ");
            let times = if *times == 1 { "then".to_owned() } else { format!("{times} times") };
            text += &format!("{times}: {acts}\n");
        }
        text
    }

    /// Up to where it differs from the right one: all that follows is another story.
    fn say(case: &Case, answer: &Vec<Moment>) -> Vec<Part> {
        let right = Electing::right(case);
        let first = answer.iter().zip(&right).position(|(one, other)| one != other);
        let acts = (1..).zip(case.acts()).zip(answer).enumerate();
        let shown = acts.filter(|(n, _)| first.is_none_or(|first| first == *n));
        shown.flat_map(|(_, ((n, act), moment))| parts(n, act, moment)).collect()
    }
}

/// What a Lease says, for a person.
fn said(lease: &Lease) -> Value {
    let spec = lease.spec.clone().unwrap_or_default();
    json!({
        "holderIdentity": names(spec.holder_identity.into_iter()),
        "leaseDurationSeconds": spec.lease_duration_seconds,
        "acquireTime": spec.acquire_time.as_ref().map(seconds),
        "renewTime": spec.renew_time.as_ref().map(seconds),
        "leaseTransitions": spec.lease_transitions,
        "labels": lease.metadata.labels,
    })
}

fn in_words(act: Act) -> String {
    let name = |number| name(number, 0);
    match act {
        Act::Wait(seconds) => format!("{seconds} s pass"),
        Act::Try(one) => format!("{} tries", name(one)),
        Act::Both(one, other) => format!("{} and {} read, and then both write", name(one), name(other)),
        Act::Fails(one) => format!("{} tries, and its write fails", name(one)),
        Act::Lost(one) => format!("{} tries, and the answer gets lost", name(one)),
        Act::Slow(one) => format!("{} tries, and the answer is slow", name(one)),
        Act::Answer(one) => format!("the answer to {} comes", name(one)),
        Act::Ends(one) => format!("{} ends", name(one)),
        Act::Restarts(one) => format!("{} crashes and is started under a new name", name(one)),
        Act::Labels => "a user writes a label".to_owned(),
        Act::Hands => format!("a user writes {OTHER} as holder"),
        Act::Deletes => "a user deletes the Lease".to_owned(),
    }
}

/// The parts of what came of an act, the nth of all.
fn parts(n: usize, act: Act, Moment { at, writes, leads }: &Moment) -> Vec<Part> {
    let place = format!("gave at {n}. {} ({at} s)", in_words(act));
    let of = |what: &str, value: Value| part(format!("{place}, {what}"), value);
    let mut parts = vec![of("writers", names(writes.iter().map(|wrote| wrote.who.clone())))];
    for wrote in writes {
        let Wrote { who, holder, duration, acquired, renewed, transitions, labels, blindly, taken } = wrote;
        let of = |field: &str, value: Value| of(&format!("{who}: {field}"), value);
        parts.extend([
            of("holderIdentity", names(Some(holder.clone()).filter(|holder| !holder.is_empty()).into_iter())),
            of("leaseDurationSeconds", json!(duration)),
            of("acquireTime", json!(acquired.as_ref().map(seconds))),
            of("renewTime", json!(renewed.as_ref().map(seconds))),
            of("leaseTransitions", json!(transitions)),
            of("labels", json!(labels)),
            of("resourceVersion", if *blindly { "none" } else { "as read" }.into()),
            of("the API server", if *taken { "takes it" } else { "refuses it" }.into()),
        ]);
    }
    parts.push(of("leaders", names(leads.iter().cloned())));
    parts
}

/// Names in a line; without any there are none.
fn names(all: impl Iterator<Item = String>) -> Value {
    Some(listed(all)).filter(|text| !text.is_empty()).map_or(Value::Null, Value::from)
}

fn blindly(moment: &Moment) -> bool {
    moment.writes.iter().any(|wrote| wrote.blindly)
}

fn labels(moment: &Moment) -> Vec<&std::collections::BTreeMap<String, String>> {
    moment.writes.iter().map(|wrote| &wrote.labels).collect()
}

/// What decides.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// Whether a Lease is a sign of life, by how it was and how it is.
    is_news: fn(&Lease, &Lease) -> bool,
    /// Whether another's time is over: since when the Lease was seen so, by a clock that shows this now.
    is_over: fn(u64, u64, &LeaseSpec) -> bool,
    /// Whether a holder's name is this one.
    is_own: fn(&str, &str) -> bool,
    /// Whether a holder's name is that of no copy.
    is_free: fn(&str) -> bool,
    /// What is otherwise in a new Lease.
    create: fn(&mut LeaseSpec),
    /// In one that is renewed.
    renew: fn(&mut LeaseSpec),
    /// In one that is taken, by what it said before.
    take: fn(&mut LeaseSpec, &LeaseSpec),
    /// In what is sent.
    send: fn(&mut Lease),
    /// From when on a renewal counts: when it was decided, and when it was answered.
    counts: fn(u64, u64) -> u64,
    /// Whether it leads so many seconds after a renewal.
    leads: fn(u64) -> bool,
    /// Whether it leads with the decision, or when it reads its own name.
    begins: fn(&str, Option<&str>) -> bool,
    /// Whether it goes on leading that reads another's name.
    goes_on: bool,
    /// Whether it releases a Lease with this holder.
    releases: fn(&str, &str) -> bool,
    /// What is otherwise in one that is released, by what it said before.
    release: fn(&mut LeaseSpec, &LeaseSpec),
    /// Whether it leads on after that.
    leads_on: bool,
}

const RULE: Rule = Rule {
    is_news: |before, now| before.spec != now.spec,
    is_over: |since, now, spec| now >= since + duration(spec),
    is_own: |holder, me| holder == me,
    is_free: str::is_empty,
    create: |_| {},
    renew: |_| {},
    take: |_, _| {},
    send: |_| {},
    counts: |decided, _| decided,
    leads: |seconds| seconds < RENEW_DEADLINE,
    begins: |_, _| false,
    goes_on: false,
    releases: |holder, me| holder == me,
    release: |_, _| {},
    leads_on: false,
};

/// For how many seconds a Lease belongs to its holder.
fn duration(spec: &LeaseSpec) -> u64 {
    spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0)
}

/// A candidate by a rule.
struct Elector<'a> {
    rule: &'a Rule,
    me: String,
    /// The Lease as it was read last, and since when it was seen so.
    seen: Option<(Lease, u64)>,
    decided: u64,
    /// From when on its last renewal counts.
    renewed: Cell<Option<u64>>,
}

impl<'a> Elector<'a> {
    fn new(rule: &'a Rule, me: &str) -> Elector<'a> {
        Elector { rule, me: me.to_owned(), seen: None, decided: 0, renewed: Cell::new(None) }
    }

    fn first(&self, now: u64) -> Lease {
        let mut spec = LeaseSpec { lease_transitions: Some(0), ..self.own(LeaseSpec::default(), now) };
        (self.rule.create)(&mut spec);
        Lease { spec: Some(spec), ..Lease::default() }
    }

    fn own(&self, spec: LeaseSpec, now: u64) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: Some(LEASE_DURATION),
            acquire_time: Some(time(now)),
            renew_time: Some(time(now)),
            ..spec
        }
    }

    /// A Lease with another spec, as it is sent.
    fn sent(&self, lease: &Lease, spec: LeaseSpec) -> Lease {
        let mut lease = Lease { spec: Some(spec), ..lease.clone() };
        (self.rule.send)(&mut lease);
        lease
    }

    /// The spec that is to be written, if one is.
    fn next(&self, spec: &LeaseSpec, since: u64, now: u64) -> Option<LeaseSpec> {
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if (self.rule.is_own)(holder, &self.me) {
            let mut next = LeaseSpec { renew_time: Some(time(now)), ..spec.clone() };
            (self.rule.renew)(&mut next);
            return Some(next);
        }
        if !holder.is_empty() && !self.rule.goes_on {
            self.renewed.set(None);
        }
        if !(self.rule.is_free)(holder) && !(self.rule.is_over)(since, now, spec) {
            return None;
        }
        let transitions = spec.lease_transitions.unwrap_or(0).saturating_add(1);
        let mut next = LeaseSpec { lease_transitions: Some(transitions), ..self.own(spec.clone(), now) };
        (self.rule.take)(&mut next, spec);
        Some(next)
    }
}

impl Candidate for Elector<'_> {
    fn decide(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease> {
        self.decided = now;
        let holder = lease.and_then(|lease| lease.spec.as_ref()?.holder_identity.as_deref());
        if (self.rule.begins)(&self.me, holder) {
            self.renewed.set(Some(now));
        }
        let Some(lease) = lease else { return Some(self.first(now)) };
        let since = match &self.seen {
            Some((seen, since)) if !(self.rule.is_news)(seen, lease) => *since,
            _ => now,
        };
        self.seen = Some((lease.clone(), since));
        let spec = lease.spec.clone().unwrap_or_default();
        self.next(&spec, since, now).map(|next| self.sent(lease, next))
    }

    fn written(&mut self, now: u64) {
        self.renewed.set(Some((self.rule.counts)(self.decided, now)));
    }

    fn leads(&self, now: u64) -> bool {
        self.renewed.get().is_some_and(|renewed| (self.rule.leads)(now.saturating_sub(renewed)))
    }

    fn release(&mut self, lease: Option<&Lease>, now: u64) -> Option<Lease> {
        if !self.rule.leads_on {
            self.renewed.set(None);
        }
        let lease = lease?;
        let spec = lease.spec.as_ref()?;
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if !(self.rule.releases)(holder, &self.me) {
            return None;
        }
        let mut next = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            acquire_time: Some(time(now)),
            renew_time: Some(time(now)),
            ..spec.clone()
        };
        (self.rule.release)(&mut next, spec);
        Some(self.sent(lease, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Electing>("lease");
    }

    #[test]
    fn two_never_lead_at_once() {
        let others_write = |act: &Act| matches!(act, Act::Hands | Act::Deletes);
        let cases = Electing::questions().into_iter().filter(|case| !case.acts().iter().any(others_write));
        let mut changes = 0;
        for case in cases {
            let moments = Electing::right(&case);
            assert!(moments.iter().all(|moment| moment.leads.len() < 2), "{}", Electing::show(&case));
            changes += moments.windows(2).filter(|two| two[0].leads != two[1].leads).count();
        }
        assert!(changes > 500, "leaders come and go: {changes}");
    }

    #[test]
    fn a_dead_leaders_lease_is_taken_by_the_takers_own_clock() {
        for (clock, written) in [(100, 90), (100, 90_000), (90_000, 90)] {
            let spec = LeaseSpec {
                holder_identity: Some(OTHER.to_owned()),
                lease_duration_seconds: Some(LEASE_DURATION),
                renew_time: Some(time(written)),
                ..LeaseSpec::default()
            };
            let lease = Some(Lease { spec: Some(spec), ..Lease::default() });
            let case = Case { clocks: vec![clock], lease, script: vec![(20, vec![Act::Try(0), Act::Wait(1)])] };
            let moments = Electing::right(&case);
            let taken = moments.iter().find(|moment| !moment.writes.is_empty()).expect("it is taken");
            assert_eq!(taken.at, u64::try_from(LEASE_DURATION).expect("it is positive"), "{clock}, {written}");
        }
    }
}
