//! Texts on their way to a terminal, which takes some characters for commands: to set its title, to write the clipboard, to
//! go back and write over what stands there. Texts in a cluster come from anyone.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

/// As kubectl writes cells of tables and pages of `describe`. Mirrors `terminalEscaper` of `k8s.io/cli-runtime`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    match text.contains(['\u{1b}', '\r']) {
        true => text.replace('\u{1b}', "^[").replace('\r', "\\r").into(),
        false => text.into(),
    }
}

/// A text in which nothing is a command: what would be is made visible, `^[` or `\u{202e}`. Lines and tabs stay, and with
/// `styled` the styles that this program itself writes, and no others.
pub fn harmless(text: &str, styled: bool) -> Cow<'_, str> {
    if !text.contains(is_command) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(is_command) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        if let Some(length) = style(found).filter(|_| styled) {
            out.push_str(&found[..length]);
            rest = &found[length..];
            continue;
        }
        let mut chars = found.chars();
        show(&mut out, chars.next().unwrap_or_default());
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.into()
}

/// Whether a terminal does something with it other than to show it. Beside control characters these are the ones that turn
/// the direction of writing, so that a line reads as something else.
fn is_command(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

fn show(out: &mut String, c: char) {
    // A String takes all that is written.
    let _ = match c {
        '\r' => write!(out, "\\r"),
        '\0'..='\u{1f}' => write!(out, "^{}", char::from(c as u8 + 64)),
        '\u{7f}' => write!(out, "^?"),
        c => write!(out, "{}", c.escape_unicode()),
    };
}

/// How long the style is with which a text begins: colour, bold, dim, or plain again, as the crate `console` writes them.
fn style(text: &str) -> Option<usize> {
    let codes = text.strip_prefix("\u{1b}[")?;
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let is_ours = |code: &str| matches!(code.parse(), Ok(0..=4 | 7 | 30..=37 | 39 | 40..=47 | 49 | 90..=97));
    let all_ours = codes[..end].split(';').all(is_ours) || is_of_palette(&codes[..end]);
    (codes[end..].starts_with('m') && all_ours).then_some(2 + end + 1)
}

/// `38;5;208`: one of 256 colours, of a text or behind it.
fn is_of_palette(codes: &str) -> bool {
    let colour = codes.strip_prefix("38;5;").or_else(|| codes.strip_prefix("48;5;"));
    colour.is_some_and(|colour| colour.parse::<u8>().is_ok())
}

/// Passes on what is written, made [`harmless`]. It waits for the end of a line, or to be flushed: a style may come in parts.
pub struct Harmless<W: io::Write> {
    to: W,
    styled: bool,
    held: Vec<u8>,
}

impl<W: io::Write> Harmless<W> {
    /// One that writes there. Whether styles pass depends on who reads it.
    pub fn new(to: W, styled: bool) -> Harmless<W> {
        Harmless { to, styled, held: Vec::new() }
    }

    fn pass(&mut self, length: usize) -> io::Result<()> {
        let rest = self.held.split_off(length);
        let passed = std::mem::replace(&mut self.held, rest);
        self.to.write_all(harmless(&String::from_utf8_lossy(&passed), self.styled).as_bytes())
    }
}

impl<W: io::Write> io::Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if let Some(end) = self.held.iter().rposition(|byte| *byte == b'\n') {
            self.pass(end + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass(self.held.len())?;
        self.to.flush()
    }
}

impl<W: io::Write> Drop for Harmless<W> {
    fn drop(&mut self) {
        // Where it cannot be written any more, its reader has gone.
        let _ = io::Write::flush(self);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        for (text, plain, styled) in [
            ("a\tb\n", "a\tb\n", "a\tb\n"),
            ("\u{1b}[31mred\u{1b}[0m", "^[[31mred^[[0m", "\u{1b}[31mred\u{1b}[0m"),
            ("\u{1b}[38;5;208mx", "^[[38;5;208mx", "\u{1b}[38;5;208mx"),
            ("\u{1b}[38;5;999mx\u{1b}[", "^[[38;5;999mx^[[", "^[[38;5;999mx^[["),
            ("\u{1b}]52;c;ZXZpbA==\u{7}", "^[]52;c;ZXZpbA==^G", "^[]52;c;ZXZpbA==^G"),
            ("\u{1b}[2J\u{1b}[8mx", "^[[2J^[[8mx", "^[[2J^[[8mx"),
            ("ok\rno\u{8}\u{7f}", "ok\\rno^H^?", "ok\\rno^H^?"),
            ("\u{9b}31m\u{202e}gnp", "\\u{9b}31m\\u{202e}gnp", "\\u{9b}31m\\u{202e}gnp"),
            ("äöü 😀", "äöü 😀", "äöü 😀"),
        ] {
            assert_eq!((&*harmless(text, false), &*harmless(text, true)), (plain, styled), "{text:?}");
        }
        assert_eq!(escaped("a\u{1b}[31m\r\u{7}b"), "a^[[31m\\r\u{7}b", "kubectl goes no further");
    }

    #[test]
    fn a_style_may_come_in_parts() {
        let mut out = Vec::new();
        let mut to = Harmless::new(&mut out, true);
        write!(to, "\u{1b}").unwrap();
        write!(to, "[1mbold\u{1b}[0m\u{1b}]0;title").unwrap();
        drop(to);
        assert_eq!(String::from_utf8(out).unwrap(), "\u{1b}[1mbold\u{1b}[0m^[]0;title");
    }
}
