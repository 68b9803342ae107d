//! `delete`: DELETE of each object, and then wait until each is gone.

use super::wanted::{Wanted, selects, wanted};
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::{CHOICE, FILES};
use crate::kubectl::Kubectl;
use crate::options::{dry_run_note, plain_options, timeout};
use crate::print::fields::{namespace_and_name, text};
use crate::print::names::qualified_singular;
use crate::usage::Usage;
use object::Kind;
use wire::{DeleteOptions, Propagation, WatchEvent};

/// What was deleted, to wait for.
struct Deleted {
    kind: Kind,
    namespace: String,
    name: String,
    uid: String,
}

/// `kubectl delete`.
pub const DELETE: Command = Command {
    usage: Usage {
        name: "delete",
        words: "TYPE NAME | -f FILE | -k DIR",
        about: "Delete objects, and wait until they are gone.",
        flags: &[
            FILES,
            CHOICE,
            &["cascade", "dry-run", "field-selector", "force", "grace-period", "ignore-not-found", "now", "output"],
            &["timeout", "wait", "raw", "interactive"],
        ],
        ..Usage::EMPTY
    },
    names_objects: true,
    raw: Some("DELETE"),
    takes: Takes::named(Named::Objects),
    run: Run::There(|args, cx| Box::pin(delete(args, cx))),
    ..Command::EMPTY
};

/// `kubectl delete`. Mirrors `k8s.io/kubectl/pkg/cmd/delete`.
async fn delete(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let options = delete_options(args, cx)?;
    let names_only = match args.value("output") {
        "" => false,
        "name" => true,
        mode => return Err(Failure::text(format!("unexpected -o output mode: {mode}. We only support '-o name'"))),
    };
    // A flag that makes no sense is said before any object is looked for.
    plain_options("", args)?;
    if args.is_on("force") {
        cx.complain(
            "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The \
             resource may continue to run on the cluster indefinitely.",
        );
    }
    let asked = if args.is_on("interactive") { Some(confirmed(args, cx).await?) } else { None };
    let (mut victims, faults) = match asked {
        Some(None) => return Ok(()),
        _ => victims(args, cx).await?,
    };
    // What has come since was not asked about.
    victims.retain(|victim| asked.as_ref().is_none_or(|shown| shown.iter().flatten().any(|one| one == victim)));
    if victims.is_empty() && faults.is_empty() {
        cx.line("No resources found");
    }
    let (mut deleted, mut failed) = (Vec::new(), Vec::new());
    if args.has("namespace") && victims.iter().any(|(kind, ..)| !kind.info().namespaced) {
        cx.complain("Warning: deleting cluster-scoped resources, not scoped to the provided namespace");
    }
    for (kind, namespace, name) in victims {
        let query = plain_options("", args)?;
        match cx.remove(kind, &namespace, &name, options.clone(), query).await {
            Ok(uid) => {
                match names_only {
                    true => cx.line(format!("{}/{name}", qualified_singular(kind))),
                    false => cx.line(said_of(kind, &namespace, &name, &options, args)),
                }
                deleted.push(Deleted { kind, namespace, name, uid });
            }
            Err(fault) if fault.is_not_found() && (args.is_on("ignore-not-found") || args.is_on("all")) => {}
            Err(fault) => {
                let from_file = args.gives_manifests();
                failed.push(if from_file { fault.while_doing("deleting", args.manifests()) } else { fault });
            }
        }
    }
    failed.extend(faults);
    // Where something went wrong, nothing is waited for either.
    Failure::all(failed)?;
    if args.value("wait") != "false" && dry_run_note(args).is_empty() {
        for gone in deleted {
            wait_until_gone(&gone, args, cx).await?;
        }
    }
    Ok(())
}

/// What `--interactive` asks about, if the answer is yes. The answer comes through a pipe, not by typing, or is missing, which is
/// a no. Mirrors `DeleteOptions.confirmation`.
async fn confirmed(args: &Args, cx: &Kubectl) -> Result<Option<Vec<Victim>>, Failure> {
    let (shown, faults) = victims(args, cx).await?;
    Failure::all(faults)?;
    if shown.is_empty() {
        cx.line("No resources found");
        return Ok(None);
    }
    cx.line(format!("You are about to delete the following {} resource(s):", shown.len()));
    for (kind, _, name) in &shown {
        cx.line(format!("{}/{name}", qualified_singular(*kind)));
    }
    cx.print("Do you want to continue? (y/N): ");
    if cx.stdin.lines().next().unwrap_or_default().trim().eq_ignore_ascii_case("y") {
        return Ok(Some(shown));
    }
    cx.line("deletion is cancelled");
    Ok(None)
}

/// Deletes one object, and says so. Returns its uid; none if it was not there.
pub(super) async fn delete_one(
    kind: Kind,
    namespace: &str,
    name: &str,
    args: &Args,
    cx: &Kubectl,
) -> Result<Option<String>, Failure> {
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    let uid = match cx.remove(kind, namespace, name, options.clone(), plain_options("", args)?).await {
        Err(fault) if fault.is_not_found() => return Ok(None),
        uid => uid?,
    };
    if !args.is_on("quiet") {
        cx.line(said_of(kind, namespace, name, &options, args));
    }
    Ok(Some(uid))
}

/// `pod "web" deleted from default namespace`. Mirrors `DeleteOptions.PrintObj`.
fn said_of(kind: Kind, namespace: &str, name: &str, options: &DeleteOptions, args: &Args) -> String {
    let how = if options.grace_period_seconds == Some(0) { "force deleted" } else { "deleted" };
    let place = if kind.info().namespaced { format!(" from {namespace} namespace") } else { String::new() };
    format!("{} \"{name}\" {how}{place}{}", qualified_singular(kind), dry_run_note(args))
}

/// Deletes one object, if it is there, and waits until it is gone.
pub(super) async fn delete_and_wait(
    kind: Kind,
    namespace: &str,
    name: &str,
    args: &Args,
    cx: &Kubectl,
) -> Result<(), Failure> {
    match delete_one(kind, namespace, name, args, cx).await? {
        Some(uid) if dry_run_note(args).is_empty() => {
            let gone = Deleted { kind, namespace: namespace.to_owned(), name: name.to_owned(), uid };
            wait_until_gone(&gone, args, cx).await
        }
        _ => Ok(()),
    }
}

fn delete_options(args: &Args, cx: &Kubectl) -> Result<DeleteOptions, Failure> {
    let propagation = propagation(args.value("cascade"), cx)?;
    let grace = args.number("grace-period")?.filter(|seconds| *seconds >= 0);
    if args.is_on("now") && grace.is_some() {
        return Err(Failure::text("--now and --grace-period cannot be specified together"));
    }
    let grace_period_seconds = match (grace, args.is_on("force"), args.is_on("now")) {
        (Some(seconds), true, _) if seconds > 0 => {
            return Err(Failure::text("--force and --grace-period greater than 0 cannot be specified together"));
        }
        (_, true, _) => Some(0),
        // Without --force, 0 becomes 1 second, so that no data is lost by accident.
        (Some(0), ..) | (None, _, true) => Some(1),
        (grace, ..) => grace,
    };
    Ok(DeleteOptions { grace_period_seconds, propagation: Some(propagation), ..DeleteOptions::default() })
}

/// What `--cascade` asks for. Mirrors `parseCascadingFlag`: once it was a boolean.
fn propagation(cascade: &str, cx: &Kubectl) -> Result<Propagation, Failure> {
    let deprecated = |name: &str| {
        let instead = format!("is deprecated (boolean value) and can be replaced with --cascade={name}.");
        cx.complain(format!("warning: --cascade={cascade} {instead}"));
    };
    match cascade {
        "" | "background" => Ok(Propagation::Background),
        "foreground" => Ok(Propagation::Foreground),
        "orphan" => Ok(Propagation::Orphan),
        "1" | "t" | "T" | "true" | "TRUE" | "True" => {
            deprecated("background");
            Ok(Propagation::Background)
        }
        "0" | "f" | "F" | "false" | "FALSE" | "False" => {
            deprecated("orphan");
            Ok(Propagation::Orphan)
        }
        other => {
            let why = "Must be \"background\", \"foreground\", or \"orphan\"";
            Err(Failure::text(format!("invalid cascade value ({other}). {why}")))
        }
    }
}

type Victim = (Kind, String, String);

async fn victims(args: &Args, cx: &Kubectl) -> Result<(Vec<Victim>, Vec<Failure>), Failure> {
    let (mut victims, mut failed) = (Vec::new(), Vec::new());
    for one in wanted("delete", &args.words, selects(args), args, cx).await? {
        match one {
            Wanted::Named(kind, namespace, name) => victims.push((kind, namespace, name)),
            Wanted::Listed(kind, object) => {
                let (namespace, name) = namespace_and_name(&object);
                victims.push((kind, namespace.to_owned(), name.to_owned()));
            }
            Wanted::Unlisted(fault) => failed.push(fault),
        }
    }
    Ok((victims, failed))
}

/// Mirrors `wait.IsDeleted`: GET, and if it is still there, LIST and WATCH until it is not.
async fn wait_until_gone(gone: &Deleted, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let current = match cx.get_once(gone.kind, &gone.namespace, &gone.name).await {
        Err(fault) if fault.is_not_found() => return Ok(()),
        result => result?,
    };
    if !gone.uid.is_empty() && text(&current, "metadata.uid") != gone.uid {
        return Ok(());
    }
    let limit = timeout(args, "timeout")?;
    let (listed, events) = cx.follow(gone.kind, &gone.namespace, &gone.name, limit).await?;
    if !listed.items.iter().any(|o| text(o, "metadata.uid") == text(&current, "metadata.uid")) {
        return Ok(());
    }
    loop {
        match events.next().await {
            Some(WatchEvent::Deleted(_)) => return Ok(()),
            Some(WatchEvent::Error(status)) => return Err(status.into()),
            Some(_) => {}
            None => {
                let what = format!("{}/{}", gone.kind.info().plural, gone.name);
                return Err(Failure::text(format!("timed out waiting for the condition on {what}")));
            }
        }
    }
}
