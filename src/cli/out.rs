//! Where the program's texts leave it. What a cluster, a file or a learner's program says is in them, and none of it is a command
//! to the terminal: the program's own colours pass, and nothing else (see [`object::terminal`]).
//!
//! The full screen draws characters and never control characters; `--json` and files have their texts as they are, since a JSON
//! text escapes them and a file is no terminal.

use std::io::{self, IsTerminal, Write};

use crossterm::cursor::MoveTo;
use crossterm::terminal::{Clear, ClearType};

use object::terminal::Harmless;

/// Standard output, for texts.
pub fn text() -> Harmless<io::StdoutLock<'static>> {
    Harmless::new(io::stdout().lock(), console::colors_enabled())
}

/// Standard error, for texts.
pub fn errors() -> Harmless<io::StderrLock<'static>> {
    Harmless::new(io::stderr().lock(), console::colors_enabled())
}

/// Clears the screen, where there is one.
pub fn clear() -> io::Result<()> {
    let mut out = io::stdout();
    if out.is_terminal() {
        write!(out, "{}{}", Clear(ClearType::All), MoveTo(0, 0))?;
        out.flush()?;
    }
    Ok(())
}

/// Writes a text, and all of it at once.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = self::text();
    out.write_all(text.as_bytes())?;
    out.flush()
}
