//! Lines that are too long, broken between words.

use console::AnsiCodeIterator;

/// Lines of so many columns. What does not fit goes on below, as far in as its line is, or at least `indent`.
pub fn folded(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let blanks = line.chars().take_while(|sign| *sign == ' ').count();
        let indent = blanks.max(indent).min(width / 2);
        let mut column = 0;
        for word in line.split(' ') {
            let length = word.chars().count();
            if column > indent && column + length > width {
                out.truncate(out.trim_end_matches(' ').len());
                out += &format!("\n{:indent$}", "");
                column = indent;
            }
            out += word;
            out.push(' ');
            column += length + 1;
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

/// A text of one paragraph in lines of so many columns, without an end of its last line.
pub fn wrapped(text: &str, width: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    folded(&words.join(" "), width, 0).trim_end().to_owned()
}

/// Broken into as many lines of `width` columns as it takes, between words where that is near; those after the first stand
/// in by two. A colour goes on in the next line.
pub fn hanging(text: &str, width: usize) -> Vec<String> {
    let width = width.max(10);
    let cells = cells(text);
    let (mut lines, mut from) = (Vec::new(), 0);
    while from < cells.len() || lines.is_empty() {
        let indent = if lines.is_empty() { "" } else { "  " };
        let to = end_of_line(&cells, from, width - indent.len());
        let mut line = indent.to_owned();
        let mut before = "";
        for cell in &cells[from..to] {
            if cell.codes != before {
                line += if before.is_empty() { "" } else { RESET };
                line += &cell.codes;
                before = &cell.codes;
            }
            line.push(cell.character);
        }
        line += if before.is_empty() { "" } else { RESET };
        lines.push(if to < cells.len() { line.trim_end().to_owned() } else { line });
        from = to;
        while to > 0 && cells.get(from).is_some_and(|cell| cell.character == ' ') {
            from += 1;
        }
    }
    lines
}

/// A character, and the colours it has.
struct Cell {
    character: char,
    columns: usize,
    codes: String,
}

fn cells(text: &str) -> Vec<Cell> {
    let (mut cells, mut codes) = (Vec::new(), String::new());
    for (part, is_code) in AnsiCodeIterator::new(text) {
        if is_code {
            codes = if part == RESET { String::new() } else { codes + part };
            continue;
        }
        for character in part.chars() {
            let columns = console::measure_text_width(character.encode_utf8(&mut [0; 4]));
            cells.push(Cell { character, columns, codes: codes.clone() });
        }
    }
    cells
}

/// Where a line ends that begins at `from`: after a word, if one ends in its second half.
fn end_of_line(cells: &[Cell], from: usize, width: usize) -> usize {
    let (mut column, mut to) = (0, from);
    while to < cells.len() && (column + cells[to].columns <= width || to == from) {
        column += cells[to].columns;
        to += 1;
    }
    if to == cells.len() || cells[to].character == ' ' {
        return to;
    }
    let word = cells[from..to].iter().rposition(|cell| cell.character == ' ').map(|space| from + space + 1);
    word.filter(|word| (word - from) * 2 > to - from).unwrap_or(to)
}

/// What ends all colours.
const RESET: &str = "\u{1b}[0m";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_goes_on_below() {
        let text = "move  step [N]  to the next stop\n  two words\n\nshort\n";
        assert_eq!(folded(text, 100, 0), text);
        assert_eq!(folded(text, 20, 8), "move  step [N]  to\n        the next\n        stop\n  two words\n\nshort\n");
        assert_eq!(folded("one-that-is-longer x\n", 10, 4), "one-that-is-longer\n    x\n");
        assert_eq!(wrapped(" two  words\nand more ", 10), "two words\nand more");
        assert_eq!(wrapped("", 10), "");
    }

    #[test]
    fn a_colour_goes_on_in_the_next_line() {
        let text = "0123456\u{1b}[32m789abc\u{1b}[0mdefghi";
        let green = |text: &str| format!("\u{1b}[32m{text}\u{1b}[0m");
        assert_eq!(
            hanging(text, 10),
            [format!("0123456{}", green("789")), format!("  {}defgh", green("abc")), "  i".to_owned()]
        );
    }

    #[test]
    fn lines_are_broken_between_words_that_are_near() {
        for (text, lines) in [
            ("", vec![""]),
            ("one two three", vec!["one two", "  three"]),
            ("a bcdefghijklmnop q", vec!["a bcdefghi", "  jklmnop", "  q"]),
            ("0123456789 x", vec!["0123456789", "  x"]),
        ] {
            assert_eq!(hanging(text, 10), lines, "{text:?}");
        }
    }
}
