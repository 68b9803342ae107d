//! Lifecycle hooks: what a container has done when it has started, and before it is stopped.
//!
//! Mirrors `pkg/kubelet/lifecycle/handlers.go`, which has forgotten how to open a TCP connection. Events do not say what went
//! wrong, lest a secret be in it; the status does.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ExecAction, LifecycleHandler, Probe};

use crate::pod_types::pod_text;
use crate::shared::Shared;
use object::Pod;

/// What a hook came to that has not failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    /// It is done.
    Done,
    /// Its time is over, and it runs on.
    RunsOn,
}

impl Shared {
    /// Runs a hook, for `limit` seconds at most (0: as long as it takes).
    pub(super) async fn run_hook(
        &self,
        pod: &Pod,
        name: &str,
        id: &str,
        hook: &LifecycleHandler,
        limit: i64,
    ) -> Result<Hook, String> {
        let failed = |kind: &str, what: &str, why: &str| {
            let pod = pod_text(pod);
            format!("{kind} lifecycle hook ({what}) for Container {name:?} in Pod {pod:?} failed - error: {why}")
        };
        if let Some(exec) = &hook.exec {
            let command = exec.command.clone().unwrap_or_default();
            return self.run_command(id, exec, limit).await.map_err(|why| {
                let what = format!("[{}]", command.join(" "));
                failed("Exec", &what, &why)
            });
        }
        if let Some(http) = &hook.http_get {
            let request = Probe { http_get: Some(http.clone()), ..Probe::default() };
            let path = http.path.as_deref().unwrap_or_default();
            let began = self.hub.now();
            let limit = (limit > 0).then(|| Duration::from_secs(limit.unsigned_abs()));
            // Any answer is one; a probe would ask for a good one.
            return match self.call_pod(pod, name, &request, limit).await {
                Ok((success, output)) if success || output.starts_with("HTTP probe failed") => Ok(Hook::Done),
                _ if limit.is_some_and(|limit| self.hub.now() - began >= limit) => Ok(Hook::RunsOn),
                Ok((_, output)) => Err(failed("HTTP", path, &output)),
                Err(error) => Err(failed("HTTP", path, &error)),
            };
        }
        let Some(sleep) = &hook.sleep else { return Err("Cannot run handler: invalid handler".to_owned()) };
        let seconds = if limit > 0 { sleep.seconds.min(limit) } else { sleep.seconds };
        self.hub.sleep(Duration::from_secs(seconds.max(0) as u64)).await;
        Ok(Hook::Done)
    }

    async fn run_command(&self, id: &str, exec: &ExecAction, limit: i64) -> Result<Hook, String> {
        let command = exec.command.clone().unwrap_or_default();
        match self.exec(id, &command, limit).await {
            Ok(ran) if ran.code == 0 => Ok(Hook::Done),
            Ok(ran) => {
                let (command, code, errors) = (command.join(" "), ran.code, &ran.errors);
                let message = ran.all();
                Err(format!("command '{command}' exited with {code}: {errors}, message: {message:?}"))
            }
            Err(error) if error.code == "DeadlineExceeded" => Ok(Hook::RunsOn),
            Err(error) => Err(format!("{error}, message: \"\"")),
        }
    }
}
