//! The programs that every container has, whatever its image, and what they print: busybox's words.
//!
//! Those that read lines and print lines are in [`text`].

use super::exec::{Place, Ran};
use super::files::full_name;
use super::network::netns;
use super::script::test::{self, There};
use super::state::State;
use super::{Inner, script, text, who};
use crate::node::KERNEL;
use crate::node::cni::iproute;

/// The commands that are simulated.
pub const HERE: &str = "awk, base64, basename, cat, curl, cut, date, dirname, echo, env, false, grep, head, hostname, id, ip, ls, nslookup, \
                        ping, printenv, printf, ps, pwd, rev, rm, sed, seq, sh -c, sleep, sort, tail, tar, test, touch, tr, true, uname, uniq, \
                        wc, wget, whoami";

/// Runs one that needs nothing but its words, its input and files. None: not one of them.
pub fn plain(
    words: &[&str],
    input: &str,
    read: &dyn Fn(&str) -> Option<String>,
    is_directory: &dyn Fn(&str) -> bool,
) -> Option<Ran> {
    Some(match words {
        ["true"] => Ran::default(),
        ["false"] => Ran { code: 1, ..Ran::default() },
        ["sleep", time] => Ran::badly(1, format!("sleep: invalid number '{time}'")),
        ["echo", "-n", words @ ..] => Ran::well(words.join(" ")),
        ["echo", "-e", words @ ..] => Ran::well(unescape(&words.join(" ")) + "\n"),
        ["echo", "-en" | "-ne", words @ ..] => Ran::well(unescape(&words.join(" "))),
        ["echo", words @ ..] => Ran::well(words.join(" ") + "\n"),
        ["[", words @ .., "]"] | ["test", words @ ..] => {
            let look = |path: &str| match read(path) {
                Some(text) => There::File { empty: text.is_empty() },
                None if is_directory(path) => There::Directory,
                None => There::Nothing,
            };
            let code = test::holds(words, &look).map_or(2, |so| i32::from(!so));
            Ran { code, ..Ran::default() }
        }
        words => return text::run(words, input, read),
    })
}

/// The names of those that [`plain`] runs.
pub fn plain_names() -> impl Iterator<Item = &'static str> {
    ["[", "echo", "test"].into_iter().chain(text::NAMES.iter().copied())
}

impl Inner {
    /// Runs one, with this input. None: not one of them.
    pub(super) fn at_once_in(&self, place: &Place, words: &[&str], input: &str) -> Option<Ran> {
        let Place { container, sandbox, .. } = place;
        let state = self.state.borrow();
        let read = |path: &str| self.file(&state, container, sandbox, path);
        let mut words = words.to_vec();
        words.iter_mut().take(1).for_each(|name| *name = script::program(name));
        Some(match words.as_slice() {
            ["ls", words @ ..] => self.ls(&state, place, words),
            ["tar", words @ ..] => self.tar(&state, place, words, input),
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
            ["hostname", "-i" | "-I"] if !sandbox.host_network => {
                let address = state.sandboxes.get(&container.status.sandbox_id).map_or("", |there| there.ip.as_str());
                Ran::well(format!("{address}\n"))
            }
            ["hostname", "-f"] => {
                let (short, full) = full_name(sandbox);
                Ran::well(full.unwrap_or_else(|| short.to_owned()) + "\n")
            }
            ["ip", words @ ..] => self.ip(place, words),
            ["date"] | ["date", "-u"] => self.date("%a %b %e %H:%M:%S UTC %Y"),
            ["date", format] | ["date", "-u", format] if format.starts_with('+') => self.date(&format[1..]),
            ["pwd"] => Ran::well("/\n"),
            ["whoami"] => who::whoami(&container.config.security),
            ["id", flags @ ..] => who::id(&container.config.security, flags)?,
            ["ps", words @ ..] => who::ps(&state, place, words)?,
            ["uname"] => Ran::well("Linux\n"),
            ["uname", flags @ ..] => uname(&sandbox.hostname, flags),
            words => {
                let is_directory = |path: &str| self.names(&state, container, sandbox, path).is_some();
                return plain(words, input, &read, &is_directory);
            }
        })
    }

    fn date(&self, format: &str) -> Ran {
        match jiff::fmt::strtime::format(format, self.hub.now().timestamp()) {
            Ok(text) => Ran::well(text + "\n"),
            Err(_) => Ran::badly(1, format!("date: invalid date '+{format}'")),
        }
    }

    fn ls(&self, state: &State, place: &Place, words: &[&str]) -> Ran {
        let (flags, paths): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
        if let Some(flag) = flags.iter().find(|flag| !matches!(**flag, "-1" | "-a" | "-A" | "-1a" | "-a1")) {
            return Ran::badly(1, format!("ls: {flag} is not simulated; -a is"));
        }
        let paths = if paths.is_empty() { vec!["/"] } else { paths };
        let (mut ran, mut files, mut directories) = (Ran::default(), String::new(), Vec::new());
        for path in &paths {
            match self.names(state, &place.container, &place.sandbox, path) {
                None => {
                    ran.errors += &format!("ls: {path}: No such file or directory\n");
                    ran.code = 1;
                }
                Some(names) if names.len() == 1 && names.contains(*path) => files += &format!("{path}\n"),
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
}

/// What `uname` says, in the order of its own.
fn uname(hostname: &str, flags: &[&str]) -> Ran {
    let letters: String = flags.iter().map(|flag| flag.trim_start_matches('-')).collect();
    let all = [('s', "Linux"), ('n', hostname), ('r', KERNEL), ('v', "#1 SMP"), ('m', "x86_64"), ('o', "GNU/Linux")];
    let shown = all.iter().filter(|(letter, _)| letters.contains(*letter) || letters.contains('a'));
    Ran::well(shown.map(|(_, what)| *what).collect::<Vec<_>>().join(" ") + "\n")
}

/// What `echo -e` makes of its words.
fn unescape(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}

fn written(result: Result<(), &'static str>, command: &str, path: &str) -> Ran {
    result.map_or_else(|why| Ran::badly(1, format!("{command}: {path}: {why}")), |()| Ran::default())
}
