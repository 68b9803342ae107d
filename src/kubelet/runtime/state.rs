//! What the runtime knows: sandboxes, containers, images. Plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::process::Plan;
use super::typing::Typing;
use crate::cri::{ContainerConfig, ContainerState, ContainerStatus, Image, PodSandboxStatus};
use engine::{CallId, Memory, TimerId};
use network::disk::{Contents, Tree};
use object::Shared;
use object::text::Text;
use object::time::Instant;
use userland::shell::run::Shell;

/// How one image behaves, where a scenario says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageScript {
    /// Pulling it fails with this text.
    pub pull_error: Option<String>,
    /// Pulling it takes this long.
    pub pull_time: Option<Duration>,
    /// Its process ends after so long with this code.
    pub exits: Option<(Duration, i32)>,
    /// Probes of it succeed only after so long.
    pub ready_after: Option<Duration>,
    /// What it prints when it starts.
    pub logs: Vec<String>,
}

/// What containers have printed, by Pod (`namespace/name`) and container: the log files of all nodes.
pub type Journal = Memory<BTreeMap<(String, String), Log>>;

/// What a container has printed, and the one that it has replaced.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Whose container it is: a Pod of the same name is another Pod.
    pub pod_uid: Text,
    /// How many containers of its name came before it in the Pod, whose status calls that its restart count.
    pub attempt: u32,
    /// Lines, and when they are printed. Those that the process will print later are there already.
    pub lines: Vec<(Instant, String)>,
    /// The lines of the attempt before this one.
    pub before: Option<Vec<(Instant, String)>>,
    /// Its process has ended, and prints nothing more.
    pub ended: bool,
    /// How long the file is by now.
    bytes: usize,
}

/// Mirrors the kubelet's `containerLogMaxSize`, 10Mi. A longer file is put aside, and `kubectl logs` shows the one that was
/// begun then; here the old one is gone.
const LOG_MAX: usize = 10 << 20;

/// `MaxContainerTerminationMessageLength`.
const MESSAGE_MAX: usize = 4096;
/// `MaxContainerTerminationMessageLogLength`.
const LOG_MESSAGE_MAX: usize = 2048;
/// `MaxContainerTerminationMessageLogLines`.
const LOG_MESSAGE_LINES_MAX: usize = 80;

/// The last so many bytes of a text, or a little less.
fn end_of(text: &str, at_most: usize) -> &str {
    let mut from = text.len().saturating_sub(at_most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// What stands before each line in the file: its time, its stream and a flag.
const LINE_HEAD: usize = "2006-01-02T15:04:05.000000000Z stdout F \n".len();

impl Log {
    /// Adds lines, before those that will be printed later and are there already.
    pub fn print(&mut self, now: Instant, said: &str) {
        let length: usize = said.lines().map(|line| line.len() + LINE_HEAD).sum();
        if self.bytes + length > LOG_MAX {
            self.lines.retain(|(at, _)| *at > now);
            self.bytes = 0;
        }
        self.bytes += length;
        let at = self.lines.partition_point(|(at, _)| *at <= now);
        self.lines.splice(at..at, said.lines().map(|line| (now, line.to_owned())));
    }

    /// What that attempt has printed, if it is one of the last two.
    pub fn of(&self, attempt: u32) -> Option<&[(Instant, String)]> {
        match self.attempt.checked_sub(attempt)? {
            0 => Some(&self.lines),
            1 => self.before.as_deref(),
            _ => None,
        }
    }

    /// The log of the next attempt.
    fn next(self, pod_uid: &Text, attempt: u32, lines: Vec<(Instant, String)>) -> Log {
        let before = (self.pod_uid == *pod_uid).then_some(self.lines);
        Log { pod_uid: pod_uid.clone(), attempt, lines, before, ended: false, bytes: 0 }
    }
}

/// One container.
#[derive(Clone, Debug)]
pub struct Container {
    /// As the CRI tells it.
    pub status: Shared<ContainerStatus>,
    /// What it was made from.
    pub config: Shared<ContainerConfig>,
    /// What its process will do.
    pub plan: Plan,
    /// The shell that runs its commands, between two of them.
    pub shell: Option<Shell>,
    /// How often that has had to wait: what it waited for earlier means nothing.
    pub waits: u64,
    /// What will happen to its process at a time that is known.
    pub timers: Vec<(&'static str, TimerId)>,
    /// Who waits for its end, which it was asked for.
    pub stopped_by: Vec<CallId>,
    /// Files that are in no volume; they go with the container.
    pub layer: Tree,
}

/// Everything the runtime of one node knows.
#[derive(Clone, Debug)]
pub struct State {
    /// By id.
    pub sandboxes: BTreeMap<Text, Shared<PodSandboxStatus>>,
    /// By id.
    pub containers: BTreeMap<Text, Box<Container>>,
    /// Ids of sandboxes that are attached to a network.
    pub attached: BTreeSet<Text>,
    /// Ids of a Pod's sandboxes, oldest first, by the Pod's uid.
    pub sandboxes_of: BTreeMap<Text, Vec<Text>>,
    /// Ids of a Pod's containers, oldest first, by the Pod's uid.
    pub containers_of: BTreeMap<Text, Vec<Text>>,
    /// Pulled images by name.
    pub images: BTreeMap<String, Image>,
    /// How images behave, by name or by name without tag.
    pub scripts: BTreeMap<String, ImageScript>,
    /// Where what processes print goes.
    pub journal: Journal,
    /// Files that exec probes see: `namespace/pod` and path.
    pub files: BTreeSet<(String, String)>,
    /// Connections of those who type, by number.
    pub streams: BTreeMap<u64, Typing>,
    /// The number of the last of them.
    pub last_stream: u64,
}

impl State {
    /// A runtime that has not run anything.
    pub fn new(journal: Journal) -> State {
        State {
            sandboxes: BTreeMap::new(),
            attached: BTreeSet::new(),
            containers: BTreeMap::new(),
            sandboxes_of: BTreeMap::new(),
            containers_of: BTreeMap::new(),
            images: BTreeMap::new(),
            scripts: BTreeMap::new(),
            journal,
            files: BTreeSet::new(),
            streams: BTreeMap::new(),
            last_stream: 0,
        }
    }

    /// The script for an image, if a scenario gave one.
    pub fn script(&self, image: &str) -> Option<&ImageScript> {
        let untagged = image.split(['@']).next().unwrap_or(image);
        let untagged = untagged.rsplit_once(':').map_or(untagged, |(name, _)| name);
        self.scripts.get(image).or_else(|| self.scripts.get(untagged))
    }

    /// The containers of a Pod, newest first.
    pub fn containers_of(&self, pod_uid: &str) -> Vec<Shared<ContainerStatus>> {
        let ids = self.containers_of.get(pod_uid).into_iter().flatten().rev();
        ids.filter_map(|id| Some(self.containers.get(id)?.status.clone())).collect()
    }

    /// The sandboxes of a Pod, newest first.
    pub fn sandboxes_of(&self, pod_uid: &str) -> Vec<Shared<PodSandboxStatus>> {
        let ids = self.sandboxes_of.get(pod_uid).into_iter().flatten().rev();
        ids.filter_map(|id| self.sandboxes.get(id).cloned()).collect()
    }

    /// Marks a container's process as ended. False if it was not running.
    pub fn exit(&mut self, id: &str, code: i32, reason: &str, now: Instant) -> bool {
        let Some(container) = self.containers.get_mut(id) else { return false };
        if container.status.state != ContainerState::ContainerRunning {
            return false;
        }
        let status = &mut *container.status;
        status.state = ContainerState::ContainerExited;
        status.exit_code = code;
        status.finished_at = now;
        status.reason = reason.into();
        // What it would have printed later it will not.
        if let Some(key) = self.journal_key(id) {
            let mut journal = self.journal.borrow_mut();
            let log = journal.entry(key).or_default();
            log.lines.retain(|(at, _)| *at <= now);
            log.ended = true;
        }
        let last_words = self.last_words(id, code);
        if let Some(container) = self.containers.get_mut(id).filter(|_| !last_words.is_empty()) {
            container.status.message = last_words.into();
        }
        true
    }

    /// What a container that has just ended leaves as its message. Mirrors `getTerminationMessage`.
    fn last_words(&self, id: &str, code: i32) -> String {
        let Some(container) = self.containers.get(id) else { return String::new() };
        let said = container.layer.read(&container.config.termination_message_path).unwrap_or_default();
        if !said.is_empty() || code == 0 || !container.config.falls_back_to_logs {
            return end_of(&said, MESSAGE_MAX).to_owned();
        }
        let Some(key) = self.journal_key(id) else { return String::new() };
        let journal = self.journal.borrow();
        let lines = journal.get(&key).map_or(&[][..], |log| &log.lines);
        let last = &lines[lines.len().saturating_sub(LOG_MESSAGE_LINES_MAX)..];
        let printed: String = last.iter().map(|(_, line)| format!("{line}\n")).collect();
        end_of(&printed, LOG_MESSAGE_MAX).to_owned()
    }

    /// A container begins to print these lines, with their times.
    pub fn begin_log(&mut self, id: &str, lines: Vec<(Instant, String)>) {
        let (Some(key), Some(container)) = (self.journal_key(id), self.containers.get(id)) else { return };
        let mut journal = self.journal.borrow_mut();
        let before = journal.remove(&key).unwrap_or_default();
        journal.insert(key, before.next(&container.status.pod_uid, container.status.attempt, lines));
    }

    /// Where the log of a container is.
    fn journal_key(&self, id: &str) -> Option<(String, String)> {
        let container = self.containers.get(id)?;
        let sandbox = &self.sandboxes.get(&container.status.sandbox_id)?.config;
        Some((format!("{}/{}", sandbox.namespace, sandbox.name), container.config.name.clone()))
    }

    /// Forgets a container, and with the last of its name what they have printed.
    pub fn remove_container(&mut self, id: &str) {
        if self.is_last_of_its_name(id) {
            self.remove_log(id);
        }
        if let Some(container) = self.containers.remove(id) {
            forget(&mut self.containers_of, &container.status.pod_uid, id);
        }
    }

    /// Another Pod of the same name may have begun a log there meanwhile.
    fn remove_log(&mut self, id: &str) {
        let (Some(key), Some(container)) = (self.journal_key(id), self.containers.get(id)) else { return };
        let mut journal = self.journal.borrow_mut();
        if journal.get(&key).is_some_and(|log| log.pod_uid == container.status.pod_uid) {
            journal.remove(&key);
        }
    }

    fn is_last_of_its_name(&self, id: &str) -> bool {
        let Some(own) = self.containers.get(id).map(|container| &container.status) else { return false };
        let of_pod = self.containers_of.get(&*own.pod_uid).into_iter().flatten().filter(|other| *other != id);
        !of_pod.filter_map(|other| self.containers.get(other)).any(|other| other.status.name == own.name)
    }

    /// Forgets a sandbox.
    pub fn remove_sandbox(&mut self, id: &str) {
        if let Some(sandbox) = self.sandboxes.remove(id) {
            forget(&mut self.sandboxes_of, &sandbox.config.uid, id);
        }
    }
}

fn forget(index: &mut BTreeMap<Text, Vec<Text>>, uid: &str, id: &str) {
    if let Some(ids) = index.get_mut(uid) {
        ids.retain(|other| *other != *id);
        if ids.is_empty() {
            index.remove(uid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_too_long_begins_anew() {
        let mut log = Log { lines: vec![(Instant(9), "later".to_owned())], ..Log::default() };
        let line = "a".repeat(LOG_MAX / 4);
        for _ in 0..10 {
            log.print(Instant(1), &line);
            assert!(log.lines.len() <= 4 && log.bytes <= LOG_MAX);
        }
        assert_eq!(log.lines.last(), Some(&(Instant(9), "later".to_owned())));
    }
}
