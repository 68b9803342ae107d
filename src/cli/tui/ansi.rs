//! Colours as the prompt writes them, as the screen's styles: what is coloured there is coloured alike here, and nothing
//! is where the user wants no colours.

use console::AnsiCodeIterator;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// A line with its colours. Control characters are left out.
pub fn line(text: &str) -> Line<'static> {
    let mut style = Style::new();
    let mut spans = Vec::new();
    for (part, is_code) in AnsiCodeIterator::new(text) {
        match is_code {
            true => style = after(style, part),
            false => spans.push(Span::styled(clean(part), style)),
        }
    }
    Line::from(spans)
}

/// Broken into as many lines of `width` columns as it takes, between words where that is near; those after the first stand
/// in by two. A colour goes on in the next line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
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

fn clean(text: &str) -> String {
    text.replace('\t', "    ").chars().filter(|c| !c.is_control()).collect()
}

/// A style after a code. What is no colour of the palette's changes nothing.
fn after(style: Style, code: &str) -> Style {
    let Some(numbers) = code.strip_prefix("\u{1b}[").and_then(|code| code.strip_suffix('m')) else { return style };
    numbers.split(';').fold(style, |style, number| match number.parse::<u8>().unwrap_or(0) {
        0 => Style::new(),
        1 => style.add_modifier(Modifier::BOLD),
        2 => style.add_modifier(Modifier::DIM),
        color @ 30..=37 => style.fg(COLORS[usize::from(color - 30)]),
        _ => style,
    })
}

const COLORS: [Color; 8] =
    [Color::Black, Color::Red, Color::Green, Color::Yellow, Color::Blue, Color::Magenta, Color::Cyan, Color::Gray];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_kept_and_nothing_else() {
        let line = line("a\u{1b}[34m\u{1b}[1mb\u{1b}[0mc\u{7}\u{1b}[2Jd");
        let spans: Vec<(&str, Style)> = line.spans.iter().map(|span| (&*span.content, span.style)).collect();
        let blue = Style::new().fg(Color::Blue).add_modifier(Modifier::BOLD);
        assert_eq!(spans, [("a", Style::new()), ("b", blue), ("c", Style::new()), ("d", Style::new())]);
    }

    #[test]
    fn a_colour_goes_on_in_the_next_line() {
        let text = "0123456\u{1b}[32m789abc\u{1b}[0mdefghi";
        let green = |text: &str| format!("\u{1b}[32m{text}\u{1b}[0m");
        assert_eq!(
            wrapped(text, 10),
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
            assert_eq!(wrapped(text, 10), lines, "{text:?}");
        }
    }
}
