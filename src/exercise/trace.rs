//! Exercise 00: what happens on the way from one command to two Pods.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::process;

/// One of those that work on a Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Who {
    /// The user's command.
    Kubectl,
    /// `kube-apiserver`.
    ApiServer,
    /// In `kube-controller-manager`.
    DeploymentController,
    /// In `kube-controller-manager`.
    ReplicaSetController,
    /// `kube-scheduler`.
    Scheduler,
    /// The kubelet of any node.
    Kubelet,
}

/// One answer.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// To a question for a program.
    Who(Who),
    /// To a question for yes or no.
    Is(bool),
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Who(who) => who.fmt(f),
            Answer::Is(is) => is.fmt(f),
        }
    }
}

/// What a learner fills in, and the questions.
macro_rules! questions {
    ($($question:literal => $field:ident: $what:ident $sort:ident,)*) => {
        /// What happens on the way from one command to two Pods.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Answers {
            $(#[doc = $question] pub $field: $what,)*
        }

        /// In the order in which they are met on the way.
        pub const QUESTIONS: [&str; [$($question),*].len()] = [$($question),*];

        impl Answers {
            /// In the order of the questions.
            pub fn all(&self) -> [Answer; QUESTIONS.len()] {
                [$(Answer::$sort(self.$field)),*]
            }
        }
    };
}

questions! {
    "Who asks the API server to create the ReplicaSet?" => creates_replica_set: Who Who,
    "Who asks it to create the Pods?" => creates_pods: Who Who,
    "Is any update refused because it was made from an old version of the object?" => write_refused: bool Is,
    "Is any kubelet notified of a Pod while the Pod has no node?" => kubelets_hear_first: bool Is,
    "Who decides on which node a Pod runs, and asks to have that written into it?" => chooses_node: Who Who,
    "Who asks to have a Pod's address written into its status?" => reports_address: Who Who,
    "Is the first Pod stored as ready before its ReplicaSet counts one ready Pod?" => pod_first: bool Is,
    "Who asks to have it written into the Deployment's status that two Pods are ready?" => counts_ready: Who Who,
    "Does one of these six ever turn to another of them, past the API server?" => past_api_server: bool Is,
}

/// So many questions are judged together, as one.
pub const TOGETHER: usize = 3;

/// Answers with what this function says.
pub fn answer(answers: fn() -> Answers) {
    let answers = answers().all();
    process::answer(|group: &usize| answers.chunks(TOGETHER).nth(*group).map(<[Answer]>::to_vec));
}
