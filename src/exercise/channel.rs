//! The way between a learner's process and the grader. Its first line is a word that the grader makes up for this run, and
//! each line that the process says begins with it. So nothing that a learner's code prints is an answer.
//!
//! - Where there are sockets, the process's standard input is one, and what it says goes back over it. Standard output and
//!   standard error are the learner's alone, and what the process starts holds no end of the socket.
//! - Elsewhere the process says it on standard output.
//!
//! A process whose grader is gone ends soon: no other process would end an endless loop.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::time::Duration;

/// How often the process looks whether the grader is still there.
const LOOK: Duration = Duration::from_millis(500);

/// The process's end.
pub(crate) struct Channel {
    heard: Box<dyn BufRead>,
    said: Box<dyn Write>,
    word: String,
    /// What was printed before an answer is to be told from what was printed after it.
    marks: bool,
}

impl Channel {
    /// Opens it. What stands before the grader's word is nothing yet.
    pub fn open() -> Channel {
        let (heard, said) = ends().unwrap_or_else(|_| (Box::new(io::stdin().lock()), Box::new(io::stdout())));
        let mut channel = Channel { heard, said, word: String::new(), marks: false };
        channel.word = channel.hear().unwrap_or_default();
        end_with_the_grader();
        channel
    }

    /// The next line. None: the grader asks no more.
    pub fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        self.heard.read_line(&mut line).ok().filter(|count| *count > 0)?;
        line.truncate(line.trim_end().len());
        Some(line)
    }

    /// Sends something. A grader that is gone misses it, which is no error here.
    pub fn say(&mut self, text: &str) {
        if self.marks {
            println!("\n{}", self.word);
            eprintln!("\n{}", self.word);
        }
        // What a learner prints need not end with a line.
        let before = if cfg!(unix) { "" } else { "\n" };
        let line = format!("{before}{}{text}\n", self.word);
        drop(self.said.write_all(line.as_bytes()).and_then(|()| self.said.flush()));
    }

    /// From now on a line on standard output and one on standard error follow what was printed before an answer.
    pub fn mark(&mut self) {
        self.marks = true;
    }
}

type Ends = (Box<dyn BufRead>, Box<dyn Write>);

#[cfg(unix)]
fn ends() -> io::Result<Ends> {
    use std::os::fd::AsFd;
    // Copies, which close where a program is started.
    let own = || io::stdin().as_fd().try_clone_to_owned().map(File::from);
    Ok((Box::new(BufReader::new(own()?)), Box::new(own()?)))
}

#[cfg(not(unix))]
fn ends() -> io::Result<Ends> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn end_with_the_grader() {
    use std::os::unix::process::parent_id;
    let grader = parent_id();
    std::thread::spawn(move || {
        while parent_id() == grader {
            std::thread::sleep(LOOK);
        }
        std::process::exit(0);
    });
}

#[cfg(not(unix))]
fn end_with_the_grader() {}
