//! `kubestep step`: walk a cluster, one event at a time.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use console::Term;
use indicatif::ProgressBar;

use crate::client::Informer;
use crate::cluster::Cluster;
use crate::cluster::scenario::Scenario;
use crate::controllers::ControllerManager;
use crate::debugger::describe;
use crate::debugger::{Advance, Session, StopAt, source};
use crate::engine::StepId;
use crate::node::kubelet::Kubelet;
use crate::object::Object;
use crate::scheduler::KubeScheduler;

use super::Source;
use super::command::{self, Command};
use super::input::Lines;
use super::palette;
use super::view::View;

/// The prompt, in the terminal and in transcripts.
const PROMPT: &str = "(kubestep)";

/// A session at a terminal.
pub struct Stepper {
    session: Session,
    lines: Lines,
    stop: StopAt,
    /// How much of what commands printed has been shown.
    said: usize,
}

/// How far to run.
#[derive(Clone, Copy)]
enum RunTo {
    NextLine,
    Quiet,
    Time(Duration),
}

/// `run` gives a cluster that never comes to rest, as with a container that keeps crashing, this much virtual time.
const RUN_AT_MOST: Duration = Duration::from_secs(600);

/// `kubestep step`: asks for a scenario if none was named, and walks it.
pub(super) fn command(source: Source, all: bool) -> anyhow::Result<()> {
    let scenario = match source.scenario()? {
        Some(scenario) => scenario,
        None => match choose()? {
            Some(scenario) => scenario,
            None => return Ok(()),
        },
    };
    let cluster = Cluster::for_scenario(&scenario, source.seed);
    let title = palette::here().apply_to(&scenario.title);
    let greeting = format!(
        "{title}\n{}\n{} nodes are up, nothing is deployed. Enter steps; help lists the commands.\n",
        scenario.story.trim(),
        cluster.config().nodes.len(),
    );
    Stepper::new(Session::new(cluster), all).run(&greeting)?;
    Ok(())
}

/// The menu. Without a terminal the first walk-through of the course is taken.
fn choose() -> anyhow::Result<Option<Scenario>> {
    let shipped = Scenario::shipped();
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Ok(Some(Scenario::find("deployment")?));
    }
    let items: Vec<String> = shipped.iter().map(|s| format!("{:<20} {}", s.name, s.title)).collect();
    let chosen = dialoguer::Select::new().with_prompt("Which walk?").items(&items).default(1).interact_opt()?;
    Ok(chosen.and_then(|i| shipped.into_iter().nth(i)))
}

/// What to do after a command.
enum Next {
    Prompt,
    Quit,
}

impl Stepper {
    /// A stepper over `session`. With `all` it stops at background traffic too.
    pub fn new(session: Session, all: bool) -> Stepper {
        let stop = if all { StopAt::Anything } else { StopAt::Notification };
        Stepper { session, lines: Lines::from_stdin(), stop, said: 0 }
    }

    /// Takes commands until the end of the input or `quit`.
    pub fn run(mut self, greeting: &str) -> io::Result<()> {
        self.print(greeting)?;
        loop {
            let Some(line) = self.lines.next(PROMPT, self.names())? else { return Ok(()) };
            if line.trim_start().starts_with('#') {
                continue;
            }
            match command::parse(&line) {
                Err(error) => self.print(&format!("{}\n", palette::error().apply_to(error)))?,
                Ok(command) => {
                    if let Next::Quit = self.execute(command)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn execute(&mut self, command: Command) -> io::Result<Next> {
        match command {
            Command::Quit => return Ok(Next::Quit),
            Command::Help => self.print(command::HELP)?,
            Command::Step(n) => self.advance(self.stop, n)?,
            Command::StepEvent(n) => self.advance(StopAt::Event, n)?,
            Command::Show => self.show()?,
            Command::Pending { all } => self.print(&self.view().pending(&self.session, all))?,
            Command::Why(step) => self.why(step)?,
            Command::Stack => self.print(&self.stack())?,
            Command::Etcd { key, prefix } => self.print(&self.etcd(&key, prefix))?,
            Command::Cache(component) => self.print(&self.cache(&component))?,
            Command::Queue(component) => self.print(&self.queue(&component))?,
            Command::Continue => self.run_on(RunTo::NextLine)?,
            Command::Run => self.run_on(RunTo::Quiet)?,
            Command::Wait(seconds) => self.run_on(RunTo::Time(Duration::from_secs(seconds)))?,
            Command::Kubectl(words) => self.kubectl(words)?,
        }
        Ok(Next::Prompt)
    }

    fn advance(&mut self, stop: StopAt, times: u64) -> io::Result<()> {
        for _ in 0..times {
            if self.session.advance(stop, 0) == Advance::Quiet {
                self.say_printed()?;
                return self.print("nothing is left to do: the cluster is quiet. Change something, or quit\n");
            }
        }
        self.say_printed()?;
        self.show()
    }

    /// Steps without showing each stop, with a bar where somebody watches.
    fn run_on(&mut self, to: RunTo) -> io::Result<()> {
        let bar = if self.lines.interactive() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        let before = self.session.history().len();
        let start = self.session.cluster.engine.now();
        loop {
            let printed = self.session.cluster.kubectl.printed();
            if self.session.advance(StopAt::Event, 0) == Advance::Quiet {
                break;
            }
            let steps = self.session.history().len();
            if steps.is_multiple_of(256) {
                bar.set_message(format!("step {steps}, {}", self.session.time(self.session.cluster.engine.now())));
                bar.tick();
            }
            let now = self.session.cluster.engine.now();
            match to {
                RunTo::NextLine if self.session.cluster.kubectl.printed_since(printed).contains("\n$ ") => break,
                RunTo::Time(limit) if now - start >= limit => break,
                RunTo::Quiet if now - start >= RUN_AT_MOST => break,
                _ => {}
            }
        }
        bar.finish_and_clear();
        self.say_printed()?;
        let steps = self.session.history().len() - before;
        let (now, quiet) = (self.session.time(self.session.cluster.engine.now()), self.session.cluster.is_quiet());
        let end = if quiet { "; nothing is left to do" } else { "" };
        self.print(&format!("{steps} events, now at {now}{end}\n"))
    }

    /// Reads are answered at once, and time stands still; whatever changes something becomes events to step through.
    fn kubectl(&mut self, words: Vec<String>) -> io::Result<()> {
        const READS: &[&str] = &["get", "describe", "events", "logs"];
        if READS.contains(&words.first().map_or("", String::as_str)) {
            let text = self.session.read(&words);
            return self.print(&text);
        }
        self.session.cluster.type_words(words);
        self.print("kubectl is about to send its first request; press Enter to step\n")
    }

    /// What the user's commands have printed since this was last asked.
    fn say_printed(&mut self) -> io::Result<()> {
        let text = self.session.cluster.kubectl.printed_since(self.said);
        self.said += text.len();
        self.print(&palette::here().apply_to(text).to_string())
    }

    fn show(&self) -> io::Result<()> {
        match self.session.current() {
            Some(step) => self.print(&self.view().stop(&self.session, step)),
            None => self.print("nothing has happened yet; press Enter to step\n"),
        }
    }

    fn why(&self, step: Option<u64>) -> io::Result<()> {
        let step = match step {
            None => self.session.current(),
            Some(id) => self.session.step(StepId(id)),
        };
        match step {
            Some(step) => self.print(&self.view().why_chain(&self.session, step)),
            None => self.print(&format!("there is no such step yet; the last is {}\n", self.session.history().len())),
        }
    }

    fn stack(&self) -> String {
        let mut out = String::new();
        for task in self.session.cluster.engine.tasks() {
            for wait in &task.waits {
                let at = source::excerpt(wait.at, 0);
                let since = self.session.time(wait.since);
                out +=
                    &format!("{}\n  waits for {} since {since}\n  {}:{}\n", task.label, wait.about, at.file, at.line);
                out += &at.lines.iter().map(|(n, line)| format!("  ▶{n:>5} {line}\n")).collect::<String>();
            }
        }
        if out.is_empty() { "no reconcile or pod worker is under way\n".to_owned() } else { out }
    }

    fn etcd(&self, key: &str, prefix: bool) -> String {
        let store = &self.session.cluster.engine.api.store;
        let entries: Vec<_> = store.prefix(key).filter(|(k, _)| prefix || *k == key).collect();
        if entries.is_empty() {
            return format!("etcd has no key {key:?}; etcd get --prefix /registry/ lists all\n");
        }
        let mut out = String::new();
        for (key, entry) in &entries {
            let (created, changed) = (entry.create_revision, entry.mod_revision);
            out += &format!("{key}  create revision {created}, mod revision {changed}, version {}\n", entry.version);
        }
        if let [(_, entry)] = entries.as_slice() {
            out += &yaml(&entry.value);
        }
        out
    }

    fn cache(&self, component: &str) -> String {
        let informers = self.informers(component);
        if informers.is_empty() {
            return self.no_component(component);
        }
        let mut out = String::new();
        for informer in informers {
            let cache = informer.cache().borrow();
            let plural = informer.kind().info().plural;
            out += &format!("{plural}: {} objects, up to revision {}\n", cache.objects().len(), cache.revision());
            for (key, object) in cache.objects().iter().take(20) {
                out += &format!("  {key} at revision {}\n", object.revision());
            }
        }
        out
    }

    fn queue(&self, component: &str) -> String {
        if let Some(scheduler) = self.process::<KubeScheduler>(component) {
            return self.view().table(&scheduler.queue_table());
        }
        let Some(manager) = self.process::<ControllerManager>(component) else { return self.no_component(component) };
        let mut out = String::new();
        for queue in manager.queues() {
            queue.with(|state| {
                out += &format!("{}: {} queued, {} in work", queue.name(), state.queue.len(), state.processing.len());
                out += &format!(", {} later\n", state.delayed.len());
                for key in &state.queue {
                    out += &format!("  {key}\n");
                }
                for key in &state.processing {
                    out += &format!("  {key} (a worker has it)\n");
                }
                for (key, at) in &state.delayed {
                    out += &format!("  {key} at {}\n", self.session.time(*at));
                }
            });
        }
        out
    }

    /// The process of this name, if it is of this type.
    fn process<T: 'static>(&self, component: &str) -> Option<&T> {
        let engine = &self.session.cluster.engine;
        engine.actor(engine.find(component)?)?.as_any().downcast_ref()
    }

    fn informers(&self, component: &str) -> Vec<&Informer> {
        if let Some(kubelet) = self.process::<Kubelet>(component) {
            return kubelet.informers().into();
        }
        if let Some(scheduler) = self.process::<KubeScheduler>(component) {
            return scheduler.informers().iter().collect();
        }
        self.process::<ControllerManager>(component).map_or(Vec::new(), |manager| manager.informers().iter().collect())
    }

    fn no_component(&self, name: &str) -> String {
        let names: Vec<&str> = self.session.cluster.engine.actors().map(|(_, actor)| actor.name()).collect();
        format!("no component {name:?} has that; there are {}\n", names.join(", "))
    }

    /// Names of objects and components, to complete at the prompt.
    fn names(&self) -> Vec<String> {
        let engine = &self.session.cluster.engine;
        let objects = engine.api.store.prefix("/registry/").map(|(_, entry)| entry.value.name().to_owned());
        engine.actors().map(|(_, actor)| actor.name().to_owned()).chain(objects).collect()
    }

    fn view(&self) -> View {
        let width = Term::stdout().size_checked().map_or(80, |(_, columns)| usize::from(columns));
        View::new(if self.lines.interactive() { width } else { 100 })
    }

    fn print(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

fn yaml(object: &Object) -> String {
    serde_yaml::to_string(&object.to_json()).unwrap_or_else(|error| format!("{}: {error}\n", describe::name(object)))
}
