//! Text as HTML inside Markdown.
//!
//! Markdown takes a blank line for the end of HTML, so nothing here has one.

/// Text between tags, or in an attribute's double quotes.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
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

/// A paragraph in which `code` is marked as in Markdown.
pub fn prose(source: &str) -> String {
    let flat = source.split_whitespace().collect::<Vec<_>>().join(" ");
    let part = |(n, part): (usize, &str)| match n % 2 {
        0 => text(part),
        _ => format!("<code>{}</code>", text(part)),
    };
    flat.split('`').enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_html_or_begins_a_tag() {
        assert_eq!(text("a < b\n\n& \"c\""), "a &lt; b&#10;&#10;&amp; &quot;c&quot;");
        assert_eq!(prose("The `<Pod>`\n is  there."), "The <code>&lt;Pod&gt;</code> is there.");
    }
}
