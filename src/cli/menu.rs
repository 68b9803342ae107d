//! Menus: one of several lines is taken, by arrows or by typing what is in it.

use std::io;

use super::signals::Signals;

/// How the keys are told.
const KEYS: &str = "type to search, \u{2191} \u{2193}, Enter; Esc leaves";

/// Room for what is searched.
const SEARCHED: usize = 10;

/// Which of these lines somebody takes, by number; None: none. The cursor stands at one of them. What is typed ahead chooses
/// nothing: in a menu that cannot be searched, letters and blanks are keys.
pub(super) fn choose(asks: &str, items: &[String], at: usize) -> dialoguer::Result<Option<usize>> {
    // A line that is too long would be broken, and the menu with it.
    let width = usize::from(console::Term::stdout().size().1.max(30)) - 4;
    let items: Vec<_> = items.iter().map(|item| console::truncate_str(item, width, "…")).collect();
    let told = format!("{asks} ({KEYS})");
    let prompt = if console::measure_text_width(&told) + SEARCHED <= width { &told } else { asks };
    let signals = Signals::listen()?;
    let chosen =
        dialoguer::FuzzySelect::new().with_prompt(prompt).items(&items).default(at).report(false).interact_opt();
    signals.leave();
    match chosen {
        // Ctrl-C, or the program is to end. The menu has hidden the cursor.
        Err(dialoguer::Error::IO(error)) if error.kind() == io::ErrorKind::Interrupted => {
            console::Term::stderr().show_cursor()?;
            Ok(None)
        }
        chosen => chosen,
    }
}
