//! `attach`: what the process of a container prints from now on.
//!
//! The kubelet says whether the container runs. What it prints is shown when it has ended, or when kubectl has stayed for as long
//! as `--pod-running-timeout` says: see [`attached`]. Mirrors `pkg/cmd/attach` of kubectl.
//!
//! With `-i` what is typed goes to the process, if it is a shell that waits for it: see [`super::super::terminal`]. Left out:
//! `--detach-keys`.

use serde_json::Value;

use super::attached;
use super::connect::{ask, connect};
use super::exec::{container_of, not_in};
use super::pod_of::{Order, containers, pod_of};
use crate::apiserver::request::{Body, Subresource};
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::Failure;
use crate::cluster::kubectl::print::fields::{flag, list, namespace_and_name, text};
use crate::cluster::kubectl::terminal::{Then, place_of};
use crate::engine::ActorId;
use crate::kubelet::cri::CriResponse;
use crate::kubelet::server::Attach;
use crate::object::Key;

/// What is said before anything is shown, unless `--quiet`.
const WELCOME: &str = "All commands and output from this session will be recorded in container logs, including credentials and \
                       sensitive information passed through the command prompt.\n\
                       If you don't see a command prompt, try pressing enter.";

/// `kubectl attach`.
pub async fn attach(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
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
    if crate::object::pod::is_final(phase) {
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
    welcome(args, cx);
    match open(&pod, container, types, cx).await? {
        (kubelet, CriResponse::Stream(stream)) => {
            let name = text(container, "name");
            let then = Then::Attach(way_back(&pod, container, args));
            cx.connected((kubelet, stream), place_of(&pod, name), then).await
        }
        _ => attached::follow(&pod, container, args, cx).await,
    }
}

/// What is said before anything is shown.
pub(super) fn welcome(args: &Args, cx: &Kubectl) {
    if !args.is_on("quiet") {
        cx.complain(WELCOME);
    }
}

/// Connects to the process of a container: with a stream, if that reads what is typed.
pub(super) async fn open(
    pod: &Value,
    container: &Value,
    stdin: bool,
    cx: &Kubectl,
) -> Result<(ActorId, CriResponse), Failure> {
    let (namespace, name) = namespace_and_name(pod);
    let body = Body::Attach { container: text(container, "name").to_owned() };
    let there = connect(Subresource::Attach, namespace, name, body, cx).await?;
    // Where the container has a terminal, kubectl has to have one too.
    let tty = flag(container, "tty");
    let attach = Attach { pod: Key::new(namespace, name), container: there.container, stdin, tty };
    let answer = ask(there.kubelet, attach, cx).await.map_err(|error| {
        Failure::text(format!("Internal error occurred: unable to upgrade connection: {}", error.message))
    })?;
    Ok((there.kubelet, answer))
}

/// What is said when somebody has left the process of a container: how to come back. Mirrors `reattachMessage`.
pub(super) fn way_back(pod: &Value, container: &Value, args: &Args) -> Option<String> {
    if args.is_on("quiet") || !args.is_on("stdin") || !flag(container, "tty") {
        return None;
    }
    let (namespace, pod_name) = namespace_and_name(pod);
    let name = text(container, "name");
    let command = format!("'kubectl attach {pod_name} -c {name} -n {namespace} -i -t'");
    let is_ephemeral = list(pod, "spec.ephemeralContainers").iter().any(|there| text(there, "name") == name);
    Some(match is_ephemeral {
        true => format!(
            "Session ended, the ephemeral container will not be restarted but may be reattached using {command} if it is \
             still running"
        ),
        false => format!("Session ended, resume using {command} command"),
    })
}

/// The container that is meant. Mirrors `containerToAttachTo`.
fn meant<'a>(pod: &'a Value, args: &Args, cx: &Kubectl) -> Result<&'a Value, Failure> {
    let found = container_of(pod, args, cx)
        .and_then(|name| containers(pod).find(|there| text(there, "name") == name).ok_or_else(|| not_in(pod, &name)));
    found.map_err(|why| Failure::text(format!("cannot attach to the container: {}", why.message())))
}
