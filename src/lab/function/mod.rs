//! Exercises that are one function: asked all questions there are within a bound, and judged by the rule.
//!
//! A rule is a struct of plain functions. The mistakes that learners really make are known: each is the same rule with one of
//! its functions replaced. A wrong solution is compared with them, so that the verdict can say what is probably wrong.

use std::cell::OnceCell;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::mistake::{Known, Mistake};
use super::words::{self, Part, WIDTH, apart, part};
use super::{Failure, Judged};

/// A function of the machine.
pub trait Function {
    /// What it is given.
    type Question: Serialize + DeserializeOwned;
    /// What it gives back.
    type Answer: Serialize + DeserializeOwned + PartialEq + Debug;
    /// What answers, as plain functions.
    type Rule: 'static;

    /// Those that are right.
    const RULE: Self::Rule;

    /// What learners really write, and how to say so.
    const MISTAKES: &'static [Mistake<Self::Rule>];

    /// Whether a wrong answer is told what is right. It is not where that could be copied, and nothing were left to do.
    const TELLS: bool = true;

    /// Simple ones first, so that the first that fails is a smallest one. Only those with one right answer.
    fn questions() -> Vec<Self::Question>;
    /// What a rule answers.
    fn answer(rule: &Self::Rule, question: &Self::Question) -> Self::Answer;
    /// What the right one answers.
    fn right(question: &Self::Question) -> Self::Answer {
        Self::answer(&Self::RULE, question)
    }
    /// The property that a wrong answer breaks; no answer is one that is none.
    fn property(question: &Self::Question, given: Option<&Self::Answer>) -> &'static str;
    /// The question, for a person: in a few lines what matters for the answer.
    fn show(question: &Self::Question) -> String;
    /// An answer, for a person: all that the function did. What differs in two answers differs in a part of them.
    fn say(_: &Self::Question, answer: &Self::Answer) -> Vec<Part> {
        vec![part("gave", format!("{answer:?}"))]
    }
}

/// The questions, one a line.
pub fn questions<F: Function>() -> Vec<String> {
    let text = |question| serde_json::to_string(&question).unwrap_or_else(|error| unreachable!("ours: {error}"));
    F::questions().into_iter().map(text).collect()
}

/// The question of this number, for a person.
pub fn show<F: Function>(n: usize) -> String {
    F::questions().get(n).map(shown::<F>).unwrap_or_default()
}

/// The mistakes that are known.
pub fn mistakes<F: Function>() -> Vec<Known> {
    F::MISTAKES.iter().map(Mistake::known).collect()
}

fn shown<F: Function>(question: &F::Question) -> String {
    words::fitting(&F::show(question), WIDTH).trim_end().to_owned()
}

/// What was answered to a question, and what is right.
fn compared<F: Function>(question: &F::Question, given: Option<&F::Answer>, right: &F::Answer) -> String {
    if !F::TELLS {
        return given.map_or("yours gave nothing that is an answer".to_owned(), |given| {
            format!("yours gave {given:?}\nnot all of it is so")
        });
    }
    let parts = F::say(question, right);
    let (given, right) = match given.map(|given| (given, F::say(question, given))) {
        None => (parts.iter().take(1).map(|(did, _)| part(did, "nothing that is an answer")).collect(), parts),
        // What looks the same to a person is shown as Rust has it.
        Some((given, same)) if same == parts => {
            (vec![part("gave", format!("{given:?}"))], vec![part("gave", format!("{right:?}"))])
        }
        Some((_, given)) => (given, parts),
    };
    words::fitting(&apart(&given, &right), WIDTH).trim_end().to_owned()
}

/// Judges the answers to [`questions`].
///
/// # Errors
/// Which answer is wrong first, and the property that it breaks.
pub fn judge<F: Function>(answers: &[String]) -> Judged {
    Key::<F>::new().judge(answers)
}

/// What answers are compared with.
struct Key<F: Function> {
    questions: Vec<F::Question>,
    right: Vec<F::Answer>,
    /// What each mistake answers, in their order; asked for only where it may be the one that was made.
    wrong: Vec<OnceCell<Vec<F::Answer>>>,
}

impl<F: Function> Key<F> {
    fn new() -> Self {
        let questions = F::questions();
        let right = questions.iter().map(F::right).collect();
        let wrong = F::MISTAKES.iter().map(|_| OnceCell::new()).collect();
        Key { questions, right, wrong }
    }

    fn wrong(&self, mistake: usize) -> &[F::Answer] {
        let rule = &F::MISTAKES[mistake].does;
        self.wrong[mistake].get_or_init(|| self.questions.iter().map(|question| F::answer(rule, question)).collect())
    }

    fn judge(&self, answers: &[String]) -> Judged {
        let given: Vec<Option<F::Answer>> = answers.iter().map(|text| serde_json::from_str(text).ok()).collect();
        let is_right = |n: usize| given.get(n).is_some_and(|given| given.as_ref() == Some(&self.right[n]));
        let Some(n) = (0..self.questions.len()).find(|n| !is_right(*n)) else { return Ok(self.questions.len()) };
        let (question, first) = (&self.questions[n], given.get(n).and_then(Option::as_ref));
        let failure = Failure {
            property: F::property(question, first).to_owned(),
            case: format!("{}\n{}", shown::<F>(question), compared::<F>(question, first, &self.right[n])),
            mistake: self.nearest(&given, n).map(Into::into),
            replay: None,
            too_slow: false,
        };
        Err((n, failure))
    }

    /// The mistake that answers most like this, of those that answer the same to the question that is shown. One that agrees
    /// no more than the right answer does explains nothing.
    fn nearest(&self, given: &[Option<F::Answer>], shown: usize) -> Option<&'static str> {
        let alike = |answers: &[F::Answer]| {
            answers.iter().zip(given).filter(|(answer, given)| Some(*answer) == given.as_ref()).count()
        };
        let one = given.get(shown).and_then(Option::as_ref)?;
        let explains = |rule: &F::Rule| F::answer(rule, &self.questions[shown]) == *one;
        let mistakes = F::MISTAKES.iter().enumerate().filter(|(_, mistake)| explains(&mistake.does));
        let mistakes = mistakes.map(|(n, mistake)| (alike(self.wrong(n)), mistake.says));
        // The first of those that agree best: simple mistakes come first in the table.
        let best = mistakes.rev().max_by_key(|(count, _)| *count)?;
        (best.0 > alike(&self.right)).then_some(best.1)
    }
}

/// What every exercise of this sort must be able to do; called by the tests of each, with its name.
#[cfg(test)]
pub(super) fn check<F: Function>(name: &str) {
    let key = Key::<F>::new();
    let texts = |answers: &[F::Answer]| -> Vec<String> {
        answers.iter().map(|answer| serde_json::to_string(answer).unwrap()).collect()
    };
    let right = texts(&key.right);
    assert!(right.len() > 500, "{}", right.len());
    assert_eq!(key.judge(&right), Ok(right.len()));
    for shown in key.questions.iter().map(shown::<F>) {
        assert!(golden::is_for_a_person(&shown), "{name}: {shown}");
    }
    let mut failures = Vec::new();
    for (n, mistake) in F::MISTAKES.iter().enumerate() {
        let wrong = key.wrong(n);
        let (_, failure) = key.judge(&texts(wrong)).expect_err(mistake.name);
        assert_eq!(failure.mistake.as_deref(), Some(mistake.says), "{}: {}", mistake.name, failure.property);
        failures.push(failure);
        for ((question, given), right) in key.questions.iter().zip(wrong).zip(&key.right) {
            // What is not the same does not look the same.
            assert!(given == right || F::say(question, given) != F::say(question, right), "{given:?}");
        }
    }
    // No single answer passes, and neither does a lack of answers.
    let different: std::collections::BTreeSet<&String> = right.iter().collect();
    let everywhere = different.into_iter().take(4).cloned().chain(["null".into(), "{".into()]);
    for answer in everywhere {
        assert!(key.judge(&vec![answer; right.len()]).is_err());
    }
    assert!(key.judge(&[]).is_err() && key.judge(&right[1..]).is_err());
    golden::check(name, &failures);
}

#[cfg(test)]
pub(super) mod golden;
