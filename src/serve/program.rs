//! The user's program, as a trial runs it: with a kubeconfig, in a group of its own, killed with all that it has started.
//!
//! Left out: where there is no `/proc`, a program that works and sends nothing looks like one that waits.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant as WallInstant};

/// So much of what it prints is kept.
const KEPT: usize = 4 << 10;
/// So many lines of that are shown.
const LINES: usize = 12;
/// How often is looked at the processor time of the group.
const LOOK: Duration = Duration::from_millis(200);
/// A group that has taken so many hundredths of a second of it since works. One that waits takes hardly any.
const WORKS: u64 = 2;

/// One that runs. It is killed with the value.
pub struct Program {
    child: Child,
    printed: Printed,
    /// When was looked at its processor time last, and how much it was.
    looked: (WallInstant, u64),
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
        Ok(Program { child, printed: printed.clone(), looked: (wall(), 0) })
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

    /// Whether it has taken processor time of late.
    pub fn works(&mut self) -> bool {
        let (then, before) = self.looked;
        if then.elapsed() < LOOK {
            return false;
        }
        let taken = processor_time(self.child.id());
        self.looked = (wall(), taken);
        // The time of a process that has ended is in it no more.
        taken.abs_diff(before) >= WORKS
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

/// What a group has taken of the processor, in hundredths of a second, as Linux counts.
fn processor_time(group: u32) -> u64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
    stats.filter_map(|stat| time_of(&stat, group)).sum()
}

/// The same of one process, if it is in the group: `ID (NAME) STATE PARENT GROUP …`.
fn time_of(stat: &str, group: u32) -> Option<u64> {
    // The name may have anything in it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    (number(2)? == u64::from(group)).then_some(number(11)? + number(12)?)
}

/// The clock on the wall.
#[allow(clippy::disallowed_methods, reason = "how long a program outside is waited for; what comes of it is a choice")]
pub fn wall() -> WallInstant {
    WallInstant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_that_of_the_group() {
        let stat = "7 (a ) b) S 1 5 5 0 -1 4194304 1 0 0 0 30 4 0 0 20 0 1 0 100";
        assert_eq!((time_of(stat, 5), time_of(stat, 7), time_of("", 5)), (Some(34), None, None));
    }
}
