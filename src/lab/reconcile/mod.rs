//! Exercises that run in the cluster: a learner writes what a controller does with one object, and every order of events
//! within a bound shows whether it is right. What it is written with is in [`exercise::kube`].
//!
//! - [`partner`]: where a controller's code is, in a process of its own or here.
//! - [`guest`]: what the cluster has in the place of its own controller.
//! - [`trial`]: judges, on [`threads`]. [`story`]: tells a run that breaks something; [`compare`]: what would have been right,
//!   and which known mistake it is, in [`words`], by each [`other`] who hears the same; [`mended`]: which reconcile broke it.

use crate::mistake::Mistake;
use client::Registration;
use cluster::{Account, Parts};
use exercise::host::{Host, Read};

mod alike;
pub mod compare;
pub mod guest;
mod mended;
mod other;
pub mod partner;
mod story;
#[cfg(test)]
mod tests;
mod threads;
pub mod trial;
mod words;

use guest::Duty;
use partner::Make;

/// A mistake of a controller: a host that makes it.
pub type Mistaken = Mistake<fn(Read) -> Host>;

/// How an exercise is judged whose answer is a controller.
pub struct Plan {
    /// What the controller works on.
    pub duty: Duty,
    /// Scenarios, by name, as text: each says how far it is explored and what must hold.
    pub trials: &'static [(&'static str, &'static str)],
    /// The right solution.
    pub reference: fn(Read) -> Host,
    /// What learners really write, and how to say so.
    pub mistakes: &'static [Mistaken],
}

impl Plan {
    /// The programs of a cluster in which this partner has the place of a controller, or a new one beside the others.
    pub fn parts(&'static self, make: Make) -> Parts {
        let row = self.duty.row(make);
        let shipped = controllers::TABLE.iter().filter(|shipped| shipped.name != row.name).copied();
        let table: Vec<Registration> = shipped.chain([row]).collect();
        // Writing a role is not the exercise.
        let accounts = vec![Account::of_admin(self.duty.name)].leak();
        Parts { controllers: table.leak(), accounts, ..Parts::default() }
    }
}

/// A scenario of an exercise, with its name.
macro_rules! scenario {
    ($exercise:literal, $name:literal) => {
        (
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../scenarios/exercises/",
                $exercise,
                "/",
                $name,
                ".yaml"
            )),
        )
    };
}

pub(super) use scenario;
#[cfg(test)]
pub(super) use tests::check;
