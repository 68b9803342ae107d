//! Patterns in which `*` stands for any text and `?` for one character.

/// Whether `text` fits `pattern`.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let one = |at: usize, c: char| (pattern[at] == '?' || pattern[at] == c).then_some(at + 1);
    fits(pattern.len(), &text, |at| pattern[at] == '*', one)
}

/// The same of a pattern of that many signs of any type: which of them is a star, and where the pattern goes on if
/// the sign there fits a character.
pub fn fits(
    length: usize,
    text: &[char],
    is_star: impl Fn(usize) -> bool,
    one: impl Fn(usize, char) -> Option<usize>,
) -> bool {
    let (mut at, mut place) = (0, 0);
    // Behind the last star, and where the text was then: it takes one more each time.
    let mut star = None;
    while at < length || place < text.len() {
        if at < length && is_star(at) {
            at += 1;
            star = Some((at, place));
        } else if let Some(next) = text.get(place).filter(|_| at < length).and_then(|c| one(at, *c)) {
            (at, place) = (next, place + 1);
        } else {
            let Some((after, from)) = star.filter(|(_, from)| *from < text.len()) else { return false };
            star = Some((after, from + 1));
            (at, place) = (after, from + 1);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_or_not() {
        for (pattern, text, fits) in [
            ("web-*", "web-1", true),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("kubelet/*", "kubelet/node-1", true),
            ("?b", "ab", true),
            ("?b", "b", false),
            ("***é", "xé", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
