//! Where things are on the screen.

use console::{measure_text_width, truncate_str};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use object::time::Instant;
use stepper::palette;

use super::ansi;
use super::app::{App, Pane, Target};

/// Below this size the panes say nothing any more.
const SMALLEST: (u16, u16) = (80, 24);
/// The column of the menu at which it says what a command does, unless that is written in more.
const USAGE: usize = 24;
/// From so many lines on there is room for the map.
const HIGH: u16 = 34;
/// From so many columns on there are three of panes instead of two.
const WIDE: u16 = 150;

/// Draws the screen, and remembers where everything is.
pub fn draw(app: &mut App, frame: &mut Frame) {
    let area = frame.area();
    app.areas.clear();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("{}×{} is too small: the panes need 80×24", area.width, area.height);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let rows = [Constraint::Length(2), Constraint::Min(0), Constraint::Length(1), Constraint::Length(1)];
    let [head, body, input, bar] = Layout::vertical(rows).areas(area);
    frame.render_widget(Paragraph::new(title(app, usize::from(head.width))), head);
    let places = if app.zoomed { vec![(app.focus, body)] } else { places(body, app.focus) };
    let inside = |area: &Rect| (usize::from(area.width).saturating_sub(1), usize::from(area.height).saturating_sub(1));
    let sizes = places.iter().map(|(pane, area)| (*pane, inside(area))).collect();
    if app.sizes != sizes {
        app.sizes = sizes;
        app.refresh();
    }
    for (pane, area) in places {
        draw_pane(app, frame, pane, area);
    }
    draw_input(app, frame, input);
    draw_bar(app, frame, bar);
    if let Some(at) = app.menu {
        draw_menu(app, frame, body, at);
    }
}

/// Step and time, and the event from end to end.
fn title(app: &App, width: usize) -> Vec<Line<'static>> {
    let name = app.stepper.session.scenario().name.clone();
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let Some(stop) = &app.stop else {
        return vec![Line::styled(format!(" {name} · before the first step"), bold)];
    };
    let event = &stop.event;
    let named = |name: &str| palette::component(name).apply_to(name).to_string();
    let what = palette::here().apply_to(&event.what);
    let first = format!(" {name} · step {} · {}", stop.step, Instant(stop.t_ns));
    let second = format!(" {} ──{what}──▶ {}", named(&event.from), named(&event.to));
    if measure_text_width(&second) <= width {
        return vec![Line::styled(first, bold), ansi::line(&second)];
    }
    // Too long for one line: whom it goes to stands in the first.
    let head = format!("{first} · to {}", named(&event.to));
    let second = format!(" {} ──{what}──▶", named(&event.from));
    [head, second].iter().map(|text| ansi::line(&truncate_str(text, width, "…"))).collect()
}

/// Panes side by side and one below the other, as there is room.
fn places(body: Rect, focus: Pane) -> Vec<(Pane, Rect)> {
    let split = |area: Rect, parts: &[(Pane, u16)]| {
        let areas = Layout::vertical(parts.iter().map(|(_, part)| Constraint::Fill(*part))).split(area);
        parts.iter().zip(areas.iter()).map(|((pane, _), area)| (*pane, *area)).collect::<Vec<_>>()
    };
    // No screen has room for all of them at once; Tab shows the others.
    let shown = |usual: Pane, others: &[Pane]| if others.contains(&focus) { focus } else { usual };
    if body.width >= WIDE {
        let [left, middle, right] = Layout::horizontal([Constraint::Fill(1); 3]).areas(body);
        let last = shown(Pane::Beliefs, &[Pane::Objects]);
        let mut places = split(left, &[(Pane::Timeline, 3), (Pane::Pending, 2)]);
        places.extend(split(middle, &[(Pane::Map, 5), (Pane::Source, 3), (last, 3)]));
        places.extend(split(right, &[(Pane::Stop, 3), (Pane::Output, 3)]));
        return places;
    }
    let [left, right] = Layout::horizontal([Constraint::Fill(1); 2]).areas(body);
    if body.height >= HIGH {
        let first = shown(Pane::Map, &[Pane::Objects]);
        let mut places = split(left, &[(first, 15), (Pane::Timeline, 10), (Pane::Pending, 7)]);
        places.extend(split(right, &[(Pane::Stop, 4), (Pane::Source, 3), (Pane::Beliefs, 3), (Pane::Output, 3)]));
        return places;
    }
    let last = shown(Pane::Beliefs, &[Pane::Map, Pane::Objects]);
    let mut places = split(left, &[(Pane::Timeline, 4), (Pane::Pending, 3), (last, 3)]);
    places.extend(split(right, &[(Pane::Stop, 4), (Pane::Source, 3), (Pane::Output, 3)]));
    places
}

fn name(pane: Pane) -> &'static str {
    match pane {
        Pane::Stop => "what happened",
        Pane::Pending => "pending",
        Pane::Timeline => "timeline",
        Pane::Source => "code that waits",
        Pane::Beliefs => "queues and caches",
        Pane::Objects => "objects",
        Pane::Output => "output",
        Pane::Map => "map",
    }
}

fn draw_pane(app: &mut App, frame: &mut Frame, pane: Pane, area: Rect) {
    let style = match app.focus == pane {
        true if console::colors_enabled() => {
            Style::new().fg(Color::Indexed(palette::focus())).add_modifier(Modifier::BOLD)
        }
        true => Style::new().add_modifier(Modifier::BOLD),
        false if console::colors_enabled() => Style::new().fg(Color::Indexed(palette::frame())),
        false => Style::new().add_modifier(Modifier::DIM),
    };
    let rows = app.rows.get(&pane).map_or(&[][..], Vec::as_slice);
    let height = usize::from(area.height.saturating_sub(1));
    let last = rows.len().saturating_sub(height);
    let first = app.scroll.get(&pane).copied().unwrap_or_default().min(last);
    let more = if last > 0 {
        format!(" {}-{} of {}", first + 1, first + height.min(rows.len()), rows.len())
    } else {
        String::new()
    };
    let block = Block::new().borders(Borders::TOP).border_style(style).title(format!(" {}{more} ", name(pane)));
    let inside = Rect { width: area.width.saturating_sub(1), ..block.inner(area) };
    let mut lines: Vec<Line> = rows.iter().skip(first).take(height).map(|row| ansi::line(&row.text)).collect();
    // The names of the lifelines stay.
    let head = rows.iter().take_while(|row| row.command.is_none()).count();
    if let (Pane::Timeline, Some(lanes)) = (pane, head.checked_sub(1).filter(|lanes| first > *lanes))
        && let Some(top) = lines.first_mut()
    {
        *top = ansi::line(&rows[lanes].text);
    }
    if app.focus == pane
        && let Some(line) = app.row.and_then(|row| lines.get_mut(row.checked_sub(first)?))
    {
        *line = std::mem::take(line).style(Style::new().add_modifier(Modifier::REVERSED));
    }
    frame.render_widget(block, Rect { width: area.width.saturating_sub(1), ..area });
    frame.render_widget(Paragraph::new(lines), inside);
    app.scroll.insert(pane, first);
    app.areas.push((inside, Target::Pane(pane)));
}

/// The line that is typed; of one that is too long the part with the cursor.
fn draw_input(app: &App, frame: &mut Frame, area: Rect) {
    let searched = app.input.searched().map(|text| format!("(search) {text}: "));
    let prompt = searched.unwrap_or_else(|| format!("{} ", app.stepper.prompt()));
    let columns = measure_text_width(&prompt);
    let room = usize::from(area.width).saturating_sub(columns + 1);
    let (shown, cursor) = app.input.shown(room);
    frame.render_widget(Paragraph::new(format!("{prompt}{shown}")), area);
    frame.set_cursor_position((area.x + (columns + cursor) as u16, area.y));
}

/// Keys that are commands, each a button.
fn draw_bar(app: &mut App, frame: &mut Frame, area: Rect) {
    let mut x = area.x;
    for (n, key) in app.keys.bar().enumerate() {
        let (name, command) = (key.name(), &key.command);
        let width = (measure_text_width(&name) + measure_text_width(command) + 1) as u16;
        if x + width > area.right() + 1 {
            break;
        }
        // The blank after the last one may be cut off.
        let place = Rect { x, width: width.min(area.right() - x), ..area };
        // With Alt, the letter that is underlined is the same key.
        let letter = key.letter().filter(|letter| command.contains(*letter)).map(String::from).unwrap_or_default();
        let (before, after) = command.split_once(&letter).unwrap_or((command, ""));
        let underlined = Style::new().add_modifier(Modifier::UNDERLINED);
        let text = vec![
            Span::styled(name, Style::new().add_modifier(Modifier::REVERSED)),
            Span::raw(before.to_owned()),
            Span::styled(letter.clone(), underlined),
            Span::raw(after.to_owned()),
        ];
        frame.render_widget(Paragraph::new(Line::from(text)), place);
        app.areas.push((place, Target::Button(n)));
        x += width;
    }
}

/// Every command, with what it does; the chosen one is put before the cursor.
fn draw_menu(app: &mut App, frame: &mut Frame, body: Rect, at: usize) {
    frame.render_widget(Clear, body);
    let searched = if app.sought.is_empty() { "type to search".to_owned() } else { format!("with {:?}", app.sought) };
    let title = format!(" commands: {searched}; arrows and Enter, or a click; Esc closes ");
    let block = Block::new().borders(Borders::ALL).title(title);
    let inside = block.inner(body);
    frame.render_widget(block, body);
    let height = usize::from(inside.height).max(1);
    let first = at.saturating_sub(height - 1);
    if app.entries().is_empty() {
        let text = format!("no command has {:?} in it: Backspace takes a letter away, Esc closes", app.sought);
        frame.render_widget(Paragraph::new(text), inside);
    }
    for (n, command) in app.entries().into_iter().enumerate().skip(first).take(height) {
        let place = Rect { y: inside.y + (n - first) as u16, height: 1, ..inside };
        let style = if n == at { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        let text = format!("{:<USAGE$}  {}", command.usage, command.about);
        frame.render_widget(Paragraph::new(Line::styled(text, style)), place);
        app.areas.push((place, Target::Entry(n)));
    }
}
