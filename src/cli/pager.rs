//! A text that is longer than the screen, page by page: what the option `pager` is for, and what `less` behind a pipe means.

use std::io;

use console::{Key, Term, measure_text_width};

use super::out::print;

/// What is said below a page.
const KEYS: &str = "-- Space: the next page, Enter: a line, q: enough --";

/// Shows a text page by page, until the user has seen enough. What fits is shown at once.
pub(super) fn show(text: &str) -> io::Result<()> {
    let term = Term::stdout();
    let (rows, columns) = term.size();
    let page = usize::from(rows).saturating_sub(1).max(1);
    let mut room = page;
    for line in text.split_inclusive('\n') {
        let taken = rows_of(line, columns.into()).min(page);
        while room < taken {
            match ask(&term)? {
                Some(more) => room = if more { page } else { taken },
                None => return Ok(()),
            }
        }
        print(line)?;
        room -= taken;
    }
    Ok(())
}

/// How many rows of a screen a line takes.
fn rows_of(line: &str, columns: usize) -> usize {
    measure_text_width(line.trim_end_matches('\n')).div_ceil(columns.max(1)).max(1)
}

/// Whether a page more is wanted, or a line; none: no more.
fn ask(term: &Term) -> io::Result<Option<bool>> {
    term.write_str(KEYS)?;
    let more = loop {
        match term.read_key() {
            Ok(Key::Char(' ') | Key::PageDown) => break Some(true),
            Ok(Key::Enter | Key::ArrowDown | Key::Char('j')) => break Some(false),
            Ok(Key::Char('q') | Key::Escape) => break None,
            Ok(_) => {}
            // Ctrl-C, or the program is to end, which the prompt sees.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => break None,
            Err(error) => return Err(error),
        }
    };
    term.clear_line()?;
    Ok(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_the_rows_that_it_is_broken_into() {
        for (line, rows) in [("", 1), ("abcd", 1), ("abcde", 2), ("\u{1b}[1mabcd\u{1b}[0m", 1), ("漢漢漢", 2)] {
            assert_eq!(rows_of(line, 4), rows, "{line:?}");
        }
    }
}
