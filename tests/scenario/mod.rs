//! A scenario that a test writes down: it is run, further lines are typed, and what they print is read.

use std::time::Duration;

use cluster::Cluster;
use cluster::scenario::Scenario;
use debugger::properties;
use engine::Step;

/// The scenario that is written so.
pub fn parsed(text: &str) -> Scenario {
    Scenario::parse("test", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A cluster in which it is about to begin.
pub fn started(text: &str) -> Cluster {
    bugs::cluster(&parsed(text))
}

/// A cluster in which nothing but background traffic is left of it, or so many seconds have passed.
pub fn settled(text: &str, seconds: u64) -> Cluster {
    let mut cluster = started(text);
    cluster.settle(Duration::from_secs(seconds));
    cluster
}

/// Runs until nothing but background traffic is left, and lets somebody look at each step. All properties must hold.
pub fn run_checked(cluster: &mut Cluster, mut look: impl FnMut(&mut Cluster, &Step)) {
    let mut properties = properties::all();
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        for property in &mut properties {
            property.check(&cluster.engine, &step).unwrap_or_else(|what| panic!("{}: {what}", property.name()));
        }
        look(cluster, &step);
    }
    for property in &mut properties {
        property.finish(&cluster.engine).unwrap_or_else(|what| panic!("{}: {what}", property.name()));
    }
}

/// Types a line, runs for so many seconds at most, and gives what the line has printed by then.
pub fn said(cluster: &mut Cluster, line: &str, seconds: u64) -> String {
    let before = cluster.kubectl.printed();
    cluster.type_lines(vec![line.to_owned()]);
    cluster.settle(Duration::from_secs(seconds));
    let said = cluster.kubectl.printed_since(before);
    said.split_once('\n').map_or(String::new(), |(_, said)| said.trim_end().to_owned())
}

/// All that has been printed has these parts, however wide its columns are.
#[track_caller]
pub fn has_said(cluster: &Cluster, parts: &[&str]) {
    has(&cluster.kubectl.printed_since(0), parts);
}

/// A text has these parts, however wide its columns are.
#[track_caller]
pub fn has(text: &str, parts: &[&str]) {
    let narrowed = narrow(text);
    for part in parts {
        assert!(narrowed.contains(&narrow(part)), "{part}\n-- is not in\n{text}");
    }
}

/// The same text with one space wherever there are some, or ends of lines.
fn narrow(text: &str) -> String {
    let mut narrow = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_whitespace() {
            false => narrow.push(c),
            true if narrow.ends_with(' ') => {}
            true => narrow.push(' '),
        }
    }
    narrow
}
