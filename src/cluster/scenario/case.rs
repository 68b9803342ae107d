//! A case of "Broken: find out why": a cluster that starts broken, for a learner to find the cause and repair it.
//!
//! ```yaml
//! case:
//!   minutes: 5
//!   hints: [Which Pods does the Service choose?, …]
//!   solved:
//!     - curl --max-time 2 web --from client
//!     - {of: deployments web, eventually: new.status.readyReplicas == 2}
//!   explanation: The Service chose Pods by a label that no Pod has.
//!   fixes:
//!     - [kubectl set selector service web app=web]
//!   refused:
//!     - lines: [kubectl rollout restart deployment web]
//!       why: The new Pods have the same labels.
//! ```
//!
//! Its timeline breaks the cluster, and is done before the learner's part begins.

use serde::{Deserialize, Serialize};

use super::OwnProperty;

/// What a case has beside its scenario.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// How long it takes most people, in minutes.
    pub minutes: u32,
    /// From where to look to nearly the answer.
    pub hints: Vec<String>,
    /// The case is solved when all of these hold.
    pub solved: Vec<Outcome>,
    /// The cause, told once the case is solved.
    pub explanation: String,
    /// Ways to repair it, each the lines that are typed.
    pub fixes: Vec<Vec<String>>,
    /// Attempts that do not repair it.
    pub refused: Vec<Refused>,
}

/// A condition on the cluster, whichever way it was repaired.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// A line, as in a timeline, that ends with exit code 0.
    Line(String),
    /// A property: `eventually` of the cluster as it is, the others of all that has happened since the case began.
    Property(OwnProperty),
}

/// An attempt that does not repair a case.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// What is typed.
    pub lines: Vec<String>,
    /// Why it does not help.
    pub why: String,
}

impl Case {
    /// The texts that a learner reads.
    pub(super) fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let Case { hints, explanation, fixes, refused, .. } = self;
        let attempts = refused.iter_mut().flat_map(|Refused { lines, why }| lines.iter_mut().chain([why]));
        hints.iter_mut().chain([explanation]).chain(fixes.iter_mut().flatten()).chain(attempts)
    }

    /// The lines that are to end well.
    pub(super) fn lines(&self) -> impl Iterator<Item = &String> {
        self.solved.iter().filter_map(|outcome| match outcome {
            Outcome::Line(line) => Some(line),
            Outcome::Property(_) => None,
        })
    }
}
