//! `kubectl exec`: a command in a container.
//!
//! The path is the real one: the API server checks whether it is allowed and where it will run, the kubelet there finds the
//! container, and the runtime runs the command. With `-i` it reads what comes by a pipe, and a shell what the user types:
//! see [`crate::terminal`]. Left out: other commands that read what is typed; they find their input at its end.

use serde_json::Value;

use super::connect::connect;
use super::pod_of::{Order, all_names, containers, pod_of};
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::left_open::{Ending, Then, place_of};
use crate::nodes::{Ask, Ran, Told};
use crate::print::fields::{list, namespace_and_name, text};
use crate::usage::Usage;
use engine::RpcError;
use object::Key;
use wire::{Body, Subresource};

/// The annotation that names the container meant when none is named.
const DEFAULT_CONTAINER: &str = "/metadata/annotations/kubectl.kubernetes.io~1default-container";

/// `kubectl exec`.
pub const EXEC: Command = Command {
    usage: Usage {
        name: "exec",
        words: "POD|TYPE/NAME -- COMMAND",
        about: "Run a command in a container.",
        flags: &[&["container", "stdin", "tty", "quiet"]],
        left_out: &["filename", "pod-running-timeout"],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Pods),
    run: Run::There(|args, cx| Box::pin(exec(args, cx))),
    ..Command::EMPTY
};

/// `exec POD [-c CONTAINER] -- COMMAND`.
async fn exec(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (word, command) = match (args.words.as_slice(), args.rest.as_slice()) {
        ([], _) => return Err(Failure::text("pod, type/name or --filename must be specified")),
        ([_], []) => return Err(Failure::text("you must specify at least one command for the container")),
        ([word], command) => (word, command),
        _ => {
            let why = "exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead";
            return Err(Failure::usage("exec", why));
        }
    };
    let asks = cx.is_at_terminal && cx.nodes.reads_commands(command);
    if asks && args.is_on("tty") && !args.is_on("stdin") {
        return Err(Failure::text("with -t alone nothing that is typed gets to the shell; write -it"));
    }
    let asks = asks && args.is_on("stdin");
    if asks {
        cx.check_terminal()?;
    }
    let (pod, _) = pod_of("exec", word, Order::Exec, args, cx).await?;
    refuse_completed(&pod)?;
    let container = container_of(&pod, args, cx)?;
    if asks {
        return shell_in(&pod, container, command, args.is_on("tty"), cx).await;
    }
    let input = if args.is_on("stdin") { cx.stdin.as_str() } else { "" };
    let ran = run_in(&pod, container, command, input, cx).await?;
    finish(cx, &ran.printed, ran.code)
}

/// Begins a shell in a container of a Pod, for a user at a terminal.
async fn shell_in(pod: &Value, container: String, command: &[String], tty: bool, cx: &Kubectl) -> Result<(), Failure> {
    let (namespace, name) = namespace_and_name(pod);
    let body = Body::Exec { container, command: command.to_vec() };
    let there = connect(Subresource::Exec, namespace, name, body, cx).await?;
    let place = place_of(pod, &there.container);
    let (container, command) = (there.container, command.to_vec());
    let shell = Ask::Shell { pod: Key::new(namespace, name), container, command, tty };
    let Told::Shell(shell) = cx.nodes.ask(&cx.client, there.kubelet, shell).await.map_err(refused)? else {
        return Ok(());
    };
    match cx.connected(there.kubelet, shell, place, Then::Exec).await {
        Some(how) => left(how, cx),
        None => Ok(()),
    }
}

/// The shell has ended: kubectl says how.
pub(crate) fn left(how: Ending, cx: &Kubectl) -> Result<(), Failure> {
    finish(cx, &[], how.code()?)
}

/// Runs a command in a container of a Pod: through the API server, its kubelet and its runtime.
pub(super) async fn run_in(
    pod: &Value,
    container: String,
    command: &[String],
    input: &str,
    cx: &Kubectl,
) -> Result<Ran, Failure> {
    let (namespace, name) = namespace_and_name(pod);
    let body = Body::Exec { container, command: command.to_vec() };
    let there = connect(Subresource::Exec, namespace, name, body, cx).await?;
    let (container, command, input) = (there.container, command.to_vec(), input.to_owned());
    let exec = Ask::Exec { pod: Key::new(namespace, name), container, command, input };
    Ok(match cx.nodes.ask(&cx.client, there.kubelet, exec).await.map_err(refused)? {
        Told::Ran(ran) => ran,
        _ => Ran::default(),
    })
}

/// What is said of a command that could not be run.
fn refused(error: RpcError) -> Failure {
    let RpcError { code, message } = error;
    Failure::text(match code {
        "NotFound" => format!("Internal error occurred: unable to upgrade connection: {message}"),
        _ => format!("Internal error occurred: {message}"),
    })
}

/// Prints what a command printed (true: to standard error), and says how it ended if it did not end well.
pub fn finish(cx: &Kubectl, printed: &[(bool, String)], code: i32) -> Result<(), Failure> {
    cx.pass_on(printed);
    if code == 0 {
        return Ok(());
    }
    cx.complain(format!("command terminated with exit code {code}"));
    Err(Failure::Told)
}

/// A Pod whose containers have all ended runs no command.
pub fn refuse_completed(pod: &Value) -> Result<(), Failure> {
    let phase = text(pod, "status.phase");
    match object::pod::is_final(phase) {
        true => {
            Err(Failure::text(format!("cannot exec into a container in a completed pod; current phase is {phase}")))
        }
        false => Ok(()),
    }
}

/// The container that `--container` names, or else the Pod's annotation, or else the first. Mirrors
/// `podcmd.FindOrDefaultContainerByName`.
pub fn container_of(pod: &Value, args: &Args, cx: &Kubectl) -> Result<String, Failure> {
    let named = match args.value("container") {
        "" => annotated(pod),
        name => Some(name),
    };
    match named {
        Some(name) if containers(pod).any(|there| text(there, "name") == name) => Ok(name.to_owned()),
        Some(name) => Err(not_in(pod, name)),
        None => Ok(first_container(pod, args, cx)),
    }
}

/// The container that a Pod's annotation names, be there one or not.
pub(super) fn annotated(pod: &Value) -> Option<&str> {
    pod.pointer(DEFAULT_CONTAINER).and_then(Value::as_str).filter(|name| !name.is_empty())
}

/// What is said of a name that no container has.
pub(super) fn not_in(pod: &Value, container: &str) -> Failure {
    let (name, all) = (text(pod, "metadata.name"), all_names(pod).join(", "));
    Failure::text(format!("container {container} is not valid for pod {name} out of: {all}"))
}

/// The first, which is told if there are others.
pub(super) fn first_container(pod: &Value, args: &Args, cx: &Kubectl) -> String {
    let first = list(pod, "spec.containers").first().map_or("", |container| text(container, "name"));
    let all = all_names(pod);
    if all.len() > 1 && !args.is_on("quiet") {
        cx.complain(format!("Defaulted container {first:?} out of: {}", all.join(", ")));
    }
    first.to_owned()
}
