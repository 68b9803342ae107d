//! Text as HTML inside Markdown.
//!
//! Markdown takes a blank line for the end of HTML, so nothing here has one. Readers copy texts into terminals, so nothing here is
//! a command to one.

use object::terminal::harmless;

/// Text between tags, or in an attribute's double quotes.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in harmless(text, false).chars() {
        match sign {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' => out += "&#10;",
            other => out.push(other),
        }
    }
    out
}

/// A text as a part of an address: lower case, and `-` between words.
pub fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// A paragraph in which `code` and *stress* are marked as in Markdown.
pub fn prose(source: &str) -> String {
    let flat = source.split_whitespace().collect::<Vec<_>>().join(" ");
    let part = |(n, part): (usize, &str)| match n % 2 {
        0 => stressed(&text(part)),
        _ => format!("<code>{}</code>", text(part)),
    };
    flat.split('`').enumerate().map(part).collect()
}

/// Stars that embrace words; a star alone stays one.
fn stressed(text: &str) -> String {
    let Some((before, rest)) = text.split_once('*') else { return text.to_owned() };
    match rest.split_once('*') {
        Some((inside, after)) if !inside.is_empty() && inside == inside.trim() => {
            format!("{before}<em>{inside}</em>{}", stressed(after))
        }
        _ => format!("{before}*{}", stressed(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_html_or_begins_a_tag() {
        assert_eq!(text("a < b\n\n& \"c\""), "a &lt; b&#10;&#10;&amp; &quot;c&quot;");
        assert_eq!(prose("The `<Pod>`\n is  there."), "The <code>&lt;Pod&gt;</code> is there.");
    }

    #[test]
    fn what_is_copied_is_no_command_to_a_terminal() {
        assert_eq!(text("a\u{1b}]52;c;eA==\u{7}"), "a^[]52;c;eA==^G");
    }

    #[test]
    fn stars_embrace_words() {
        assert_eq!(prose("It is *not so*, and *n*."), "It is <em>not so</em>, and <em>n</em>.");
        assert_eq!(prose("2 * 3 * 4, `a*b*c`, ** and *"), "2 * 3 * 4, <code>a*b*c</code>, ** and *");
    }
}
