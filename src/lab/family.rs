//! A program and all that it starts, and starts in turn: limited, watched and ended as one.
//!
//! Accidents are contained: a loop that starts processes, a process that stays behind in a session of its own, memory that
//! never ends. Intent is not: the code is the learner's own, and runs with the learner's own rights.
//!
//! - What one process may have the system counts: address space, size of a file, open files, processor time.
//! - What all of them may have together is looked at while they run: how many there are, and their memory.
//! - What a learner has written has no network, where the system's `unshare` gives it an empty one of its own.
//! - They are found by their group, by their parents, and by a word in their environment that others do not have.
//!
//! Left out: where there is no `/proc`, only the group is ended, and nothing is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use super::nonce;

/// What a program and all that it starts may take.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// GiB of memory in use, of all together.
    pub memory: u64,
    /// GiB of address space for each process. Allocators reserve a good part of it before they use it.
    pub address_space: u64,
    /// MiB of a file.
    pub file: u64,
    /// Open files.
    pub files: u64,
    /// Seconds of processor time of each: for those that are left when the grader itself has ended.
    pub seconds: u64,
    /// Processes.
    pub processes: usize,
    /// Seconds of processor time of each, while they are looked at.
    pub work: u64,
    /// Whether they are kept from the network, where that can be.
    pub apart: bool,
}

/// What gives a program namespaces of its own, with nothing else in them: users, without which an ordinary user may make no other, network, messages.
/// It becomes the program, so that this is the process that is watched. util-linux has it.
const UNSHARE: [&str; 4] = ["unshare", "--user", "--net", "--ipc"];

/// Whether what a learner has written is kept from the network: there is `unshare`, and the system lets it. It is tried once.
pub fn keeps_apart() -> bool {
    static WORKS: LazyLock<bool> = LazyLock::new(|| {
        let [program, options @ ..] = UNSHARE;
        let mut unshare = Command::new(program);
        unshare.args(options).arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        cfg!(target_os = "linux") && unshare.status().is_ok_and(|status| status.success())
    });
    *WORKS
}

impl Limits {
    /// Of what a learner has written.
    pub const LEARNER: Limits = Limits {
        memory: 4,
        address_space: 4,
        file: 256,
        files: 256,
        seconds: 300,
        processes: 32,
        work: 300,
        apart: true,
    };
    /// Of cargo, before it comes to what a learner has written.
    pub const CARGO: Limits = Limits {
        memory: 1 << 20,
        address_space: 16,
        file: 1 << 13,
        files: 1 << 12,
        seconds: 1200,
        processes: 1 << 12,
        work: 1200,
        apart: false,
    };
    /// Of cargo and rustc, once it has come there. They need a second and a quarter of a GiB.
    pub const RUSTC: Limits = Limits { memory: 3, processes: 64, work: 8, ..Limits::CARGO };

    /// The program under those limits that the system counts. Where there is no shell there are none.
    pub fn command(self, program: &std::ffi::OsStr) -> Command {
        if !cfg!(unix) {
            return Command::new(program);
        }
        let Limits { address_space, file, files, seconds, .. } = self;
        // Blocks of 512 bytes, but for shells that count in 1,024: then it is twice as much.
        let (space, blocks) = (address_space << 20, file << 11);
        let limits = [("c", 0), ("v", space), ("f", blocks), ("n", files), ("t", seconds)];
        let each = |(letter, limit)| format!("ulimit -{letter} {limit} 2>/dev/null; ");
        let limits: String = limits.into_iter().map(each).collect();
        let apart = if self.apart && keeps_apart() { UNSHARE.join(" ") } else { String::new() };
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{limits}exec {apart} \"$0\" \"$@\"")]).arg(program);
        shell
    }
}

/// Which of them all together have gone beyond, in words; and what is looked at.
type Beyond = Arc<Mutex<Watch>>;

struct Watch {
    limits: Limits,
    beyond: Option<String>,
}

/// A program that was started, with all that it starts.
pub(super) struct Family {
    members: Members,
    watch: Beyond,
    /// While it is there, they are looked at.
    #[allow(dead_code, reason = "its end is what is heard")]
    watched: Sender<()>,
}

/// In the environment of all of them.
const WORD: &str = "KUBESTEP_FAMILY";
/// How often is looked at them.
const LOOK: Duration = Duration::from_millis(100);
/// One that has started nothing is looked at alone, but for one look of so many.
const ALL: u32 = 5;
/// A process may have started another just before it is ended.
const ROUNDS: usize = 20;

impl Family {
    /// Starts a program as the head of a family, with these limits of all together.
    ///
    /// # Errors
    /// Why it does not start.
    pub fn start(command: &mut Command, limits: Limits) -> std::io::Result<(Child, Family)> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let word = nonce::nonce();
        let child = command.env(WORD, &word).spawn()?;
        let watch = Arc::new(Mutex::new(Watch { limits, beyond: None }));
        let (watched, ended) = mpsc::channel();
        let began = process(child.id()).map_or(0, |leader| leader.began);
        let members = Members { leader: child.id(), word: format!("{WORD}={word}"), began };
        let family = Family { members: members.clone(), watch: watch.clone(), watched };
        if cfg!(target_os = "linux") {
            std::thread::spawn(move || look(&members, &watch, || ended.recv_timeout(LOOK)));
        }
        Ok((child, family))
    }

    /// From now on they may take this, all together.
    pub fn limit(&self, limits: Limits) {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).limits = limits;
    }

    /// What they went beyond, and were ended for.
    pub fn beyond(&self) -> Option<String> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).beyond.clone()
    }

    /// Ends all of them that are left. The caller that waits for the head of the family collects its exit status.
    pub fn end(&self) {
        self.members.end();
    }
}

/// Looks at a family until it is over.
fn look(members: &Members, watch: &Beyond, mut wait: impl FnMut() -> Result<(), RecvTimeoutError>) {
    let mut looks = 0;
    while wait() == Err(RecvTimeoutError::Timeout) {
        looks += 1;
        let limits = watch.lock().unwrap_or_else(PoisonError::into_inner).limits;
        let found = match looks % ALL != 0 && is_alone(members.leader) {
            true => BTreeSet::from([members.leader]),
            false => members.find(),
        };
        let memory: u64 = found.iter().map(|process| resident(*process)).sum();
        let beyond = if found.len() > limits.processes {
            format!("it starts more than {} processes", limits.processes)
        } else if memory > limits.memory << 30 {
            format!("it asks for more than {} GiB of memory", limits.memory)
        } else if found.iter().any(|process| worked(*process) > limits.work) {
            format!("it works for more than {} s", limits.work)
        } else {
            continue;
        };
        watch.lock().unwrap_or_else(PoisonError::into_inner).beyond.get_or_insert(beyond);
        members.end();
    }
}

/// How the members of a family are known.
#[derive(Clone)]
struct Members {
    leader: u32,
    word: String,
    /// When the first of them began: all others did so later.
    began: u64,
}

impl Members {
    /// Those that are there.
    fn find(&self) -> BTreeSet<u32> {
        let all = processes();
        let is_its = |number: u32, process: &Process| {
            let by_group = process.group == self.leader || process.session == self.leader || number == self.leader;
            by_group || (process.began >= self.began && environment(number).is_some_and(|all| has(&all, &self.word)))
        };
        let mut found: BTreeSet<u32> =
            all.iter().filter(|(number, one)| is_its(**number, one)).map(|(number, _)| *number).collect();
        loop {
            let is_child = |(number, one): &(&u32, &Process)| !found.contains(number) && found.contains(&one.parent);
            let children: Vec<u32> = all.iter().filter(is_child).map(|(number, _)| *number).collect();
            if children.is_empty() {
                return found;
            }
            found.extend(children);
        }
    }

    /// Ends them, and those that they start meanwhile.
    fn end(&self) {
        signal_group(self.leader);
        for _ in 0..ROUNDS {
            let left = self.find();
            if left.is_empty() {
                return;
            }
            left.iter().for_each(|process| signal(*process));
        }
    }
}

/// Whether an environment has this in it.
fn has(environment: &[u8], word: &str) -> bool {
    environment.split(|byte| *byte == 0).any(|one| one == word.as_bytes())
}

/// What the system says of a process.
struct Process {
    parent: u32,
    group: u32,
    session: u32,
    /// When it began.
    began: u64,
}

/// All that are there and have not ended.
fn processes() -> BTreeMap<u32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|number| Some((number, process(number)?))).collect()
}

/// None: it is gone, or only its status is left.
fn process(number: u32) -> Option<Process> {
    let text = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // Its name is in brackets, and may have some in it.
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    if matches!(fields[0], "Z" | "X") {
        return None;
    }
    let field = |n: usize| fields.get(n).and_then(|field| field.parse().ok());
    let [parent, group, session] = [1, 2, 3].map(|n| field(n).unwrap_or(0) as u32);
    Some(Process { parent, group, session, began: field(19)? })
}

/// Whether a process was stopped by a signal.
pub(super) fn is_stopped(number: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Whether there is such a process. Without `/proc` there is none.
pub(super) fn is_there(number: u32) -> bool {
    process(number).is_some()
}

fn environment(number: u32) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{number}/environ")).ok()
}

/// Whether a process has no children.
fn is_alone(number: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{number}/task")).into_iter().flatten().filter_map(Result::ok);
    let children = threads.map(|thread| std::fs::read_to_string(thread.path().join("children")));
    children.into_iter().all(|children| children.is_ok_and(|children| children.trim().is_empty()))
}

/// Bytes of memory that a process has in use and shares with no file.
fn resident(number: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{number}/statm")).unwrap_or_default();
    let mut pages = text.split(' ').skip(1).map_while(|field| field.trim().parse::<u64>().ok());
    let (all, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    all.saturating_sub(shared) * PAGE
}

/// Seconds of processor time that a process has used.
fn worked(number: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').skip(11).take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() / TICKS
}

/// A process's time is told in hundredths of a second.
const TICKS: u64 = 100;

/// Bytes of a page. Where pages are larger, more is counted as less.
const PAGE: u64 = 4 << 10;

/// Ends a process.
#[cfg(unix)]
pub(super) fn signal(process: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    // One that has ended meanwhile is what is wanted.
    let _ = process.map(|process| kill_process(process, Signal::KILL));
}

#[cfg(unix)]
fn signal_group(leader: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
    let _ = leader.map(|leader| kill_process_group(leader, Signal::KILL));
}

#[cfg(not(unix))]
pub(super) fn signal(_: u32) {}

#[cfg(not(unix))]
fn signal_group(_: u32) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    const FEW: Limits = Limits { processes: 8, ..Limits::LEARNER };

    /// A shell with this script, which says on a line which process is to end with it.
    fn started(script: &str, limits: Limits) -> (Child, Family, Option<u32>) {
        let mut command = limits.command("sh".as_ref());
        command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::null());
        let (mut child, family) = Family::start(&mut command, limits).expect("there is a shell");
        let mut line = String::new();
        let output = child.stdout.take().expect("it has one");
        drop(std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line));
        (child, family, line.trim().parse().ok())
    }

    fn is_gone_soon(process: u32) -> bool {
        (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !is_there(process)
        })
    }

    #[test]
    fn what_a_learner_has_written_has_no_network() {
        if !keeps_apart() {
            println!("skipped: needs unshare");
            return;
        }
        let number = |place: &str| place.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok();
        let ours = std::fs::read_link("/proc/self/ns/net").expect("there is /proc");
        let script = "readlink /proc/self/ns/net | tr -dc 0-9; echo";
        let (_, _, of_cargo) = started(script, Limits::CARGO);
        assert_eq!(of_cargo, number(&ours.to_string_lossy()), "cargo may need one");
        let (_, _, its) = started(script, Limits::LEARNER);
        assert!(its.is_some() && its != of_cargo, "{its:?}");
        let (_, _, ways) = started("tail -n +3 /proc/net/dev | grep -vc ' *lo:'", Limits::LEARNER);
        assert_eq!(ways, Some(0), "it has no interface but the loopback");
    }

    #[test]
    fn one_that_leaves_its_group_ends_with_it() {
        for script in [
            "sleep 1000 & echo $!; wait",
            "setsid sleep 1000 & echo $!; sleep 1",
            "(setsid sh -c 'echo $$; exec sleep 1000' &)",
        ] {
            let (mut child, family, other) = started(script, Limits::LEARNER);
            let other = other.expect("it says which");
            assert!(is_there(other), "{script}");
            family.end();
            assert!(is_gone_soon(other), "{script}");
            child.wait().expect("it has ended");
        }
    }

    #[test]
    fn too_many_processes_and_too_much_memory_end_it() {
        let many = "echo 0; while :; do sleep 1000 & done";
        let much = "echo 0; a=xxxxxxxxxxxxxxxx; while :; do a=$a$a; done";
        for (script, limits, says) in [
            (many, FEW, "it starts more than 8 processes"),
            (much, Limits { memory: 0, ..FEW }, "it asks for more than 0 GiB of memory"),
        ] {
            let (mut child, family, _) = started(script, limits);
            assert!(!child.wait().expect("it has ended").success());
            assert_eq!(family.beyond().as_deref(), Some(says));
            family.end();
            assert_eq!(family.members.find(), BTreeSet::new());
        }
    }

    #[test]
    fn a_file_without_end_ends_it() {
        let (mut child, _family, _) =
            started("echo 0; cat /dev/zero > /dev/shm/kubestep-family; kill -9 $$", Limits { file: 1, ..FEW });
        child.wait().expect("it has ended");
        let length = std::fs::metadata("/dev/shm/kubestep-family").expect("it was begun").len();
        assert!(length <= 2 << 20, "{length}");
        std::fs::remove_file("/dev/shm/kubestep-family").expect("it is there");
    }
}
