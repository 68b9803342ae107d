//! The programs that every container has, with any image, and what they print: busybox's words.
//!
//! Those that read lines and print lines are in [`mod@userland::text`].

use super::containerd::Containerd;
use super::exec::ExecContext;
use super::files::full_name;
use super::image;
use super::mounts::is_mounted;
use super::networks::netns;
use super::state::State;
use super::timers::Timer;
use super::who;
use network::cni::iproute;
use network::disk::KERNEL;
use userland::Ran;
use userland::programs::plain;
use userland::shell;
use userland::shell::commands::within;

impl Containerd {
    /// Runs one, with this input. None: not one of them.
    pub(super) fn at_once_in(&self, context: &ExecContext, words: &[&str], input: &str) -> Option<Ran> {
        let ExecContext { container, sandbox, .. } = context;
        let mut words = words.to_vec();
        words.iter_mut().take(1).for_each(|name| *name = shell::program(name));
        if let ["kill", words @ ..] = words.as_slice() {
            return Some(self.kill_from_inside(context, words));
        }
        let state = self.state.borrow();
        let files = Files { inner: self, state: &state, context };
        Some(match words.as_slice() {
            ["ls", words @ ..] => self.ls(&state, context, words),
            ["tar", words @ ..] => self.tar(&state, context, words, input),
            ["touch", path] => written(files.write(path, "", true), "touch", path),
            ["mkdir", words @ ..] => files.make_directories(words),
            [name @ ("cp" | "mv"), words @ ..] => files.copy(name, words),
            ["rm", "-f" | "-rf", path] => {
                let _ = files.remove(path);
                Ran::default()
            }
            ["rm", path] => match files.remove(path) {
                Ok(()) => Ran::default(),
                Err(why) => Ran::badly(1, format!("rm: can't remove '{path}': {why}")),
            },
            ["env"] | ["printenv"] => environment(context),
            ["printenv", names @ ..] => printenv(context, names),
            ["hostname"] => Ran::well(format!("{}\n", sandbox.hostname)),
            ["hostname", "-i" | "-I"] if !sandbox.host_network => {
                let address = state.sandboxes.get(&container.status.sandbox_id).map_or("", |there| there.ip.as_str());
                Ran::well(format!("{address}\n"))
            }
            ["hostname", "-f"] => {
                let (short, full) = full_name(sandbox);
                Ran::well(full.unwrap_or_else(|| short.to_owned()) + "\n")
            }
            ["ip", words @ ..] => self.ip(context, words),
            ["date"] | ["date", "-u"] => self.date("%a %b %e %H:%M:%S UTC %Y"),
            ["date", format] | ["date", "-u", format] if format.starts_with('+') => self.date(&format[1..]),
            ["pwd"] => Ran::well(format!("{}\n", context.directory().unwrap_or("/"))),
            ["whoami"] => who::whoami(&container.config.security),
            ["id", flags @ ..] => who::id(&container.config.security, flags)?,
            ["ps", words @ ..] => who::ps(&state, context, words)?,
            ["uname"] => Ran::well("Linux\n"),
            ["uname", flags @ ..] => uname(&sandbox.hostname, flags),
            words => return plain(words, input, &|path| files.read(path), &|path| files.is_directory(path)),
        })
    }

    /// `kill 1` in a container: its process is told to end, if it listens. From inside, no process can do more to the first one.
    fn kill_from_inside(&self, context: &ExecContext, words: &[&str]) -> Ran {
        let (flags, pids): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
        if let Some(pid) = pids.iter().find(|pid| **pid != "1") {
            return Ran::badly(1, format!("sh: can't kill pid {pid}: No such process"));
        }
        let is_term = flags.iter().all(|flag| matches!(*flag, "-15" | "-TERM" | "-SIGTERM" | "-s" | "-QUIT" | "-3"));
        let id = &context.container.status.id;
        let ends = context.container.plan.on_sigterm.filter(|_| is_term && !pids.is_empty());
        if let Some((after, code)) = ends {
            if let Some(container) = self.state.borrow_mut().containers.get_mut(id) {
                container.plan.ends = Some((after, code));
            }
            self.arm(id, Timer::Exit { id }, after, false);
        }
        Ran::default()
    }

    fn date(&self, format: &str) -> Ran {
        match jiff::fmt::strtime::format(format, self.hub.now().timestamp()) {
            Ok(text) => Ran::well(text + "\n"),
            Err(_) => Ran::badly(1, format!("date: invalid date '+{format}'")),
        }
    }

    fn ls(&self, state: &State, context: &ExecContext, words: &[&str]) -> Ran {
        let (flags, paths): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
        if let Some(flag) = flags.iter().find(|flag| !matches!(**flag, "-1" | "-a" | "-A" | "-1a" | "-a1")) {
            return Ran::badly(1, format!("ls: {flag} is not simulated; -a is"));
        }
        let here = context.directory().unwrap_or("/");
        let paths = if paths.is_empty() { vec![here] } else { paths };
        let (mut ran, mut files, mut directories) = (Ran::default(), String::new(), Vec::new());
        for path in &paths {
            let full = within(here, path);
            match self.names(state, &context.container, &context.sandbox, &full) {
                None => {
                    ran.errors += &format!("ls: {path}: No such file or directory\n");
                    ran.code = 1;
                }
                Some(names) if names.len() == 1 && names.contains(&full) => files += &format!("{path}\n"),
                Some(names) => {
                    let shown = names.into_iter().filter(|name| !flags.is_empty() || !name.starts_with('.'));
                    let head = if paths.len() > 1 { format!("{path}:\n") } else { String::new() };
                    directories.push(head + &shown.map(|name| name + "\n").collect::<String>());
                }
            }
        }
        // Files come first, and an empty line before each directory that is not alone.
        let texts: Vec<String> = (!files.is_empty()).then_some(files).into_iter().chain(directories).collect();
        ran.output = texts.join("\n");
        ran
    }

    /// What `ip` shows in the namespace of the sandbox.
    fn ip(&self, context: &ExecContext, words: &[&str]) -> Ran {
        let network = self.networks.host().network.borrow();
        let path = netns(&context.container.status.sandbox_id);
        let name = path.rsplit('/').next().unwrap_or_default();
        let there: Vec<&str> = if context.sandbox.host_network { vec![] } else { vec!["-n", name] };
        match iproute::ip(&network, &[there.as_slice(), words].concat()) {
            Ok(text) => Ran::well(text),
            Err(why) => Ran::badly(1, why),
        }
    }
}

/// The files that a program sees. Paths are told from where it stands.
struct Files<'a> {
    inner: &'a Containerd,
    state: &'a State,
    context: &'a ExecContext,
}

impl Files<'_> {
    fn full(&self, path: &str) -> String {
        self.context.directory().map_or_else(|| path.to_owned(), |at| within(at, path))
    }

    fn read(&self, path: &str) -> Option<String> {
        self.inner.file(self.state, &self.context.container, &self.context.sandbox, &self.full(path))
    }

    fn is_directory(&self, path: &str) -> bool {
        self.inner.names(self.state, &self.context.container, &self.context.sandbox, &self.full(path)).is_some()
    }

    fn write(&self, path: &str, text: &str, append: bool) -> Result<(), &'static str> {
        self.inner.write_file(&self.context.container, &self.full(path), text, append)
    }

    fn remove(&self, path: &str) -> Result<(), &'static str> {
        self.inner.remove_file(&self.context.container, &self.full(path))
    }

    /// `mkdir`
    fn make_directories(&self, words: &[&str]) -> Ran {
        let (flags, paths): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
        let mut ran = Ran::default();
        for path in paths {
            let made = match self.is_directory(path) {
                true if flags.is_empty() => Err("File exists"),
                true => Ok(()),
                false => self.inner.make_directory(&self.context.container, &self.full(path)),
            };
            if let Err(why) = made {
                ran.errors += &format!("mkdir: can't create directory '{path}': {why}\n");
                ran.code = 1;
            }
        }
        ran
    }

    /// `cp` or `mv`
    fn copy(&self, name: &str, words: &[&str]) -> Ran {
        let operands: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
        let [from, to] = operands[..] else {
            return Ran::badly(1, format!("{name}: one file at a time is simulated"));
        };
        let Some(text) = self.read(from).or_else(|| self.of_image(from)) else {
            let why = if name == "cp" { "can't stat" } else { "can't rename" };
            return Ran::badly(1, format!("{name}: {why} '{from}': No such file or directory"));
        };
        let into = self.is_directory(to) && self.read(to).is_none();
        let last = from.rsplit('/').next().unwrap_or_default();
        let to = if into { format!("{}/{last}", to.trim_end_matches('/')) } else { to.to_owned() };
        let done = self.write(&to, &text, false).and_then(|()| if name == "mv" { self.remove(from) } else { Ok(()) });
        done.map_or_else(|why| Ran::badly(1, format!("{name}: can't create '{to}': {why}")), |()| Ran::default())
    }
}

impl Files<'_> {
    /// The text of a file that an image may have and whose content is not known: the file is there.
    fn of_image(&self, path: &str) -> Option<String> {
        let container = &self.context.container;
        let is_own = !image::is_minimal(&container.config.image) && !is_mounted(&container.config, &self.full(path));
        (is_own && !self.is_directory(path)).then(String::new)
    }
}

/// What `env` prints.
fn environment(context: &ExecContext) -> Ran {
    let lines = context.environment().iter().map(|(name, value)| format!("{name}={value}\n")).collect::<String>();
    Ran::well(lines)
}

/// `printenv`, asked for some.
fn printenv(context: &ExecContext, names: &[&str]) -> Ran {
    let environment = context.environment();
    let value_of = |name: &&str| environment.iter().find(|(there, _)| there == name).map(|(_, value)| value);
    let values: Vec<&String> = names.iter().filter_map(value_of).collect();
    let output = values.iter().map(|value| format!("{value}\n")).collect();
    Ran { output, code: i32::from(values.len() < names.len()), ..Ran::default() }
}

/// What `uname` says, in the order of its own.
fn uname(hostname: &str, flags: &[&str]) -> Ran {
    let letters: String = flags.iter().map(|flag| flag.trim_start_matches('-')).collect();
    let all = [('s', "Linux"), ('n', hostname), ('r', KERNEL), ('v', "#1 SMP"), ('m', "x86_64"), ('o', "GNU/Linux")];
    let shown = all.iter().filter(|(letter, _)| letters.contains(*letter) || letters.contains('a'));
    Ran::well(shown.map(|(_, what)| *what).collect::<Vec<_>>().join(" ") + "\n")
}

fn written(result: Result<(), &'static str>, command: &str, path: &str) -> Ran {
    result.map_or_else(|why| Ran::badly(1, format!("{command}: {path}: {why}")), |()| Ran::default())
}
