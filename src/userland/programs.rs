//! Which programs there are, and what those do that need nothing but their words, their input and files: busybox's words.
//!
//! Of each program it is known whether it is one that ends ([`is_known`]). Those that read lines and print lines are in
//! [`text`]; those that ask others on the network in [`clients`].

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
    ":", "[", "apk", "apt-get", "awk", "base64", "basename", "cat", "cd", "chmod", "chown", "cp", "curl", "cut",
    "date", "df", "dirname", "du", "echo", "egrep", "env", "export", "fgrep", "find", "git", "grep", "head",
    "hostname", "id", "ip", "iptables", "kubectl", "ln", "ls", "mkdir", "mktemp", "mount", "mv", "nc", "nproc",
    "nslookup", "openssl", "perl", "ping", "printenv", "printf", "ps", "pwd", "rev", "rm", "sed", "seq", "set", "sort",
    "stat", "sync", "sysctl", "tail", "tar", "tee", "test", "touch", "tr", "ulimit", "umask", "uname", "uniq", "unzip",
    "wc", "wget", "whoami",
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
    ENDS.contains(&program)
        && match program {
            "nc" => !words.iter().any(|word| word.starts_with('-') && word.contains('l')),
            "ping" => words.iter().any(|word| word.starts_with("-c")),
            "tail" => !words.iter().any(|word| word.starts_with("-f") || word.starts_with("-F")),
            _ => true,
        }
}

/// Whether these words start a program that goes on until somebody stops it.
pub fn never_ends(words: &[String]) -> bool {
    let name = words.first().map(|word| shell::program(word));
    matches!(name, Some("tail" | "nc")) && !is_known(words)
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
