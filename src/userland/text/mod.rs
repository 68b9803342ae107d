//! Programs that read lines and print lines: what stands between the pipes of a script.
//!
//! Left out: options that are not listed here, and of [`awk`] and [`sed`] what is no single line. In a container a command
//! with any of them does well and prints nothing.

use crate::ran::Ran;
use object::base64 as encoding;

mod awk;
mod grep;
mod jq;
mod lines;
mod sed;

use lines::{Input, joined, of_texts};

/// The programs there are.
pub const NAMES: &[&str] = &[
    "awk", "base64", "basename", "cat", "cut", "dirname", "egrep", "fgrep", "grep", "head", "jq", "printf", "rev",
    "sed", "seq", "sort", "tail", "tr", "uniq", "wc",
];

/// Runs one; `read` gives a file's text. None: it is not one of them.
pub fn run(words: &[&str], input: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<Ran> {
    ran(words, &mut Input::of(input), read)
}

/// Whether these words start one that reads its input, and not only files.
pub fn reads(words: &[&str]) -> bool {
    let mut input = Input::of("");
    ran(words, &mut input, &|_| Some(String::new()));
    input.is_read
}

fn ran(words: &[&str], input: &mut Input<'_>, read: &dyn Fn(&str) -> Option<String>) -> Option<Ran> {
    let (name, rest) = words.split_first()?;
    let (flags, operands): (Vec<&str>, Vec<&str>) =
        rest.iter().partition(|word| word.len() > 1 && word.starts_with('-'));
    let letters: String = flags.iter().map(|flag| &flag[1..]).collect();
    let only = |known: &str| letters.chars().all(|letter| known.contains(letter)).then_some(());
    match *name {
        "awk" => awk::awk(rest, input, read),
        "base64" => base64(rest, input, read),
        "basename" => Some(Ran::well(format!("{}\n", operands.first()?.trim_end_matches('/').rsplit('/').next()?))),
        "cat" => only("").map(|()| of_texts("cat", &operands, input, read, str::to_owned)),
        "cut" => cut(rest, input, read),
        "dirname" => Some(Ran::well(match operands.first()?.trim_end_matches('/').rsplit_once('/') {
            Some(("", _)) => "/\n".to_owned(),
            Some((directory, _)) => format!("{directory}\n"),
            None => ".\n".to_owned(),
        })),
        "grep" | "egrep" | "fgrep" => grep::grep(name, rest, input, read),
        "head" | "tail" => ends(name, rest, input, read),
        "jq" => jq::jq(rest, input, read),
        "printf" => Some(Ran::well(printed(rest.first()?, &rest[1..]))),
        "rev" => only("").map(|()| {
            let turned = |line: &str| line.chars().rev().chain(['\n']).collect::<String>();
            of_texts("rev", &operands, input, read, |text| text.lines().map(turned).collect())
        }),
        "sed" => sed::sed(rest, input, read),
        "seq" => seq(rest),
        "sort" => only("nru").map(|()| of_texts("sort", &operands, input, read, |text| sorted(text, &letters))),
        "tr" => tr(rest, input.read()),
        "uniq" => only("cd").map(|()| of_texts("uniq", &operands, input, read, |text| once(text, &letters))),
        "wc" => only("clw").map(|()| {
            let path = operands.first().map_or(String::new(), |path| format!(" {path}"));
            of_texts("wc", &operands, input, read, |text| format!("{}{path}\n", counted(text, &letters)))
        }),
        _ => None,
    }
}

fn sorted(text: &str, letters: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    if letters.contains('n') {
        let digits =
            |line: &str| line.trim_start().split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok();
        lines.sort_by_key(|line| digits(line).unwrap_or(0_i64));
    }
    if letters.contains('r') {
        lines.reverse();
    }
    if letters.contains('u') {
        lines.dedup();
    }
    joined(lines)
}

/// Each line once, if the same stand together; with `c` how often, with `d` only what stands there more than once.
fn once(text: &str, letters: &str) -> String {
    let mut runs: Vec<(usize, &str)> = Vec::new();
    for line in text.lines() {
        match runs.last_mut() {
            Some((count, same)) if *same == line => *count += 1,
            _ => runs.push((1, line)),
        }
    }
    let wanted = runs.into_iter().filter(|(count, _)| !letters.contains('d') || *count > 1);
    let shown = wanted.map(|(count, line)| match letters.contains('c') {
        true => format!("{count:7} {line}\n"),
        false => format!("{line}\n"),
    });
    shown.collect()
}

/// `base64`, `base64 -w0` and `base64 -d`.
fn base64(rest: &[&str], input: &mut Input<'_>, read: &dyn Fn(&str) -> Option<String>) -> Option<Ran> {
    let (mut width, mut decodes, mut paths) = (76, false, Vec::new());
    let mut words = rest.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "-d" | "-D" | "--decode" => decodes = true,
            "-w" => width = words.next()?.parse().ok()?,
            _ if word.starts_with("-w") => width = word[2..].parse().ok()?,
            _ if word.starts_with("--wrap=") => width = word["--wrap=".len()..].parse().ok()?,
            _ if word.starts_with('-') && word.len() > 1 => return None,
            path => paths.push(path),
        }
    }
    let mut is_wrong = false;
    let mut ran = of_texts("base64", &paths, input, read, |text| match decodes {
        true => {
            let text: String = text.split_whitespace().collect();
            let plain = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
            let bytes = encoding::decode(&plain).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            is_wrong = bytes.is_err();
            bytes.unwrap_or_default()
        }
        false => {
            let letters: Vec<char> = encoding::padded(text.as_bytes()).chars().collect();
            match width {
                0 => letters.into_iter().collect(),
                width => letters.chunks(width).flat_map(|line| line.iter().copied().chain(['\n'])).collect(),
            }
        }
    });
    if is_wrong {
        ran = Ran::badly(1, "base64: invalid input");
    }
    Some(ran)
}

fn counted(text: &str, letters: &str) -> String {
    let counts = [('l', text.matches('\n').count()), ('w', text.split_whitespace().count()), ('c', text.len())];
    let shown = counts.iter().filter(|(letter, _)| letters.is_empty() || letters.contains(*letter));
    let shown: Vec<String> = shown.map(|(_, count)| count.to_string()).collect();
    shown.join(" ")
}

/// `head -n 3`, `tail -3`, `tail -n +2`, `head -c 20`.
fn ends(name: &str, rest: &[&str], input: &mut Input<'_>, read: &dyn Fn(&str) -> Option<String>) -> Option<Ran> {
    let bytes = match rest {
        ["-c", count, paths @ ..] => Some((*count, paths)),
        [flag, paths @ ..] if flag.starts_with("-c") => Some((&flag[2..], paths)),
        _ => None,
    };
    if let Some((count, paths)) = bytes {
        let (digits, is_from) = count.strip_prefix('+').map_or((count, false), |count| (count, name == "tail"));
        let count: usize = digits.parse().ok()?;
        return Some(of_texts(name, paths, input, read, |text| {
            let all = text.as_bytes();
            let part = match name {
                "head" => &all[..count.min(all.len())],
                _ if is_from => &all[count.saturating_sub(1).min(all.len())..],
                _ => &all[all.len().saturating_sub(count)..],
            };
            String::from_utf8_lossy(part).into_owned()
        }));
    }
    let (count, paths) = match rest {
        ["-n", count, paths @ ..] => (*count, paths),
        [flag, paths @ ..] if flag.len() > 1 && flag.starts_with('-') => (flag[1..].trim_start_matches('n'), paths),
        paths => ("10", paths),
    };
    let (count, is_from) = count.strip_prefix('+').map_or((count, false), |count| (count, name == "tail"));
    let count: usize = count.parse().ok()?;
    Some(of_texts(name, paths, input, read, |text| match name {
        "head" => joined(text.lines().take(count)),
        _ if is_from => joined(text.lines().skip(count.saturating_sub(1))),
        _ => joined(text.lines().skip(text.lines().count().saturating_sub(count))),
    }))
}

/// `cut -d : -f 2` and `cut -c 1-20`.
fn cut(rest: &[&str], input: &mut Input<'_>, read: &dyn Fn(&str) -> Option<String>) -> Option<Ran> {
    let (mut between, mut fields, mut paths) = ("\t", None, Vec::new());
    let mut columns = None;
    let mut words = rest.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "-c" | "-b" => columns = words.next(),
            _ if word.starts_with("-c") || word.starts_with("-b") => columns = Some(&word[2..]),
            "-d" => between = words.next()?,
            "-f" => fields = words.next(),
            _ if word.starts_with("-d") => between = &word[2..],
            _ if word.starts_with("-f") => fields = Some(&word[2..]),
            _ if word.starts_with('-') => return None,
            path => paths.push(path),
        }
    }
    if let Some(columns) = columns {
        let (from, to) = columns.split_once('-').unwrap_or((columns, columns));
        let bound = |text: &str, open: usize| if text.is_empty() { Some(open) } else { text.parse().ok() };
        let (from, to): (usize, usize) = (bound(from, 1)?, bound(to, usize::MAX)?);
        let taken = |line: &str| {
            let chars = line.chars().skip(from.saturating_sub(1)).take(to.saturating_sub(from).saturating_add(1));
            chars.chain(['\n']).collect::<String>()
        };
        return Some(of_texts("cut", &paths, input, read, |text| text.lines().map(taken).collect()));
    }
    let fields: Vec<usize> = fields?.split(',').map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let one = |line: &str| match line.contains(between) {
        false => format!("{line}\n"),
        true => {
            let parts: Vec<&str> = line.split(between).collect();
            let wanted: Vec<&str> = fields.iter().filter_map(|at| parts.get(at.checked_sub(1)?)).copied().collect();
            wanted.join(between) + "\n"
        }
    };
    (!between.is_empty()).then(|| of_texts("cut", &paths, input, read, |text| text.lines().map(one).collect()))
}

/// `tr a-z A-Z`, `tr -d '\n'` and `tr -s ' ' '\n'`.
fn tr(rest: &[&str], input: &str) -> Option<Ran> {
    let set = |text: &str| -> Vec<char> {
        let chars: Vec<char> = text.replace("\\n", "\n").replace("\\t", "\t").chars().collect();
        if text.contains("[:space:]") {
            return vec![' ', '\t', '\n', '\r'];
        }
        match chars.as_slice() {
            [first, '-', last] => (*first..=*last).collect(),
            _ => chars,
        }
    };
    Some(Ran::well(match rest {
        ["-d", gone] => {
            let gone = set(gone);
            input.chars().filter(|c| !gone.contains(c)).collect::<String>()
        }
        ["-s", same] => squeezed(input.chars(), &set(same)),
        ["-s", from, to] => squeezed(turned(input, &set(from), &set(to)).chars(), &set(to)),
        [from, to] if !from.starts_with('-') => turned(input, &set(from), &set(to)),
        _ => return None,
    }))
}

fn turned(text: &str, from: &[char], to: &[char]) -> String {
    let other = |c: char| from.iter().position(|other| *other == c).and_then(|at| to.get(at).or(to.last()));
    text.chars().map(|c| other(c).copied().unwrap_or(c)).collect()
}

/// One of each run of the same character of the set.
fn squeezed(text: impl Iterator<Item = char>, set: &[char]) -> String {
    let mut out = String::new();
    for c in text {
        if !(set.contains(&c) && out.ends_with(c)) {
            out.push(c);
        }
    }
    out
}

/// `seq 5`, `seq 2 5`, `seq 1 2 9`.
fn seq(rest: &[&str]) -> Option<Ran> {
    let numbers: Vec<i64> = rest.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let (first, step, last) = match numbers.as_slice() {
        [last] => (1, 1, *last),
        [first, last] => (*first, 1, *last),
        [first, step, last] => (*first, *step, *last),
        _ => return None,
    };
    const LINES_MAX: usize = 100_000;
    let goes_on = |at: &i64| if step > 0 { *at <= last } else { *at >= last };
    let line = std::iter::successors(Some(first), |at| at.checked_add(step)).take_while(goes_on);
    (step != 0).then(|| Ran::well(line.take(LINES_MAX).map(|at| format!("{at}\n")).collect::<String>()))
}

/// `printf` with `%s` and `%d`: as often as there are arguments for it.
fn printed(format: &str, arguments: &[&str]) -> String {
    let mut all = String::new();
    let mut arguments = arguments.iter();
    loop {
        let mut chars = format.chars();
        let before = arguments.len();
        while let Some(c) = chars.next() {
            match (c, chars.clone().next()) {
                ('%', Some('%')) => all.push('%'),
                ('%', Some('s' | 'd' | 'i')) => all += arguments.next().copied().unwrap_or_default(),
                ('\\', Some('n')) => all.push('\n'),
                ('\\', Some('t')) => all.push('\t'),
                ('\\', Some('\\')) => all.push('\\'),
                (c, _) => {
                    all.push(c);
                    continue;
                }
            }
            chars.next();
        }
        if arguments.len() == 0 || arguments.len() == before {
            return all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_worked_on() {
        let read = |path: &str| (path == "/f").then(|| "b:2\na:10\nb:2\n".to_owned());
        let ran = |line: &str, input: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            run(&words, input, &read).map(|ran| format!("{}{}{}", ran.output, ran.errors, ran.code))
        };
        for (line, input, expected) in [
            ("cat", "in\n", Some("in\n0")),
            ("cat /f -", "in\n", Some("b:2\na:10\nb:2\nin\n0")),
            ("grep ^b /f", "", Some("b:2\nb:2\n0")),
            ("grep -qi A /f", "", Some("0")),
            ("grep -v b", "b\n", Some("1")),
            ("grep -c b", "b\nc\n", Some("1\n0")),
            ("grep -E a|c", "b\nc\n", Some("c\n0")),
            ("grep a\\|c", "b\nc\n", Some("c\n0")),
            ("grep -F .", "b\nc.\n", Some("c.\n0")),
            ("grep x /none", "", Some("grep: can't open '/none': No such file or directory\n2")),
            ("grep -P b", "b\n", None),
            ("wc -l", "b\nc\n", Some("2\n0")),
            ("wc -l /f", "", Some("3 /f\n0")),
            ("wc", "a b\n", Some("1 2 4\n0")),
            ("head -n 1 /f", "", Some("b:2\n0")),
            ("tail -2 /f", "", Some("a:10\nb:2\n0")),
            ("tail -n +2 /f", "", Some("a:10\nb:2\n0")),
            ("sort -u /f", "", Some("a:10\nb:2\n0")),
            ("sort -rn", "2\n10\n", Some("10\n2\n0")),
            ("uniq", "a\na\nb\n", Some("a\nb\n0")),
            ("uniq -c", "a\na\nb\n", Some("      2 a\n      1 b\n0")),
            ("base64 -w0", "admin", Some("YWRtaW4=0")),
            ("base64", "a\n", Some("YQo=\n0")),
            ("base64 -d", "YWRtaW4=\n", Some("admin0")),
            ("base64 --decode", "a*b", Some("base64: invalid input\n1")),
            ("rev", "foo\nab\n", Some("oof\nba\n0")),
            ("tr -s a", "baac", Some("bac0")),
            ("tr -s [[:space:]] \\n", "a  b c", Some("a\nb\nc0")),
            ("cut -d: -f2 /f", "", Some("2\n10\n2\n0")),
            ("cut -d : -f 2,1", "a:b:c\n", Some("b:a\n0")),
            ("cut -c1-3", "abcdef\n", Some("abc\n0")),
            ("cut -c 5-", "abcdef\n", Some("ef\n0")),
            ("cut -c2", "abcdef\n", Some("b\n0")),
            ("tr a-z A-Z", "web", Some("WEB0")),
            ("tr -d \\n", "a\nb\n", Some("ab0")),
            ("seq 3", "", Some("1\n2\n3\n0")),
            ("seq 9 -4 1", "", Some("9\n5\n1\n0")),
            ("seq 1 0 2", "", None),
            ("basename /a/b/", "", Some("b\n0")),
            ("dirname /a/b", "", Some("/a\n0")),
            ("printf %s-%d\\n a 1 b 2", "", Some("a-1\nb-2\n0")),
            ("printf 100%", "", Some("100%0")),
            ("awk BEGIN{x=1}", "", None),
        ] {
            assert_eq!(ran(line, input).as_deref(), expected, "{line}");
        }
    }
}
