//! Lines that a shell would have to read: `kubectl create … -o yaml > web.yaml`, `kubectl get pods -o name | xargs kubectl
//! delete`, `for n in 1 2 3; do kubectl run web-$n --image=nginx; done`, `cat <<EOF | kubectl apply -f -`.
//!
//! They go to the shell that runs the lines of a scenario, as one choice. What it writes into files is kept for later
//! commands, and nothing is written to the disk.
//!
//! A pipe behind what only looks is no such line: that is answered at once, see [`commands::cluster`].

use std::borrow::Cow;

use ::cluster::timeline;

use super::commands::{self, Group, cluster};

/// Words that a line of a shell begins with, and no command of the stepper's.
pub const BEGIN: &[&str] = &["date", "echo", "export", "for", "seq", "sleep", "while"];

/// Programs behind a pipe that go over text, as help tells them.
pub const FILTERS: &[&str] = &["awk", "cut", "grep", "head", "jq", "less", "sed", "sort", "tail", "tr", "uniq", "wc"];

/// A line as the stepper reads it: without the comment at its end, with blanks around the pipes behind a command of kubectl's,
/// and `watch kubectl get …` as what it comes to here.
///
/// # Errors
/// What is left out of `watch`.
pub fn plain(text: &str) -> Result<Cow<'_, str>, String> {
    if text.contains('\n') {
        return Ok(text.into());
    }
    let text = text[..comment(text).unwrap_or(text.len())].trim_end();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match first {
        "watch" => watched(text, rest),
        "kubectl" | "k" => Ok(spaced(text)),
        verb if kubectl::does(verb) && is_kubectls(verb, rest) => Ok(spaced(text)),
        _ => Ok(text.into()),
    }
}

/// Whether a line only gives kubectl the name that it has here anyway.
///
/// # Errors
/// Other names are left out.
pub fn is_alias(text: &str) -> Result<bool, String> {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        ["alias", "k=kubectl" | "k='kubectl'" | "k=\"kubectl\""] => Ok(true),
        ["alias", ..] => Err("k is kubectl here already; other names by alias are left out".to_owned()),
        _ => Ok(false),
    }
}

/// `watch -n 1 kubectl get pods`, and so the stepper's own `watch`, which watches an object.
fn watched<'t>(text: &'t str, rest: &'t str) -> Result<Cow<'t, str>, String> {
    let mut words = rest.split_whitespace().peekable();
    while let Some(flag) = words.next_if(|word| word.starts_with('-')) {
        if matches!(flag, "-n" | "--interval") {
            words.next();
        }
    }
    match words.next() {
        Some("kubectl" | "k") => {}
        _ => return Ok(text.into()),
    }
    let line: Vec<&str> = words.collect();
    match line.as_slice() {
        ["get", ..] if !line.iter().any(|word| matches!(*word, "|" | "-w" | "--watch")) => {
            Ok(format!("kubectl {} --watch", line.join(" ")).into())
        }
        _ => Err("of watch only watch kubectl get … is known here, which prints each change; type other lines again"
            .to_owned()),
    }
}

/// Where the comment at the end of a line begins. A step is written with its number: `why #12`.
fn comment(text: &str) -> Option<usize> {
    unquoted(text).map(|(at, _)| at).find(|at| {
        let (before, sign) = text.split_at(*at);
        let is_number = |said: &str| said.starts_with(|c: char| c.is_ascii_digit());
        let is_sign = sign.strip_prefix('#').is_some_and(|said| !is_number(said));
        is_sign && before.ends_with(char::is_whitespace) && !before.trim().is_empty()
    })
}

/// `a|b` as `a | b`.
fn spaced(text: &str) -> Cow<'_, str> {
    let is_pipe = |at: &usize| {
        let (before, sign) = text.split_at(*at);
        sign.starts_with('|') && !sign.starts_with("||") && !before.ends_with(['|', '>'])
    };
    let pipes: Vec<usize> = unquoted(text).map(|(at, _)| at).filter(is_pipe).collect();
    if pipes.is_empty() {
        return text.into();
    }
    let (mut out, mut from) = (String::new(), 0);
    for at in pipes {
        out += &format!("{} | ", text[from..at].trim_end());
        from = at + 1 + (text[at + 1..].len() - text[at + 1..].trim_start().len());
    }
    (out + &text[from..]).into()
}

/// The characters of a line that stand in no quotes and behind no backslash, with their places.
fn unquoted(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quote, mut escaped) = (None, false);
    text.char_indices().filter(move |(_, c)| {
        if std::mem::take(&mut escaped) {
            return false;
        }
        match (quote, *c) {
            (Some(open), c) => {
                escaped = open == '"' && c == '\\';
                quote = Some(open).filter(|open| *open != c);
                false
            }
            (None, '\'' | '"') => {
                quote = Some(*c);
                false
            }
            (None, '\\') => {
                escaped = true;
                false
            }
            (None, _) => true,
        }
    })
}

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
        let at_once = (signs.is_empty() || (only_pipes && looks)) && !timeline::braces::are_in(&line);
        return (!at_once).then(|| understood(line));
    }
    let sets = first.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    });
    let of_files = matches!(first, "cat" | "ls") && !looks_at_files(text);
    (sets || BEGIN.contains(&first) || of_files).then(|| understood(line))
}

/// Whether a line only looks at files, which is no event of the cluster's: `ls`, `cat web.yaml | grep image`.
pub(super) fn looks_at_files(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let named = match words.next() {
        Some("ls" | "files") => true,
        Some("cat") => words.next().is_some_and(|word| word != "|"),
        _ => false,
    };
    named && !text.contains('\n') && signs(text).iter().all(|sign| *sign == "|") && cluster::goes_through_filters(text)
}

/// A line before `| less` or `| more`.
pub(super) fn paged(line: &str) -> Option<&str> {
    let (before, pager) = line.trim_end().rsplit_once('|')?;
    let is_sign = signs(line).last() == Some(&"|");
    (is_sign && matches!(pager.trim(), "less" | "more")).then_some(before)
}

/// A line after or before `!`.
pub(super) fn to_its_end(line: &str) -> Option<&str> {
    let line = line.trim();
    let within = line.strip_prefix('!').or_else(|| line.strip_suffix(" !"))?;
    (!within.trim().is_empty()).then_some(within)
}

/// A line up to its first pipe, and what follows that.
pub(super) fn split_at_pipe(line: &str) -> Option<(&str, &str)> {
    let (at, _) = signs_at(line).into_iter().find(|(_, sign)| *sign == "|")?;
    Some((&line[..at], &line[at + 1..]))
}

/// Whether a line is one of kubectl's, without that word.
pub(super) fn is_kubectls_line(line: &str) -> bool {
    let line = line.trim_start();
    let first = line.split_whitespace().next().unwrap_or_default();
    kubectl::does(first) && is_kubectls(first, line[first.len()..].trim_start())
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
pub(super) fn signs(line: &str) -> Vec<&'static str> {
    signs_at(line).into_iter().map(|(_, sign)| sign).collect()
}

/// The same, each with its place.
fn signs_at(line: &str) -> Vec<(usize, &'static str)> {
    const SIGNS: &[&str] = &["||", "|", "&&", ";", ">", "<", "`"];
    let (mut found, mut quote) = (Vec::new(), None);
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let (mut taken, at) = (c.len_utf8(), line.len() - rest.len());
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => taken += rest[1..].chars().next().map_or(0, char::len_utf8),
            (None, '\'' | '"') => quote = Some(c),
            (_, '$') if is_filled_in(&rest[1..]) => found.push((at, "$")),
            (Some(_), _) => {}
            (None, _) => {
                if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                    found.push((at, *sign));
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
            ("cat web.yaml", None),
            ("cat web.yaml | kubectl apply -f -", Some("cat web.yaml | kubectl apply -f -")),
            ("pod=$(kubectl get pods -o name)", Some("pod=$(kubectl get pods -o name)")),
        ] {
            assert_eq!(line(text).map(Result::unwrap), expected.map(str::to_owned), "{text}");
        }
        assert!(line("kubectl get pods; rm -rf x").is_some_and(|read| read.is_err()));
    }

    #[test]
    fn what_begins_a_shells_line_is_no_command_of_the_steppers() {
        assert_eq!(BEGIN.iter().find(|word| commands::find(word).is_some()), None);
    }

    #[test]
    fn lines_of_tutorials_are_understood() {
        for (text, want) in [
            ("kubectl get pods # list them", "kubectl get pods"),
            ("kubectl annotate pod web 'a=b # c' x=#1", "kubectl annotate pod web 'a=b # c' x=#1"),
            ("why #12", "why #12"),
            ("k get po|grep web|wc -l", "k get po | grep web | wc -l"),
            ("kubectl get po -o name | wc -l", "kubectl get po -o name | wc -l"),
            ("kubectl get po || echo 'a|b'", "kubectl get po || echo 'a|b'"),
            ("break create pods if a|b", "break create pods if a|b"),
            ("watch kubectl get pods", "kubectl get pods --watch"),
            ("watch -n 1 k get pods -o wide", "kubectl get pods -o wide --watch"),
            ("watch pod web", "watch pod web"),
        ] {
            assert_eq!(plain(text).as_deref(), Ok(want), "{text}");
        }
        assert!(plain("watch kubectl top pods").is_err());
        assert_eq!(is_alias("alias k=kubectl"), Ok(true));
        assert!(is_alias("alias kgp='kubectl get pods'").is_err());
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
