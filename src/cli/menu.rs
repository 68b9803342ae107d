//! Menus: one of several lines is taken, by arrows or by typing what is in it.

use std::io;

use object::terminal::harmless;

use super::signals::Signals;

/// How the keys are told, as far as there is room.
const KEYS: [&str; 2] =
    ["type to search, \u{2191} \u{2193}, Enter; Esc leaves", "type to search, \u{2191} \u{2193}; Esc leaves"];

/// Room for what is searched: a line that is broken would be drawn again at each key.
const SEARCHED: usize = 20;

/// Which of these lines the user takes, by number; None: none. The cursor stands at one of them. What is typed ahead chooses
/// nothing: in a menu that cannot be searched, letters and blanks are keys.
///
/// # Errors
/// Of the kind `Interrupted`: Ctrl-C was pressed, or the program is to end.
pub(super) fn choose(asks: &str, items: &[String], at: usize) -> io::Result<Option<usize>> {
    // A line that is too long would be broken, and the menu with it.
    let (height, width) = console::Term::stdout().size();
    let width = usize::from(width.max(30)) - 4;
    let items: Vec<_> = items.iter().map(|item| harmless(item, false)).collect();
    let items: Vec<_> = items.iter().map(|item| console::truncate_str(item, width, "…")).collect();
    // Those that do not fit are there all the same.
    let of = if items.len() >= usize::from(height) { format!(", of {}", items.len()) } else { String::new() };
    let told = KEYS.map(|keys| format!("{asks}{of} ({keys})"));
    let fits = |told: &&String| console::measure_text_width(told) + SEARCHED <= width;
    let prompt = told.iter().find(fits).map_or(asks, String::as_str);
    let signals = Signals::listen()?;
    let chosen =
        dialoguer::FuzzySelect::new().with_prompt(prompt).items(&items).default(at).report(false).interact_opt();
    signals.leave();
    chosen.map_err(|dialoguer::Error::IO(error)| {
        // The menu has hidden the cursor.
        let _ = console::Term::stderr().show_cursor();
        error
    })
}
