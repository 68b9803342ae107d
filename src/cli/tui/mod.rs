//! The full screen: a session in panes, with keyboard and mouse.
//!
//! - [`app`]: what is on the screen and what keys and clicks do to it; it knows no terminal.
//! - [`panes`]: what stands in each pane. Every fact of a stop comes from the same value as at the prompt.
//! - [`draw`]: where the panes are, from 80 columns by 24 lines up.
//! - [`guard`]: the terminal is given back as it was, also after a panic.

use std::io::{self, IsTerminal};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event;

use super::Stepper;
use app::App;

pub mod app;
pub mod draw;
pub mod guard;
pub mod panes;

/// So many events are taken before the screen is drawn again: a window that is being resized sends a storm of them.
const EVENTS_AT_ONCE: usize = 256;

/// So long another event is waited for before the screen is drawn. Not zero: crossterm would not look at all.
const MORE: Duration = Duration::from_millis(1);

/// So often is it looked whether the terminal is still there.
const LOOK: Duration = Duration::from_millis(500);

/// Takes keys and clicks until the user has had enough. `greeting` is said at first.
pub fn run(stepper: Stepper, greeting: &str) -> io::Result<()> {
    // Panes have styles of their own.
    console::set_colors_enabled(false);
    end_with_the_terminal();
    let mut app = App::new(stepper, greeting);
    guard::with_terminal(|terminal| until_done(&mut app, terminal))??;
    if let Some(score) = app.stepper.quiz.as_ref().and_then(crate::debugger::quiz::Quiz::score) {
        println!("{score}");
    }
    app.stepper.end();
    Ok(())
}

fn until_done(app: &mut App, terminal: &mut DefaultTerminal) -> io::Result<()> {
    while !app.stepper.done {
        terminal.draw(|frame| draw::draw(app, frame))?;
        app.handle(event::read()?);
        for _ in 0..EVENTS_AT_ONCE {
            if app.stepper.done || !event::poll(MORE)? {
                break;
            }
            app.handle(event::read()?);
        }
    }
    Ok(())
}

/// Ends the program when its terminal has gone and nobody has told it so (`nohup`): waiting for a key would then never
/// end. The session's journal has all that was done.
fn end_with_the_terminal() {
    std::thread::spawn(|| {
        while io::stdin().is_terminal() {
            std::thread::sleep(LOOK);
        }
        std::process::exit(1);
    });
}
