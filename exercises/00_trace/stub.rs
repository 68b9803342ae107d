//! Exercise 00: who does what when a Deployment becomes Pods?
//!
//! There is nothing to program here. One command asks for a Deployment with two Pods, and a moment later both run. The
//! API server stores all that is written on the way. But who asks it to? To read that from a run is what this exercise
//! is for: it is how you will find out in later ones what went wrong.
//!
//! Write down first what you believe. Then look: chapter 0 tells the story, and `cargo run -- step deployment` lets you
//! step through it. There Enter takes a step, `tour` goes to the next place worth a look, and `quit` ends it. At last
//! `cargo run -- grade trace`: the grader runs the Deployment too. It judges three answers at a time. Where one of them is
//! wrong it says where to look for all three, but which it is only if many believe that: to look is quicker than to guess.

#![allow(unused_imports, unreachable_code)]

use kubestep_exercise::trace::{Answers, Who};

// Yours from here.

/// What happens on the way from one command to two Pods.
pub fn answers() -> Answers {
    // Put an answer in the place of each `not_started()`. Who: one of these six, as in `Who::Kubectl`: Kubectl, ApiServer,
    // DeploymentController, ReplicaSetController, Scheduler, Kubelet. The other questions: `true` is yes, `false` is no.
    Answers {
        // Who asks the API server to create the ReplicaSet?
        creates_replica_set: kubestep_exercise::not_started(),
        // Who asks it to create the Pods?
        creates_pods: kubestep_exercise::not_started(),
        // Is any update refused because it was made from an old version of the object?
        write_refused: kubestep_exercise::not_started(),
        // Is any kubelet notified of a Pod while the Pod has no node?
        kubelets_hear_first: kubestep_exercise::not_started(),
        // Who decides on which node a Pod runs, and asks to have that written into it?
        chooses_node: kubestep_exercise::not_started(),
        // Who asks to have a Pod's address written into its status?
        reports_address: kubestep_exercise::not_started(),
        // Is the first Pod stored as ready before its ReplicaSet counts one ready Pod?
        pod_first: kubestep_exercise::not_started(),
        // Who asks to have it written into the Deployment's status that two Pods are ready?
        counts_ready: kubestep_exercise::not_started(),
        // Does one of these six ever turn to another of them, past the API server?
        past_api_server: kubestep_exercise::not_started(),
    }
}
