//! Sessions print what their transcripts say.
//!
//! A transcript in `tests/transcripts/` is a session: its `(kubestep)` lines are what is typed, the rest is what the program
//! prints. `KUBESTEP_BLESS=1` writes them anew; read the difference before you keep it.
//!
//! What is done before a scenario starts shows in no transcript: revisions and events are counted from its start, `+1` is the
//! first write of the scenario's own, and `boot` is what was there before.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use cluster::scenario::Scenario;

use crate::numbers::{with_revisions, without_source_line};

/// What was there before the scenario started.
const BOOT: &str = "boot";

fn run(arguments: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubestep"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program was built for this test");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    // A program that refuses its arguments never reads its input.
    let _ = input.write_all(stdin.as_bytes());
    drop(input);
    child.wait_with_output().expect("the program ends")
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn transcripts_hold() {
    let bless = std::env::var_os("KUBESTEP_BLESS").is_some();
    let mut count = 0;
    fs::create_dir_all("target").expect("sessions are saved there");
    for entry in fs::read_dir("tests/transcripts").expect("the transcripts are there") {
        let path = entry.expect("a folder can be listed").path();
        let expected = fs::read_to_string(&path).expect("a transcript is text");
        let found = today(&expected);
        if bless {
            fs::write(&path, &found).expect("a transcript can be written");
        } else if !expected.lines().map(without_cause).eq(found.lines().map(without_cause)) {
            let alike = |(a, b)| without_cause(a) == without_cause(b);
            let differs = expected.lines().zip(found.lines()).position(|lines| !alike(lines)).unwrap_or(0);
            let (a, b) = (expected.lines().nth(differs), found.lines().nth(differs));
            panic!("{}:{}: expected {a:?}, found {b:?}", path.display(), differs + 1);
        }
        count += 1;
    }
    assert!(count > 0, "no transcript was found");
}

/// What a whole transcript would be today.
fn today(written: &str) -> String {
    let mut start = None;
    let sessions = written.split_inclusive('\n').fold(Vec::new(), by_program);
    sessions.iter().map(|session| again(session, &mut start)).collect()
}

/// Lines from one start of the program to the next.
fn by_program(mut sessions: Vec<String>, line: &str) -> Vec<String> {
    match sessions.last_mut().filter(|_| !line.starts_with("$ kubestep ")) {
        Some(session) => session.push_str(line),
        None => sessions.push(line.to_owned()),
    }
    sessions
}

/// What the program prints today where these lines stand. A session that is gone on with starts where it did.
fn again(written: &str, start: &mut Option<Start>) -> String {
    let (head, session) = written.split_once('\n').expect("a transcript's first line is its command");
    let arguments: Vec<&str> = head.trim_start_matches("$ kubestep ").split(' ').collect();
    let named = arguments.get(1).and_then(|name| Scenario::find(name).ok());
    *start = named.map(|scenario| Start::of(&scenario)).or(*start);
    let typed: String = session.lines().filter_map(typed).map(|l| format!("{}\n", l.trim())).collect();
    let output = run(&arguments, &typed);
    let found = masked(&printed(&output), *start);
    // The end of the input is at a prompt; whatever comes next begins on a line of its own.
    let end = if found.ends_with('\n') || session.is_empty() { "" } else { "\n" };
    format!("{head}\n{found}{end}{}", String::from_utf8_lossy(&output.stderr))
}

/// What is typed in a line, if it begins with a prompt: the stepper's, or that of a shell in a container, `/tmp # `.
fn typed(line: &str) -> Option<&str> {
    let in_shell = || line.split_once(" # ").filter(|(at, _)| at.starts_with('/') && !at.contains(' '));
    line.strip_prefix("(kubestep)").or_else(|| in_shell().map(|(_, typed)| typed))
}

/// A line without what the operating system says of an error: each has words of its own.
fn without_cause(line: &str) -> &str {
    line.rsplit_once(": ").filter(|(_, cause)| cause.contains("(os error ")).map_or(line, |(error, _)| error)
}

/// How far the counters are when a scenario starts.
#[derive(Clone, Copy)]
struct Start {
    /// The revision of the last write before it.
    revision: u64,
    /// The number of the last event before it.
    event: u64,
}

impl Start {
    fn of(scenario: &Scenario) -> Start {
        let engine = bugs::cluster(scenario).engine;
        Start { revision: engine.server.api.store.revision(), event: engine.next_event().0 - 1 }
    }
}

/// A text without what edits elsewhere move: numbers of source lines, and what is counted while the cluster starts.
fn masked(text: &str, start: Option<Start>) -> String {
    let since = |start: u64, number: u64| match number.checked_sub(start) {
        None | Some(0) => BOOT.to_owned(),
        Some(more) => format!("+{more}"),
    };
    let (mut out, mut line_before) = (String::new(), "");
    for line in text.lines() {
        let mut shown = without_source_line(line);
        if let Some(start) = start {
            shown = with_revisions(&shown, line_before, |revision| since(start.revision, revision));
            shown = with_event(&shown, |event| since(start.event, event));
        }
        out += &shown;
        out.push('\n');
        line_before = line;
    }
    out
}

/// A line of `pending`, with something else for the number of its event.
fn with_event(line: &str, other: impl FnOnce(u64) -> String) -> String {
    let event = line.strip_prefix("  e").and_then(|rest| rest.split_once(' '));
    match event.and_then(|(number, rest)| Some((number.len(), number.parse().ok()?, rest))) {
        Some((width, number, rest)) => format!("  e{:width$} {rest}", other(number)),
        None => line.to_owned(),
    }
}

/// One more write while the cluster starts changes no line of any transcript.
#[test]
fn what_is_written_before_a_scenario_shows_nowhere() {
    let scenario = Scenario::find("deployment").expect("it is shipped");
    let start = Start::of(&scenario);
    let later = Start { revision: start.revision + 1, event: start.event + 1 };
    let lines = |start: Start| {
        let (r, e) = (start.revision, start.event);
        format!("why      step 5: create pods → 201, rv {}\n  e{}    0.113s  timer\n", r + 3, e + 9)
            + &format!("kube-scheduler  pods  {}  up to date\nnode-1 at revision {r}\n", r + 1)
    };
    let shown = masked(&lines(start), Some(start));
    assert_eq!(shown, masked(&lines(later), Some(later)));
    assert!(shown.contains("rv +3\n  e+9     0.113s") && shown.contains("at revision boot"), "{shown}");
}

/// The README shows a session; it is one that happens.
#[test]
fn the_readme_shows_what_happens() {
    let readme = fs::read_to_string("README.md").expect("there is a README");
    let (before, rest) = readme.split_once("## A session\n\n").expect("the README shows a session");
    let (session, after) = rest.split_once("\n## ").expect("more follows the session");
    let shown: String =
        session.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect();
    let typed: String =
        shown.lines().filter_map(|l| l.strip_prefix("(kubestep)")).map(|l| format!("{}\n", l.trim())).collect();
    let output = printed(&run(&["step", "deployment"], &typed));
    let found: String = output.trim_end().trim_end_matches("(kubestep)").trim_end().lines().fold(
        String::new(),
        // The prompt ends with a space, which a README does not keep.
        |text, line| text + line.trim_end() + "\n",
    );
    if std::env::var_os("KUBESTEP_BLESS").is_some() {
        let indent = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") };
        let indented: String = found.lines().map(indent).collect();
        fs::write("README.md", format!("{before}## A session\n\n{indented}\n## {after}"))
            .expect("a file can be written");
    } else {
        assert_eq!(masked(&shown, None), masked(&found, None), "KUBESTEP_BLESS=1 shows it anew");
    }
}
