//! Exercise 02: a change that others may make meanwhile. Mirrors `client-go/util/retry` and etcd's compare-and-swap.
//!
//! The learner's function talks with a small API server, call by call. Before each call somebody else may write, delete or
//! break something: every such script of three calls is asked, and longer ones in which somebody is always faster.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::function::Function;
use super::making::longer;
use super::words::{Part, part};
use super::{Exercise, Judging, words};
use crate::exercise::update::{Api, Case, Meanwhile, Outcome, Refused, converse};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "02_update",
    title: "How do two write the same object?",
    outcome: "change an object so that nobody's change is lost, and say what a conflict asks for",
    needs: &[],
    hints: [
        "What tells the API server that somebody has written since you read? And what is the newest state, after it has \
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

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slip {
    /// So many, instead of five.
    Tries(u32),
    SendsAgain,
    NewVersionOnly,
    FirstCount,
    NoVersion,
    NewObject,
    Swallows,
    RetriesAll,
    GivesOld,
    ReadsAfter,
    NewMeta,
    /// A number is read up to this one.
    NumberUpTo(u64),
    KnownFields,
    KnownKeys,
    NoName,
    KnownMeta,
    LastIsConflict,
    RetriesLater,
    GoneIsConflict,
    FirstOfEach,
}

impl Function for Updating {
    type Question = Case;
    type Answer = Outcome;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("a conflict is given to the caller at once; it asks for another try", Slip::Tries(1)),
        ("after a conflict the same object is sent again, without reading", Slip::SendsAgain),
        (
            "after a conflict only the new resourceVersion is taken over, so that the others' change is lost",
            Slip::NewVersionOnly,
        ),
        ("after a conflict the number of the first reading is used", Slip::FirstCount),
        ("the resourceVersion is not sent, so that there is no conflict and others' changes are lost", Slip::NoVersion),
        ("an object with nothing but the number is sent; all else that was in it is lost", Slip::NewObject),
        ("what update answers is not looked at", Slip::Swallows),
        ("every error is tried again; only a conflict is worth it", Slip::RetriesAll),
        ("it gives up before the fifth try", Slip::Tries(4)),
        ("it gives up before the fifth try", Slip::Tries(3)),
        ("it gives up before the fifth try", Slip::Tries(2)),
        ("it goes on after the fifth try", Slip::Tries(100)),
        ("the number before is given, not the one that was written", Slip::GivesOld),
        ("the number is read once more after writing, when it may be somebody else's", Slip::ReadsAfter),
        ("an object with new metadata is sent; the labels and annotations that it had are lost", Slip::NewMeta),
        ("a large number is not read, because its type is too small", Slip::NumberUpTo(u32::MAX as u64)),
        ("a large number is not read, because its type is too small", Slip::NumberUpTo(i64::MAX as u64)),
        ("an object is made anew of the fields that one knows of; all others are lost", Slip::KnownFields),
        ("an object is made anew of the fields that one knows of; all others are lost", Slip::KnownMeta),
        ("data is made anew of the keys that one knows of; all others are lost", Slip::KnownKeys),
        ("the object is sent without its name", Slip::NoName),
        ("whatever refuses the fifth try is given as a conflict", Slip::LastIsConflict),
        ("after a conflict every error is tried again; only a conflict is worth it", Slip::RetriesLater),
        ("that it is gone after a conflict is taken for one more conflict", Slip::GoneIsConflict),
        ("of lists in the metadata only the first item is kept", Slip::FirstOfEach),
    ];

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

    fn rule(case: &Case, slip: Option<Slip>) -> Outcome {
        converse(case, |api| count(api, slip))
    }

    fn property(case: &Case, given: Option<&Outcome>) -> &'static str {
        let right = Updating::rule(case, None);
        match given {
            None => "every conversation comes to an end",
            Some(given) if given.left != right.left => "nobody's change is lost, and one is counted",
            Some(given) if given.calls.len() > right.calls.len() => "no more is asked than is needed",
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

    fn say(_: &Case, Outcome { said, calls, left }: &Outcome) -> Vec<Part> {
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

/// The rule, with at most one part of it wrong.
fn count(api: &mut dyn Api, slip: Option<Slip>) -> Result<u64, Refused> {
    let is = |one| slip == Some(one);
    let tries = match slip {
        Some(Slip::Tries(tries)) => tries,
        _ => 5,
    };
    let mut first: Option<ConfigMap> = None;
    let mut refused = Refused::Conflict;
    for n in 1..=tries {
        let object = match (&first, slip) {
            (Some(first), Some(Slip::SendsAgain)) => first.clone(),
            _ => match api.get() {
                Ok(object) => object,
                Err(Refused::Other(why)) if is(Slip::RetriesAll) => {
                    refused = Refused::Other(why);
                    continue;
                }
                Err(Refused::NotFound) if is(Slip::GoneIsConflict) && n > 1 => continue,
                Err(other) => return Err(other),
            },
        };
        let (before, object) = with_one_more(first.get_or_insert_with(|| object.clone()), object, slip);
        match api.update(object) {
            Ok(_) if is(Slip::ReadsAfter) => return Ok(number_in(&api.get()?, slip)),
            Err(_) if is(Slip::Swallows) => return Ok(before + 1),
            Ok(_) => return Ok(if is(Slip::GivesOld) { before } else { before + 1 }),
            Err(Refused::Conflict) => refused = Refused::Conflict,
            Err(Refused::Other(why)) if is(Slip::RetriesAll) => refused = Refused::Other(why),
            Err(Refused::Other(why)) if is(Slip::RetriesLater) && n > 1 => refused = Refused::Other(why),
            Err(_) if is(Slip::LastIsConflict) && n == tries => return Err(Refused::Conflict),
            Err(Refused::NotFound) if is(Slip::GoneIsConflict) && n > 1 => {}
            Err(other) => return Err(other),
        }
    }
    Err(refused)
}

/// The number in an object; 0 if there is none.
fn number_in(object: &ConfigMap, slip: Option<Slip>) -> u64 {
    let most = match slip {
        Some(Slip::NumberUpTo(most)) => most,
        _ => u64::MAX,
    };
    let text = object.data.as_ref().and_then(|data| data.get("count"));
    text.and_then(|text| text.parse().ok()).filter(|count| *count <= most).unwrap_or(0)
}

/// What an object counts, and the object as it is sent, with one more; the first is that of the first reading.
fn with_one_more(first: &ConfigMap, mut object: ConfigMap, slip: Option<Slip>) -> (u64, ConfigMap) {
    if slip == Some(Slip::NewVersionOnly) {
        object.data.clone_from(&first.data);
    }
    let before = number_in(if slip == Some(Slip::FirstCount) { first } else { &object }, slip);
    let data = object.data.get_or_insert_default();
    if slip == Some(Slip::NewObject) {
        data.clear();
    }
    data.insert("count".to_owned(), (before + 1).to_string());
    match slip {
        Some(Slip::NewMeta) => {
            let (name, resource_version) = (object.metadata.name.take(), object.metadata.resource_version.take());
            object.metadata = ObjectMeta { name, resource_version, ..ObjectMeta::default() };
        }
        Some(Slip::KnownKeys) => data.retain(|key, _| key == "count" || key == "note"),
        Some(Slip::KnownFields) => {
            let ObjectMeta { name, namespace, resource_version, labels, annotations, .. } = object.metadata;
            let metadata =
                ObjectMeta { name, namespace, resource_version, labels, annotations, ..ObjectMeta::default() };
            object = ConfigMap { metadata, data: object.data, ..ConfigMap::default() };
        }
        Some(Slip::KnownMeta) => object.metadata.owner_references = None,
        Some(Slip::FirstOfEach) => {
            object.metadata.finalizers.iter_mut().for_each(|all| all.truncate(1));
            object.metadata.owner_references.iter_mut().for_each(|all| all.truncate(1));
        }
        Some(Slip::NoName) => object.metadata.name = None,
        Some(Slip::NoVersion) => object.metadata.resource_version = None,
        _ => {}
    }
    (before, object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::lab::function::check::<Updating>("update");
    }
}
