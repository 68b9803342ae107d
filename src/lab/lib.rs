//! Exercises: a learner writes a part of the machine, and the machine judges it.
//!
//! An exercise is a program of its own in `exercises/`, with its answer in `solutions/`; both are written with
//! [`exercise`]. The learner's function runs in a process of its own ([`process`]), which is asked questions
//! and knows no answer: what is right is decided here. So a panic, an endless loop or an `exit` is a verdict, and nothing a
//! learner's file prints can pass it.
//!
//! - [`Exercise`]: what there is to say about one, and [`TABLE`], all of them; [`Verdict`]: what comes of judging one.
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
//! - [`started`]: how messages name the program.
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

use object::nearest::nearest;

mod admission;
mod admitting;
mod asked;
pub mod building;
mod cache;
mod cni;
mod collect;
mod conditions;
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
mod lease;
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
mod row;
mod scheduling;
mod score;
pub mod seal;
pub mod shelf;
pub mod shipped;
pub mod started;
mod sync;
mod trace;
pub mod twin;
mod update;
mod verdict;
pub mod words;

pub use family::keeps_apart;
pub use row::{Exercise, Judging};
pub use verdict::{Failure, Judged, Replay, Verdict};

/// The exercises, in the order in which they are meant to be done.
pub const TABLE: &[Exercise] = &[
    trace::EXERCISE,
    ownership::EXERCISE,
    update::EXERCISE,
    admission::EXERCISE,
    cache::EXERCISE,
    queue::EXERCISE,
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
    heartbeat::EXERCISE,
    collect::EXERCISE,
    finalizer::EXERCISE,
    lease::EXERCISE,
    job::EXERCISE,
    operator::EXERCISE,
    conditions::EXERCISE,
];

impl Exercise {
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
