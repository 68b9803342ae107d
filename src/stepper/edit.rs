//! `edit`: the object in an editor, which the face opens, and what was changed in it as a patch.
//!
//! As kubectl does it: what is invalid is opened again with the reason on top; what is unchanged or empty is given up; what
//! cannot be saved is kept in its file. What comes of it is a line that is typed in `edit`'s place, so that a journal has what
//! was meant, not that an editor ran. Whether it would be saved is tried in a copy of the cluster first, for the line is typed
//! only once.
//!
//! Mirrors `pkg/cmd/util/editor` of kubectl.
//!
//! Left out: files with several objects, `--subresource`, `-o json`, `--windows-line-endings`.

use serde_json::{Value, json};

use object::patch::{diff_merge, diff_strategic};
use object::{Kind, nesting};

use super::Stepper;

/// What stands above the object.
const HEAD: &str = "# Please edit the object below. Lines beginning with a '#' will be ignored,\n\
    # and an empty file will abort the edit. If an error occurs while saving this file will be\n\
    # reopened with the relevant failures.\n#\n";

/// What is said before the line that is typed instead.
pub const SENT: &str = "what was changed is sent as: ";

/// What was changed in an object that is being edited.
pub struct Edit {
    /// The words after `edit`.
    words: Vec<String>,
    before: Value,
    /// What the editor opens.
    pub text: String,
    /// Whether something was refused.
    refused: bool,
}

/// What comes of a text when its editor is left.
pub enum Edited {
    /// It is opened again, with the reason on top.
    Again(Edit),
    /// This line is typed instead of `edit`.
    Instead(String),
    /// It is given up: why.
    Left(String),
    /// It is given up, and the face keeps the text: what is said before the place is named, and after.
    Kept {
        /// Before it.
        before: Option<String>,
        /// After it.
        after: Option<String>,
    },
}

impl Edit {
    /// The object that `edit` with these words opens.
    ///
    /// # Errors
    /// Why nothing is to be done.
    pub fn begin(stepper: &mut Stepper, words: &[String]) -> Result<Edit, String> {
        if words.is_empty() {
            return Err("write for example: edit deployment web".to_owned());
        }
        let asked = [&["get".to_owned()][..], words, &["-o".to_owned(), "yaml".to_owned()]].concat();
        let shown = stepper.session.read(&asked);
        let before = object(&shown).map_err(|_| shown.trim_end().to_owned())?;
        Ok(Edit { words: words.to_vec(), before, text: format!("{HEAD}{shown}"), refused: false })
    }

    /// The editor was left with this text.
    pub fn left(self, stepper: &mut Stepper, after: &str) -> Edited {
        if without_comments(after) == without_comments(&self.text) {
            return match self.refused {
                true => kept(None, Some("Edit cancelled, no valid changes were saved.")),
                false => Edited::Left("Edit cancelled, no changes made.".to_owned()),
            };
        }
        if without_comments(after).trim().is_empty() {
            return Edited::Left("Edit cancelled, saved file was empty.".to_owned());
        }
        let reason = match object(after) {
            Ok(object) => {
                let change = match patch(&self.before, &object) {
                    Ok(Some(change)) => change,
                    Ok(None) => return Edited::Left(format!("{} skipped", named(&self.before))),
                    Err(why) => return kept(None, Some(&why)),
                };
                let typed = [&["patch".to_owned()][..], &self.words, &change.flags()].concat();
                match stepper.session.rehearse(&typed) {
                    Ok(_) => return Edited::Instead(format!("kubectl {}", shell_words::join(typed))),
                    Err(why) => match invalid(&self.before, &why) {
                        Some(reason) => reason,
                        None => return kept(Some(why.trim_end()), None),
                    },
                }
            }
            Err(why) => format!("# The edited file had a syntax error: {}\n", why.replace('\n', "\n# ")),
        };
        Edited::Again(Edit { text: format!("{HEAD}{reason}#\n{}", without_comments(after)), refused: true, ..self })
    }
}

fn kept(before: Option<&str>, after: Option<&str>) -> Edited {
    Edited::Kept { before: before.map(str::to_owned), after: after.map(str::to_owned) }
}

fn object(text: &str) -> Result<Value, String> {
    nesting::check(text)?;
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

/// A patch, and its type.
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
}
