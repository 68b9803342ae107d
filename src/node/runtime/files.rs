//! What a container sees of files: its volumes, which are the node's, and its own layer.

use std::time::Duration;

use super::process::FileAct;
use super::state::Container;
use super::{FILE, Inner};
use crate::node::cri::ContainerConfig;
use crate::node::disk::Contents;

impl Inner {
    /// Does at once what a process does with files when it starts, and arms timers for the rest.
    pub(super) fn use_files(&self, id: &str) {
        let plan = self.state.borrow().containers.get(id).map(|c| c.plan.files.clone()).unwrap_or_default();
        for (number, (after, act)) in plan.iter().enumerate() {
            if *after == Duration::ZERO {
                self.use_file(id, act);
            } else {
                self.hub.wake(self.actor, FILE, format!("{id} {number}"), *after);
            }
        }
    }

    /// A process that still runs reads or writes a file.
    pub(super) fn file_due(&self, key: &str) {
        let Some((id, number)) = key.split_once(' ') else { return };
        let act = {
            let state = self.state.borrow();
            let running = state.containers.get(id).filter(|c| c.status.exit_code == 0 && c.status.reason.is_empty());
            running.and_then(|c| c.plan.files.get(number.parse::<usize>().ok()?).map(|(_, act)| act.clone()))
        };
        if let Some(act) = act {
            self.use_file(id, &act);
        }
    }

    fn use_file(&self, id: &str, act: &FileAct) {
        let Some(container) = self.state.borrow().containers.get(id).cloned() else { return };
        let said = match act {
            FileAct::Write { path, text, append } => {
                let written = match host_path(&container.config, path) {
                    Some(path) => self.networks.host().disk.write(&path, text, *append),
                    None => container.layer.write(path, text, *append),
                };
                self.text(|| format!("{} writes to {path}", container.config.name));
                written.err().map(|why| format!("sh: can't create {path}: {why}"))
            }
            FileAct::Remove { path } => {
                let removed = match host_path(&container.config, path) {
                    Some(path) => self.networks.host().disk.remove(&path),
                    None => container.layer.remove(path),
                };
                self.text(|| format!("{} removes {path}", container.config.name));
                removed.err().map(|why| format!("rm: can't remove '{path}': {why}"))
            }
            FileAct::Print { path } => {
                Some(self.read_file(&container, path).unwrap_or_else(|| not_found(path)).trim_end().to_owned())
            }
        };
        let state = self.state.borrow();
        if let (Some(said), Some(sandbox)) = (said, state.sandboxes.get(&container.status.sandbox_id)) {
            let now = self.hub.now();
            let pod = format!("{}/{}", sandbox.config.namespace, sandbox.config.name);
            let mut journal = state.journal.borrow_mut();
            let lines = journal.entry((pod, container.config.name.clone())).or_default();
            // What is printed later is there already.
            let place = lines.partition_point(|(at, _)| *at <= now);
            lines.splice(place..place, said.lines().map(|line| (now, line.to_owned())));
        }
    }

    /// The text of a file as the container sees it.
    pub(super) fn read_file(&self, container: &Container, path: &str) -> Option<String> {
        match host_path(&container.config, path) {
            Some(path) => self.networks.host().disk.read(&path),
            None => container.layer.read(path),
        }
    }
}

/// Where a path of the container is on the host; None if it is in no volume. The longest mount point counts.
fn host_path(config: &ContainerConfig, path: &str) -> Option<String> {
    let inside = |point: &str| {
        let rest = path.strip_prefix(point.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    };
    let found = config.mounts.iter().filter_map(|(point, host)| Some((point.len(), inside(point)?, host)));
    found.max_by_key(|(len, _, _)| *len).map(|(_, rest, host)| format!("{host}{rest}"))
}

/// What `cat` says of a file that is not there.
pub(super) fn not_found(path: &str) -> String {
    format!("cat: can't open '{path}': No such file or directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_through_the_longest_mount() {
        let mount = |at: &str, host: &str| (at.to_owned(), host.to_owned());
        let mounts = vec![mount("/data", "/h/a"), mount("/data/deep", "/h/b"), mount("/etc/app/", "/h/c")];
        let config = ContainerConfig { mounts, ..ContainerConfig::default() };
        for (path, host) in [
            ("/data/f", Some("/h/a/f")),
            ("/data/deep/f", Some("/h/b/f")),
            ("/data", Some("/h/a")),
            ("/database", None),
            ("/etc/app/x", Some("/h/c/x")),
            ("/tmp/x", None),
        ] {
            assert_eq!(host_path(&config, path).as_deref(), host, "{path}");
        }
    }
}
