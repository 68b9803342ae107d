//! How deep the brackets of a text lie in each other. The readers of YAML and JSON refuse what is deep, but that of YAML needs
//! time that grows with the square of the depth to find out: a text is looked at before.

/// How deep they may lie, as in goyaml.
const DEPTH_MAX: usize = 10_000;

/// What is said of a text in which they lie deeper.
pub const TOO_DEEP: &str = "exceeded max depth of 10000";

/// Refuses a text in which brackets are opened over and over. One in a text in quotes counts too.
///
/// # Errors
/// [`TOO_DEEP`].
pub fn check(text: &str) -> Result<(), String> {
    let mut depth = 0usize;
    let is_too_deep = text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEPTH_MAX
    });
    if is_too_deep { Err(TOO_DEEP.to_owned()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_brackets_are_counted() {
        for (text, may_be_read) in [
            ("[]".repeat(20_000), true),
            ("[".repeat(10_000) + &"]".repeat(10_000), true),
            ("[".repeat(10_001) + &"]".repeat(10_001), false),
            ("a: {".repeat(10_001), false),
            ("]".repeat(20_000) + "[", true),
        ] {
            assert_eq!(check(&text).is_ok(), may_be_read, "{}", &text[..8]);
        }
    }
}
