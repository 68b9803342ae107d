//! A line as it was typed: what it is, read once. Everything after goes by this value.

use super::commands::{self, Command, Group, Line};
use super::{Stepper, paths, shell};

/// How a line for a shell in a container begins, with the space behind it.
const TYPE: &str = "type ";

/// How a line begins that asks how another may go on. What stands behind it is not read.
const COMPLETE: &str = "complete ";

/// What stands before a line that is the stepper's, where a shell's prompt is shown.
pub const ESCAPE: char = ':';

/// A line, and what it is.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The command, as a journal keeps it: what is typed into a shell has `type` before it there.
    pub text: String,
    /// What it is.
    pub what: What,
}

/// What a line is.
#[derive(Clone, Debug)]
pub enum What {
    /// A comment, or an empty line where a shell waits: nothing comes of it.
    Nothing,
    /// A command of the stepper's.
    Command {
        /// Its group.
        group: &'static Group,
        /// Its row.
        command: &'static Command,
        /// What was typed.
        line: Line,
    },
    /// A command of kubectl's that the stepper has no row for, without the word `kubectl`.
    Kubectl(Line),
    /// `edit`, with the words behind it: a face that can opens an editor.
    Edit(Vec<String>),
    /// A line that a shell has to read.
    Shell(String),
    /// A line, or a key, for the shell in a container that waits for one.
    IntoShell(String),
    /// `complete`, with the line as far as it is typed.
    Complete(String),
    /// A command whose answer goes through programs that work on text, each with its words.
    Piped(Box<What>, Vec<Vec<String>>),
    /// A line whose answer is to be shown page by page.
    Paged(Box<What>),
    /// A line, and then on until the commands that run have ended.
    ToItsEnd(Box<What>),
    /// A number: it answers the open question, if there is one.
    Number(usize, Line),
    /// It begins with no command there is.
    Unknown(Line),
    /// It cannot be read: why, and the way out.
    Wrong(String),
}

impl Typed {
    /// Reads a line as the stepper's own. An empty one is `step`.
    pub fn read(text: &str) -> Typed {
        let text = in_full(text);
        Typed { what: What::of(&text).unwrap_or_else(What::Wrong), text }
    }

    /// A line, or a key, for the shell in a container.
    pub fn into_shell(text: &str) -> Typed {
        Typed::read(&format!("{TYPE}{text}"))
    }

    /// Whether a face asks it of its own accord, to draw or to complete something: it is no part of the session.
    pub(super) fn is_a_faces(&self) -> bool {
        match &self.what {
            What::Complete(_) => true,
            What::Command { command, .. } => ["peek", "scene"].contains(&command.names[0]),
            _ => false,
        }
    }

    /// The line as it stood at its prompt, which may have been a shell's.
    pub fn at_its_prompt(&self) -> &str {
        match &self.what {
            What::IntoShell(text) => text,
            _ => &self.text,
        }
    }

    /// Whether it would change anything: a session that is repeated can leave the others out.
    pub fn acts(&self) -> bool {
        self.what.acts()
    }
}

impl What {
    /// Whether it is kubectl's, or another line of the user's own shell.
    pub(super) fn is_kubectls(&self) -> bool {
        match self {
            What::Kubectl(_) | What::Shell(_) => true,
            What::Command { group, .. } => group.name == commands::cluster::GROUP.name,
            _ => false,
        }
    }

    fn acts(&self) -> bool {
        match self {
            What::Piped(what, _) | What::Paged(what) => what.acts(),
            What::Command { group, .. } => group.acts,
            What::Complete(_) => false,
            _ => true,
        }
    }
}

/// A line with its command's full name, where it begins with the beginning of one. So a journal means the same when there
/// are more commands.
fn in_full(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_known = commands::find(first).is_some() || kubectl::knows(first) || shell::BEGIN.contains(&first);
    match commands::in_full(first).filter(|_| !is_known) {
        Some(full) => text.replacen(first, full, 1),
        None => text.to_owned(),
    }
}

/// A command of the stepper's before a pipe, and the programs behind it. A pipe behind kubectl's commands is read elsewhere,
/// and what a breakpoint prints may have one in it.
fn piped(text: &str) -> Option<(&str, Vec<Vec<String>>)> {
    let (_, row) = commands::find(text.split_whitespace().next()?)?;
    let terms = row.takes.iter().any(|place| place.contains(&commands::Takes::Term));
    if terms || shell::is_kubectls_line(text) {
        return None;
    }
    let (command, programs) = shell::split_at_pipe(text)?;
    let words = shell_words::split(programs).ok()?;
    Some((command, words.split(|word| word == "|").map(<[String]>::to_vec).collect()))
}

impl What {
    fn of(text: &str) -> Result<What, String> {
        if let Some(line) = text.trim_start().strip_prefix(COMPLETE) {
            return Ok(What::Complete(line.to_owned()));
        }
        if let Some(text) = text.trim_start().strip_prefix(TYPE).filter(|text| !text.trim().is_empty()) {
            return Ok(What::IntoShell(text.to_owned()));
        }
        if let Some(line) = shell::paged(text) {
            return Ok(What::Paged(Box::new(What::of(line)?)));
        }
        if let Some(line) = shell::to_its_end(text) {
            return Ok(What::ToItsEnd(Box::new(What::of(&in_full(line))?)));
        }
        if shell::is_alias(text)? {
            return Ok(What::Nothing);
        }
        let text = &*shell::plain(text)?;
        if let Some(line) = shell::line(text) {
            return line.map(What::Shell);
        }
        if let Some((command, programs)) = piped(text) {
            return Ok(What::Piped(Box::new(What::of(command)?), programs));
        }
        let line = Line::read(if text.trim().is_empty() { "step" } else { text })?;
        Ok(match line.words() {
            [edit, words @ ..] if edit == "edit" => What::Edit(words.to_vec()),
            [kubectl, edit, words @ ..] if (kubectl == "kubectl" || kubectl == "k") && edit == "edit" => {
                What::Edit(words.to_vec())
            }
            words => match (words, words[0].parse::<usize>(), commands::find(&words[0])) {
                ([_], Ok(number), _) => What::Number(number, line),
                (_, _, Some((group, command))) => What::Command { group, command, line },
                _ if kubectl::knows(line.name()) => What::Kubectl(line),
                _ => What::Unknown(line),
            },
        })
    }
}

impl Stepper {
    /// What a line is at this prompt, which may be that of a shell in a container.
    pub fn read(&self, line: &str) -> Typed {
        let waits = self.session.cluster.shell_waits() == Some(true);
        match escaped(line) {
            _ if line.trim_start().starts_with('#') || (waits && line.trim().is_empty()) => {
                Typed { text: line.to_owned(), what: What::Nothing }
            }
            // Also where there is no need for it: while a line of the shell's runs, say.
            Some(command) => Typed::read(command),
            None if self.touring && line.trim().is_empty() => Typed::read("tour"),
            None if waits => Typed::into_shell(line),
            None if cfg!(windows) => Typed::read(&paths::slashed(line)),
            None => Typed::read(line),
        }
    }
}

/// The stepper's command in a line for a shell: `:` before a blank is the shell's own.
pub fn escaped(line: &str) -> Option<&str> {
    let command = line.trim().strip_prefix(ESCAPE)?;
    command.chars().next().is_none_or(|c| c.is_ascii_alphanumeric() || c == '?').then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_thing() {
        for (line, is) in [
            ("", "step"),
            ("get pods", "get"),
            ("kubectl get pods", "kubectl"),
            ("k edit", "edit []"),
            ("edit deployment web", "edit [\"deployment\", \"web\"]"),
            ("kubectl edit deploy/web -n a", "edit [\"deploy/web\", \"-n\", \"a\"]"),
            ("kubectl get edit", "kubectl"),
            ("editor", "unknown"),
            ("drain node-1", "kubectl's"),
            ("cat web.yaml", "cat"),
            ("kubectl get pods # all of them", "kubectl"),
            ("alias k=kubectl", "nothing"),
            ("kubectl delete pod web-{1..3}", "shell kubectl delete pod web-{1..3}"),
            ("k get po > pods.txt", "shell kubectl get po > pods.txt"),
            ("type ls /", "into ls /"),
            ("type", "type"),
            ("12", "number 12"),
            ("12 13", "unknown"),
            ("get \"po", "wrong"),
            ("# a comment", "wrong"),
            ("pend --all", "pending"),
            ("desc pod web", "get"),
            ("drai node-1", "kubectl's"),
            ("po", "unknown"),
            ("complete get po", "complete get po"),
            ("why | grep etcd | wc -l", "through [[\"grep\", \"etcd\"], [\"wc\", \"-l\"]]"),
            ("history deploy/web|less", "page by page"),
            ("get pods | grep web", "get"),
            ("break pods print a | b", "break"),
            ("print step == 1 || step == 2", "print"),
            ("!apply -f web.yaml", "to its end"),
            ("scale deploy web --replicas=3 !", "to its end"),
            ("cat web.yaml > copy.yaml", "shell cat web.yaml > copy.yaml"),
            ("cat web.yaml | grep image", "through [[\"grep\", \"image\"]]"),
            ("ls", "files"),
            ("ls manifests | head -1", "through [[\"head\", \"-1\"]]"),
            ("ls > names", "shell ls > names"),
        ] {
            let found = match Typed::read(line).what {
                What::Nothing => "nothing".to_owned(),
                What::Command { command, .. } => command.names[0].to_owned(),
                What::Kubectl(_) => "kubectl's".to_owned(),
                What::Edit(words) => format!("edit {words:?}"),
                What::Shell(line) => format!("shell {line}"),
                What::IntoShell(line) => format!("into {line}"),
                What::Complete(line) => format!("complete {line}"),
                What::Piped(_, programs) => format!("through {programs:?}"),
                What::Paged(_) => "page by page".to_owned(),
                What::ToItsEnd(_) => "to its end".to_owned(),
                What::Number(number, _) => format!("number {number}"),
                What::Unknown(_) => "unknown".to_owned(),
                What::Wrong(_) => "wrong".to_owned(),
            };
            assert_eq!(found, is, "{line}");
        }
        assert_eq!(Typed::into_shell("ls").text, "type ls");
        assert_eq!(Typed::read("tim deploy/web").text, "timeline deploy/web");
        assert_eq!(Typed::read("type  ls ").at_its_prompt(), " ls ");
        assert!(["complete st", "peek get pods", "scene"].iter().all(|line| Typed::read(line).is_a_faces()));
        assert!(Typed::read("crash kube-scheduler").acts() && !Typed::read("why").acts() && Typed::read("'").acts());
    }
}
