//! What stands in each pane, line by line.

use std::fmt;

use console::{Style, truncate_str};

use debugger::stop::{Change, How, Why};
use debugger::timeline::{self, About};
use debugger::{Session, Stop, describe, scene, source};
use engine::Pending;
use object::time::Instant;
use stepper::view::{self, View};
use stepper::{Stepper, palette, sequence, wrap};

use super::{map, near};

/// So many messages of the past are drawn.
const MESSAGES: usize = 200;
/// Lines of code before and after the one that waits, where there is room and where there is not.
const CODE_AROUND: (u32, u32) = (3, 0);
/// There is room in a pane of so many lines.
const ROOM: usize = 12;

/// In a pane of so many columns it also says who sent what is pending.
const WIDE: usize = 64;

/// A line of a pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// What it says, coloured as at the prompt.
    pub text: String,
    /// What a click on it puts before the cursor.
    pub command: Option<String>,
}

impl Row {
    /// A line without more.
    pub fn text(text: impl Into<String>) -> Row {
        Row { text: text.into(), command: None }
    }

    /// One in a style of the palette's.
    fn styled(style: Style, text: impl fmt::Display) -> Row {
        Row::text(style.apply_to(text).to_string())
    }

    /// In as many lines of `width` columns as it takes; those after the first stand in by two.
    pub fn wrapped(self, width: usize) -> Vec<Row> {
        let command = self.command;
        wrap::hanging(&self.text, width).into_iter().map(|text| Row { text, command: command.clone() }).collect()
    }

    /// In one line of `width` columns.
    fn cut(self, width: usize) -> Row {
        Row { text: truncate_str(&self.text, width, "…").into_owned(), ..self }
    }
}

/// Why, what changed, and what else happened.
pub fn stop(stop: Option<&Stop>, width: usize) -> Vec<Row> {
    let Some(stop) = stop else { return Row::text("nothing has happened yet; press Enter to step").wrapped(width) };
    let mut rows: Vec<Row> = stop.crashes.iter().map(|crash| Row::styled(palette::error(), crash)).collect();
    rows.extend(stop.hits.iter().flat_map(|hit| hit.lines()).map(|line| Row::styled(palette::here(), line)));
    rows.push(stop.why.as_ref().map_or(Row::text("why: it was under way before the first step"), why));
    rows.extend(stop.change.iter().chain(&stop.also).flat_map(change));
    let mut rows: Vec<Row> = rows.into_iter().flat_map(|row| row.wrapped(width)).collect();
    for fact in &stop.facts {
        rows.extend(Row::text(format!("{}: {}", fact.topic, fact.text)).wrapped(width));
        let table = fact.table.as_ref().map_or(String::new(), |table| View::new(width).table(table));
        rows.extend(table.lines().map(|line| Row::text(format!("  {line}")).cut(width)));
    }
    if stop.unseen > 0 {
        rows.push(Row::styled(palette::label(), format!("{} went by", view::background(stop.unseen))));
    }
    rows
}

fn why(why: &Why) -> Row {
    let text = format!("why: {}", view::cause(why));
    Row { text, command: Some(format!("goto {}", why.step)) }
}

fn change(change: &Change) -> Vec<Row> {
    let (word, style) = match change.how {
        How::Added => ("+ ", palette::added()),
        How::Modified => ("", palette::here()),
        How::Deleted => ("- ", palette::removed()),
    };
    let head = Row::styled(style, format!("{word}{}", change.object));
    let values = change.summary.iter().map(|(name, value)| Row::text(format!("    {name}: {value}")));
    let fields = change.fields.iter().map(|field| Row::text(format!("  {}", view::field(field))));
    [head].into_iter().chain(values).chain(fields).collect()
}

/// What is in flight. A click on one offers to deliver it next.
pub fn pending(session: &Session, width: usize) -> Vec<Row> {
    let engine = &session.cluster.engine;
    let row = |event: &Pending, held: &str| {
        let head = describe::headline(engine, event);
        let named = |name: &str| palette::component(name).apply_to(name).to_string();
        let from = if width < WIDE { String::new() } else { format!("{} ─ ", named(&head.from)) };
        let time = session.time(event.due).to_string();
        let text = format!("{:>6}{held}{time:>8} {from}{} → {}", event.id.to_string(), head.what, named(&head.to));
        Row { text, command: Some(format!("choose {}", event.id)) }.cut(width)
    };
    let mut rows: Vec<Row> = engine.pending().filter(|event| !event.background).map(|event| row(event, " ")).collect();
    rows.extend(engine.held().map(|event| row(event, " held ")));
    if rows.is_empty() {
        rows.push(Row::styled(palette::label(), "nothing is pending but background traffic"));
    }
    rows
}

/// Who told whom what. A click on a message offers to go there.
pub fn timeline(session: &Session, width: usize) -> Vec<Row> {
    let messages = timeline::latest(session, &About::Everything, MESSAGES);
    let drawn = sequence::draw(&messages, session.current().map(|step| step.id), width);
    let lines: Vec<&str> = drawn.lines().collect();
    let head = lines.len() - messages.len();
    let row = |(n, line): (usize, &&str)| {
        let message = n.checked_sub(head).and_then(|n| messages.get(n));
        Row { text: (*line).to_owned(), command: message.map(|message| format!("goto {}", message.step.0)) }
    };
    lines.iter().enumerate().map(row).collect()
}

/// The reconciles and pod workers that wait, each with its code.
pub fn source(stop: Option<&Stop>, width: usize, height: usize) -> Vec<Row> {
    let around = if height < ROOM { CODE_AROUND.1 } else { CODE_AROUND.0 };
    let mut rows = Vec::new();
    for waiting in stop.iter().flat_map(|stop| &stop.waiting) {
        let task = palette::component(&waiting.component).apply_to(&waiting.task);
        let since = Instant(waiting.since_ns);
        rows.extend(Row::text(format!("{task} waits for {} since {since}", waiting.awaits)).wrapped(width));
        rows.push(Row::styled(palette::label(), format!("{}:{}", waiting.file, waiting.line)).cut(width));
        for (number, line) in source::lines(&waiting.file, waiting.line, around).lines {
            let (mark, style) = if number == waiting.line { ("▶", palette::here()) } else { (" ", Style::new()) };
            rows.push(Row::styled(style, format!("{mark}{number:>4} {line}")).cut(width));
        }
    }
    if rows.is_empty() {
        return Row::styled(palette::label(), "no reconcile or pod worker is under way").wrapped(width);
    }
    rows
}

/// Queues and caches of the component that got the event, or sent it.
pub fn beliefs(stepper: &mut Stepper, width: usize) -> Vec<Row> {
    let event = stepper.session.current().map(|step| (step.event.to, step.event.from));
    let engine = &stepper.session.cluster.engine;
    let names = event.map_or(Vec::new(), |(to, from)| vec![engine.name(to).to_owned(), engine.name(from).to_owned()]);
    let before = stepper.columns.replace(width.max(20));
    let mut rows = Vec::new();
    for name in names {
        for what in ["queue", "cache"] {
            let said = stepper.aside(&format!("{what} {name}")).map(|answer| answer.text).unwrap_or_default();
            if !said.is_empty() {
                rows.push(Row::text(format!("{what} of {}", palette::component(&name).apply_to(&name))));
                rows.extend(said.lines().map(|line| Row::text(line).cut(width)));
            }
        }
        if !rows.is_empty() {
            break;
        }
    }
    stepper.columns = before;
    if rows.is_empty() {
        let none = Row::styled(palette::label(), "neither side of this event has queues or caches");
        return none.wrapped(width);
    }
    rows
}

/// Kinds whose objects are shown, as far as there are any.
const SHOWN: &str = "deployments,statefulsets,daemonsets,jobs,replicasets,pods,services,endpointslices";

/// What the cluster has now, as kubectl lists it. A click asks for more of one.
pub fn objects(stepper: &mut Stepper, width: usize) -> Vec<Row> {
    let said = stepper.session.read(&["get".to_owned(), SHOWN.to_owned()]);
    let mut rows: Vec<Row> = said
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| {
            let name = line.split(' ').next().filter(|name| name.contains('/'));
            Row { text: line.to_owned(), command: name.map(|name| format!("describe {name}")) }.cut(width)
        })
        .collect();
    if rows.is_empty() {
        rows.push(Row::styled(palette::label(), "nothing is there yet"));
    }
    rows
}

/// The cluster as a picture, and the last step from nearer by.
pub fn map(session: &Session, width: usize) -> Vec<Row> {
    let now = scene::Start::of(session, session.history().len() as u64);
    let step = session.current().map(|step| scene::of_step(session, step));
    let nodes = scene::nodes(session);
    let mut rows = map::draw(session, &now, step.as_ref(), &nodes, width);
    rows.extend(step.iter().flat_map(|step| near::draw(session, &now, step, &nodes, width)));
    rows
}

/// What commands have said. A question's choice can be clicked.
pub fn output(lines: &[String], width: usize) -> Vec<Row> {
    let row = |line: &String| {
        let plain = console::strip_ansi_codes(line);
        let number = plain.strip_prefix("  ").and_then(|rest| rest.split_once("  ")).map(|(number, _)| number);
        let choice = number.filter(|number| number.len() == 1 && number.parse::<u8>().is_ok());
        Row { text: line.clone(), command: choice.map(str::to_owned) }.wrapped(width)
    };
    lines.iter().flat_map(row).collect()
}
