//! A program that runs and is asked: a line is told to it, and it answers with a line.
//!
//! Both go over a socket that is its standard input, so what it prints is printed and nothing else. Each answer begins
//! with a word that is made up for this run: see `exercise::process`. Where there are no such sockets, answers stand
//! between the other lines that are printed.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::family::{Family, Limits};
use super::nonce::nonce;
use super::patience::Patience;
use super::pipe::{self, LAST_WORDS, PRINTED, Pipe};
use super::printed::Printed;

/// What a process exits with whose main thread has panicked.
const PANICKED: i32 = 101;
/// Of what a panic says, so many characters are shown, in so many lines.
const PANIC: usize = 600;
const PANIC_LINES: usize = 12;
/// How often is looked whether it prints too much while it is waited for.
const LOOK: Duration = Duration::from_millis(250);

/// A program that runs and is asked.
pub(super) struct Running {
    child: Child,
    family: Family,
    /// None: it is told nothing more.
    told: Option<Told>,
    answers: Pipe,
    output: Pipe,
    errors: Pipe,
    /// What its answers begin with.
    word: String,
    /// It ends the line on standard output and the one on standard error before it answers.
    marks: bool,
}

impl Running {
    /// Starts a program, which is limited.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn start(program: &Path, arguments: &[&str]) -> Result<Running, String> {
        Running::begin(program, arguments).map_err(|error| format!("{} cannot be started: {error}", program.display()))
    }

    fn begin(program: &Path, arguments: &[&str]) -> std::io::Result<Running> {
        let mut command = Limits::LEARNER.command(program.as_os_str());
        // A panic says where it was; the names of ours below it are no help.
        command.env("RUST_BACKTRACE", "0").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ends = Ends::of(&mut command)?;
        let (mut child, family) = Family::start(&mut command, Limits::LEARNER)?;
        // The program's end of the socket is the program's alone.
        drop(command);
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(std::io::Error::other("the process has no pipes"));
        };
        let (told, answers, output) = ends.open(&mut child, output)?;
        let (errors, word) = (pipe::read(errors), nonce());
        let mut running = Running { child, family, told: Some(told), answers, output, errors, word, marks: false };
        let word = running.word.clone();
        running.tell(&word);
        Ok(running)
    }

    /// Says a line. False if it does not listen any more.
    pub fn tell(&mut self, line: &str) -> bool {
        let Some(told) = &mut self.told else { return false };
        told.write_all(line.as_bytes()).and_then(|()| told.write_all(b"\n")).is_ok()
    }

    /// Says all this, the last that it is told. One that does not read its questions must not hold up the grader.
    pub fn tell_last(&mut self, text: String) {
        let told = self.told.take();
        std::thread::spawn(move || told.map(|mut told| drop(told.write_all(text.as_bytes()))));
    }

    /// From now on it ends lines before it answers: it was told so.
    pub fn marks(&mut self) {
        self.marks = true;
    }

    /// Waits for it from now on.
    pub fn patience(&self) -> Patience {
        Patience::with(&self.child)
    }

    /// Its next answer, if it comes before so much of the time is spent.
    pub fn answer(&mut self, patience: &Patience, time: Duration) -> Option<String> {
        let answer = loop {
            let until = (patience.spent() + LOOK).min(time);
            if let Some(answer) = patience.line(&mut self.answers, &self.word, until) {
                break answer;
            }
            if until >= time || self.answers.is_closed() || self.is_too_much() {
                return None;
            }
        };
        if self.marks {
            patience.line(&mut self.output, &self.word, time)?;
            patience.line(&mut self.errors, &self.word, time)?;
        }
        Some(answer)
    }

    /// Whether it can answer no more: it has closed its end.
    pub fn is_closed(&self) -> bool {
        self.answers.is_closed()
    }

    fn is_too_much(&self) -> bool {
        [&self.answers, &self.output, &self.errors].into_iter().any(Pipe::is_too_much)
    }

    /// What was printed before the answer, if lines were ended there.
    pub fn take_printed(&mut self) -> Printed {
        let mut printed = self.output.take_printed();
        printed.append(self.errors.take_printed());
        printed
    }

    /// Forgets what was printed but for the last of it.
    pub fn skim(&mut self) {
        self.output.skim();
        self.errors.skim();
    }

    /// Waits for its end, and says how it came to this: none if it ended well. And what has come beside what was asked for:
    /// how many answers, and what it has printed.
    pub fn end(mut self, within: Duration) -> (Result<(), Option<String>>, usize, Printed) {
        self.told = None;
        self.ended(within)
    }

    /// The same, and it is not told that there is nothing more: one that is only slow goes on.
    fn ended(self, within: Duration) -> (Result<(), Option<String>>, usize, Printed) {
        let Running { mut child, family, told: _told, answers, output, errors, word, .. } = self;
        let is_too_much = [&answers, &output, &errors].into_iter().any(Pipe::is_too_much);
        // One that still answers does not end before the grader listens.
        let answers = std::thread::spawn(move || answers.last_words());
        let status = ended_within(&mut child, within);
        family.end();
        let beyond = family.beyond();
        let [output, errors] = [output, errors].map(|pipe| (pipe.is_too_much(), pipe.last_words()));
        let is_too_much = is_too_much || output.0 || errors.0;
        let (output, errors, answers) = (output.1, errors.1, answers.join().unwrap_or_default());
        let more = answers.lines().filter(|line| line.starts_with(&word)).count();
        let mut printed = Printed::default();
        let lines = output.lines().chain(errors.lines());
        lines.filter(|line| !line.starts_with(&word)).for_each(|line| printed.add(line));
        let is_too_much = is_too_much || output.len().max(errors.len()) >= PRINTED;
        let how = beyond.or_else(|| is_too_much.then(too_much)).or_else(|| how_it_ended(status?, &errors));
        let ended = match (how, status) {
            (Some(how), _) => Err(Some(how)),
            (None, Some(_)) => Ok(()),
            (None, None) => Err(None),
        };
        (ended, more, printed)
    }

    /// Ends one that answers no more, and says how it came to this; none if it just went on.
    ///
    /// `at`: where it was, after a space, or nothing.
    pub fn obituary(self, at: &str) -> Option<String> {
        match self.ended(LAST_WORDS).0 {
            Ok(()) => Some(format!("it ends the process (exit status: 0){at}")),
            Err(how) => how.map(|how| said_at(&how, at)),
        }
    }

    /// Ends it.
    pub fn kill(&mut self) {
        drop(self.child.kill());
        self.family.end();
        drop(self.child.wait());
    }
}

/// Why one does not answer that goes on.
pub(super) const CLOSED: &str = "it has closed its standard input, and over that it is asked and answers";

/// How it came to its end, and where it was.
pub(super) fn said_at(how: &str, at: &str) -> String {
    match how.strip_prefix("it panics at ").filter(|_| !at.is_empty()) {
        Some(said) => format!("it panics{at}\nat {said}"),
        None => format!("{how}{at}"),
    }
}

fn too_much() -> String {
    format!("it prints without end, or too much: more than {} MiB", PRINTED >> 20)
}

/// How the process ended; None if it had to be ended, after this time.
#[allow(clippy::disallowed_methods, reason = "a learner's endless loop knows no virtual time")]
pub(super) fn ended_within(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < time {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(child.kill());
    drop(child.wait());
    None
}

/// How a process ended that did not end well: by its status, and what it printed last.
fn how_it_ended(status: ExitStatus, errors: &str) -> Option<String> {
    // Who prints such words and goes on has not come to such an end.
    if status.success() {
        return None;
    }
    if errors.contains("memory allocation of") && status.code() != Some(PANICKED) {
        return Some(format!("it asks for more than {} GiB of memory", Limits::LEARNER.address_space));
    }
    if let Some((_, said)) = errors.split_once("panicked at ").filter(|_| status.code() == Some(PANICKED)) {
        // How to get a backtrace is of no use: here a learner cannot.
        let said = said.lines().filter(|line| !line.starts_with("note: ")).take(PANIC_LINES);
        let said = said.collect::<Vec<_>>().join("\n").replacen(":\n", ": ", 1);
        let said: String = said.trim().chars().take(PANIC).collect();
        return Some(format!("it panics at {said}"));
    }
    if errors.contains("has overflowed its stack") {
        return Some("it calls itself without end".to_owned());
    }
    Some(limit(status).unwrap_or_else(|| format!("it ends the process ({status})")))
}

/// Which of the limits that the system counts has ended a process.
#[cfg(unix)]
fn limit(status: ExitStatus) -> Option<String> {
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt;
    let Limits { file, seconds, .. } = Limits::LEARNER;
    match status.signal()? {
        signal if signal == Signal::XFSZ.as_raw() => Some(format!("it writes a file of more than {file} MiB")),
        signal if signal == Signal::XCPU.as_raw() => Some(format!("it works for more than {seconds} s")),
        _ => None,
    }
}

#[cfg(not(unix))]
fn limit(_: ExitStatus) -> Option<String> {
    None
}

#[cfg(unix)]
mod way {
    use std::io;
    use std::net::Shutdown;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Where the program is told things. It hears that there are no more when this is dropped.
    pub struct Told(UnixStream);

    impl Write for Told {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.flush()
        }
    }

    impl Drop for Told {
        fn drop(&mut self) {
            drop(self.0.shutdown(Shutdown::Write));
        }
    }

    /// The grader's end of the way.
    pub struct Ends(UnixStream);

    impl Ends {
        pub fn of(command: &mut std::process::Command) -> io::Result<Ends> {
            let (ours, its) = UnixStream::pair()?;
            command.stdin(OwnedFd::from(its));
            Ok(Ends(ours))
        }

        /// Where it is told things, what it answers, and what it prints.
        pub fn open(self, _: &mut Child, output: std::process::ChildStdout) -> io::Result<(Told, Pipe, Pipe)> {
            let answers = pipe::follow(self.0.try_clone()?);
            Ok((Told(self.0), answers, pipe::read(output)))
        }
    }
}

#[cfg(not(unix))]
mod way {
    use std::io;

    use super::*;

    /// Where the program is told things. It hears that there are no more when this is dropped.
    pub type Told = std::process::ChildStdin;

    /// Answers come with what is printed.
    pub struct Ends;

    impl Ends {
        pub fn of(command: &mut std::process::Command) -> io::Result<Ends> {
            command.stdin(Stdio::piped());
            Ok(Ends)
        }

        /// Where it is told things, what it answers, and what it prints.
        pub fn open(self, child: &mut Child, output: std::process::ChildStdout) -> io::Result<(Told, Pipe, Pipe)> {
            let told = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
            Ok((told, pipe::follow(output), pipe::read(io::empty())))
        }
    }
}

use way::{Ends, Told};
