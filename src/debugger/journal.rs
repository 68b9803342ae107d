//! A session as it goes: a saved session to which every command is added when it is typed, and where it led when it is
//! done. What is written is only ever added to, so a program that is killed leaves all but the last line.
//!
//! ```yaml
//! kubestep: 0.1.0
//! scenario: deployment
//! …
//! commands:
//! - do: step 5
//!   came: {step: 23, time: 1203000000, digest: 6fa3b2c19d0e4f55}
//! - do: crash kube-scheduler
//!   came: {step: 23, time: 1203000000, digest: 6fa3b2c19d0e4f55}
//! - do: run
//! ```
//!
//! What a command has read of the disk stands between it and where it led, as `files`.
//!
//! A command that led nowhere was under way when the program ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use kubectl::workdir::{Reading, Readings};

use super::Session;
use super::file::File;

/// A command that was typed.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Typed {
    /// The line.
    #[serde(rename = "do")]
    pub line: String,
    /// What was read of the disk meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Reading>,
    /// Where it led; none if it did not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came: Option<Came>,
}

/// Where a session stood.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Came {
    /// How many steps had run.
    pub step: u64,
    /// The virtual time in nanoseconds: a wait may end after its last step.
    pub time: u64,
    /// A digest of them, in hex digits.
    pub digest: String,
}

impl Came {
    /// Where this session stands.
    pub fn of(session: &mut Session) -> Came {
        let (step, time) = (session.history().len() as u64, session.cluster.engine.now().0);
        Came { step, time, digest: format!("{:016x}", session.digest()) }
    }
}

/// The line after which commands stand.
const COMMANDS: &str = "\ncommands:\n";
/// How the line begins that says where a command led.
const CAME: &str = "\n  came: ";

/// What stands in a journal before the first command: the session, and whether it stops at everything and asks.
pub fn begin(session: &Session, all: bool, quiz: bool) -> String {
    let file = File { all, quiz, ..File::of(session) };
    format!("{}{}", file.text().trim_end(), COMMANDS)
}

/// What is added when a line is typed.
pub fn typed(line: &str) -> String {
    serde_yaml::to_string(&[Typed { line: line.to_owned(), files: Vec::new(), came: None }]).unwrap_or_default()
}

/// What is added when it is done, and these were read.
pub fn done(came: &Came, read: &Readings) -> String {
    let files = match read.list() {
        none if none.is_empty() => String::new(),
        list => serde_yaml::to_string(&BTreeMap::from([("files", list)])).unwrap_or_default(),
    };
    let files: String = files.lines().map(|line| format!("  {line}\n")).collect();
    format!("{files}  came: {{step: {}, time: {}, digest: '{}'}}\n", came.step, came.time, came.digest)
}

/// How many bytes of a journal are whole: its end may be torn, and the last command may not have ended.
pub fn whole(text: &str) -> usize {
    let lines = text.rfind('\n').map_or("", |end| &text[..=end]);
    let last = lines.rfind(CAME).map(|at| at + 1);
    let end = |at: usize| lines[at..].find('\n').map(|more| at + more + 1);
    last.and_then(end).or_else(|| lines.find(COMMANDS).map(|at| at + COMMANDS.len())).unwrap_or(0)
}

/// Reads a journal, even one that was cut off. The last command has not `came` anywhere if it was under way.
pub fn read(text: &str) -> Result<File, String> {
    let lines = text.rfind('\n').map_or("", |end| &text[..=end]);
    let file = File::read(lines).or_else(|error| match whole(text) {
        0 => Err(error),
        whole => File::read(&text[..whole]),
    })?;
    let mine = env!("CARGO_PKG_VERSION");
    if file.kubestep != mine {
        return Err(format!("it was written by version {}, and this is {mine}", file.kubestep));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster::scenario::Scenario;

    fn journal() -> String {
        let session = Session::of(Scenario::find("pod").unwrap());
        let came = |step| Came { step, time: 0, digest: "12345678e5000000".to_owned() };
        begin(&session, true, false)
            + &typed("step 5")
            + &done(&came(12), &Readings::default())
            + &typed("break pod if new.metadata.name == \"a: # 'b\"")
            + &done(&came(12), &Readings::default())
    }

    #[test]
    fn what_is_written_is_read() {
        let file = read(&journal()).unwrap();
        let commands = file.commands.unwrap();
        assert!(file.all && file.steps == 0);
        assert_eq!(commands[1].line, "break pod if new.metadata.name == \"a: # 'b\"");
        assert_eq!(commands[1].came, Some(Came { step: 12, time: 0, digest: "12345678e5000000".to_owned() }));
        assert_eq!(whole(&journal()), journal().len());
    }

    #[test]
    fn any_torn_end_is_tolerated() {
        let (whole_text, head) = (
            journal() + &typed("run") + &done(&Came { step: 90, time: 0, digest: "00".into() }, &Readings::default()),
            journal(),
        );
        for end in head.len()..whole_text.len() {
            let torn = &whole_text[..end];
            assert_eq!(whole(torn), head.len(), "{:?}", &torn[head.len()..]);
            let commands = read(torn).unwrap().commands.unwrap();
            assert!(commands[..2].iter().all(|typed| typed.came.is_some()));
            assert!(commands[2..].iter().all(|typed| typed.came.is_none() && typed.line == "run"));
        }
        assert_eq!(whole("kubestep: 0.1"), 0);
        let nothing = begin(&Session::of(Scenario::find("pod").unwrap()), false, false);
        assert_eq!(read(&nothing).unwrap().commands, None, "nothing was typed yet");
    }

    #[test]
    fn other_versions_are_refused() {
        let error = read(&journal().replacen(env!("CARGO_PKG_VERSION"), "0.0.1", 1)).unwrap_err();
        assert!(error.contains("by version 0.0.1"), "{error}");
    }
}
