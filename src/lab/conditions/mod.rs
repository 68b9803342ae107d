//! Exercise 23: what an operator says in the status of an object of its own kind. Mirrors `meta.SetStatusCondition` of
//! apimachinery (`pkg/api/meta/conditions.go`) and the status subresource of a CustomResourceDefinition.
//!
//! The learner's function talks with a small API server, call by call. Before each call others may write, delete or break
//! something: every such script of two calls is asked, and longer ones in which others are always faster.
//!
//! Must hold:
//! - By the rule a status never says more than was acted upon: its generations are those of the Site that was given. Kept by
//!   `a_status_says_no_more_than_was_acted_upon`.
//!
//! Left out: a patch of the status, and server-side apply, by which each writer has conditions of its own.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};

use super::function::Function;
use super::mistake::Mistake;
use super::words::{Part, part};
use super::{Exercise, Judging, words};
use exercise::conditions::{Api, Case, Meanwhile, Outcome, Refused, Site, SiteStatus, converse, seconds, time};

mod mistakes;
mod questions;

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "23_conditions",
    title: "What does a status say?",
    outcome: "write conditions by which clients can wait: for which generation they answer, since when, and beside other writers",
    needs: &["update", "operator"],
    hints: [
        "A client has asked for a fourth Pod, and waits for Ready. The status says Ready: True. What else must the client know \
         before it goes on, and who can tell it?",
        "Read the Site; begin with the status that it has. Of the Site that you were given you need three things: its uid, its \
         generation, and how many Pods it asks for. Of the condition that is there you need one: since when, if it says the \
         same.",
        "Five times at most: there = get()?; done if its uid is another, or its status.observedGeneration is greater than \
         yours. Clone its status; set observedGeneration and, with a number, readyReplicas; put your Ready in the place of the \
         one that is there. If that is the status that you have read, you are done. Else update_status with the Site that you \
         have read and this status. Conflict goes round again.",
    ],
    minutes: 40,
    judging: Judging::of::<Reporting>(),
};

pub(super) struct Reporting;

impl Function for Reporting {
    type Question = Case;
    type Answer = Outcome;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = mistakes::MISTAKES;

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn answer(rule: &Rule, case: &Case) -> Outcome {
        let outcome = converse(case, |api| report(rule, case, api));
        let tries = outcome.calls.iter().filter(|call| *call == "get").count();
        Outcome { pauses: rule.pauses && tries > 1, ..outcome }
    }

    fn property(case: &Case, given: Option<&Outcome>) -> &'static str {
        let right = Reporting::right(case);
        let Some(given) = given else { return "every report comes to an end" };
        if given.pauses {
            return "after a conflict it tries again at once";
        }
        let status = |outcome: &Outcome| outcome.left.as_ref().and_then(|site| site.status.clone());
        let (its, right_status) = (status(given), status(&right));
        let generations = |status: &Option<SiteStatus>| {
            let own = status.as_ref().and_then(ready_in).and_then(|ready| ready.observed_generation);
            (status.as_ref().and_then(|status| status.observed_generation), own)
        };
        let since = |status: &Option<SiteStatus>| {
            status.as_ref().and_then(ready_in).map(|ready| (ready.status.clone(), ready.last_transition_time.clone()))
        };
        if its == right_status {
            return match (given.calls.len() > right.calls.len(), given.calls == right.calls) {
                (true, _) => "no more is asked and written than is needed",
                (_, false) => "after a conflict it reads and writes again, five times at most",
                (_, true) if given.said != right.said => "the caller learns what went wrong, and nothing else",
                (_, true) => "all but the status stays as it is",
            };
        }
        if others(&its) != others(&right_status) {
            "what others write into the status stays"
        } else if right.left.as_ref().is_some_and(|site| !(RULE.concerns)(&case.site, site)) {
            "a status speaks of this Site and never of an older generation than before"
        } else if generations(&its) != generations(&right_status) {
            "a status says which generation was acted upon"
        } else if since(&its).zip(since(&right_status)).is_some_and(|(its, right)| its.0 == right.0 && its.1 != right.1)
        {
            "lastTransitionTime says since when a condition has its status"
        } else {
            "a status says how many Pods are ready, and whether these are enough"
        }
    }

    fn show(case: &Case) -> String {
        let Case { stored, site, ready, now, script } = case;
        let asks = |site: &Site| {
            format!("generation {}, {} replicas", of_generation(site.metadata.generation), site.spec.replicas)
        };
        let ready = ready.map_or("its Pods were not counted".to_owned(), |ready| format!("{ready} Pods are ready"));
        let mut text = format!("acted upon: {}; {ready}\n", asks(site));
        text += &format!("the clock shows {now} s\nthe Site is: {}\n", asks(stored));
        text += &words::field("its status", &said(&stored.status));
        if site.status != stored.status {
            text += &format!("\n{}", words::field("in the cache", &said(&site.status)));
        }
        text + &others_do(script)
    }

    fn say(_: &Case, Outcome { said: answer, calls, left, pauses }: &Outcome) -> Vec<Part> {
        let gave = match answer {
            Ok(()) => "Ok".to_owned(),
            Err(Refused::Other(why)) => format!("Err(Other): {why}"),
            Err(refused) => format!("Err({refused:?})"),
        };
        let status = left.as_ref().and_then(|site| site.status.clone()).unwrap_or_default();
        let SiteStatus { observed_generation, ready_replicas, address, conditions } = status;
        let (ready, others): (Vec<Condition>, Vec<Condition>) =
            conditions.unwrap_or_default().into_iter().partition(|one| one.type_ == READY);
        let mut rest = left.clone().unwrap_or_default();
        rest.status = None;
        let all = |conditions: Vec<Condition>| json!(conditions.iter().map(in_words).collect::<Vec<_>>());
        let own = |of: fn(&Condition) -> Value| match &*ready {
            [one] => of(one),
            several => several.iter().map(of).collect(),
        };
        vec![
            part("called", calls.join(", ")),
            part("gave", gave),
            part(
                "did after a conflict",
                if *pauses { "it waits, and then tries again" } else { "it tries again at once" },
            ),
            part("left as observedGeneration", json!(observed_generation)),
            part("left as readyReplicas", json!(ready_replicas)),
            part("left as Ready", own(|ready| json!(format!("{}, {}, {}", ready.status, ready.reason, ready.message)))),
            part("left as Ready's observedGeneration", own(|ready| json!(ready.observed_generation))),
            part("left as Ready's lastTransitionTime", own(|ready| json!(since(ready)))),
            part("left as other conditions", all(others)),
            part("left as address", json!(address)),
            part("left as all but the status", json!(rest)),
        ]
    }
}

/// The type of the operator's condition.
const READY: &str = "Ready";

fn ready_in(status: &SiteStatus) -> Option<&Condition> {
    status.conditions.iter().flatten().find(|one| one.type_ == READY)
}

/// What other programs have written into a status.
fn others(status: &Option<SiteStatus>) -> (Option<String>, Vec<Condition>) {
    let status = status.clone().unwrap_or_default();
    let others = status.conditions.into_iter().flatten().filter(|one| one.type_ != READY);
    (status.address, others.collect())
}

/// What others do before each call, a line each.
fn others_do(script: &[Meanwhile]) -> String {
    let mut each: Vec<(Meanwhile, Vec<String>)> = Vec::new();
    for (n, what) in (1..).zip(script).filter(|(_, what)| **what != Meanwhile::Nothing) {
        match each.iter_mut().find(|(other, _)| other == what) {
            Some((_, calls)) => calls.push(n.to_string()),
            None => each.push((*what, vec![n.to_string()])),
        }
    }
    let line = |(what, calls): (Meanwhile, Vec<String>)| {
        let calls = if calls.len() == 1 { format!("call {}", calls[0]) } else { format!("calls {}", calls.join(", ")) };
        match what {
            Meanwhile::Fails => format!("\n{calls} fails: {}", what.in_words()),
            _ => format!("\nbefore {calls}: {}", what.in_words()),
        }
    };
    each.into_iter().map(line).collect()
}

/// A status, for a person.
fn said(status: &Option<SiteStatus>) -> Value {
    let Some(SiteStatus { observed_generation, ready_replicas, address, conditions }) = status else {
        return json!("none");
    };
    let ready = ready_replicas.map_or("no number".to_owned(), |ready| format!("{ready} ready"));
    let mut text = format!("generation {}, {ready}", of_generation(*observed_generation));
    text.extend(address.iter().map(|address| format!(", address {address}")));
    text.extend(conditions.iter().flatten().map(|one| format!("; {}", in_words(one))));
    json!(text)
}

fn of_generation(generation: Option<i64>) -> String {
    generation.map_or("none".to_owned(), |generation| generation.to_string())
}

/// A condition, for a person.
fn in_words(condition: &Condition) -> String {
    let Condition { type_, status, reason, observed_generation, .. } = condition;
    let generation = observed_generation.map_or(String::new(), |generation| format!(" of generation {generation}"));
    format!("{type_}{generation}: {status}, {reason}, since {}", since(condition))
}

fn since(condition: &Condition) -> String {
    format!("{} s", seconds(&condition.last_transition_time))
}

/// What decides.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// So often it is tried.
    tries: u32,
    /// What is taken for the Site as it is: by the one that was read first, and the one that was read now. None: the first one,
    /// and it is not read again.
    live: Option<fn(&Site, Site) -> Site>,
    /// Whether a refusal is worth another try.
    again: fn(&Refused) -> bool,
    /// What is made of a read that is refused.
    read: fn(Refused) -> Result<(), Refused>,
    /// What is made of a write that is refused.
    written: fn(Refused) -> Result<(), Refused>,
    /// Whether there is something to report: of the Site that was given, about the one that is there.
    concerns: fn(&Site, &Site) -> bool,
    /// Whether there is, with or without a number.
    is_said: fn(Option<i32>) -> bool,
    /// The Site on which it reports, by the one that was given and the one that is there.
    of: fn(&Site, &Site) -> Site,
    /// The status that is changed, by those.
    base: fn(&Site, &Site) -> Option<SiteStatus>,
    /// What is changed in what it says otherwise.
    kept: fn(&mut SiteStatus),
    /// Its number.
    number: fn(Option<i32>, Option<i32>) -> Option<i32>,
    /// Its generation, by that of the Site and by its own before.
    observed: fn(Option<i64>, Option<i64>) -> Option<i64>,
    /// The generation of the condition.
    own: fn(Option<i64>) -> Option<i64>,
    /// The status and the reason of the condition: of so many Pods that are ready, so many are asked for.
    says: fn(Option<i32>, i32) -> (&'static str, &'static str),
    /// Its message, by the condition that is there if that has the same status.
    message: fn(Option<&Condition>, String) -> String,
    /// Since when, by the condition that was there and at this time.
    since: fn(Option<&Condition>, &Condition, Time) -> Time,
    /// Where it is among those that are there.
    place: fn(&[Condition]) -> Option<usize>,
    /// Puts it there.
    put: fn(&mut Vec<Condition>, Option<usize>, Condition),
    /// Whether a status is written, by how it was.
    is_written: fn(&SiteStatus, &SiteStatus) -> bool,
    /// What is sent, by the Site that was given and the one that is there.
    sent: fn(&Site, Site) -> Site,
    /// How.
    write: fn(&mut dyn Api, Site) -> Result<Site, Refused>,
    /// Whether it pauses between two tries.
    pauses: bool,
}

pub(super) const RULE: Rule = Rule {
    tries: 5,
    live: Some(|_, now| now),
    again: |why| *why == Refused::Conflict,
    read: gone_is_fine,
    written: gone_is_fine,
    concerns: |given, there| is_same(given, there) && !is_overtaken(given, there),
    is_said: |_| true,
    of: |given, _| given.clone(),
    base: |_, there| there.status.clone(),
    kept: |_| {},
    number: |ready, before| ready.or(before),
    observed: |generation, _| generation,
    own: |generation| generation,
    says,
    message: |_, message| message,
    since: |before, next, now| since_when(before.filter(|before| before.status == next.status), now),
    place: |all| all.iter().position(|one| one.type_ == READY),
    put,
    is_written: |before, after| before != after,
    sent: |_, there| there,
    write: |api, site| api.update_status(site),
    pauses: false,
};

fn gone_is_fine(why: Refused) -> Result<(), Refused> {
    if why == Refused::NotFound { Ok(()) } else { Err(why) }
}

/// Whether two are one Site.
fn is_same(given: &Site, there: &Site) -> bool {
    given.metadata.uid == there.metadata.uid
}

/// Whether a newer generation than the given one has been reported.
fn is_overtaken(given: &Site, there: &Site) -> bool {
    there.status.as_ref().and_then(|status| status.observed_generation) > given.metadata.generation
}

fn says(ready: Option<i32>, wanted: i32) -> (&'static str, &'static str) {
    match ready {
        None => ("Unknown", "NotCounted"),
        Some(ready) if ready >= wanted => ("True", "AllReady"),
        Some(_) => ("False", "SomeNotReady"),
    }
}

/// The time of this condition, or else this one.
fn since_when(before: Option<&Condition>, now: Time) -> Time {
    before.map_or(now, |before| before.last_transition_time.clone())
}

fn put(all: &mut Vec<Condition>, place: Option<usize>, condition: Condition) {
    match place {
        Some(place) => all[place] = condition,
        None => all.push(condition),
    }
}

fn report(rule: &Rule, case: &Case, api: &mut dyn Api) -> Result<(), Refused> {
    if !(rule.is_said)(case.ready) {
        return Ok(());
    }
    let mut first: Option<Site> = None;
    let mut last = Refused::Conflict;
    for _ in 0..rule.tries {
        let there = match (&first, rule.live) {
            (Some(first), None) => first.clone(),
            (_, live) => match api.get() {
                Ok(now) => live.map_or(now.clone(), |live| live(first.get_or_insert_with(|| now.clone()), now)),
                Err(why) if (rule.again)(&why) => {
                    last = why;
                    continue;
                }
                Err(why) => return (rule.read)(why),
            },
        };
        first.get_or_insert_with(|| there.clone());
        if !(rule.concerns)(&case.site, &there) {
            return Ok(());
        }
        let before = (rule.base)(&case.site, &there).unwrap_or_default();
        let of = (rule.of)(&case.site, &there);
        let after = changed(rule, &of, case, &before);
        if !(rule.is_written)(&before, &after) {
            return Ok(());
        }
        let sent = Site { status: Some(after), ..(rule.sent)(&case.site, there) };
        match (rule.write)(api, sent) {
            Ok(_) => return Ok(()),
            Err(why) if (rule.again)(&why) => last = why,
            Err(why) => return (rule.written)(why),
        }
    }
    Err(last)
}

/// The status with what there is to say of this Site.
fn changed(rule: &Rule, site: &Site, case: &Case, before: &SiteStatus) -> SiteStatus {
    let mut status = before.clone();
    (rule.kept)(&mut status);
    let generation = site.metadata.generation;
    status.observed_generation = (rule.observed)(generation, before.observed_generation);
    status.ready_replicas = (rule.number)(case.ready, before.ready_replicas);
    let (word, reason) = (rule.says)(case.ready, site.spec.replicas);
    let conditions = status.conditions.get_or_insert_default();
    let place = (rule.place)(conditions);
    let known = place.map(|place| conditions[place].clone());
    let message = case.ready.map_or("the Pods were not counted".to_owned(), |ready| {
        format!("{ready} of {} Pods are ready", site.spec.replicas)
    });
    let mut next = Condition {
        type_: READY.to_owned(),
        status: word.to_owned(),
        reason: reason.to_owned(),
        message: (rule.message)(known.as_ref().filter(|known| known.status == word), message),
        observed_generation: (rule.own)(generation),
        last_transition_time: time(case.now),
    };
    next.last_transition_time = (rule.since)(known.as_ref(), &next, time(case.now));
    (rule.put)(conditions, place, next);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Reporting>("conditions");
    }

    #[test]
    fn a_status_says_no_more_than_was_acted_upon() {
        let mut reports = 0;
        for case in Reporting::questions() {
            let Outcome { said: Ok(()), calls, left: Some(site), .. } = Reporting::right(&case) else { continue };
            let is_written =
                site.metadata.uid == case.site.metadata.uid && calls.last().is_some_and(|call| call != "get");
            let Some(status) = site.status.filter(|_| is_written) else { continue };
            let own = ready_in(&status).and_then(|ready| ready.observed_generation);
            assert_eq!(
                [status.observed_generation, own],
                [case.site.metadata.generation; 2],
                "{}",
                Reporting::show(&case)
            );
            reports += 1;
        }
        assert!(reports > 300, "{reports}");
    }
}
