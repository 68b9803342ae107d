//! `kubestep explore`: every order of delivery within a bound.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

use crate::cluster::Cluster;
use crate::cluster::scenario::Scenario;
use crate::debugger::explore::{Bound, Report, Subject, Violation, explore};
use crate::debugger::{Choice, Session, describe, properties};

use super::ExploreArguments;

/// Explores and says what was found. A violation is an error.
pub(super) fn command(arguments: &ExploreArguments) -> anyhow::Result<()> {
    let scenario = arguments.source.scenario()?.context(
        "say what to explore: a scenario (kubestep scenarios lists them) or manifests (kubestep explore -f web.yaml)",
    )?;
    let bound = Bound {
        swaps: usize::from(arguments.swaps),
        window: Duration::from_millis(arguments.window),
        schedules: arguments.schedules,
        ..Bound::default()
    };
    let subject = Subject { cluster: &|| Cluster::for_scenario(&scenario), properties: &properties::all };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let bar = bar();
    let report = explore(&subject, &bound, threads, |report, waiting| {
        bar.set_message(format!("{} orders run, {waiting} waiting, {} steps", report.schedules, report.transitions));
        bar.tick();
        true
    });
    bar.finish_and_clear();
    let mut out = io::stdout().lock();
    writeln!(out, "{}", summary(&report, &bound))?;
    let Some(violation) = &report.violation else { return Ok(()) };
    write!(out, "{}", story(&scenario, violation))?;
    anyhow::bail!("{}: {}", violation.property, violation.what)
}

fn bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style)
}

fn summary(report: &Report, bound: &Bound) -> String {
    let found = if report.violation.is_some() { "1" } else { "0" };
    let extent = match (report.exhausted, bound.swaps) {
        (true, 1) => "all orders in which one event is delivered before its turn".to_owned(),
        (true, swaps) => format!("all orders in which up to {swaps} events are delivered before their turn"),
        (false, _) if report.violation.is_some() => "the search ended there".to_owned(),
        (false, _) => "more are left; --schedules N runs more".to_owned(),
    };
    format!(
        "{found} of {} delivery orders breaks it; {} differ in what depends on what; {} steps; {extent}",
        report.schedules, report.distinct, report.transitions
    )
}

/// The events that came out of turn, and the last steps before the end.
fn story(scenario: &Scenario, violation: &Violation) -> String {
    let mut session = Session::new(Cluster::for_scenario(scenario));
    let mut text = String::new();
    for (after, event) in &violation.schedule {
        session.goto(*after);
        let overtaken = session.cluster.engine.pending().take_while(|pending| pending.id != *event).count();
        if session.choose(Choice::Deliver(*event)).is_ok()
            && let Some(step) = session.current()
        {
            let line = describe::headline(&session.cluster.engine, &step.event);
            text += &format!("  step {:<5} {line}, before {overtaken} that were due first\n", step.id.0);
        }
    }
    session.goto(violation.step);
    let from = session.history().len().saturating_sub(4);
    for step in &session.history()[from..] {
        text += &format!("  step {:<5} {}\n", step.id.0, describe::headline(&session.cluster.engine, &step.event));
    }
    text
}
