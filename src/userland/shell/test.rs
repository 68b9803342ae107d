//! `test`, `[ … ]` and what `[[ … ]]` asks of files; patterns.

use object::glob;

/// A character of a pattern, and whether it stands for itself.
pub type Pattern = Vec<(char, bool)>;

/// What there is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum There {
    /// Nothing.
    Nothing,
    /// A directory.
    Directory,
    /// A file.
    File {
        /// Whether nothing is in it.
        empty: bool,
    },
}

/// Whether it is so; None: it is not understood.
pub fn holds(words: &[&str], look: &dyn Fn(&str) -> There) -> Option<bool> {
    if words.is_empty() {
        return Some(false);
    }
    halves(words, "-o").try_fold(false, |any, part| Some(any | all(part, look)?))
}

/// The parts between `-a`.
fn all(words: &[&str], look: &dyn Fn(&str) -> There) -> Option<bool> {
    halves(words, "-a").try_fold(true, |all, part| Some(all & one(part, look)?))
}

/// What is between such words; one or two words are no more than what they are.
fn halves<'a>(words: &'a [&'a str], joint: &'static str) -> impl Iterator<Item = &'a [&'a str]> {
    words.split(move |word| words.len() > 2 && *word == joint)
}

fn one(words: &[&str], look: &dyn Fn(&str) -> There) -> Option<bool> {
    Some(match words {
        [word] => !word.is_empty(),
        ["!", rest @ ..] if rest.len() != 2 || rest[0].starts_with(['-', '!']) => {
            let count = rest.iter().take_while(|word| **word == "!").count();
            one(&rest[count..], look)? == (count % 2 == 1)
        }
        [left, "=" | "==", right] => left == right,
        [left, "!=", right] => left != right,
        [left, "<", right] => left < right,
        [left, ">", right] => left > right,
        [left, sign, right] if sign.starts_with('-') => {
            let (left, right): (i64, i64) = (left.trim().parse().ok()?, right.trim().parse().ok()?);
            match *sign {
                "-eq" => left == right,
                "-ne" => left != right,
                "-lt" => left < right,
                "-le" => left <= right,
                "-gt" => left > right,
                "-ge" => left >= right,
                _ => return None,
            }
        }
        ["-n", text] => !text.is_empty(),
        ["-z", text] => text.is_empty(),
        ["-e" | "-r" | "-w" | "-x", path] => look(path) != There::Nothing,
        ["-f", path] => matches!(look(path), There::File { .. }),
        ["-s", path] => matches!(look(path), There::File { empty: false } | There::Directory),
        ["-d", path] => look(path) == There::Directory,
        ["-L" | "-h" | "-S" | "-p" | "-b" | "-c", _] => false,
        _ => return None,
    })
}

/// Whether all of a text fits a pattern: `*`, `?` and `[a-z]`.
pub fn fits(pattern: &[(char, bool)], text: &[char]) -> bool {
    glob::fits(pattern.len(), text, |at| pattern[at] == ('*', false), |at, c| one_fits(pattern, at, c))
}

/// Where the pattern goes on if what is at `at` fits that character.
fn one_fits(pattern: &[(char, bool)], at: usize, c: char) -> Option<usize> {
    match pattern[at] {
        ('?', false) => Some(at + 1),
        ('[', false) => match pattern[at + 1..].iter().skip(1).position(|sign| *sign == (']', false)) {
            None => (c == '[').then_some(at + 1),
            Some(length) => {
                let set: Vec<char> = pattern[at + 1..at + 2 + length].iter().map(|(c, _)| *c).collect();
                let (negated, set) = match set.split_first() {
                    Some(('!' | '^', rest)) => (true, rest),
                    _ => (false, set.as_slice()),
                };
                let range = set.windows(3).any(|three| three[1] == '-' && (three[0]..=three[2]).contains(&c));
                ((range || set.contains(&c)) != negated).then_some(at + 3 + length)
            }
        },
        (sign, _) => (sign == c).then_some(at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_judged() {
        let look = |path: &str| match path {
            "/dir" => There::Directory,
            "/full" => There::File { empty: false },
            "/empty" => There::File { empty: true },
            _ => There::Nothing,
        };
        for (text, expected) in [
            ("", Some(false)),
            ("a", Some(true)),
            ("a = a", Some(true)),
            ("a != a", Some(false)),
            ("3 -lt 10", Some(true)),
            ("x -lt 10", None),
            ("-f /full", Some(true)),
            ("-f /dir", Some(false)),
            ("-d /dir", Some(true)),
            ("-s /empty", Some(false)),
            ("! -e /none", Some(true)),
            ("! ! a", Some(true)),
            ("-f /full -a -d /dir", Some(true)),
            ("-f /none -o -d /dir", Some(true)),
            ("a = b -o c = c -a d = e", Some(false)),
            ("-o", Some(true)),
            ("-o -o -o -o -o", None),
            ("a b c", None),
        ] {
            let words: Vec<&str> = text.split_whitespace().collect();
            assert_eq!(holds(&words, &look), expected, "{text}");
        }
    }

    #[test]
    fn patterns_fit() {
        let pattern = |text: &str| -> Pattern { text.chars().map(|c| (c, false)).collect() };
        for (wanted, text, expected) in [
            ("*-0", "web-0", true),
            ("*-0", "web-10", false),
            ("web-?", "web-1", true),
            ("*", "", true),
            ("", "a", false),
            ("a*b*c", "aXbYbZc", true),
            ("[0-9]*", "7up", true),
            ("[!a-c]", "b", false),
            ("[a", "[a", true),
            ("[]]", "]", true),
            ("**", "x", true),
        ] {
            let text: Vec<char> = text.chars().collect();
            assert_eq!(fits(&pattern(wanted), &text), expected, "{wanted} {text:?}");
        }
        assert!(!fits(&[('*', true)], &['a']), "a quoted star is one");
    }
}
