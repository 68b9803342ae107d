//! A file that variables are taken from (`fileKeyRef`): lines such as `COLOR='blue'`. The quotes must be there, and what is
//! between them stands for itself, be it several lines. Mirrors `ParseEnv` of `pkg/kubelet/util/env`.

use std::str::Lines;

const SPACE: [char; 2] = [' ', '\t'];

/// The value of a key, empty if there is no such key; None if the file is not written as it must be as far as it is read.
pub fn value(text: &str, key: &str) -> Option<String> {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start_matches(SPACE);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = line.split_once('=')?;
        if name.is_empty() || name.ends_with(SPACE) {
            return None;
        }
        // As in a shell, a space behind the sign ends the value.
        let value = match value.starts_with(SPACE) {
            true => String::new(),
            false => quoted(value.strip_prefix('\'')?, &mut lines)?,
        };
        if name == key {
            return Some(value);
        }
    }
    Some(String::new())
}

/// What stands before the next quote. Behind it may be a comment.
fn quoted(first: &str, lines: &mut Lines<'_>) -> Option<String> {
    let (mut value, mut rest) = (String::new(), first);
    loop {
        if let Some((end, after)) = rest.split_once('\'') {
            let after = after.trim_start_matches(SPACE);
            value.push_str(end);
            return (after.is_empty() || after.starts_with('#')).then_some(value);
        }
        value.push_str(rest);
        value.push('\n');
        rest = lines.next()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_quotes() {
        for (text, want) in [
            ("COLOR='blue'\n", Some("blue")),
            ("# one\n\n  OTHER='x'\n  COLOR='a # b'  # two\n", Some("a # b")),
            ("COLOR='a\nb'\n", Some("a\nb")),
            ("COLOR= 'blue'\n", Some("")),
            ("OTHER='x'\n", Some("")),
            ("COLOR='blue'\nnonsense\n", Some("blue")),
            ("nonsense\nCOLOR='blue'\n", None),
            ("COLOR=blue\n", None),
            ("COLOR ='blue'\n", None),
            ("='blue'\n", None),
            ("COLOR='blue' green\n", None),
            ("COLOR='blue\n", None),
        ] {
            assert_eq!(value(text, "COLOR").as_deref(), want, "{text:?}");
        }
    }
}
