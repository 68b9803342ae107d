//! A kubectl that stays until a container has done its work: `attach`, and `run` and `debug` with `-i`, `--attach`, `--rm`.
//!
//! The real one attaches to the container and shows what it prints as it comes. Here it waits for the end, for as long as
//! `--pod-running-timeout` says, and then shows it all; a shell it connects to the terminal, see [`crate::terminal`]. It
//! sees the end by a watch of the Pod.
//! Mirrors `handleAttachPod` and what follows it in `pkg/cmd/run/run.go`.

use std::time::Duration;

use serde_json::Value;

use super::connect::connect;
use super::delete::delete_one;
use super::logs;
use super::pod_of::containers;
use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::left_open::{Ending, Run, Then, place_of};
use crate::log::status_of;
use crate::nodes::{Ask, Shell, Told};
use crate::options::timeout;
use crate::print::fields::{at, flag, int, list, namespace_and_name, text};
use engine::ActorId;
use object::{Key, Kind, Status};
use wire::WatchEvent;
use wire::{Body, Subresource};

/// Mirrors `defaultPodAttachTimeout`.
const TIMEOUT: Duration = Duration::from_secs(60);
/// What is said when the time is over.
const OVER: &str = "timed out waiting for the condition";

/// What is said before anything is shown, unless `--quiet`.
const WELCOME: &str = "All commands and output from this session will be recorded in container logs, including credentials and \
                       sensitive information passed through the command prompt.\n\
                       If you don't see a command prompt, try pressing enter.";

/// Whether kubectl stays.
pub(super) fn wanted(args: &Args) -> bool {
    if args.has("attach") { args.is_on("attach") } else { args.is_on("stdin") }
}

/// A terminal is there to be typed into.
pub(super) fn check_terminal(args: &Args) -> Result<(), Failure> {
    match args.is_on("tty") && !args.is_on("stdin") {
        true => Err(Failure::usage("run", "-i/--stdin is required for containers with -t/--tty=true")),
        false => Ok(()),
    }
}

/// What cannot be. Mirrors the checks of `RunOptions.Run`.
pub(super) fn check(args: &Args) -> Result<(), Failure> {
    let why = if !wanted(args) && args.is_on("rm") {
        "--rm should only be used for attached containers"
    } else if wanted(args) && !matches!(args.value("dry-run"), "" | "none") {
        "--dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or --tty)"
    } else {
        return Ok(());
    };
    Err(Failure::usage("run", why))
}

/// Stays with a new Pod, and with `--rm` takes it away in the end, and its Service.
pub(super) async fn stay(pod: &Value, services: &[Value], args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    match watch(pod, args, cx).await {
        Ok(End::Reads(connection)) => {
            let container = list(pod, "spec.containers").first().unwrap_or(&Value::Null);
            welcome(args, cx);
            let (pod, services, args) = (pod.clone(), services.to_vec(), args.clone());
            let (says, place) = (way_back(&pod, container, &args), place_of(&pod, text(container, "name")));
            let run = Run { says, pod, services, args };
            let (kubelet, shell) = *connection;
            match cx.connected(kubelet, shell, place, Then::Run(run.clone().into())).await {
                Some(how) => after(how, run, cx).await,
                None => Ok(()),
            }
        }
        end => leave(end, pod, services, args, cx).await,
    }
}

/// What `run` does once the user has left the shell that it began. Mirrors what follows `handleAttachPod`.
pub(crate) async fn after(how: Ending, run: Run, cx: &Kubectl) -> Result<(), Failure> {
    let Run { says, pod, services, args } = &run;
    let end = match how.code() {
        Err(lost) => Err(lost),
        Ok(_) => {
            says.iter().for_each(|says| cx.line(says));
            match text(pod, "spec.restartPolicy") {
                "Always" => Ok(End::Done),
                _ => until(pod, has_ended, args, cx).await.map(|pod| failure(&pod).map_or(End::Done, End::Failed)),
            }
        }
    };
    leave(end, pod, services, args, cx).await
}

/// What is done in the end: with `--rm` the Pod is taken away.
async fn leave(
    end: Result<End, Failure>,
    pod: &Value,
    services: &[Value],
    args: &Args,
    cx: &Kubectl,
) -> Result<(), Failure> {
    if args.is_on("rm") && !matches!(end, Ok(End::RunsOn)) {
        for (kind, object) in std::iter::once((Kind::Pod, pod)).chain(services.iter().map(|it| (Kind::Service, it))) {
            let (namespace, name) = namespace_and_name(object);
            delete_one(kind, namespace, name, args, cx).await?;
        }
    }
    match end? {
        End::Failed(why) => {
            cx.complain(why);
            Err(Failure::Told)
        }
        End::RunsOn | End::Done | End::Reads(_) => Ok(()),
    }
}

/// What became of the container.
enum End {
    /// It is a shell that waits for the user to type.
    Reads(Box<(ActorId, Shell)>),
    /// It has to do with nothing that is typed, and runs.
    RunsOn,
    Done,
    /// It ended with an error, and nothing starts it again; why.
    Failed(String),
}

async fn watch(pod: &Value, args: &Args, cx: &Kubectl) -> Result<End, Failure> {
    let Some(container) = list(pod, "spec.containers").first() else { return Ok(End::Done) };
    let name = text(container, "name");
    let waits = waits_for_input(container, cx);
    let reached = |pod: &Value| has_ended(pod) || (waits && is_running(pod, name));
    let pod = until(pod, reached, args, cx).await?;
    if !has_ended(&pod) {
        if let (kubelet, Told::Shell(shell)) = open(&pod, container, true, cx).await? {
            return Ok(End::Reads(Box::new((kubelet, shell))));
        }
        let pod = text(&pod, "metadata.name");
        cx.complain(format!("what runs in {pod} reads nothing that is typed; a shell: kubectl exec -it {pod} -- sh"));
        return Ok(End::RunsOn);
    }
    logs::print_all(&pod, name, is_another(&pod, name), cx).await?;
    Ok(failure(&pod).map_or(End::Done, End::Failed))
}

/// Shows what a container of a Pod has printed when it has ended, and connects a shell to the terminal. Mirrors
/// `handleAttachPod` of `pkg/cmd/debug`.
pub(super) async fn show(pod: &Value, container: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let Some(spec) = containers(pod).find(|there| text(there, "name") == container) else { return Ok(()) };
    let has_ended = |pod: &Value| status_of(pod, container).is_some_and(ended);
    let waits = waits_for_input(spec, cx);
    let pod = until(pod, |pod| has_ended(pod) || (waits && is_running(pod, container)), args, cx).await?;
    if !has_ended(&pod) {
        let name = text(&pod, "metadata.name");
        let (kubelet, answer) = open(&pod, spec, args.is_on("stdin"), cx).await?;
        let Told::Shell(shell) = answer else {
            cx.complain(format!(
                "what runs there reads nothing that is typed; a shell: kubectl exec -it {name} -c {container} -- sh"
            ));
            return Ok(());
        };
        welcome(args, cx);
        return type_into(kubelet, shell, &pod, spec, args, cx).await;
    }
    logs::print_all(&pod, container, is_another(&pod, container), cx).await
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
) -> Result<(ActorId, Told), Failure> {
    let (namespace, name) = namespace_and_name(pod);
    let body = Body::Attach { container: text(container, "name").to_owned() };
    let there = connect(Subresource::Attach, namespace, name, body, cx).await?;
    // Where the container has a terminal, kubectl has to have one too.
    let tty = flag(container, "tty");
    let attach = Ask::Attach { pod: Key::new(namespace, name), container: there.container, stdin, tty };
    let answer = cx.nodes.ask(&cx.client, there.kubelet, attach).await.map_err(|error| {
        Failure::text(format!("Internal error occurred: unable to upgrade connection: {}", error.message))
    })?;
    Ok((there.kubelet, answer))
}

/// What kubectl says when the user has left the process of a container: how to come back. Mirrors `reattachMessage`.
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

/// Connects the terminal to a shell that is the process of a container.
pub(super) async fn type_into(
    kubelet: ActorId,
    shell: Shell,
    pod: &Value,
    container: &Value,
    args: &Args,
    cx: &Kubectl,
) -> Result<(), Failure> {
    let (says, place) = (way_back(pod, container, args), place_of(pod, text(container, "name")));
    match cx.connected(kubelet, shell, place, Then::Attach(says.clone())).await {
        Some(how) => left(how, says.as_deref(), cx),
        None => Ok(()),
    }
}

/// The user has left a shell that was attached to: kubectl says how to come back, if there is a way.
pub(crate) fn left(how: Ending, says: Option<&str>, cx: &Kubectl) -> Result<(), Failure> {
    how.code()?;
    says.iter().for_each(|says| cx.line(says));
    Ok(())
}

/// Shows what a container prints from now on, until it ends or kubectl has stayed long enough.
pub(super) async fn follow(pod: &Value, container: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (name, since) = (text(container, "name"), cx.now());
    let (namespace, pod_name) = namespace_and_name(pod);
    let run = |pod: &Value| status_of(pod, name).map(|status| text(status, "containerID").to_owned());
    let before = run(pod);
    let over = |now: &Value| run(now) != before || !is_running(now, name);
    let (pod, ended) = match until(pod, over, args, cx).await {
        Ok(pod) => (pod, true),
        Err(Failure::Text(why)) if why == OVER => (cx.get_once(Kind::Pod, namespace, pod_name).await?, false),
        Err(failure) => return Err(failure),
    };
    logs::print_since(&pod, name, since, run(&pod) != before, cx).await?;
    if !ended {
        cx.complain(format!("container {name} runs on, and kubectl stays no longer than --pod-running-timeout"));
    }
    Ok(())
}

/// How long kubectl stays.
pub(super) fn limit(args: &Args) -> Result<Duration, Failure> {
    match args.has("pod-running-timeout") {
        true => Ok(timeout(args, "pod-running-timeout")?.unwrap_or(Duration::ZERO)),
        false => Ok(TIMEOUT),
    }
}

/// Whether a container is a shell that has got nothing to do. Without a command it does what its image is for.
fn waits_for_input(container: &Value, cx: &Kubectl) -> bool {
    let words = ["command", "args"].iter().flat_map(|of| list(container, of)).filter_map(Value::as_str);
    let words: Vec<String> = words.map(str::to_owned).collect();
    words.is_empty() || cx.nodes.reads_commands(&words)
}

fn is_running(pod: &Value, container: &str) -> bool {
    status_of(pod, container).is_some_and(|status| !at(status, "state.running").is_null())
}

/// Whether the container that kubectl stayed for has ended, and this is the one that was started in its place.
fn is_another(pod: &Value, container: &str) -> bool {
    text(pod, "spec.restartPolicy") == "Always"
        && status_of(pod, container).is_some_and(|status| int(status, "restartCount") > 0)
}

/// Whether a container has ended once, be it started again or not.
fn ended(status: &Value) -> bool {
    !at(status, "state.terminated").is_null() || int(status, "restartCount") > 0
}

/// Whether a Pod with one container has done its work.
fn has_ended(pod: &Value) -> bool {
    match text(pod, "spec.restartPolicy") {
        "Always" => list(pod, "status.containerStatuses").iter().any(ended),
        "OnFailure" => text(pod, "status.phase") == "Succeeded",
        _ => matches!(text(pod, "status.phase"), "Succeeded" | "Failed"),
    }
}

/// Why a Pod that is not started again did not succeed.
fn failure(pod: &Value) -> Option<String> {
    if text(pod, "status.phase") != "Failed" {
        return None;
    }
    let (namespace, name) = namespace_and_name(pod);
    let ended = list(pod, "status.containerStatuses").first().map_or(&Value::Null, |it| at(it, "state.terminated"));
    if int(ended, "exitCode") == 0 {
        return Some(format!("error: pod {namespace}/{name} failed with unknown exit code"));
    }
    let [reason, message] = ["reason", "message"].map(|field| text(ended, field));
    Some(format!("pod {namespace}/{name} terminated ({reason})\n{message}").trim_end().to_owned())
}

/// Waits until the Pod is so, and returns it as it is then.
async fn until(pod: &Value, reached: impl Fn(&Value) -> bool, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let (namespace, name) = namespace_and_name(pod);
    let limit = timeout(args, "pod-running-timeout")?.unwrap_or(TIMEOUT);
    let (listed, events) = cx.follow(Kind::Pod, namespace, name, Some(limit)).await?;
    let gone = || Failure::from(Status::not_found(Kind::Pod, name));
    let there = listed.items.into_iter().next().ok_or_else(gone)?;
    if reached(&there) {
        return Ok(there);
    }
    loop {
        match events.next().await {
            Some(WatchEvent::Deleted(_)) => return Err(gone()),
            Some(WatchEvent::Error(status)) => return Err(status.into()),
            Some(event) => {
                if let Some(now) = event.object().map(|object| object.printed()).filter(|now| reached(now)) {
                    return Ok(now);
                }
            }
            None => return Err(Failure::text(OVER)),
        }
    }
}
