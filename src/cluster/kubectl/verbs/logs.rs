//! `logs`: what a container has printed.
//!
//! Left out: the way there. The real one asks the API server for `pods/NAME/log`, which asks the kubelet; here the log
//! files of all nodes are read where they are. `--follow` prints what there is, since time stands still meanwhile.

use serde_json::Value;

use super::pod_of::{Order, pod_of};
use crate::apiserver::request::Options;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::Failure;
use crate::cluster::kubectl::print::fields::{flag, list, text};
use crate::object::{Kind, Status};

const USAGE: &str = "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\n\
                     POD or TYPE/NAME is a required argument for the logs command\n\
                     See 'kubectl logs -h' for help and examples";
/// So many lines of each Pod, where many are chosen by their labels.
const OF_MANY: i64 = 10;

/// `kubectl logs`.
pub async fn logs(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let selector = args.value("selector");
    let tail = args.number("tail")?;
    match args.words.as_slice() {
        [] if !selector.is_empty() => {
            let options = Options { label_selector: selector.to_owned(), limit: 500, ..Options::default() };
            let pods = cx.list(Kind::Pod, cx.namespace(args), options).await?.items;
            if pods.is_empty() {
                cx.complain(format!("No resources found in {} namespace.", cx.namespace(args)));
            }
            pods.iter().try_for_each(|pod| print(pod, tail.or(Some(OF_MANY)), args, cx))
        }
        [word] if selector.is_empty() => {
            let (pod, of) = pod_of("logs", word, Order::Logs, args, cx).await?;
            if of > 1 {
                cx.complain(format!("Found {of} pods, using pod/{}", text(&pod, "metadata.name")));
            }
            print(&pod, tail, args, cx)
        }
        _ => Err(Failure::text(USAGE)),
    }
}

/// Prints the log of one container of a Pod: the last `tail` lines, or all.
fn print(pod: &Value, tail: Option<i64>, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let name = text(pod, "metadata.name");
    let container = match args.value("container") {
        "" => super::exec::default_container(pod, args, cx),
        name => name.to_owned(),
    };
    let is_it = |there: &&Value| text(there, "name") == container;
    if !["spec.containers", "spec.initContainers"].iter().any(|path| list(pod, path).iter().any(|c| is_it(&c))) {
        let why = format!("container {container} is not valid for pod {name}");
        return Err(Status::bad_request(why).into());
    }
    let statuses = ["status.containerStatuses", "status.initContainerStatuses"];
    let status = statuses.iter().find_map(|path| list(pod, path).iter().find(is_it));
    if !args.is_on("previous")
        && let Some(reason) = waiting(status)
    {
        let why = format!("container \"{container}\" in pod \"{name}\" is waiting to start: {reason}");
        return Err(Status::bad_request(why).into());
    }
    let journal = cx.journal.borrow();
    let log = journal.get(&(format!("{}/{name}", text(pod, "metadata.namespace")), container.clone()));
    let log = log.filter(|log| log.pod_uid == text(pod, "metadata.uid"));
    let lines = match args.is_on("previous") {
        false => log.map_or(&[][..], |log| &log.lines),
        true => log.and_then(|log| log.before.as_deref()).ok_or_else(|| {
            let why = format!("previous terminated container \"{container}\" in pod \"{name}\" not found");
            Status::bad_request(why)
        })?,
    };
    let printed: Vec<&str> =
        lines.iter().filter(|(at, _)| at.timestamp() <= cx.now()).map(|(_, line)| line.as_str()).collect();
    let skipped = tail.and_then(|tail| usize::try_from(tail).ok()).map_or(0, |tail| printed.len().saturating_sub(tail));
    printed[skipped..].iter().for_each(|line| cx.line(line));
    Ok(())
}

/// Why a container has no log yet; None if it has one. Mirrors `validateContainerLogStatus` of the kubelet.
fn waiting(status: Option<&Value>) -> Option<&str> {
    let reason = status.map_or("ContainerCreating", |status| text(status, "state.waiting.reason"));
    let has_run = status
        .is_some_and(|status| flag(status, "started") || !text(status, "lastState.terminated.containerID").is_empty());
    if reason.is_empty() || has_run {
        return None;
    }
    Some(match reason {
        "ErrImagePull" | "ImagePullBackOff" => "trying and failing to pull image",
        reason => reason,
    })
}
