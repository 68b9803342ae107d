//! Where commands come from: a prompt with history and completion, or lines on standard input.

use std::io::{self, BufRead, IsTerminal, Write};

use dialoguer::{BasicHistory, Completion, Input};

use super::command::WORDS;

/// A source of command lines.
pub enum Lines {
    /// Somebody types.
    Prompt(Box<BasicHistory>),
    /// A file or a pipe.
    Pipe,
}

impl Lines {
    /// A prompt if somebody sits there, else standard input line by line.
    pub fn from_stdin() -> Lines {
        let interactive = io::stdin().is_terminal() && io::stdout().is_terminal();
        if interactive {
            Lines::Prompt(Box::new(BasicHistory::new().max_entries(500).no_duplicates(true)))
        } else {
            Lines::Pipe
        }
    }

    /// Whether somebody types.
    pub fn interactive(&self) -> bool {
        matches!(self, Lines::Prompt(_))
    }

    /// The next line; None at the end of the input. `names` are objects to complete.
    pub fn next(&mut self, prompt: &str, names: Vec<String>) -> io::Result<Option<String>> {
        match self {
            Lines::Prompt(history) => ask(prompt, history, names),
            Lines::Pipe => {
                let mut line = String::new();
                if io::stdin().lock().read_line(&mut line)? == 0 {
                    return Ok(None);
                }
                let line = line.trim_end_matches(['\n', '\r']).to_owned();
                writeln!(io::stdout(), "{prompt} {line}")?;
                Ok(Some(line))
            }
        }
    }
}

fn ask(prompt: &str, history: &mut BasicHistory, names: Vec<String>) -> io::Result<Option<String>> {
    let completion = Words { names };
    let asked = Input::<String>::with_theme(&Bare)
        .with_prompt(prompt)
        .allow_empty(true)
        .report(true)
        .history_with(history)
        .completion_with(&completion)
        .interact_text();
    match asked {
        Ok(line) => Ok(Some(line)),
        Err(dialoguer::Error::IO(error)) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
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

/// Completes a command's first word, and then names of objects.
struct Words {
    names: Vec<String>,
}

impl Completion for Words {
    fn get(&self, input: &str) -> Option<String> {
        let (head, tail) = input.rsplit_once(' ').map_or(("", input), |(head, tail)| (head, tail));
        if head.is_empty() {
            return WORDS.iter().find(|word| word.starts_with(tail) && !tail.is_empty()).map(|word| (*word).to_owned());
        }
        let name = self.names.iter().find(|name| name.starts_with(tail) && !tail.is_empty())?;
        Some(format!("{head} {name}"))
    }
}
