//! Where commands come from: a prompt with history and completion, or lines on standard input.

use std::io::{self, BufRead, Write};

use dialoguer::{BasicHistory, Completion, History, Input};

/// A source of command lines.
pub enum Lines {
    /// Somebody types.
    Prompt(Box<BasicHistory>),
    /// A file or a pipe.
    Pipe,
}

impl Lines {
    /// A prompt if somebody sits there, else standard input line by line.
    pub fn from_stdin(somebody: bool) -> Lines {
        match somebody {
            true => Lines::Prompt(Box::new(BasicHistory::new().max_entries(500).no_duplicates(true))),
            false => Lines::Pipe,
        }
    }

    /// Takes a line for one that was typed here before.
    pub fn remember(&mut self, line: &str) {
        if let Lines::Prompt(history) = self {
            history.write(&line.to_owned());
        }
    }

    /// The next line; None at the end of the input. `complete` is asked when Tab is pressed. An error of the kind
    /// `Interrupted` is Ctrl-C, or another signal.
    pub fn next(&mut self, prompt: &str, complete: &dyn Fn(&str) -> Option<String>) -> io::Result<Option<String>> {
        match self {
            Lines::Prompt(history) => ask(prompt, history, complete),
            Lines::Pipe => {
                let line = read_line()?;
                if let Some(line) = &line {
                    writeln!(io::stdout(), "{prompt} {line}")?;
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

fn ask(
    prompt: &str,
    history: &mut BasicHistory,
    complete: &dyn Fn(&str) -> Option<String>,
) -> io::Result<Option<String>> {
    let completion = Words(complete);
    let asked = Input::<String>::with_theme(&Bare)
        .with_prompt(prompt)
        .allow_empty(true)
        .report(true)
        .history_with(history)
        .completion_with(&completion)
        .interact_text();
    match asked {
        Ok(line) => Ok(Some(line)),
        Err(dialoguer::Error::IO(error)) if error.kind() == io::ErrorKind::NotConnected => Ok(None),
        Err(dialoguer::Error::IO(error)) => Err(error),
    }
}

/// The prompt as it is given, without decoration.
struct Bare;

impl dialoguer::theme::Theme for Bare {
    fn format_input_prompt(&self, f: &mut dyn std::fmt::Write, prompt: &str, _: Option<&str>) -> std::fmt::Result {
        write!(f, "{prompt} ")
    }

    fn format_input_prompt_selection(&self, f: &mut dyn std::fmt::Write, prompt: &str, line: &str) -> std::fmt::Result {
        write!(f, "{prompt} {line}")
    }
}

/// What completes a line.
struct Words<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Completion for Words<'_> {
    fn get(&self, input: &str) -> Option<String> {
        (self.0)(input)
    }
}
