//! The timeline of a scenario: lines as one would type them into a shell, run one after another.
//!
//! The shell is the one that containers have ([`Shell`]); its commands are the cluster's here: kubectl, the network's, and what
//! breaks. It is plain data, so between two lines, and while a line sleeps, no task is in flight.
//!
//! - [`braces`]: what bash makes of `{1..3}`. [`command`]: what a command is. [`mod@line`]: whether a line is understood, before it runs.
//!
//! Left out: what the shell leaves out; of jobs in the background (`&`) all but single commands, and of `kill` all but the end
//! of such a command.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use super::fault::Fault;
use super::from;
use super::running::Running;
use super::turns::Turns;
use engine::{CallId, Memory, Note, unless};
use kubectl::Kubectl;
use network::kernel::Fabric;
use object::time::Instant;
use userland::Ran;
use userland::shell::Program;
use userland::shell::run::{self, Shell, Sink, Turn, Write};

pub mod braces;
mod command;
mod line;

pub use command::{Network, network, printed_through};
pub use line::check;

use command::Command;

/// Wake: the next line is typed, or the one that has slept goes on.
pub(super) const NEXT_LINE: &str = "next line";
/// The name of the scenario's own [`Runner`].
pub(super) const SCENARIO: &str = "";
/// The name of the one for lines of a shell that are typed at the prompt.
pub(super) const PROMPT: &str = "prompt";

/// The exit code of a line that is not understood, or whose command has panicked.
const WRONG: i32 = 2;

/// Runs timelines, line by line.
pub struct Runner {
    /// Who types: what wakes it says so.
    name: &'static str,
    /// The network that commands of it go to.
    fabric: Fabric,
    failures: Memory<u32>,
    script: Memory<Script>,
    /// Who is told that there is nothing left to type.
    turns: Option<Turns>,
    /// Who is told what runs, if Ctrl-C can end it.
    running: Option<Running>,
}

/// What is still to be typed, and what earlier lines have kept.
#[derive(Clone)]
struct Script {
    kubectl: Kubectl,
    lines: VecDeque<String>,
    /// The line that runs; empty: none does.
    line: Rc<str>,
    /// When it began to.
    began: Instant,
    shell: Shell,
    running: bool,
    asleep: bool,
    /// The exit code of the last line that has ended.
    code: i32,
    /// The commands that run in the background.
    jobs: Vec<Job>,
    /// The last process that was given a number; the shell is 1.
    last_process: u64,
}

/// A command in the background.
#[derive(Clone)]
struct Job {
    /// `%1`.
    number: usize,
    /// What `$!` was.
    process: u64,
    /// What ends it.
    end: CallId,
}

impl Script {
    /// Takes up a job that `end` ends. Its process.
    fn job_began(&mut self, end: CallId) -> u64 {
        self.last_process += 1;
        let (number, process) = (self.jobs.last().map_or(1, |job| job.number + 1), self.last_process);
        self.jobs.push(Job { number, process, end });
        self.shell.job_began();
        let _ = self.shell.set("!", process.to_string());
        process
    }

    /// Whether the line is to go on, because it has waited for this one.
    fn job_ended(&mut self, process: u64) -> bool {
        self.jobs.retain(|job| job.process != process);
        self.shell.job_ended()
    }

    /// The job that is called `%1`, `%%` or by its process.
    fn job(&self, name: &str) -> Option<&Job> {
        match name.strip_prefix('%') {
            Some("" | "%" | "+") => self.jobs.last(),
            Some(number) => self.jobs.iter().find(|job| number.parse() == Ok(job.number)),
            None => self.jobs.iter().find(|job| name.parse() == Ok(job.process)),
        }
    }

    /// From here on this line runs.
    fn begin(&mut self, line: String, program: Rc<Program>) {
        self.shell.take_up(program);
        // A shell that has no room for it says so at the next command that needs a variable.
        let _ = self.shell.set("NS", self.kubectl.namespace.clone());
        (self.line, self.began) = (line.into(), self.kubectl.client.now());
    }
}

/// Has the next line typed when it is dropped before its command has ended: the command has panicked.
struct Ended(Option<Rc<Runner>>);

impl Ended {
    fn well(mut self) -> Option<Rc<Runner>> {
        self.0.take()
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(runner) = self.0.take() {
            runner.ended(WRONG, Duration::ZERO);
        }
    }
}

impl Runner {
    /// A runner with nothing to type. Failed commands are counted in `failures`.
    pub fn new(name: &'static str, kubectl: Kubectl, fabric: Fabric, failures: Memory<u32>) -> Runner {
        let hub = kubectl.client.hub().clone();
        let (lines, line, began, shell) = Default::default();
        let (jobs, last_process) = (Vec::new(), 1);
        let (running, asleep, code) = (false, false, 0);
        let script = Script { kubectl, lines, line, began, shell, running, asleep, code, jobs, last_process };
        Runner { name, fabric, failures, script: hub.memory(script), turns: None, running: None }
    }

    /// The same, each of whose lines is typed in its turn and may be ended by Ctrl-C.
    pub(super) fn in_turns(self, turns: &Turns, running: &Running) -> Runner {
        Runner { turns: Some(turns.clone()), running: Some(running.clone()), ..self }
    }

    /// Adds lines to what is to be typed; the first comes soon, unless one is under way. From here on `kubectl` runs the
    /// commands.
    pub fn type_lines(self: &Rc<Self>, lines: Vec<String>, kubectl: Kubectl) {
        self.script.borrow_mut().kubectl = kubectl;
        self.script.borrow_mut().lines.extend(lines);
        if !self.is_busy() {
            self.script.borrow_mut().running = true;
            self.wake(Duration::ZERO);
        }
    }

    /// Whether a line runs or waits to be typed.
    pub fn is_busy(&self) -> bool {
        self.script.borrow().running
    }

    /// The exit code of the last line that has ended.
    pub fn code(&self) -> i32 {
        self.script.borrow().code
    }

    /// Whether it is the timeline itself that lets time pass.
    pub fn is_asleep(&self) -> bool {
        self.script.borrow().asleep
    }

    fn kubectl(&self) -> Kubectl {
        self.script.borrow().kubectl.with_written()
    }

    /// Goes on where it is: with a line that has slept, or with the next.
    pub(super) fn go_on(self: &Rc<Self>) {
        self.script.borrow_mut().asleep = false;
        if self.script.borrow().line.is_empty() { self.next_line() } else { self.advance() }
    }

    /// Types one line. A line that fails does not stop the rest, as in a shell.
    fn next_line(self: &Rc<Self>) {
        let line = self.script.borrow_mut().lines.pop_front();
        self.script.borrow_mut().running = line.is_some();
        let Some(text) = line else {
            self.turns.iter().for_each(Turns::over);
            return;
        };
        let kubectl = self.kubectl();
        let typed = text.trim_end();
        kubectl.print(&format!("$ {typed}\n"));
        kubectl.client.hub().note(|| Note::Typed { line: typed.into() });
        match line::read(&text) {
            Ok(program) => {
                self.script.borrow_mut().begin(text, program);
                self.advance();
            }
            Err(message) => {
                kubectl.complain(format!("error: {message}"));
                self.ended(WRONG, Duration::ZERO);
            }
        }
    }

    /// Lets the line go on until it has to wait.
    fn advance(self: &Rc<Self>) {
        let now = self.script.borrow().kubectl.client.now();
        loop {
            let turn = self.script.borrow_mut().shell.next(now);
            match turn {
                Turn::Run(command) => {
                    if !self.start(command) {
                        return;
                    }
                }
                Turn::Write(writes) => self.write(writes),
                // The end of its jobs wakes it.
                Turn::Sleep { time: None, .. } if self.script.borrow().shell.waits_for_jobs() => return,
                Turn::Sleep { time: Some(time), .. } if self.may_last(time) => return self.sleep(time),
                Turn::Sleep { .. } => {
                    self.fail(format!("error: {}", line::TOO_LONG));
                    return self.ended(WRONG, Duration::ZERO);
                }
                Turn::End(code) => return self.ended(code, Duration::ZERO),
                Turn::Unsupported => {
                    let line = self.script.borrow().line.clone();
                    self.fail(format!("error: {}", line::not_understood(&line)));
                    return self.ended(WRONG, Duration::ZERO);
                }
            }
        }
    }

    /// A line that has nothing left to do but to sleep is over; it is the next that waits.
    fn sleep(&self, time: Duration) {
        self.script.borrow_mut().asleep = true;
        let is_over = self.script.borrow().shell.is_at_end();
        if is_over { self.ended(0, time) } else { self.wake(time) }
    }

    /// Whether the line may last for so much longer.
    fn may_last(&self, time: Duration) -> bool {
        let Script { kubectl, began, .. } = &*self.script.borrow();
        (kubectl.client.now() - *began).saturating_add(time) <= line::SLEEP_MAX
    }

    fn ended(&self, code: i32, pause: Duration) {
        let mut script = self.script.borrow_mut();
        (script.line, script.code) = (Rc::default(), code);
        drop(script);
        self.script.borrow().kubectl.print("\n");
        self.wake(pause);
    }

    fn wake(&self, pause: Duration) {
        let client = self.script.borrow().kubectl.client.clone();
        client.hub().wake(client.actor(), NEXT_LINE, self.name, pause);
    }

    /// Starts a command. Whether the line can go on at once.
    fn start(self: &Rc<Self>, told: run::Command) -> bool {
        let kubectl = self.kubectl();
        let command = match Command::of(&told.words, told.input()) {
            Ok(Some(command)) => command,
            Ok(None) if told.words[0] == "tee" => {
                let (paths, append) = command::tee(&told.words);
                let text = told.input();
                let to = |path: &String| Write { to: Sink::File { path: path.clone(), append }, text: text.to_owned() };
                self.write(paths.into_iter().map(to).collect());
                self.done(Ran::well(text));
                return true;
            }
            Ok(None) => {
                self.done(command::on_text(&told.words, told.input(), &kubectl));
                return true;
            }
            Err(why) => {
                self.done(Ran::badly(2, format!("error: {why}")));
                return true;
            }
        };
        if let Command::Kill(jobs) = command {
            self.done(self.kill(&jobs));
            return true;
        }
        let (client, line) = (kubectl.client.clone(), self.script.borrow().line.clone());
        if told.is_job {
            let killed = client.hub().park("the end of the command, or kill");
            let process = self.script.borrow_mut().job_began(killed.call());
            let runner = self.clone();
            client.hub().spawn(client.actor(), line, async move {
                unless(runner.run(command, &told), killed).await;
                if runner.script.borrow_mut().job_ended(process) {
                    runner.advance();
                }
            });
            self.done(Ran::default());
            return true;
        }
        let (runner, ended) = (self.clone(), Ended(Some(self.clone())));
        client.hub().spawn(client.actor(), line, async move {
            let _runs = runner.running.as_ref().map(Running::here);
            let ran = runner.run(command, &told).await;
            if let Some(runner) = ended.well() {
                runner.done(ran);
                runner.advance();
            }
        });
        false
    }

    /// Ends commands in the background.
    fn kill(&self, jobs: &[String]) -> Ran {
        let script = self.script.borrow();
        let mut errors = String::new();
        for name in jobs {
            match script.job(name) {
                Some(job) => script.kubectl.client.hub().unpark(script.kubectl.client.actor(), job.end),
                None if name.starts_with('%') => errors += &format!("kill: {name}: no such job\n"),
                None => errors += &format!("kill: ({name}) - No such process\n"),
            }
        }
        let code = i32::from(!errors.is_empty());
        Ran::of(String::new(), errors, code)
    }

    /// A command has come to this.
    fn done(&self, ran: Ran) {
        let writes = self.script.borrow_mut().shell.done(ran.output, ran.errors, ran.code);
        self.write(writes);
    }

    fn write(&self, writes: Vec<Write>) {
        for Write { to, text } in writes {
            let kubectl = &self.script.borrow().kubectl;
            match to {
                Sink::File { path, append } => {
                    let mut written = kubectl.written.borrow_mut();
                    let file = written.entry(path).or_default();
                    if !append {
                        file.clear();
                    }
                    file.push_str(&text);
                }
                Sink::Errors => kubectl.complain(text.trim_end_matches('\n')),
                _ => kubectl.print(&text),
            }
        }
    }

    /// Runs a command to its end. One that nothing is kept of prints as it goes.
    async fn run(&self, command: Command, told: &run::Command) -> Ran {
        let is_direct = [&told.output, &told.errors].iter().all(|to| matches!(to, Sink::Output | Sink::Errors));
        let mut kubectl = if is_direct { self.kubectl() } else { self.kubectl().apart() };
        kubectl.stdin = told.input().to_owned();
        // Who types at the prompt sits there, unless a pipe or a file stands in between.
        kubectl.is_at_terminal = self.name == PROMPT && is_direct && kubectl.stdin.is_empty();
        let code = self.run_with(command, &kubectl).await;
        if code != 0 && !told.is_asked {
            self.failures.set(self.failures.get() + 1);
        }
        if is_direct {
            return Ran::of(String::new(), String::new(), code);
        }
        Ran::of(kubectl.stdout.take(), kubectl.stderr.take(), code)
    }

    async fn run_with(&self, command: Command, kubectl: &Kubectl) -> i32 {
        match command {
            Command::Kubectl { words, limit } => command::within(limit, &words, kubectl).await,
            Command::Network(Network { words, from }) => {
                i32::from(from::run(&words, &from, kubectl, &self.fabric).await)
            }
            Command::Fault(words) => {
                let code = i32::from(!self.break_something(&words, kubectl));
                // It is done, and has printed, when this is over.
                kubectl.sleep(Duration::ZERO).await;
                code
            }
            Command::Kill(jobs) => {
                let ran = self.kill(&jobs);
                if !ran.errors.is_empty() {
                    kubectl.complain(ran.errors.trim_end());
                }
                ran.code
            }
            Command::Several(commands) => {
                let mut worst = 0;
                for command in commands {
                    worst = Box::pin(self.run_with(command, kubectl)).await.max(worst);
                }
                worst
            }
        }
    }

    fn break_something(&self, words: &[String], kubectl: &Kubectl) -> bool {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match Fault::parse(&words, &kubectl.namespace) {
            Ok(fault) => {
                kubectl.client.hub().fault(kubectl.client.actor(), Rc::new(fault));
                true
            }
            Err(error) => {
                kubectl.complain(error);
                false
            }
        }
    }

    fn fail(&self, why: String) {
        self.script.borrow().kubectl.complain(why);
        self.failures.set(self.failures.get() + 1);
    }
}
