//! Lines that a shell would have to read: `kubectl create … -o yaml > web.yaml`, `kubectl get pods -o name | xargs kubectl
//! delete`, `for n in 1 2 3; do kubectl run web-$n --image=nginx; done`, `cat <<EOF | kubectl apply -f -`.
//!
//! They go to the shell that runs the lines of a scenario, as one choice. What it writes into files is kept for later
//! commands, and nothing is written to the disk.
//!
//! A pipe behind what only looks is no such line: that is answered at once, see [`commands::cluster`].

use ::cluster::timeline;

use super::commands::{self, Group, cluster};

/// Words that a line of a shell begins with, and no command of the stepper's.
const BEGIN: &[&str] = &["cat", "echo", "export", "for", "while"];

/// The line as a shell reads it, if it has to. It may have more than one line, after `<<`.
///
/// # Errors
/// What is not understood.
pub fn line(text: &str) -> Option<Result<String, String>> {
    let text = text.trim();
    let first = text.split_whitespace().next()?;
    let rest = text[first.len()..].trim_start();
    let line = match first {
        "kubectl" => text.to_owned(),
        "k" => format!("kubectl {rest}"),
        verb if kubectl::does(verb) && is_kubectls(verb, rest) => format!("kubectl {text}"),
        _ => text.to_owned(),
    };
    if line.starts_with("kubectl ") {
        let signs = signs(&line);
        let (only_pipes, looks) = (signs.iter().all(|sign| *sign == "|"), cluster::is_quick(&line));
        let at_once = signs.is_empty() || (only_pipes && looks);
        return (!at_once).then(|| understood(line));
    }
    let sets = first.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    });
    (sets || BEGIN.contains(&first)).then(|| understood(line))
}

/// Whether a word at the beginning of a line is kubectl's, and not the stepper's: that one's `run` has nothing behind it.
fn is_kubectls(verb: &str, rest: &str) -> bool {
    let here = |group: &Group| group.commands.iter().any(|command| command.names.contains(&verb));
    here(&cluster::GROUP) || !commands::GROUPS.iter().any(here) || (verb == "run" && rest.contains("--image"))
}

fn understood(line: String) -> Result<String, String> {
    timeline::check(&line).map(|()| line)
}

/// The signs in a line that are a shell's, outside quotes.
fn signs(line: &str) -> Vec<&'static str> {
    const SIGNS: &[&str] = &["||", "|", "&&", ";", ">", "<", "`"];
    let (mut found, mut quote) = (Vec::new(), None);
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => taken += rest[1..].chars().next().map_or(0, char::len_utf8),
            (None, '\'' | '"') => quote = Some(c),
            (_, '$') if is_filled_in(&rest[1..]) => found.push("$"),
            (Some(_), _) => {}
            (None, _) => {
                if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                    found.push(*sign);
                    taken = sign.len();
                }
            }
        }
        rest = &rest[taken..];
    }
    found
}

/// Whether what follows a dollar sign makes a shell put something there.
fn is_filled_in(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '(' | '{' | '?'))
}

/// Whether more lines belong to this one: it ends with a backslash, or a text after `<<` has not come to its end.
pub fn goes_on(text: &str) -> bool {
    if let Some(word) = here_document(text) {
        return !text.lines().skip(1).any(|line| line.trim_start_matches('\t') == word);
    }
    text.ends_with('\\') && !text.ends_with("\\\\")
}

/// The word that ends the text after `<<`.
fn here_document(text: &str) -> Option<&str> {
    let first = text.lines().next()?;
    let (before, after) = first.split_once("<<")?;
    if after.starts_with('<') || !matches!(before.split_whitespace().next(), Some("cat" | "kubectl" | "k")) {
        return None;
    }
    let word = after.trim_start_matches('-').split_whitespace().next()?;
    Some(word.trim_matches(['\'', '"']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_has_to_read_goes_to_one() {
        for (text, expected) in [
            ("kubectl get pods", None),
            ("kubectl get pods | grep web | wc -l", None),
            ("k get pods -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'", None),
            ("kubectl annotate pod web note='a > b; c'", None),
            ("break create pods if a || b", None),
            ("wait 5", None),
            ("k get po > pods.txt", Some("kubectl get po > pods.txt")),
            (
                "create ns a --dry-run=client -o yaml | kubectl apply -f -",
                Some("kubectl create ns a --dry-run=client -o yaml | kubectl apply -f -"),
            ),
            (
                "kubectl get pods -o name | xargs kubectl delete",
                Some("kubectl get pods -o name | xargs kubectl delete"),
            ),
            ("kubectl delete $(kubectl get pods -o name)", Some("kubectl delete $(kubectl get pods -o name)")),
            ("kubectl get \"$pod\"", Some("kubectl get \"$pod\"")),
            ("kubectl get pods -o go-template='{{$.kind}}'", None),
            ("run web --image=nginx -o yaml > web.yaml", Some("kubectl run web --image=nginx -o yaml > web.yaml")),
            ("cat web.yaml", Some("cat web.yaml")),
            ("pod=$(kubectl get pods -o name)", Some("pod=$(kubectl get pods -o name)")),
        ] {
            assert_eq!(line(text).map(Result::unwrap), expected.map(str::to_owned), "{text}");
        }
        assert!(line("kubectl get pods; rm -rf x").is_some_and(|read| read.is_err()));
    }

    #[test]
    fn a_text_that_is_not_over_goes_on() {
        for (text, more) in [
            ("cat <<EOF | kubectl apply -f -", true),
            ("cat <<EOF | kubectl apply -f -\nkind: Pod", true),
            ("cat <<'EOF' | kubectl apply -f -\nkind: Pod\nEOF", false),
            ("kubectl apply -f - <<EOF", true),
            ("kubectl run web --image=nginx \\", true),
            ("kubectl run web --image=nginx", false),
            ("break if a << b", false),
        ] {
            assert_eq!(goes_on(text), more, "{text}");
        }
    }
}
