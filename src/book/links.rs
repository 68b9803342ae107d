//! Where links of a chapter may lead: to pages of the web, into the book, to a letter. A link with another scheme
//! (`javascript:`, `data:`) would be code that a stranger's text brings into a page.
//!
//! Texts of scenarios and of learners are text in a page and make no link at all, see [`html`](super::html).

use mdbook_markdown::pulldown_cmark::{Event, Tag};
use mdbook_markdown::{MarkdownOptions, new_cmark_parser};

use super::block::Mistake;

/// What an address may begin with, beside nothing, which is a place in the book.
const SCHEMES: [&str; 3] = ["https", "http", "mailto"];

/// The links and pictures of a chapter's Markdown that lead elsewhere, each with its line.
pub fn check(chapter: &str) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for (event, range) in new_cmark_parser(chapter, &MarkdownOptions::default()).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else { continue };
        let Some(scheme) = scheme(&dest_url).filter(|scheme| !SCHEMES.contains(&scheme.as_str())) else { continue };
        let line = chapter[..range.start].matches('\n').count() + 1;
        let text = format!("a link cannot begin with {scheme}:; write {}: or a place in the book", SCHEMES.join(":, "));
        mistakes.push(Mistake::new(line, text));
    }
    mistakes
}

/// What stands before an address' first colon, as a browser reads it: blanks and control characters do not count, nor does a
/// colon behind the beginning of a path.
fn scheme(address: &str) -> Option<String> {
    let read: String = address.chars().filter(|sign| !sign.is_whitespace() && !sign.is_control()).collect();
    let (scheme, _) = read.split_once(':')?;
    (!scheme.contains(['/', '?', '#'])).then(|| scheme.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_the_web_or_into_the_book() {
        for link in [
            "[a](https://kubernetes.io)",
            "[a](HTTP://example.com)",
            "[a](mailto:a@example.com)",
            "[a](02-etcd.md#what:it-is)",
            "[a](#here)",
            "<https://example.com>",
            "`[a](javascript:harm())`",
            "    [a](javascript:harm())",
        ] {
            assert_eq!(check(link), [], "{link}");
        }
        for (link, scheme) in [
            ("[a](javascript:harm())", "javascript"),
            ("[a](JavaScript:harm())", "javascript"),
            ("[a](<java\tscript:harm()>)", "javascript"),
            ("[a](javascript&#58;harm())", "javascript"),
            ("![a](data:image/svg+xml,x)", "data"),
            ("<javascript:harm()>", "javascript"),
            ("[a][b]\n\n[b]: vbscript:harm", "vbscript"),
            ("[a](file:///etc/passwd)", "file"),
        ] {
            let found = check(&format!("# A\n\n{link}\n"));
            assert_eq!(found.iter().map(|mistake| mistake.line).collect::<Vec<_>>(), [3], "{link}");
            assert!(found[0].text.contains(&format!("with {scheme}:")), "{link}: {}", found[0].text);
        }
    }
}
