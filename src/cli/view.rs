//! What the terminal shows of a stop. Plain text lines; every fact comes from the session.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::fmt::Write as _;

use console::{Style, measure_text_width, truncate_str};
use serde_json::Value;

use crate::debugger::causes;
use crate::debugger::describe::{self, Headline};
use crate::debugger::diff::{self, FieldChange};
use crate::debugger::{Session, source};
use crate::engine::{Engine, Note, Pending, Queued, Step, Table, Task, What};
use crate::object::Object;

use super::palette;

/// So many changed fields are shown; `why` and `get -o yaml` show the rest.
const FIELDS_SHOWN: usize = 8;
/// So many pending events are named at a stop; `pending` shows all.
const PENDING_SHOWN: usize = 4;
/// So many suspended tasks show their code.
const TASKS_SHOWN: usize = 3;
/// Lines of code before and after the line that waits.
const CODE_AROUND: u32 = 1;
/// The width of the column of section heads.
const LABEL: usize = 9;

/// Lays out text for a terminal of a given width.
pub struct View {
    /// Columns.
    pub width: usize,
    /// The head of the section last written; it is not written twice in a row.
    last: RefCell<String>,
}

impl View {
    /// A view `width` columns wide.
    pub fn new(width: usize) -> View {
        View { width: width.max(20), last: RefCell::default() }
    }

    /// Everything a learner needs at a stop.
    pub fn stop(&self, session: &Session, step: &Step) -> String {
        let mut out = String::new();
        self.last.borrow_mut().clear();
        self.title(&mut out, session, step);
        self.headline(&mut out, &describe::headline(&session.cluster.engine, &step.event));
        out.push('\n');
        self.why(&mut out, session, step);
        self.change(&mut out, step);
        self.notes(&mut out, &session.cluster.engine, step);
        // What is under way is known of the present only.
        if session.current().is_some_and(|current| current.id != step.id) {
            return out;
        }
        self.waiting(&mut out, session);
        self.pending_line(&mut out, session);
        if session.background() > 0 {
            self.section(
                &mut out,
                "unseen",
                &format!("{} background events (heartbeats, Events, tokens)", session.background()),
            );
        }
        out
    }

    /// A line for an event: time, who, what, whom.
    pub fn line(&self, session: &Session, event: &Pending) -> String {
        let head = describe::headline(&session.cluster.engine, event);
        let text = format!(
            "{:>9}  {} ─ {} → {}",
            session.time(event.due).to_string(),
            palette::component(&head.from).apply_to(&head.from),
            head.what,
            palette::component(&head.to).apply_to(&head.to),
        );
        self.fit(&text)
    }

    /// All pending events.
    pub fn pending(&self, session: &Session, all: bool) -> String {
        let mut out = String::new();
        let mut hidden = 0;
        for event in session.cluster.engine.pending() {
            if event.background && !all {
                hidden += 1;
                continue;
            }
            let _ = writeln!(out, "{:>6} {}", event.id.to_string(), self.line(session, event));
        }
        if out.is_empty() {
            out.push_str("nothing is pending but background traffic\n");
        }
        for event in session.cluster.engine.held() {
            let _ = writeln!(out, "{:>6} held {}", event.id.to_string(), self.line(session, event));
        }
        if hidden > 0 {
            let _ =
                writeln!(out, "{}", palette::label().apply_to(format!("{hidden} background events: pending --all")));
        }
        out
    }

    /// The causes of a step, nearest first.
    pub fn why_chain(&self, session: &Session, step: &Step) -> String {
        let mut out = String::new();
        let (chain, typed) = causes::chain(session, step.id);
        for (depth, cause) in chain.iter().enumerate() {
            let arrow = if depth == 0 { "  " } else { "← " };
            let _ = writeln!(out, "{arrow}{:>6}{}", cause.id.to_string(), self.line(session, &cause.event));
        }
        match typed {
            Some(line) => {
                let _ = writeln!(out, "← you typed: {}", self.fit(&palette::here().apply_to(line).to_string()));
            }
            None => out.push_str("← the start of the run\n"),
        }
        out
    }

    /// A table of the scheduler's, or any other.
    pub fn table(&self, table: &Table) -> String {
        let mut widths: Vec<usize> = table.columns.iter().map(|c| measure_text_width(c)).collect();
        for row in &table.rows {
            for (i, cell) in row.iter().enumerate() {
                if let Some(width) = widths.get_mut(i) {
                    *width = (*width).max(measure_text_width(cell));
                }
            }
        }
        let mut out = String::new();
        let line = |cells: &[String]| {
            let padded: Vec<String> = cells.iter().zip(&widths).map(|(c, w)| format!("{c:<w$}")).collect();
            self.fit(padded.join("  ").trim_end())
        };
        let _ = writeln!(out, "{}", palette::label().apply_to(line(&table.columns)));
        for row in &table.rows {
            let _ = writeln!(out, "{}", line(row));
        }
        out
    }

    fn title(&self, out: &mut String, session: &Session, step: &Step) {
        let text = format!("── step {} · {} ", step.id.0, session.time(step.time));
        let rule = "─".repeat(self.width.saturating_sub(measure_text_width(&text)));
        let _ = writeln!(out, "{}", palette::label().apply_to(format!("{text}{rule}")));
    }

    fn headline(&self, out: &mut String, head: &Headline) {
        let from = palette::component(&head.from).apply_to(&head.from);
        let to = palette::component(&head.to).apply_to(&head.to);
        let what = palette::here().apply_to(&head.what);
        let one_line = format!("{from} ──{what}──▶ {to}");
        if measure_text_width(&one_line) <= self.width {
            let _ = writeln!(out, "{one_line}");
        } else {
            let _ = writeln!(
                out,
                "{}\n{}\n{}",
                self.fit(&from.to_string()),
                self.fit(&format!("  ──{what}──▶")),
                self.fit(&to.to_string())
            );
        }
    }

    fn why(&self, out: &mut String, session: &Session, step: &Step) {
        if let (What::Packet { .. }, Some(before)) = (&step.event.what, session.step(step.event.cause)) {
            let head = describe::headline(&session.cluster.engine, &before.event);
            return self.section(out, "why", &format!("step {}: {}", before.id.0, head.what));
        }
        let Some(write) = session.write_behind(step.id) else {
            return self.section(out, "why", "it was under way before the first step");
        };
        let What::Request { request, .. } = &write.event.what else { return };
        let agent = palette::component(&request.user.agent).apply_to(&*request.user.agent);
        let answer = write.notes.iter().find_map(|note| match note {
            Note::Answered { code, revision, .. } if *revision > 0 => Some(format!(" → {code}, rv {revision}")),
            Note::Answered { code, .. } => Some(format!(" → {code}")),
            _ => None,
        });
        let text = format!("step {}: {agent}: {}{}", write.id.0, request.line(), answer.unwrap_or_default());
        self.section(out, "why", &text);
    }

    fn change(&self, out: &mut String, step: &Step) {
        let Some((old, new)) = describe::cache_change(step).or_else(|| stored_change(step)) else { return };
        match (old, new) {
            (None, Some(object)) => {
                for line in summary(object) {
                    self.section(out, "object", &line);
                }
            }
            (Some(old), Some(new)) => self.changes(out, &diff::fields(Some(old), Some(new))),
            (Some(old), None) => self.section(out, "change", &format!("{} is gone", describe::name(old))),
            (None, None) => {}
        }
    }

    fn changes(&self, out: &mut String, changes: &[FieldChange]) {
        if changes.is_empty() {
            self.section(out, "change", "nothing but the resourceVersion");
        }
        for change in changes.iter().take(FIELDS_SHOWN) {
            self.section(out, "change", &field(change));
        }
        if changes.len() > FIELDS_SHOWN {
            self.section(out, "change", &format!("  … and {} fields more", changes.len() - FIELDS_SHOWN));
        }
    }

    fn notes(&self, out: &mut String, engine: &Engine, step: &Step) {
        for note in &step.notes {
            match note {
                Note::Cache { actor, kind, key, new, .. } => {
                    let now =
                        new.as_ref().map_or("removed".to_owned(), |o| format!("now at revision {}", o.revision()));
                    let text = format!("{} of {}: {key} {now}", kind.info().plural, engine.name(*actor));
                    self.section(out, "cache", &text);
                }
                Note::Queue { queue, key, how } => {
                    self.section(out, "queue", &format!("{queue}: {}", queued(how, key.as_str())))
                }
                Note::Stage { name, detail } => {
                    self.section(out, "stage", format!("{name}: {detail}").trim_end_matches([' ', ':']))
                }
                Note::Answered { code, error, .. } => {
                    let text = error.as_ref().map_or(String::new(), |e| format!(" {e}"));
                    self.section(out, "answer", &format!("{code}{text}"));
                }
                Note::Finished { task, .. } => self.section(out, "done", task),
                Note::Text { topic, text } => self.section(out, topic, text),
                Note::Table(table) => {
                    self.section(out, "table", &table.title);
                    out.push_str(&self.table(table));
                }
                Note::Stored { .. } | Note::Waits { .. } => {}
            }
        }
    }

    /// The reconciles and pod workers in flight, each with the line at which it waits.
    fn waiting(&self, out: &mut String, session: &Session) {
        let user = session.cluster.user.actor();
        let shown = |task: &&Task| !task.is_background() && task.actor != user;
        let mut tasks: Vec<&Task> = session.cluster.engine.tasks().filter(shown).collect();
        // Whoever has just run comes first.
        tasks.sort_by_key(|task| Reverse(task.waits.iter().map(|wait| wait.since).max()));
        for task in tasks.iter().take(TASKS_SHOWN) {
            for wait in task.waits.iter().take(1) {
                let excerpt = source::excerpt(wait.at, CODE_AROUND);
                let style = palette::component(session.cluster.engine.name(task.actor));
                let text = format!("{} waits for {}", style.apply_to(&*task.label), wait.about);
                self.section(out, "waiting", &text);
                self.section(
                    out,
                    "",
                    &palette::label().apply_to(format!("{}:{}", excerpt.file, excerpt.line)).to_string(),
                );
                for (number, line) in &excerpt.lines {
                    let (mark, style) =
                        if *number == excerpt.line { ("▶", palette::here()) } else { (" ", Style::new().dim()) };
                    self.section(out, "", &format!("{mark}{number:>4} {}", style.apply_to(line)));
                }
            }
        }
        if tasks.len() > TASKS_SHOWN {
            self.section(out, "waiting", &format!("… and {} more", tasks.len() - TASKS_SHOWN));
        }
    }

    fn pending_line(&self, out: &mut String, session: &Session) {
        let events: Vec<&Pending> = session.cluster.engine.pending().filter(|event| !event.background).collect();
        for event in events.iter().take(PENDING_SHOWN) {
            self.section(out, "pending", self.line(session, event).trim_start());
        }
        if events.len() > PENDING_SHOWN {
            self.section(out, "pending", &format!("… and {} more", events.len() - PENDING_SHOWN));
        }
    }

    /// A line with its head in the left column; a repeated head is left out.
    fn section(&self, out: &mut String, label: &str, text: &str) {
        let repeated = self.last.replace(label.to_owned()) == label;
        let head = if repeated { " ".repeat(LABEL) } else { format!("{label:<LABEL$}") };
        let _ = writeln!(out, "{}", self.fit(&format!("{}{text}", palette::label().apply_to(head))));
    }

    /// Cut to the terminal's width.
    pub fn fit(&self, text: &str) -> String {
        truncate_str(text, self.width, "…").into_owned()
    }
}

/// A field that changed, on a line.
pub fn field(change: &FieldChange) -> String {
    let (old, new) = (short(&change.old), short(&change.new));
    match (&change.old, &change.new) {
        (None, _) => palette::added().apply_to(format!("+ {}: {new}", change.path)).to_string(),
        (_, None) => palette::removed().apply_to(format!("- {}: {old}", change.path)).to_string(),
        _ => {
            let (old, new) = (palette::removed().apply_to(old), palette::added().apply_to(new));
            format!("  {}: {old} → {new}", change.path)
        }
    }
}

fn stored_change(step: &Step) -> Option<(Option<&Object>, Option<&Object>)> {
    step.notes.iter().find_map(|note| match note {
        Note::Stored { old, new, .. } => Some((old.as_ref(), new.as_ref())),
        _ => None,
    })
}

fn queued(how: &Queued, key: &str) -> String {
    match how {
        Queued::Added => format!("+ {key}"),
        Queued::AlreadyQueued => format!("{key} was queued already"),
        Queued::WhileProcessing => format!("{key} again, once its worker is done"),
        Queued::Later(at) => format!("{key} at {at}"),
        Queued::Taken => format!("a worker takes {key}"),
        Queued::Done => format!("a worker is done with {key}"),
    }
}

/// A new object in a few lines: what it asks for rather than all it says.
fn summary(object: &Object) -> Vec<String> {
    let json = object.to_json();
    let at = |path: &str| json.pointer(path).filter(|v| !v.is_null()).map(|v| short(&Some(v.clone())));
    let shown = [
        ("replicas", "/spec/replicas"),
        ("image", "/spec/template/spec/containers/0/image"),
        ("image", "/spec/containers/0/image"),
        ("node", "/spec/nodeName"),
        ("phase", "/status/phase"),
        ("owner", "/metadata/ownerReferences/0/name"),
    ];
    let parts: Vec<String> = shown.iter().filter_map(|(name, path)| Some(format!("{name}: {}", at(path)?))).collect();
    vec![format!("{}: {}", describe::name(object), parts.join(", ")).trim_end_matches([' ', ':']).to_owned()]
}

/// A value on one line.
fn short(value: &Option<Value>) -> String {
    let text = match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    truncate_str(&text, 60, "…").into_owned()
}
