//! Exercises: a learner writes a part of the machine, and the machine judges it.
//!
//! An exercise is a program of its own in `exercises/`, with its answer in `solutions/`; both are written with
//! [`exercise`]. The learner's function runs in a process of its own ([`process`]), which is asked questions
//! and knows no answer: what is right is decided here. So a panic, an endless loop or an `exit` is a verdict, and nothing a
//! learner's file prints can pass it.
//!
//! - [`function`]: how an exercise that is one function is asked and judged.
//! - [`reconcile`]: how one that is a controller runs in the cluster, in every order of events within a bound.
//! - [`asked`]: a program that is asked, over a way of its own; [`family`]: the same with all that it starts, limited and
//!   ended as one.
//! - [`plug`]: a learner's part in a cluster of one's own; [`oracle`]: a function in it; [`admitting`], [`controlling`],
//!   [`scheduling`] and [`placing`]: where it has its place.
//! - [`shelf`]: the files: what is handed out, what the learner has made of it. [`building`]: a program made of them;
//!   [`seal`]: whether what judges is what was shipped; [`shipped`]: whether what is judged is.
//! - [`twin`]: this program built with optimisation, which judges sooner.
//! - [`progress`]: what has passed so far, here and in a class; [`report`]: a verdict in words; [`words`]: a case and its
//!   answers in words; [`printed`]: what a learner's code prints.
//! - [`mistake`]: what learners get wrong, each said once: a rule is a struct of plain functions, and a mistake is that struct
//!   with one of them replaced. [`making`]: what the questions and rules of several exercises are made of.
//!
//! To add an exercise: a module in [`exercise`] for what is given and what comes back, and one here that
//! says its rule, its questions and its known mistakes; a row in [`TABLE`]; a folder in `exercises/` with a `stub.rs` and a
//! `main.rs`, sealed (see [`seal`]), one in `solutions/` with the answer, other right answers and mutants, each with the name
//! of the mistake that it makes; the programs of both named in the `Cargo.toml` beside them. What a learner reads of a wrong
//! function `KUBESTEP_BLESS=1` writes into `function/verdicts/`, to be read once more.
//!
//! Left out: some functions are asked by the grader only. They are smaller than the cluster's own part, or know less than it;
//! [`plug`] says of each where that part is seen at work.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use cluster::Parts;
use mistake::{Known, Mistake};
use object::nearest::nearest;

mod admission;
mod admitting;
mod asked;
pub mod building;
mod cache;
mod cni;
mod collect;
mod controlling;
mod deployment;
mod endpointslice;
mod expectations;
mod family;
mod finalizer;
mod fit;
pub mod function;
mod heartbeat;
mod job;
mod making;
pub mod mistake;
mod nonce;
mod operator;
pub mod oracle;
mod ownership;
mod patience;
mod pipe;
mod placing;
pub mod plug;
pub mod printed;
pub mod process;
pub mod progress;
mod proxy;
mod queue;
pub mod reconcile;
mod replicaset;
pub mod report;
mod restart;
mod rollout;
mod scheduling;
mod score;
pub mod seal;
pub mod shelf;
pub mod shipped;
mod sync;
mod trace;
pub mod twin;
mod update;
pub mod words;

/// Everything there is to say about one exercise, said once.
pub struct Exercise {
    /// The folder in `exercises/` and `solutions/`: a number, and the name by which progress is remembered.
    pub folder: &'static str,
    /// What it is about, as a question.
    pub title: &'static str,
    /// What one can do after it.
    pub outcome: &'static str,
    /// What it takes from others, by name.
    pub needs: &'static [&'static str],
    /// From a question to nearly the answer.
    pub hints: [&'static str; 3],
    /// How long it takes most people, in minutes.
    pub minutes: u32,
    /// How it is judged.
    pub judging: Judging,
}

/// What the answers of a function amount to: how many are right, or which question is the first whose answer is not, and
/// what is wrong with it.
pub type Judged = Result<usize, (usize, Failure)>;

/// How an exercise is judged.
pub enum Judging {
    /// It is one function, and is asked all questions there are within a bound.
    Function {
        /// The questions for the learner's process, one a line.
        questions: fn() -> Vec<String>,
        /// What the answers, one for each question, amount to.
        judge: fn(&[String]) -> Judged,
        /// The question of this number, counted from 0, for a person.
        show: fn(usize) -> String,
        /// The mistakes that are known.
        mistakes: fn() -> Vec<Known>,
        /// A cluster in which this program has the place of what the function stands for, if it can be put there.
        parts: Option<fn(&Path) -> Parts>,
    },
    /// It is a controller, and runs in the cluster.
    Controller(&'static reconcile::Plan),
}

impl Judging {
    /// What is counted.
    pub fn unit(&self) -> &'static str {
        match self {
            Judging::Function { .. } => "cases",
            Judging::Controller(_) => "delivery orders within the bound",
        }
    }

    /// Of the exercise that is this function.
    pub const fn of<F: function::Function>() -> Judging {
        Judging::function::<F>(None)
    }

    /// Of the exercise that is this function, which has a place in the cluster.
    pub const fn of_part<F: function::Function>(parts: fn(&Path) -> Parts) -> Judging {
        Judging::function::<F>(Some(parts))
    }

    const fn function<F: function::Function>(parts: Option<fn(&Path) -> Parts>) -> Judging {
        let (questions, judge, show) = (function::questions::<F>, function::judge::<F>, function::show::<F>);
        Judging::Function { questions, judge, show, mistakes: function::mistakes::<F>, parts }
    }
}

/// The name in a folder's name: what follows the number.
fn name_of(folder: &str) -> &str {
    folder.split_once('_').map_or(folder, |(_, name)| name)
}

impl Exercise {
    /// Its name, without the number: numbers may change.
    pub fn name(&self) -> &'static str {
        name_of(self.folder)
    }

    /// The mistakes that are known, simple ones first.
    pub fn mistakes(&self) -> Vec<Known> {
        match self.judging {
            Judging::Function { mistakes, .. } => mistakes(),
            Judging::Controller(plan) => plan.mistakes.iter().map(Mistake::known).collect(),
        }
    }

    /// Where the types that a learner writes with are described: what a function is given and gives back, or what a
    /// controller has at hand. A path in the project's folder.
    pub fn types(&self) -> String {
        let module = match self.judging {
            Judging::Function { .. } => self.name(),
            Judging::Controller(_) => "kube",
        };
        format!("src/exercise/{module}.rs")
    }

    /// The exercise with this name, number or folder, which may be a part of a path.
    ///
    /// # Errors
    /// Says which there are.
    pub fn find(text: &str) -> Result<&'static Exercise, String> {
        let number = |text: &str| text.split('_').next().and_then(|number| number.parse::<u32>().ok());
        let is = |one: &&Exercise, word: &str| {
            let same_number = || word.parse::<u32>().is_ok_and(|asked| number(one.folder) == Some(asked));
            [one.folder, one.name()].contains(&word) || same_number()
        };
        let mut words = text.split(['/', '\\']);
        words.find_map(|word| TABLE.iter().find(|one| is(one, word))).ok_or_else(|| {
            let names: Vec<_> = TABLE.iter().map(Exercise::name).collect();
            match nearest(text, names.iter().copied()) {
                Some(meant) => format!("there is no exercise {text:?}; did you mean {meant}?"),
                None => format!("there is no exercise {text:?}; there are {}", names.join(", ")),
            }
        })
    }
}

/// The exercises, in the order in which they are meant to be done.
pub const TABLE: &[Exercise] = &[
    trace::EXERCISE,
    ownership::EXERCISE,
    update::EXERCISE,
    cache::EXERCISE,
    queue::EXERCISE,
    admission::EXERCISE,
    replicaset::EXERCISE,
    expectations::EXERCISE,
    deployment::EXERCISE,
    rollout::EXERCISE,
    fit::EXERCISE,
    score::EXERCISE,
    sync::EXERCISE,
    restart::EXERCISE,
    cni::EXERCISE,
    endpointslice::EXERCISE,
    proxy::EXERCISE,
    collect::EXERCISE,
    heartbeat::EXERCISE,
    job::EXERCISE,
    finalizer::EXERCISE,
    operator::EXERCISE,
];

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The property, in words.
    pub property: String,
    /// A smallest case in which it is broken: what was seen, answered and right.
    pub case: String,
    /// The known mistake that answers most like this, if one does so better than chance.
    pub mistake: Option<Cow<'static, str>>,
    /// The run in which it is broken, if it is one.
    pub replay: Option<Replay>,
    /// It is broken because the program answered too slowly.
    pub too_slow: bool,
}

impl Failure {
    /// The same gets another answer when it is asked again.
    fn not_again(case: &str) -> Failure {
        Failure {
            property: "what is the same is answered the same, whatever came before".to_owned(),
            case: format!(
                "{case}\nthis was asked twice, and went otherwise the second time: does it go through a HashMap or a HashSet, whose \
                 order is another each time (a BTreeMap has one), is something kept between two calls, in a static or a file, \
                 or is a clock or chance asked?"
            ),
            mistake: None,
            replay: None,
            too_slow: false,
        }
    }
}

/// A run to look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// The file that `kubestep step --replay` opens.
    pub text: String,
    /// The step at which a property broke.
    pub step: u64,
}

/// What came of grading one exercise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// The file is as it was handed out.
    NotStarted,
    /// cargo, or rustup, has failed before rustc came to the file: its own words.
    NotBuilt(String),
    /// rustc's own words.
    DoesNotCompile(String),
    /// The process did not come to its end as it should: which way, in words.
    Stopped(String),
    /// The process answers, but too slowly: how slowly, in words.
    TooSlow(String),
    /// A property is broken.
    Fails(Failure),
    /// Every property holds, over this many checks.
    Passes(usize),
}

impl Verdict {
    /// Whether there is nothing to mend. A verdict without a check is none.
    pub fn passes(&self) -> bool {
        matches!(self, Verdict::Passes(checks) if *checks > 0)
    }
}
