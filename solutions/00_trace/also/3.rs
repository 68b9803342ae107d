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

const FROM_ABOVE: [Who; 4] = [Who::DeploymentController, Who::ReplicaSetController, Who::Scheduler, Who::Kubelet];

/// What happens on the way from one command to two Pods.
pub fn answers() -> Answers {
    let [deployments, sets, places, nodes] = FROM_ABOVE;
    Answers {
        creates_replica_set: deployments,
        creates_pods: sets,
        write_refused: true,
        kubelets_hear_first: false,
        chooses_node: places,
        reports_address: nodes,
        pod_first: true,
        counts_ready: deployments,
        past_api_server: false,
    }
}
