//! What was probably meant by an unknown word.

/// So many slips are one word: a character too many, too few, another, or two that changed places. Of a short word two
/// would leave little.
fn slips(word: &str) -> usize {
    if word.chars().count() <= 4 { 1 } else { 2 }
}

/// The one of `known` that is nearest to `word`, if it is near enough to have been meant.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // A page that was pasted means none of them.
    if word.len() > 100 {
        return None;
    }
    let far = |known: &&str| strsim::damerau_levenshtein(word, known);
    let near = known.into_iter().min_by_key(far)?;
    let slipped = far(&near);
    let is_near = slipped <= slips(word) && slipped < word.chars().count() && slipped < near.chars().count();
    is_near.then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_forgiven_and_another_word_is_not() {
        let known = ["step", "deployment", "fit", "wait"];
        for (word, meant) in [
            ("stpe", Some("step")),
            ("deploymnt", Some("deployment")),
            ("fi", Some("fit")),
            ("xyz", None),
            ("foo", None),
            ("what", None),
            ("xy", None),
            ("", None),
            ("deplomet", Some("deployment")),
            ("dplomet", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
        assert_eq!(nearest(&"step".repeat(1_000_000), known), None);
        assert_eq!(nearest("step", []), None);
    }
}
