//! `attach`: what the process of a container prints from now on.
//!
//! The kubelet says whether the container runs. What it prints is shown when it has ended, or when kubectl has stayed for as long
//! as `--pod-running-timeout` says: see [`attached`]. Mirrors `pkg/cmd/attach` of kubectl.
//!
//! With `-i` what is typed goes to the process, if it is a shell that waits for it: see [`crate::terminal`]. Left out:
//! `--detach-keys`.

use serde_json::Value;

use super::attached;
use super::exec::{container_of, not_in};
use super::pod_of::{Order, containers, pod_of};
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::nodes::Told;
use crate::print::fields::{flag, text};
use crate::usage::Usage;

/// `kubectl attach`.
pub const ATTACH: Command = Command {
    usage: Usage {
        name: "attach",
        words: "POD|TYPE/NAME",
        about: "Show what a container prints from now on, until it ends.",
        flags: &[&["container", "pod-running-timeout", "quiet", "stdin", "tty"]],
        left_out: &["detach-keys"],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Pods),
    run: Run::There(|args, cx| Box::pin(attach(args, cx))),
    ..Command::EMPTY
};

/// `kubectl attach`.
async fn attach(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let word = match args.words.as_slice() {
        [] => return Err(Failure::text("at least 1 argument is required for attach")),
        [word] => word.clone(),
        [kind, name] => format!("{kind}/{name}"),
        more => {
            let (count, all) = (more.len(), more.join(" "));
            return Err(Failure::text(format!(
                "expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw {count}: [{all}]"
            )));
        }
    };
    if args.has("pod-running-timeout") && attached::limit(args)?.is_zero() {
        return Err(Failure::text("--pod-running-timeout must be higher than zero"));
    }
    let (pod, _) = pod_of("attach", &word, Order::Exec, args, cx).await?;
    let phase = text(&pod, "status.phase");
    if object::pod::is_final(phase) {
        let why = format!("cannot attach a container in a completed pod; current phase is {phase}");
        return Err(Failure::text(why));
    }
    let container = meant(&pod, args, cx)?;
    let types = args.is_on("stdin");
    if types {
        cx.check_terminal()?;
    }
    if args.is_on("tty") && !flag(container, "tty") && !args.is_on("quiet") {
        let name = text(container, "name");
        cx.complain(format!("error: Unable to use a TTY - container {name} did not allocate one"));
    }
    attached::welcome(args, cx);
    match attached::open(&pod, container, types, cx).await? {
        (kubelet, Told::Shell(shell)) => attached::type_into(kubelet, shell, &pod, container, args, cx).await,
        _ => attached::follow(&pod, container, args, cx).await,
    }
}

/// The container that is meant. Mirrors `containerToAttachTo`.
fn meant<'a>(pod: &'a Value, args: &Args, cx: &Kubectl) -> Result<&'a Value, Failure> {
    let found = container_of(pod, args, cx)
        .and_then(|name| containers(pod).find(|there| text(there, "name") == name).ok_or_else(|| not_in(pod, &name)));
    found.map_err(|why| Failure::text(format!("cannot attach to the container: {}", why.message())))
}
