//! The stepper's command language. The same words work at the prompt, in a pipe and in test scripts.

/// A command, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// To the next informer notification, N times.
    Step(u64),
    /// To the next event of any kind, N times.
    StepEvent(u64),
    /// On until the scenario's next command line, or until nothing is left to do.
    Continue,
    /// On until nothing is left to do.
    Run,
    /// On for so many seconds of virtual time.
    Wait(u64),
    /// What is in flight.
    Pending {
        /// Background traffic too.
        all: bool,
    },
    /// The causes of the step where we stand, or of another.
    Why(Option<u64>),
    /// The stop again.
    Show,
    /// Every suspended reconcile and pod worker.
    Stack,
    /// A key of etcd, or all below a prefix.
    Etcd {
        /// The key.
        key: String,
        /// Whether it is a prefix.
        prefix: bool,
    },
    /// A component's caches.
    Cache(String),
    /// A component's work queues.
    Queue(String),
    /// A command for kubectl, in words.
    Kubectl(Vec<String>),
    /// What one can type.
    Help,
    /// The end.
    Quit,
}

/// kubectl's verbs that the stepper takes without the word `kubectl`.
const KUBECTL: &[&str] = &[
    "get", "describe", "apply", "create", "delete", "scale", "logs", "events", "run", "set", "label", "annotate",
    "taint", "rollout", "patch", "replace", "wait", "cordon", "uncordon", "expose", "edit",
];

/// Every word a command can start with, for completion.
pub const WORDS: &[&str] = &[
    "step", "stepi", "continue", "run", "wait", "pending", "why", "show", "stack", "etcd get", "cache", "queue",
    "nodes", "get", "describe", "apply -f", "delete", "scale", "logs", "events", "kubectl", "help", "quit",
];

/// Reads a line. An empty one is `step`.
pub fn parse(line: &str) -> Result<Command, String> {
    // Steps are shown as #12 and may be typed so; to a shell that would begin a comment.
    let line = line.replace(" #", " ");
    let words = shell_words::split(&line).map_err(|_| "a quote is not closed".to_owned())?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((&first, rest)) = words.split_first() else { return Ok(Command::Step(1)) };
    match first {
        "step" | "s" => count(rest).map(Command::Step),
        "stepi" | "si" => count(rest).map(Command::StepEvent),
        "continue" | "c" => nothing(first, rest, Command::Continue),
        "run" | "r" if rest.is_empty() => Ok(Command::Run),
        "wait" if rest.len() == 1 && rest[0].parse::<u64>().is_ok() => count(rest).map(Command::Wait),
        "pending" | "p" => Ok(Command::Pending { all: flag(rest, "--all")? }),
        "why" | "w" => why(rest),
        "show" => nothing(first, rest, Command::Show),
        "stack" => nothing(first, rest, Command::Stack),
        "etcd" => etcd(rest),
        "cache" => one(rest, "cache COMPONENT, as in: cache kube-scheduler").map(Command::Cache),
        "queue" => one(rest, "queue COMPONENT, as in: queue kube-controller-manager").map(Command::Queue),
        "nodes" => nothing(first, rest, kubectl(&["get", "nodes", "-o", "wide"])),
        "kubectl" | "k" if !rest.is_empty() => Ok(kubectl(rest)),
        "help" | "h" | "?" => Ok(Command::Help),
        "quit" | "q" | "exit" => Ok(Command::Quit),
        verb if KUBECTL.contains(&verb) => Ok(kubectl(&words)),
        other => Err(unknown(other)),
    }
}

fn kubectl(words: &[&str]) -> Command {
    Command::Kubectl(words.iter().map(|word| (*word).to_owned()).collect())
}

fn count(rest: &[&str]) -> Result<u64, String> {
    match rest {
        [] => Ok(1),
        [number] => match number.parse() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(format!("{number:?} is not a number of steps; write for example: step 5")),
        },
        _ => Err("that takes one number at most; write for example: step 5".to_owned()),
    }
}

fn why(rest: &[&str]) -> Result<Command, String> {
    match rest {
        [] => Ok(Command::Why(None)),
        [step] => match step.trim_start_matches('#').parse() {
            Ok(n) => Ok(Command::Why(Some(n))),
            Err(_) => Err(format!("{step:?} is not a step; write for example: why 12")),
        },
        _ => Err("that takes one step at most; write for example: why 12".to_owned()),
    }
}

fn etcd(rest: &[&str]) -> Result<Command, String> {
    let rest: Vec<&str> = rest.iter().copied().filter(|word| *word != "get").collect();
    let prefix = rest.contains(&"--prefix");
    let keys: Vec<&&str> = rest.iter().filter(|word| **word != "--prefix").collect();
    match keys.as_slice() {
        [key] => Ok(Command::Etcd { key: (**key).to_owned(), prefix }),
        [] if prefix => Ok(Command::Etcd { key: "/registry/".to_owned(), prefix }),
        _ => Err("write: etcd get /registry/pods/default/web, or: etcd get --prefix /registry/pods/".to_owned()),
    }
}

fn one(rest: &[&str], usage: &str) -> Result<String, String> {
    match rest {
        [word] => Ok((*word).to_owned()),
        _ => Err(format!("write: {usage}")),
    }
}

fn flag(rest: &[&str], flag: &str) -> Result<bool, String> {
    match rest {
        [] => Ok(false),
        [word] if *word == flag => Ok(true),
        [word, ..] => Err(format!("{word:?} means nothing here; {flag} would")),
    }
}

fn nothing(first: &str, rest: &[&str], command: Command) -> Result<Command, String> {
    match rest {
        [] => Ok(command),
        [word, ..] => Err(format!("{first} takes no argument, but was given {word:?}")),
    }
}

/// Says what was probably meant.
fn unknown(word: &str) -> String {
    let nearest = WORDS.iter().copied().min_by_key(|known| distance(word, known.split(' ').next().unwrap_or(known)));
    match nearest.filter(|known| distance(word, known) <= 2) {
        Some(known) => format!("there is no command {word:?}; did you mean {known:?}? help lists them all"),
        None => format!("there is no command {word:?}; help lists them all"),
    }
}

/// Edits between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(40).collect(), b.chars().collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substitute = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

/// What `help` prints.
pub const HELP: &str = "\
move      Enter, step [N]     to the next informer notification
          stepi [N]           to the next event of any kind
          continue            on until the scenario's next command
          run                 on until nothing is left to do
          wait SECONDS        on for so much virtual time
look      show                this stop again
          why [STEP]          what led to it, back to the keystroke
          pending [--all]     what is in flight
          stack               what every reconcile and pod worker waits for
          cache COMPONENT     what a component believes
          queue COMPONENT     what it has still to work on
          etcd get [--prefix] KEY
cluster   get, describe, logs, events, nodes      as kubectl prints them; time stands still
          apply -f, delete, scale, label, set …   as kubectl does them; step to see it happen
          help, quit
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_commands() {
        for (line, command) in [
            ("", Command::Step(1)),
            ("step 5", Command::Step(5)),
            ("si", Command::StepEvent(1)),
            ("why #12", Command::Why(Some(12))),
            ("etcd get --prefix /registry/pods/", Command::Etcd { key: "/registry/pods/".into(), prefix: true }),
            ("get pods", kubectl(&["get", "pods"])),
            ("kubectl get pods", kubectl(&["get", "pods"])),
        ] {
            assert_eq!(parse(line), Ok(command), "{line}");
        }
    }

    #[test]
    fn a_wrong_word_says_what_was_meant() {
        for (line, says) in [
            ("stpe", "did you mean \"step\""),
            ("step -1", "is not a number of steps"),
            ("xyzzy", "help lists them all"),
            ("show me", "takes no argument"),
            ("get \"po", "a quote is not closed"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
