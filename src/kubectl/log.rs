//! A container's log as its kubelet gives it: to `kubectl logs`, and to clients outside. Mirrors `GetKubeletContainerLogs`
//! and `validateContainerLogStatus` of the kubelet, and `ReadLogs` of `k8s.io/cri-client/pkg/logs`.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use object::Status;
use object::time::Instant;

use crate::nodes::{Log, Nodes};
use crate::print::fields::{flag, int, list, namespace_and_name, text};

/// Which lines of a log are given, and how. Mirrors `PodLogOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// So many of the last lines; all unless given.
    pub tail: Option<usize>,
    /// So many bytes at most.
    pub bytes: Option<usize>,
    /// Lines of that time and later.
    pub since: Option<Timestamp>,
    /// Of the container before this one.
    pub previous: bool,
    /// Each line behind its time.
    pub timestamps: bool,
}

/// A log that is read, and how far it has been.
#[derive(Clone, Debug)]
pub struct Reading {
    /// `namespace/name` of the Pod.
    pub pod: String,
    /// The container.
    pub container: String,
    pod_uid: String,
    attempt: u32,
    wanted: Wanted,
    /// So many of its lines were given, or passed over.
    seen: usize,
    /// So many bytes may still be given.
    left: usize,
}

/// What comes of opening a log.
#[derive(Clone, Debug)]
pub enum Opened {
    /// It can be read.
    Reading(Reading),
    /// The container is gone, and its log with it: what is said of that.
    Gone(String),
    /// It has printed nothing yet.
    Empty,
}

impl Reading {
    /// Opens the log of a container of a Pod, as the Pod's status tells of it.
    ///
    /// # Errors
    /// The container waits to start, or there was none before it.
    pub fn open(
        pod: &Value,
        container: &str,
        wanted: Wanted,
        nodes: &dyn Nodes,
        now: Timestamp,
    ) -> Result<Opened, Status> {
        let (namespace, name) = namespace_and_name(pod);
        let status = status_of(pod, container);
        if !wanted.previous
            && let Some(reason) = waiting(status)
        {
            let why = format!("container \"{container}\" in pod \"{name}\" is waiting to start: {reason}");
            return Err(Status::bad_request(why));
        }
        let log = nodes.log(&format!("{namespace}/{name}"), container);
        let log = log.as_ref().filter(|log| log.pod_uid == text(pod, "metadata.uid"));
        let id = status.map_or("", |status| text(status, "state.terminated.containerID"));
        if log.is_none() && !wanted.previous && !id.is_empty() {
            return Ok(Opened::Gone(format!("unable to retrieve container logs for {id}")));
        }
        // As far as the Pod's status knows: another container may have been started meanwhile.
        let told =
            |log: &Log| status.map_or(log.attempt, |status| u32::try_from(int(status, "restartCount")).unwrap_or(0));
        let attempt = match wanted.previous {
            false => log.map(told),
            true => Some(
                log.and_then(|log| told(log).checked_sub(1).filter(|attempt| log.of(*attempt).is_some())).ok_or_else(
                    || {
                        let why = format!("previous terminated container \"{container}\" in pod \"{name}\" not found");
                        Status::bad_request(why)
                    },
                )?,
            ),
        };
        let (Some(log), Some(attempt)) = (log, attempt) else { return Ok(Opened::Empty) };
        let there = there(log.of(attempt).unwrap_or_default(), now);
        Ok(Opened::Reading(Reading {
            pod: format!("{namespace}/{name}"),
            container: container.to_owned(),
            pod_uid: text(pod, "metadata.uid").to_owned(),
            attempt,
            seen: wanted.tail.map_or(0, |tail| there.saturating_sub(tail)),
            left: wanted.bytes.unwrap_or(usize::MAX),
            wanted,
        }))
    }

    /// The lines that are there by now and were not yet given, each with its end. The last may be cut.
    pub fn read(&mut self, nodes: &dyn Nodes, now: Timestamp) -> Vec<String> {
        let Some(log) = self.file(nodes) else { return Vec::new() };
        let lines = log.of(self.attempt).unwrap_or_default();
        let there = there(lines, now);
        // A file that has grown too long was begun anew.
        let new = self.seen.min(there)..there;
        let mut given = Vec::new();
        for (at, line) in new.map(|number| (written(lines, number).timestamp(), &lines[number].1)) {
            if self.wanted.since.is_some_and(|since| at < since) {
                continue;
            }
            let time = match self.wanted.timestamps {
                true => format!("{} ", at.strftime("%Y-%m-%dT%H:%M:%S.%9fZ")),
                false => String::new(),
            };
            let mut line = format!("{time}{line}\n");
            let end = (0..=self.left.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or_default();
            self.left -= end;
            line.truncate(end);
            given.extend(Some(line).filter(|line| !line.is_empty()));
        }
        self.seen = there;
        given
    }

    /// Whether more may come.
    pub fn goes_on(&self, nodes: &dyn Nodes) -> bool {
        let log = self.file(nodes).filter(|log| log.of(self.attempt).is_some());
        log.is_some_and(|log| self.left > 0 && log.attempt == self.attempt && !log.ended)
    }

    /// How long it takes until its next line, if that is known.
    pub fn next(&self, nodes: &dyn Nodes, now: Instant) -> Option<Duration> {
        let log = self.file(nodes)?;
        let (at, _) = log.lines.iter().find(|(at, _)| *at > now)?;
        Some(*at - now)
    }

    fn file(&self, nodes: &dyn Nodes) -> Option<Log> {
        nodes.log(&self.pod, &self.container).filter(|log| *log.pod_uid == *self.pod_uid)
    }
}

/// What the Pod's status says of a container.
pub fn status_of<'a>(pod: &'a Value, container: &str) -> Option<&'a Value> {
    let lists = ["status.containerStatuses", "status.initContainerStatuses", "status.ephemeralContainerStatuses"];
    lists.into_iter().flat_map(|path| list(pod, path)).find(|status| text(status, "name") == container)
}

/// How many of these lines are printed by now.
fn there(lines: &[(Instant, String)], now: Timestamp) -> usize {
    lines.partition_point(|(at, _)| at.timestamp() <= now)
}

/// When a line was written. The runtime takes each from the process by itself, so no two of them have the same time, and clients
/// that read on pass over lines that are no later than the last: lines of one moment are a nanosecond apart.
fn written(lines: &[(Instant, String)], number: usize) -> Instant {
    let (at, _) = lines[number];
    let first = lines.partition_point(|(before, _)| *before < at);
    at + Duration::from_nanos((number - first) as u64)
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
