//! What stands in each pane, line by line.

use console::truncate_str;

use crate::debugger::stop::How;
use crate::debugger::timeline::{self, About};
use crate::debugger::{Session, Stop, describe, source};
use crate::object::time::Instant;

use super::super::view::{self, View};
use super::super::{Stepper, commands, sequence};

/// So many messages of the past are drawn.
const MESSAGES: usize = 200;
/// Lines of code before and after the one that waits, where there is room and where there is not.
const CODE_AROUND: (u32, u32) = (3, 0);
/// There is room in a pane of so many lines.
const ROOM: usize = 12;

/// In a pane of so many columns it also says who sent what is pending.
const WIDE: usize = 64;
/// How the line of a queue ends in which nothing is.
const IDLE: &str = ": 0 queued, 0 in work, 0 later";

/// A line of a pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// What it says.
    pub text: String,
    /// How it looks.
    pub tone: Tone,
    /// What a click on it puts before the cursor.
    pub command: Option<String>,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// It stands back.
    Dim,
    /// The line that matters.
    Here,
    /// Something came.
    Added,
    /// Something went.
    Removed,
    /// Something is wrong.
    Wrong,
}

impl Row {
    /// A line without more.
    pub fn text(text: impl Into<String>) -> Row {
        Row { text: text.into(), ..Row::default() }
    }

    /// In as many lines of `width` columns as it takes; those after the first stand in by two.
    fn wrapped(self, width: usize) -> Vec<Row> {
        let width = width.max(10);
        let mut lines = vec![String::new()];
        let mut column = 0;
        for c in self.text.chars() {
            let columns = console::measure_text_width(c.encode_utf8(&mut [0; 4]));
            if column + columns > width {
                lines.push("  ".to_owned());
                column = 2;
            }
            column += columns;
            lines.last_mut().expect("there is a first line").push(c);
        }
        lines.into_iter().map(|text| Row { text, ..self.clone() }).collect()
    }

    /// In one line of `width` columns.
    fn cut(self, width: usize) -> Row {
        Row { text: truncate_str(&self.text, width, "…").into_owned(), ..self }
    }

    fn toned(text: impl Into<String>, tone: Tone) -> Row {
        Row { tone, ..Row::text(text) }
    }
}

/// Why, what changed, and what else happened.
pub fn stop(stop: Option<&Stop>, width: usize) -> Vec<Row> {
    let Some(stop) = stop else { return vec![Row::text("nothing has happened yet; press Enter to step")] };
    let mut rows: Vec<Row> = stop.crashes.iter().map(|crash| Row::toned(crash, Tone::Wrong)).collect();
    rows.extend(stop.hits.iter().flat_map(|hit| hit.lines()).map(|line| Row::toned(line, Tone::Here)));
    rows.push(match &stop.why {
        None => Row::text("why: it was under way before the first step"),
        Some(why) => {
            let from = why.from.as_ref().map_or(String::new(), |from| format!("{from}: "));
            let code = why.code.map_or(String::new(), |code| format!(" → {code}"));
            let revision = why.revision.map_or(String::new(), |revision| format!(", rv {revision}"));
            let text = format!("why: step {}: {from}{}{code}{revision}", why.step, why.what);
            Row { command: Some(format!("goto {}", why.step)), ..Row::text(text) }
        }
    });
    if let Some(change) = &stop.change {
        let (word, tone) = match change.how {
            How::Added => ("+ ", Tone::Added),
            How::Modified => ("", Tone::Here),
            How::Deleted => ("- ", Tone::Removed),
        };
        rows.push(Row::toned(format!("{word}{}", change.object), tone));
        for (name, value) in &change.summary {
            rows.push(Row::text(format!("    {name}: {value}")));
        }
        for field in &change.fields {
            let tone = match (&field.old, &field.new) {
                (None, _) => Tone::Added,
                (_, None) => Tone::Removed,
                _ => Tone::Plain,
            };
            rows.push(Row::toned(format!("  {}", view::field(field)), tone));
        }
    }
    for fact in &stop.facts {
        rows.push(Row::text(format!("{}: {}", fact.topic, fact.text)));
        let table = fact.table.as_ref().map_or(String::new(), |table| View::new(width).table(table));
        rows.extend(table.lines().map(|line| Row::toned(format!("  {line}"), Tone::Dim)));
    }
    if stop.unseen > 0 {
        rows.push(Row::toned(format!("{} background events went by", stop.unseen), Tone::Dim));
    }
    rows.into_iter().flat_map(|row| if row.tone == Tone::Dim { vec![row] } else { row.wrapped(width) }).collect()
}

/// What is in flight. A click on one offers to deliver it next.
pub fn pending(session: &Session, width: usize) -> Vec<Row> {
    let flying = session.cluster.engine.pending().filter(|event| !event.background);
    let row = |event: &crate::engine::Pending, held: &str| {
        let head = describe::headline(&session.cluster.engine, event);
        let from = if width < WIDE { String::new() } else { format!("{} ─ ", head.from) };
        let time = session.time(event.due).to_string();
        let text = format!("{:>6}{held}{time:>8} {from}{} → {}", event.id.to_string(), head.what, head.to);
        Row { command: Some(format!("choose {}", event.id)), ..Row::text(text) }.cut(width)
    };
    let mut rows: Vec<Row> = flying.map(|event| row(event, " ")).collect();
    let held = session.cluster.engine.held().map(|event| row(event, " held "));
    rows.extend(held.map(|row| Row { tone: Tone::Dim, ..row }));
    if rows.is_empty() {
        rows.push(Row::toned("nothing is pending but background traffic", Tone::Dim));
    }
    rows
}

/// Who told whom what. A click on a message offers to go there.
pub fn timeline(session: &Session, width: usize) -> Vec<Row> {
    let messages = timeline::latest(session, &About::Everything, MESSAGES);
    let here = session.current().map(|step| step.id);
    let drawn = sequence::draw(&messages, here, width);
    let lines: Vec<&str> = drawn.lines().collect();
    let head = lines.len() - messages.len();
    let row = |(n, line): (usize, &&str)| match n.checked_sub(head).and_then(|n| messages.get(n)) {
        None => Row::toned(*line, Tone::Dim),
        Some(message) => Row {
            tone: if here == Some(message.step) { Tone::Here } else { Tone::Plain },
            command: Some(format!("goto {}", message.step.0)),
            ..Row::text(*line)
        },
    };
    lines.iter().enumerate().map(row).collect()
}

/// The reconciles and pod workers that wait, each with its code.
pub fn source(stop: Option<&Stop>, width: usize, height: usize) -> Vec<Row> {
    let around = if height < ROOM { CODE_AROUND.1 } else { CODE_AROUND.0 };
    let mut rows = Vec::new();
    for waiting in stop.iter().flat_map(|stop| &stop.waiting) {
        let since = Instant(waiting.since_ns);
        let text = format!("{} waits for {} since {since}", waiting.task, waiting.awaits);
        rows.extend(Row::toned(text, Tone::Here).wrapped(width));
        rows.push(Row::toned(format!("{}:{}", waiting.file, waiting.line), Tone::Dim).cut(width));
        for (number, line) in source::lines(&waiting.file, waiting.line, around).lines {
            let here = number == waiting.line;
            let (mark, tone) = if here { ("▶", Tone::Here) } else { (" ", Tone::Plain) };
            rows.push(Row::toned(format!("{mark}{number:>4} {line}"), tone).cut(width));
        }
    }
    if rows.is_empty() {
        rows.push(Row::toned("no reconcile or pod worker is under way", Tone::Dim));
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
            let said = commands::run(stepper, &format!("{what} {name}")).map(|answer| answer.text).unwrap_or_default();
            if !said.is_empty() {
                rows.push(Row::toned(format!("{what} of {name}"), Tone::Here));
                let busy = |line: &&str| !line.ends_with(IDLE);
                rows.extend(said.lines().filter(busy).map(|line| Row::text(line).cut(width)));
            }
        }
        if !rows.is_empty() {
            break;
        }
    }
    stepper.columns = before;
    if rows.is_empty() {
        rows.push(Row::toned("neither side of this event has queues or caches", Tone::Dim));
    }
    rows
}

/// What commands have said. A question's choice can be clicked.
pub fn output(lines: &[String], width: usize) -> Vec<Row> {
    let row = |line: &String| {
        let number = line.strip_prefix("  ").and_then(|rest| rest.split_once("  ")).map(|(number, _)| number);
        let choice = number.filter(|number| number.len() == 1 && number.parse::<u8>().is_ok());
        Row { command: choice.map(str::to_owned), ..Row::text(line.clone()) }.wrapped(width)
    };
    lines.iter().flat_map(row).collect()
}
