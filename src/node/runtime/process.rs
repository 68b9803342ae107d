//! What runs inside a container: a process that ends, or does not, in virtual time.
//!
//! No program is run. An image without a command serves for ever and ends well when asked to, as nginx does. Of a command
//! it is known whether it is one that ends ([`ENDS`]), so that a manifest can say how its container behaves; what those do
//! that [`super::exec`] simulates is done.
//!
//! Left out: what the others print, `perl` say, and that any of them may fail; the rounds of a loop that take less than
//! [`ROUND_MIN`]; the end of what takes longer than [`EVER`].

use std::time::Duration;

use super::script::{self, Simple};

/// What a process will do if nobody interferes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// When it ends by itself, and with what code; None: never.
    pub ends: Option<(Duration, i32)>,
    /// What it prints, and when.
    pub prints: Vec<(Duration, String)>,
    /// The commands that it runs, and when.
    pub runs: Vec<(Duration, Simple)>,
    /// What it does then, again and again.
    pub rounds: Option<Rounds>,
    /// Whether it is a server, which may listen; a script of commands that are all understood is none.
    pub serves: bool,
    /// What it does on SIGTERM: ends with this code after so long; None: it ignores the signal.
    pub on_sigterm: Option<(Duration, i32)>,
}

/// A loop without end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    /// When it begins.
    pub after: Duration,
    /// How long a round takes, which is some time.
    pub every: Duration,
    /// The commands of a round: those of one moment together, and when it is.
    pub moments: Vec<(Duration, Vec<Simple>)>,
}

/// Who sleeps for longer than this never wakes up here: a hundred years.
const EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A loop that goes round faster runs, and nobody sees what it does.
const ROUND_MIN: Duration = Duration::from_millis(100);

/// How long a server takes to end well.
const SHUTDOWN: Duration = Duration::from_millis(150);

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

/// Programs that do their work and end, well and at once.
const ENDS: &[&str] = &[
    "[", "apk", "apt-get", "awk", "base64", "cat", "cd", "chmod", "chown", "cp", "curl", "cut", "date", "df", "du",
    "echo", "env", "export", "find", "git", "grep", "head", "hostname", "id", "ip", "iptables", "kubectl", "ln", "ls",
    "mkdir", "mktemp", "mount", "mv", "nproc", "nslookup", "openssl", "perl", "printenv", "printf", "ps", "pwd", "rev",
    "rm", "sed", "seq", "set", "sort", "stat", "sysctl", "tar", "test", "touch", "tr", "ulimit", "umask", "uname",
    "unzip", "wc", "wget", "whoami",
];

/// What a container with this image and command does.
pub fn plan(image: &str, command: &[String], args: &[String]) -> Plan {
    let words: Vec<&str> = command.iter().chain(args).map(String::as_str).collect();
    match (words.as_slice(), script::of_shell(&words)) {
        ([], _) => of_image(image),
        (_, Some(script)) => of_commands(script::parse(script)),
        (_, None) => {
            let words = command.iter().chain(args).cloned().collect();
            of_commands(vec![Simple { words, ..Simple::default() }])
        }
    }
}

/// How long a command takes that is run beside the process. What is not known takes no time.
pub fn time_of(command: &[String]) -> Duration {
    plan("", command, &[]).ends.map_or(Duration::ZERO, |(after, _)| after)
}

fn of_image(image: &str) -> Plan {
    let name = image.rsplit('/').next().unwrap_or(image).split([':', '@']).next().unwrap_or(image);
    match SHORT_LIVED.iter().find(|(short, _)| *short == name) {
        Some((_, "")) => Plan { ends: Some((Duration::ZERO, 0)), ..Plan::default() },
        Some((_, says)) => {
            let prints = vec![(Duration::ZERO, (*says).to_owned())];
            Plan { ends: Some((Duration::ZERO, 0)), prints, ..Plan::default() }
        }
        None => Plan { serves: true, on_sigterm: Some((SHUTDOWN, 0)), ..Plan::default() },
    }
}

/// Commands one after another. One that is not known runs for ever. As process 1 of a container a shell ignores SIGTERM.
fn of_commands(commands: Vec<Simple>) -> Plan {
    if let Some(plan) = script::endless(&commands).and_then(|(before, round)| in_rounds(before, round)) {
        return plan;
    }
    let mut plan = Plan::default();
    let (mut clock, mut code) = (Duration::ZERO, 0);
    for simple in commands {
        if !simple.joint.goes_on(code) {
            continue;
        }
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            _ if simple.is_beyond => return Plan { serves: true, ..plan },
            ["true" | ":"] => code = 0,
            ["false"] => code = 1,
            ["exit"] => break,
            ["exit", wanted] => {
                code = wanted.parse().unwrap_or(2);
                break;
            }
            ["sleep", time] => match seconds(time).map(|time| clock.saturating_add(time)) {
                Some(then) if then <= EVER => (clock, code) = (then, 0),
                _ => return plan,
            },
            [program, ..] if is_known(program) || script::assignment(&simple.words).is_some() => {
                plan.runs.push((clock, simple));
                code = 0;
            }
            _ => return Plan { serves: true, ..plan },
        }
    }
    plan.ends = Some((clock, code));
    plan
}

fn is_known(program: &str) -> bool {
    ENDS.contains(&script::program(program))
}

/// None if what comes before the loop has no end, or a round has none, or takes next to no time.
fn in_rounds(before: &[Simple], round: Vec<Simple>) -> Option<Plan> {
    let (before, round) = (of_commands(before.to_vec()), of_commands(round));
    let ((after, _), (every, _)) = (before.ends?, round.ends.filter(|(every, _)| *every >= ROUND_MIN)?);
    let mut moments: Vec<(Duration, Vec<Simple>)> = Vec::new();
    for (at, simple) in round.runs {
        match moments.last_mut() {
            Some((last, commands)) if *last == at => commands.push(simple),
            _ => moments.push((at, vec![simple])),
        }
    }
    let rounds = Rounds { after, every, moments };
    Some(Plan { ends: None, rounds: Some(rounds).filter(|rounds| !rounds.moments.is_empty()), ..before })
}

/// `3`, `0.5`, `2m`, `1h`; None for `infinity` and whatever is no time.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let scale = match unit {
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => 1.0,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * scale).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(script: &str) -> Option<(u64, i32)> {
        let words: Vec<String> = ["sh", "-c", script].map(str::to_owned).into();
        plan("busybox:1.36", &words, &[]).ends.map(|(after, code)| (after.as_secs(), code))
    }

    #[test]
    fn scripts_end_as_a_shell_would() {
        for (script, expected) in [
            ("sleep 3", Some((3, 0))),
            ("sleep 1; exit 3", Some((1, 3))),
            ("false && sleep 5", Some((0, 1))),
            ("true && sleep 2m; false", Some((120, 1))),
            ("echo hello; sleep infinity", None),
            ("nginx -g 'daemon off;'", None),
            ("false || exit 4", Some((0, 4))),
            ("echo a | tee /b", None),
            ("sleep nan", None),
            ("sleep 3000000000", Some((3_000_000_000, 0))),
            ("sleep 3000000000; sleep 3000000000", None),
            ("sleep 1e19; sleep 1e19", None),
        ] {
            assert_eq!(ends(script), expected, "{script}");
        }
    }

    #[test]
    fn what_works_on_files_or_prints_is_run_when_its_turn_comes() {
        let words = ["/bin/sh", "-c", "date; sleep 2; cp -r /a /b && echo done >> /log"].map(str::to_owned);
        let plan = plan("busybox:1.36", &words, &[]);
        let runs: Vec<(u64, String)> =
            plan.runs.iter().map(|(at, simple)| (at.as_secs(), simple.words.join(" "))).collect();
        let expected = [(0, "date"), (2, "cp -r /a /b"), (2, "echo done")];
        assert_eq!(runs, expected.map(|(at, words)| (at, words.to_owned())));
        assert_eq!(plan.ends, Some((Duration::from_secs(2), 0)));
    }

    #[test]
    fn a_loop_without_end_goes_round() {
        let words =
            ["sh", "-c", "sleep 1; while true; do echo a; date; sleep 5; echo b; sleep 2; done"].map(str::to_owned);
        let plan = plan("busybox:1.36", &words, &[]);
        let Rounds { after, every, moments } = plan.rounds.unwrap();
        let moments: Vec<(u64, usize)> = moments.iter().map(|(at, commands)| (at.as_secs(), commands.len())).collect();
        assert_eq!((after.as_secs(), every.as_secs(), moments), (1, 7, vec![(0, 2), (5, 1)]));
        assert_eq!((plan.ends, plan.serves), (None, false));
        let words = ["sh", "-c", "while true; do date; sleep 0.01; done"].map(str::to_owned);
        let plan = super::plan("busybox:1.36", &words, &[]);
        assert_eq!((plan.ends, plan.rounds), (None, None));
    }

    #[test]
    fn a_program_is_known_wherever_it_is() {
        let words = ["/usr/bin/env"].map(str::to_owned);
        assert_eq!(plan("busybox:1.36", &words, &[]).ends, Some((Duration::ZERO, 0)));
        let words = ["/app/env"].map(str::to_owned);
        assert_eq!(plan("busybox:1.36", &words, &[]).ends, None);
    }

    #[test]
    fn a_server_runs_until_it_is_told_to_stop() {
        let server = plan("nginx:1.27", &[], &[]);
        assert_eq!((server.ends, server.on_sigterm), (None, Some((SHUTDOWN, 0))));
        assert_eq!(plan("docker.io/library/busybox", &[], &[]).ends, Some((Duration::ZERO, 0)));
    }
}
