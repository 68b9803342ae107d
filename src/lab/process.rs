//! The process that a learner's code runs in: asked, limited, and judged by what it answered.
//!
//! It is limited in time, in what it prints, and in what it and all that it starts may take ([`super::family`]); all of them end
//! with the verdict. What it says is heard over a way of its own ([`super::asked`]), so nothing that it prints is an answer.
//! This contains accidents and is not a sandbox: a learner's code is the learner's own, and may read and write their files.

use std::path::Path;
use std::time::Duration;

use super::asked::{CLOSED, Running, said_at};
use super::building::{Program, build};
use super::patience::TOO_LONG;
use super::pipe::LAST_WORDS;
use super::reconcile::partner::Process;
use super::reconcile::trial;
use super::twin::{self, Twin};
use super::{Exercise, Failure, Judging, Verdict, progress, seal, shelf};

/// So long may one answer take.
const SECONDS: Duration = Duration::from_secs(4);
/// So long all of them together, but for what there is for each: of one that is slow with each this is heard soon.
const TOGETHER: Duration = Duration::from_secs(7);
/// So long may each answer take on average. Right ones take a tenth of it; time in which a machine is busy does not count.
const FOR_EACH: Duration = Duration::from_millis(4);
/// What is most often wrong with a controller that has a static, even if more breaks because of it.
const STATIC: &str = "something is kept in a static; all orders are tried in one process, and what is kept there stays from \
                      one to the next. What a controller remembers goes through context.remember()";
/// Why that is, of one that sleeps.
const SLEEPS: &str = "it sleeps; no exercise asks for that, and the grader waits for each answer";

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
                // The simple questions come first. A learner who has one of them wrong mends that before anything else.
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
    answers(&mut running, &[question.to_owned()], false);
    let (_, _, printed) = running.end(LAST_WORDS);
    match printed.show() {
        none if none.is_empty() => none,
        shown => format!("\n{shown}"),
    }
}

/// Tells a program all questions, the last that it is told, and gives its answers: as many as came in time. Each has to come
/// in the time that there was up to it, so one that is slow with each is found out soon. And how long the next was waited for.
/// `forgets`: what it prints is of no interest.
fn answers(running: &mut Running, questions: &[String], forgets: bool) -> (Vec<String>, Duration) {
    running.tell_last(questions.join("\n") + "\n");
    let patience = running.patience();
    let (mut answers, mut last) = (Vec::new(), Duration::ZERO);
    while answers.len() < questions.len()
        && let Some(answer) = running.answer(&patience, time_for(answers.len()).min(last + SECONDS))
    {
        answers.push(answer);
        if forgets {
            running.skim();
        }
        last = patience.spent();
    }
    (answers, patience.spent().saturating_sub(last))
}

/// In what time the answer after that many has to be there. A machine may be busy for a while.
fn time_for(answered: usize) -> Duration {
    TOGETHER + FOR_EACH.saturating_mul(u32::try_from(answered).unwrap_or(u32::MAX))
}

/// Runs a program on the questions and returns its answers, as many as questions.
///
/// # Errors
/// The way in which it did not answer them all.
fn ask(program: &Path, arguments: &[&str], questions: &[String]) -> Result<Vec<String>, Silence> {
    let all = questions.len();
    let mut running = Running::start(program, arguments).map_err(Silence::of)?;
    let (answers, waited) = answers(&mut running, questions, true);
    let answered = answers.len();
    if answered < all {
        let (at, is_closed) = (format!(" at question {} of {all}", answered + 1), running.is_closed());
        let (how, too_slow) = match running.obituary(&at) {
            Some(how) => (how, false),
            None if is_closed => (format!("{CLOSED}{at}"), false),
            None if waited < SECONDS => {
                (format!("{TOO_LONG}: more than {} ms for each of {answered} answers", FOR_EACH.as_millis()), true)
            }
            None => (format!("it does not come to an end: no answer{at} within {} s", waited.as_secs()), false),
        };
        return Err(Silence { how, too_slow, answers: Some(answers) });
    }
    match running.end(SECONDS) {
        (Err(Some(how)), ..) => Err(Silence::of(said_at(&how, " after the last question"))),
        (Err(None), ..) => Err(Silence::of("it does not come to an end: it runs on after the last question")),
        (Ok(()), 0, _) => Ok(answers),
        (Ok(()), more, _) => Err(Silence::of(format!("it gives {} answers to {all} questions", answered + more))),
    }
}
