//! `edit` at a terminal: the object in the user's editor, and what was changed in it as a patch.
//!
//! As kubectl does it: what is invalid is opened again with the reason on top; what is unchanged or empty is given up. What
//! comes of it is a line that is typed in `edit`'s place, so that a journal has what was meant, not that an editor ran.
//!
//! Left out: files with several objects, and the copy that a real kubectl keeps of what was refused.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Stepper;
use super::commands::Line;
use crate::object::Kind;
use crate::object::patch::{diff_merge, diff_strategic};

/// What stands above the object.
const HEAD: &str = "# Change the object below, save it and leave the editor. Lines that begin with # do not count.\n\
    # An empty file gives it up. What is wrong is shown here again, with the reason.\n#\n";

/// The line to type instead of one that edits, once the editor is left; or why nothing is to be done. None: the line does
/// not edit.
pub fn instead(stepper: &mut Stepper, line: &str) -> Option<Result<String, String>> {
    let line = Line::read(line).ok()?;
    let words = match line.words() {
        [edit, words @ ..] if edit == "edit" => words,
        [kubectl, edit, words @ ..] if (kubectl == "kubectl" || kubectl == "k") && edit == "edit" => words,
        _ => return None,
    };
    Some(edited(stepper, words))
}

fn edited(stepper: &mut Stepper, words: &[String]) -> Result<String, String> {
    if words.is_empty() {
        return Err("write for example: edit deployment web".to_owned());
    }
    let asked = [&["get".to_owned()][..], words, &["-o".to_owned(), "yaml".to_owned()]].concat();
    let shown = stepper.session.read(&asked);
    let before = object(&shown).map_err(|_| shown.trim_end().to_owned())?;
    let file = Scratch::new().map_err(|error| format!("no file can be made to edit: {error}"))?;
    let mut text = format!("{HEAD}{shown}");
    let mut refused = false;
    loop {
        let after = file.edit(&text)?;
        if without_comments(&after).trim().is_empty() {
            return Err("Edit cancelled, saved file was empty.".to_owned());
        }
        if without_comments(&after) == without_comments(&text) {
            let why = if refused { "no valid changes were saved." } else { "no changes made." };
            return Err(format!("Edit cancelled, {why}"));
        }
        let why = match patch(&before, &after) {
            Ok(None) => return Err("Edit cancelled, no changes made.".to_owned()),
            Ok(Some(Change { type_, patch })) => {
                let patch = ["--type".to_owned(), type_.to_owned(), "-p".to_owned(), patch];
                let patch = if type_ == STRATEGIC { &patch[2..] } else { &patch[..] };
                let typed = [&["patch".to_owned()][..], words, patch].concat();
                match stepper.session.rehearse(&typed) {
                    Ok(_) => return Ok(format!("kubectl {}", shell_words::join(typed))),
                    Err(why) => why,
                }
            }
            Err(why) => why,
        };
        refused = true;
        let reason: String = why.trim_end().lines().map(|line| format!("# {line}\n")).collect();
        text = format!("{HEAD}{reason}#\n{}", without_comments(&after));
    }
}

fn object(text: &str) -> Result<Value, String> {
    let value: Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    if value.get("kind").is_some_and(|kind| kind != "List") { Ok(value) } else { Err("this is no object".to_owned()) }
}

/// The type of patch that `patch` sends unless told otherwise.
const STRATEGIC: &str = "strategic";

/// A patch, and of which type.
#[derive(Debug, PartialEq)]
struct Change {
    type_: &'static str,
    patch: String,
}

/// What changes the one into the other; none if nothing does. A kind that users define has no type, and so no tags to merge
/// lists by.
fn patch(before: &Value, after: &str) -> Result<Option<Change>, String> {
    let after = object(after)?;
    for field in ["/kind", "/metadata/name", "/metadata/namespace"] {
        if before.pointer(field) != after.pointer(field) {
            return Err(format!("{} cannot be changed", field[1..].replace('/', ".")));
        }
    }
    let text = |field: &str| before[field].as_str().unwrap_or_default();
    let (type_, patch) = match Kind::from_manifest(text("apiVersion"), text("kind")) {
        Some(kind) => (STRATEGIC, diff_strategic(kind, before, &after)),
        None => ("merge", diff_merge(before, &after)),
    };
    Ok((patch != json!({})).then(|| Change { type_, patch: patch.to_string() }))
}

fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

/// A file that goes with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Scratch> {
        for number in 1.. {
            let path = std::env::temp_dir().join(format!("kubestep-edit-{}-{number}.yaml", std::process::id()));
            match File::create_new(&path) {
                Ok(_) => return Ok(Scratch(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("there are too many"))
    }

    /// What an editor makes of a text.
    fn edit(&self, text: &str) -> Result<String, String> {
        let failed = |error: io::Error| format!("{} cannot be edited: {error}", self.0.display());
        fs::write(&self.0, text).map_err(failed)?;
        run_editor(&self.0)?;
        fs::read_to_string(&self.0).map_err(failed)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whoever cannot remove it leaves a file too many.
        let _ = fs::remove_file(&self.0);
    }
}

/// Opens the editor that the user has named, or vi, and waits for its end.
fn run_editor(path: &Path) -> Result<(), String> {
    let named = |variable: &str| std::env::var(variable).ok().filter(|editor| !editor.trim().is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    let editor = ["KUBE_EDITOR", "VISUAL", "EDITOR"].into_iter().find_map(named).unwrap_or_else(|| usual.to_owned());
    let words = shell_words::split(&editor).map_err(|_| format!("{editor:?} has a quote that is not closed"))?;
    let [program, arguments @ ..] = words.as_slice() else { return Err("no editor is named".to_owned()) };
    // What is not written out now would stand in the middle of the editor's screen.
    let _ = io::stdout().flush();
    let status = Command::new(program).args(arguments).arg(path).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{editor} failed ({status}); nothing was changed")),
        Err(error) => Err(format!("{editor} cannot be started: {error}; EDITOR names another")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_becomes_a_patch() {
        let change = |type_: &'static str, patch: &str| Ok(Some(Change { type_, patch: patch.to_owned() }));
        let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3, paused: true}\n";
        let before = object(text).unwrap();
        for (after, made) in [
            (
                "# no\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3, paused: true}\n",
                Ok(None),
            ),
            (
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5}\n",
                change(STRATEGIC, "{\"spec\":{\"paused\":null,\"replicas\":5}}"),
            ),
            ("kind: Deployment\nmetadata: {name: other}\n", Err("metadata.name cannot be changed".to_owned())),
            ("web", Err("this is no object".to_owned())),
        ] {
            assert_eq!(patch(&before, after), made, "{after}");
        }
        assert!(patch(&before, "a: [").is_err());
        let before =
            object("apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}\nspec: {size: 1}\n").unwrap();
        let after = "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}\nspec: {size: 2}\n";
        assert_eq!(patch(&before, after), change("merge", "{\"spec\":{\"size\":2}}"));
    }
}
