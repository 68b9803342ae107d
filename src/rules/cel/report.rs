//! How errors of a compilation are shown. Mirrors `common/error.go` of cel-go.

/// Something that is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The byte at which it stands.
    pub at: usize,
    /// What is wrong.
    pub text: String,
}

/// All errors in the order of their places, each with the line it is in.
pub fn report(source: &str, errors: &[Wrong]) -> String {
    let mut errors: Vec<&Wrong> = errors.iter().collect();
    errors.sort_by_key(|error| error.at);
    errors.into_iter().map(|error| shown(source, error)).collect::<Vec<_>>().join("\n")
}

fn shown(source: &str, Wrong { at, text }: &Wrong) -> String {
    let before = source.get(..*at).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    let snippet = source.split('\n').nth(line - 1).unwrap_or_default().replace('\t', " ");
    let dots: String = snippet.chars().take(column).map(|c| if c.is_ascii() { '.' } else { '\u{ff0e}' }).collect();
    format!("ERROR: <input>:{line}:{}: {text}\n | {snippet}\n | {dots}^", column + 1)
}
