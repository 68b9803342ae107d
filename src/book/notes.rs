//! Numbered notes on lines of source. Each names a piece of one line, and stands in the order of the lines.
//!
//! ```text
//! `self.queue.add(key)` Only the key is queued: the worker reads the object when it is its turn.
//! `Ok(())` A note that is long goes on in
//!   lines that are indented.
//! ```

use super::block::{Block, Mistake};
use super::html;

/// A note on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The line, from 0.
    pub line: usize,
    /// What is said of it.
    pub text: String,
}

/// The notes of a block on the lines that it shows.
///
/// # Errors
/// A note names no line, or more than one, or one that stands before another's.
pub fn read(block: &Block, shown: &str) -> Result<Vec<Note>, Mistake> {
    let mut notes: Vec<Note> = Vec::new();
    for (number, text) in (block.line + 1..).zip(block.body.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        match (text.starts_with(' '), notes.last_mut()) {
            (true, Some(note)) => note.text += text,
            _ => {
                let note = note(text, shown).map_err(|why| Mistake::new(number, why))?;
                if notes.last().is_some_and(|last| last.line >= note.line) {
                    return Err(Mistake::new(number, "notes stand in the order of their lines, one for each"));
                }
                notes.push(note);
            }
        }
    }
    Ok(notes)
}

fn note(text: &str, shown: &str) -> Result<Note, String> {
    let parts = text.strip_prefix('`').and_then(|rest| rest.split_once("` "));
    let (piece, words) = parts.ok_or("write `a piece of a line` and what is to be said of it")?;
    let found: Vec<usize> = (0..).zip(shown.lines()).filter(|(_, line)| line.contains(piece)).map(|(n, _)| n).collect();
    match found.as_slice() {
        [line] => Ok(Note { line: *line, text: words.to_owned() }),
        [] => Err(format!("no line that is shown has `{piece}`")),
        many => Err(format!("{} lines that are shown have `{piece}`; write more of the one", many.len())),
    }
}

/// The source as HTML, with a mark before each line that has a note. The number is drawn by the style sheet, so that it is not
/// copied with the source.
pub fn mark(shown: &str, notes: &[Note]) -> String {
    let mark = |line: usize| {
        let number = notes.iter().position(|note| note.line == line).map(|at| at + 1);
        number.map_or(String::new(), |n| {
            format!("<b class=\"ks-mark\" role=\"img\" aria-label=\"Note {n}:\" data-note=\"{n}\"></b>")
        })
    };
    shown.lines().enumerate().map(|(n, line)| mark(n) + &html::text(&format!("{line}\n"))).collect()
}

/// The notes as a list; nothing if there are none.
pub fn list(notes: &[Note]) -> String {
    let items: String = notes.iter().map(|note| format!("<li>{}</li>", html::prose(&note.text))).collect();
    if notes.is_empty() { items } else { format!("<ol class=\"ks-notes\" aria-label=\"Notes\">{items}</ol>") }
}

#[cfg(test)]
mod tests {
    use super::super::block;
    use super::*;

    const SHOWN: &str = "let a = 1;\nlet b = a < 2;\nlet a = 3;\n";

    fn notes(body: &str) -> Result<Vec<Note>, Mistake> {
        let blocks = block::find(&format!("```code a.rs#b\n{body}\n```\n")).expect("it is one block");
        read(&blocks[0], SHOWN)
    }

    #[test]
    fn a_note_has_a_line_and_a_number() {
        let notes = notes("`a = 1` The *first*.\n`b = a` As `<`\n  says.").expect("they are well written");
        assert_eq!(notes.iter().map(|note| note.line).collect::<Vec<_>>(), [0, 1]);
        let marked = mark(SHOWN, &notes);
        let numbers =
            [marked.find("data-note=\"1\"></b>let a = 1"), marked.find("data-note=\"2\"></b>let b = a &lt; 2")];
        assert!(numbers.iter().all(Option::is_some) && marked.matches("<b ").count() == 2, "{marked}");
        let items = "<li>The <em>first</em>.</li><li>As <code>&lt;</code> says.</li></ol>";
        assert!(list(&notes).ends_with(items), "{}", list(&notes));
    }

    #[test]
    fn a_note_that_names_no_line_is_a_mistake() {
        for (body, line, says) in [
            ("`c = 1` x", 2, "no line that is shown has `c = 1`"),
            ("`b =` x\n`let a` y", 3, "2 lines that are shown have `let a`"),
            ("`b =` x\n`a = 1` y", 3, "in the order of their lines"),
            ("the first: x", 2, "write `a piece of a line`"),
        ] {
            let found = notes(body).expect_err(body);
            assert!(found.line == line && found.text.contains(says), "{body}: {found:?}");
        }
    }
}
