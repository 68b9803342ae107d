//! Exercises that are one function: asked all questions there are within a bound, and judged by the rule.
//!
//! The rule knows the mistakes that learners really make: each is the same rule with one part of it wrong. A wrong
//! solution is compared with them, so that the verdict can say what is probably wrong.

use std::fmt::Debug;
use std::io::BufRead;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::process::ANSWER;
use super::{Failure, Judged};

/// Answers that take more characters, both together, are shown by what differs.
const LONG: usize = 200;
/// More differences than these are shown as a whole.
const MOST: usize = 3;

/// A function of the machine.
pub trait Function {
    /// What it is given.
    type Question: Serialize + DeserializeOwned;
    /// What it gives back.
    type Answer: Serialize + DeserializeOwned + PartialEq + Debug;
    /// A part of the rule that a wrong solution has wrong.
    type Slip: Copy + 'static;

    /// What learners really write, and how to say so.
    const MISTAKES: &'static [(&'static str, Self::Slip)];

    /// Simple ones first, so that the first that fails is a smallest one. Only those with one right answer.
    fn questions() -> Vec<Self::Question>;
    /// The rule, with at most one part of it wrong.
    fn rule(question: &Self::Question, slip: Option<Self::Slip>) -> Self::Answer;
    /// The property that a wrong answer breaks; no answer is one that is none.
    fn property(question: &Self::Question, given: Option<&Self::Answer>) -> &'static str;
    /// The question, for a person.
    fn show(question: &Self::Question) -> String;
}

/// The questions, one a line.
pub fn questions<F: Function>() -> Vec<String> {
    let text = |question| serde_json::to_string(&question).unwrap_or_else(|error| unreachable!("ours: {error}"));
    F::questions().into_iter().map(text).collect()
}

/// The question of this number, for a person.
pub fn show<F: Function>(n: usize) -> String {
    F::questions().get(n).map(F::show).unwrap_or_default()
}

/// In the learner's process: answers the questions on standard input, one a line, with a function.
pub fn answer<F: Function>(function: impl Fn(&F::Question) -> F::Answer) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let question = serde_json::from_str(&line).expect("the grader asks in JSON");
        let text = serde_json::to_string(&function(&question)).expect("an answer is data");
        println!("\n{ANSWER}{text}");
    }
}

/// Judges the answers to [`questions`].
///
/// # Errors
/// Which answer is wrong first, and the property that it breaks.
pub fn judge<F: Function>(answers: &[String]) -> Judged {
    let questions = F::questions();
    let given: Vec<Option<F::Answer>> = answers.iter().map(|text| serde_json::from_str(text).ok()).collect();
    let right: Vec<F::Answer> = questions.iter().map(|question| F::rule(question, None)).collect();
    let is_right = |n: usize| given.get(n).is_some_and(|given| given.as_ref() == Some(&right[n]));
    let Some(n) = (0..questions.len()).find(|n| !is_right(*n)) else { return Ok(questions.len()) };
    let first = given.get(n).and_then(Option::as_ref);
    let failure = Failure {
        property: F::property(&questions[n], first).to_owned(),
        case: format!("{}\n{}", F::show(&questions[n]), apart(first, &right[n])),
        mistake: nearest::<F>(&questions, &given, &right),
        replay: None,
    };
    Err((n, failure))
}

/// What was answered, and what is right: all of it, or, of answers that are long, what differs.
fn apart<A: Debug + Serialize>(given: Option<&A>, right: &A) -> String {
    let answered = given.map_or("nothing that is an answer".to_owned(), |answer| format!("{answer:?}"));
    let all = format!("answered {answered}\nright is {right:?}");
    let json = |answer: &A| serde_json::to_value(answer).unwrap_or_default();
    let mut found = Vec::new();
    if all.len() > LONG && given.is_some() {
        differences("", &given.map(json).unwrap_or_default(), &json(right), &mut found);
    }
    if found.is_empty() || found.len() > MOST { all } else { found.join("\n") }
}

/// Where two answers differ, place by place.
fn differences(place: &str, given: &Value, right: &Value, found: &mut Vec<String>) {
    match (given, right) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            one.iter().for_each(|(name, value)| differences(&format!("{place}.{name}"), value, &other[name], found));
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let each = one.iter().zip(other).enumerate();
            each.for_each(|(n, (one, other))| differences(&format!("{place}[{n}]"), one, other, found));
        }
        _ if given != right => {
            let place = place.trim_start_matches(".Ok").trim_start_matches('.');
            found.push(format!("answered {given} in {place}\nright is {right}"));
        }
        _ => {}
    }
}

/// The mistake that answers most like this. One that agrees no more than the right answer does explains nothing.
fn nearest<F: Function>(
    questions: &[F::Question],
    given: &[Option<F::Answer>],
    right: &[F::Answer],
) -> Option<&'static str> {
    let agreed = right.iter().zip(given).filter(|(right, given)| Some(*right) == given.as_ref()).count();
    let alike = |slip: F::Slip| {
        let answers = questions.iter().map(|question| F::rule(question, Some(slip)));
        answers.zip(given).filter(|(answer, given)| Some(answer) == given.as_ref()).count()
    };
    // The first of those that agree best: simple mistakes come first in the table.
    let best = F::MISTAKES.iter().map(|(says, slip)| (alike(*slip), *says)).rev().max_by_key(|(count, _)| *count)?;
    (best.0 > agreed).then_some(best.1)
}

/// What every exercise of this sort must be able to do; called by the tests of each.
#[cfg(test)]
pub(super) fn check<F: Function>() {
    let questions = F::questions();
    let answers = |slip: Option<F::Slip>| -> Vec<String> {
        questions.iter().map(|question| serde_json::to_string(&F::rule(question, slip)).unwrap()).collect()
    };
    assert!(questions.len() > 500, "{}", questions.len());
    assert_eq!(judge::<F>(&answers(None)), Ok(questions.len()));
    for (says, slip) in F::MISTAKES {
        let (_, failure) = judge::<F>(&answers(Some(*slip))).expect_err(says);
        assert_eq!(failure.mistake, Some(*says), "{}", failure.property);
    }
    // No single answer passes, and neither does a lack of answers.
    let different: std::collections::BTreeSet<String> = answers(None).into_iter().collect();
    for answer in different.into_iter().take(4).chain(["null".into(), "{".into()]) {
        assert!(judge::<F>(&vec![answer; questions.len()]).is_err());
    }
    assert!(judge::<F>(&[]).is_err() && judge::<F>(&answers(None)[1..]).is_err());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_answers_what_differs_is_shown() {
        let answer = |second: &str| Ok::<_, String>(vec!["a".repeat(100), second.to_owned()]);
        assert_eq!(apart(Some(&answer("b")), &answer("c")), "answered \"b\" in [1]\nright is \"c\"");
        assert_eq!(apart(Some(&1), &2), "answered 1\nright is 2");
        assert_eq!(apart(None, &2), "answered nothing that is an answer\nright is 2");
    }
}
