//! What the terminal shows of a stop. Plain text lines; every fact comes from the session.

use std::cell::RefCell;
use std::fmt::Write as _;

use console::{Style, measure_text_width, truncate_str};
use serde_json::Value;

use debugger::diff::FieldChange;
use debugger::stop::{Change, Event, Fact, How, Stop, Why};
use debugger::{Session, causes, describe, source};
use engine::{Pending, Step, Table};
use object::time::Instant;

use super::palette;
use super::wrap::hanging;

/// So many changed fields are shown; `why` and `get -o yaml` show the rest.
const FIELDS_SHOWN: usize = 8;
/// So many pending events are named at a stop; `pending` shows all.
const PENDING_SHOWN: usize = 4;
/// Lines of code before and after the line that waits.
const CODE_AROUND: u32 = 1;
/// More causes that are alike than so many are counted, not shown.
const ALIKE: usize = 3;
/// The width of the column of section heads.
const LABEL: usize = 9;

/// What stands between a message and whom it goes to.
const ARROW: &str = " → ";
/// So much of a receiver's name is shown, however long the message is.
const RECEIVER: usize = 14;
/// So much of a message is.
const WHAT_MIN: usize = 12;

/// No stop is cut to fewer lines than these.
const LINES_MIN: usize = 10;

/// How much is told at a stop.
#[derive(Clone, Copy)]
struct Detail {
    /// So many suspended tasks are shown.
    tasks: usize,
    /// Whether with the code at which they wait.
    code: bool,
    /// So many lines are there for each fact: the configuration of a plugin, say, would take ten.
    fact: usize,
    /// So many for all of them.
    facts: usize,
}

/// From all that there is room for to the least that a stop shows. A terminal gets the first that fits it, so that the beginning
/// of a stop is still to be seen when the prompt has come.
const DETAILS: [Detail; 4] = [
    Detail { tasks: 3, code: true, fact: 2, facts: usize::MAX },
    Detail { tasks: 1, code: true, fact: 2, facts: usize::MAX },
    Detail { tasks: 1, code: false, fact: 2, facts: usize::MAX },
    Detail { tasks: 1, code: false, fact: 1, facts: usize::MAX },
];

/// Lays out text for a terminal of a given size.
pub struct View {
    /// Columns.
    pub width: usize,
    /// How many lines there are for a stop; None: no limit.
    rows: Option<usize>,
    /// The head of the section last written; it is not written twice in a row.
    last: RefCell<String>,
}

impl View {
    /// A view `width` columns wide.
    pub fn new(width: usize) -> View {
        View { width: width.max(20), rows: None, last: RefCell::default() }
    }

    /// The same for a terminal with so many rows, one of them for the prompt.
    pub fn on_screen(width: usize, rows: usize) -> View {
        View { rows: Some(rows.saturating_sub(1)), ..View::new(width) }
    }

    /// Everything a learner needs at a stop, as far as there is room for it above so many lines that follow.
    pub fn stop(&self, stop: &Stop, lines_after: usize) -> String {
        let Some(rows) = self.rows else { return self.laid_out(stop, DETAILS[0]) };
        let room = rows.saturating_sub(lines_after).max(LINES_MIN);
        let lines = |text: &str| text.lines().count();
        let mut text = String::new();
        for detail in DETAILS {
            text = self.laid_out(stop, detail);
            if lines(&text) <= room {
                return text;
            }
        }
        let [.., least] = DETAILS;
        let mut facts = String::new();
        self.facts(&mut facts, &stop.facts, least);
        // The line that says how much was left out takes one too.
        let facts = lines(&facts).saturating_sub(lines(&text) - room + 1);
        self.laid_out(stop, Detail { facts, ..least })
    }

    /// The same with every detail.
    pub fn whole_stop(&self, stop: &Stop) -> String {
        self.laid_out(stop, DETAILS[0])
    }

    fn laid_out(&self, stop: &Stop, detail: Detail) -> String {
        let mut out = String::new();
        self.last.borrow_mut().clear();
        for crash in &stop.crashes {
            let _ = writeln!(out, "{}", palette::error().apply_to(crash));
        }
        for hit in &stop.hits {
            let _ = writeln!(out, "{}", palette::here().apply_to(hit));
        }
        self.title(&mut out, stop);
        self.headline(&mut out, &stop.event);
        out.push('\n');
        self.why(&mut out, stop.why.as_ref());
        if let Some(change) = &stop.change {
            self.change(&mut out, change);
        }
        for change in &stop.also {
            self.also(&mut out, change);
        }
        self.facts(&mut out, &stop.facts, detail);
        self.waiting(&mut out, stop, detail);
        self.pending_line(&mut out, stop);
        if stop.unseen > 0 {
            let text = format!("{} (heartbeats, Events, tokens)", background(stop.unseen));
            self.section(&mut out, "unseen", &text);
        }
        out
    }

    /// A line for an event, behind what stands before it: time, who, what, whom.
    pub fn line(&self, before: &str, session: &Session, event: &Pending) -> String {
        let head = describe::headline(&session.cluster.engine, event);
        let time = session.time(event.due).to_string();
        self.told(&format!("{before}{time:>9}  "), [&head.from, &head.what, &head.to])
    }

    /// Who tells what to whom, in a line. Where there is no room for all, the receiver's name begins all the same.
    fn told(&self, before: &str, [from, what, to]: [&str; 3]) -> String {
        let head = format!("{before}{} ─ ", palette::component(from).apply_to(from));
        let room = self.width.saturating_sub(measure_text_width(&head) + ARROW.chars().count());
        let for_receiver = measure_text_width(to).min(RECEIVER);
        let what = truncate_str(what, room.saturating_sub(for_receiver).max(WHAT_MIN), "…");
        let to_shown = truncate_str(to, room.saturating_sub(measure_text_width(&what)), "…");
        self.fit(&format!("{head}{what}{ARROW}{}", palette::component(to).apply_to(to_shown)))
    }

    /// All pending events.
    pub fn pending(&self, session: &Session, all: bool) -> String {
        let mut out = String::new();
        let mut hidden: u64 = 0;
        for event in session.cluster.engine.pending() {
            if event.background && !all {
                hidden += 1;
                continue;
            }
            let _ = writeln!(out, "{}", self.line(&format!("{:>6} ", event.id.to_string()), session, event));
        }
        if out.is_empty() {
            out.push_str("nothing is pending but background traffic\n");
        }
        for event in session.cluster.engine.held() {
            let _ = writeln!(out, "{}", self.line(&format!("{:>6} held ", event.id.to_string()), session, event));
        }
        if hidden > 0 {
            let text = format!("{}: pending --all", background(hidden));
            let _ = writeln!(out, "{}", palette::label().apply_to(text));
        }
        out
    }

    /// The causes of a step, nearest first.
    pub fn why_chain(&self, session: &Session, step: &Step) -> String {
        let mut out = String::new();
        let (chain, typed) = causes::chain(session, step.id);
        let what = |step: &&Step| describe::headline(&session.cluster.engine, &step.event);
        let mut arrow = "  ";
        // A timer that sets itself again may have done so for hours.
        for alike in chain.chunk_by(|a, b| what(a) == what(b)) {
            let shown = if alike.len() > ALIKE { 1 } else { alike.len() };
            for cause in &alike[..shown] {
                let time = session.time(cause.event.due).to_string();
                let blank = if time.chars().count() < 9 { "" } else { " " };
                let before = format!("{arrow}{:>6}{blank}", cause.id.to_string());
                let _ = writeln!(out, "{}", self.line(&before, session, &cause.event));
                arrow = "← ";
            }
            if let ([.., last], more @ 1..) = (alike, alike.len() - shown) {
                let text = format!("←       … and {more} more of these, the first of them {}", last.id);
                let _ = writeln!(out, "{}", self.fit(&text));
            }
        }
        match typed {
            Some(typed) => {
                let text = format!("← {}: {}", typed.by.typed(), palette::here().apply_to(&typed.line));
                let _ = writeln!(out, "{}", self.fit(&text));
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

    fn title(&self, out: &mut String, stop: &Stop) {
        let text = format!("── step {} · {} ", stop.step, Instant(stop.t_ns));
        let rule = "─".repeat(self.width.saturating_sub(measure_text_width(&text)));
        let _ = writeln!(out, "{}", palette::label().apply_to(format!("{text}{rule}")));
    }

    fn headline(&self, out: &mut String, event: &Event) {
        let from = palette::component(&event.from).apply_to(&event.from);
        let to = palette::component(&event.to).apply_to(&event.to);
        let what = palette::here().apply_to(&event.what);
        let one_line = format!("{from} ──{what}──▶ {to}");
        if measure_text_width(&one_line) <= self.width {
            let _ = writeln!(out, "{one_line}");
        } else {
            for part in [from.to_string(), format!("  ──{what}──▶"), to.to_string()] {
                let _ = writeln!(out, "{}", self.fit(&part));
            }
        }
    }

    fn why(&self, out: &mut String, why: Option<&Why>) {
        let Some(why) = why else {
            return self.section(out, "why", "it was under way before the first step");
        };
        self.wrapped(out, "why", &cause(why));
    }

    fn change(&self, out: &mut String, change: &Change) {
        match change.how {
            How::Added => {
                let values = change.summary.iter().map(|(name, value)| format!("{name}: {}", short(Some(value))));
                let text = format!("{}: {}", change.object, values.collect::<Vec<_>>().join(", "));
                self.wrapped(out, "object", text.trim_end_matches([' ', ':']));
            }
            How::Deleted => self.section(out, "change", &format!("{} is gone", change.object)),
            How::Modified if change.fields.is_empty() => {
                self.section(out, "change", "nothing but the resourceVersion");
            }
            How::Modified => {
                for field_change in change.fields.iter().take(FIELDS_SHOWN) {
                    self.section(out, "change", &field(field_change));
                }
                if change.fields.len() > FIELDS_SHOWN {
                    self.section(out, "change", &format!("  … and {} fields more", change.fields.len() - FIELDS_SHOWN));
                }
            }
        }
    }

    /// Another object that the same step changed.
    fn also(&self, out: &mut String, change: &Change) {
        match change.how {
            How::Added => self.section(out, "also", &format!("{} is new", change.object)),
            How::Deleted => self.section(out, "also", &format!("{} is gone", change.object)),
            How::Modified => {
                self.section(out, "also", &change.object);
                self.change(out, change);
            }
        }
    }

    /// What happened.
    fn facts(&self, out: &mut String, facts: &[Fact], detail: Detail) {
        let mut told = String::new();
        for fact in facts {
            self.fact(&mut told, fact, detail.fact);
            if let Some(table) = &fact.table {
                told.push_str(&self.table(table));
            }
        }
        let lines = told.lines().count();
        // To say that one line is missing takes one.
        if lines <= detail.facts.max(1) {
            return out.push_str(&told);
        }
        told.split_inclusive('\n').take(detail.facts).for_each(|line| out.push_str(line));
        let left = format!("{:LABEL$}… and {} lines more: show", "", lines - detail.facts);
        let _ = writeln!(out, "{}", palette::label().apply_to(self.fit(&left)));
    }

    fn fact(&self, out: &mut String, fact: &Fact, most: usize) {
        let lines = hanging(&fact.text, self.width - head_width(&fact.topic));
        let more = if lines.len() > most { "…" } else { "" };
        for (number, line) in (1..).zip(lines.iter().take(most)) {
            let text = if number == most { format!("{line}{more}") } else { line.clone() };
            self.section(out, &fact.topic, &text);
        }
    }

    /// The reconciles and pod workers in flight, each with the line at which it waits.
    fn waiting(&self, out: &mut String, stop: &Stop, detail: Detail) {
        for waiting in stop.waiting.iter().take(detail.tasks) {
            let task = palette::component(&waiting.component).apply_to(&waiting.task);
            self.wrapped(out, "waiting", &format!("{task} waits for {}", waiting.awaits));
            let place = format!("{}:{}", waiting.file, waiting.line);
            self.section(out, "", &palette::label().apply_to(place).to_string());
            let code = source::lines(&waiting.file, waiting.line, CODE_AROUND).lines;
            for (number, line) in code.into_iter().filter(|_| detail.code) {
                let here = number == waiting.line;
                let (mark, style) = if here { ("▶", palette::here()) } else { (" ", Style::new().dim()) };
                self.section(out, "", &format!("{mark}{number:>4} {}", style.apply_to(line)));
            }
        }
        if stop.waiting_total > detail.tasks {
            self.section(out, "waiting", &format!("… and {} more", stop.waiting_total - detail.tasks));
        }
    }

    fn pending_line(&self, out: &mut String, stop: &Stop) {
        for event in stop.pending.iter().take(PENDING_SHOWN) {
            let width = head_width("pending");
            // It is laid out for what is left of the line.
            let narrow = View::new(self.width.saturating_sub(width).max(20));
            let time = Instant(event.t_ns).to_string();
            self.section(out, "pending", &narrow.told(&format!("{time}  "), [&event.from, &event.what, &event.to]));
        }
        if stop.pending_total > PENDING_SHOWN {
            self.section(out, "pending", &format!("… and {} more", stop.pending_total - PENDING_SHOWN));
        }
    }

    /// A line with its head in the left column; a repeated head is left out.
    fn section(&self, out: &mut String, label: &str, text: &str) {
        let repeated = self.last.replace(label.to_owned()) == label;
        let width = head_width(label);
        let head = if repeated { " ".repeat(width) } else { format!("{label:<width$}") };
        let _ = writeln!(out, "{}", self.fit(&format!("{}{text}", palette::label().apply_to(head))));
    }

    /// The same in as many lines as it takes: of why and of who waits nothing is left out.
    fn wrapped(&self, out: &mut String, label: &str, text: &str) {
        for line in hanging(text, self.width - head_width(label)) {
            self.section(out, label, &line);
        }
    }

    /// Cut to the terminal's width.
    pub fn fit(&self, text: &str) -> String {
        truncate_str(text, self.width, "…").into_owned()
    }
}

/// What led to a step, on a line. What the user decided from outside was caused by no step.
pub fn cause(why: &Why) -> String {
    let step = if why.step == 0 { String::new() } else { format!("step {}: ", why.step) };
    let from = why.from.as_ref().map_or(String::new(), |from| format!("{}: ", palette::component(from).apply_to(from)));
    let code = why.code.map_or(String::new(), |code| format!(" → {code}"));
    let revision = why.revision.map_or(String::new(), |revision| format!(", rv {revision}"));
    format!("{step}{from}{}{code}{revision}", why.what)
}

/// So many events of the background, in words.
pub fn background(count: u64) -> String {
    format!("{count} background event{}", if count == 1 { "" } else { "s" })
}

/// The width of a section's head: a long one is followed by a blank all the same.
fn head_width(label: &str) -> usize {
    LABEL.max(label.len() + 1)
}

/// A field that changed, on a line.
pub fn field(change: &FieldChange) -> String {
    let (old, new) = (short(change.old.as_ref()), short(change.new.as_ref()));
    match (&change.old, &change.new) {
        (None, _) => palette::added().apply_to(format!("+ {}: {new}", change.path)).to_string(),
        (_, None) => palette::removed().apply_to(format!("- {}: {old}", change.path)).to_string(),
        _ => {
            let (old, new) = (palette::removed().apply_to(old), palette::added().apply_to(new));
            format!("  {}: {old} → {new}", change.path)
        }
    }
}

/// A value on one line.
fn short(value: Option<&Value>) -> String {
    let text = match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    truncate_str(&text, 60, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster::scenario::Scenario;
    use debugger::StopAt;

    #[test]
    fn a_stop_fits_the_terminal_and_begins_as_it_does_in_full() {
        let mut session = Session::of(Scenario::find("deployment").expect("it is shipped"));
        let (mut cut, mut whole) = (0, 0);
        while session.history().len() < 150 {
            session.advance(StopAt::Anything, 0);
            let stop = session.stop().expect("something has happened");
            let full = View::new(80).stop(&stop, 0);
            for (rows, after) in [(24, 0), (24, 4), (40, 0)] {
                let view = View::on_screen(80, rows);
                let text = view.stop(&stop, after);
                let lines = text.lines().count();
                // What has happened to the objects is never cut; that alone can take more.
                let is_cut = text.contains("lines more: show");
                let fits = lines + after < rows;
                assert!(fits || !text.contains("stage "), "{lines} of {rows} lines:\n{text}");
                assert_eq!(text.lines().next(), full.lines().next());
                cut += usize::from(is_cut);
                whole += usize::from(text == full);
                assert_eq!(view.whole_stop(&stop), full);
            }
        }
        assert!(cut > 0 && whole > 100, "{cut} were cut, {whole} were not");
    }
}
