//! `drain`: no new Pods on the node, and those that are there move away.
//!
//! First the node is cordoned. Then all its Pods are looked through, each by the same questions: is it a DaemonSet's,
//! does it keep data in an emptyDir, will a controller replace it? If one must not go, nothing goes. The others are evicted
//! all at once, each on its own: an eviction that a PodDisruptionBudget forbids is tried again every five seconds, and a
//! Pod that was evicted is asked for every second until it is gone. Mirrors `k8s.io/kubectl/pkg/cmd/drain` and
//! `k8s.io/kubectl/pkg/drain`.

use std::time::Duration;

use serde_json::Value;

use super::change;
use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::{dry_run_note, plain_options, timeout};
use crate::print::fields::{namespace_and_name, text};
use crate::print::names::qualified_name;
use client::join_all;
use object::status::{Reason, aggregate};
use object::time::go_duration;
use object::{Kind, Status};
use wire::{Body, DeleteOptions, Options, Subresource, Verb};

mod filters;

use crate::command::{Command, Named, Run, Takes};
use crate::usage::Usage;
use filters::{Drain, PodDeleteStatus, by_reason, going, warnings};

/// How long a refused eviction waits. `EvictErrorRetryDelay`.
const RETRY: Duration = Duration::from_secs(5);
/// How often a Pod is asked for until it is gone.
const POLL: Duration = Duration::from_secs(1);
/// How often the client itself asks again when the server says when. `maxRetries` of client-go.
const POLITE_RETRIES: u32 = 10;

/// `kubectl drain`.
pub const DRAIN: Command = Command {
    usage: Usage {
        name: "drain",
        words: "NODE",
        about: "Evict the Pods of a node, and let no new ones onto it.",
        flags: &[
            &["delete-emptydir-data", "disable-eviction", "dry-run", "force", "grace-period", "ignore-daemonsets"],
            &["pod-selector", "selector", "skip-wait-for-delete-timeout", "timeout"],
        ],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Nodes),
    run: Run::There(|args, cx| Box::pin(drain(args, cx))),
    ..Command::EMPTY
};

/// `kubectl drain NODE`.
async fn drain(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let nodes = change::nodes("drain", args, cx).await?;
    for node in &nodes {
        change::cordon_one(node, true, args, cx).await?;
    }
    let mut pending = Vec::new();
    for node in &nodes {
        let name = text(node, "metadata.name");
        let deadline = timeout(args, "timeout")?.map(|limit| (cx.client.now() + limit, limit));
        let drain = Drain { node: name, args, cx, deadline };
        match drain.run().await {
            Ok(()) => cx.line(format!("{} drained{}", qualified_name(node), dry_run_note(args))),
            Err(errors) => {
                let why = aggregate(&errors);
                cx.complain(format!("error: unable to drain node {name:?} due to error: {why}, continuing command..."));
                pending.push((name, errors));
            }
        }
    }
    if pending.is_empty() {
        return Ok(());
    }
    cx.complain("There are pending nodes to be drained:");
    pending.iter().for_each(|(name, _)| cx.complain(format!(" {name}")));
    match pending.as_slice() {
        [(_, errors)] => errors.iter().for_each(|error| cx.complain(error)),
        many => many.iter().for_each(|(_, errors)| cx.complain(aggregate(errors))),
    }
    Err(Failure::Told)
}

impl Drain<'_> {
    /// Mirrors `deleteOrEvictPodsSimple`.
    async fn run(&self) -> Result<(), Vec<String>> {
        let pods = self.look_through().await?;
        let warnings = warnings(&pods);
        if !warnings.is_empty() {
            self.cx.complain(format!("Warning: {warnings}"));
        }
        let going = going(pods);
        if plain_options("", self.args).is_ok_and(|query| query.only_here) {
            going.iter().for_each(|pod| self.tell_evicting(pod));
            return Ok(());
        }
        if going.is_empty() {
            return Ok(());
        }
        let errors = match self.args.is_on("disable-eviction") {
            true => self.delete_all(&going).await,
            false => self.evict_all(&going).await,
        };
        if errors.is_empty() {
            return Ok(());
        }
        self.tell_pending(&aggregate(&errors)).await;
        Err(errors)
    }

    /// All Pods of the node, and what is to become of each. Mirrors `GetPodsForDeletion`.
    async fn look_through(&self) -> Result<Vec<(Value, PodDeleteStatus)>, Vec<String>> {
        let options = Options {
            field_selector: format!("spec.nodeName={}", self.node),
            label_selector: self.args.value("pod-selector").to_owned(),
            limit: 500,
            ..Options::default()
        };
        let listed = self.cx.list(Kind::Pod, "", options).await.map_err(|fault| vec![fault.message()])?;
        let mut pods = Vec::new();
        for pod in listed.items {
            let status = self.judge(&pod).await;
            pods.push((pod, status));
        }
        let forbidden = by_reason(&pods, |status| match status {
            PodDeleteStatus::Forbids(why) => Some(why.clone()),
            _ => None,
        });
        match forbidden.is_empty() {
            true => Ok(pods),
            false => Err(forbidden.iter().map(|group| format!("cannot delete {group}")).collect()),
        }
    }

    /// What is said when a drain fails half way.
    async fn tell_pending(&self, why: &str) {
        match self.look_through().await {
            Ok(pods) => {
                let left = going(pods);
                if !left.is_empty() {
                    let node = self.node;
                    self.cx.complain(format!("There are pending pods in node {node:?} when an error occurred: {why}"));
                    left.iter().for_each(|pod| self.cx.complain(qualified_name(pod)));
                }
            }
            Err(errors) => {
                self.cx.complain("Following errors occurred while getting the list of pods to delete:");
                self.cx.complain(aggregate(&errors));
            }
        }
    }

    /// Evicts all Pods, each on its own. Go runs what was started last first, then the others in order.
    async fn evict_all(&self, pods: &[Value]) -> Vec<String> {
        let (others, last) = pods.split_at(pods.len() - 1);
        let each = last.iter().chain(others).map(|pod| self.evict(pod)).collect();
        join_all(each).await.into_iter().filter_map(Result::err).collect()
    }

    /// Evicts one Pod and waits until it is gone. Mirrors the goroutine in `evictPods`.
    async fn evict(&self, pod: &Value) -> Result<(), String> {
        let (namespace, name) = namespace_and_name(pod);
        let mut newest = pod.clone();
        loop {
            self.tell_evicting(pod);
            if let Some(limit) = self.expired() {
                let reached = format!("global timeout reached: {limit}");
                return Err(format!("error when evicting pods/{name:?} -n {namespace:?}: {reached}"));
            }
            match self.post_eviction(namespace, name).await {
                Ok(()) => break,
                Err(fault) if fault.is_not_found() => return Ok(()),
                Err(Failure::Server { status, .. }) if status.reason == Reason::TooManyRequests => {
                    let why = &status.message;
                    let what = format!("error when evicting pods/{name:?} -n {namespace:?}");
                    self.cx.complain(format!("{what} (will retry after 5s): {why}"));
                }
                Err(Failure::Server { status, .. }) if status.is_namespace_terminating() => {
                    if !text(&newest, "metadata.deletionTimestamp").is_empty() {
                        break;
                    }
                    let what = format!("error when evicting pod {name:?} from terminating namespace {namespace:?}");
                    self.cx.complain(format!("{what} (will retry after 5s): {}", status.message));
                }
                Err(fault) => {
                    return Err(format!("error when evicting pods/{name:?} -n {namespace:?}: {}", fault.message()));
                }
            }
            self.cx.sleep(RETRY).await;
            // If it cannot be read, the next eviction will tell.
            newest = self.cx.get_once(Kind::Pod, namespace, name).await.unwrap_or(newest);
        }
        if !dry_run_note(self.args).is_empty() {
            return Ok(());
        }
        let gone = self.wait_until_gone(std::slice::from_ref(&newest), "evicted").await;
        gone.map_err(|why| {
            format!("error when waiting for pod {name:?} in namespace {namespace:?} to terminate: {why}")
        })
    }

    /// `POST pods/NAME/eviction`. If the server says when to come again, the client does so by itself.
    async fn post_eviction(&self, namespace: &str, name: &str) -> Result<(), Failure> {
        let mut request =
            self.cx.request(Verb::Create, Kind::Pod, namespace, name, Body::Delete(self.delete_options()?));
        request.subresource = Some(Subresource::Eviction);
        request.options = plain_options("", self.args)?.options;
        let mut tries = 0;
        loop {
            match self.cx.send(request.clone()).await {
                Err(Failure::Server { status, .. }) if retry_after(&status).is_some() && tries < POLITE_RETRIES => {
                    tries += 1;
                    self.cx.sleep(retry_after(&status).unwrap_or_default()).await;
                }
                answer => return answer.map(|_| ()),
            }
        }
    }

    fn delete_options(&self) -> Result<DeleteOptions, Failure> {
        let grace_period_seconds = self.args.number("grace-period")?.filter(|seconds| *seconds >= 0);
        Ok(DeleteOptions { grace_period_seconds, ..DeleteOptions::default() })
    }

    /// Deletes all Pods without asking any budget. Mirrors `deletePods`.
    async fn delete_all(&self, pods: &[Value]) -> Vec<String> {
        for pod in pods {
            let (namespace, name) = namespace_and_name(pod);
            if let Err(fault) = self.delete(namespace, name).await
                && !fault.is_not_found()
            {
                return vec![fault.message()];
            }
        }
        self.wait_until_gone(pods, "deleted").await.err().into_iter().collect()
    }

    async fn delete(&self, namespace: &str, name: &str) -> Result<(), Failure> {
        let query = plain_options("", self.args)?;
        self.cx.remove(Kind::Pod, namespace, name, self.delete_options()?, query).await.map(|_| ())
    }

    /// Asks for the Pods every second until all are gone. Mirrors `waitForDelete`.
    async fn wait_until_gone(&self, pods: &[Value], how: &str) -> Result<(), String> {
        let mut pending: Vec<&Value> = pods.iter().collect();
        loop {
            let mut left = Vec::new();
            for pod in pending {
                let (namespace, name) = namespace_and_name(pod);
                match self.cx.get_once(Kind::Pod, namespace, name).await {
                    Ok(there) if text(&there, "metadata.uid") != text(pod, "metadata.uid") => self.tell_gone(pod, how),
                    Ok(there) if self.is_skipped(&there) => {
                        let limit = self.args.value("skip-wait-for-delete-timeout");
                        let older = format!("has DeletionTimestamp older than {limit} seconds, skipping");
                        self.cx.line(format!("pod {name:?} {older}"));
                    }
                    Ok(_) => left.push(pod),
                    Err(fault) if fault.is_not_found() => self.tell_gone(pod, how),
                    Err(fault) => return Err(fault.message()),
                }
            }
            if left.is_empty() {
                return Ok(());
            }
            pending = left;
            self.cx.sleep(self.next_poll()).await;
            if let Some(limit) = self.expired() {
                return Err(format!("global timeout reached: {limit}"));
            }
        }
    }

    fn tell_evicting(&self, pod: &Value) {
        let (namespace, name) = namespace_and_name(pod);
        self.cx.line(format!("evicting pod {namespace}/{name}{}", dry_run_note(self.args)));
    }

    fn tell_gone(&self, pod: &Value, how: &str) {
        self.cx.line(format!("{} {how}{}", qualified_name(pod), dry_run_note(self.args)));
    }

    /// A second, or what is left until it gives up.
    fn next_poll(&self) -> Duration {
        self.deadline.map_or(POLL, |(due, _)| POLL.min(due - self.cx.client.now()))
    }

    /// The time that was given, if it is over.
    fn expired(&self) -> Option<String> {
        let (_, limit) = self.deadline.filter(|(due, _)| *due <= self.cx.client.now())?;
        Some(go_duration(limit))
    }
}

/// When the server wants to be asked again, if it says so.
fn retry_after(status: &Status) -> Option<Duration> {
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_errors_are_one() {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(aggregate(&texts(&["a"])), "a");
        assert_eq!(aggregate(&texts(&["a", "b", "a"])), "[a, b]");
    }
}
