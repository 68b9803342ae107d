//! Verbs that change a field or two: GET, and a PATCH of the difference.

use serde_json::{Value, json};

use super::wanted::{Wanted, selects, wanted};
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::{FILES, WRITE};
use crate::kubectl::Kubectl;
use crate::options::{Query, plain_options};
use crate::print::fields::flag;
use crate::usage::Usage;
use object::patch::{diff_merge, diff_strategic};
use object::status::Reason;
use object::{Kind, nesting, versions};
use rest::body;
use wire::{Patch, Subresource};

/// Objects, and what went wrong with others.
pub(super) type Found = (Vec<(Kind, Value)>, Vec<Failure>);

/// Mirrors `LocalResourceError`.
const NOTHING_LOCAL: &str = "you must specify resources by --filename when --local is set.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'";

impl Kubectl {
    /// The objects that a verb is to change, read.
    pub async fn objects(&self, verb: &str, words: &[String], args: &Args) -> Result<Vec<(Kind, Value)>, Failure> {
        let (objects, faults) = self.objects_there(verb, words, args).await?;
        Failure::all(faults).map(|()| objects)
    }

    /// The same as far as they can be read: most verbs go on with the others.
    pub(super) async fn objects_there(&self, verb: &str, words: &[String], args: &Args) -> Result<Found, Failure> {
        self.read_objects(verb, words, selects(args), args).await
    }

    /// The same, for a verb to which a kind without a name means all of the kind.
    pub(super) async fn objects_or_all(&self, verb: &str, words: &[String], args: &Args) -> Result<Found, Failure> {
        self.read_objects(verb, words, true, args).await
    }

    async fn read_objects(&self, verb: &str, words: &[String], all: bool, args: &Args) -> Result<Found, Failure> {
        if args.is_on("local") {
            // The cluster is not asked: what is changed is the manifest.
            if !args.gives_manifests() {
                return Err(Failure::text(NOTHING_LOCAL));
            }
            let all = self.some_manifests(verb, args).await?;
            let faults = all.faults.into_iter().map(Failure::from).collect();
            return Ok((all.known.into_iter().map(|m| (m.kind, m.object)).collect(), faults));
        }
        let (mut objects, mut faults) = (Vec::new(), Vec::new());
        for one in wanted(verb, words, all, args, self).await? {
            match one.read(self).await {
                Ok(object) => objects.push(object),
                Err(fault) => faults.push(fault),
            }
        }
        Ok((objects, faults))
    }

    /// Sends the difference between two versions of an object, if there is one. Returns what has become of it.
    pub async fn patch_difference(
        &self,
        kind: Kind,
        old: &Value,
        new: &Value,
        query: Query,
    ) -> Result<Option<Value>, Failure> {
        let patch = match versions::stored_as(kind) {
            Kind::Custom(_) => Patch::Merge(diff_merge(old, new)),
            kind => Patch::Strategic(diff_strategic(kind, old, new)),
        };
        if matches!(&patch, Patch::Merge(patch) | Patch::Strategic(patch) if *patch == json!({})) {
            return Ok(None);
        }
        self.patch(kind, old, patch, None, query).await.map(Some)
    }
}

/// The nodes that a command line names, or selects.
pub(super) async fn nodes(verb: &str, args: &Args, cx: &Kubectl) -> Result<Vec<Value>, Failure> {
    let wrong = match (args.words.is_empty(), args.has("selector")) {
        (true, false) => Some(format!("USAGE: {verb} NODE [flags]")),
        (false, true) => Some("error: cannot specify both a node name and a --selector option".to_owned()),
        _ => None,
    };
    if let Some(wrong) = wrong {
        return Err(Failure::usage(verb, wrong));
    }
    let words: Vec<String> = std::iter::once("node".to_owned()).chain(args.words.iter().cloned()).collect();
    let (found, faults) = cx.objects_there(verb, &words, args).await?;
    // One that is not there keeps all others as they are.
    match faults.into_iter().next() {
        Some(fault) => Err(fault),
        None => Ok(found.into_iter().map(|(_, node)| node).collect()),
    }
}

/// `kubectl cordon`.
pub const CORDON: Command = Command {
    usage: Usage {
        name: "cordon",
        words: "NODE",
        about: "Let no new Pods onto a node.",
        flags: &[&["selector", "dry-run"]],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Nodes),
    run: Run::There(|args, cx| Box::pin(cordon(args, cx, true))),
    ..Command::EMPTY
};

/// `kubectl patch`.
pub const PATCH: Command = Command {
    usage: Usage {
        name: "patch",
        words: "TYPE NAME -p PATCH | --patch-file=FILE",
        about: "Change fields of an object.",
        flags: &[FILES, WRITE, &["local", "patch", "patch-file", "type", "subresource"]],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Objects),
    run: Run::There(|args, cx| Box::pin(patch(args, cx))),
    ..Command::EMPTY
};

/// `kubectl uncordon`.
pub const UNCORDON: Command = Command {
    usage: Usage {
        name: "uncordon",
        words: "NODE",
        about: "Let Pods onto a node again.",
        flags: &[&["selector", "dry-run"]],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Nodes),
    run: Run::There(|args, cx| Box::pin(cordon(args, cx, false))),
    ..Command::EMPTY
};

/// `kubectl cordon`, `kubectl uncordon`.
async fn cordon(args: &Args, cx: &Kubectl, on: bool) -> Result<(), Failure> {
    for node in nodes(if on { "cordon" } else { "uncordon" }, args, cx).await? {
        cordon_one(&node, on, args, cx).await?;
    }
    Ok(())
}

/// Closes a node for new Pods, or opens it, unless it is so already.
pub(super) async fn cordon_one(node: &Value, on: bool, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let how = if on { "cordoned" } else { "uncordoned" };
    if flag(node, "spec.unschedulable") == on {
        return cx.tell(node, &format!("already {how}"), args);
    }
    let patch = json!({"spec": {"unschedulable": if on { json!(true) } else { Value::Null }}});
    cx.patch(Kind::Node, node, Patch::Strategic(patch), None, plain_options("", args)?).await?;
    cx.tell(node, how, args)
}

/// kubectl adds the name of the kind that has no strategic merge patch to the server's message.
fn not_supported(fault: Failure, kind: Kind) -> Failure {
    match &fault {
        Failure::Server { status, .. } if status.reason == Reason::UnsupportedMediaType => {
            let (info, why) = (kind.info(), &status.message);
            let (version, name) = (info.api_version, info.kind);
            const STRATEGIC: &str = "application/strategic-merge-patch+json";
            Failure::text(format!("{STRATEGIC} is not supported by {version}, Kind={name}: {why}"))
        }
        _ => fault,
    }
}

/// A part of each object that is to be changed: the answer to a patch of the scale is a Scale, and so it is compared with one.
async fn parts(part: Subresource, args: &Args, cx: &Kubectl) -> Result<Found, Failure> {
    let (mut parts, mut faults) = (Vec::new(), Vec::new());
    for one in wanted("patch", &args.words, selects(args), args, cx).await? {
        let read = match one {
            Wanted::Named(kind, namespace, name) => {
                cx.get_part(kind, &namespace, &name, part).await.map(|object| (kind, object))
            }
            other => other.read(cx).await,
        };
        match read {
            Ok(part) => parts.push(part),
            Err(fault) => faults.push(fault),
        }
    }
    Ok((parts, faults))
}

/// `kubectl patch -p`, or `--patch-file`.
async fn patch(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let text = match (args.value("patch"), args.value("patch-file")) {
        ("", "") => {
            return Err(Failure::text("must specify --patch or --patch-file containing the contents of the patch"));
        }
        (text, "") => text.to_owned(),
        ("", path) => cx.open_text(path).map_err(|why| Failure::text(format!("unable to read patch file: {why}")))?,
        _ => return Err(Failure::text("cannot specify --patch and --patch-file together")),
    };
    let media_type = match args.value("type") {
        "" | "strategic" => "application/strategic-merge-patch+json",
        "merge" => "application/merge-patch+json",
        "json" => "application/json-patch+json",
        other => return Err(Failure::text(format!("--type must be one of [json merge strategic], not {other:?}"))),
    };
    // What looks like JSON is sent as it is; the server says what is wrong with it.
    let text = if text.trim_start().starts_with('{') {
        text
    } else {
        let read = nesting::check(&text).and_then(|()| serde_yaml::from_str(&text).map_err(|why| why.to_string()));
        let value: Value = read.map_err(|why| Failure::text(format!("unable to parse {text:?}: {why}")))?;
        value.to_string()
    };
    let subresource = match args.value("subresource") {
        "" => None,
        "status" => Some(Subresource::Status),
        "scale" => Some(Subresource::Scale),
        "resize" => Some(Subresource::Resize),
        other => {
            return Err(Failure::text(format!(
                "invalid subresource value: {other:?}. Must be one of [status scale resize]"
            )));
        }
    };
    let (objects, mut failed) = match subresource.filter(|_| !args.is_on("local")) {
        None => cx.objects_there("patch", &args.words, args).await?,
        Some(part) => parts(part, args, cx).await?,
    };
    for (kind, object) in objects {
        let mut query = plain_options("kubectl-patch", args)?;
        let patch = body::patch(media_type, &text, &mut query.options)?;
        match cx.patch(kind, &object, patch, subresource, query).await {
            Err(fault) => failed.push(not_supported(fault, kind)),
            Ok(new) => {
                let how = if new == object { "patched (no change)" } else { "patched" };
                cx.tell(&new, how, args)?;
            }
        }
    }
    Failure::all(failed)
}
