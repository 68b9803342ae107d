//! `label` and `annotate`: GET, and a PATCH of the difference. Mirrors `k8s.io/kubectl/pkg/cmd/label` and `…/annotate`.

use serde_json::{Map, Value, json};

use super::rollout::history::CHANGE_CAUSE;
use super::wanted::selects;
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::{CHOICE, FILES, WRITE};
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use crate::print::fields::{map, text};
use crate::usage::Usage;
use object::Kind;
use object::patch::diff_merge;
use object::selector::names::check_label_value;
use wire::Patch;

/// What is set on objects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    /// `kubectl label`.
    Labels,
    /// `kubectl annotate`.
    Annotations,
}

/// `key=value` sets, `key-` removes.
struct Changes {
    set: Vec<(String, String)>,
    remove: Vec<String>,
}

/// `kubectl annotate`.
pub const ANNOTATE: Command = Command {
    usage: Usage {
        name: "annotate",
        words: "TYPE NAME KEY=VALUE|KEY- …",
        about: "Set or remove annotations.",
        flags: &[FILES, CHOICE, WRITE, &["field-selector", "list", "local", "overwrite", "resource-version"]],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Objects),
    run: Run::There(|args, cx| Box::pin(label(args, cx, Marks::Annotations))),
    ..Command::EMPTY
};

/// `kubectl label`.
pub const LABEL: Command = Command {
    usage: Usage {
        name: "label",
        words: "TYPE NAME KEY=VALUE|KEY- …",
        about: "Set or remove labels.",
        flags: &[FILES, CHOICE, WRITE, &["field-selector", "list", "local", "overwrite", "resource-version"]],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Objects),
    run: Run::There(|args, cx| Box::pin(label(args, cx, Marks::Labels))),
    ..Command::EMPTY
};

/// `kubectl label`, `kubectl annotate`.
async fn label(args: &Args, cx: &Kubectl, marks: Marks) -> Result<(), Failure> {
    let (verb, word) = marks.names();
    let is_change =
        |word: &String| word.contains('=') && !word.starts_with('=') || (word.ends_with('-') && word.len() > 1);
    let first = args.words.iter().position(is_change).unwrap_or(args.words.len());
    let (words, changes) = args.words.split_at(first);
    if let Some(stray) = changes.iter().find(|word| !is_change(word)) {
        let why = format!("all resources must be specified before {word} changes: {stray}");
        return Err(Failure::text(why));
    }
    if args.is_on("all") && (args.has("selector") || args.has("field-selector")) {
        let other = if args.has("selector") { "selector" } else { "field-selector" };
        return Err(Failure::text(format!("cannot set --all and --{other} at the same time")));
    }
    if words.is_empty() && !args.gives_manifests() && !args.is_on("local") {
        return Err(Failure::text("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
    }
    if args.is_on("list") && args.has("output") {
        return Err(Failure::text("--list and --output may not be specified together"));
    }
    let changes = marks.parse(changes)?;
    if changes.set.is_empty() && changes.remove.is_empty() && !args.is_on("list") {
        return Err(Failure::text(format!("at least one {word} update is required")));
    }
    let (objects, mut failed) = cx.objects_there(verb, words, args).await?;
    let single = objects.len() + failed.len() == 1 && !selects(args);
    if args.has("resource-version") && !single {
        return Err(Failure::text("--resource-version may only be used with a single resource"));
    }
    for (kind, object) in objects {
        let overwritten = if args.is_on("overwrite") { Vec::new() } else { marks.overwritten(&object, &changes) };
        if !overwritten.is_empty() {
            failed.extend(overwritten);
        } else if args.is_on("list") {
            marks.list(kind, &marks.changed(&object, &changes), single, cx);
        } else if let Err(fault) = marks.send(kind, &object, &changes, args, cx).await {
            failed.push(fault);
        }
    }
    Failure::all(failed)
}

impl Marks {
    /// The verb, and what one of them is called.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Marks::Labels => ("label", "label"),
            Marks::Annotations => ("annotate", "annotation"),
        }
    }

    fn field(self) -> &'static str {
        match self {
            Marks::Labels => "metadata.labels",
            Marks::Annotations => "metadata.annotations",
        }
    }

    /// Mirrors `parseLabels` and `parseAnnotations`.
    fn parse(self, words: &[String]) -> Result<Changes, Failure> {
        let mut changes = Changes { set: Vec::new(), remove: Vec::new() };
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                changes.remove.push(word.strip_suffix('-').unwrap_or(word).to_owned());
                continue;
            };
            if self == Marks::Labels && value.contains('=') {
                return Err(Failure::text(format!("invalid label spec: {word}")));
            }
            let problems = if self == Marks::Labels { check_label_value(value) } else { Vec::new() };
            if !problems.is_empty() {
                return Err(Failure::text(format!("invalid label value: {word:?}: {}", problems.join(";"))));
            }
            changes.set.push((key.to_owned(), value.to_owned()));
        }
        let both = |key: &&String| changes.set.iter().any(|(set, _)| set == *key);
        let both: Vec<&str> = changes.remove.iter().filter(both).map(String::as_str).collect();
        match self {
            _ if both.is_empty() => Ok(changes),
            Marks::Labels => Err(Failure::text("can not both modify and remove a label in the same command")),
            Marks::Annotations => {
                const WHY: &str = "can not both modify and remove the following annotation(s) in the same command";
                Err(Failure::text(format!("{WHY}: {}", both.join(", "))))
            }
        }
    }

    /// What speaks against the changes unless values may be overwritten.
    fn overwritten(self, object: &Value, changes: &Changes) -> Vec<Failure> {
        let mut found = Vec::new();
        for (key, value) in &changes.set {
            let old = map(object, self.field()).find(|(there, old)| *there == key && *old != value);
            // Why something was changed may always be said anew.
            let Some((_, old)) = old.filter(|_| self == Marks::Labels || key != CHANGE_CAUSE) else { continue };
            found.push(format!("'{key}' already has a value ({})", old.as_str().unwrap_or_default()));
        }
        match self {
            _ if found.is_empty() => Vec::new(),
            Marks::Labels => {
                found.iter().map(|what| Failure::text(format!("{what}, and --overwrite is false"))).collect()
            }
            Marks::Annotations => {
                const WHY: &str = "--overwrite is false but found the following declared annotation(s)";
                vec![Failure::text(format!("{WHY}: {}", found.join("; ")))]
            }
        }
    }

    /// The object after the changes.
    fn changed(self, object: &Value, changes: &Changes) -> Value {
        let mut values: Map<String, Value> =
            map(object, self.field()).map(|(key, value)| (key.clone(), value.clone())).collect();
        values.retain(|key, _| !changes.remove.contains(key));
        values.extend(changes.set.iter().map(|(key, value)| (key.clone(), json!(value))));
        let mut new = object.clone();
        let field = self.field().trim_start_matches("metadata.");
        if let Some(meta) = new.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.remove(field);
            if !values.is_empty() {
                meta.insert(field.to_owned(), Value::Object(values));
            }
        }
        new
    }

    /// What is said of labels that have changed: some came, some went, or both.
    fn done(self, object: &Value, changes: &Changes) -> &'static str {
        let has = |key: &str| map(object, self.field()).find(|(there, _)| *there == key).map(|(_, value)| value);
        let added = changes.set.iter().any(|(key, value)| has(key).is_none_or(|there| *there != *value));
        let removed = changes.remove.iter().any(|key| has(key).is_some());
        match (added, removed) {
            (true, true) => "modified",
            (false, _) => "unlabeled",
            _ => "labeled",
        }
    }

    /// Labels are sent only if they change; annotations always.
    async fn send(
        self,
        kind: Kind,
        object: &Value,
        changes: &Changes,
        args: &Args,
        cx: &Kubectl,
    ) -> Result<(), Failure> {
        let new = self.changed(object, changes);
        if self == Marks::Labels {
            let missing = |key: &&String| !map(object, self.field()).any(|(there, _)| there == *key);
            changes.remove.iter().filter(missing).for_each(|key| cx.line(format!("label \"{key}\" not found.")));
        }
        let mut patch = diff_merge(object, &new);
        let changes_nothing = patch == json!({});
        if args.has("resource-version") {
            patch["metadata"]["resourceVersion"] = json!(args.value("resource-version"));
        }
        let (manager, how) = match self {
            Marks::Annotations => ("kubectl-annotate", "annotated"),
            Marks::Labels if changes_nothing => return cx.tell(&new, "not labeled", args),
            Marks::Labels => ("kubectl-label", self.done(object, changes)),
        };
        let sent = cx.patch(kind, object, Patch::Merge(patch), None, plain_options(manager, args)?).await?;
        cx.tell(&sent, how, args)
    }

    /// `--list`: what there is, and would be.
    fn list(self, kind: Kind, object: &Value, single: bool, cx: &Kubectl) {
        if !single {
            let (info, name) = (kind.info(), text(object, "metadata.name"));
            let what = self.field().trim_start_matches("metadata.");
            cx.line(format!("Listing {what} for {}.{}/{name}:", info.kind, info.group));
        }
        let indent = if single { "" } else { " " };
        for (key, value) in map(object, self.field()) {
            cx.line(format!("{indent}{key}={}", value.as_str().unwrap_or_default()));
        }
    }
}
