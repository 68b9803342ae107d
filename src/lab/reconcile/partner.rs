//! Who reconciles: a process of its own with a learner's code, or a [`Host`] in this one.
//!
//! The process is told a line and answers with a line. It may read caches in between. Whatever else it prints is kept
//! apart; whatever else it does ends it, and is said in words.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin};
use std::rc::Rc;
use std::time::Duration;

use super::host::{Host, Read};
use super::wire::{Ask, Say};
use crate::lab::process::{self, ANSWER, Pipe};
use crate::object::Kind;

/// Somebody who reconciles.
pub trait Partner {
    /// Is told something, and says what comes of it. Reads caches with `read`.
    fn tell(&mut self, ask: Ask, read: &Read) -> Say;
    /// A reconcile will not go on.
    fn forget(&mut self, task: u64);
}

/// Makes a partner, one for each time that the controller starts.
pub type Make = &'static (dyn Fn() -> Box<dyn Partner> + Sync);

/// So long may it think about one thing.
const SECONDS: Duration = Duration::from_secs(3);

/// A process.
pub struct Process {
    child: Option<Child>,
    input: Option<ChildStdin>,
    output: Option<Pipe>,
    errors: Option<Pipe>,
    /// Why it is gone.
    gone: String,
}

impl Process {
    /// Starts a program.
    pub fn start(program: &Path, arguments: &[&str]) -> Process {
        let mut process = Process { child: None, input: None, output: None, errors: None, gone: String::new() };
        match process::start(program, arguments) {
            Ok(mut child) => {
                process.input = child.stdin.take();
                process.output = child.stdout.take().map(process::follow);
                process.errors = child.stderr.take().map(process::read);
                process.child = Some(child);
            }
            Err(error) => process.gone = format!("{} cannot be started: {error}", program.display()),
        }
        process
    }

    /// Starts the program each time that a controller starts.
    pub fn maker(program: &Path, arguments: &[&str]) -> Make {
        let program = program.to_owned();
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        Box::leak(Box::new(move || -> Box<dyn Partner> {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            Box::new(Process::start(&program, &arguments))
        }))
    }

    fn send(&mut self, ask: &Ask) -> bool {
        let line = serde_json::to_string(ask).unwrap_or_else(|error| unreachable!("ours: {error}")) + "\n";
        self.input.as_mut().is_some_and(|input| input.write_all(line.as_bytes()).is_ok())
    }

    /// The next line that is an answer; None if there is none in time or will never be.
    fn hear(&mut self) -> Option<String> {
        self.output.as_mut()?.line_with(ANSWER, SECONDS)
    }

    /// Ends it and says how it came to this.
    fn end(&mut self) -> Say {
        if let (Some(mut child), Some(output), Some(errors)) =
            (self.child.take(), self.output.take(), self.errors.take())
        {
            self.input = None;
            self.gone = process::obituary(&mut child, output, errors);
        }
        Say::Broken(self.gone.clone())
    }
}

impl Partner for Process {
    fn tell(&mut self, ask: Ask, read: &Read) -> Say {
        let mut ask = ask;
        loop {
            let heard = if self.send(&ask) { self.hear() } else { None };
            let Some(line) = heard else { return self.end() };
            match serde_json::from_str(&line) {
                Ok(Say::Read { kind }) => {
                    let kind = Kind::from_word(&kind);
                    let objects = kind.map(|kind| read(kind)).unwrap_or_default();
                    ask = Ask::Cached(objects.iter().map(|object| object.to_json()).collect());
                }
                Ok(said) => return said,
                Err(_) => return Say::Broken(format!("it answers with something that is no answer: {line}")),
            }
        }
    }

    fn forget(&mut self, task: u64) {
        self.send(&Ask::Forget { task });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            process::end_group(&child);
            drop(child.wait());
        }
    }
}

/// In the learner's process: answers with the controller that `host` makes until nobody asks any more.
pub fn answer(host: impl FnOnce(Read) -> Host) {
    super::host::remember_panics();
    let mut host = host(Rc::new(|kind| {
        say(&Say::Read { kind: kind.info().qualified_plural() });
        match hear() {
            Some(Ask::Cached(objects)) => objects.into_iter().filter_map(|value| kind.decode(value).ok()).collect(),
            _ => Vec::new(),
        }
    }));
    while let Some(ask) = hear() {
        if let Some(said) = host.hear(ask) {
            say(&said);
        }
    }
}

fn hear() -> Option<Ask> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).ok().filter(|count| *count > 0)?;
    Some(serde_json::from_str(&line).expect("the grader speaks JSON"))
}

fn say(said: &Say) {
    let text = serde_json::to_string(said).expect("what is said is data");
    println!("\n{ANSWER}{text}");
}

/// A controller's code in this process.
pub struct Here {
    host: Option<Host>,
    make: fn(Read) -> Host,
}

impl Here {
    /// One that `make` makes.
    pub fn new(make: fn(Read) -> Host) -> Here {
        Here { host: None, make }
    }
}

impl Partner for Here {
    fn tell(&mut self, ask: Ask, read: &Read) -> Say {
        let host = self.host.get_or_insert_with(|| (self.make)(read.clone()));
        host.hear(ask).unwrap_or_else(|| Say::Broken("there is nothing to say".to_owned()))
    }

    fn forget(&mut self, task: u64) {
        if let Some(host) = &mut self.host {
            host.hear(Ask::Forget { task });
        }
    }
}
