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

fn clean(text: &str) -> String {
    text.replace('\t', "    ").chars().filter(|c| !c.is_control()).collect()
}

/// A style after a code. What is no colour of the palette's changes nothing.
fn after(style: Style, code: &str) -> Style {
    let Some(numbers) = code.strip_prefix("\u{1b}[").and_then(|code| code.strip_suffix('m')) else { return style };
    match numbers.split(';').map(|number| number.parse::<u8>().unwrap_or(0)).collect::<Vec<u8>>()[..] {
        [38, 5, colour] => style.fg(Color::Indexed(colour)),
        [1] => style.add_modifier(Modifier::BOLD),
        [0] => Style::new(),
        _ => style,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_kept_and_nothing_else() {
        let line = line("a\u{1b}[38;5;63m\u{1b}[1mb\u{1b}[0mc\u{7}\u{1b}[2Jd");
        let spans: Vec<(&str, Style)> = line.spans.iter().map(|span| (&*span.content, span.style)).collect();
        let blue = Style::new().fg(Color::Indexed(63)).add_modifier(Modifier::BOLD);
        assert_eq!(spans, [("a", Style::new()), ("b", blue), ("c", Style::new()), ("d", Style::new())]);
    }
}
