//! What runs inside a container: a process that ends, or does not, in virtual time.
//!
//! No program is run. An image without a command serves for ever and ends well when asked to, as nginx does. What a command
//! does is found out as it runs, see [`super::running`]: of each program in it is known whether it is one that ends
//! (`programs::ENDS`), and what those do that are simulated is done.
//!
//! A program that is not known serves for ever, too; in an init container or in a Job, which would not come to its end, it
//! does its work and ends well.
//!
//! Left out: what the others print, `perl` say, and that any of them may fail; the end of what takes longer than a hundred
//! years.

use std::rc::Rc;
use std::time::Duration;

use super::registry::{base_name, is_official};
use crate::cri::ContainerConfig;
use network::kernel::sockets;
use userland::shell::{self, Program};

/// What a process will do without interference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// When it ends by itself, and with what code; None: never, or that is not known yet.
    pub ends: Option<(Duration, i32)>,
    /// What it prints, and when.
    pub prints: Vec<(Duration, String)>,
    /// The commands that it runs.
    pub program: Option<Rc<Program>>,
    /// Whether it is a server from the beginning, which may listen.
    pub serves: bool,
    /// It ends because it takes more memory than it may.
    pub out_of_memory: bool,
    /// What it does on SIGTERM: ends with this code after so long; None: it ignores the signal. As process 1 of a
    /// container a shell does.
    pub on_sigterm: Option<(Duration, i32)>,
}

impl Plan {
    /// It takes more memory than it may, and is killed for it.
    pub(super) fn fill_memory(&mut self) {
        (self.ends, self.out_of_memory) = (Some((FILLING, SIGKILLED)), true);
    }
}

/// Exit code of a process that was killed by SIGKILL.
pub(super) const SIGKILLED: i32 = 137;
/// How long a server takes to end well.
const SHUTDOWN: Duration = Duration::from_millis(150);

/// What a container's process is told: where the image says what it runs, words alone are that one's arguments.
pub(super) fn words_of(config: &ContainerConfig) -> Vec<String> {
    let words = [config.command.as_slice(), &config.args].concat();
    let is_curls = |word: &String| word.starts_with('-') || word.contains("://");
    match base_name(&config.image) == "curl" && config.command.is_empty() && words.first().is_some_and(is_curls) {
        true => [&["curl".to_owned()], words.as_slice()].concat(),
        false => words,
    }
}

/// How long the script takes that looks whether a database can start.
pub(super) const ENTRYPOINT: Duration = Duration::from_millis(300);
/// How long a program runs that is not known and is assumed to end.
pub(super) const WORK: Duration = Duration::from_secs(5);

/// How long it takes to fill all the memory there is.
pub(super) const FILLING: Duration = Duration::from_millis(500);

/// Images that end at once when they are given nothing to do: a shell or an interpreter that finds its input at an end.
const SHORT_LIVED: &[(&str, &str)] = &[
    ("busybox", ""),
    ("alpine", ""),
    ("ubuntu", ""),
    ("debian", ""),
    ("bash", ""),
    ("python", ""),
    ("perl", ""),
    ("node", ""),
    ("hello-world", "Hello from Docker!"),
];

/// Programs that do what they read, and end with it.
const SHELLS: &[&str] = &["ash", "bash", "node", "perl", "python", "python3", "sh"];

/// What a container does. A shell whose input stays open waits for it.
pub fn plan(config: &ContainerConfig) -> Plan {
    match words_of(config).as_slice() {
        [] if config.stdin && SHORT_LIVED.contains(&(base_name(&config.image), "")) => Plan::default(),
        [shell] if config.stdin && SHELLS.contains(&shell::program(shell)) => Plan::default(),
        words if config.stdin && shell::reads_commands(words) => Plan::default(),
        [] => of_image(config),
        words => Plan { program: Some(Program::of(words)), ..Plan::default() },
    }
}

/// The shell that a container's process is, if it waits for input; None: it reads nothing, or it is not known
/// what it does with it.
pub fn reads(config: &ContainerConfig) -> Option<String> {
    let words = words_of(config);
    let of_image = || match base_name(&config.image) {
        "busybox" | "alpine" => Some("sh"),
        "ubuntu" | "debian" | "bash" => Some("bash"),
        _ => None,
    };
    let shell = match words.as_slice() {
        _ if !config.stdin => return None,
        [] => of_image()?.to_owned(),
        words => words.first().filter(|_| shell::reads_commands(words))?.clone(),
    };
    Some(shell)
}

/// What an image does that is not known and is assumed to end.
pub(super) fn does_its_work() -> Plan {
    Plan { ends: Some((WORK, 0)), ..Plan::default() }
}

fn of_image(config: &ContainerConfig) -> Plan {
    let name = base_name(&config.image);
    let is_known = is_official(&config.image) || sockets::is_well_known(&config.image);
    match SHORT_LIVED.iter().find(|(short, _)| *short == name) {
        Some((_, "")) => Plan { ends: Some((Duration::ZERO, 0)), ..Plan::default() },
        Some((_, says)) => {
            let prints = vec![(Duration::ZERO, (*says).to_owned())];
            Plan { ends: Some((Duration::ZERO, 0)), prints, ..Plan::default() }
        }
        None if config.task.is_some() && !is_known => does_its_work(),
        None => Plan { serves: true, on_sigterm: Some((SHUTDOWN, 0)), ..Plan::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_runs_until_it_is_told_to_stop() {
        let of = |image: &str, command: &[&str], stdin: bool| {
            let command = command.iter().map(|word| (*word).to_owned()).collect();
            plan(&ContainerConfig { image: image.to_owned(), command, stdin, ..ContainerConfig::default() })
        };
        let server = of("nginx:1.27", &[], false);
        assert_eq!((server.ends, server.on_sigterm), (None, Some((SHUTDOWN, 0))));
        assert_eq!(of("docker.io/library/busybox", &[], false).ends, Some((Duration::ZERO, 0)));
        for waits in [of("busybox", &[], true), of("nginx", &["/bin/sh"], true)] {
            assert_eq!(waits, Plan::default(), "a shell, process 1, waits and minds no SIGTERM");
        }
        assert!(of("busybox", &["sh", "-c", "exit 1"], true).program.is_some());
    }
}
