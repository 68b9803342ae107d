//! What is on the screen, and what keys and clicks do to it. It knows no terminal: tests drive it with events.

use std::collections::BTreeMap;

use console::Key;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use debugger::Stop;
use stepper::commands::terminal::PROMPT;
use stepper::commands::{self, Answer};
use stepper::edit::SENT;
use stepper::{self, Stepper, What, lines, palette, wrap};

use super::super::draft::{Draft, Typed};
use super::keys::{Keys, MENU, Press, ZOOM};
use super::panes::{self, Row};

/// The parts of the screen that show something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pane {
    /// Why, what changed, what else happened.
    Stop,
    /// What is in flight.
    Pending,
    /// Who told whom what.
    Timeline,
    /// The code that waits.
    Source,
    /// Queues and caches of the component that got the event.
    Beliefs,
    /// What commands have said.
    Output,
    /// What the cluster has, as it is now.
    Objects,
    /// The cluster as a picture, and the last step from nearer by.
    Map,
}

impl Pane {
    /// All, in the order in which Tab goes through them.
    pub const ALL: [Pane; 8] = [
        Pane::Stop,
        Pane::Pending,
        Pane::Timeline,
        Pane::Map,
        Pane::Source,
        Pane::Beliefs,
        Pane::Output,
        Pane::Objects,
    ];
}

/// So many lines of output are kept.
const OUTPUT_KEPT: usize = 2_000;
/// The wheel moves so many lines.
const WHEEL: usize = 3;

/// What the full screen shows and what has been typed into it.
pub struct App {
    /// The session behind it.
    pub stepper: Stepper,
    /// Which keys are commands.
    pub keys: Keys,
    /// The line that is being typed.
    pub input: Draft,
    /// What each pane shows.
    pub rows: BTreeMap<Pane, Vec<Row>>,
    /// How far each pane is scrolled down.
    pub scroll: BTreeMap<Pane, usize>,
    /// The pane that keys scroll.
    pub focus: Pane,
    /// The stop that is shown.
    pub stop: Option<Stop>,
    /// The place in the menu, while it is open.
    pub menu: Option<usize>,
    /// What the commands of the menu have in them.
    pub sought: String,
    /// Whether the pane with the focus has all the screen.
    pub zoomed: bool,
    /// The row of that pane that Enter takes.
    pub row: Option<usize>,
    /// Where things were drawn last: panes, buttons of the bar, entries of the menu.
    pub areas: Vec<(Rect, Target)>,
    /// How many columns and lines panes had when they were drawn last; what stands in them depends on it.
    pub sizes: BTreeMap<Pane, (usize, usize)>,
    /// What is to be edited, in words. The terminal's owner opens the editor on it and reports the result.
    pub editing: Option<Vec<String>>,
    output: Vec<String>,
    typed: Vec<String>,
}

/// What a click meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A pane; its rows begin at the area's first line.
    Pane(Pane),
    /// A command of the bar, by its place there.
    Button(usize),
    /// An entry of the menu.
    Entry(usize),
}

impl App {
    /// A screen over a session, which says `greeting` at first.
    pub fn new(mut stepper: Stepper, greeting: &str) -> App {
        stepper.columns = Some(100);
        let (stop, typed) = (stepper.session.stop(), std::mem::take(&mut stepper.typed));
        let mut app = App {
            stepper,
            stop,
            typed,
            keys: Keys::default(),
            input: Draft::default(),
            rows: BTreeMap::new(),
            scroll: BTreeMap::new(),
            focus: Pane::Stop,
            menu: None,
            sought: String::new(),
            zoomed: false,
            row: None,
            areas: Vec::new(),
            sizes: BTreeMap::new(),
            editing: None,
            output: Vec::new(),
        };
        app.say(greeting);
        app.refresh();
        app
    }

    /// Takes an event of the terminal's.
    pub fn handle(&mut self, event: Event) {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Paste(text) => {
                text.lines().next().unwrap_or_default().chars().for_each(|c| self.type_key(Key::Char(c)))
            }
            _ => {}
        }
    }

    /// Does what a line says that is typed at the prompt, which may be that of a shell.
    pub fn line(&mut self, line: &str) {
        let typed = self.stepper.read(line);
        match typed.what {
            What::Nothing => {}
            _ if typed.text == line => self.carry_out(PROMPT, line, &typed),
            _ => self.carry_out(&self.stepper.prompt(), line, &typed),
        }
    }

    /// Does what a command says.
    pub fn command(&mut self, line: &str) {
        self.carry_out(PROMPT, line, &stepper::Typed::read(line));
    }

    /// Does what a command says that stands there as a line behind a prompt.
    fn carry_out(&mut self, prompt: &str, line: &str, typed: &stepper::Typed) {
        self.say(&palette::label().apply_to(format!("{prompt} {line}")).to_string());
        if !line.trim().is_empty() && self.typed.last().is_none_or(|last| last != line) {
            self.typed.push(line.to_owned());
        }
        if let What::Edit(words) = &typed.what {
            self.editing = Some(words.clone());
            return;
        }
        self.stepper.columns = Some(self.size_of(Pane::Output).0.max(20));
        match self.stepper.carry_out(typed) {
            Ok(answer) => self.show(answer),
            Err(error) => self.say(&palette::error().apply_to(error).to_string()),
        }
        let greeting = self.stepper.greeting();
        self.say(&greeting);
        self.refresh();
    }

    /// The editor was left: types what is to be typed instead, or says why nothing is.
    pub fn edited(&mut self, instead: Result<String, String>) {
        match instead {
            Ok(line) => {
                self.say(&format!("{}{line}", SENT));
                self.command(&line);
            }
            Err(why) => {
                self.say(&why);
                self.refresh();
            }
        }
    }

    /// An answer's stop goes into the panes, the rest to the output.
    fn show(&mut self, answer: Answer) {
        let view = self.stepper.view();
        let said = lines::text(&Answer { stop: None, ..answer.clone() }, &view);
        self.say(&said);
        let here = self.stepper.session.current().map(|step| step.id.0);
        match answer.stop {
            Some(stop) => self.stop = Some(*stop),
            // A command may move the session without showing a stop; the panes show the new one all the same.
            None if self.stop.as_ref().map(|stop| stop.step) != here => self.stop = self.stepper.session.stop(),
            None => {}
        }
    }

    fn say(&mut self, text: &str) {
        self.output.extend(text.lines().map(str::to_owned));
        let many = self.output.len().saturating_sub(OUTPUT_KEPT);
        self.output.drain(..many);
    }

    /// Fills the panes anew.
    pub fn refresh(&mut self) {
        for pane in Pane::ALL {
            let (width, height) = self.size_of(pane);
            // It reads the whole run: only where it is seen.
            if pane == Pane::Map && !self.sizes.contains_key(&pane) {
                self.rows.insert(pane, Vec::new());
                continue;
            }
            let rows = match pane {
                Pane::Stop => panes::stop(self.stop.as_ref(), width),
                Pane::Pending => panes::pending(&self.stepper.session, width),
                Pane::Timeline => panes::timeline(&self.stepper.session, width),
                Pane::Source => panes::source(self.stop.as_ref(), width, height),
                Pane::Beliefs => panes::beliefs(&mut self.stepper, width),
                Pane::Output => panes::output(&self.output, width),
                Pane::Objects => panes::objects(&mut self.stepper, width),
                Pane::Map => panes::map(&self.stepper.session, width),
            };
            let first = if matches!(pane, Pane::Output | Pane::Timeline) { usize::MAX } else { 0 };
            self.scroll.insert(pane, first);
            self.rows.insert(pane, rows);
        }
    }

    /// How large a pane is; before it was drawn, as one of a large screen.
    fn size_of(&self, pane: Pane) -> (usize, usize) {
        self.sizes.get(&pane).copied().unwrap_or((80, 24))
    }

    fn key(&mut self, key: KeyEvent) {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return match self.stepper.interrupts() {
                Some(key) => self.command(&key.text),
                None => self.command("quit"),
            };
        }
        if self.menu.is_some() {
            return self.menu_key(key.code);
        }
        let is_alt = key.modifiers.contains(KeyModifiers::ALT);
        let press = Press::of(key.code, is_control, is_alt, self.input.text().is_empty());
        if let Some(command) = press.and_then(|press| self.keys.command(press)).map(str::to_owned) {
            return self.press(&command);
        }
        match key.code {
            KeyCode::Char(_) if is_alt => {}
            KeyCode::Esc if self.input.searched().is_none() => self.input = Draft::default(),
            KeyCode::Tab if self.input.text().is_empty() => self.focus_next(),
            // Rows are gone through with Alt and the arrows, and taken with Enter.
            KeyCode::Up if is_alt => self.select(-1),
            KeyCode::Down if is_alt => self.select(1),
            KeyCode::Enter if self.row.is_some() && self.input.text().is_empty() => self.take_row(),
            KeyCode::PageUp => self.scroll_by(self.focus, -(WHEEL as isize)),
            KeyCode::PageDown => self.scroll_by(self.focus, WHEEL as isize),
            code => key_of_line(code, is_control).into_iter().for_each(|key| self.type_key(key)),
        }
    }

    /// A key of the line's, as at the prompt.
    fn type_key(&mut self, key: Key) {
        match self.input.key(key, &self.typed) {
            // There is nothing on this screen but what is drawn.
            Typed::More | Typed::Clear => {}
            Typed::End => match self.stepper.ends_input() {
                Some(key) => self.command(&key.text),
                None => self.command("quit"),
            },
            Typed::Line => {
                let line = std::mem::take(&mut self.input).text();
                self.line(&line);
            }
            Typed::Complete => {
                let candidates = self.stepper.candidates(&self.input.text());
                let names = self.input.complete(&candidates).join("  ");
                if !names.is_empty() {
                    self.say(&wrap::wrapped(&names, self.size_of(Pane::Output).0.max(20)));
                    self.refresh();
                }
            }
        }
    }

    /// The commands that the menu shows.
    pub fn entries(&self) -> Vec<&'static commands::Command> {
        let has = |command: &&commands::Command| {
            let sought = self.sought.to_lowercase();
            command.names.iter().any(|name| name.contains(&sought)) || command.about.to_lowercase().contains(&sought)
        };
        commands::all().filter(has).collect()
    }

    fn menu_key(&mut self, code: KeyCode) {
        let (last, at) = (self.entries().len().saturating_sub(1), self.menu.unwrap_or_default());
        match code {
            KeyCode::Char(c) => {
                self.sought.push(c);
                self.menu = Some(0);
            }
            KeyCode::Backspace => {
                self.sought.pop();
                self.menu = Some(0);
            }
            KeyCode::Up => self.menu = Some(at.saturating_sub(1)),
            KeyCode::Down => self.menu = Some((at + 1).min(last)),
            KeyCode::PageUp => self.menu = Some(at.saturating_sub(10)),
            KeyCode::PageDown => self.menu = Some((at + 10).min(last)),
            KeyCode::Enter => self.take_from_menu(at),
            _ => self.menu = None,
        }
    }

    /// A command of the menu is put where it can be finished.
    fn take_from_menu(&mut self, entry: usize) {
        let chosen = self.entries().get(entry).copied();
        self.menu = None;
        if let Some(command) = chosen {
            self.input.replace(&format!("{} ", command.names[0]));
        }
    }

    fn press(&mut self, command: &str) {
        match command {
            MENU => (self.menu, self.sought) = (Some(0), String::new()),
            ZOOM => {
                self.zoomed = !self.zoomed;
                self.row = None;
            }
            command => self.command(command),
        }
    }

    fn focus_next(&mut self) {
        let at = Pane::ALL.iter().position(|pane| *pane == self.focus).unwrap_or_default();
        self.focus = Pane::ALL[(at + 1) % Pane::ALL.len()];
        self.row = None;
    }

    /// Goes to the next row, or the one before, that puts something before the cursor.
    fn select(&mut self, by: isize) {
        let rows = self.rows.get(&self.focus).map_or(&[][..], Vec::as_slice);
        let first = self.scroll.get(&self.focus).copied().unwrap_or_default().min(rows.len());
        let taking: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].command.is_some()).collect();
        let at = match self.row {
            None => taking.iter().position(|row| *row >= first),
            Some(row) => taking.iter().position(|known| *known == row).map(|at| at.saturating_add_signed(by)),
        };
        self.row = at.and_then(|at| taking.get(at.min(taking.len().saturating_sub(1)))).copied();
        if let Some(row) = self.row {
            let height = self.size_of(self.focus).1.max(1);
            self.scroll.insert(self.focus, first.clamp((row + 1).saturating_sub(height), row));
        }
    }

    fn take_row(&mut self) {
        let rows = self.rows.get(&self.focus);
        let row = self.row.take().and_then(|row| rows?.get(row)?.command.clone());
        row.iter().for_each(|command| self.input.replace(command));
    }

    fn mouse(&mut self, mouse: MouseEvent) {
        let place = Position::new(mouse.column, mouse.row);
        // What was drawn last lies on top.
        let met = self.areas.iter().rev().find(|(area, _)| area.contains(place)).copied();
        match (mouse.kind, met) {
            (MouseEventKind::ScrollUp, Some((_, Target::Pane(pane)))) => self.scroll_by(pane, -(WHEEL as isize)),
            (MouseEventKind::ScrollDown, Some((_, Target::Pane(pane)))) => self.scroll_by(pane, WHEEL as isize),
            (MouseEventKind::ScrollUp, Some((_, Target::Entry(_)))) => self.menu_key(KeyCode::Up),
            (MouseEventKind::ScrollDown, Some((_, Target::Entry(_)))) => self.menu_key(KeyCode::Down),
            (MouseEventKind::Down(_), Some((_, Target::Button(at)))) => {
                let command = self.keys.bar().nth(at).map(|key| key.command.clone());
                command.iter().for_each(|command| self.press(command));
            }
            (MouseEventKind::Down(_), Some((_, Target::Entry(entry)))) => self.take_from_menu(entry),
            (MouseEventKind::Down(_), _) if self.menu.is_some() => self.menu = None,
            (MouseEventKind::Down(_), Some((area, Target::Pane(pane)))) => {
                self.focus = pane;
                // Until it is drawn, a pane that is to show its end is scrolled as far as one can.
                let scrolled = self.scroll.get(&pane).copied().unwrap_or_default();
                let row = usize::from(mouse.row - area.y).saturating_add(scrolled);
                let command = self.rows.get(&pane).and_then(|rows| rows.get(row)).and_then(|row| row.command.clone());
                command.iter().for_each(|command| self.input.replace(command));
            }
            _ => {}
        }
    }

    fn scroll_by(&mut self, pane: Pane, lines: isize) {
        let at = self.scroll.entry(pane).or_default();
        *at = at.saturating_add_signed(lines);
    }
}

/// What a key means to a line that is typed; control characters are those of the keyboard.
fn key_of_line(code: KeyCode, is_control: bool) -> Option<Key> {
    Some(match code {
        KeyCode::Char(c) if is_control && c.is_ascii_alphabetic() => Key::Char(char::from(c as u8 & 0x1f)),
        KeyCode::Char(_) if is_control => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab => Key::Tab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Del,
        KeyCode::Left => Key::ArrowLeft,
        KeyCode::Right => Key::ArrowRight,
        KeyCode::Up => Key::ArrowUp,
        KeyCode::Down => Key::ArrowDown,
        KeyCode::Esc => Key::Escape,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
