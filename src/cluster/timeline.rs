//! The timeline of a scenario: lines as one would type them into a shell, run one after another.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use crate::engine::Memory;

use super::fault::{self, Fault};
use super::filters;
use super::kubectl::{self, Kubectl};

/// Every second of a cluster's has heartbeats in it: nobody waits for more of them.
const SLEEP_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// What `timeout` ends with when it has ended a command.
const TIMED_OUT: u8 = 124;

/// One line, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Commands joined by pipes, each the words of one.
    Pipe(Vec<Vec<String>>),
    /// `name=$(command)` or `name=($(command))`.
    Capture {
        /// The variable.
        name: String,
        /// Its value is a list of words.
        list: bool,
        /// What prints the value.
        command: String,
    },
    /// `sleep 5`.
    Sleep(Duration),
    /// `node stop 5`, `kill POD` …: what breaks, in words, see [`Fault`].
    Fault(Vec<String>),
    /// `curl URL [--from POD|NODE|outside]`, and so `ping` and `nslookup`; `exec POD -- COMMAND` is kubectl's.
    Network {
        /// The command, without `--from`.
        words: Vec<String>,
        /// Where it runs; empty: on the first node.
        from: String,
    },
}

/// Reads one line. Variables in it stay as they are until it runs.
pub fn parse(line: &str) -> Result<Line, String> {
    let line = line.trim();
    if let Some((name, rest)) = line.split_once('=')
        && !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && rest.starts_with(['$', '('])
    {
        return capture(name, rest);
    }
    let words = split(line)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => Err("an empty line does nothing; remove it".to_owned()),
        ["sleep", time] => sleep(time),
        [name, rest @ ..] if Fault::is_named(plain(name)) => {
            let words = [&[plain(name)], rest].concat();
            // What stands in a variable is not known yet: whether it is right shows when the line runs.
            let known =
                if words.iter().any(|word| word.contains('$')) { Ok(()) } else { Fault::parse(&words, "").map(drop) };
            known.map(|()| Line::Fault(owned(&words)))
        }
        ["curl" | "ping" | "nslookup", ..] => network(&words),
        ["exec", rest @ ..] => Ok(Line::Pipe(vec![owned(&[&["kubectl", "exec"], rest].concat())])),
        ["kubectl", ..] | ["timeout", _, "kubectl", ..] => pipe(line),
        [other, ..] => {
            let faults: Vec<&str> = fault::text::USAGE.iter().map(|(name, _)| *name).collect();
            Err(format!(
                "{other:?} is not understood; a line is a kubectl command, sleep SECONDS, NAME=$(kubectl …), \
                 curl|ping|nslookup … [--from POD|NODE|outside], or a fault: {}",
                faults.join(", ")
            ))
        }
    }
}

/// kubectl commands, and what goes over their text.
fn pipe(line: &str) -> Result<Line, String> {
    let commands: Vec<Vec<String>> = line.split(" | ").map(split).collect::<Result<_, _>>()?;
    let known = |name: &&str| matches!(*name, "kubectl" | "timeout") || filters::NAMES.contains(name);
    let wrong = |words: &&Vec<String>| words.first().is_some_and(|name| name == "timeout") && limited(words).is_none();
    if let Some(words) = commands.iter().find(wrong) {
        return Err(format!("write timeout SECONDS kubectl …, not: {}", words.join(" ")));
    }
    match commands.iter().map(|words| words.first().map_or("", String::as_str)).find(|name| !known(name)) {
        Some(other) => {
            Err(format!("a timeline pipes through kubectl, {}, not through {other:?}", filters::NAMES.join(", ")))
        }
        None => Ok(Line::Pipe(commands)),
    }
}

/// `timeout SECONDS kubectl …`: how long it may take, and the command.
fn limited(words: &[String]) -> Option<(Duration, &[String])> {
    match words {
        [timeout, seconds, command @ ..] if timeout == "timeout" && command.first()? == "kubectl" => {
            let seconds = seconds.trim_end_matches('s').parse().ok()?;
            Some((Duration::try_from_secs_f64(seconds).ok()?, command))
        }
        _ => None,
    }
}

/// Runs a command for so long at most. Where the time is over it ends, with the code that `timeout` gives.
async fn within(limit: Option<Duration>, words: &[String], kubectl: &Kubectl) -> u8 {
    let mut command = pin!(kubectl::run(words, kubectl));
    let Some(limit) = limit else { return command.await };
    let mut time = pin!(kubectl.sleep(limit));
    poll_fn(|context| match command.as_mut().poll(context) {
        Poll::Ready(code) => Poll::Ready(code),
        Poll::Pending => time.as_mut().poll(context).map(|()| TIMED_OUT),
    })
    .await
}

/// `fake-node` and `fake-file` are the same where a real cluster's are meant to be stood in for.
fn plain(name: &str) -> &str {
    name.strip_prefix("fake-").unwrap_or(name)
}

/// A command of the network, and where it runs.
fn network(words: &[&str]) -> Result<Line, String> {
    let (mut rest, mut from) = (Vec::new(), String::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix("--from") {
            Some("") => from = words.next().ok_or("--from wants a Pod, a node, or outside")?.to_string(),
            Some(value) if value.starts_with('=') => from = value[1..].to_owned(),
            _ => rest.push(*word),
        }
    }
    match rest.as_slice() {
        [command] => Err(format!("{command} wants to know whom; write for example: {command} web --from client")),
        _ => Ok(Line::Network { words: owned(&rest), from }),
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn split(text: &str) -> Result<Vec<String>, String> {
    shell_words::split(text).map_err(|_| format!("a quote is not closed in: {text}"))
}

fn capture(name: &str, rest: &str) -> Result<Line, String> {
    let list = rest.starts_with('(');
    let inner = if list { rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')) } else { Some(rest) };
    let command = inner.and_then(|r| r.strip_prefix("$(")).and_then(|r| r.strip_suffix(')'));
    match command {
        Some(command) if command.starts_with("kubectl ") => {
            pipe(command)?;
            Ok(Line::Capture { name: name.to_owned(), list, command: command.to_owned() })
        }
        _ => Err(format!("write {name}=$(kubectl …) to keep what a command prints")),
    }
}

fn sleep(time: &str) -> Result<Line, String> {
    let seconds = time.parse::<f64>().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    match seconds.ok_or_else(|| format!("{time:?} is not a number of seconds"))? {
        long if long > SLEEP_MAX => Err(format!("sleep {time}: a week is the most, which is 604800")),
        duration => Ok(Line::Sleep(duration)),
    }
}

/// Wake: the next line is typed.
pub(super) const NEXT_LINE: &str = "next line";

/// Runs timelines, line by line. Between two lines, and while it sleeps, no task is in flight.
pub struct Runner {
    failures: Memory<u32>,
    script: Memory<Script>,
}

/// What is still to be typed, and what earlier lines have kept.
#[derive(Clone)]
struct Script {
    kubectl: Kubectl,
    lines: VecDeque<String>,
    variables: BTreeMap<String, Vec<String>>,
    running: bool,
    asleep: bool,
}

/// Has the next line typed when it is dropped: also when the line before has panicked.
struct Ended(Rc<Runner>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.ended(Duration::ZERO);
    }
}

impl Runner {
    /// A runner with nothing to type. Failed commands are counted in `failures`.
    pub fn new(kubectl: Kubectl, failures: Memory<u32>) -> Runner {
        let hub = kubectl.client.hub().clone();
        let (lines, variables) = (VecDeque::new(), BTreeMap::new());
        Runner { failures, script: hub.memory(Script { kubectl, lines, variables, running: false, asleep: false }) }
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

    /// Whether it is the timeline itself that lets time pass.
    pub fn is_asleep(&self) -> bool {
        self.script.borrow().asleep
    }

    fn kubectl(&self) -> Kubectl {
        self.script.borrow().kubectl.clone()
    }

    /// Types one line. A line that fails does not stop the rest, as in a shell.
    pub(super) fn next_line(self: &Rc<Self>) {
        let line = self.script.borrow_mut().lines.pop_front();
        self.script.borrow_mut().running = line.is_some();
        self.script.borrow_mut().asleep = false;
        let Some(text) = line else { return };
        let kubectl = self.kubectl();
        kubectl.print(&format!("$ {text}\n"));
        match parse(&text) {
            Ok(Line::Sleep(duration)) => {
                self.script.borrow_mut().asleep = true;
                self.ended(duration);
            }
            Ok(line) => {
                let (runner, ended) = (self.clone(), Ended(self.clone()));
                let client = &kubectl.client;
                client.hub().spawn(client.actor(), text, async move {
                    let _typed_after_this = ended;
                    runner.line(line).await;
                });
            }
            Err(message) => {
                kubectl.print(&format!("error: {message}\n"));
                self.ended(Duration::ZERO);
            }
        }
    }

    fn ended(&self, pause: Duration) {
        self.kubectl().print("\n");
        self.wake(pause);
    }

    fn wake(&self, pause: Duration) {
        let client = self.kubectl().client;
        client.hub().wake(client.actor(), NEXT_LINE, "", pause);
    }

    async fn line(&self, line: Line) {
        match line {
            Line::Pipe(commands) => {
                let printed = self.pipe(&commands).await;
                self.kubectl().print(&printed);
            }
            Line::Capture { name, list, command } => {
                let printed = self.quietly(&command).await;
                let value = if list {
                    printed.split_whitespace().map(str::to_owned).collect()
                } else {
                    vec![printed.trim_end_matches('\n').to_owned()]
                };
                self.script.borrow_mut().variables.insert(name, value);
            }
            Line::Fault(words) => {
                self.break_something(&words);
                // It is done, and has printed, when this is over.
                self.kubectl().sleep(Duration::ZERO).await;
            }
            Line::Network { words, from } => {
                let words: Vec<String> = words.iter().map(|word| self.expand(word)).collect();
                if kubectl::run_from(&words, &self.expand(&from), &self.kubectl()).await != 0 {
                    self.failures.set(self.failures.get() + 1);
                }
            }
            Line::Sleep(_) => {}
        }
    }

    fn break_something(&self, words: &[String]) {
        let (kubectl, words) = (self.kubectl(), words.iter().map(|word| self.expand(word)).collect::<Vec<_>>());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match Fault::parse(&words, &kubectl.namespace) {
            Ok(fault) => kubectl.client.hub().fault(kubectl.client.actor(), Rc::new(fault)),
            Err(error) => {
                kubectl.complain(error);
                self.failures.set(self.failures.get() + 1);
            }
        }
    }

    /// Runs commands, each reading what the one before printed; returns what the last one printed. A command that
    /// stands alone prints as it goes.
    async fn pipe(&self, commands: &[Vec<String>]) -> String {
        let mut text = String::new();
        for (i, words) in commands.iter().enumerate() {
            let words: Vec<String> = words.iter().map(|word| self.expand(word)).collect();
            let (limit, words) = limited(&words).map_or((None, &words[..]), |(limit, words)| (Some(limit), words));
            match words.split_first() {
                Some((first, rest)) if first == "kubectl" => {
                    let alone = commands.len() == 1;
                    let mut kubectl = if alone && i == 0 { self.kubectl() } else { self.kubectl().apart() };
                    kubectl.stdin = std::mem::take(&mut text);
                    if within(limit, rest, &kubectl).await != 0 {
                        self.failures.set(self.failures.get() + 1);
                    }

                    if !alone {
                        // What goes to standard error is seen, not piped.
                        let (all, piped) = (kubectl.printed_since(0), kubectl.stdout.borrow().clone());
                        if piped.is_empty() || i + 1 == commands.len() {
                            self.kubectl().complain(all.trim_end())
                        }
                        text = if i + 1 == commands.len() { String::new() } else { piped };
                    }
                }
                Some((first, rest)) => text = filters::run(first, &text, rest),
                None => {}
            }
        }
        text
    }

    /// Runs a pipe and returns what it printed.
    async fn quietly(&self, line: &str) -> String {
        let Ok(Line::Pipe(commands)) = pipe(line) else { return String::new() };
        let mut text = String::new();
        for words in commands {
            let words: Vec<String> = words.iter().map(|word| self.expand(word)).collect();
            let (limit, words) = limited(&words).map_or((None, &words[..]), |(limit, words)| (Some(limit), words));
            match words.split_first() {
                Some((first, rest)) if first == "kubectl" => {
                    let mut kubectl = self.kubectl().apart();
                    kubectl.stdin = std::mem::take(&mut text);
                    within(limit, rest, &kubectl).await;
                    text = kubectl.stdout.take();
                }
                Some((first, rest)) => text = filters::run(first, &text, rest),
                None => {}
            }
        }
        text
    }

    /// `$victim`, `${victim}`, `${pods[1]}`, `${node#node-}` without what it begins with, and `$NS`, the namespace in
    /// which commands work.
    fn expand(&self, word: &str) -> String {
        let mut out = String::new();
        let mut rest = word;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let (reference, after) = match rest.strip_prefix('{').and_then(|r| r.split_once('}')) {
                Some((reference, after)) => (reference, after),
                None => rest.split_at(rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())),
            };
            let (reference, beginning) = reference.split_once('#').unwrap_or((reference, ""));
            let (name, index) =
                reference.split_once('[').map_or((reference, "0"), |(n, i)| (n, i.trim_end_matches(']')));
            match self.value(name, index.parse().unwrap_or(0)) {
                Some(value) => {
                    out.push_str(value.strip_prefix(beginning).unwrap_or(&value));
                    rest = after;
                }
                None => out.push('$'),
            }
        }
        out + rest
    }

    fn value(&self, name: &str, index: usize) -> Option<String> {
        let script = self.script.borrow();
        match script.variables.get(name) {
            Some(values) => Some(values.get(index).cloned().unwrap_or_default()),
            None => (name == "NS").then(|| script.kubectl.namespace.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_what_one_would_type() {
        for (line, parsed) in [
            ("sleep 1.5", Line::Sleep(Duration::from_millis(1500))),
            ("fake-node start 5 --cpu 8", Line::Fault(owned(&["node", "start", "5", "--cpu", "8"]))),
            ("node node-1 cat /etc/hostname", Line::Fault(owned(&["node", "node-1", "cat", "/etc/hostname"]))),
            ("kill $victim", Line::Fault(owned(&["kill", "$victim"]))),
            ("fake-node stop ${node#node-}", Line::Fault(owned(&["node", "stop", "${node#node-}"]))),
            ("crash kube-scheduler", Line::Fault(owned(&["crash", "kube-scheduler"]))),
            (
                "victim=$(kubectl get pods -o name)",
                Line::Capture { name: "victim".into(), list: false, command: "kubectl get pods -o name".into() },
            ),
            (
                "last=$(kubectl get pods -o name | tail -1)",
                Line::Capture {
                    name: "last".into(),
                    list: false,
                    command: "kubectl get pods -o name | tail -1".into(),
                },
            ),
            (
                "timeout 3 kubectl get pods -w | tail -1",
                Line::Pipe(vec![owned(&["timeout", "3", "kubectl", "get", "pods", "-w"]), owned(&["tail", "-1"])]),
            ),
            (
                "pods=($(kubectl get pods))",
                Line::Capture { name: "pods".into(), list: true, command: "kubectl get pods".into() },
            ),
        ] {
            assert_eq!(parse(line), Ok(parsed), "{line}");
        }
        for wrong in [
            "",
            "rm -rf /",
            "sleep long",
            "node start zero",
            "kill",
            "x=$(date)",
            "kubectl get 'pods",
            "kubectl get pods | rm",
            "timeout kubectl get pods",
            "timeout 5 rm",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
