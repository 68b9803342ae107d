//! `kubestep run`: a scenario to its end, and what happened as files.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use indicatif::ProgressBar;
use serde_json::Value;

use cluster::Cluster;
use cluster::quiet::NOTICED;
use debugger::record::{self, Record};
use engine::Step;

use super::{Source, out};

/// A scenario that never comes to rest ends when so much virtual time has passed that it has not slept itself.
const AT_MOST: Duration = Duration::from_secs(3600);

/// Manifests are at rest when nothing has happened for this long: a probe may begin late, and a try comes after the other.
const REST: Duration = NOTICED;

/// Runs a scenario or manifests. What the user's commands print goes to standard output.
pub(super) fn command(source: Source, into: Option<&Path>) -> anyhow::Result<()> {
    let scenario = source.scenario()?.context(
        "say what to run: a scenario (cargo run -- scenarios lists them) or manifests (cargo run -- run -f web.yaml)",
    )?;
    let mut cluster = bugs::cluster(&scenario);
    let mut record = Record::new(cluster.engine.now(), &scenario.namespace);
    let bar = if io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let (mut said, mut crashed) = (0, false);
    // A scenario says itself how long it takes.
    let ends_itself = source.filename.is_empty();
    let comes_to_rest = until_rest(&mut cluster, ends_itself, |cluster, step| {
        if into.is_some() {
            record.add(&cluster.engine, step);
        }
        if step.id.0 % 1024 == 0 {
            bar.set_message(format!("{} events", step.id.0));
            bar.tick();
        }
        say(cluster, &mut said)?;
        for (_, task, message) in cluster.engine.take_crashes() {
            crashed = true;
            let _ = bar.suspend(|| writeln!(out::errors(), "{task} panicked: {message}"));
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    say(&cluster, &mut said)?;
    if !comes_to_rest {
        let _ = writeln!(
            out::errors(),
            "ended after an hour of virtual time, beside what the scenario slept: the cluster does not come to rest"
        );
    }
    if let Some(folder) = into {
        let state = record::state(&cluster.engine, &scenario.namespace);
        let printed = cluster.kubectl.printed_since(0);
        write_all(folder, &record, &state, &printed)
            .with_context(|| format!("cannot write to {}", folder.display()))?;
    }
    anyhow::ensure!(!crashed, "a component has panicked: the lines above say which, and why");
    // A scenario that is shipped may show a command that fails; files of one's own are meant to work.
    match (cluster.failures.get(), ends_itself) {
        (0, _) => Ok(()),
        (_, false) => Err(anyhow!("not everything could be applied; the lines above say what, and why")),
        (_, true) if scenario.folder.is_none() => Ok(()),
        (1, true) => Err(anyhow!("a line of the scenario has failed; what is above says why")),
        (count, true) => Err(anyhow!("{count} lines of the scenario have failed; what is above says why")),
    }
}

/// Runs the cluster until it is at rest, or its scenario has ended where it `ends_itself`, and has each step looked at. False:
/// it does not come to rest.
fn until_rest(
    cluster: &mut Cluster,
    ends_itself: bool,
    mut look: impl FnMut(&mut Cluster, &Step) -> io::Result<()>,
) -> io::Result<bool> {
    let origin = cluster.engine.now();
    let (mut quiet_since, mut slept) = (None, Duration::ZERO);
    loop {
        let (now, asleep) = (cluster.engine.now(), cluster.is_asleep());
        if now - origin >= AT_MOST + slept {
            return Ok(false);
        }
        quiet_since = cluster.is_quiet().then(|| quiet_since.unwrap_or(now));
        let is_at_rest = |since| now - since >= REST || !cluster.may_stir(REST);
        if ends_itself && cluster.has_ended() || quiet_since.is_some_and(is_at_rest) {
            return Ok(true);
        }
        let Some(step) = cluster.step() else { return Ok(true) };
        if asleep {
            slept += cluster.engine.now() - now;
        }
        look(cluster, &step)?;
    }
}

fn say(cluster: &Cluster, said: &mut usize) -> io::Result<()> {
    if cluster.kubectl.printed() == *said {
        return Ok(());
    }
    let text = cluster.kubectl.printed_since(*said);
    *said += text.len();
    out::print(&text)
}

fn write_all(folder: &Path, record: &Record, state: &Value, printed: &str) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let lines = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    std::fs::write(folder.join("calls.jsonl"), lines(&record.calls))?;
    std::fs::write(folder.join("events.jsonl"), lines(&record.events))?;
    std::fs::write(folder.join("audit.log"), lines(&record.audit))?;
    std::fs::write(folder.join("trace.jsonl"), lines(&record.trace))?;
    std::fs::write(folder.join("state.json"), format!("{state:#}\n"))?;
    std::fs::write(folder.join("output.txt"), printed)
}
