//! Questions about what was: causes, effects, changes, and who believes what.

use cluster::fault::whose::{self, short_for};
use debugger::breakpoint::parse::without_namespace;
use debugger::changes::{self, Changed, Revision};
use debugger::chapters::{self, Chapter};
use debugger::expression::matches_glob;
use debugger::spine::{self, STAGES};
use debugger::target::{self, Target};
use debugger::timeline::{self, About};
use debugger::{Session, causes, explain, inspect};
use engine::{Step, StepId, Table};
use object::Kind;

use super::super::Stepper;
use super::super::sequence;
use super::super::view;
use super::Run::Says;
use super::{Command, Group, Line, Takes, Text};

/// So many effects are shown.
const EFFECTS_SHOWN: usize = 40;
/// So many rows of a timeline are shown: the last ones.
const ROWS_SHOWN: usize = 30;
/// Below more rows than these the names of the lifelines come once more.
const LANES_AGAIN: usize = 12;
/// So many changed fields are named for a revision.
const FIELDS_NAMED: usize = 3;

/// Commands that answer questions.
pub const GROUP: Group = Group {
    name: "ask",
    acts: false,
    commands: &[
        Command {
            names: &["why", "w", "bt", "backtrace"],
            usage: "why [STEP|OBJECT]",
            takes: &[&[Takes::Object]],
            about: "what led to it, back to the keystroke",
            more: "  why 12\n  why deploy/web     to its last write\n\
                   Each line is a step, with its number to look at: show 12, why 12, effects 12.\n",
            run: Says(|stepper, line| {
                let step = asked(&stepper.session, line)?;
                Ok(stepper.view().why_chain(&stepper.session, step))
            }),
        },
        Command {
            names: &["effects"],
            usage: "effects [STEP|OBJECT]",
            takes: &[&[Takes::Object]],
            about: "what it set off, as far as has run",
            more: "Of an object: what its last write set off.\n",
            run: Says(effects),
        },
        Command {
            names: &["timeline", "tl"],
            usage: "timeline [OBJECT|COMPONENT]",
            takes: &[&[Takes::Object, Takes::Component]],
            about: "who told whom what, as a diagram",
            more: "  timeline\n  timeline deploy/web\n  timeline kube-scheduler\n  timeline kubelet/*\n",
            run: Says(timeline),
        },
        Command {
            names: &["diff"],
            usage: "diff [STEP [STEP]|OBJECT]",
            takes: &[&[Takes::Object]],
            about: "what a step changed; what is new between two",
            more: "  diff 12\n  diff 12 40\n  diff deploy/web    its last write\n",
            run: Says(diff),
        },
        Command {
            names: &["history"],
            usage: "history OBJECT",
            takes: &[&[Takes::Object]],
            about: "every revision, and who wrote it",
            more: "  history deploy/web\n",
            run: Says(history),
        },
        Command {
            names: &["who"],
            usage: "who OBJECT",
            takes: &[&[Takes::Object]],
            about: "who watches it, and how old their copy is",
            more: "  who rs/web-*\n",
            run: Says(who),
        },
        Command {
            names: &["explain"],
            usage: "explain KIND[.field]",
            takes: &[&[Takes::Field]],
            about: "what a field means, and who writes it",
            more: "  explain deploy.spec.replicas\n  explain pod.status\n",
            run: Says(explain),
        },
        Command {
            names: &["where"],
            usage: "where",
            takes: &[],
            about: "the place between keystroke and reachable Pod",
            more: "",
            run: Says(|stepper, line| line.nothing().map(|()| place(stepper))),
        },
    ],
};

/// The step with this number, or the one where the session stands.
pub fn step(session: &Session, number: Option<u64>) -> Result<&Step, String> {
    let step = match number {
        None => session.current(),
        Some(id) => session.step(StepId(id)),
    };
    step.ok_or_else(|| match session.history().len() {
        0 => "nothing has happened yet; press Enter to step".to_owned(),
        last => format!("there is no such step yet; the last is {last}"),
    })
}

/// The step that a question is about: it is named by its number or by the object that it wrote last, or the session stands
/// there.
pub fn asked<'s>(session: &'s Session, line: &Line) -> Result<&'s Step, String> {
    match line.step() {
        Ok(number) => step(session, number),
        Err(_) if names_object(line) => {
            let (target, revision) = last_revision(session, line)?;
            let before =
                || format!("{target} was last written before the first step; there is nothing to ask about that");
            step(session, Some(revision.step.ok_or_else(before)?.0))
        }
        Err(error) => Err(format!("{error}, or: {} {}", line.name(), example(session, line))),
    }
}

/// An object as it is written: the first that the word after the command may mean.
fn example(session: &Session, line: &Line) -> String {
    let word = line.arguments().first().copied().unwrap_or_default();
    target::meant(session, word).into_iter().next().unwrap_or_else(|| "deploy/web".to_owned())
}

/// Whether a line names an object, as `deploy/web` or `deploy web`.
fn names_object(line: &Line) -> bool {
    let words = line.arguments();
    match without_namespace(&words).map_or(words, |(_, others)| others).as_slice() {
        [one] => one.contains('/'),
        [kind, _] => Kind::from_word(kind).is_some(),
        _ => false,
    }
}

fn last_revision(session: &Session, line: &Line) -> Result<(Target, Revision), String> {
    let target = target::find(session, &line.arguments())?;
    match changes::history(session, &target).pop() {
        Some(revision) => Ok((target, revision)),
        None => Err(forgotten(&target)),
    }
}

fn forgotten(target: &Target) -> String {
    format!("the store's log of {target} has been compacted away, and no step of this run changed it")
}

fn effects(stepper: &mut Stepper, line: &Line) -> Text {
    let session = &stepper.session;
    let step = asked(session, line)?;
    let effects = causes::effects(session, step.id, EFFECTS_SHOWN + 1);
    if effects.is_empty() {
        return Ok("nothing that has run yet; what it sent is pending\n".to_owned());
    }
    let view = stepper.view();
    let mut out = String::new();
    for effect in effects.iter().take(EFFECTS_SHOWN) {
        let indent = "  ".repeat(effect.depth.min(12));
        let number = effect.step.id.to_string();
        out += &format!("{}\n", view.line(&format!("{number:>7} {indent}"), session, &effect.step.event));
    }
    if effects.len() > EFFECTS_SHOWN {
        out += "        … and more; effects STEP goes on from one of them\n";
    }
    Ok(out)
}

fn timeline(stepper: &mut Stepper, line: &Line) -> Text {
    let session = &stepper.session;
    let rows = timeline::rows(session, &about(session, line)?);
    let first = rows.len().saturating_sub(ROWS_SHOWN);
    if rows.is_empty() {
        return Ok("nothing has happened yet; press Enter to step\n".to_owned());
    }
    let before = if first > 0 { format!("{first} messages before these\n") } else { String::new() };
    let here = session.current().map(|step| step.id);
    let drawn = sequence::draw(&rows[first..], here, stepper.width());
    // The names of the lifelines once more, where the first are out of sight.
    let shown = rows.len() - first;
    let lanes = drawn.lines().nth_back(shown).filter(|_| shown > LANES_AGAIN).unwrap_or_default();
    let below = if lanes.is_empty() { String::new() } else { format!("{lanes}\n") };
    Ok(before + &drawn + &below)
}

/// What a timeline is to be about.
pub fn about(session: &Session, line: &Line) -> Result<About, String> {
    let words = line.arguments();
    let components = session.names().components;
    let [word] = words.as_slice() else {
        return Ok(if words.is_empty() { About::Everything } else { About::Object(target::find(session, &words)?) });
    };
    if components.iter().any(|name| matches_glob(word, name)) {
        return Ok(About::Component((*word).to_owned()));
    }
    let of_kind = Kind::from_word(word).is_some();
    match short_for(word, components.iter().map(String::as_str)).as_slice() {
        [one] if !of_kind => Ok(About::Component((*one).to_owned())),
        several @ [_, ..] if !of_kind => Err(whose::several(word, several)),
        _ => Ok(About::Object(target::find(session, &words)?)),
    }
}

/// The objects that differ after a step, or between two; or one, after its last write.
pub fn differences(session: &Session, line: &Line) -> Result<Vec<Changed>, String> {
    if names_object(line) {
        return Ok(vec![last_revision(session, line)?.1.changed]);
    }
    let number = |word: &&str| {
        let step = word.trim_start_matches('#').parse::<u64>();
        let object = || example(session, line);
        step.map_err(|_| {
            format!("{word:?} is not a step; write for example: diff 12, diff 12 40, or: diff {}", object())
        })
    };
    let numbers: Vec<u64> = line.arguments().iter().map(number).collect::<Result<_, _>>()?;
    match numbers.as_slice() {
        [] => Ok(changes::of_step(step(session, None)?)),
        [one] => Ok(changes::of_step(step(session, Some(*one))?)),
        [from, to] => {
            for number in [from, to] {
                if *number > 0 {
                    step(session, Some(*number))?;
                }
            }
            Ok(changes::between(session, StepId(*from), StepId(*to)))
        }
        _ => Err("diff takes two steps at most; write for example: diff 12 40".to_owned()),
    }
}

fn diff(stepper: &mut Stepper, line: &Line) -> Text {
    let changed = differences(&stepper.session, line)?;
    if changed.is_empty() {
        return Ok("no object changed\n".to_owned());
    }
    let view = stepper.view();
    let object = |changed: &Changed| {
        let how = match (&changed.old, &changed.new) {
            (None, _) => " is new",
            (_, None) => " is gone",
            _ => "",
        };
        let mut out = format!("{}{how}\n", changed.name());
        for field in changed.fields() {
            out += &format!("{}\n", view.fit(&format!("  {}", view::field(&field))));
        }
        out
    };
    Ok(changed.iter().map(object).collect())
}

fn history(stepper: &mut Stepper, line: &Line) -> Text {
    let session = &stepper.session;
    let target = target::find(session, &line.arguments())?;
    let revisions = changes::history(session, &target);
    if revisions.is_empty() {
        return Ok(format!("{}\n", forgotten(&target)));
    }
    let row = |revision: &Revision| {
        let fields = revision.changed.fields();
        let mut what: Vec<&str> = fields.iter().take(FIELDS_NAMED).map(|field| field.path.as_str()).collect();
        let more = format!("and {} more", fields.len().saturating_sub(FIELDS_NAMED));
        match (&revision.changed.old, &revision.changed.new) {
            (None, _) => what = vec!["created"],
            (_, None) => what = vec!["deleted"],
            _ if fields.len() > FIELDS_NAMED => what.push(&more),
            _ => {}
        }
        let step = revision.step.map_or("before".to_owned(), |step| step.to_string());
        let at = revision.step.and_then(|id| session.step(id)).map(|step| session.time(step.time).to_string());
        vec![revision.number.to_string(), step, at.unwrap_or_default(), revision.by.clone(), what.join(", ")]
    };
    let columns = ["revision", "step", "time", "by", "what"].map(str::to_owned).to_vec();
    let table = Table { title: String::new(), columns, rows: revisions.iter().map(row).collect() };
    Ok(format!("{target}\n{}", stepper.view().table(&table)))
}

fn who(stepper: &mut Stepper, line: &Line) -> Text {
    let session = &stepper.session;
    let target = target::find(session, &line.arguments())?;
    let entry = session.cluster.engine.server.api.store.get(&target.etcd_key());
    let stored = entry.map(|entry| entry.mod_revision);
    let head = match stored {
        Some(revision) => format!("{target} is stored at revision {revision}\n"),
        None => format!("{target} is no longer stored\n"),
    };
    let beliefs = inspect::beliefs(session, &target);
    if beliefs.is_empty() {
        return Ok(head + "no component watches it\n");
    }
    let row = |belief: &inspect::Belief| {
        let cached = belief.cached.map_or("-".to_owned(), |revision| revision.to_string());
        let state = match (belief.cached == stored, belief.on_the_way) {
            (true, _) => "up to date".to_owned(),
            (false, 0) => "behind".to_owned(),
            (false, 1) => "behind, 1 event on its way".to_owned(),
            (false, n) => format!("behind, {n} events on their way"),
        };
        vec![belief.component.clone(), belief.watches.clone(), cached, state, belief.queued.join("; ")]
    };
    let columns = ["component", "watches", "has", "which is", "queue"].map(str::to_owned).to_vec();
    let table = Table { title: String::new(), columns, rows: beliefs.iter().map(row).collect() };
    Ok(head + &stepper.view().table(&table))
}

fn explain(stepper: &mut Stepper, line: &Line) -> Text {
    // kubectl's other form: a kind, and its fields behind it.
    let asked = match line.arguments().as_slice() {
        [] => return Err("write for example: explain pod.status.phase".to_owned()),
        words => words.join("."),
    };
    let explained = explain::explain(&stepper.session, &asked)?;
    let explain::Explained { kind, asked, path, type_name, about, writer, fields } = &explained;
    let mut out = match path.as_str() {
        "" => format!("{kind}\n"),
        path => format!("{kind}.{path} <{type_name}>\n"),
    };
    about.iter().for_each(|about| out += &format!("  {about}\n"));
    if !writer.is_empty() {
        out += &format!("  written by {writer}\n");
    }
    let wide = fields.iter().map(|field| field.name.len()).max().unwrap_or_default();
    for field in fields {
        out += &format!("{}\n", stepper.view().fit(format!("  .{:<wide$}  {}", field.name, field.about).trim_end()));
    }
    let values = values(&stepper.session, *kind, asked);
    if !values.is_empty() {
        out += &format!("here: {}\n", values.join(", "));
    }
    Ok(out + &told_in(chapters::of(*kind, path)))
}

/// What some objects of this cluster have in that field.
pub fn values(session: &Session, kind: Kind, path: &str) -> Vec<String> {
    const SHOWN: usize = 3;
    let Ok(parts) = debugger::expression::parse::parse_parts(path) else { return Vec::new() };
    let store = &session.cluster.engine.server.api.store;
    let objects = store.prefix(kinds::registry::prefix(kind)).take(SHOWN);
    let shown = objects.filter_map(|(_, entry)| {
        let json = entry.value.to_json();
        let value = debugger::expression::eval::follow(&json, &parts).into_iter().find(|v| !v.is_null())?;
        let text = console::truncate_str(&value.to_string(), 40, "…").into_owned();
        Some(format!("{} {text}", Target { kind, key: object::Key::of(&entry.value) }.key))
    });
    shown.collect()
}

/// Where the book tells more.
fn told_in(chapter: &Chapter) -> String {
    format!("the book: {}, book/src/{}\n", chapter.title, chapter.file)
}

fn place(stepper: &Stepper) -> String {
    let progress = spine::progress(&stepper.session);
    let mut out = String::new();
    for (number, stage) in STAGES.iter().enumerate() {
        let mark = match (progress.here == Some(number), progress.reached[number]) {
            (true, _) => "▶",
            (_, Some(_)) => "✓",
            _ => " ",
        };
        let first = progress.reached[number].map_or(String::new(), |step| step.to_string());
        out += &format!("{mark} {:<11} {first:>6}  {}\n", stage.name, stage.story);
    }
    out += &progress.here.map_or(String::new(), |here| told_in(STAGES[here].chapter));
    out.lines().map(|line| format!("{}\n", stepper.view().fit(line))).collect()
}
