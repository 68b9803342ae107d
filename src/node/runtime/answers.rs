//! What a container answers from outside: commands that are run in it.

use std::time::Duration;

use super::state::State;
use super::{Inner, files, no_container, process};
use crate::engine::RpcError;
use crate::node::cri::{self, CriResponse};

impl Inner {
    /// A command that takes its time, and is given up when the timeout is over.
    pub(super) async fn exec_for(&self, id: &str, command: &[String], timeout: i64) -> Result<CriResponse, RpcError> {
        let time = process::time_of(command);
        let limit = Duration::from_secs(u64::try_from(timeout).unwrap_or(0));
        if !limit.is_zero() && time > limit {
            self.hub.sleep(limit).await;
            let why = format!("failed to exec in container: timeout {timeout}s exceeded: context deadline exceeded");
            return Err(cri::error("DeadlineExceeded", why));
        }
        self.hub.sleep(time).await;
        self.exec(&self.state.borrow(), id, command)
    }

    /// `cat FILE` sees the files of volumes, and those that the scenario put there; what a shell would print and how it
    /// would end is known of a few commands, see [`process`]; all others do well.
    pub(super) fn exec(&self, state: &State, id: &str, command: &[String]) -> Result<CriResponse, RpcError> {
        let container = state.containers.get(id).ok_or_else(|| no_container(id))?;
        let sandbox = state.sandboxes.get(&container.status.sandbox_id).ok_or_else(|| no_container(id))?;
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let (output, exit_code) = match words.as_slice() {
            ["cat", file] => {
                let pod = format!("{}/{}", sandbox.config.namespace, sandbox.config.name);
                if state.files.contains(&(pod, (*file).to_owned())) {
                    (String::new(), 0)
                } else {
                    match self.read_file(container, file) {
                        Some(text) => (text, 0),
                        None => (format!("{}\n", files::not_found(file)), 1),
                    }
                }
            }
            _ => {
                let plan = process::plan("", command, &[]).with_environment(&container.config.envs);
                let printed = plan.prints.iter().map(|(_, line)| format!("{line}\n")).collect();
                (printed, plan.ends.map_or(0, |(_, code)| code))
            }
        };
        Ok(CriResponse::Exec { output, exit_code })
    }
}
