//! What was probably meant by a word that is no term of a breakpoint.

use crate::facts::Class;
use cluster::fault::whose::{self, short_for, slip};
use object::Kind;

use super::parse::{Context, VERBS};

/// Where all that can stand there is told.
pub const HELP: &str = "help break lists what can stand there";

/// Words of a sentence.
const SENTENCE: &[&str] =
    &["a", "an", "the", "when", "on", "at", "is", "are", "has", "was", "gets", "for", "before", "after"];

/// Words for what a term says otherwise.
const OTHERWISE: &[(&str, &str)] = &[
    ("created", "create"),
    ("updated", "update"),
    ("changed", "update"),
    ("changes", "update"),
    ("patched", "patch"),
    ("deleted", "delete"),
    ("removed", "delete"),
    ("bound", "pods/binding"),
    ("bind", "pods/binding"),
    ("binding", "pods/binding"),
    ("conflict", "409"),
    ("notfound", "404"),
    ("forbidden", "403"),
    ("error", "if event.code >= 400"),
    ("pending", "if new.status.phase == \"Pending\""),
    ("running", "if new.status.phase == \"Running\""),
    ("succeeded", "if new.status.phase == \"Succeeded\""),
    ("failed", "if new.status.phase == \"Failed\""),
    ("ready", "condition=Ready:True"),
    ("available", "condition=Available:True"),
    ("scheduled", "condition=PodScheduled:True"),
    ("evicted", "reason=Evicted"),
    ("reconcile", "timer, with the controller: replicaset-controller timer"),
    ("events", "reason=FailedScheduling"),
];

/// The component that a word is short for, or the glob of them all; none if it is no part of a name.
pub fn component(word: &str, context: &Context) -> Option<Result<String, String>> {
    let fitting = short_for(word, context.components.iter().map(String::as_str));
    let all = |glob: String| fitting.iter().all(|name| crate::expression::matches_glob(&glob, name)).then_some(glob);
    match fitting.as_slice() {
        [] => None,
        [one] => Some(Ok((*one).to_owned())),
        several => {
            let glob = all(format!("{word}/*")).or_else(|| all(format!("*/{word}")));
            Some(glob.ok_or_else(|| whose::several(word, several)))
        }
    }
}

/// What a wrong word is told. `before` is the word in front of it.
pub fn wrong(word: &str, before: Option<&str>, context: &Context) -> String {
    let hint = hint(word, before, context).map_or(String::new(), |hint| match hint.ends_with('?') {
        true => format!("{hint} "),
        false => format!("{hint}; "),
    });
    format!("{word:?} is neither a kind nor a component; {hint}{HELP}")
}

fn hint(word: &str, before: Option<&str>, context: &Context) -> Option<String> {
    let small = word.to_ascii_lowercase();
    if word.bytes().all(|c| c.is_ascii_digit()) {
        return Some(format!("goto {word} goes to a step"));
    }
    if SENTENCE.contains(&small.as_str()) {
        return Some("write terms one after the other, as in: create pods".to_owned());
    }
    if let Some((_, term)) = OTHERWISE.iter().find(|(other, _)| *other == small) {
        return Some(format!("write: {term}"));
    }
    if word.contains('.') || ["==", "!=", ">", "<", "&&", "||", "and", "or"].contains(&word) {
        return Some("a condition begins with if, as in: pod if new.status.phase == \"Running\"".to_owned());
    }
    let kinds = Kind::ALL.iter().map(|kind| kind.info().plural);
    let singular: Vec<String> = Kind::ALL.iter().map(|kind| kind.info().singular()).collect();
    let classes = Class::ALL.iter().map(|(name, _)| *name);
    let components = context.components.iter().map(String::as_str);
    let known = VERBS.iter().copied().chain(classes).chain(kinds).chain(singular.iter().map(String::as_str));
    if let Some(meant) = slip(word, known.chain(components)) {
        return Some(format!("did you mean {meant}?"));
    }
    let kind = before.filter(|before| Kind::from_word(before).is_some())?;
    Some(format!("of one object write: {kind}/{word}"))
}
