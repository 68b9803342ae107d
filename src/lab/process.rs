//! The process that a learner's code runs in: asked, limited, and judged by what it answered.
//!
//! The limits are seconds of real time, memory (by the shell's `ulimit`, where there is one) and bytes printed. The
//! process is the leader of a group, and whatever it starts ends with it. This is not a sandbox: a learner's code is the
//! learner's own, and may read and write their files.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::building::{Program, build};
use super::patience::Patience;
use super::pipe::{self, LAST_WORDS, PRINTED, Pipe};
use super::reconcile::partner::Process;
use super::reconcile::trial;
use super::twin::{self, Twin};
use super::{Exercise, Failure, Judging, Verdict, progress, seal, shelf};
use exercise::process::ANSWER;

/// So long may one answer take, and twice that all of them together but for what there is for each.
const SECONDS: Duration = Duration::from_secs(4);
/// So long may each answer take on average. Right ones take a hundredth of it; a machine may be busy.
pub(super) const FOR_EACH: Duration = Duration::from_millis(25);
/// Address space, of which the allocator reserves a good part before it is used.
const MEMORY_KIB: u32 = 4 << 20;
/// What is most often wrong with a controller that has a static, whatever else breaks because of it.
const STATIC: &str = "something is kept in a static; all orders are tried in one process, and what is kept there stays from \
                      one to the next. What a controller remembers goes through context.remember()";
/// What is said of one that answers, but slowly.
pub(super) const TOO_LONG: &str = "it takes too long";
/// Why that is, of one that sleeps.
const SLEEPS: &str = "it sleeps; no exercise asks for that, and the grader waits for each answer";
/// What a process exits with whose main thread has panicked.
const PANICKED: i32 = 101;
/// Of what a panic says, so many characters are shown, in so many lines.
const PANIC: usize = 600;
const PANIC_LINES: usize = 12;

/// Grades what a learner has written for an exercise.
pub fn grade(root: &Path, exercise: &Exercise) -> Verdict {
    match shelf::is_started(root, exercise) {
        Err(error) => Verdict::Stopped(error),
        Ok(false) => Verdict::NotStarted,
        Ok(true) => {
            let built = match seal::broken(root, exercise) {
                Some(how) => Err(Verdict::Stopped(how)),
                None => build(root, Program::Exercise(exercise)),
            };
            let mut verdict = match built {
                Ok(program) => grade_fast(root, &program, exercise),
                Err(verdict) => verdict,
            };
            if let (Verdict::Fails(failure), Judging::Controller(_)) = (&mut verdict, &exercise.judging)
                && shelf::read(&shelf::file(root, exercise)).is_ok_and(|text| shelf::keeps_statics(&text))
            {
                failure.mistake = Some(STATIC.into());
            }
            if shelf::read(&shelf::file(root, exercise)).is_ok_and(|text| shelf::sleeps(&text)) {
                verdict = with_sleep(verdict);
            }
            match shelf::keep_run(root, exercise, &verdict) {
                Ok(()) => verdict,
                Err(error) => Verdict::Stopped(error),
            }
        }
    }
}

/// The verdict on one that sleeps: if it is too slow, that is why.
fn with_sleep(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::TooSlow(how) => {
            let (how, rest) = how.split_once('\n').unwrap_or((&how, ""));
            Verdict::TooSlow(format!("{how}\nperhaps: {SLEEPS}\n{rest}"))
        }
        Verdict::Fails(failure) if failure.too_slow => {
            Verdict::Fails(Failure { mistake: Some(SLEEPS.into()), ..failure })
        }
        other => other,
    }
}

/// Asks a program that is built, through the program's optimised twin where there is one. The digest of its file is an
/// argument to which it does not listen: numbers are drawn from that.
fn grade_fast(root: &Path, program: &Path, exercise: &Exercise) -> Verdict {
    let file = &*progress::digest(root, exercise);
    let verdict = match twin::find(root) {
        Twin::Ready(twin) => twin::judge(&twin, exercise, program, &[file]),
        Twin::None | Twin::Old => None,
    };
    verdict.unwrap_or_else(|| grade_program(program, &[file], exercise))
}

/// Grades the answer of an exercise.
pub fn grade_solution(root: &Path, exercise: &Exercise) -> Verdict {
    match build(root, Program::Solution(exercise)) {
        Ok(program) => grade_program(&program, &[], exercise),
        Err(verdict) => verdict,
    }
}

/// Asks a program that is built. The same program with other arguments is asked about other numbers, here and there.
pub fn grade_program(program: &Path, arguments: &[&str], exercise: &Exercise) -> Verdict {
    match exercise.judging {
        Judging::Function { questions, judge, show, .. } => {
            let questions = questions();
            let (answers, stopped) = ask_twice(program, arguments, &questions, show);
            match (judge(&answers), stopped) {
                // The simple questions come first. Whoever has one of them wrong mends that before anything else.
                (Err((n, mut failure)), stopped) if n < answers.len() => {
                    if let Some(Verdict::Stopped(how) | Verdict::TooSlow(how)) = stopped {
                        failure.case += &format!("\nlater: {}", how.lines().next().unwrap_or_default());
                    }
                    failure.case += &printed_at(program, arguments, &questions[n]);
                    Verdict::Fails(failure)
                }
                (_, Some(verdict)) => verdict,
                (Ok(checks), None) => Verdict::Passes(checks),
                (Err((_, failure)), None) => Verdict::Fails(failure),
            }
        }
        Judging::Controller(plan) => {
            let make = Process::maker(program, arguments);
            let judged = trial::judge(exercise.name(), plan, make, &arguments.join(" "));
            judged.map_or_else(|failure| Verdict::Fails(*failure), Verdict::Passes)
        }
    }
}

/// Runs a program on the questions, and another time the other way round: a function gives the same answers. What is kept
/// in a static shows so. Gives what it answered, and how it stopped if it did not answer all.
fn ask_twice(
    program: &Path,
    arguments: &[&str],
    questions: &[String],
    show: fn(usize) -> String,
) -> (Vec<String>, Option<Verdict>) {
    let turned: Vec<String> = questions.iter().rev().cloned().collect();
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| ask(program, arguments, &turned));
        (ask(program, arguments, questions), second.join())
    });
    let answers = match first {
        Ok(answers) => answers,
        Err(silence) => {
            let n = silence.answers.as_ref().map(Vec::len);
            let verdict = silence.verdict(n.map(show));
            return (silence.answers.unwrap_or_default(), Some(verdict));
        }
    };
    match second.unwrap_or_else(|_| Err(Silence::of("the grader's thread has ended"))) {
        Ok(second) => match (0..answers.len()).find(|n| answers[*n] != second[answers.len() - 1 - n]) {
            None => (answers, None),
            Some(n) => (Vec::new(), Some(Verdict::Fails(Failure::not_again(&show(n))))),
        },
        Err(silence) => {
            let n = silence.answers.as_ref().map(|answers| questions.len() - 1 - answers.len());
            (Vec::new(), Some(silence.verdict(n.map(show))))
        }
    }
}

/// A program has not answered all that it was asked.
struct Silence {
    /// How that came, in words.
    how: String,
    /// It would have answered, but too slowly.
    too_slow: bool,
    /// What it answered until it was silent at a question; none if it was not at one.
    answers: Option<Vec<String>>,
}

impl Silence {
    /// At no question.
    fn of(how: impl Into<String>) -> Silence {
        Silence { how: how.into(), too_slow: false, answers: None }
    }

    /// The verdict, with the question at which it was silent.
    fn verdict(&self, question: Option<String>) -> Verdict {
        let asked = question.map_or(String::new(), |question| format!("\nit was asked:\n{question}"));
        let how = format!("{}{asked}", self.how);
        if self.too_slow { Verdict::TooSlow(how) } else { Verdict::Stopped(how) }
    }
}

/// What a program prints when it is asked this alone, under a heading.
fn printed_at(program: &Path, arguments: &[&str], question: &str) -> String {
    let Ok(mut running) = Running::start(program, arguments) else { return String::new() };
    running.answers(&[question.to_owned()]);
    ended_within(&mut running.child, LAST_WORDS);
    end_group(&running.child);
    let mut printed = running.output.take_printed();
    let last = running.output.last_words() + &running.errors.last_words();
    last.lines().filter(|line| !line.starts_with(ANSWER)).for_each(|line| printed.add(line));
    match printed.show() {
        none if none.is_empty() => none,
        shown => format!("\n{shown}"),
    }
}

/// A program that runs and is asked.
pub(super) struct Running {
    pub child: Child,
    /// None: it is told nothing more.
    pub input: Option<ChildStdin>,
    pub output: Pipe,
    pub errors: Pipe,
}

impl Running {
    /// Starts a program.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn start(program: &Path, arguments: &[&str]) -> Result<Running, String> {
        let started = start(program, arguments);
        let mut child = started.map_err(|error| format!("{} cannot be started: {error}", program.display()))?;
        let input = child.stdin.take();
        match (child.stdout.take(), child.stderr.take()) {
            (Some(output), Some(errors)) => {
                Ok(Running { child, input, output: pipe::follow(output), errors: pipe::read(errors) })
            }
            _ => Err("the process has no pipes".to_owned()),
        }
    }

    /// Tells it all questions, the last that it is told, and gives its answers: as many as came in time. Each has to come
    /// in the time that there was up to it, so one that is slow with each is found out soon. And how long the next was
    /// waited for.
    fn answers(&mut self, questions: &[String]) -> (Vec<String>, Duration) {
        let asked = questions.join("\n") + "\n";
        // One that does not read its questions must not hold up the grader.
        let input = self.input.take();
        std::thread::spawn(move || input.map(|mut input| drop(input.write_all(asked.as_bytes()))));
        let patience = Patience::with(&self.child);
        let (mut answers, mut last) = (Vec::new(), Duration::ZERO);
        while answers.len() < questions.len()
            && let Some(answer) = patience.line(&mut self.output, ANSWER, time_for(answers.len()).min(last + SECONDS))
        {
            answers.push(answer);
            self.errors.skim();
            last = patience.spent();
        }
        (answers, patience.spent().saturating_sub(last))
    }
}

/// In what time the answer after that many has to be there. A machine may be busy for a while.
fn time_for(answered: usize) -> Duration {
    2 * SECONDS + FOR_EACH.saturating_mul(u32::try_from(answered).unwrap_or(u32::MAX))
}

/// Runs a program on the questions and returns its answers, as many as questions.
///
/// # Errors
/// The way in which it did not answer them all.
fn ask(program: &Path, arguments: &[&str], questions: &[String]) -> Result<Vec<String>, Silence> {
    let all = questions.len();
    let mut running = Running::start(program, arguments).map_err(Silence::of)?;
    let (answers, waited) = running.answers(questions);
    let answered = answers.len();
    let at = format!(" at question {} of {all}", answered + 1);
    let Running { mut child, output, errors, .. } = running;
    if answered < all {
        let answers = Some(answers);
        let (how, too_slow) = match obituary(&mut child, output, errors, &at) {
            Some(how) => (how, false),
            None if waited < SECONDS => {
                (format!("{TOO_LONG}: more than {} ms for each of {answered} answers", FOR_EACH.as_millis()), true)
            }
            None => (format!("it does not come to an end: no answer{at} within {} s", waited.as_secs()), false),
        };
        return Err(Silence { how, too_slow, answers });
    }
    let ended = ended_within(&mut child, SECONDS);
    end_group(&child);
    let (rest, errors) = (output.last_words(), errors.last_words());
    let more = rest.lines().filter(|line| line.starts_with(ANSWER)).count();
    let printed = rest.len().max(errors.len());
    match (how_it_ended(ended, printed, &errors, " after the last question"), ended) {
        (Some(how), _) => Err(Silence::of(how)),
        (None, None) => Err(Silence::of("it does not come to an end: it runs on after the last question")),
        _ if more > 0 => Err(Silence::of(format!("it gives {} answers to {all} questions", answered + more))),
        _ => Ok(answers),
    }
}

/// Sends a line. False if nobody reads any more.
pub(super) fn send_line(input: &mut ChildStdin, line: &str) -> bool {
    input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).is_ok()
}

/// Starts a program as the leader of a group, with all three pipes.
pub(super) fn start(program: &Path, arguments: &[&str]) -> std::io::Result<Child> {
    let mut command = match cfg!(unix) {
        true => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("ulimit -v {MEMORY_KIB} 2>/dev/null; exec \"$0\" \"$@\"")]).arg(program);
            shell
        }
        false => Command::new(program),
    };
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // A panic says where it was; the names of ours below it are no help.
    command.env("RUST_BACKTRACE", "0");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Ends a process that answers no more, and says how it came to this; None if it just went on.
///
/// `at`: where it was, after a space, or nothing.
pub(super) fn obituary(child: &mut Child, output: Pipe, errors: Pipe, at: &str) -> Option<String> {
    let printed = output.bytes();
    let status = ended_within(child, LAST_WORDS);
    end_group(child);
    let told = errors.passed();
    let errors = errors.last_words();
    let how = how_it_ended(status, printed.max(told + errors.len()), &errors, at);
    how.or_else(|| status.map(|status| format!("it ends the process ({status}){at}")))
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

/// Ends whatever the process has started and left behind.
pub(super) fn end_group(child: &Child) {
    if cfg!(unix) {
        let group = format!("-{}", child.id());
        let quiet =
            Command::new("kill").args(["-KILL", "--", &group]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        drop(quiet);
    }
}

/// How a process ended that did not end well: by its status, and what it printed last. None: it ended well, or had to be
/// ended and has printed no more than it may.
fn how_it_ended(status: Option<ExitStatus>, printed: usize, errors: &str, at: &str) -> Option<String> {
    if printed >= PRINTED {
        return Some(format!("it prints without end, or too much: more than {} MiB{at}", PRINTED >> 20));
    }
    // Who prints such words and goes on has not come to such an end.
    let status = status.filter(|status| !status.success())?;
    if errors.contains("memory allocation of") && status.code() != Some(PANICKED) {
        return Some(format!("it asks for more than {} GiB of memory{at}", MEMORY_KIB >> 20));
    }
    if let Some((_, said)) = errors.split_once("panicked at ").filter(|_| status.code() == Some(PANICKED)) {
        // How to get a backtrace is no news: here nobody can.
        let said = said.lines().filter(|line| !line.starts_with("note: ")).take(PANIC_LINES);
        let said = said.collect::<Vec<_>>().join("\n").replacen(":\n", ": ", 1);
        let said: String = said.trim().chars().take(PANIC).collect();
        return Some(match at {
            "" => format!("it panics at {said}"),
            at => format!("it panics{at}\nat {said}"),
        });
    }
    if errors.contains("has overflowed its stack") {
        return Some(format!("it calls itself without end{at}"));
    }
    Some(format!("it ends the process ({status}){at}"))
}
