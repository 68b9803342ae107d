//! Journals: sessions that are written as they go, so that a terminal that dies takes nothing with it.
//!
//! Each program writes a file of its own and keeps it locked. A file without a lock was left by a program that
//! was killed; it is offered again. Looking for such files and making new ones happens under the lock of the folder, so
//! that programs that start at once do not take a file of one another's for one that was left.
//!
//! Left out: what is written reaches the operating system with every command, the disk when that sees fit.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use debugger::journal;
use stepper::{Stepper, outside};

/// How a journal's name ends, and that of one which cannot be used.
const ENDING: &str = "kubestep";
const REFUSED: &str = "refused";

/// A journal that is being written.
pub struct Journal {
    path: PathBuf,
    file: File,
}

/// A journal that was left.
pub struct Left {
    journal: Journal,
    /// What stands in it.
    pub text: String,
}

/// Where this user's journals lie: `kubestep/sessions` where the system keeps what programs remember. None if it does not
/// say where that is.
pub fn folder() -> Option<PathBuf> {
    Some(home()?.join("sessions"))
}

/// Where runs lie that `explore` has found: beside the journals.
pub fn found() -> Option<PathBuf> {
    Some(home()?.join("found"))
}

/// Keeps the session that was ended last, in place of the one before. Returns where it lies; none if it cannot be kept.
pub(super) fn keep_last(text: &str) -> Option<PathBuf> {
    let home = home()?;
    create_folder(&home).ok()?;
    let path = home.join(format!("last.{ENDING}"));
    let mut file = own(File::options().create(true).write(true).truncate(true)).open(&path).ok()?;
    file.write_all(text.as_bytes()).ok()?;
    Some(path)
}

/// A folder that the environment names.
pub(super) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn home() -> Option<PathBuf> {
    let home = |below: &str| variable("HOME").map(|home| home.join(below));
    let state = variable("XDG_STATE_HOME").or_else(|| match std::env::consts::OS {
        "macos" => home("Library/Application Support"),
        "windows" => variable("LOCALAPPDATA"),
        _ => home(".local/state"),
    });
    Some(state?.join("kubestep"))
}

/// The lock under which journals are made and looked for; it goes with the value.
fn locked(folder: &Path) -> io::Result<File> {
    create_folder(folder)?;
    let lock = File::options().create(true).append(true).open(folder.join(".lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Makes a folder, if there is none. Only its owner can read what was typed.
///
/// # Errors
/// It cannot be made.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut making = fs::DirBuilder::new();
    making.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut making, 0o700);
    making.create(folder)
}

/// A file that is made so is its owner's alone.
fn own(options: &mut fs::OpenOptions) -> &mut fs::OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

impl Journal {
    /// A new journal that begins with `head`.
    pub fn create(folder: &Path, head: &str) -> io::Result<Journal> {
        let _lock = locked(folder)?;
        let id = std::process::id();
        for number in 1.. {
            let path = folder.join(format!("{id}-{number}.{ENDING}"));
            match own(File::options().create_new(true).read(true).append(true)).open(&path) {
                Ok(file) => {
                    file.lock()?;
                    let mut journal = Journal { path, file };
                    journal.add(head)?;
                    return Ok(journal);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("there are too many sessions"))
    }

    /// Adds a text at the end of the file.
    pub fn add(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())
    }

    fn remove(&self) {
        // If it cannot be removed, a session too many is offered.
        let _ = fs::remove_file(&self.path);
    }
}

impl outside::Journal for Journal {
    fn add(&mut self, text: &str) -> Result<(), String> {
        Journal::add(self, text).map_err(|error| error.to_string())
    }

    /// In the same folder.
    fn anew(&mut self, head: &str) -> Result<(), String> {
        let next = Journal::create(self.path.parent().unwrap_or(Path::new(".")), head);
        std::mem::replace(self, next.map_err(|error| error.to_string())?).remove();
        Ok(())
    }

    fn end(self: Box<Self>) {
        self.remove();
    }
}

/// Writes a session into a folder as it goes. Says so if that cannot be done.
pub(super) fn keep_in(stepper: &mut Stepper, folder: Option<PathBuf>) -> String {
    let Some(folder) = folder else { return String::new() };
    let journal = Journal::create(&folder, &stepper.head());
    keep(stepper, journal)
}

/// The same with a journal that is there.
pub(super) fn keep(stepper: &mut Stepper, journal: io::Result<Journal>) -> String {
    stepper
        .keep(journal.map(|journal| Box::new(journal) as Box<dyn outside::Journal>).map_err(|error| error.to_string()))
}

impl Left {
    /// Goes on writing it, after what is whole of it.
    pub fn go_on(self) -> io::Result<Journal> {
        let mut journal = self.journal;
        journal.file.set_len(journal::whole(&self.text) as u64)?;
        journal.file.seek(SeekFrom::End(0))?;
        Ok(journal)
    }

    /// Throws it away.
    pub fn throw_away(self) {
        self.journal.remove();
    }

    /// Keeps it aside, never to be offered again. Returns where it lies.
    pub fn put_aside(self) -> PathBuf {
        let aside = self.journal.path.with_extension(REFUSED);
        match fs::rename(&self.journal.path, &aside) {
            Ok(()) => aside,
            Err(_) => self.journal.path,
        }
    }
}

/// Journals that were left, the newest first. No other program is offered them as long as these are held.
pub fn left(folder: &Path) -> io::Result<Vec<Left>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let _lock = locked(folder)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            found.extend(unlocked(path)?);
        }
    }
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    Ok(found.into_iter().map(|(_, left)| left).collect())
}

/// The journal at `path`, if no program has it locked, and when it was last written.
fn unlocked(path: PathBuf) -> io::Result<Option<(std::time::SystemTime, Left)>> {
    let mut file = File::options().read(true).append(true).open(&path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let (mut bytes, written) = (Vec::new(), file.metadata()?.modified()?);
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some((written, Left { journal: Journal { path, file }, text })))
}
