//! The user's editor, for `edit` at a terminal.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use stepper::Stepper;
use stepper::edit::{Edit, Edited};

/// The line to type instead of `edit` with these words, once the editor is left; or why nothing is to be done.
pub fn instead(stepper: &mut Stepper, words: &[String]) -> Result<String, String> {
    let mut edit = Edit::begin(stepper, words)?;
    let mut file = Scratch::new().map_err(|error| format!("no file can be made to edit: {error}"))?;
    loop {
        let after = file.edit(&edit.text)?;
        match edit.left(stepper, &after) {
            Edited::Again(again) => edit = again,
            Edited::Instead(line) => return Ok(line),
            Edited::Left(why) => return Err(why),
            Edited::Kept { before, after } => {
                let said: Vec<String> = [before, Some(file.keep()), after].into_iter().flatten().collect();
                return Err(said.join("\n"));
            }
        }
    }
}

/// A file that goes with the value, unless it is kept.
struct Scratch {
    path: PathBuf,
    kept: bool,
}

impl Scratch {
    fn new() -> io::Result<Scratch> {
        for number in 1.. {
            let path = std::env::temp_dir().join(format!("kubestep-edit-{}-{number}.yaml", std::process::id()));
            match File::create_new(&path) {
                Ok(_) => return Ok(Scratch { path, kept: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("there are too many"))
    }

    /// What an editor makes of a text.
    fn edit(&self, text: &str) -> Result<String, String> {
        let failed = |error: io::Error| format!("{} cannot be edited: {error}", self.path.display());
        fs::write(&self.path, text).map_err(failed)?;
        run_editor(&self.path)?;
        fs::read_to_string(&self.path).map_err(failed)
    }

    /// Leaves it where it is, and says where: the user's work is not lost.
    fn keep(&mut self) -> String {
        self.kept = true;
        format!("A copy of your changes has been stored to {:?}", self.path.display().to_string())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept {
            // If it cannot be removed, there is a file too many, and no harm done.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Opens the editor that the user has named, or vi, and waits for its end.
fn run_editor(path: &Path) -> Result<(), String> {
    let named = |variable: &str| std::env::var(variable).ok().filter(|editor| !editor.trim().is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    let editor = ["KUBE_EDITOR", "EDITOR"].into_iter().find_map(named).unwrap_or_else(|| usual.to_owned());
    let words = shell_words::split(&editor).map_err(|_| format!("{editor:?} has a quote that is not closed"))?;
    let [program, arguments @ ..] = words.as_slice() else { return Err("no editor is named".to_owned()) };
    // What is not written out now would stand in the middle of the editor's screen.
    let _ = io::stdout().flush();
    let status = Command::new(program).args(arguments).arg(path).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("there was a problem with the editor {editor:?}: {status}; nothing was changed")),
        Err(error) => Err(format!(
            "unable to launch the editor {editor:?}: {error}; set KUBE_EDITOR or EDITOR to another before kubestep \
             starts, or use patch"
        )),
    }
}
