//! Which programs there are, and what those do that need nothing but their words, their input and files: busybox's words.
//!
//! Of each program it is known whether it is one that ends ([`is_known`]). Those that read lines and print lines are in
//! [`text`]; those that ask others on the network in [`clients`].

use crate::applets;
use crate::clients;
use crate::ran::Ran;
use crate::shell;
use crate::shell::test::{self, There};
use crate::text;

/// The commands that are simulated.
pub const HERE: &str = "awk, base64, basename, cat, cp, curl, cut, date, dirname, echo, env, false, grep, head, hostname, \
                        id, ip, kill, ls, mkdir, mv, nc, nslookup, ping, printenv, printf, ps, pwd, rev, rm, sed, seq, \
                        sh -c, sleep, sort, tail, tar, test, touch, tr, true, uname, uniq, wc, wget, whoami";

/// Programs that do their work and end, well and at once.
const ENDS: &[&str] = &[
    ".", ":", "[", "alias", "apk", "apt", "apt-get", "awk", "base64", "basename", "bg", "cat", "cd", "chmod", "chown",
    "command", "cp", "curl", "cut", "date", "declare", "df", "dirname", "disown", "dnf", "dpkg", "du", "echo", "egrep",
    "env", "export", "fg", "fgrep", "find", "gem", "getopts", "git", "grep", "hash", "head", "hostname", "id", "ip",
    "iptables", "jobs", "jq", "kubectl", "let", "ln", "ls", "mkdir", "mktemp", "mount", "mv", "nc", "npm", "nproc",
    "nslookup", "openssl", "perl", "ping", "pip", "pip3", "printenv", "printf", "ps", "pwd", "rev", "rm", "sed", "seq",
    "set", "shopt", "sort", "source", "stat", "sync", "sysctl", "tail", "tar", "tee", "test", "times", "touch", "tr",
    "type", "typeset", "ulimit", "umask", "unalias", "uname", "uniq", "unzip", "wc", "wget", "whoami", "yum",
];

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

/// Whether these words start a program that does its work and ends.
pub fn is_known(words: &[String]) -> bool {
    let Some(program) = words.first().map(|word| shell::program(word)) else { return false };
    is_common(program)
        && match program {
            "nc" => !words.iter().any(|word| word.starts_with('-') && word.contains('l')),
            "ping" => words.iter().any(|word| word.starts_with("-c")),
            "tail" => !words.iter().any(|word| word.starts_with("-f") || word.starts_with("-F")),
            _ => true,
        }
}

/// Whether a program of this name does its work and ends, if its words do not say otherwise.
pub fn is_common(program: &str) -> bool {
    ENDS.contains(&program) || applets::ends(program)
}

/// Whether a program gets others from elsewhere, which may have any name.
pub fn installs(program: &str) -> bool {
    matches!(
        program,
        "apk" | "apt" | "apt-get" | "curl" | "dnf" | "dpkg" | "gem" | "npm" | "pip" | "pip3" | "wget" | "yum"
    )
}

/// Whether these words start a program that goes on until it is stopped.
pub fn never_ends(words: &[String]) -> bool {
    let name = words.first().map(|word| shell::program(word));
    matches!(name, Some("tail" | "nc")) && !is_known(words)
}

/// Whether these words start a program that is known to go on: it serves, or waits for input.
pub fn goes_on(words: &[String]) -> bool {
    let name = words.first().map_or("", |word| shell::program(word));
    never_ends(words) || applets::goes_on(name) || (name == "ping" && !is_known(words))
}

/// Whether these words start a program that reads its input.
pub fn reads(words: &[&str]) -> bool {
    match words {
        ["tar", words @ ..] => words.contains(&"-") && words.iter().any(|mode| unpacks(mode)),
        ["read", ..] => true,
        words => text::reads(words),
    }
}

/// How `tar` is told to unpack an archive, `xf`, `-xf`, `-xmf`: files keep no times here, so `m` says nothing.
pub fn unpacks(mode: &str) -> bool {
    matches!(mode.trim_start_matches('-'), "xf" | "xmf")
}

/// Whether these words ask others on the network, and it is simulated how. What is fetched over TLS is taken to be there.
pub fn asks(words: &[String]) -> bool {
    words.first().is_some_and(|name| clients::asks(shell::program(name), &words[1..]))
}

/// What `echo -e` makes of its words.
fn unescape(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_wherever_it_is() {
        assert!(is_known(&["/usr/bin/env".to_owned()]));
        assert!(!is_known(&["/app/env".to_owned()]));
        for (line, ends) in
            [("tail -f /dev/null", false), ("tail -n 1 /x", true), ("ping web", false), ("ping -c1 web", true)]
        {
            assert_eq!(is_known(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()), ends, "{line}");
        }
    }
}
