//! The full screen: a session in panes, with keyboard and mouse.
//!
//! - [`app`]: what is on the screen and what keys and clicks do to it; it knows no terminal.
//! - [`keys`]: which keys are commands, and the user's file that says so.
//! - [`panes`]: what stands in each pane. Every fact of a stop comes from the same value as at the prompt.
//! - [`map`]: the cluster as a picture in characters; [`near`]: the last step from nearer by.
//! - [`draw`]: where the panes are, from 80 columns by 24 lines up. [`ansi`]: their colours, which are the prompt's.
//! - [`screen`]: the terminal itself, also while a long move is under way.
//! - [`guard`]: the terminal is given back as it was, also after a panic
//!   and after SIGTERM.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::rc::Rc;
use std::time::Duration;

use debugger::quiz::Quiz;
use stepper::Stepper;

use super::signals::Signals;
use super::{editor, out, prompt};
use app::App;
use keys::Keys;
use screen::{Moves, Screen};

pub mod ansi;
pub mod app;
pub mod draw;
pub mod guard;
pub mod keys;
pub mod map;
pub mod near;
pub mod panes;
pub mod screen;

/// So many events are taken before the screen is drawn again: a window that is being resized sends a storm of them.
const EVENTS_AT_ONCE: usize = 256;

/// So often is it looked whether the terminal is still there.
const LOOK: Duration = Duration::from_millis(500);

/// Takes keys and clicks until the user has had enough. `greeting` is said at first.
pub fn run(stepper: Stepper, greeting: &str, keys: Keys) -> io::Result<()> {
    end_with_the_terminal();
    let signals = Signals::listen()?;
    let mut app = App::new(stepper, greeting);
    app.keys = keys;
    guard::with_terminal(|terminal| {
        let screen = Rc::new(RefCell::new(Screen::new(terminal, signals.clone())));
        app.stepper.watch = Some(Box::new(Moves::on(screen.clone())));
        let shown = show(&mut app, &screen);
        app.stepper.watch = None;
        shown
    })??;
    if signals.ended() {
        let _ = writeln!(out::errors(), "it received a signal to end; the session is offered again at the next start");
        return Ok(());
    }
    if let Some(score) = app.stepper.quiz.as_ref().and_then(Quiz::score) {
        writeln!(out::text(), "{score}")?;
    }
    out::print(&prompt::kept(&app.stepper))?;
    app.stepper.end();
    Ok(())
}

/// Draws, waits, and does what was asked for, until the user has had enough or the program is to end.
fn show(app: &mut App, screen: &Rc<RefCell<Screen>>) -> io::Result<()> {
    while !app.stepper.done {
        screen.borrow_mut().draw(app)?;
        for taken in 0..EVENTS_AT_ONCE {
            let event = screen.borrow_mut().next(taken == 0)?;
            match event {
                Some(event) => app.handle(event),
                None if taken == 0 => return Ok(()),
                None => break,
            }
            if let Some(words) = app.editing.take() {
                let instead = guard::without_terminal(|| editor::instead(&mut app.stepper, &words))?;
                screen.borrow_mut().forget()?;
                app.edited(instead);
            }
            if app.stepper.done {
                break;
            }
        }
    }
    Ok(())
}

/// Ends the program when its terminal has gone without a signal (`nohup`): waiting for a key would then never
/// end. The session's journal has all that was done.
fn end_with_the_terminal() {
    std::thread::spawn(|| {
        while io::stdin().is_terminal() {
            std::thread::sleep(LOOK);
        }
        std::process::exit(1);
    });
}
