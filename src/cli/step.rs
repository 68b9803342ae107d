//! `kubestep step`: walk a cluster, one event at a time.

use std::io::{self, Write};

use console::Term;

use crate::controllers::ControllerManager;
use crate::debugger::describe;
use crate::debugger::{Advance, Session, StopAt, source};
use crate::engine::StepId;
use crate::object::Object;

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
        Stepper { session, lines: Lines::from_stdin(), stop }
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
            Command::Continue | Command::Run | Command::Wait(_) | Command::Kubectl(_) => {}
        }
        Ok(Next::Prompt)
    }

    fn advance(&mut self, stop: StopAt, times: u64) -> io::Result<()> {
        for _ in 0..times {
            if self.session.advance(stop, 0) == Advance::Quiet {
                return self.print("nothing is left to do: the cluster is quiet. Change something, or quit\n");
            }
        }
        self.show()
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
        let Some(manager) = self.manager(component) else { return self.no_component(component) };
        let mut out = String::new();
        for informer in manager.informers() {
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
        let Some(manager) = self.manager(component) else { return self.no_component(component) };
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

    fn manager(&self, component: &str) -> Option<&ControllerManager> {
        let engine = &self.session.cluster.engine;
        engine.actor(engine.find(component)?)?.as_any().downcast_ref()
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
