//! A line before it runs: whether all of it is understood.

use std::rc::Rc;
use std::time::Duration;

use super::super::fault::{self, Fault};
use super::braces;
use super::command::Command;
use userland::programs;
use userland::shell::builtins::seconds;
use userland::shell::{BUILTINS, Program};

/// So long may a line last that sleeps. Each second of a cluster has heartbeats in it: more of them help no user.
pub(super) const SLEEP_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// What is said of one that lasts longer.
pub(super) const TOO_LONG: &str = "a line may sleep for a week at the most, which is 604800 seconds";

/// Whether a line can run, as far as that is known in advance: what stands in a variable shows when it does.
///
/// # Errors
/// What is not understood, and what can be written instead.
pub fn check(line: &str) -> Result<(), String> {
    read(line).map(drop)
}

/// The program that a line is, if it can run.
///
/// # Errors
/// As [`check`].
pub(super) fn read(line: &str) -> Result<Rc<Program>, String> {
    let program = Program::of(&["sh".to_owned(), "-c".to_owned(), braces::expanded(line.trim())]);
    if program.is_empty() {
        return Err("an empty line does nothing; remove it".to_owned());
    }
    if !program.is_understood() {
        return Err(not_understood(line));
    }
    let functions: Vec<&str> = program.functions().collect();
    if let Some(other) = program.commands().find(|name| !is_known(name) && !functions.contains(&name.as_str())) {
        return Err(unknown(&other));
    }
    program.literal_commands().try_for_each(|words| check_words(&words))?;
    Ok(program)
}

fn is_known(name: &str) -> bool {
    Command::is_named(name) || BUILTINS.contains(&name) || programs::plain_names().any(|known| known == name)
}

fn check_words(words: &[String]) -> Result<(), String> {
    match words {
        [sleep, time] if sleep == "sleep" => check_sleep(time),
        [xargs, ..] if xargs == "xargs" => Ok(()),
        _ => match Command::of(words, "")? {
            Some(Command::Fault(words)) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                Fault::parse(&words, "").map(drop)
            }
            _ => Ok(()),
        },
    }
}

fn check_sleep(time: &str) -> Result<(), String> {
    match seconds(time).ok_or_else(|| format!("{time:?} is not a number of seconds"))? {
        long if long > SLEEP_MAX => Err(format!("sleep {time}: {TOO_LONG}")),
        _ => Ok(()),
    }
}

/// What is said of a line that the shell does not understand.
pub(super) fn not_understood(line: &str) -> String {
    match shell_words::split(line) {
        Err(_) => format!("a quote is not closed in: {line}"),
        Ok(_) => format!("this is more than the shell here knows: {line}"),
    }
}

fn unknown(name: &str) -> String {
    let faults: Vec<&str> = fault::names().collect();
    let programs: Vec<&str> = programs::plain_names().collect();
    format!(
        "{name:?} is not understood; a line is a kubectl command, sleep SECONDS, NAME=$(kubectl …), \
         curl|ping|nslookup … [--from POD|NODE|outside], a fault ({}), a program that works on text ({}), or a shell's \
         if, for or while around those",
        faults.join(", "),
        programs.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_what_one_would_type() {
        for line in [
            "sleep 1.5",
            "fake-node start 5 --cpu 8",
            "node node-1 cat /etc/hostname",
            "kill $victim",
            "fake-node stop ${node#node-}",
            "crash kube-scheduler",
            "for pod in a b; do kubectl exec $pod -- cat /etc/hostname; done",
            "victim=$(kubectl get pods -o name)",
            "last=$(kubectl get pods -o name | tail -1)",
            "kubectl create token default | cut -c1-20",
            "timeout 3 kubectl get pods -w | tail -1",
            "pods=($(kubectl get pods))",
            "for n in 1 2 3; do kubectl run web-$n --image=nginx; sleep 1; done",
            "kubectl get pods -o name | xargs -n1 kubectl delete",
            "kubectl delete pod web >/dev/null 2>&1 || true",
            "if kubectl get pod web; then echo there; fi",
            "cat <<EOF | kubectl apply -f -\nkind: Pod\nEOF",
            "kubectl get pods -w & sleep 3; wait",
            "f() { kubectl get pod $1; }; f web",
        ] {
            assert_eq!(check(line), Ok(()), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_before_it_runs() {
        for (line, said) in [
            ("", "an empty line does nothing"),
            ("rm -rf /", "\"rm\" is not understood; a line is a kubectl command"),
            ("sleep long", "\"long\" is not a number of seconds"),
            ("sleep 9999999", "a line may sleep for a week at the most"),
            ("node start zero", "write: node start NUMBER"),
            ("kill", "write: kill POD"),
            ("x=$(make)", "\"make\" is not understood"),
            ("kubectl get 'pods", "a quote is not closed in: kubectl get 'pods"),
            ("kubectl get pods | rm", "\"rm\" is not understood"),
            ("timeout kubectl get pods", "write timeout SECONDS kubectl …, not: timeout kubectl get pods"),
            ("timeout 5 rm", "write timeout SECONDS kubectl …, not: timeout 5 rm"),
            ("curl", "curl wants to know whom"),
            ("for x in 1 2; kubectl get pods", "this is more than the shell here knows"),
        ] {
            let error = check(line).unwrap_err();
            assert!(error.starts_with(said) || error.contains(said), "{line}: {error}");
        }
    }
}
