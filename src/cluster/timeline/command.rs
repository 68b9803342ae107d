//! What a command of a timeline is: a program of the cluster, or one that only works on text.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use jiff::fmt::strtime;
use jiff::tz::TimeZone;

use super::super::fault::Fault;
use kubectl::{self, Kubectl};
use userland::Ran;
use userland::programs;

/// What `timeout` ends with when it has ended a command.
const TIMED_OUT: i32 = 124;

/// A command whose words are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// `kubectl …`, and how long it may take.
    Kubectl { words: Vec<String>, limit: Option<Duration> },
    /// `node stop 5`, `kill POD` …: what breaks.
    Fault(Vec<String>),
    /// `curl URL [--from POD|NODE|outside]`, and so `ping` and `nslookup`.
    Network(Network),
    /// `kill %1`, `kill $!`: the commands in the background that are ended.
    Kill(Vec<String>),
    /// `xargs kubectl delete`: the commands that come of it.
    Several(Vec<Command>),
}

/// A command of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The command, without `--from`.
    pub words: Vec<String>,
    /// Where it runs; empty: on the first node.
    pub from: String,
}

impl Command {
    /// What these words mean. None: no program of the cluster's. `input` is what it reads.
    ///
    /// # Errors
    /// How it is written.
    pub(super) fn of(words: &[String], input: &str) -> Result<Option<Command>, String> {
        let Some((first, rest)) = words.split_first() else { return Ok(None) };
        Ok(Some(match plain(first) {
            "kubectl" => Command::Kubectl { words: rest.to_vec(), limit: None },
            "timeout" => {
                limited(rest).ok_or_else(|| format!("write timeout SECONDS kubectl …, not: {}", words.join(" ")))?
            }
            "curl" | "ping" | "nslookup" => Command::Network(network(words)?),
            "xargs" => Command::Several(each(rest, input)?),
            "kill" if names_jobs(rest) => Command::Kill(rest.iter().filter(|word| !is_flag(word)).cloned().collect()),
            // The program, and not what cuts a node off.
            "cut" if rest.first().is_some_and(|word| word.starts_with('-')) => return Ok(None),
            name if Fault::is_named(name) => Command::Fault([&[name.to_owned()], rest].concat()),
            _ => return Ok(None),
        }))
    }

    /// Whether a line may begin with this word.
    pub(super) fn is_named(word: &str) -> bool {
        let name = plain(word);
        matches!(name, "kubectl" | "timeout" | "xargs" | "curl" | "ping" | "nslookup" | "date" | "ls" | "tee")
            || Fault::is_named(name)
    }
}

/// Whether these are jobs or processes, with a signal before them: `-9 %1`. No Pod is called like that here.
fn names_jobs(words: &[String]) -> bool {
    let is_job = |word: &String| word.starts_with('%') || word.bytes().all(|c| c.is_ascii_digit());
    let mut jobs = words.iter().skip_while(|word| is_flag(word)).peekable();
    jobs.peek().is_some() && jobs.all(is_job)
}

fn is_flag(word: &str) -> bool {
    word.starts_with('-')
}

/// `fake-node` and `fake-file` are the same where a real cluster's are meant to be stood in for.
fn plain(name: &str) -> &str {
    name.strip_prefix("fake-").unwrap_or(name)
}

/// `timeout SECONDS kubectl …`, without the first word.
fn limited(words: &[String]) -> Option<Command> {
    match words {
        [seconds, kubectl, words @ ..] if kubectl == "kubectl" => {
            let seconds = seconds.trim_end_matches('s').parse().ok()?;
            let limit = Some(Duration::try_from_secs_f64(seconds).ok()?);
            Some(Command::Kubectl { words: words.to_vec(), limit })
        }
        _ => None,
    }
}

/// `curl URL --from POD`: a command of the network, and where it runs.
///
/// # Errors
/// How it is written.
pub fn network(words: &[String]) -> Result<Network, String> {
    let (mut rest, mut from) = (Vec::new(), String::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix("--from") {
            Some("") => from = words.next().ok_or("--from wants a Pod, a node, or outside")?.clone(),
            Some(value) if value.starts_with('=') => from = value[1..].to_owned(),
            _ => rest.push(word.clone()),
        }
    }
    match rest.as_slice() {
        [command] => Err(format!("{command} wants to know whom; write for example: {command} web --from client")),
        _ => Ok(Network { words: rest, from }),
    }
}

/// `xargs [-r] [-n COUNT] [-I WORD] COMMAND`, without the first word. Mirrors GNU's.
fn each(words: &[String], input: &str) -> Result<Vec<Command>, String> {
    let usage = || "write xargs [-n COUNT] [-I WORD] kubectl …".to_owned();
    let (mut count, mut place, mut skips_nothing) = (usize::MAX, None, false);
    let mut rest = words.iter();
    while let Some(flag) = rest.as_slice().first().filter(|word| word.starts_with('-')) {
        rest.next();
        let mut value = |letters: &str| match flag.strip_prefix(letters) {
            Some("") => rest.next().map(String::as_str),
            attached => attached,
        };
        match flag.get(..2).unwrap_or_default() {
            "-n" => {
                let number = value("-n").and_then(|number| number.parse().ok());
                count = number.filter(|count| *count > 0).ok_or_else(usage)?;
            }
            "-I" => place = Some(value("-I").ok_or_else(usage)?),
            "-r" => skips_nothing = true,
            _ => return Err(usage()),
        }
    }
    let rest = rest.as_slice();
    let built: Vec<Vec<String>> = match place {
        Some(place) => {
            let with = |line: &str| rest.iter().map(|word| word.replace(place, line.trim())).collect();
            input.lines().filter(|line| !line.trim().is_empty()).map(with).collect()
        }
        None => {
            let given: Vec<String> = input.split_whitespace().map(str::to_owned).collect();
            match given.is_empty() {
                true if skips_nothing => Vec::new(),
                true => vec![rest.to_vec()],
                false => given.chunks(count.min(given.len())).map(|given| [rest, given].concat()).collect(),
            }
        }
    };
    built.iter().map(|words| Command::of(words, "").and_then(|command| command.ok_or_else(usage))).collect()
}

/// Runs kubectl for so long at most. Where the time is over it ends, with the code that `timeout` gives.
pub(super) async fn within(limit: Option<Duration>, words: &[String], kubectl: &Kubectl) -> i32 {
    let mut command = pin!(kubectl::run(words, kubectl));
    let Some(limit) = limit else { return i32::from(command.await) };
    let mut time = pin!(kubectl.sleep(limit));
    poll_fn(|context| match command.as_mut().poll(context) {
        Poll::Ready(code) => Poll::Ready(i32::from(code)),
        Poll::Pending => time.as_mut().poll(context).map(|()| TIMED_OUT),
    })
    .await
}

/// Runs a program that only works on text.
pub(super) fn on_text(words: &[String], input: &str, kubectl: &Kubectl) -> Ran {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(name) = words.first() else { return Ran::badly(2, "a program is missing behind the |") };
    match *name {
        "date" => return date(&words[1..], kubectl),
        "ls" => return ls(&words[1..], kubectl),
        _ => {}
    }
    let read = |path: &str| kubectl.open_text(path).ok();
    programs::plain(&words, input, &read, &|path| !kubectl.names_in(path).is_empty()).unwrap_or_else(|| {
        match programs::plain_names().any(|known| known == *name) {
            true => Ran::badly(2, format!("{}: this is more than is known of it here", words.join(" "))),
            false => Ran::badly(127, format!("{name}: command not found")),
        }
    })
}

/// `date`, `date +%s`: the cluster's time, in UTC.
fn date(words: &[&str], kubectl: &Kubectl) -> Ran {
    let format = match words.iter().filter(|word| !matches!(**word, "-u" | "--utc")).collect::<Vec<_>>()[..] {
        [] => "%a %b %e %H:%M:%S UTC %Y",
        [format] if format.starts_with('+') => &format[1..],
        _ => return Ran::badly(1, "date: write date, or date +FORMAT as in: date +%H:%M:%S"),
    };
    match strtime::format(format, &kubectl.now().to_zoned(TimeZone::UTC)) {
        Ok(text) => Ran::well(text + "\n"),
        Err(_) => Ran::badly(1, format!("date: invalid format '+{format}'")),
    }
}

/// `ls`, `ls DIR`: the files of the scenario, those that were written, and those on the disk.
fn ls(words: &[&str], kubectl: &Kubectl) -> Ran {
    let (flags, paths): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    if let Some(other) = flags.iter().find(|flag| !matches!(**flag, "-1" | "-a" | "-A")) {
        return Ran::badly(2, format!("ls: {other} is left out here"));
    }
    let mut ran = Ran::default();
    for path in if paths.is_empty() { vec!["."] } else { paths } {
        let here = kubectl.files.keys().filter(|name| path == "." && !name.contains('/')).cloned();
        let names: BTreeSet<String> = here.chain(kubectl.names_in(path)).collect();
        match names.is_empty() && path != "." {
            false => names.iter().for_each(|name| ran.output += &format!("{name}\n")),
            true if kubectl.open_text(path).is_ok() => ran.output += &format!("{path}\n"),
            true => {
                ran.errors += &format!("ls: cannot access '{path}': No such file or directory\n");
                ran.code = 2;
            }
        }
    }
    ran
}

/// The files that `tee` writes, and whether it adds to what is there.
pub(super) fn tee(words: &[String]) -> (Vec<&String>, bool) {
    let (flags, paths) = words[1..].iter().partition::<Vec<_>, _>(|word| is_flag(word));
    (paths, flags.iter().any(|flag| matches!(flag.as_str(), "-a" | "--append")))
}

/// What a command has printed, after programs that work on text have gone over it one after another. What it has said on
/// standard error comes first.
pub fn printed_through<'a>(command: &Kubectl, programs: impl Iterator<Item = &'a [String]>) -> String {
    let mut programs = programs.peekable();
    if programs.peek().is_none() {
        return command.printed_since(0);
    }
    let (mut text, mut errors) = (command.stdout.take(), command.stderr.take());
    for words in programs {
        let ran = on_text(words, &text, command);
        text = ran.output;
        errors += &ran.errors;
    }
    errors + &text
}
