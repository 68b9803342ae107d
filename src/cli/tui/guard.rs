//! The terminal is taken and given back.
//!
//! Code of components may panic while it runs; the engine catches that, and it is no reason to leave the screen. So
//! nothing is printed when a panic begins. One that is not caught is printed when the terminal is as it was.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};

use ratatui::DefaultTerminal;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// Runs `body` on the whole screen. An error of the outer kind says that there is none.
pub fn with_terminal<T>(body: impl FnOnce(DefaultTerminal) -> T) -> io::Result<T> {
    let terminal = ratatui::try_init()?;
    let captured = execute!(io::stdout(), EnableMouseCapture);
    let restore = || {
        let _ = execute!(io::stdout(), DisableMouseCapture);
        let _ = ratatui::try_restore();
    };
    let result = guarded(|| captured.map(|()| body(terminal)), restore);
    match result {
        Ok(result) => result,
        Err(message) => Err(io::Error::other(message)),
    }
}

/// Runs `body` with the terminal as it was, in the middle of [`with_terminal`]: another program has it meanwhile.
pub fn without_terminal<T>(body: impl FnOnce() -> T) -> io::Result<T> {
    execute!(io::stdout(), DisableMouseCapture, LeaveAlternateScreen, Show)?;
    disable_raw_mode()?;
    let result = body();
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, Clear(ClearType::All), EnableMouseCapture)?;
    Ok(result)
}

/// Runs `body` and then `restore`, even after a panic. An error is what a panic said.
fn guarded<T>(body: impl FnOnce() -> T, restore: impl FnOnce()) -> Result<T, String> {
    let said = Arc::new(Mutex::new(String::new()));
    let (before, heard) = (panic::take_hook(), said.clone());
    panic::set_hook(Box::new(move |panic| {
        *heard.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    panic::set_hook(before);
    restore();
    result.map_err(|_| said.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_is_given_back_after_a_panic() {
        let mut restored = 0;
        assert_eq!(guarded(|| 7, || restored += 1), Ok(7));
        let error = guarded(|| -> u8 { panic!("out of luck") }, || restored += 1).unwrap_err();
        assert!(error.contains("out of luck") && error.contains("guard.rs"), "{error}");
        assert_eq!(restored, 2);
    }
}
