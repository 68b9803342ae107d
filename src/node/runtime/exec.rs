//! Commands that are run in a container beside its process: `kubectl exec`, probes and hooks.
//!
//! No program is run; the commands in [`HERE`] are simulated in every container, whatever its image, and print what
//! busybox's, curl's and BIND's print. They see the container's files, volumes included, and its environment; those that
//! talk to others do so through the machine's kernel, packet by packet, in the network namespace of the sandbox.
//!
//! Left out: terminals and standard input, and the rest of a shell, see [`script`]. A probe or hook may name any
//! program of its image, `pg_isready` say: it is taken to be there and to do well.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use super::network::netns;
use super::script::{self, Simple};
use super::state::{Container, State};
use super::{Inner, files, no_container, process};
use crate::engine::RpcError;
use crate::node::cni::iproute;
use crate::node::cri::{self, ContainerState, CriResponse, PodSandboxConfig};
use crate::node::network::{Execute, Executed};

/// The commands that are simulated.
pub const HERE: &str = "cat, curl, date, echo, env, false, hostname, id, ip, ls, nslookup, ping, printenv, pwd, rm, sh -c, \
                        sleep, test, touch, true, wget, whoami";

/// What becomes of a command that nobody here knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// The image has no such program.
    IsNotFound,
    /// It is there and does well.
    DoesWell,
}

/// What a command came to.
#[derive(Debug, Default)]
pub(super) struct Ran {
    pub(super) output: String,
    errors: String,
    code: i32,
}

impl Ran {
    fn well(output: impl Into<String>) -> Ran {
        Ran { output: output.into(), ..Ran::default() }
    }

    fn badly(code: i32, why: impl Into<String>) -> Ran {
        Ran { errors: why.into() + "\n", code, output: String::new() }
    }

    fn answer(self) -> CriResponse {
        CriResponse::Exec { output: self.output, errors: self.errors, exit_code: self.code }
    }
}

/// What a command needs to know of the container that it runs in.
pub(super) struct Place {
    pub(super) container: Container,
    pub(super) sandbox: PodSandboxConfig,
    pub(super) is_shell: bool,
    /// Those that the shell has set.
    pub(super) variables: BTreeMap<String, String>,
}

/// Whether a command neither waits nor asks anybody.
pub(super) fn is_quick(command: &[String]) -> bool {
    process::time_of(command).is_zero() && !asks_others(command)
}

/// Whether a command takes as long as others take to answer.
fn asks_others(command: &[String]) -> bool {
    commands(command).0.iter().any(|simple| is_of_network(&simple.words))
}

fn is_of_network(words: &[String]) -> bool {
    matches!(words.first().map(String::as_str), Some("curl" | "ping" | "nslookup" | "wget"))
}

/// The simple commands that a command consists of, and whether a shell runs them.
fn commands(command: &[String]) -> (Vec<Simple>, bool) {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    match (script::of_shell(&words), words.as_slice()) {
        (Some(script), _) => (script::parse(script), true),
        // Without a terminal a shell finds its input at an end.
        (None, [shell]) if script::is_shell(shell) => (Vec::new(), true),
        (None, _) => (vec![Simple { words: command.to_vec(), ..Simple::default() }], false),
    }
}

impl Inner {
    /// For a probe or a hook: it is given up when the timeout is over.
    pub(super) async fn exec_sync(&self, id: &str, command: &[String], timeout: i64) -> Result<CriResponse, RpcError> {
        let limit = Duration::from_secs(u64::try_from(timeout).unwrap_or(0));
        let overtime = || {
            let why = format!("failed to exec in container: timeout {timeout}s exceeded: context deadline exceeded");
            Err(cri::error("DeadlineExceeded", why))
        };
        if !limit.is_zero() && process::time_of(command) > limit {
            self.hub.sleep(limit).await;
            return overtime();
        }
        if limit.is_zero() || !asks_others(command) {
            return self.exec(id, command, Unknown::DoesWell).await;
        }
        let (mut time, mut run) = (pin!(self.hub.sleep(limit)), pin!(self.exec(id, command, Unknown::DoesWell)));
        poll_fn(|context| match (run.as_mut().poll(context), time.as_mut().poll(context)) {
            (Poll::Ready(result), _) => Poll::Ready(result),
            (Poll::Pending, Poll::Ready(())) => Poll::Ready(overtime()),
            (Poll::Pending, Poll::Pending) => Poll::Pending,
        })
        .await
    }

    /// The same for a command that takes no time.
    pub(super) fn exec_at_once(&self, id: &str, command: &[String]) -> Result<CriResponse, RpcError> {
        let (place, commands) = self.place(id, command)?;
        let mut all = Ran::default();
        for mut simple in commands {
            if simple.joint.goes_on(all.code) {
                self.expand(&place, &mut simple);
                let ran = self.at_once_or(&place, &simple, Unknown::DoesWell)?;
                if self.add(&mut all, ran, &simple, &place) || simple.is_beyond {
                    break;
                }
            }
        }
        Ok(all.answer())
    }

    /// Runs a command to its end.
    pub(super) async fn exec(&self, id: &str, command: &[String], unknown: Unknown) -> Result<CriResponse, RpcError> {
        let (place, commands) = self.place(id, command)?;
        let mut all = Ran::default();
        for mut simple in commands {
            if !simple.joint.goes_on(all.code) {
                continue;
            }
            self.expand(&place, &mut simple);
            let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
            let ran = match words.as_slice() {
                ["sleep", time] => match process::seconds(time) {
                    Some(time) => {
                        self.hub.sleep(time).await;
                        Ran::default()
                    }
                    None => Ran::badly(1, format!("sleep: invalid number '{time}'")),
                },
                _ if is_of_network(&simple.words) => self.ask_others(&place, &simple.words).await?,
                _ => self.at_once_or(&place, &simple, unknown)?,
            };
            if self.add(&mut all, ran, &simple, &place) || simple.is_beyond {
                break;
            }
        }
        Ok(all.answer())
    }

    /// Where a container's own process runs.
    pub(super) fn place_of_process(&self, id: &str) -> Option<Place> {
        let state = self.state.borrow();
        let container = state.containers.get(id)?;
        let sandbox = state.sandboxes.get(&container.status.sandbox_id)?.config.clone();
        let words: Vec<&str> =
            container.config.command.iter().chain(&container.config.args).map(String::as_str).collect();
        let is_shell = script::of_shell(&words).is_some();
        let variables = container.variables.clone();
        Some(Place { container: container.clone(), sandbox, is_shell, variables })
    }

    /// What a command of the process itself prints, errors too.
    pub(super) fn run_of_process(&self, place: &Place, mut simple: Simple) -> String {
        self.expand(place, &mut simple);
        let ran = self.at_once_or(place, &simple, Unknown::DoesWell).unwrap_or_default();
        let mut all = Ran::default();
        self.add(&mut all, ran, &simple, place);
        all.output + &all.errors
    }

    /// A container that runs, and the commands to run in it.
    fn place(&self, id: &str, command: &[String]) -> Result<(Place, Vec<Simple>), RpcError> {
        let state = self.state.borrow();
        let container = state.containers.get(id).ok_or_else(|| no_container(id))?;
        let sandbox = state.sandboxes.get(&container.status.sandbox_id).ok_or_else(|| no_container(id))?;
        if container.status.state != ContainerState::ContainerRunning {
            let why = "failed to exec in container: container is in CONTAINER_EXITED state";
            return Err(cri::error("Unknown", why));
        }
        let (commands, is_shell) = commands(command);
        Ok((
            Place {
                container: container.clone(),
                sandbox: sandbox.config.clone(),
                is_shell,
                variables: BTreeMap::new(),
            },
            commands,
        ))
    }

    /// Adds what a command came to, its output to the file that it goes to. True: the shell ends.
    fn add(&self, all: &mut Ran, mut ran: Ran, simple: &Simple, place: &Place) -> bool {
        if let Some((path, append)) = &simple.into {
            match self.write_file(&place.container, path, &std::mem::take(&mut ran.output), *append) {
                Ok(()) => {}
                Err(why) => ran = Ran::badly(1, format!("sh: can't create {path}: {why}")),
            }
        }
        all.output += &ran.output;
        all.errors += &ran.errors;
        let ends = place.is_shell && simple.words.first().is_some_and(|word| word == "exit");
        if !ends || simple.words.len() > 1 {
            all.code = ran.code;
        }
        ends
    }

    /// A command that takes no time, or one that nobody here knows.
    fn at_once_or(&self, place: &Place, simple: &Simple, unknown: Unknown) -> Result<Ran, RpcError> {
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        let known = if simple.is_beyond { None } else { self.at_once_in(place, &words) };
        Ok(match (known, words.first()) {
            (Some(ran), _) => ran,
            (None, None) => Ran::default(),
            _ if unknown == Unknown::DoesWell => Ran::default(),
            (None, Some(_)) if simple.is_beyond => {
                Ran::badly(2, "sh: syntax error: containers here know simple commands joined by ; && and || only")
            }
            (None, Some(name)) if place.is_shell => Ran::badly(127, format!("sh: {name}: not found")),
            (None, Some(name)) => return Err(self.not_in_image(name)),
        })
    }

    /// containerd's and runc's words.
    fn not_in_image(&self, name: &str) -> RpcError {
        let process = self.new_id();
        let why = if name.contains('/') {
            format!("stat {name}: no such file or directory")
        } else {
            "executable file not found in $PATH".to_owned()
        };
        let why = format!(
            "error executing command in container: failed to exec in container: failed to start exec \"{process}\": OCI \
             runtime exec failed: exec failed: unable to start container process: exec: \"{name}\": {why}: unknown"
        );
        cri::error("Unknown", why)
    }

    /// None: not one of them.
    pub(super) fn at_once_in(&self, place: &Place, words: &[&str]) -> Option<Ran> {
        let Place { container, sandbox, is_shell, .. } = place;
        let state = self.state.borrow();
        let mut words = words.to_vec();
        words.iter_mut().take(1).for_each(|name| *name = script::program(name));
        Some(match words.as_slice() {
            ["true"] => Ran::default(),
            ["false"] => Ran { code: 1, ..Ran::default() },
            [":"] | ["exit"] if *is_shell => Ran::default(),
            ["exit", code] if *is_shell => Ran { code: code.parse().unwrap_or(2), ..Ran::default() },
            ["echo", "-n", words @ ..] => Ran::well(words.join(" ")),
            ["echo", "-e", words @ ..] => Ran::well(unescape(&words.join(" ")) + "\n"),
            ["echo", "-en" | "-ne", words @ ..] => Ran::well(unescape(&words.join(" "))),
            ["echo", words @ ..] => Ran::well(words.join(" ") + "\n"),
            ["cat", paths @ ..] if !paths.is_empty() => self.cat(&state, place, paths),
            ["ls", words @ ..] => self.ls(&state, place, words),
            ["test", "-e" | "-f", path] | ["[", "-e" | "-f", path, "]"] => {
                Ran { code: i32::from(self.file(&state, container, sandbox, path).is_none()), ..Ran::default() }
            }
            ["touch", path] => written(self.write_file(container, path, "", true), "touch", path),
            ["rm", "-f" | "-rf", path] => {
                let _ = self.remove_file(container, path);
                Ran::default()
            }
            ["rm", path] => match self.remove_file(container, path) {
                Ok(()) => Ran::default(),
                Err(why) => Ran::badly(1, format!("rm: can't remove '{path}': {why}")),
            },
            ["env"] | ["printenv"] => Ran::well(
                place.environment().iter().map(|(name, value)| format!("{name}={value}\n")).collect::<String>(),
            ),
            ["printenv", names @ ..] => {
                let environment = place.environment();
                let value_of =
                    |name: &&str| environment.iter().find(|(there, _)| there == name).map(|(_, value)| value);
                let values: Vec<&String> = names.iter().filter_map(value_of).collect();
                let output = values.iter().map(|value| format!("{value}\n")).collect();
                Ran { output, code: i32::from(values.len() < names.len()), ..Ran::default() }
            }
            ["hostname"] => Ran::well(format!("{}\n", sandbox.hostname)),
            ["ip", words @ ..] => self.ip(place, words),
            ["date"] | ["date", "-u"] => self.date("%a %b %e %H:%M:%S UTC %Y"),
            ["date", format] | ["date", "-u", format] if format.starts_with('+') => self.date(&format[1..]),
            ["pwd"] => Ran::well("/\n"),
            ["whoami"] => Ran::well("root\n"),
            ["id"] => Ran::well("uid=0(root) gid=0(root) groups=0(root)\n"),
            _ => return None,
        })
    }

    fn date(&self, format: &str) -> Ran {
        match jiff::fmt::strtime::format(format, self.hub.now().timestamp()) {
            Ok(text) => Ran::well(text + "\n"),
            Err(_) => Ran::badly(1, format!("date: invalid date '+{format}'")),
        }
    }

    fn cat(&self, state: &State, place: &Place, paths: &[&str]) -> Ran {
        let mut all = Ran::default();
        for path in paths {
            match self.file(state, &place.container, &place.sandbox, path) {
                Some(text) => all.output += &text,
                None => {
                    all.errors += &format!("{}\n", files::not_found(path));
                    all.code = 1;
                }
            }
        }
        all
    }

    fn ls(&self, state: &State, place: &Place, words: &[&str]) -> Ran {
        let (flags, paths): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
        if let Some(flag) = flags.iter().find(|flag| !matches!(**flag, "-1" | "-a" | "-A" | "-1a" | "-a1")) {
            return Ran::badly(1, format!("ls: {flag} is not simulated; -a is"));
        }
        let path = paths.first().copied().unwrap_or("/");
        match self.names(state, &place.container, &place.sandbox, path) {
            None => Ran::badly(1, format!("ls: {path}: No such file or directory")),
            Some(names) => {
                let shown = names.into_iter().filter(|name| !flags.is_empty() || !name.starts_with('.'));
                Ran::well(shown.map(|name| name + "\n").collect::<String>())
            }
        }
    }

    /// What `ip` shows in the namespace of the sandbox.
    fn ip(&self, place: &Place, words: &[&str]) -> Ran {
        let network = self.networks.host().network.borrow();
        let path = netns(&place.container.status.sandbox_id);
        let name = path.rsplit('/').next().unwrap_or_default();
        let there: Vec<&str> = if place.sandbox.host_network { vec![] } else { vec!["-n", name] };
        match iproute::ip(&network, &[there.as_slice(), words].concat()) {
            Ok(text) => Ran::well(text),
            Err(why) => Ran::badly(1, why),
        }
    }

    /// A command of the network, which the machine's kernel runs.
    async fn ask_others(&self, place: &Place, words: &[String]) -> Result<Ran, RpcError> {
        let unplugged = || cri::error("Unavailable", "the machine has no network");
        let kernel = self.kernel.get().ok_or_else(unplugged)?;
        let PodSandboxConfig { namespace, name, host_network, .. } = &place.sandbox;
        let pod = if *host_network { String::new() } else { format!("{namespace}/{name}") };
        let reply: Rc<dyn Any> = self.hub.rpc(kernel, Rc::new(Execute { pod, words: words.to_vec() })).await?;
        let Executed { output, errors, code } = &*reply.downcast::<Executed>().map_err(|_| unplugged())?;
        Ok(Ran { output: output.clone(), errors: errors.clone(), code: i32::from(*code) })
    }
}

/// What `echo -e` makes of its words.
fn unescape(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}

fn written(result: Result<(), &'static str>, command: &str, path: &str) -> Ran {
    result.map_or_else(|why| Ran::badly(1, format!("{command}: {path}: {why}")), |()| Ran::default())
}

impl Place {
    /// What the runtime sets, what the spec sets, and what the runtime adds at the end.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let path = own("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        let mut all = vec![path, own("HOSTNAME", &self.sandbox.hostname)];
        all.extend(self.container.config.envs.iter().cloned());
        all.push(own("HOME", "/root"));
        all
    }
}
