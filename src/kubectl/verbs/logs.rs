//! `logs`: what a container has printed. Mirrors `logs.go` and `polymorphichelpers/logsforobject.go`.
//!
//! The API server says whether it may be and which kubelet keeps the log, and that one has to be there.
//!
//! Left out: what the kubelet is told and says; its file is read where it is. With `--follow` it is looked at again each second
//! ([`follow`]).

use jiff::Timestamp;
use serde_json::Value;

mod follow;

use super::connect::dial;
use super::exec::{annotated, first_container, not_in};
use super::pod_of::{Order, best_pod, object_of, pods_of};
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::log::{Opened, Reading, Wanted};
use crate::options::timeout;
use crate::print::fields::{list, namespace_and_name, text};
use crate::usage::Usage;
use object::status::Reason;
use object::{Kind, Status};
use wire::{Body, Options, Response, Subresource, Verb};

const USAGE: &str = "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\n\
                     POD or TYPE/NAME is a required argument for the logs command";
/// So many lines of each container, where Pods are chosen by their labels.
const OF_MANY: i64 = 10;
/// So many logs may be followed at once, unless `--max-log-requests` says more.
const FOLLOWED: i64 = 5;

/// `kubectl logs`.
pub const LOGS: Command = Command {
    usage: Usage {
        name: "logs",
        words: "POD|TYPE/NAME [CONTAINER]|-l SELECTOR",
        about: "What a container has printed.",
        flags: &[
            &["container", "all-containers", "follow", "previous", "tail", "since", "since-time", "selector"],
            &["prefix", "timestamps", "ignore-errors", "max-log-requests", "limit-bytes", "all-pods"],
        ],
        left_out: &["insecure-skip-tls-verify-backend", "pod-running-timeout"],
        ..Usage::EMPTY
    },
    reads_only: |_| true,
    takes: Takes::named(Named::Pods),
    run: Run::There(|args, cx| Box::pin(logs(args, cx))),
    ..Command::EMPTY
};

/// `kubectl logs`.
async fn logs(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let lines = Lines::of(args, cx)?;
    let (pods, container) = chosen(args, cx).await?;
    let mut streams = Vec::new();
    for pod in &pods {
        let containers = containers(pod, container, args, cx)?;
        streams.extend(containers.into_iter().map(|container| (pod, container)));
    }
    let most = args.number("max-log-requests")?.unwrap_or(FOLLOWED);
    if args.is_on("follow") && streams.len() > 1 && i64::try_from(streams.len()).is_ok_and(|count| count > most) {
        return Err(Failure::text(format!(
            "you are attempting to follow {} log streams, but maximum allowed concurrency is {most}, use \
             --max-log-requests to increase the limit",
            streams.len()
        )));
    }
    let mut open = Vec::new();
    for (pod, container) in streams {
        match print(pod, &container, &lines, cx).await {
            Err(fault @ (Failure::Server { .. } | Failure::Unanswered { .. })) if args.is_on("ignore-errors") => {
                cx.line(format!("error: {}", fault.message()));
            }
            printed => open.extend(printed?),
        }
    }
    if args.is_on("follow") && !lines.wanted.previous {
        follow::follow(open, &lines, cx).await;
    }
    Ok(())
}

/// The Pods that are meant, and the container, if one is named.
async fn chosen<'a>(args: &'a Args, cx: &Kubectl) -> Result<(Vec<Value>, &'a str), Failure> {
    let (selector, flagged) = (args.value("selector"), args.value("container"));
    let (word, container) = match args.words.as_slice() {
        [] if !selector.is_empty() => {
            let options = Options { label_selector: selector.to_owned(), limit: 500, ..Options::default() };
            let pods = cx.list(Kind::Pod, cx.namespace(args), options).await?.items;
            if pods.is_empty() {
                cx.complain(format!("No resources found in {} namespace.", cx.namespace(args)));
            }
            return Ok((pods, flagged));
        }
        [_] if !selector.is_empty() => {
            return Err(Failure::text("only a selector (-l) or a POD name is allowed"));
        }
        [word] => (word, flagged),
        [_, _] if !flagged.is_empty() => {
            return Err(Failure::text("only one of -c or an inline [CONTAINER] arg is allowed"));
        }
        [word, container] => (word, container.as_str()),
        _ => return Err(Failure::usage("logs", USAGE)),
    };
    if args.is_on("all-pods") {
        let (kind, object) = object_of("logs", word, args, cx).await.map_err(|fault| missing(fault, args, cx))?;
        return Ok((pods_of(kind, &object, Order::Logs, args, cx).await?, container));
    }
    let (kind, object) = object_of("logs", word, args, cx).await.map_err(|fault| missing(fault, args, cx))?;
    let (pod, of) = best_pod(word, kind, &object, Order::Logs, args, cx).await?;
    if of > 1 {
        cx.complain(format!("Found {of} pods, using pod/{}", text(&pod, "metadata.name")));
    }
    Ok((vec![pod], container))
}

/// What is said of an object that is not there: in which namespace it is not.
fn missing(fault: Failure, args: &Args, cx: &Kubectl) -> Failure {
    if !fault.is_not_found() {
        return fault;
    }
    let why = format!("{} in namespace {:?}", fault.message(), cx.namespace(args));
    Failure::text(format!("error from server (NotFound): {why}"))
}

/// The containers of a Pod that are meant: the named one, all, or the one that is taken if none is named.
fn containers(pod: &Value, named: &str, args: &Args, cx: &Kubectl) -> Result<Vec<String>, Failure> {
    let specs = ["spec.initContainers", "spec.containers", "spec.ephemeralContainers"]
        .into_iter()
        .flat_map(|path| list(pod, path));
    let all: Vec<String> = specs.map(|container| text(container, "name").to_owned()).collect();
    match (args.is_on("all-containers"), named) {
        (true, "") => Ok(all),
        (true, named) => {
            let why = format!("--all-containers=true should not be specified with container name {named}");
            Err(Failure::text(why))
        }
        (false, "") => Ok(vec![unnamed(pod, &all, args, cx)]),
        (false, named) if all.iter().any(|there| there == named) => Ok(vec![named.to_owned()]),
        (false, named) => Err(not_in(pod, named)),
    }
}

/// The container whose log is read if none is named. An annotation that names none is told, and does no harm: in that this
/// differs from `exec`. Mirrors `logsForObjectWithClient`.
fn unnamed(pod: &Value, all: &[String], args: &Args, cx: &Kubectl) -> String {
    match annotated(pod) {
        Some(name) if all.iter().any(|there| there == name) => return name.to_owned(),
        Some(name) => {
            cx.complain(format!("Default container name {name:?} not found in pod {}", text(pod, "metadata.name")));
        }
        None => {}
    }
    first_container(pod, args, cx)
}

/// Prints all that a container of a Pod has printed: the one that there is, or the one `before` it.
pub(super) async fn print_all(pod: &Value, container: &str, before: bool, cx: &Kubectl) -> Result<(), Failure> {
    print(pod, container, &Lines { wanted: Wanted { previous: before, ..Wanted::default() }, ..Lines::default() }, cx)
        .await
        .map(drop)
}

/// Prints what a container has printed since then: the one that runs, or the one `before` it.
pub(super) async fn print_since(
    pod: &Value,
    container: &str,
    since: Timestamp,
    before: bool,
    cx: &Kubectl,
) -> Result<(), Failure> {
    let wanted = Wanted { since: Some(since), previous: before, ..Wanted::default() };
    let lines = Lines { wanted, ..Lines::default() };
    print(pod, container, &lines, cx).await.map(drop)
}

/// Which lines of a log are printed, and how.
#[derive(Default)]
struct Lines {
    wanted: Wanted,
    /// Each line behind its Pod and container.
    prefix: bool,
}

impl Lines {
    fn of(args: &Args, cx: &Kubectl) -> Result<Lines, Failure> {
        let of_many = (!args.value("selector").is_empty()).then_some(OF_MANY);
        let tail = args.number("tail")?.or(of_many);
        if tail.is_some_and(|tail| tail < -1) {
            return Err(Failure::text("--tail must be greater than or equal to -1"));
        }
        let bytes = args.number("limit-bytes")?;
        if bytes.is_some_and(|bytes| bytes < 1) {
            return Err(Failure::text("--limit-bytes must be greater than 0"));
        }
        let ago = timeout(args, "since")?;
        if ago.is_none() && args.value("since").starts_with('-') {
            return Err(Failure::text("--since must be greater than 0"));
        }
        let since = match (ago, args.value("since-time")) {
            (Some(_), time) if !time.is_empty() => {
                const WHY: &str = "at most one of `sinceTime` or `sinceSeconds` may be specified";
                return Err(Failure::text(WHY));
            }
            (Some(ago), _) => cx.now().checked_sub(ago).ok(),
            (None, "") => None,
            (None, time) => Some(time.parse().map_err(|_| {
                let why = format!("parsing time {time:?} as \"2006-01-02T15:04:05Z07:00\"");
                Failure::text(format!("{why}: write a time such as {}", cx.now()))
            })?),
        };
        let wanted = Wanted {
            tail: tail.and_then(|tail| usize::try_from(tail).ok()),
            bytes: bytes.and_then(|bytes| usize::try_from(bytes).ok()),
            since,
            previous: args.is_on("previous"),
            timestamps: args.is_on("timestamps"),
        };
        Ok(Lines { wanted, prefix: args.is_on("prefix") || args.is_on("all-pods") })
    }

    /// Prints the lines that are there by now and were not yet printed.
    fn print(&self, log: &mut Reading, cx: &Kubectl) {
        let prefix = match (self.prefix, log.pod.split_once('/')) {
            (true, Some((_, name))) => format!("[pod/{name}/{}] ", log.container),
            _ => String::new(),
        };
        for line in log.read(&*cx.nodes, cx.now()) {
            cx.print(&format!("{prefix}{line}"));
        }
    }
}

/// Prints the log of one container of a Pod. None: there is nothing to be followed.
async fn print(pod: &Value, container: &str, lines: &Lines, cx: &Kubectl) -> Result<Option<Reading>, Failure> {
    let (namespace, name) = namespace_and_name(pod);
    let body = Body::Log { container: container.to_owned() };
    let mut request = cx.request(Verb::Get, Kind::Pod, namespace, name, body);
    request.subresource = Some(Subresource::Log);
    let Response::PassedOn { node, kubelet, container } = &cx.send(request).await? else { return Ok(None) };
    dial(node, kubelet, cx).map_err(|why| {
        let url = format!("https://{kubelet}/containerLogs/{namespace}/{name}/{container}");
        Status::new(Reason::Unknown, format!("Get {url:?}: {why}"))
    })?;
    match Reading::open(pod, container, lines.wanted.clone(), &*cx.nodes, cx.now())? {
        Opened::Reading(mut log) => {
            lines.print(&mut log, cx);
            Ok(Some(log))
        }
        Opened::Gone(why) => {
            cx.line(why);
            Ok(None)
        }
        Opened::Empty => Ok(None),
    }
}
