//! What goes over the text that a command printed, in a timeline's pipe: the few filters that people put after `kubectl`,
//! with the flags that they give them.

/// The filters there are.
pub(super) const NAMES: [&str; 6] = ["grep", "head", "sed", "sort", "tail", "wc"];

/// Runs one over a text.
pub(super) fn run(name: &str, text: &str, words: &[String]) -> String {
    match name {
        "grep" => Grep::of(words).run(text),
        "head" => lines(text.lines().take(count_of(words).0)),
        "sed" => sed(text, words),
        "sort" => sort(text, words),
        "tail" => tail(text, words),
        "wc" => format!("{}\n", text.lines().count()),
        _ => text.to_owned(),
    }
}

fn lines<'a>(kept: impl Iterator<Item = &'a str>) -> String {
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// `-n 3`, `-n3`, `-3`: how many lines; ten if nothing is said. `-n +2`: from which one on.
fn count_of(words: &[String]) -> (usize, bool) {
    let word = words.iter().map(|word| word.trim_start_matches("-n").trim_start_matches('-')).find(|w| !w.is_empty());
    let from = word.is_some_and(|word| word.starts_with('+'));
    (word.and_then(|word| word.trim_start_matches('+').parse().ok()).unwrap_or(10), from)
}

fn tail(text: &str, words: &[String]) -> String {
    let (count, from) = count_of(words);
    let skipped = if from { count.saturating_sub(1) } else { text.lines().count().saturating_sub(count) };
    lines(text.lines().skip(skipped))
}

/// `sort`, and `-r` for the other way round.
fn sort(text: &str, words: &[String]) -> String {
    let mut sorted: Vec<&str> = text.lines().collect();
    sorted.sort_unstable();
    if words.iter().any(|word| word == "-r") {
        sorted.reverse();
    }
    lines(sorted.into_iter())
}

/// `sed 's/before/after/'` where before may hold `[0-9]*`: what timelines use of it.
fn sed(text: &str, words: &[String]) -> String {
    let Some(script) = words.first().and_then(|s| s.strip_prefix("s/")) else { return text.to_owned() };
    let mut parts = script.split('/');
    let (before, after) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let (head, tail) = before.split_once("[0-9]*").unwrap_or((before, ""));
    let mut out = String::new();
    for line in text.lines() {
        let replaced = line.find(head).filter(|_| !head.is_empty()).and_then(|start| {
            let rest = line[start + head.len()..]
                .trim_start_matches(|c: char| before.contains("[0-9]*") && c.is_ascii_digit());
            rest.strip_prefix(tail).map(|rest| format!("{}{after}{rest}", &line[..start]))
        });
        out += &replaced.unwrap_or_else(|| line.to_owned());
        out.push('\n');
    }
    out
}

/// `grep [-E] [-i] [-v] [-c] [-m N] [-A N] [-B N] WORD`. The word may begin with `^`, end with `$`, have `.*` in it, and
/// alternatives between `|`.
#[derive(Default)]
struct Grep {
    alternatives: Vec<String>,
    after: usize,
    before: usize,
    most: Option<usize>,
    blind_to_case: bool,
    inverted: bool,
    counted: bool,
}

impl Grep {
    fn of(words: &[String]) -> Grep {
        let mut grep = Grep::default();
        let mut pattern = None;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(flags) = word.strip_prefix('-') else {
                pattern.get_or_insert(word);
                continue;
            };
            for (at, flag) in flags.char_indices() {
                let mut number = || {
                    let rest = &flags[at + 1..];
                    let digits = if rest.is_empty() { words.next().map_or("", String::as_str) } else { rest };
                    digits.parse().unwrap_or(0)
                };
                match flag {
                    'A' => grep.after = number(),
                    'B' => grep.before = number(),
                    'm' => grep.most = Some(number()),
                    'i' => grep.blind_to_case = true,
                    'v' => grep.inverted = true,
                    'c' => grep.counted = true,
                    _ => continue,
                }
                if flag.is_ascii_uppercase() || flag == 'm' {
                    break;
                }
            }
        }
        let pattern = pattern.map_or("", String::as_str).replace("\\|", "|");
        let cased = if grep.blind_to_case { pattern.to_lowercase() } else { pattern };
        grep.alternatives = cased.split('|').map(str::to_owned).collect();
        grep
    }

    fn run(&self, text: &str) -> String {
        let all: Vec<&str> = text.lines().collect();
        let found: Vec<usize> =
            (0..all.len()).filter(|n| self.matches(all[*n])).take(self.most.unwrap_or(usize::MAX)).collect();
        if self.counted {
            return format!("{}\n", found.len());
        }
        let near = |n: usize| found.iter().any(|at| n + self.before >= *at && n <= at + self.after);
        lines((0..all.len()).filter(|n| near(*n)).map(|n| all[n]))
    }

    fn matches(&self, line: &str) -> bool {
        let line = if self.blind_to_case { line.to_lowercase() } else { line.to_owned() };
        self.alternatives.iter().any(|pattern| has(&line, pattern)) != self.inverted
    }
}

fn has(line: &str, pattern: &str) -> bool {
    let (pattern, at_start) = pattern.strip_prefix('^').map_or((pattern, false), |rest| (rest, true));
    let (pattern, at_end) = pattern.strip_suffix('$').map_or((pattern, false), |rest| (rest, true));
    let mut rest = line;
    for (n, piece) in pattern.split(".*").enumerate() {
        match rest.find(piece) {
            Some(at) if !(n == 0 && at_start && at > 0) => rest = &rest[at + piece.len()..],
            _ => return false,
        }
    }
    !at_end || rest.is_empty() || line.ends_with(pattern.rsplit(".*").next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_filter_does_what_a_shell_has_it_do() {
        let text = "NAME   READY\nb-1    1/1\na-2    0/1\na-3    1/1\n";
        for (line, want) in [
            ("head -2", "NAME   READY\nb-1    1/1\n"),
            ("head -n 1", "NAME   READY\n"),
            ("tail -1", "a-3    1/1\n"),
            ("tail -n +3", "a-2    0/1\na-3    1/1\n"),
            ("wc -l", "4\n"),
            ("sort", "NAME   READY\na-2    0/1\na-3    1/1\nb-1    1/1\n"),
            ("sort -r", "b-1    1/1\na-3    1/1\na-2    0/1\nNAME   READY\n"),
            ("grep 1/1", "b-1    1/1\na-3    1/1\n"),
            ("grep -v 1/1", "NAME   READY\na-2    0/1\n"),
            ("grep -c a-", "2\n"),
            ("grep -i name", "NAME   READY\n"),
            ("grep -E b-1|a-3", "b-1    1/1\na-3    1/1\n"),
            ("grep ^a.*1/1$", "a-3    1/1\n"),
            ("grep -A 1 b-", "b-1    1/1\na-2    0/1\n"),
            ("grep -B1 -m1 a-", "b-1    1/1\na-2    0/1\n"),
            ("grep -A1 -m1 a-", "a-2    0/1\na-3    1/1\n"),
            ("grep nothing", ""),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(run(&words[0], text, &words[1..]), want, "{line}");
        }
    }

    #[test]
    fn sed_replaces_numbers() {
        let words = vec![r#"s/"v": "[0-9]*"/"v": "1"/"#.to_owned()];
        assert_eq!(sed("  \"v\": \"42\",\nx", &words), "  \"v\": \"1\",\nx\n");
    }
}
