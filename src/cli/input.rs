//! Where commands come from: a prompt with history and completion, or lines on standard input.

use std::io::{self, BufRead};

use console::{Term, measure_text_width};

use object::terminal::harmless;
use stepper::wrap::wrapped;

use super::draft::{Draft, Typed};
use super::out::print;

/// So many lines are remembered.
const HISTORY: usize = 500;

/// A source of command lines.
pub enum Lines {
    /// Somebody types. What was typed before, the newest last.
    Prompt(Vec<String>),
    /// A file or a pipe.
    Pipe,
}

impl Lines {
    /// A prompt if somebody sits there, else standard input line by line.
    pub fn from_stdin(somebody: bool) -> Lines {
        match somebody {
            true => Lines::Prompt(Vec::new()),
            false => Lines::Pipe,
        }
    }

    /// Takes a line for one that was typed here before.
    pub fn remember(&mut self, line: &str) {
        let Lines::Prompt(history) = self else { return };
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

    /// The next line; None at the end of the input. When Tab is pressed, `candidates` says what a line may become. An error
    /// of the kind `Interrupted` is Ctrl-C, or another signal.
    pub fn next(&mut self, prompt: &str, candidates: &dyn Fn(&str) -> Vec<String>) -> io::Result<Option<String>> {
        match self {
            Lines::Prompt(history) => {
                let line = ask(prompt, history, candidates)?;
                line.iter().for_each(|line| self.remember(line));
                Ok(line)
            }
            Lines::Pipe => {
                let line = read_line()?;
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
fn ask(prompt: &str, history: &[String], candidates: &dyn Fn(&str) -> Vec<String>) -> io::Result<Option<String>> {
    let term = Term::stderr();
    if !term.is_term() {
        return Ok(None);
    }
    let mut draft = Draft::default();
    loop {
        draw(&term, prompt, &draft)?;
        match draft.key(term.read_key()?, history) {
            Typed::More => {}
            Typed::Complete => {
                let candidates = candidates(&draft.text());
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
        let mut lines = Lines::Prompt(Vec::new());
        for line in ["a", "", "b", "a", " "] {
            lines.remember(line);
        }
        let Lines::Prompt(history) = &lines else { panic!("somebody types") };
        assert_eq!(history, &["b", "a"]);
        (0..2 * HISTORY).for_each(|n| lines.remember(&n.to_string()));
        let Lines::Prompt(history) = &lines else { panic!("somebody types") };
        assert_eq!((history.len(), history.last()), (HISTORY, Some(&(2 * HISTORY - 1).to_string())));
    }
}
