//! A text that is longer than the screen, page by page: what `less` behind a pipe means.

use std::io;

use console::{Key, Term};

use super::out::print;

/// What is said below a page.
const KEYS: &str = "-- Space: the next page, Enter: a line, q: enough --";

/// Shows a text page by page, until the user has seen enough.
pub(super) fn show(text: &str) -> io::Result<()> {
    let term = Term::stdout();
    let (rows, _) = term.size();
    let page = usize::from(rows).saturating_sub(1).max(1);
    let mut room = page;
    for line in text.lines() {
        if room == 0 {
            match ask(&term)? {
                Some(more) => room = if more { page } else { 1 },
                None => return Ok(()),
            }
        }
        print(&format!("{line}\n"))?;
        room -= 1;
    }
    Ok(())
}

/// Whether a page more is wanted, or a line; none: no more.
fn ask(term: &Term) -> io::Result<Option<bool>> {
    term.write_str(KEYS)?;
    let more = loop {
        match term.read_key()? {
            Key::Char(' ') | Key::PageDown => break Some(true),
            Key::Enter | Key::ArrowDown | Key::Char('j') => break Some(false),
            Key::Char('q') | Key::Escape => break None,
            _ => {}
        }
    };
    term.clear_line()?;
    Ok(more)
}
