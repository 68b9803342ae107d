//! `web-{1..3}` and `{a,b}.yaml`: what bash makes of them before anything else. The shell in a container is no bash.
//!
//! Left out: braces within braces, steps (`{1..9..2}`), and braces around quotes.

/// So many words may come of one.
const MANY: usize = 1000;

/// A line with its braces expanded; those that stand in quotes, or behind a `$`, are none.
pub fn expanded(line: &str) -> String {
    let mut out = String::new();
    for (piece, quoted) in pieces(line) {
        let words = if quoted { Vec::new() } else { words_of(piece) };
        out += &if words.is_empty() { piece.to_owned() } else { words.join(" ") };
    }
    out
}

/// Whether there are any.
pub fn are_in(line: &str) -> bool {
    pieces(line).any(|(piece, quoted)| !quoted && !words_of(piece).is_empty())
}

/// Words and what is between them, each with whether a quote, a `$` or a backslash is in it. A text after `<<` is no word.
fn pieces(line: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = line;
    let mut is_text = false;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        is_text |= first == '\n';
        if is_text {
            return Some((std::mem::take(&mut rest), true));
        }
        let between = |c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '<' | '>');
        let (mut quote, mut quoted) = (None, false);
        let is_over = |c: char| match quote {
            Some(open) => {
                quote = (c != open).then_some(open);
                false
            }
            None if matches!(c, '\'' | '"') => {
                (quote, quoted) = (Some(c), true);
                false
            }
            None => {
                quoted |= matches!(c, '$' | '\\');
                between(c) != between(first)
            }
        };
        let end = rest.find(is_over).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some((piece, quoted))
    })
}

/// What comes of the first brace of a word; nothing if there is none.
fn words_of(word: &str) -> Vec<String> {
    let Some((before, rest)) = word.split_once('{') else { return Vec::new() };
    let Some((inside, after)) = rest.split_once('}').filter(|(inside, _)| !inside.contains('{')) else {
        return Vec::new();
    };
    let parts: Vec<String> = match inside.split_once("..") {
        Some((from, to)) => match (from.parse::<i64>(), to.parse::<i64>()) {
            (Ok(from), Ok(to)) if from.abs_diff(to) < MANY as u64 => {
                numbers(from, to).iter().map(i64::to_string).collect()
            }
            _ => letters(from, to),
        },
        None if inside.contains(',') => inside.split(',').map(str::to_owned).collect(),
        None => Vec::new(),
    };
    let whole = |part: &String| {
        let word = format!("{before}{part}{after}");
        let more = words_of(&word);
        if more.is_empty() { vec![word] } else { more }
    };
    let words: Vec<String> = parts.iter().flat_map(whole).collect();
    if words.len() > MANY { Vec::new() } else { words }
}

fn numbers(from: i64, to: i64) -> Vec<i64> {
    if from <= to { (from..=to).collect() } else { (to..=from).rev().collect() }
}

fn letters(from: &str, to: &str) -> Vec<String> {
    let letter = |text: &str| text.chars().next().filter(|c| text.len() == 1 && c.is_ascii_alphabetic());
    match (letter(from), letter(to)) {
        (Some(from), Some(to)) => numbers(from as i64, to as i64)
            .iter()
            .filter_map(|code| u8::try_from(*code).ok())
            .map(|c| char::from(c).to_string())
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_expanded_as_bash_does() {
        for (line, want) in [
            ("for i in {1..3}; do echo $i; done", "for i in 1 2 3; do echo $i; done"),
            ("kubectl delete pod web-{3..1}", "kubectl delete pod web-3 web-2 web-1"),
            ("kubectl apply -f {a,b}.yaml", "kubectl apply -f a.yaml b.yaml"),
            ("echo {a..c}{1,2}", "echo a1 a2 b1 b2 c1 c2"),
            ("echo '{1..3}' \"{1..3}\" ${x} {} {a}", "echo '{1..3}' \"{1..3}\" ${x} {} {a}"),
            (
                "kubectl get po -o jsonpath={.items[*].metadata.name}",
                "kubectl get po -o jsonpath={.items[*].metadata.name}",
            ),
            ("kubectl patch x -p '{\"a\":1,\"b\":2}'", "kubectl patch x -p '{\"a\":1,\"b\":2}'"),
            ("f() { echo a, b; }", "f() { echo a, b; }"),
            ("cat <<EOF\n{a,b}\nEOF", "cat <<EOF\n{a,b}\nEOF"),
            ("echo {1..99999999}", "echo {1..99999999}"),
        ] {
            assert_eq!(expanded(line), want, "{line}");
            assert_eq!(are_in(line), line != want, "{line}");
        }
    }
}
