//! One session followed on other machines: who leads writes it into a file, in a folder that they share, and the others do what
//! stands there as it comes.
//!
//! The file is a journal ([`debugger::journal`]), so nothing but lines is shared, and each machine computes what comes of them.
//!
//! Left out: who follows types nothing.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};

use debugger::journal as journal_text;
use kubectl::workdir::{self, Disk};
use stepper::outside::Journal;
use stepper::{Stepper, Typed, lines, palette};

use super::{journal, out, terminal};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(300);

/// A session that others follow, and the journal of the user's own, if it has one.
struct Led {
    path: PathBuf,
    file: File,
    own: Option<Box<dyn Journal>>,
}

/// Has a session written into this file for others to follow, beside its journal. Says so if that has none.
///
/// # Errors
/// The file cannot be made.
pub(super) fn lead(stepper: &mut Stepper, path: &Path, folder: Option<&Path>) -> anyhow::Result<String> {
    let head = stepper.head();
    let own = folder.map(|folder| journal::Journal::create(folder, &head)).transpose();
    let (own, said) = match own {
        Ok(own) => (own.map(|own| Box::new(own) as Box<dyn Journal>), String::new()),
        Err(error) => (None, format!("this session is not written as it goes: {error}\n")),
    };
    let file = begun(path, &head).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(said + &stepper.keep(Ok(Box::new(Led { path: path.to_owned(), file, own }))))
}

fn begun(path: &Path, head: &str) -> std::io::Result<File> {
    let mut file = File::create(path)?;
    file.write_all(head.as_bytes())?;
    Ok(file)
}

impl Journal for Led {
    fn add(&mut self, text: &str) -> Result<(), String> {
        let own = self.own.as_mut().map_or(Ok(()), |own| own.add(text));
        self.file.write_all(text.as_bytes()).map_err(|error| format!("{}: {error}", self.path.display())).and(own)
    }

    fn anew(&mut self, head: &str) -> Result<(), String> {
        let own = self.own.as_mut().map_or(Ok(()), |own| own.anew(head));
        self.file = begun(&self.path, head).map_err(|error| format!("{}: {error}", self.path.display()))?;
        own
    }

    /// The file stays: others may come to it later.
    fn end(self: Box<Self>) {
        if let Some(own) = self.own {
            own.end();
        }
    }
}

/// Does what stands in such a file, as it comes, until it is ended.
///
/// # Errors
/// It cannot be read, or leads elsewhere here.
pub(super) fn follow(path: &Path) -> anyhow::Result<()> {
    let mut followed: Option<Followed> = None;
    let mut before = String::new();
    loop {
        let text = match workdir::text_in(path) {
            Ok(text) => text,
            // Who leads may not have begun.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
        };
        let whole = &text[..journal_text::whole(&text)];
        if before.is_empty() && whole.is_empty() && followed.is_none() {
            out::print(&format!("{}: no session is there yet; step --lead FILE begins one\n", path.display()))?;
            before = "none".to_owned();
        } else if !whole.is_empty() && whole != before {
            let refused = |error| anyhow!("{}: {error}", path.display());
            let file = journal_text::read(whole).map_err(refused)?;
            // Another session was begun, or loaded: it is followed from its beginning.
            let goes_on = whole.starts_with(&before);
            let mut now = match followed.take().filter(|_| goes_on) {
                Some(followed) => followed,
                None => Followed::begin(&file).map_err(refused)?,
            };
            now.go_on(&file)?;
            (followed, before) = (Some(now), whole.to_owned());
        }
        std::thread::sleep(LOOK);
    }
}

/// A session that follows another.
struct Followed {
    stepper: Stepper,
    /// So many lines of that one's were done.
    done: usize,
}

impl Followed {
    /// At its beginning.
    fn begin(file: &debugger::file::File) -> Result<Followed, String> {
        let head = debugger::file::File { commands: None, ..file.clone() };
        let stepper = terminal::of_file(&head, None, Disk::Whole)?;
        let title = palette::here().apply_to(&stepper.session.scenario().title);
        let _ = out::print(&format!("{title}\nfollowed as it goes; Ctrl-C ends that\n"));
        Ok(Followed { stepper, done: 0 })
    }

    /// Does the lines that have come, and prints each with its answer.
    fn go_on(&mut self, file: &debugger::file::File) -> anyhow::Result<()> {
        let come = file.commands.iter().flatten().take_while(|typed| typed.came.is_some());
        for typed in come.skip(self.done) {
            self.done += 1;
            let prompt = self.stepper.prompt();
            let reply = self.stepper.follow(typed, file).map_err(|error| anyhow!(error))?;
            let said = match reply {
                Ok(answer) => lines::text(&answer, &self.stepper.view()),
                Err(error) => format!("{}\n", palette::error().apply_to(error)),
            };
            out::print(&format!("{prompt} {}\n{said}", Typed::read(&typed.line).at_its_prompt()))?;
            self.stepper.done = false;
        }
        Ok(())
    }
}
