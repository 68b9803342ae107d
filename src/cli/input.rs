//! Where commands come from: a prompt with history and completion, or lines on standard input.

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;

use console::{Key, Term, measure_text_width};

use object::terminal::harmless;
use stepper::wrap::wrapped;

use super::draft::{Draft, Typed};
use super::out::print;
use super::serve::Bell;

/// So many lines are remembered.
const HISTORY: usize = 500;

/// The longest time between two looks at what goes on meanwhile.
const LOOK: Duration = Duration::from_secs(1);

/// A source of command lines.
pub enum Lines {
    /// A user types. What was typed before, the newest last; and the thread that waits for keys, if there is one.
    Prompt(Vec<String>, Option<Waiting<Key>>),
    /// A file or a pipe, and the thread that waits for its lines, if there is one.
    Pipe(Option<Waiting<Option<String>>>),
}

/// What goes on while a line is typed.
pub trait Meanwhile {
    /// What a line may become, when Tab is pressed.
    fn candidates(&self, input: &str) -> Vec<String>;

    /// What rings when something is to be done beside the typing. None: nothing ever is.
    fn bell(&self) -> Option<Arc<Bell>>;

    /// Does it. What to tell the user, and how long nothing is to be done unless it rings; none: for ever.
    fn tend(&mut self) -> (String, Option<Duration>);
}

/// A thread that waits for one thing after the other, each when it is asked for: what is typed ahead stays in the terminal.
pub struct Waiting<T> {
    ask: Sender<()>,
    come: Receiver<io::Result<T>>,
}

impl<T: Send + 'static> Waiting<T> {
    /// A thread that gets things so, and rings when one has come.
    fn new(bell: Arc<Bell>, mut next: impl FnMut() -> io::Result<T> + Send + 'static) -> Waiting<T> {
        let ((ask, asked), (send, come)) = (channel(), channel());
        std::thread::spawn(move || {
            while let Ok(()) = asked.recv()
                && send.send(next()).is_ok()
            {
                bell.ring();
            }
        });
        Waiting { ask, come }
    }

    /// The next one. Meanwhile `between` is done whenever it rings, or the time is over that it says.
    fn next(&self, bell: &Bell, mut between: impl FnMut() -> io::Result<Option<Duration>>) -> io::Result<T> {
        let gone = || io::Error::from(io::ErrorKind::UnexpectedEof);
        self.ask.send(()).map_err(|_| gone())?;
        loop {
            match self.come.try_recv() {
                Ok(come) => return come,
                Err(TryRecvError::Disconnected) => return Err(gone()),
                Err(TryRecvError::Empty) => {}
            }
            let rest = between()?.unwrap_or(LOOK).min(LOOK);
            bell.wait(rest);
        }
    }
}

impl Lines {
    /// A prompt if a user sits there, else standard input line by line.
    pub fn from_stdin(somebody: bool) -> Lines {
        match somebody {
            true => Lines::Prompt(Vec::new(), None),
            false => Lines::Pipe(None),
        }
    }

    /// Takes a line for one that was typed here before.
    pub fn remember(&mut self, line: &str) {
        let Lines::Prompt(history, _) = self else { return };
        if line.trim().is_empty() {
            return;
        }
        // It is drawn again, and may come from a file.
        let line = harmless(line, false).into_owned();
        history.retain(|before| *before != line);
        if history.len() == HISTORY {
            history.remove(0);
        }
        history.push(line);
    }

    /// The next line; None at the end of the input. An error of the kind `Interrupted` is Ctrl-C, or another signal.
    pub fn next(&mut self, prompt: &str, meanwhile: &mut dyn Meanwhile) -> io::Result<Option<String>> {
        let bell = meanwhile.bell();
        match self {
            Lines::Prompt(history, keys) => {
                if let (None, Some(bell)) = (&keys, &bell) {
                    *keys = Some(Waiting::new(bell.clone(), || Term::stderr().read_key()));
                }
                let line = ask(prompt, history, keys.as_ref().zip(bell.as_deref()), meanwhile)?;
                line.iter().for_each(|line| self.remember(line));
                Ok(line)
            }
            Lines::Pipe(lines) => {
                let line = match bell {
                    None => read_line()?,
                    Some(bell) => {
                        let lines = lines.get_or_insert_with(|| Waiting::new(bell.clone(), read_line));
                        lines.next(&bell, || {
                            let (said, rest) = meanwhile.tend();
                            print(&said).map(|()| rest)
                        })?
                    }
                };
                if let Some(line) = &line {
                    print(&format!("{prompt} {line}\n"))?;
                }
                Ok(line)
            }
        }
    }
}

/// The next line of standard input; None at its end. What is no text is replaced by question marks.
pub fn read_line() -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if io::stdin().lock().read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned()))
}

/// A line typed at the terminal, key by key; what is longer than the terminal is wide moves aside.
fn ask(
    prompt: &str,
    history: &[String],
    keys: Option<(&Waiting<Key>, &Bell)>,
    meanwhile: &mut dyn Meanwhile,
) -> io::Result<Option<String>> {
    let term = Term::stderr();
    if !term.is_term() {
        return Ok(None);
    }
    let mut draft = Draft::default();
    loop {
        draw(&term, prompt, &draft)?;
        let key = match keys {
            None => term.read_key()?,
            Some((keys, bell)) => keys.next(bell, || {
                let (said, rest) = meanwhile.tend();
                if !said.is_empty() {
                    term.clear_line()?;
                    print(&said)?;
                    draw(&term, prompt, &draft)?;
                }
                Ok(rest)
            })?,
        };
        match draft.key(key, history) {
            Typed::More => {}
            Typed::Complete => {
                let candidates = meanwhile.candidates(&draft.text());
                complete(&term, &mut draft, &candidates)?;
            }
            Typed::Clear => term.clear_screen()?,
            Typed::End => return term.write_line("").map(|()| None),
            Typed::Line => break,
        }
    }
    let line = draft.text();
    term.clear_line()?;
    term.write_line(&format!("{prompt} {line}"))?;
    Ok(Some(line))
}

fn draw(term: &Term, prompt: &str, draft: &Draft) -> io::Result<()> {
    let columns = term.size_checked().map_or(80, |(_, columns)| usize::from(columns));
    let searched = draft.searched().map(|text| format!("(search) {text}:"));
    let prompt = searched.as_deref().unwrap_or(prompt);
    let (text, cursor) = draft.shown(columns.saturating_sub(measure_text_width(prompt) + 2).max(1));
    term.clear_line()?;
    term.write_str(&format!("{prompt} {text}"))?;
    term.move_cursor_left(measure_text_width(&text).saturating_sub(cursor))?;
    term.flush()
}

/// Completes the line; what there is to choose from is listed.
fn complete(term: &Term, draft: &mut Draft, candidates: &[String]) -> io::Result<()> {
    let names = draft.complete(candidates);
    if names.is_empty() {
        return Ok(());
    }
    let columns = term.size_checked().map_or(80, |(_, columns)| usize::from(columns));
    term.write_line("")?;
    term.write_line(&wrapped(&names.join("  "), columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_the_same_lines_is_kept() {
        let mut lines = Lines::Prompt(Vec::new(), None);
        for line in ["a", "", "b", "a", " "] {
            lines.remember(line);
        }
        let Lines::Prompt(history, _) = &lines else { panic!("these lines come from a prompt") };
        assert_eq!(history, &["b", "a"]);
        (0..2 * HISTORY).for_each(|n| lines.remember(&n.to_string()));
        let Lines::Prompt(history, _) = &lines else { panic!("these lines come from a prompt") };
        assert_eq!((history.len(), history.last()), (HISTORY, Some(&(2 * HISTORY - 1).to_string())));
    }
}
