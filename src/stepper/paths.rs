//! Names of files as they are typed on Windows.
//!
//! Lines are read as a shell reads them, for which a backslash takes away what the next character means: of
//! `apply -f manifests\web.yaml` nothing would be left that is a file. Windows takes a slash as well, so the line that
//! is read, and kept in journals, has that.

use std::path::Path;

/// A path as a word of a command that is shown: pasted into a shell, or here, it means that file.
pub fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = if cfg!(windows) { slashed(&path) } else { path.into_owned() };
    shell_words::quote(&path).into_owned()
}

/// A line that is typed, as it is read: outside of quotes, a backslash within a name becomes a slash.
pub fn slashed(line: &str) -> String {
    let mut quote = None;
    let mut slashed = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match quote {
            None if matches!(c, '\'' | '"') => quote = Some(c),
            Some(open) if open == c => quote = None,
            _ => {}
        }
        let within = slashed.ends_with(is_of_name) && rest.peek().is_some_and(|next| is_of_name(*next));
        slashed.push(if c == '\\' && quote.is_none() && within { '/' } else { c });
    }
    slashed
}

/// Whether it may stand beside a separator in a path.
fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | ':' | '_' | '-' | '~')
}

#[cfg(test)]
mod tests {
    use super::slashed;

    #[test]
    fn backslashes_within_names_become_slashes() {
        for (typed, read) in [
            (r"apply -f C:\Users\me\web.yaml", "apply -f C:/Users/me/web.yaml"),
            (r"apply -f manifests\web.yaml -f ..\..\x-1\_a", "apply -f manifests/web.yaml -f ../../x-1/_a"),
            (r"create cm a --from-file=.\übung", "create cm a --from-file=./übung"),
            // What is quoted, and what a shell needs, stays.
            (r#"get pods -o jsonpath='{.items[*].a\.b}{"\n"}'"#, r#"get pods -o jsonpath='{.items[*].a\.b}{"\n"}'"#),
            (r#"exec web -- echo "a\tb""#, r#"exec web -- echo "a\tb""#),
            (r"exec web -- echo \$HOME a\ b \\", r"exec web -- echo \$HOME a\ b \\"),
        ] {
            assert_eq!(slashed(typed), read);
        }
    }
}
