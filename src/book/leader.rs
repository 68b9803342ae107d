//! Notes for those who lead a workshop: what is done with a page, and how many minutes each part takes. They stay closed for
//! other readers.
//!
//! ```text
//! 5: Ask the prediction. Let everyone settle on an answer.
//! 10: Step to the first write.
//! ```

use super::block::{Block, Mistake};
use super::html;

/// The parts of a block: minutes, and what is done in them. A line that is indented goes on with the one before.
///
/// # Errors
/// The line that does not begin with a number of minutes.
pub fn parts(block: &Block) -> Result<Vec<(usize, String)>, Mistake> {
    let mut parts: Vec<(usize, String)> = Vec::new();
    for (line, text) in (block.line + 1..).zip(block.body.lines()) {
        let begins = text.split_once(": ").and_then(|(minutes, rest)| Some((minutes.parse().ok()?, rest.to_owned())));
        match (begins, parts.last_mut()) {
            (Some(part), _) => parts.push(part),
            (None, Some((_, before))) if text.starts_with(' ') => *before += text,
            _ => return Err(Mistake::new(line, "write MINUTES: what is done in them")),
        }
    }
    Ok(parts)
}

/// The block as HTML.
pub fn render(block: &Block) -> Result<String, Mistake> {
    block.only(&[])?;
    let parts = parts(block)?;
    let total: usize = parts.iter().map(|(minutes, _)| minutes).sum();
    let item = |(minutes, text): &(usize, String)| format!("<li><b>{minutes} min</b> {}</li>", html::prose(text));
    let items: String = parts.iter().map(item).collect();
    Ok(format!(
        "<details class=\"ks-leader\"><summary>For workshop leaders: {total} minutes</summary><ol>{items}</ol></details>\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::block;
    use super::*;

    #[test]
    fn notes_are_closed_and_their_minutes_add_up() {
        let of = |body: &str| render(&block::find(&format!("```leader\n{body}```\n")).expect("it is one block")[0]);
        let html = of("5: Ask.\n  Wait for `why`.\n10: Step.\n").expect("it is well written");
        assert!(html.starts_with("<details class=\"ks-leader\"><summary>For workshop leaders: 15 minutes<"), "{html}");
        assert!(html.contains("<li><b>5 min</b> Ask. Wait for <code>why</code>.</li>"), "{html}");
        assert_eq!(of("5: Ask.\nsoon: x\n").expect_err("no number").line, 3);
    }
}
