//! `kubestep explore`: every order of delivery within a bound, and everything that may break in it.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};

use cluster::scenario::{Exploration, Scenario};
use debugger::explore::{Bound, Mode, Report, Search, Subject, Violation, explore, plan, resume};
use debugger::{Session, describe, file};
use kubectl::workdir;
use lab::started::started_as;

use stepper::paths;

use super::outside::{self, Broken, Deviations, Explore, Found, Outside, many};
use super::terminal::laid_out;
use super::{ExploreArguments, journal, out, serve, step};

/// How many runs `--pct` makes unless `--random` says.
const RUNS: u64 = 1_000;

/// What is tried unless the command line or the scenario says otherwise.
const KINDS: [&str; 5] = ["crash", "lost-after", "409", "500", "disconnect"];
/// The places at which it is tried: all clients outside.
const CLIENTS: &str = "wire/*";

/// Explores and says what was found. A violation is an error.
pub(super) fn command(arguments: &ExploreArguments, with: Option<Explore>) -> anyhow::Result<()> {
    let scenarios = arguments.source.scenarios()?;
    anyhow::ensure!(
        !scenarios.is_empty(),
        "say what to explore: a scenario (cargo run -- scenarios lists them) or manifests (cargo run -- explore -f web.yaml)"
    );
    let several = scenarios.len() > 1;
    anyhow::ensure!(!several || arguments.resume.is_none(), "--resume keeps one search: name one of the trials");
    for scenario in scenarios {
        if several {
            writeln!(out::text(), "{}", scenario.name)?;
        }
        match &arguments.wire {
            Some(command) => outside(arguments, command, as_asked(arguments, scenario)?, with)?,
            None => one(arguments, scenario)?,
        }
    }
    Ok(())
}

fn one(arguments: &ExploreArguments, scenario: Scenario) -> anyhow::Result<()> {
    let scenario = as_asked(arguments, scenario)?;
    let bound = bound(arguments, &scenario)?;
    let cluster = bugs::cluster(&scenario);
    anyhow::ensure!(
        cluster.save().is_some(),
        "with so many nodes there is work under way when the exploration is to begin, and no way back to such a moment; \
         take fewer: --nodes 50"
    );
    if let Some(error) = plan::unknown(&bound, cluster) {
        bail!(error);
    }
    let stated = plan::properties(&scenario, &arguments.property).map_err(|error| anyhow!(error))?;
    let subject = Subject {
        cluster: &|| bugs::cluster(&scenario),
        properties: &|| stated.iter().map(|stated| stated.begin()).collect(),
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let bar = bar();
    let progress = |search: &Search| {
        let Report { schedules, transitions, states, .. } = search.report;
        let waiting = search.waiting();
        bar.set_message(format!("{schedules} schedules run, {waiting} waiting, {states} states, {transitions} steps"));
        bar.tick();
        true
    };
    let report = match (mode(arguments, &scenario), &arguments.resume) {
        (Mode::Search, Some(path)) => {
            let what = serde_yaml::to_string(&scenario)? + &arguments.property.join(" ");
            resumed(path, &what, &subject, &bound, threads, progress)?
        }
        (mode, _) => explore(&subject, &bound, mode, threads, progress),
    };
    bar.finish_and_clear();
    let mut to = out::text();
    writeln!(to, "{}", laid_out(&summary(&report, &bound, mode(arguments, &scenario)), 0).trim_end())?;
    match &report.violation {
        None => Ok(()),
        Some(violation) => {
            let session = file::of_run(scenario.clone(), violation.choices.clone(), violation.step);
            let deviations = violation.choices.iter().map(|(after, choice)| (*after, choice.to_string())).collect();
            keep((&scenario.name, &session), violation, &deviations, arguments, &mut to)
        }
    }
}

/// Explores the user's own operator.
fn outside(
    arguments: &ExploreArguments,
    command: &str,
    scenario: Scenario,
    explore: Option<Explore>,
) -> anyhow::Result<()> {
    let Some(explore) = explore else { return serve::elsewhere() };
    let (name, scenario) = (scenario.name.clone(), step::from_now(scenario));
    let stated = plan::properties(&scenario, &arguments.property).map_err(|error| anyhow!(error))?;
    let (bound, command) = (outside_bound(arguments, &scenario)?, command.to_owned());
    let (time, rest) = (Duration::from_secs(arguments.seconds.into()), Duration::from_secs_f64(arguments.rest));
    let bar = bar();
    let mut progress = |found: &Found| {
        bar.set_message(format!("{} made, {} waiting", many(found.runs, "run"), found.left));
        bar.tick();
    };
    let found = explore(&Outside { scenario, command, stated, bound, time, rest }, &mut progress)?;
    bar.finish_and_clear();
    let mut to = out::text();
    writeln!(to, "{}", laid_out(&outside::summary(&found), 0).trim_end())?;
    let Some(Broken { session, breach, property, what, deviations, printed }) = found.broken else { return Ok(()) };
    if !printed.is_empty() {
        writeln!(to, "the command's last lines:\n{printed}")?;
    }
    // So it is known that it repeats without the command.
    let session = file::open(&session, None).map_err(|error| anyhow!("the run does not repeat: {error}"))?;
    let violation = Violation { breach, property, what, choices: Vec::new(), step: session.history().len() as u64 };
    keep((&name, &session), &violation, &deviations, arguments, &mut to)
}

/// Tells of a violation, and saves the run that ends in it, under the scenario's name. It is an error.
fn keep(
    (scenario, session): (&str, &Session),
    violation: &Violation,
    deviations: &Deviations,
    arguments: &ExploreArguments,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    write!(out, "{}", story(session, violation, deviations))?;
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => found_file(scenario)?,
    };
    let text = file::save_found(session, &violation.property, &violation.what);
    write(&path, &text)?;
    let shown = paths::quoted(&path);
    let program = started_as();
    writeln!(
        out,
        "it is saved in {shown}; open it there with: {program} step --replay {shown} --at {}",
        violation.step
    )?;
    anyhow::bail!("{}: {}", violation.property, violation.what)
}

fn as_asked(arguments: &ExploreArguments, scenario: Scenario) -> anyhow::Result<Scenario> {
    bugs::parts_of(&scenario).map_err(|error| anyhow!(error))?;
    if !arguments.fixed {
        return Ok(scenario);
    }
    let name = scenario.name.clone();
    scenario.mended().with_context(|| format!("{name} shows no bug, so there is nothing to mend; leave --fixed out"))
}

/// What the scenario says, unless the command line says otherwise.
fn bound(arguments: &ExploreArguments, scenario: &Scenario) -> anyhow::Result<Bound> {
    let said = scenario.explore.clone().unwrap_or_default();
    let or = |asked: &[String], said: Vec<String>| if asked.is_empty() { said } else { asked.to_vec() };
    let wanted = Exploration {
        late: arguments.late.or(said.late),
        window: arguments.window.or(said.window),
        late_at: or(&arguments.late_at, said.late_at),
        steps: said.steps,
        faults: arguments.faults.or(said.faults),
        stated_only: said.stated_only,
        kinds: or(&arguments.kinds, said.kinds),
        at: or(&arguments.at, said.at),
    };
    let bound = plan::bound(&wanted).map_err(|error| anyhow!(error))?;
    Ok(Bound { schedules: arguments.schedules, reduce: !arguments.no_reduction, ..bound })
}

/// The same for the user's own operator.
fn outside_bound(arguments: &ExploreArguments, scenario: &Scenario) -> anyhow::Result<Bound> {
    let said = scenario.explore.clone().unwrap_or_default();
    let first = |asked: &[String], said: Vec<String>, usual: &[&str]| match (asked.is_empty(), said.is_empty()) {
        (false, _) => asked.to_vec(),
        (true, false) => said,
        (true, true) => usual.iter().map(|word| (*word).to_owned()).collect(),
    };
    let wanted = Exploration {
        late: Some(0),
        faults: arguments.faults.or(said.faults).or(Some(1)),
        kinds: first(&arguments.kinds, said.kinds, &KINDS),
        at: first(&arguments.at, said.at, &[CLIENTS]),
        ..Exploration::default()
    };
    let bound = plan::bound(&wanted).map_err(|error| anyhow!(error))?;
    Ok(Bound { schedules: arguments.schedules, ..bound })
}

fn mode(arguments: &ExploreArguments, scenario: &Scenario) -> Mode {
    match (arguments.random, arguments.pct) {
        (None, None) => Mode::Search,
        (runs, depth) => {
            Mode::Random { runs: runs.unwrap_or(RUNS), seed: scenario.seed, depth: depth.map(usize::from) }
        }
    }
}

/// Goes on with a search that was saved, and saves it again.
fn resumed(
    path: &Path,
    what: &str,
    subject: &Subject,
    bound: &Bound,
    threads: usize,
    progress: impl FnMut(&Search) -> bool,
) -> anyhow::Result<Report> {
    let mut search = match workdir::text_in(path) {
        Ok(text) => resume::open(&text, what, bound).map_err(|error| anyhow!("{}: {error}", path.display()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Search::new(),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    let most = search.report.schedules.saturating_add(bound.schedules);
    search.go(subject, &Bound { schedules: most, ..bound.clone() }, threads, progress);
    write(path, &resume::save(&search, what, bound))?;
    Ok(search.report)
}

/// Writes a file, in a folder that may have to be made.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, text)).with_context(|| format!("{} cannot be written", path.display()))
}

fn bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style)
}

/// Where a run is saved that was found, unless the command line says: the last one of each scenario, in a folder of the
/// user's, so that nothing comes to lie about where one happens to stand.
fn found_file(scenario: &str) -> anyhow::Result<PathBuf> {
    let folder = journal::found().context("there is no folder for what was found; --out FILE says where to save it")?;
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    Ok(folder.join(format!("{}.kubestep", file_name(scenario))))
}

/// A name for a file, made of the scenario's name.
fn file_name(scenario: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '-' };
    scenario.chars().map(plain).collect()
}

fn summary(report: &Report, bound: &Bound, mode: Mode) -> String {
    let Report { schedules, transitions, orders, states, exhausted, .. } = report;
    let count = |n: usize, one: &str, many: &str| match n {
        1 => format!("one {one}"),
        n => format!("up to {n} {many}"),
    };
    let within = [
        (bound.late > 0).then(|| count(bound.late, "message late", "messages late")),
        (bound.faults > 0).then(|| count(bound.faults, "fault", "faults")),
    ];
    let within: Vec<String> = within.into_iter().flatten().collect();
    let within = if within.is_empty() { "nothing late and no fault".to_owned() } else { within.join(" and ") };
    let extent = match (exhausted, mode) {
        (true, _) => format!("the bound is exhausted: every schedule with {within}, or one like it"),
        _ if report.violation.is_some() => "the search ended there".to_owned(),
        (_, Mode::Random { .. }) => "chance has found nothing, which proves nothing".to_owned(),
        _ => "the bound is not exhausted; --schedules N runs more, --resume FILE keeps the search".to_owned(),
    };
    let found = if report.violation.is_some() { "one breaks a property" } else { "none breaks a property" };
    let (schedules, orders) = (many(*schedules, "schedule"), many(*orders, "different order"));
    let (states, steps) = (many(*states, "distinct state"), many(*transitions, "step"));
    format!("{schedules}, {found}; {orders}, {states}, {steps}; {extent}")
}

/// What was out of the usual, and the last steps before the end.
fn story(session: &Session, violation: &Violation, deviations: &Deviations) -> String {
    let mut text = String::new();
    let line = |number: u64| {
        let step = session.history().get(usize::try_from(number).ok()?.checked_sub(1)?)?;
        Some(format!("  step {number:<5} {}\n", describe::headline(&session.cluster.engine, &step.event)))
    };
    for (after, what) in deviations {
        text += &line(*after).unwrap_or_default();
        text += &format!("    then     {what}\n");
    }
    let shown = deviations.last().map_or(0, |(after, _)| *after);
    for number in (shown + 1).max(violation.step.saturating_sub(3))..=violation.step {
        text += &line(number).unwrap_or_default();
    }
    text
}
