//! `edit` at a terminal: the object in the user's editor, and what was changed in it as a patch.
//!
//! As kubectl does it: what is invalid is opened again with the reason on top; what is unchanged or empty is given up; what
//! cannot be saved is kept in its file. What comes of it is a line that is typed in `edit`'s place, so that a journal has what
//! was meant, not that an editor ran. Whether it would be saved is tried in a copy of the cluster first, for the line is typed
//! only once.
//!
//! Mirrors `pkg/cmd/util/editor` of kubectl.
//!
//! Left out: files with several objects, `--subresource`, `-o json`, `--windows-line-endings`.

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
const HEAD: &str = "# Please edit the object below. Lines beginning with a '#' will be ignored,\n\
    # and an empty file will abort the edit. If an error occurs while saving this file will be\n\
    # reopened with the relevant failures.\n#\n";

/// What is said before the line that is typed instead.
pub const SENT: &str = "what was changed is sent as: ";

/// The words after `edit`, if the line edits.
pub fn asks(line: &str) -> Option<Vec<String>> {
    match Line::read(line).ok()?.words() {
        [edit, words @ ..] if edit == "edit" => Some(words.to_vec()),
        [kubectl, edit, words @ ..] if (kubectl == "kubectl" || kubectl == "k") && edit == "edit" => {
            Some(words.to_vec())
        }
        _ => None,
    }
}

/// The line to type instead of `edit` with these words, once the editor is left; or why nothing is to be done.
pub fn instead(stepper: &mut Stepper, words: &[String]) -> Result<String, String> {
    if words.is_empty() {
        return Err("write for example: edit deployment web".to_owned());
    }
    let asked = [&["get".to_owned()][..], words, &["-o".to_owned(), "yaml".to_owned()]].concat();
    let shown = stepper.session.read(&asked);
    let before = object(&shown).map_err(|_| shown.trim_end().to_owned())?;
    let mut file = Scratch::new().map_err(|error| format!("no file can be made to edit: {error}"))?;
    let mut text = format!("{HEAD}{shown}");
    let mut refused = false;
    loop {
        let after = file.edit(&text)?;
        if without_comments(&after) == without_comments(&text) {
            return Err(match refused {
                true => format!("{}\nEdit cancelled, no valid changes were saved.", file.keep()),
                false => "Edit cancelled, no changes made.".to_owned(),
            });
        }
        if without_comments(&after).trim().is_empty() {
            return Err("Edit cancelled, saved file was empty.".to_owned());
        }
        let reason = match object(&after) {
            Ok(after) => {
                let change = patch(&before, &after).map_err(|why| format!("{}\n{why}", file.keep()))?;
                let Some(change) = change else { return Err(format!("{} skipped", named(&before))) };
                let typed = [&["patch".to_owned()][..], words, &change.flags()].concat();
                match stepper.session.rehearse(&typed) {
                    Ok(_) => return Ok(format!("kubectl {}", shell_words::join(typed))),
                    Err(why) => invalid(&before, &why).ok_or_else(|| format!("{}\n{}", why.trim_end(), file.keep()))?,
                }
            }
            Err(why) => format!("# The edited file had a syntax error: {}\n", why.replace('\n', "\n# ")),
        };
        refused = true;
        text = format!("{HEAD}{reason}#\n{}", without_comments(&after));
    }
}

fn object(text: &str) -> Result<Value, String> {
    let value: Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    if value.get("kind").is_some_and(|kind| kind != "List") {
        Ok(value)
    } else {
        Err("this is not an object".to_owned())
    }
}

/// `deployment.apps/web`, as kubectl names what it has done something about.
fn named(object: &Value) -> String {
    let text = |field: &str| object.pointer(field).and_then(Value::as_str).unwrap_or_default();
    let group = text("/apiVersion").split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
    format!("{}{group}/{}", text("/kind").to_lowercase(), text("/metadata/name"))
}

/// What kubectl says of an object that is not valid, as the comment that is shown with it; none if it says something else,
/// about which no editor can do anything.
fn invalid(object: &Value, said: &str) -> Option<String> {
    let (_, causes) = said.split_once(" is invalid: ")?;
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let kind = Kind::from_manifest(text("apiVersion"), text("kind"));
    let resource = kind.map_or_else(|| text("kind").to_lowercase(), |kind| kind.info().qualified_plural());
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let causes = causes.lines().map(|line| line.trim_start_matches("* ")).filter(|line| !line.is_empty());
    let causes: String = causes.map(|cause| format!("# * {cause}\n")).collect();
    Some(format!("# {resource} {name:?} was not valid:\n{causes}"))
}

/// The type of patch that `patch` sends unless told otherwise.
const STRATEGIC: &str = "strategic";

/// A patch, and of which type.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    type_: &'static str,
    patch: String,
}

impl Change {
    /// As `kubectl patch` takes it.
    fn flags(self) -> Vec<String> {
        let flags = ["--type".to_owned(), self.type_.to_owned(), "-p".to_owned(), self.patch];
        if self.type_ == STRATEGIC { flags[2..].to_vec() } else { flags.to_vec() }
    }
}

/// What changes the one into the other; none if nothing does. A kind that users define has no type, and so no tags to merge
/// lists by.
fn patch(before: &Value, after: &Value) -> Result<Option<Change>, String> {
    for field in ["/apiVersion", "/kind", "/metadata/name"] {
        if before.pointer(field) != after.pointer(field) {
            return Err("error: At least one of apiVersion, kind and name was changed".to_owned());
        }
    }
    let text = |field: &str| before[field].as_str().unwrap_or_default();
    let (type_, patch) = match Kind::from_manifest(text("apiVersion"), text("kind")) {
        Some(kind) => (STRATEGIC, diff_strategic(kind, before, after)),
        None => ("merge", diff_merge(before, after)),
    };
    Ok((patch != json!({})).then(|| Change { type_, patch: patch.to_string() }))
}

fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
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

    /// Leaves it where it is, and says where: nobody's work is lost.
    fn keep(&mut self) -> String {
        self.kept = true;
        format!("A copy of your changes has been stored to {:?}", self.path.display().to_string())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept {
            // Whoever cannot remove it leaves a file too many.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_becomes_a_patch() {
        let change = |type_: &'static str, patch: &str| Ok(Some(Change { type_, patch: patch.to_owned() }));
        let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3, paused: true}\n";
        let before = object(text).unwrap();
        let renamed = Err("error: At least one of apiVersion, kind and name was changed".to_owned());
        for (after, made) in [
            (
                "# no\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3, paused: true}\n",
                Ok(None),
            ),
            (
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5}\n",
                change(STRATEGIC, "{\"spec\":{\"paused\":null,\"replicas\":5}}"),
            ),
            ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\n", renamed.clone()),
            ("kind: Deployment\nmetadata: {name: web}\n", renamed),
        ] {
            assert_eq!(patch(&before, &object(after).unwrap()), made, "{after}");
        }
        assert_eq!(object("web"), Err("this is not an object".to_owned()));
        assert!(object("a: [").is_err());
        let before =
            object("apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}\nspec: {size: 1}\n").unwrap();
        let after = object("apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}\nspec: {size: 2}\n").unwrap();
        assert_eq!(patch(&before, &after), change("merge", "{\"spec\":{\"size\":2}}"));
        assert_eq!(named(&before), "gadget.example.com/a");
    }

    #[test]
    fn what_is_not_valid_stands_above_the_object() {
        let web = object("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n").unwrap();
        for (said, shown) in [
            (
                "The Deployment \"web\" is invalid: spec.replicas: Invalid value: -1: must be\n",
                Some("# deployments.apps \"web\" was not valid:\n# * spec.replicas: Invalid value: -1: must be\n"),
            ),
            (
                "The Deployment \"web\" is invalid: \n* a: Required value\n* b: Forbidden\n",
                Some("# deployments.apps \"web\" was not valid:\n# * a: Required value\n# * b: Forbidden\n"),
            ),
            ("Error from server (Forbidden): no\n", None),
        ] {
            assert_eq!(invalid(&web, said).as_deref(), shown, "{said}");
        }
    }

    #[test]
    fn lines_that_edit() {
        for (line, words) in [
            ("edit deployment web", Some(vec!["deployment", "web"])),
            ("kubectl edit deploy/web -n a", Some(vec!["deploy/web", "-n", "a"])),
            ("k edit", Some(vec![])),
            ("kubectl get edit", None),
            ("editor", None),
        ] {
            let words = words.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(asks(line), words, "{line}");
        }
    }
}
