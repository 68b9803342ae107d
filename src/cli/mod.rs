//! The terminal: the program's commands, and the faces of a session.
//!
//! - [`step`]: `kubestep step`; what can be typed in a session is [`stepper`]'s. Its faces: [`prompt`], [`json`], [`tui`];
//!   what they have around them: [`terminal`], [`sources`].
//! - [`mod@run`]: `kubestep run`, to the end without stopping.
//! - [`explore`]: `kubestep explore`, all orders of delivery within a bound. [`outside`]: the same for the user's own operator.
//! - [`learn`]: the exercises: `learn`, `grade`, `hint`, `solution`, `reset`. [`regrade`]: `watch`.
//!   [`broken`]: the cases to solve without Rust. [`progress`]: how long they took, and a board of a class. [`doctor`], [`pack`]: before a class begins. [`lead`]: one session
//!   followed on other machines. `tar`: an archive.
//! - [`course`]: `kubestep book`, the course. [`serve`]: `kubestep serve`, for real clients. [`elsewhere`]: programs that are built when
//!   they are first asked for.
//! - [`watch`]: long moves as they go. [`editor`]: the user's own.
//! - [`input`]: where lines come from; [`draft`]: one as it is typed. [`menu`]: what is asked before a session begins.
//!   [`journal`], [`resume`]: sessions that outlive their terminal.
//! - [`out`]: where texts leave the program.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use cluster::scenario::{Nodes, Scenario};
use debugger::source;
use kubectl::manifest::{self, Manifests, Reading};
use kubectl::workdir::{self, Disk, Workdir};
use lab::plug;
use lab::started::{named as as_started, started_as};
use object::{Discovery, Kind};
use stepper::palette;

pub mod broken;
pub mod course;
pub mod doctor;
pub mod draft;
pub mod editor;
mod elsewhere;
mod explore;
pub mod input;
pub mod journal;
pub mod json;
pub mod lead;
pub mod learn;
mod menu;
pub mod out;
pub mod outside;
pub mod pack;
mod pager;
pub mod port;
pub mod progress;
pub mod prompt;
pub mod regrade;
mod resume;
mod run;
pub mod serve;
pub mod signals;
pub mod sources;
mod step;
mod tar;
pub mod terminal;
pub mod tui;
pub mod watch;

pub use course::Course;

/// Kubernetes, one event at a time.
#[derive(Debug, Parser)]
#[command(
    name = "kubestep",
    bin_name = "kubestep",
    version,
    about,
    propagate_version = true,
    arg_required_else_help = true,
    term_width = terminal::columns()
)]
struct Arguments {
    /// When to colour the output.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    color: Color,
    #[command(subcommand)]
    command: Verb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Walk a cluster, pausing at each informer notification.
    Step(StepArguments),
    /// Let real clients in: kubectl, Helm and operators talk to the cluster over HTTP.
    Serve(ServeArguments),
    /// Run to the end without stopping, and write what happened.
    Run(RunArguments),
    /// Run a scenario in every order of delivery within a bound, looking for one that breaks what must hold.
    Explore(ExploreArguments),
    /// List what `step` and `run` offer.
    Scenarios,
    /// Build the course, serve it to this machine alone, and open it.
    Book(course::Arguments),
    /// Do this program's part in a stock `mdbook build`.
    #[command(hide = true)]
    Preprocess {
        #[command(subcommand)]
        question: Option<course::Question>,
    },
    /// The cases and the exercises: where you are, and what is next.
    Learn {
        /// Hand out the answers of the exercises before this one that you have not begun, and begin here.
        #[arg(long, value_name = "NAME")]
        until: Option<String>,
    },
    /// Grade an exercise whenever its file is saved; all of them unless one is named.
    Watch {
        /// Its name or number.
        name: Option<String>,
        /// Do not build the optimised judge beside it, once a verdict takes long.
        #[arg(long)]
        as_is: bool,
    },
    /// How long each exercise took: for you, for another learner, for a class.
    Progress(progress::Arguments),
    /// Check that this machine has all that is needed, and say what to do if not.
    Doctor,
    /// Print the keys of the full screen, as the file has them that changes them, and say where that file is.
    Keys,
    /// Put the project and all crates into one folder or archive, from which people without network can start.
    Pack(pack::Arguments),
    /// Grade a case or an exercise, or all that are started, with the full explanation.
    Grade {
        /// Its name or number.
        name: Option<String>,
    },
    /// Judge a program that is built already, for the program that was not optimised.
    #[command(hide = true)]
    Judge {
        /// The exercise.
        name: String,
        /// What to start: a program and its arguments.
        #[arg(required = true, trailing_var_arg = true)]
        program: Vec<String>,
    },
    /// A hint for a case or an exercise, of three that say more and more.
    Hint {
        /// Its name or number; without one, that of the exercise which is next.
        name: Option<String>,
        /// Which hint.
        #[arg(default_value_t = 1)]
        number: usize,
    },
    /// Show the answer of a case or an exercise.
    Solution {
        /// Its name or number.
        name: String,
    },
    /// Hand an exercise out again; what you have written is kept beside it.
    Reset {
        /// Its name or number.
        name: String,
    },
}

/// What runs: a scenario, or manifests of one's own.
#[derive(Debug, clap::Args)]
struct Source {
    /// A scenario's name, or its file. Without one, `step` asks.
    scenario: Option<String>,
    /// A manifest, a folder of manifests, or - for standard input; may be given several times.
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with = "scenario")]
    filename: Vec<String>,
    /// How many nodes the cluster has.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=5000))]
    nodes: Option<u16>,
    /// 0: every message takes its plain time. Any other number shuffles the order of events, repeatably. A scenario may
    /// name one of its own.
    #[arg(long)]
    seed: Option<u64>,
    /// Put your solution of this exercise in place of the cluster's own part.
    #[arg(long, value_name = "NAME")]
    exercise: Option<String>,
}

#[derive(Debug, clap::Args)]
struct RunArguments {
    #[command(flatten)]
    source: Source,
    /// Write calls.jsonl, events.jsonl, state.json, audit.log, trace.jsonl and output.txt into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct StepArguments {
    #[command(flatten)]
    source: Source,
    /// Stop at background traffic too: heartbeats, Events, tokens.
    #[arg(long)]
    all: bool,
    /// Open a session that was saved.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "filename"])]
    replay: Option<PathBuf>,
    /// Open it at this step.
    #[arg(long, value_name = "STEP", requires = "replay")]
    at: Option<u64>,
    /// Answer each line with one line of JSON, for editors and other programs: docs/json.md says what is in it.
    #[arg(long)]
    json: bool,
    /// Use the whole screen: panes for a map of the cluster, what happened, what is pending, the timeline, code, queues and caches.
    #[arg(long, conflicts_with = "json")]
    tui: bool,
    /// Before each stop, ask what happens next; the score comes at the end. Some scenarios do: --quiz=false turns it off.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    quiz: Option<bool>,
    /// Write the session into this folder as it goes. At a terminal that happens anyway, in the user's own folder for
    /// such things; a session whose terminal died is offered again there.
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
    /// Write the session into this file for others, in a folder that they share.
    #[arg(long, value_name = "FILE")]
    lead: Option<PathBuf>,
    /// Do what is typed in the session that stands in this file, as it comes.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["scenario", "filename", "replay", "json", "tui", "quiz", "journal", "within", "lead"]
    )]
    follow: Option<PathBuf>,
    /// Read and write no files outside of this folder: for programs that run sessions for others.
    #[arg(long, value_name = "DIR")]
    within: Option<PathBuf>,
    /// Let real clients in while you step: kubectl, Helm and operators talk to the cluster over HTTP.
    #[arg(long, conflicts_with_all = ["json", "tui", "follow", "within"])]
    serve: bool,
    #[command(flatten, next_help_heading = "With --serve")]
    clients: serve::Arguments,
}

#[derive(Debug, clap::Args)]
struct ServeArguments {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    clients: serve::Arguments,
    /// Go on with a session that was saved.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "filename"])]
    replay: Option<PathBuf>,
    /// Write the session into this folder as it goes; at a terminal that happens anyway, in the user's own folder for such things.
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
    /// Go on with the newest session there whose program was killed.
    #[arg(long, conflicts_with = "replay")]
    resume: bool,
}

impl StepArguments {
    /// The files that the session can see.
    fn disk(&self) -> Disk {
        self.within.clone().map_or(Disk::Whole, Disk::Folder)
    }
}

#[derive(Debug, clap::Args)]
struct ExploreArguments {
    #[command(flatten)]
    source: Source,
    /// Explore the scenario of a bug with the bug mended.
    #[arg(long)]
    fixed: bool,
    /// How many messages may come late in one run; 1 unless the scenario says otherwise.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(0..=8))]
    late: Option<u8>,
    /// By how many milliseconds at most; 50 unless the scenario says otherwise.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(0..=3_600_000))]
    window: Option<u64>,
    /// Whose messages: what this component sends and gets; everyone's unless the scenario says otherwise.
    #[arg(long, value_name = "COMPONENT")]
    late_at: Vec<String>,
    /// How many faults there may be in one run; none unless the scenario says otherwise.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(0..=8))]
    faults: Option<u8>,
    /// Which kinds of faults: hold, drop, disconnect, crash, stale, rewind, 409, 429, 500, 503, lost, lost-after.
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Where: a component, and perhaps a kind, as "kube-scheduler nodes" or "kubelet/*"; may be given several times.
    #[arg(long, value_name = "WHERE")]
    at: Vec<String>,
    /// What must hold; may be given several times. Without, what the scenario states and what holds anywhere.
    #[arg(long, value_name = "NAME")]
    property: Vec<String>,
    /// How many schedules to run at most.
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    schedules: u64,
    /// Instead of a search, this many runs in which chance decides, by the seed.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    random: Option<u64>,
    /// Chance decides by PCT, for bugs of this depth.
    #[arg(long, value_name = "DEPTH", conflicts_with = "resume", value_parser = clap::value_parser!(u8).range(1..=32))]
    pct: Option<u8>,
    /// Keep the search in this file, and go on with it if it is there.
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Where a schedule that breaks a property is saved; in the user's own folder for such things unless given.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Treat all orders as different, to see what the reduction is worth.
    #[arg(long)]
    no_reduction: bool,
    /// Start your own operator, in any language, with KUBECONFIG set, and break things at each of its requests.
    ///
    /// The command line goes to `sh -c`. First it runs undisturbed, then again and again, each time with one fault: it is killed
    /// right after a write and started again, an answer is lost, a request fails, a watch breaks (--kinds and --faults choose). Virtual
    /// time stands while the program works, and jumps when it waits. Its threads and its own clock are its own, so two runs of it may
    /// differ; the run that is saved repeats without it, exactly.
    #[arg(
        long,
        value_name = "COMMAND",
        conflicts_with_all = ["late", "window", "late_at", "random", "pct", "resume", "no_reduction"]
    )]
    wire: Option<String>,
    /// With --wire: how long to look, in seconds of the clock on the wall.
    #[arg(long, value_name = "SECONDS", requires = "wire", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// With --wire: a program that does nothing for so many seconds has nothing more to do.
    #[arg(long, value_name = "SECONDS", requires = "wire", default_value_t = 1.5, value_parser = outside::seconds)]
    rest: f64,
}

/// The width of the column of scenarios' names.
const NAMES: usize = 25;

/// What a program has beside the rest, because the crates for it are in it.
#[derive(Clone, Copy, Default)]
pub struct Additions {
    /// The course.
    pub course: Option<&'static Course>,
    /// The front end for real clients.
    pub open: Option<serve::Open>,
    /// Exploring what is outside.
    pub explore: Option<outside::Explore>,
}

/// Runs the program with its additions. Exit code 0: done; 1: an error, which has been
/// printed; 2: wrong usage; 143: SIGTERM has ended it.
pub fn main(additions: &Additions) -> ExitCode {
    let arguments = Arguments::parse();
    source::provide(&sources::Disk);
    match arguments.color {
        Color::Auto => {}
        Color::Always => console::set_colors_enabled(true),
        Color::Never => console::set_colors_enabled(false),
    }
    let ended = run(arguments.command, additions);
    match (ended, signals::code()) {
        (Err(error), _) if !is_left(&error) => {
            // An error that cannot be printed cannot be reported.
            let error = as_started(&format!("{error:#}"));
            let _ = writeln!(out::errors(), "{} {error}", palette::error().apply_to("error:"));
            ExitCode::FAILURE
        }
        (_, Some(code)) => ExitCode::from(code),
        (_, None) => ExitCode::SUCCESS,
    }
}

fn run(verb: Verb, additions: &Additions) -> anyhow::Result<()> {
    match verb {
        Verb::Step(arguments) => step::command(arguments, additions.open),
        Verb::Serve(arguments) => step::serve(arguments, additions.open),
        Verb::Run(arguments) => run::command(arguments.source, arguments.out.as_deref()),
        Verb::Explore(arguments) => explore::command(&arguments, additions.explore),
        Verb::Scenarios => {
            let mut out = out::text();
            for scenario in Scenario::shipped() {
                writeln!(out, "{:<NAMES$} {}", scenario.name, scenario.title)?;
            }
            writeln!(out, "\nWith a bug that real clusters had, for explore [--fixed]:")?;
            for scenario in Scenario::bugs() {
                writeln!(out, "{:<NAMES$} {}", scenario.name, scenario.title)?;
            }
            writeln!(out, "\nBroken: find out why. hint helps, and solved says whether the cluster is right:")?;
            for scenario in broken::all() {
                writeln!(out, "{:<NAMES$} {}", scenario.name, scenario.title)?;
            }
            Ok(())
        }
        Verb::Book(arguments) => additions.course.map_or_else(course::elsewhere, |course| (course.book)(&arguments)),
        Verb::Preprocess { question } => {
            additions.course.map_or_else(course::elsewhere, |course| (course.preprocess)(question.as_ref()))
        }
        Verb::Learn { until } => learn::learn(until.as_deref(), &mut out::text()),
        Verb::Watch { name, as_is } => regrade::command(name.as_deref(), !as_is, &mut out::text()),
        Verb::Progress(arguments) => progress::command(&arguments, &mut out::text()),
        Verb::Pack(arguments) => pack::command(&arguments, &mut out::text()),
        Verb::Keys => tui::keys::command(&mut out::text()),
        Verb::Doctor => doctor::command(&mut out::text()),
        Verb::Grade { name } => learn::grade(name.as_deref(), &mut out::text()),
        Verb::Judge { name, program } => learn::judge(&name, &program, &mut out::text()),
        Verb::Hint { name, number } => learn::hint(name.as_deref(), number, &mut out::text()),
        Verb::Solution { name } => learn::solution(&name, &mut out::text()),
        Verb::Reset { name } => learn::reset(&name, &mut out::text()),
    }
}

impl Source {
    /// The scenario that is asked for; None if nothing was said.
    fn scenario(&self) -> anyhow::Result<Option<Scenario>> {
        let scenario = match (&self.scenario, self.filename.as_slice()) {
            (Some(name), _) => {
                let trial = self.exercise.as_ref().and_then(|exercise| plug::trial(exercise, name));
                trial.map_or_else(|| named(name), Ok)?
            }
            (None, []) => match &self.exercise {
                Some(exercise) => Scenario::find(plug::usual_scenario(exercise))?,
                None => return Ok(None),
            },
            (None, files) => of_manifests(files)?,
        };
        self.prepared(scenario).map(Some)
    }

    /// What `explore` is to run: as [`Source::scenario`], but of an exercise alone all trials.
    fn scenarios(&self) -> anyhow::Result<Vec<Scenario>> {
        match &self.exercise {
            Some(exercise) if self.scenario.is_none() && self.filename.is_empty() => {
                let trials = plug::trials(exercise).map_err(|error| anyhow::anyhow!(error))?;
                trials.into_iter().map(|scenario| self.prepared(scenario)).collect()
            }
            _ => Ok(self.scenario()?.into_iter().collect()),
        }
    }

    /// A scenario as it is asked for: with so many nodes, this seed, and a learner's part in it.
    fn prepared(&self, mut scenario: Scenario) -> anyhow::Result<Scenario> {
        if let Some(nodes) = self.nodes {
            scenario.nodes = Nodes::Count(nodes);
        }
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        if self.exercise.is_some() {
            scenario.exercise.clone_from(&self.exercise);
            plug::plug(&mut scenario).map_err(|error| anyhow::anyhow!(error))?;
        }
        Ok(scenario)
    }
}

/// A scenario by its name or its file. A manifest's file is none, and is told how it is given.
fn named(name: &str) -> anyhow::Result<Scenario> {
    Scenario::find(name).map_err(|error| {
        let text = workdir::text_in(name).unwrap_or_default();
        match text.lines().any(|line| line.starts_with("apiVersion:")) {
            true => {
                let program = started_as();
                anyhow::anyhow!("{name} is a manifest, not a scenario; give it with -f: {program} step -f {name}")
            }
            false => error.into(),
        }
    })
}

/// A scenario that applies manifests. They are read here first, so that what is wrong with them is said at once.
fn of_manifests(files: &[String]) -> anyhow::Result<Scenario> {
    let mut scenario = Scenario { name: files.join(" "), title: "your manifests".into(), ..Scenario::default() };
    scenario.namespace = "default".into();
    // What a cluster on one's own machine has.
    (scenario.csi, scenario.default_class, scenario.dns, scenario.proxy) = (true, true, true, true);
    scenario.folder = Some(PathBuf::from("."));
    let (mut all, here) = (Manifests::default(), Workdir::plain(Path::new(".")));
    for file in files {
        let (name, once) = match file.as_str() {
            "-" => ("STDIN", Some(workdir::text_from(io::stdin())?)),
            file if workdir::is_read_once(file) => {
                (file, Some(manifest::text_of(&here.look(file).found, file)?.into()))
            }
            file => (file, None),
        };
        scenario.timeline.push(format!("kubectl apply -f {}", shell_words::quote(name)));
        let (none, how) = (Discovery::default(), Reading::Whole);
        all.append(match &once {
            Some(text) => manifest::read_text(name, text, &none, how)?,
            None => manifest::read_path(&here, name, &none, how)?,
        });
        scenario.files.extend(once.map(|text| (name.to_owned(), text)));
    }
    for doubled in &all.doubled {
        let warning = format!("{}: a key stands twice in one mapping, and kubectl takes the last", doubled.source);
        writeln!(out::errors(), "Warning: {warning}")?;
    }
    // The agents that enforce policies listen to much: they are there where there is something to enforce. So it is with who
    // measures for autoscalers.
    let has = |kind| all.known.iter().any(|manifest| manifest.kind == kind);
    (scenario.policies, scenario.metrics) = (has(Kind::NetworkPolicy), has(Kind::HorizontalPodAutoscaler));
    // kubectl applies what it can, and kinds may be defined on the way.
    if all.known.is_empty() {
        all.all()?;
    }
    Ok(scenario)
}

/// The reader of our output went away, or the user left a prompt: no error of ours.
fn is_left(error: &anyhow::Error) -> bool {
    let gone = |error: &io::Error| matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted);
    error.downcast_ref().is_some_and(gone)
}
