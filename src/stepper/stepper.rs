//! A session that takes lines, and writes down as it goes what was typed and where it led.

use std::time::Duration;

use cluster::scenario::{Scenario, Sight};
use debugger::file::{File, Source};
use debugger::journal::{self as text, Came};
use debugger::quiz::Quiz;
use debugger::tour::Tour;
use debugger::value::Asked;
use debugger::{Advance, Goal, Session, StopAt};
use kubectl::workdir::{Disk, Reading, Readings};
use object::time::Instant;

use super::commands::{self, Answer, Reply};
use super::options::Options;
use super::outside::{Journal, Nothing, Outside, Progress, UpTo, Watch};
use super::view::View;
use super::{Clock, Typed};

/// Texts are so wide unless the face says otherwise.
const WIDTH: usize = 100;

/// A session that takes commands.
pub struct Stepper {
    /// The session.
    pub session: Session,
    /// Where `step` stops.
    pub stop: StopAt,
    /// Whether the user has had enough.
    pub done: bool,
    /// Lines that were typed before, when the user goes on with a session.
    pub typed: Vec<String>,
    /// How wide texts may be; none: as wide as the screen.
    pub columns: Option<usize>,
    /// Where it is asked what happens next.
    pub quiz: Option<Quiz>,
    /// How far the scenario's narration has come.
    pub tour: Tour,
    /// The last move was to a place of the narration, and there is a next.
    pub(super) touring: bool,
    /// The hint of a case that was given last; 0: none was.
    pub(super) hints: usize,
    /// Whether the case was solved when that was last asked.
    pub solved: bool,
    /// How it does things.
    pub options: Options,
    /// What is shown at each stop, each with its number.
    pub displays: Vec<(u32, Asked)>,
    /// Who watches long moves.
    pub watch: Option<Box<dyn Watch>>,
    /// The last move was ended by its watcher.
    pub interrupted: bool,
    /// How time passes for clients outside; none: no client can come.
    pub clock: Option<Clock>,
    /// What the face has around it.
    pub outside: Box<dyn Outside>,
    /// Where the shell is whose prompt was shown last.
    pub(super) shell: Option<String>,
    /// How much of what commands printed has been shown.
    said: usize,
    /// Where the session is written as it goes.
    journal: Option<Box<dyn Journal>>,
    /// Another session was opened, which the journal does not tell of yet.
    opened: bool,
    /// The step and the time to which the journal has come, where time has passed since without a line.
    unwritten: Option<(u64, Instant)>,
}

impl Stepper {
    /// A stepper over `session`. With `all` it stops at background traffic too.
    pub fn new(session: Session, all: bool) -> Stepper {
        let stop = if all { StopAt::Anything } else { StopAt::Notification };
        // What the user has not typed need not be said to have been printed.
        let said = session.cluster.kubectl.printed();
        Stepper {
            session,
            stop,
            done: false,
            typed: Vec::new(),
            columns: Some(WIDTH),
            quiz: None,
            tour: Tour::default(),
            touring: false,
            hints: 0,
            solved: false,
            options: Options::default(),
            displays: Vec::new(),
            watch: None,
            interrupted: false,
            clock: None,
            outside: Box::new(Nothing),
            shell: None,
            said,
            journal: None,
            opened: false,
            unwritten: None,
        }
    }

    /// A stepper over a saved session, with all that was typed in it since.
    ///
    /// # Errors
    /// Why it cannot be opened, or has become another one.
    pub fn of_file(file: &File, at: Option<u64>, outside: Box<dyn Outside>) -> Result<Stepper, String> {
        let file = &plugged(file, &*outside)?;
        let typed = file.commands.as_ref().is_some_and(|commands| !commands.is_empty());
        let mut stepper = Stepper { outside, ..Stepper::new(file.open(at.filter(|_| !typed))?, file.all) };
        stepper.quiz = file.quiz.then(Quiz::default);
        stepper.retype(file)?;
        if let Some(step) = at.filter(|_| typed) {
            stepper.session.goto(step);
        }
        stepper.heard();
        Ok(stepper)
    }

    /// Goes on with a saved session instead of this one.
    pub(super) fn open(&mut self, file: &File) -> Result<(), String> {
        let file = &plugged(file, &*self.outside)?;
        let before = std::mem::replace(&mut self.session, file.open(None)?);
        // The story begins again, as it does when the file is opened in another program.
        let told = std::mem::take(&mut self.tour);
        if let Err(error) = self.retype(file) {
            (self.session, self.tour) = (before, told);
            return Err(error);
        }
        self.heard();
        self.opened = true;
        Ok(())
    }

    /// Types again what a journal has, up to what did not end. It must lead where it led.
    fn retype(&mut self, file: &File) -> Result<(), String> {
        for typed in file.commands.iter().flatten() {
            let Some(came) = &typed.came else { break };
            let line = Typed::read(&typed.line);
            // What was refused then is refused again.
            let _ = line.acts().then(|| self.again(&line, came, &typed.files));
            self.is_at(typed, file)?;
        }
        Ok(())
    }

    fn again(&mut self, line: &Typed, came: &Came, files: &[Reading]) -> Reply {
        let watch = self.watch.replace(Box::new(UpTo(came.step, Instant(came.time))));
        self.session.cluster.kubectl.workdir.expect(Readings::of(files));
        let reply = commands::run(self, line);
        self.watch = watch;
        reply
    }

    /// Whether the session stands where a line led when it was typed.
    fn is_at(&mut self, typed: &text::Typed, file: &File) -> Result<(), String> {
        let (now, came) = (Came::of(&mut self.session), typed.came.as_ref());
        let Some(then) = came.filter(|came| **came != now).map(|came| came.step) else { return Ok(()) };
        let place = if now.step == then { "another".to_owned() } else { now.step.to_string() };
        let (line, why) = (&typed.line, file.versions());
        Err(format!("{line:?} led to step {then} when it was typed, and leads to {place} now; {why}"))
    }

    /// Does what was typed in a session that this one follows, and gives its answer. `file` is that session's.
    ///
    /// # Errors
    /// It leads elsewhere here, or has not ended there.
    pub fn follow(&mut self, typed: &text::Typed, file: &File) -> Result<Reply, String> {
        let came = typed.came.as_ref().ok_or_else(|| format!("{:?} has not ended", typed.line))?;
        let reply = self.again(&Typed::read(&typed.line), came, &typed.files);
        self.is_at(typed, file).map(|()| reply)
    }

    /// What a journal of this session begins with.
    pub fn head(&self) -> String {
        text::begin(&self.session, self.stop == StopAt::Anything, self.quiz.is_some())
    }

    /// Writes the session into this journal as it goes. Says so if that cannot be done.
    pub fn keep(&mut self, journal: Result<Box<dyn Journal>, String>) -> String {
        match journal {
            Ok(journal) => {
                self.journal = Some(journal);
                String::new()
            }
            Err(error) => not_kept(&error),
        }
    }

    /// Does what a line says that is the stepper's own.
    ///
    /// # Errors
    /// What was wrong with it, and the way out.
    pub fn answer(&mut self, line: &str) -> Reply {
        self.carry_out(&Typed::read(line))
    }

    /// Does what a line says, and writes down that it was typed and where it led.
    ///
    /// # Errors
    /// What was wrong with it, and the way out.
    pub fn carry_out(&mut self, typed: &Typed) -> Reply {
        if typed.is_a_faces() {
            return commands::run(self, typed);
        }
        let mut kept = self.note_elapsed();
        if let (Ok(()), Some(journal)) = (&kept, &mut self.journal) {
            kept = journal.add(&text::typed(&typed.text));
        }
        self.interrupted = false;
        let workdir = &self.session.cluster.kubectl.workdir;
        let before = workdir.readings();
        workdir.expect(Readings::default());
        self.session.take_again();
        self.touring &= !typed.acts();
        let mut reply = commands::run(self, typed);
        if let Some(watch) = &mut self.watch {
            watch.over();
        }
        if let Ok(answer) = &mut reply {
            answer.text = self.repeated(typed) + &answer.text;
            self.complete_stop(answer);
        }
        if let Err(error) = kept.and_then(|()| self.note_where(&before)) {
            self.journal = None;
            return reply.map(|answer| Answer { text: answer.text + &not_kept(&error), ..answer });
        }
        reply
    }

    /// Lets time pass without a line, as a clock does that runs: to `goal`, or for so many steps. How it ended.
    pub fn elapse(&mut self, goal: &mut Goal, limit: u64) -> Advance {
        let session = &self.session;
        self.unwritten.get_or_insert((session.history().len() as u64, session.cluster.engine.now()));
        self.session.go(goal, limit)
    }

    /// Adds to the journal what has happened without a line: the lines that lead there.
    fn note_elapsed(&mut self) -> Result<(), String> {
        let (Some((steps, time)), Some(journal)) = (self.unwritten.take(), &mut self.journal) else { return Ok(()) };
        let now = Came::of(&mut self.session);
        let mut last = time;
        if now.step > steps {
            last = self.session.current().map_or(time, |step| step.time);
            let there = Came { time: last.0, ..now.clone() };
            journal.add(&(text::typed(&format!("goto {}", now.step)) + &text::done(&there, &Readings::default())))?;
        }
        let waited = Duration::from_nanos(now.time.saturating_sub(last.0));
        if !waited.is_zero() {
            let line = format!("wait {}", waited.as_secs_f64());
            journal.add(&(text::typed(&line) + &text::done(&now, &Readings::default())))?;
        }
        Ok(())
    }

    /// What a line says that only looks, beside what is typed: no journal has it.
    ///
    /// # Errors
    /// What was wrong with it, and the way out.
    pub fn aside(&mut self, line: &str) -> Reply {
        commands::run(self, &Typed::read(line))
    }

    /// The session came to its end: nothing needs to be offered again.
    pub fn end(self) {
        if let Some(journal) = self.journal {
            journal.end();
        }
    }

    /// Adds to the journal where the last command led, and what was read that was not read `before`. Another session that
    /// was opened has one of its own.
    fn note_where(&mut self, before: &Readings) -> Result<(), String> {
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        if std::mem::take(&mut self.opened) {
            journal.anew(&self.head())?;
        } else {
            let read = self.session.cluster.kubectl.workdir.read_since(before);
            journal.add(&text::done(&Came::of(&mut self.session), &read))?;
        }
        self.journal = Some(journal);
        Ok(())
    }

    /// What the user's commands and logpoints have printed since this was last asked.
    pub fn printed(&mut self) -> String {
        let text = self.session.cluster.kubectl.printed_since(self.said);
        let (start, mut out, mut shown) = (self.said, String::new(), 0);
        self.said += text.len();
        for (before, line) in self.session.take_printed() {
            // Where it happened: behind what had been printed by then.
            let upto = text.len().min(before.saturating_sub(start)).max(shown);
            out += text.get(shown..upto).unwrap_or_default();
            let whole = out.is_empty() || out.ends_with('\n');
            out += &format!("{}{line}\n", if whole { "" } else { "\n" });
            shown = upto;
        }
        out + text.get(shown..).unwrap_or_default()
    }

    /// What commands had printed where one has gone back to is not said again.
    pub fn heard(&mut self) {
        self.said = self.session.cluster.kubectl.printed();
    }

    /// The stop where the session stands.
    pub fn shown(&self) -> Answer {
        match self.session.stop() {
            Some(stop) => Answer { stop: Some(Box::new(stop)), ..Answer::default() },
            None => Answer::says("nothing has happened yet; press Enter to step\n"),
        }
    }

    /// The same, after what was printed on the way there.
    pub fn stopped(&mut self) -> Answer {
        Answer { printed: self.printed(), ..self.shown() }
    }

    /// Whether a long move goes on, as far as its watcher is concerned.
    pub fn goes_on(&mut self) -> bool {
        let session = &self.session;
        let progress =
            Progress { steps: session.history().len() as u64, now: session.time(session.cluster.engine.now()) };
        self.interrupted |= self.watch.as_mut().is_some_and(|watch| !watch.goes_on(progress));
        !self.interrupted
    }

    /// How many columns there are. A screen that does not know has eighty.
    pub fn width(&self) -> usize {
        let screen = || self.outside.screen().map(|(columns, _)| columns);
        self.columns.or_else(screen).filter(|columns| *columns > 0).unwrap_or(80)
    }

    /// How many columns a line may have before it is broken. What goes to a pipe may be as long as it likes.
    pub fn room(&self) -> usize {
        if self.columns.is_some() { usize::MAX } else { self.width() }
    }

    /// A view of that width.
    pub fn view(&self) -> View {
        let screen = self.columns.is_none().then(|| self.outside.screen()).flatten();
        screen.map_or(View::new(self.width()), |(_, rows)| View::on_screen(self.width(), rows))
    }
}

fn not_kept(error: &str) -> String {
    format!("this session is not written as it goes: {error}\n")
}

/// A file whose scenario has the learner's part in it, if it names one, and sees no more of the disk than it may.
fn plugged(file: &File, outside: &dyn Outside) -> Result<File, String> {
    let mut file = file.clone();
    match outside.disk() {
        Disk::Whole => {}
        disk => {
            let scenario = file.scenario.scenario()?;
            file.scenario = Source::Whole(Box::new(Scenario { sight: Sight(disk), ..scenario }));
        }
    }
    if let Source::Whole(scenario) = &mut file.scenario {
        outside.plug(scenario)?;
    }
    Ok(file)
}
