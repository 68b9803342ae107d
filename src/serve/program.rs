//! The user's program, as a trial runs it: with a kubeconfig, in a group of its own, killed with all that it has started.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// So much of what it prints is kept.
const KEPT: usize = 4 << 10;
/// So many lines of that are shown.
const LINES: usize = 12;

/// One that runs. It is killed with the value.
pub struct Program {
    child: Child,
    printed: Printed,
}

/// The end of what was printed, by all that were started for one trial.
#[derive(Clone, Default)]
pub struct Printed(Arc<Mutex<VecDeque<u8>>>);

impl Printed {
    /// Its last lines.
    pub fn last(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect::<Vec<u8>>();
        let text = String::from_utf8_lossy(&kept).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].iter().map(|line| format!("  {line}"));
        last.collect::<Vec<String>>().join("\n")
    }

    /// Keeps what comes, on a thread of its own: until the last of those who print it has ended.
    fn keep(&self, mut pipe: impl Read + Send + 'static) {
        let kept = self.0.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 12];
            while let Ok(size @ 1..) = pipe.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&buffer[..size]);
                let more = kept.len().saturating_sub(KEPT);
                kept.drain(..more);
            }
        });
    }
}

impl Program {
    /// Starts a line of a shell.
    ///
    /// # Errors
    /// There is no shell.
    pub fn start(line: &str, kubeconfig: &Path, printed: &Printed) -> io::Result<Program> {
        let mut command = match cfg!(unix) {
            true => Command::new("sh"),
            false => Command::new("cmd"),
        };
        command.args([if cfg!(unix) { "-c" } else { "/C" }, line]).env("KUBECONFIG", kubeconfig);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        child.stdout.take().into_iter().for_each(|pipe| printed.keep(pipe));
        child.stderr.take().into_iter().for_each(|pipe| printed.keep(pipe));
        Ok(Program { child, printed: printed.clone() })
    }

    /// Kills it, and all that it has started and that is in its group.
    pub fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            // What has ended meanwhile is as it is wanted.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// How it has ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// What it has printed.
    pub fn printed(&self) -> &Printed {
        &self.printed
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}
