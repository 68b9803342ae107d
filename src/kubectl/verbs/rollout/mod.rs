//! `rollout`: the past and progress of workloads. Mirrors `k8s.io/kubectl/pkg/polymorphichelpers`.
//!
//! [`mod@deployment`] and [`sets`] know what each kind of workload keeps of its past; [`mod@history`] shows it.

use serde_json::{Value, json};

use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::feeds::Stream;
use crate::flags::{FILES, WRITE};
use crate::kubectl::Kubectl;
use crate::options::{plain_options, timeout};
use crate::print::fields::{at, flag, namespace_and_name, text};
use crate::usage::Usage;
use object::Kind;
use wire::Patch;
use wire::WatchEvent;

mod deployment;
pub(super) mod history;
mod sets;

use history::history;

const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// `kubectl rollout`.
pub const ROLLOUT: Command = Command {
    usage: Usage {
        name: "rollout",
        words: "history|pause|restart|resume|status|undo TYPE NAME",
        about: "Follow a change of a workload, pause it, or go back.",
        flags: &[FILES, WRITE, &["selector", "revision", "to-revision", "timeout", "watch"]],
        ..Usage::EMPTY
    },
    takes: Takes::first(&["history", "pause", "restart", "resume", "status", "undo"], Named::Objects),
    run: Run::There(|args, cx| Box::pin(rollout(args, cx))),
    ..Command::EMPTY
};

/// `kubectl rollout VERB deployment/NAME`.
async fn rollout(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let Some((verb, words)) = args.words.split_first() else {
        return Err(Failure::text("expected 'rollout status|history|undo|restart|pause|resume TYPE/NAME'"));
    };
    if !matches!(verb.as_str(), "status" | "history" | "undo" | "restart" | "pause" | "resume") {
        return Err(Failure::usage("rollout", format!("unknown command {verb:?}")));
    }
    if words.is_empty() && !args.gives_manifests() {
        return Err(Failure::text("required resource not specified"));
    }
    let (objects, mut failed) = cx.objects_or_all(&format!("rollout {verb}"), words, args).await?;
    if objects.is_empty() && failed.is_empty() && !matches!(verb.as_str(), "history" | "undo") {
        cx.complain(format!("No resources found in {} namespace.", cx.namespace(args)));
    }
    for (kind, object) in objects {
        if let Err(fault) = rollout_one(verb, kind, &object, args, cx).await {
            failed.push(fault);
        }
    }
    Failure::all(failed)
}

async fn rollout_one(verb: &str, kind: Kind, object: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if let Some(why) = unsupported(verb, kind, text(object, "metadata.name")) {
        return Err(Failure::text(why));
    }
    match verb {
        "status" => status(kind, object, args, cx).await,
        "history" => history(kind, object, args, cx).await,
        "undo" if kind == Kind::Deployment => deployment::undo(object, args, cx).await,
        "undo" => sets::undo(kind, object, args, cx).await,
        "restart" => restart(kind, object, args, cx).await,
        "pause" => pause(object, true, args, cx).await,
        _ => pause(object, false, args, cx).await,
    }
}

/// What is said of a kind that does not know the verb.
fn unsupported(verb: &str, kind: Kind, name: &str) -> Option<String> {
    let doing = match verb {
        "pause" => "pausing",
        "resume" => "resuming",
        _ => "restarting",
    };
    let pauses = matches!(verb, "pause" | "resume");
    if kind == Kind::Deployment || !pauses && matches!(kind, Kind::DaemonSet | Kind::StatefulSet) {
        return None;
    }
    let (plural, full) = (kind.info().qualified_plural(), kind.info().qualified_kind());
    // kubectl knows the kinds that run Pods and have no history; for other kinds it has no visitor.
    let runs = matches!(kind, Kind::Pod | Kind::ReplicaSet | Kind::ReplicationController | Kind::Job | Kind::CronJob);
    let no_visitor = || format!("no visitor method exists for {{{} {}}}", kind.info().group, kind.info().kind);
    Some(match verb {
        "status" => format!("no status viewer has been implemented for {full}"),
        "history" if runs => format!("no history viewer has been implemented for {full:?}"),
        "history" => format!("error retrieving history for {full:?}, {}", no_visitor()),
        "undo" if runs => format!("no rollbacker has been implemented for {full:?}"),
        "undo" => format!("error retrieving rollbacker for {full:?}, {}", no_visitor()),
        _ => format!("error: {plural} {name:?} {doing} is not supported"),
    })
}

async fn status(kind: Kind, object: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (namespace, name) = namespace_and_name(object);
    let limit = timeout(args, "timeout")?;
    let (listed, events) = cx.follow(kind, namespace, name, limit).await?;
    let Some(first) = listed.items.first() else {
        return Err(object::Status::not_found(kind, name).into());
    };
    let progress_of = match kind {
        Kind::DaemonSet => sets::daemon_set_progress,
        Kind::StatefulSet => sets::stateful_set_progress,
        _ => deployment::progress_of,
    };
    let revision = args.number("revision")?.unwrap_or(0);
    if revision < 0 {
        return Err(Failure::text(format!("revision must be a positive integer: {revision}")));
    }
    let wanted = move |object: &Value| deployment::runs(kind, object, revision).and_then(|()| progress_of(object));
    let mut progress = wanted(first);
    loop {
        let (line, done) = progress.map_err(Failure::text)?;
        cx.line(line);
        if done || args.value("watch") == "false" {
            return Ok(());
        }
        progress = wanted(&next_state(&events).await?);
    }
}

/// The object after its next change.
async fn next_state(events: &Stream) -> Result<Value, Failure> {
    loop {
        match events.next().await {
            Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => return Ok(object.printed()),
            Some(WatchEvent::Deleted(_)) => return Err(Failure::text("object has been deleted")),
            Some(WatchEvent::Error(status)) => return Err(status.into()),
            Some(WatchEvent::Bookmark { .. }) => {}
            None => return Err(Failure::text("timed out waiting for the condition")),
        }
    }
}

async fn restart(kind: Kind, object: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let [what, name] = [kind.info().qualified_plural(), text(object, "metadata.name").to_owned()];
    if flag(object, "spec.paused") {
        let why = "can't restart paused deployment (run rollout resume first)";
        return Err(Failure::text(format!("error: {what} {name:?} {why}")));
    }
    let now = cx.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if at(object, "spec.template.metadata.annotations").get(RESTARTED_AT).is_some_and(|before| *before == now) {
        const TOO_SOON: &str = "if restart has already been triggered within the past second, please wait before \
                                attempting to trigger another";
        return Err(Failure::text(format!("failed to create patch for {name}: {TOO_SOON}")));
    }
    let patch = json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: now}}}}});
    let new = cx.patch(kind, object, Patch::Strategic(patch), None, plain_options("kubectl-rollout", args)?).await;
    cx.tell_struct(&new.map_err(|fault| not_patched(&fault))?, "restarted", args)
}

fn not_patched(fault: &Failure) -> Failure {
    Failure::text(format!("failed to patch: {}", fault.message()))
}

async fn pause(deployment: &Value, on: bool, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let name = text(deployment, "metadata.name");
    if flag(deployment, "spec.paused") == on {
        let why = if on { "is already paused" } else { "is not paused" };
        return Err(Failure::text(format!("error: deployments.apps \"{name}\" {why}")));
    }
    let patch = json!({"spec": {"paused": if on { json!(true) } else { Value::Null }}});
    let options = plain_options("kubectl-rollout", args)?;
    let new = cx.patch(Kind::Deployment, deployment, Patch::Strategic(patch), None, options).await;
    cx.tell_struct(&new.map_err(|fault| not_patched(&fault))?, if on { "paused" } else { "resumed" }, args)
}
