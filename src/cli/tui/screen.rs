//! The terminal while a session is shown on it: what it shows, and what its user does.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use stepper::outside::{Progress, Watch};

use super::super::signals::Signals;
use super::app::App;
use super::draw;

/// So long another event is waited for before the screen is drawn. Not zero: crossterm would not look at all.
const MORE: Duration = Duration::from_millis(1);
/// So long at most until it is seen that the program is to end.
const PATIENCE: Duration = Duration::from_millis(200);
/// Looks at a long move for one at the keyboard: that takes a millisecond.
const LOOKS: u64 = 8;

/// A terminal that shows a session.
pub struct Screen {
    terminal: DefaultTerminal,
    /// What was drawn last.
    shown: Buffer,
    /// What was typed during a long move.
    kept: VecDeque<Event>,
    signals: Signals,
}

impl Screen {
    /// One over this terminal.
    pub fn new(terminal: DefaultTerminal, signals: Signals) -> Screen {
        Screen { terminal, shown: Buffer::default(), kept: VecDeque::new(), signals }
    }

    /// Draws all of it.
    pub fn draw(&mut self, app: &mut App) -> io::Result<()> {
        let frame = self.terminal.draw(|frame| draw::draw(app, frame))?;
        self.shown.clone_from(frame.buffer);
        Ok(())
    }

    /// Forgets what was drawn: another program had the terminal. (`Terminal::clear` would ask it where its cursor is, which not
    /// every one answers.)
    pub fn forget(&mut self) -> io::Result<()> {
        self.terminal = DefaultTerminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }

    /// Draws a line of progress over the last one, where the keys stand.
    fn tell(&mut self, text: &str) -> io::Result<()> {
        let shown = &self.shown;
        self.terminal.draw(|frame| {
            let area = frame.area();
            keep(shown, frame.buffer_mut());
            let last = Rect { y: area.bottom().saturating_sub(1), height: area.height.min(1), ..area };
            let text = format!("{text:<width$}", width = usize::from(area.width));
            Line::styled(text, Style::new().add_modifier(Modifier::REVERSED)).render(last, frame.buffer_mut());
        })?;
        Ok(())
    }

    /// The next thing that its user does; none when nothing more has come. With `wait` that is never, unless the program
    /// is to end.
    pub fn next(&mut self, wait: bool) -> io::Result<Option<Event>> {
        if let Some(event) = self.kept.pop_front() {
            return Ok(Some(event));
        }
        while wait && !self.signals.ended() {
            if event::poll(PATIENCE)? {
                return Ok(Some(event::read()?));
            }
        }
        if !wait && event::poll(MORE)? { Ok(Some(event::read()?)) } else { Ok(None) }
    }

    /// Whether Esc or Ctrl-C was pressed. Other keys are kept for later.
    fn escaped(&mut self) -> io::Result<bool> {
        while event::poll(MORE)? {
            let event = event::read()?;
            if let Event::Key(key) = &event {
                let control = key.modifiers.contains(KeyModifiers::CONTROL);
                if key.code == KeyCode::Esc || control && key.code == KeyCode::Char('c') {
                    return Ok(true);
                }
            }
            self.kept.push_back(event);
        }
        Ok(false)
    }
}

/// Puts there what of an older picture has room: the window may have another size now.
fn keep(shown: &Buffer, buffer: &mut Buffer) {
    for place in shown.area.intersection(buffer.area).positions() {
        buffer[place].clone_from(&shown[place]);
    }
}

/// Shows long moves on a screen. Esc ends them.
pub struct Moves {
    screen: Rc<RefCell<Screen>>,
    looks: u64,
}

impl Moves {
    /// Those of a session that is shown there.
    pub fn on(screen: Rc<RefCell<Screen>>) -> Moves {
        Moves { screen, looks: 0 }
    }
}

impl Watch for Moves {
    fn goes_on(&mut self, progress: Progress) -> bool {
        self.looks += 1;
        if !self.looks.is_multiple_of(LOOKS) {
            return true;
        }
        let mut screen = self.screen.borrow_mut();
        let told = screen.tell(&format!(" step {}, {} · Esc stops here", progress.steps, progress.now));
        // What is wrong with a terminal is said when the move is over.
        let escaped = told.and_then(|()| screen.escaped());
        !screen.signals.ended() && escaped.is_ok_and(|escaped| !escaped)
    }

    fn over(&mut self) {
        self.looks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_has_another_size_keeps_what_has_room() {
        let shown = Buffer::with_lines(["abcd", "efgh"]);
        let kept = |width, height| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
            keep(&shown, &mut buffer);
            buffer
        };
        assert_eq!(kept(4, 2), shown);
        assert_eq!(kept(2, 3), Buffer::with_lines(["ab", "ef", "  "]));
        assert_eq!(kept(5, 1), Buffer::with_lines(["abcd "]));
    }
}
