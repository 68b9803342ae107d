//! Exercise 02: a change that others may make meanwhile. Mirrors `client-go/util/retry` and etcd's compare-and-swap.
//!
//! The learner's function talks with a small API server, call by call. Before each call another client may write, delete or
//! break something: every such script of three calls is asked, and longer ones in which that client is always faster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::function::Function;
use super::making::longer;
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, words};
use exercise::update::{Api, Case, Meanwhile, Outcome, Refused, converse};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "02_update",
    title: "How do two write the same object?",
    outcome: "change an object so that no client's change is lost, and say what a conflict asks for",
    needs: &[],
    hints: [
        "What tells the API server that another client has written since you read? And what is the newest state, after it has \
         refused you?",
        "Get, change what you got, update. On Conflict begin again with get: the number and all else may be another now. \
         All other errors are the caller's.",
        "Five times at most: object = get()?; n = data.count + 1 (absent: 0 + 1); write n into data, leave the rest as it is; \
         update(object): Ok gives n, Conflict goes round again, another error is returned. After the fifth: Conflict.",
    ],
    minutes: 20,
    judging: Judging::of::<Updating>(),
};

struct Updating;

impl Function for Updating {
    type Question = Case;
    type Answer = Outcome;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        const ALL: [Meanwhile; 7] = [
            Meanwhile::Nothing,
            Meanwhile::Counted,
            Meanwhile::Noted,
            Meanwhile::Labelled,
            Meanwhile::Recreated,
            Meanwhile::Deleted,
            Meanwhile::Fails,
        ];
        let (mut scripts, mut longest) = (vec![Vec::new()], vec![Vec::new()]);
        for _ in 0..3 {
            longest = longer(&longest, &ALL);
            scripts.extend(longest.clone());
        }
        for rounds in 2..=7 {
            for other in [Meanwhile::Counted, Meanwhile::Noted, Meanwhile::Labelled, Meanwhile::Recreated] {
                scripts.push([Meanwhile::Nothing, other].repeat(rounds));
                scripts.push([[Meanwhile::Nothing, other].repeat(rounds), vec![Meanwhile::Fails]].concat());
            }
        }
        // What is no conflict, at each call of a later try.
        for rounds in 1..=4 {
            let before = [Meanwhile::Nothing, Meanwhile::Counted].repeat(rounds);
            for last in [Meanwhile::Deleted, Meanwhile::Fails] {
                scripts.push([&before[..], &[last]].concat());
                scripts.push([&before[..], &[Meanwhile::Nothing, last]].concat());
            }
        }
        let case = |script: Vec<Meanwhile>| [None, Some(41)].map(|count| Case { count, script: script.clone() });
        // Where numbers of a small type end.
        let large = [0, 9, 127, 255, 65_535, 2_147_483_647, 4_294_967_295, 1 << 53, 1 << 63, u64::MAX - 9]
            .into_iter()
            .flat_map(|count| {
                [vec![], vec![Meanwhile::Nothing, Meanwhile::Counted]].map(|script| Case { count: Some(count), script })
            });
        scripts.into_iter().flat_map(case).chain(large).collect()
    }

    fn answer(rule: &Rule, case: &Case) -> Outcome {
        let outcome = converse(case, |api| count(rule, api));
        // Where there is a next call after a conflict: a read that is no first one.
        let tries = outcome.calls.iter().filter(|call| *call == "get").count();
        Outcome { pauses: rule.pauses && tries > 1, ..outcome }
    }

    fn property(case: &Case, given: Option<&Outcome>) -> &'static str {
        let right = Updating::right(case);
        match given {
            None => "every conversation comes to an end",
            Some(given) if given.left != right.left => "no client's change is lost, and one is counted",
            Some(given) if given.calls.len() > right.calls.len() => "no more is asked than is needed",
            Some(given) if given.pauses => "after a conflict it tries again at once",
            Some(given) if given.calls != right.calls => {
                "after a conflict it reads and writes again, five times at most"
            }
            Some(_) => "the caller learns the number that was written, or what went wrong",
        }
    }

    fn show(case: &Case) -> String {
        let mut text = words::field("the ConfigMap's data", &json!(case.data()));
        let mut each: Vec<(Meanwhile, Vec<usize>)> = Vec::new();
        for (n, what) in (1..).zip(&case.script).filter(|(_, what)| **what != Meanwhile::Nothing) {
            match each.iter_mut().find(|(other, _)| other == what) {
                Some((_, calls)) => calls.push(n),
                None => each.push((*what, vec![n])),
            }
        }
        for (what, calls) in each {
            let calls: Vec<String> = calls.iter().map(ToString::to_string).collect();
            let calls = match calls.as_slice() {
                [one] => format!("call {one}"),
                [before @ .., last] => format!("each of the calls {} and {last}", before.join(", ")),
                [] => String::new(),
            };
            text += &match what {
                Meanwhile::Fails => format!("\n{calls} fails: {}", what.in_words()),
                _ => format!("\nbefore {calls}: {}", what.in_words()),
            };
        }
        text
    }

    fn say(_: &Case, Outcome { said, calls, left, pauses }: &Outcome) -> Vec<Part> {
        let gave = match said {
            Ok(count) => format!("Ok({count})"),
            Err(Refused::Other(why)) => format!("Err(Other): {why}"),
            Err(refused) => format!("Err({refused:?})"),
        };
        let mut rest = left.clone().unwrap_or_default();
        let (labels, annotations) = (rest.metadata.labels.take(), rest.metadata.annotations.take());
        let (data, binary, finalizers) = (rest.data.take(), rest.binary_data.take(), rest.metadata.finalizers.take());
        let owners = rest.metadata.owner_references.take();
        let left = left.as_ref().map_or(json!("nothing, the ConfigMap is gone"), |_| json!(data));
        vec![
            part("called", calls.join(", ")),
            part("gave", gave),
            part(
                "did after a conflict",
                if *pauses { "it waits, and then tries again" } else { "it tries again at once" },
            ),
            part("left as data", left),
            part("left as labels", json!(labels)),
            part("left as annotations", json!(annotations)),
            part("left as binaryData", json!(binary)),
            part("left as finalizers", json!(finalizers)),
            part("left as ownerReferences", json!(owners)),
            part("left as all else", json!(rest)),
        ]
    }
}

/// What decides.
struct Rule {
    /// So often it is tried.
    tries: u32,
    /// Whether the object is read for each try.
    reads_again: bool,
    /// Whether what a read is refused with is tried again, after so many tries.
    read_again: fn(&Refused, u32) -> bool,
    /// The same of an update.
    write_again: fn(&Refused, u32) -> bool,
    /// What is made of an update's answer.
    written: fn(Result<(), Refused>) -> Result<(), Refused>,
    /// What the caller is told of a refusal at the last try.
    last: fn(Refused) -> Refused,
    /// And when all tries are over that were worth one.
    over: fn(Refused) -> Refused,
    /// The number in a text.
    number: fn(&str) -> Option<u64>,
    /// The number before: by the first reading, and by the last.
    count: fn(u64, u64) -> u64,
    /// The data that is changed, by those readings.
    data: fn(Data, Data) -> Data,
    /// What of the object is sent.
    sent: fn(ConfigMap) -> ConfigMap,
    /// The number that the caller is told, by the number before.
    given: fn(&mut dyn Api, u64) -> Result<u64, Refused>,
    /// Whether it pauses between two tries.
    pauses: bool,
}

type Data = Option<BTreeMap<String, String>>;

const RULE: Rule = Rule {
    tries: 5,
    reads_again: true,
    read_again: |_, _| false,
    write_again: |why, _| *why == Refused::Conflict,
    written: |answer| answer,
    last: |why| why,
    over: |why| why,
    number: |text| text.parse().ok(),
    count: |_, last| last,
    data: |_, last| last,
    sent: |object| object,
    given: |_, before| Ok(before + 1),
    pauses: false,
};

fn count(rule: &Rule, api: &mut dyn Api) -> Result<u64, Refused> {
    let mut first: Option<ConfigMap> = None;
    let mut refused = Refused::Conflict;
    for before in 0..rule.tries {
        let object = match &first {
            Some(first) if !rule.reads_again => first.clone(),
            _ => match api.get() {
                Ok(object) => object,
                Err(why) if (rule.read_again)(&why, before) => {
                    refused = again(why);
                    continue;
                }
                Err(why) => return Err(why),
            },
        };
        let (number, object) = with_one_more(rule, first.get_or_insert_with(|| object.clone()), object);
        match (rule.written)(api.update(object).map(drop)) {
            Ok(()) => return (rule.given)(api, number),
            Err(why) if (rule.write_again)(&why, before) => refused = again(why),
            Err(why) if before + 1 == rule.tries => return Err((rule.last)(why)),
            Err(why) => return Err(why),
        }
    }
    Err((rule.over)(refused))
}

/// What the caller is told if that was the last try: what is gone while others write has conflicted.
fn again(why: Refused) -> Refused {
    if why == Refused::NotFound { Refused::Conflict } else { why }
}

/// The number in an object; 0 if there is none.
fn number_in(rule: &Rule, object: &ConfigMap) -> u64 {
    object.data.as_ref().and_then(|data| data.get("count")).and_then(|text| (rule.number)(text)).unwrap_or(0)
}

/// What an object counts, and the object as it is sent, with one more; the first is that of the first reading.
fn with_one_more(rule: &Rule, first: &ConfigMap, mut object: ConfigMap) -> (u64, ConfigMap) {
    object.data = (rule.data)(first.data.clone(), object.data);
    let before = (rule.count)(number_in(rule, first), number_in(rule, &object));
    let mut object = (rule.sent)(object);
    object.data.get_or_insert_default().insert("count".to_owned(), (before + 1).to_string());
    (before, object)
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    gives_up_at_once: "a conflict is given to the caller at once; it asks for another try" => { tries: 1 };
    sends_again: "after a conflict the same object is sent again, without reading" => { reads_again: false };
    new_version_only: "after a conflict only the new resourceVersion is taken over, so that the others' change is lost"
        => { data: |first, _| first };
    first_count: "after a conflict the number of the first reading is used" => { count: |first, _| first };
    no_version: "the resourceVersion is not sent, so that there is no conflict and others' changes are lost"
        => {
            sent: |mut object| {
                object.metadata.resource_version = None;
                object
            }
        };
    new_object: "an object with nothing but the number is sent; all else that was in it is lost"
        => { sent: |object| ConfigMap { data: None, ..object } };
    swallows: "what update answers is not looked at" => { written: |_| Ok(()) };
    retries_all: "every error is tried again; only a conflict is worth it"
        => {
            read_again: |why, _| matches!(why, Refused::Other(_)),
            write_again: |why, _| *why != Refused::NotFound
        }
        | {
            read_again: |why, _| matches!(why, Refused::Other(_)),
            write_again: |why, _| *why != Refused::NotFound,
            over: |_| Refused::Conflict
        };
    gives_up: "it gives up before the fifth try" => { tries: 4 } | { tries: 3 } | { tries: 2 };
    goes_on: "it goes on after the fifth try" => { tries: 100 };
    gives_old: "the number before is given, not the one that was written" => { given: |_, before| Ok(before) };
    reads_after: "the number is read once more after writing, when it may be another client's"
        => { given: |api, _| Ok(number_in(&RULE, &api.get()?)) };
    new_meta: "an object with new metadata is sent; the labels and annotations that it had are lost"
        => {
            sent: |object| {
                let ObjectMeta { name, resource_version, .. } = object.metadata;
                ConfigMap { metadata: ObjectMeta { name, resource_version, ..ObjectMeta::default() }, ..object }
            }
        };
    small_number: "a large number is not read, because its type is too small"
        => { number: |text| text.parse::<u32>().ok().map(u64::from) }
        | { number: |text| text.parse::<i64>().ok().and_then(|number| number.try_into().ok()) };
    known_fields: "an object is made anew of the fields that one knows of; all others are lost"
        => {
            sent: |object| {
                let ObjectMeta { name, namespace, resource_version, labels, annotations, .. } = object.metadata;
                let metadata =
                    ObjectMeta { name, namespace, resource_version, labels, annotations, ..ObjectMeta::default() };
                ConfigMap { metadata, data: object.data, ..ConfigMap::default() }
            }
        }
        | {
            sent: |mut object| {
                object.metadata.owner_references = None;
                object
            }
        };
    known_keys: "data is made anew of the keys that one knows of; all others are lost"
        => {
            sent: |mut object| {
                object.data.iter_mut().for_each(|data| data.retain(|key, _| key == "note"));
                object
            }
        };
    no_name: "the object is sent without its name"
        => {
            sent: |mut object| {
                object.metadata.name = None;
                object
            }
        };
    last_is_conflict: "any refusal of the fifth try is given as a conflict" => { last: |_| Refused::Conflict };
    retries_later: "after a conflict every error is tried again; only a conflict is worth it"
        => { write_again: |why, before| *why == Refused::Conflict || matches!(why, Refused::Other(_)) && before > 0 }
        | {
            write_again: |why, before| *why == Refused::Conflict || matches!(why, Refused::Other(_)) && before > 0,
            over: |_| Refused::Conflict
        };
    gone_is_conflict: "that it is gone after a conflict is taken for one more conflict"
        => {
            read_again: |why, before| *why == Refused::NotFound && before > 0,
            write_again: |why, before| *why == Refused::Conflict || *why == Refused::NotFound && before > 0
        };
    pauses: "it pauses between two tries, and no other program waits meanwhile" => { pauses: true };
    first_of_each: "of lists in the metadata only the first item is kept"
        => {
            sent: |mut object| {
                object.metadata.finalizers.iter_mut().for_each(|all| all.truncate(1));
                object.metadata.owner_references.iter_mut().for_each(|all| all.truncate(1));
                object
            }
        };
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Updating>("update");
    }
}
