//! `kubestep step`: step through a cluster, one event at a time. `kubestep serve`: the same cluster for real clients alone.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow};

use cluster::scenario::{Scenario, Sight};
use debugger::file::File;
use debugger::quiz::Quiz;
use debugger::{Session, StopAt, tour};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kubectl::workdir::{self, Disk};
use stepper::{Clock, Stepper, lines, palette, wrap};

use super::prompt::Worked;
use super::serve::{self, Clients, Open};
use super::{NAMES, ServeArguments, StepArguments, journal, json, lead, menu, out, prompt, resume, terminal, tui};

/// The scenario that clients get unless another is named.
const PLAYGROUND: &str = "playground";

/// What is said of a case, below what has broken it.
const CASE: &str = "Look around with kubectl, and repair what is broken. hint helps; solved says whether the cluster is right; \
                    run lets it come to rest.";

/// `kubestep step`: steps through what was named, or what was saved, or what a terminal that died has left; or asks.
pub(super) fn command(arguments: StepArguments, open: Option<Open>) -> anyhow::Result<()> {
    let open = match (arguments.serve, open) {
        (true, None) => return serve::elsewhere(),
        (true, open) => open,
        (false, _) => match arguments.clients.given() {
            Some(name) => return Err(anyhow!("{name} says how clients come in, so write --serve too")),
            None => None,
        },
    };
    let interactive = is_interactive(&arguments);
    let folder = arguments.journal.clone().or_else(|| journal::folder().filter(|_| interactive));
    if let Some(path) = &arguments.follow {
        return lead::follow(path);
    }
    if let Some(path) = &arguments.replay {
        return replay(path, &arguments, folder, open);
    }
    let named = arguments.source.scenario()?;
    if let Some(folder) = folder.as_deref().filter(|_| interactive)
        && let Some(left) = resume::offer(folder, named.as_ref())?
        && let Some((stepper, greeting)) = resume::go_on(left)
    {
        return run(stepper, &arguments, &greeting, &greeting, open);
    }
    let scenario = match named {
        Some(scenario) => scenario,
        None => match choose(interactive)? {
            Some(scenario) => scenario,
            None => return Ok(()),
        },
    };
    let scenario = if open.is_some() { from_now(scenario) } else { scenario };
    let session = Session::of(Scenario { sight: Sight(arguments.disk()), ..scenario });
    tour::check(&session).map_err(|error| anyhow!("{}: {error}", session.scenario().name))?;
    let scenario = session.scenario();
    let title = palette::here().apply_to(&scenario.title).to_string();
    let tour = if scenario.tour.is_empty() { "" } else { " tour tells the story;" };
    let quiz = arguments.quiz.unwrap_or(scenario.quiz);
    let asks = if quiz { " You are asked what comes next; --quiz=false would not." } else { "" };
    let up = format!(
        "{} up, nothing is deployed. Enter steps;{tour} help lists the commands.{asks}",
        match session.cluster.config().nodes.len() {
            0 => "No node is".to_owned(),
            1 => "1 node is".to_owned(),
            n => format!("{n} nodes are"),
        },
    );
    let story = scenario.story.trim().to_owned();
    let hint = if scenario.case.is_some() { CASE.to_owned() } else { up };
    let mut stepper = terminal::stepper(session, arguments.all);
    let told = [story, hint].map(|text| match text.is_empty() {
        true => text,
        false => laid_out(&text, &stepper, &arguments) + "\n",
    });
    // What has broken a case is shown as it was typed.
    let broken = stepper.session.cluster.kubectl.printed_since(0);
    let greeting = format!("{title}\n{}", told.join(&broken));
    stepper.quiz = arguments.quiz.unwrap_or(stepper.session.scenario().quiz).then(Quiz::default);
    let kept = keep(&mut stepper, &arguments, folder)?;
    run(stepper, &arguments, &kept, &(greeting + &kept), open)
}

/// `kubestep step --replay FILE`: goes on with a saved session.
fn replay(path: &Path, arguments: &StepArguments, folder: Option<PathBuf>, open: Option<Open>) -> anyhow::Result<()> {
    let (file, mut stepper) = saved(path, arguments.at, arguments.disk())?;
    if arguments.all {
        stepper.stop = StopAt::Anything;
    }
    if let Some(quiz) = arguments.quiz {
        stepper.quiz = quiz.then(|| stepper.quiz.unwrap_or_default());
    }
    let kept = keep(&mut stepper, arguments, folder)?;
    let title = palette::here().apply_to(&stepper.session.scenario().title);
    let shown = if arguments.tui { String::new() } else { lines::text(&stepper.shown(), &stepper.view()) };
    let breaks = file.breaks.map(|what| format!("at step {} breaks: {what}", file.steps));
    let breaks = breaks.map(|text| laid_out(&text, &stepper, arguments) + "\n").unwrap_or_default();
    let greeting = format!("{title}\n{breaks}{kept}{shown}");
    run(stepper, arguments, &kept, &greeting, open)
}

/// A session that was saved, and its file.
fn saved(path: &Path, at: Option<u64>, disk: Disk) -> anyhow::Result<(File, Stepper)> {
    let text = workdir::text_in(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let refused = |error| anyhow!("{}: {error}", path.display());
    let file = File::read(&text).map_err(refused)?;
    let stepper = terminal::of_file(&file, at, disk).map_err(refused)?;
    Ok((file, stepper))
}

/// The scenario for real clients: it begins at the present time, by which they reckon ages. A saved session has it.
#[allow(clippy::disallowed_methods, reason = "what comes from outside is recorded with the session")]
pub(super) fn from_now(scenario: Scenario) -> Scenario {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_secs()).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    Scenario { start: scenario.start.or(now.map(Time)), ..scenario }
}

/// `kubestep serve`: a cluster for clients alone, until the program is told to end.
pub(super) fn serve(arguments: ServeArguments, open: Option<Open>) -> anyhow::Result<()> {
    let Some(open) = open else { return serve::elsewhere() };
    let at_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let folder = arguments.journal.clone().or_else(|| journal::folder().filter(|_| at_terminal));
    let mut greeting = String::new();
    let mut stepper = match (&arguments.replay, arguments.resume) {
        (Some(path), _) => saved(path, None, Disk::Whole)?.1,
        (None, true) => {
            let folder = arguments.journal.clone().or_else(journal::folder);
            let left = folder.as_deref().and_then(|folder| journal::left(folder).ok()?.into_iter().next());
            let left =
                left.ok_or_else(|| anyhow!("no session was left: every one has ended, or was kept elsewhere"))?;
            let Some((stepper, _)) = resume::go_on(left) else { return Ok(()) };
            stepper
        }
        (None, false) => {
            let scenario = arguments.source.scenario()?.map_or_else(|| Scenario::find(PLAYGROUND), Ok)?;
            let mut stepper = terminal::stepper(Session::of(from_now(scenario)), false);
            greeting = journal::keep_in(&mut stepper, folder);
            stepper
        }
    };
    let clients = open(&arguments.clients, Clock::Running, &mut stepper)?;
    out::print(&(greeting + clients.greeting()))?;
    Ok(serve::run(stepper, clients)?)
}

/// Has the session written as it goes: into a journal of the user's, and for others to follow. What is to be said of that.
fn keep(stepper: &mut Stepper, arguments: &StepArguments, folder: Option<PathBuf>) -> anyhow::Result<String> {
    match &arguments.lead {
        Some(path) => lead::lead(stepper, path, folder.as_deref()),
        None => Ok(journal::keep_in(stepper, folder)),
    }
}

fn is_interactive(arguments: &StepArguments) -> bool {
    !arguments.json && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// A text of the greeting in lines for a person. What is read by a program, or searched, keeps its lines; the full screen lays
/// them out by itself.
fn laid_out(text: &str, stepper: &Stepper, arguments: &StepArguments) -> String {
    match is_interactive(arguments) && !arguments.tui {
        true => wrap::wrapped(text, stepper.width()),
        false => text.to_owned(),
    }
}

/// Shows a session with the face that was asked for. A program gets only the notice, a person all of the greeting.
fn run(
    mut stepper: Stepper,
    arguments: &StepArguments,
    notice: &str,
    greeting: &str,
    open: Option<Open>,
) -> anyhow::Result<()> {
    if arguments.json {
        return said(json::run(stepper, notice)?);
    }
    if !arguments.tui {
        let clients = open.map(|open| open(&arguments.clients, Clock::Stepped, &mut stepper)).transpose()?;
        let greeting = format!("{greeting}{}", clients.as_deref().map_or("", Clients::greeting));
        return match prompt::run(stepper, &greeting, clients)? {
            _ if is_interactive(arguments) => Ok(()),
            worked => said(worked),
        };
    }
    let screen = io::stdin().is_terminal() && io::stdout().is_terminal();
    anyhow::ensure!(screen, "--tui needs a terminal; without one, leave it out or use --json");
    Ok(tui::run(stepper, greeting, tui::keys::Keys::of_user()?)?)
}

/// How a session of a program's ends: in an error, if nothing could be done that was typed.
fn said(worked: Worked) -> anyhow::Result<()> {
    anyhow::ensure!(!worked.is_nothing(), "nothing that was typed could be done; what is above says why");
    Ok(())
}

/// The menu. Without a terminal the first scenario of the course is taken.
fn choose(interactive: bool) -> anyhow::Result<Option<Scenario>> {
    let shipped = Scenario::shipped();
    if !interactive {
        return Ok(Some(Scenario::find("deployment")?));
    }
    let items: Vec<String> = shipped.iter().map(|s| format!("{:<NAMES$} {}", s.name, s.title)).collect();
    // The greeting begins with the title of what was chosen.
    let chosen = menu::choose("Which scenario", &items, 1)?;
    Ok(chosen.and_then(|i| shipped.into_iter().nth(i)))
}
