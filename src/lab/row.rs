//! What there is to say about an exercise, and how it is judged.

use std::path::Path;

use super::function::{self, Function};
use super::mistake::{Known, Mistake};
use super::reconcile::Plan;
use super::verdict::Judged;
use cluster::Parts;

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
    Controller(&'static Plan),
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
    pub const fn of<F: Function>() -> Judging {
        Judging::function::<F>(None)
    }

    /// Of the exercise that is this function, which has a place in the cluster.
    pub const fn of_part<F: Function>(parts: fn(&Path) -> Parts) -> Judging {
        Judging::function::<F>(Some(parts))
    }

    const fn function<F: Function>(parts: Option<fn(&Path) -> Parts>) -> Judging {
        let (questions, judge, show) = (function::questions::<F>, function::judge::<F>, function::show::<F>);
        Judging::Function { questions, judge, show, mistakes: function::mistakes::<F>, parts }
    }
}

/// The name in a folder's name: what follows the number.
pub(super) fn name_of(folder: &str) -> &str {
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
}
