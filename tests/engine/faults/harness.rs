//! A session with a Deployment, what happens to it, and what can be seen of it.

use std::time::Duration;

use cluster::scenario::Scenario;
use debugger::{Goal, Session};
use engine::{Step, What};
use object::random::Random;
use object::{Kind, Object};

/// How many seeds each fault is tried with unless the environment says otherwise.
pub const SEEDS: u64 = 3;
/// A rollout takes so many steps or more.
pub const STEPS: u64 = 240;
/// Between two parts of a fault so many steps pass at most.
const BETWEEN: u64 = 40;

pub fn session(seed: u64) -> Session {
    Session::of(Scenario { seed, ..Scenario::find("deployment").expect("the scenario is shipped") })
}

/// Runs until nothing is left to do, and then on through what repeats itself: back-offs, relists, heartbeats.
pub fn settle(session: &mut Session) {
    for _ in 0..4 {
        session.go(&mut Goal::Quiet, 100_000);
        let end = session.cluster.engine.now() + Duration::from_secs(60);
        session.go(&mut Goal::Time(end), 100_000);
    }
    session.go(&mut Goal::Quiet, 100_000);
}

/// A node without power, or without a connection, is given up only after five minutes.
pub fn give_up_nodes(session: &mut Session) {
    let end = session.cluster.engine.now() + Duration::from_secs(400);
    session.go(&mut Goal::Time(end), 200_000);
    settle(session);
}

/// How many Pods of the Deployment are available, as its status says.
pub fn available(session: &Session) -> i32 {
    let entry = session.cluster.engine.server.api.store.get("/registry/deployments/default/web");
    match entry.map(|entry| &entry.value) {
        Some(Object::Deployment(web)) => web.status.as_ref().and_then(|s| s.available_replicas).unwrap_or(0),
        _ => 0,
    }
}

/// The condition Ready of a node.
pub fn ready(session: &Session, node: &str) -> String {
    let entry =
        session.cluster.engine.server.api.store.get(&format!("/registry/minions/{node}")).expect("there is a node");
    let json = entry.value.to_json();
    let conditions = json["status"]["conditions"].as_array().expect("a node has conditions");
    let ready = conditions.iter().find(|c| c["type"] == "Ready").expect("Ready is one of them");
    ready["status"].as_str().expect("it is text").to_owned()
}

/// Does the parts of a fault, at a place and with pauses that follow from the seed. Returns what was done, as it is typed.
pub fn inflict(session: &mut Session, fault: &[&str], seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let at = 5 + random.below(STEPS);
    session.goto(at);
    let mut typed = vec![format!("kubestep step deployment --seed {seed}"), format!("goto {at}")];
    for text in fault {
        session.act(text).unwrap_or_else(|error| panic!("{typed:?}, {text}: {error}"));
        session.goto(session.cluster.engine.steps() + 1 + random.below(BETWEEN));
        typed.push((*text).to_owned());
    }
    typed
}

pub fn can_get_lost(what: &What) -> bool {
    match what {
        What::Request { request, .. } => request.kind != Kind::Event,
        What::Response { .. } | What::Notification { .. } => true,
        _ => false,
    }
}

pub fn describes(step: &Step, text: &str) -> bool {
    matches!(&step.event.what, What::Fault { message } if message.line() == text)
}
