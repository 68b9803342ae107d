//! The cluster in characters, as the course draws it: boxes for processes and nodes, the objects in them, and between the boxes
//! the message that has just arrived.
//!
//! ```text
//! ┏ user ━━━━━━┓ ┌ kube-controller-manager ┐ ┌ kube-scheduler ┐
//! ┃            ┃ │                         │ │                │
//! ┗━━━━━━━━━━━━┛ └─────────────────────────┘ └────────────────┘
//!       ▼ create deployments default/web
//! ┏ kube-apiserver and etcd ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
//! ┃ ▸Deployment web 0/3 ready                                  ┃
//! ```

use std::collections::BTreeSet;

use console::{Style, measure_text_width, truncate_str};
use serde_json::Value;

use debugger::Session;
use debugger::scene::{Start, Step};
use stepper::palette;

use super::panes::Row;

/// A node's box has at least so many columns. Nodes that find no room share one.
const NODE: usize = 17;
/// Shorter names, where there is no room for all.
const SHORT: [(&str, &str); 2] = [("kube-controller-manager", "controller-manager"), ("kube-scheduler", "scheduler")];
/// So many lines of objects a box has.
const LINES: usize = 6;

/// A box: a process, a node, or several that share it.
#[derive(Default)]
struct Place {
    title: String,
    /// Whose it is: names of processes, `node/node-1`.
    of: Vec<String>,
    lines: Vec<String>,
    is_busy: bool,
}

impl Place {
    fn new(title: &str) -> Place {
        Place { title: title.to_owned(), of: vec![title.to_owned()], ..Place::default() }
    }

    fn node(name: &str) -> Place {
        Place { title: name.to_owned(), of: vec![format!("node/{name}")], ..Place::default() }
    }

    fn style(&self) -> Style {
        let name = if self.of.iter().any(|name| name.starts_with("node/")) { "kubelet" } else { &*self.title };
        palette::component(name.strip_suffix(" and etcd").unwrap_or(name))
    }
}

/// Boxes in rows: clients, API servers, etcd where several share it, nodes.
struct Map {
    tiers: Vec<Vec<Place>>,
    width: usize,
}

/// A box's tier and its place there.
type At = (usize, usize);

/// The cluster after the last step, in `width` columns. `now` is what is there, `step` the last one.
pub fn draw(session: &Session, now: &Start, step: Option<&Step>, nodes: &[String], width: usize) -> Vec<Row> {
    let mut map = Map::new(session, nodes, width);
    let namespace = &session.scenario().namespace;
    map.fill(now, step, namespace);
    let ends = step.map(|step| (map.home(&step.from), map.home(&step.to)));
    let mut gaps = vec![String::new(); map.tiers.len()];
    if let (Some(step), Some((from, to))) = (step, ends) {
        map.mark(step, from, to);
        if let Some((from, to)) = from.or(to).zip(to.or(from)) {
            map.message(step, from, to, &mut gaps);
        }
    }
    let drawn = map.tiers.iter().zip(&gaps);
    drawn.flat_map(|(tier, gap)| map.tier(tier).into_iter().chain([gap.clone()])).map(Row::text).collect()
}

impl Map {
    fn new(session: &Session, nodes: &[String], width: usize) -> Map {
        let engine = &session.cluster.engine;
        let clients = ["user", "kube-controller-manager", "kube-scheduler"].map(Place::new);
        let servers: BTreeSet<&str> = engine.servers().map(|(_, name)| name).filter(|name| is_server(name)).collect();
        let several = servers.len() > 1;
        let mut tiers = vec![Vec::from(clients)];
        if several {
            tiers.push(servers.into_iter().map(Place::new).collect());
            tiers.push(vec![Place::new("etcd")]);
        } else {
            let of = vec!["kube-apiserver".to_owned(), "etcd".to_owned()];
            tiers.push(vec![Place { of, ..Place::new("kube-apiserver and etcd") }]);
        }
        let room = (width / NODE).max(2);
        let own = if nodes.len() > room { room - 1 } else { nodes.len() };
        let mut row: Vec<Place> = nodes[..own].iter().map(|name| Place::node(name)).collect();
        if own < nodes.len() {
            let of = nodes[own..].iter().map(|name| format!("node/{name}")).collect();
            row.push(Place { title: format!("{} more nodes", nodes.len() - own), of, ..Place::default() });
        }
        tiers.push(row);
        tiers.retain(|tier| !tier.is_empty());
        let mut map = Map { tiers, width };
        // Processes without a box share one, from the first that has said or heard something.
        let events = session.history().iter().map(|step| &step.event).filter(|event| !event.background);
        let ids: BTreeSet<_> = events.flat_map(|event| [event.from, event.to]).collect();
        let others: BTreeSet<&str> = ids
            .into_iter()
            .map(|id| engine.name(id))
            .filter(|name| map.home(name).is_none())
            .map(|name| name.split('/').next().unwrap_or(name))
            .collect();
        if !others.is_empty() {
            let title = if others.len() > 1 { "others".to_owned() } else { others.iter().copied().collect() };
            map.tiers[0].push(Place { title, of: others.into_iter().map(str::to_owned).collect(), ..Place::default() });
        }
        map
    }

    /// The box of a process. A controller lives in its manager, what runs on a node in the node's.
    fn home(&self, name: &str) -> Option<At> {
        let (base, rest) = name.split_once('/').unwrap_or((name, ""));
        let base = if base.ends_with("-controller") { "kube-controller-manager" } else { base };
        let node = format!("node/{rest}");
        let find = |wanted: &str| {
            let places = self.tiers.iter().enumerate();
            let mut all =
                places.flat_map(|(tier, row)| row.iter().enumerate().map(move |(n, place)| ((tier, n), place)));
            all.find(|(_, place)| place.of.iter().any(|name| name == wanted)).map(|(at, _)| at)
        };
        find(name).or_else(|| find(base)).or_else(|| find(&node)).or_else(|| find("etcd").filter(|_| is_server(name)))
    }

    /// Puts objects into boxes, and keys of work queues.
    fn fill(&mut self, now: &Start, step: Option<&Step>, namespace: &str) {
        let changed = |name: &str| step.is_some_and(|step| step.changes.iter().any(|change| change.object == *name));
        let mut more: Vec<(At, usize, usize)> = Vec::new();
        for (name, object) in &now.objects {
            let node = object.pointer("/spec/nodeName").and_then(Value::as_str).filter(|_| name.starts_with("Pod "));
            let at = node.and_then(|node| self.home(&format!("node/{node}"))).or_else(|| self.home("etcd"));
            let Some((tier, n)) = at else { continue };
            let place = &mut self.tiers[tier][n];
            if node.is_some() && place.of.len() > 1 {
                match more.iter_mut().find(|(at, ..)| *at == (tier, n)) {
                    Some((_, pods, ready)) => (*pods, *ready) = (*pods + 1, *ready + usize::from(is_ready(object))),
                    None => more.push(((tier, n), 1, usize::from(is_ready(object)))),
                }
                continue;
            }
            let mark = if changed(name) { "▸" } else { " " };
            let style = if changed(name) { palette::here() } else { Style::new() };
            place.lines.push(style.apply_to(format!("{mark}{}", chip(name, object, namespace))).to_string());
        }
        for ((tier, n), pods, ready) in more {
            self.tiers[tier][n].lines.push(format!(" {pods} Pods, {ready} ready"));
        }
        for (queue, key) in &now.queues {
            let home = self.home(queue).or_else(|| self.home("kube-controller-manager"));
            let Some((tier, n)) = home.filter(|(tier, _)| *tier == 0) else { continue };
            let queue = queue.strip_suffix("-controller").unwrap_or(queue);
            let said = if queue == self.tiers[tier][n].title { key.clone() } else { format!("{queue}: {key}") };
            self.tiers[tier][n].lines.push(format!(" {said}"));
        }
        for place in self.tiers.iter_mut().flatten().filter(|place| place.lines.len() > LINES) {
            let many = place.lines.len() - LINES + 1;
            // What has changed is told in any case.
            place.lines.sort_by_key(|line| !console::strip_ansi_codes(line).starts_with('▸'));
            place.lines.truncate(LINES - 1);
            place.lines.push(format!(" and {many} more"));
        }
    }

    /// Marks those who sent and got a message; of a box that several share, it says who.
    fn mark(&mut self, step: &Step, from: Option<At>, to: Option<At>) {
        for (at, name) in [(from, &step.from), (to, &step.to)] {
            let Some((tier, n)) = at else { continue };
            let place = &mut self.tiers[tier][n];
            let part = name.split('/').next().unwrap_or(name);
            let is_shared = place.of.len() > 1 && place.of[1] != "etcd" || place.of[0].starts_with("node/");
            if is_shared && !(from == to && place.is_busy && step.from == step.to) {
                place.title += if place.is_busy { " → " } else { ": " };
                place.title += part;
            }
            place.is_busy = true;
        }
    }

    /// Draws a message between two boxes.
    fn message(&self, step: &Step, from: At, to: At, gaps: &mut [String]) {
        let what = palette::here().apply_to(&step.what).to_string();
        if from == to {
            gaps[from.0] = self.beside(self.middle(from), '●', &what, &step.from);
        } else if from.0 == to.0 {
            let (a, b) = (self.middle(from), self.middle(to));
            let line = "─".repeat(a.abs_diff(b).saturating_sub(1));
            let drawn = if a < b { format!("╰{line}▲") } else { format!("▲{line}╯") };
            let drawn = palette::component(&step.from).apply_to(drawn);
            let text = format!("{}{drawn} {what}", " ".repeat(a.min(b)));
            gaps[from.0] = truncate_str(&text, self.width, "…").into_owned();
        } else {
            // The line stands at the end that is not the API server's, which is as wide as the picture.
            let x = if self.tiers[from.0].len() > 1 { self.middle(from) } else { self.middle(to) };
            let (upper, lower) = (from.0.min(to.0), from.0.max(to.0));
            let (head, at) = if from.0 < to.0 { ('▼', lower - 1) } else { ('▲', upper) };
            for (gap, text) in gaps.iter_mut().enumerate().take(lower).skip(upper) {
                *text = match gap == at {
                    true => self.beside(x, head, &what, &step.from),
                    false => self.beside(x, '│', "", &step.from),
                };
            }
        }
    }

    /// A sign in a column with a text on the side where there is more room.
    fn beside(&self, column: usize, sign: char, text: &str, from: &str) -> String {
        let sign = palette::component(from).apply_to(sign);
        let right = self.width.saturating_sub(column + 2);
        if right >= measure_text_width(text).min(self.width / 2) {
            return format!("{:column$}{sign} {}", "", truncate_str(text, right, "…"));
        }
        let text = truncate_str(text, column.saturating_sub(1), "…");
        format!("{}{text} {sign}", " ".repeat(column.saturating_sub(1 + measure_text_width(&text))))
    }

    /// How wide the boxes of a tier are: each as its title asks, or as there is room.
    fn widths(&self, tier: &[Place]) -> Vec<usize> {
        let room = self.width.saturating_sub(tier.len() - 1);
        let is_node = tier.iter().any(|place| place.of[0].starts_with("node/"));
        let wanted = |place: &Place| if is_node { NODE } else { measure_text_width(&self.title(place)) + 4 };
        let mut widths: Vec<usize> = tier.iter().map(wanted).collect();
        let total: usize = widths.iter().sum::<usize>().max(1);
        if total <= room {
            widths.iter_mut().for_each(|width| *width = *width * room / total);
            let rest = room - widths.iter().sum::<usize>();
            widths.last_mut().into_iter().for_each(|last| *last += rest);
        }
        // The widest gives what is too much.
        for _ in room..total {
            widths.iter_mut().max().into_iter().for_each(|widest| *widest -= 1);
        }
        widths
    }

    fn title(&self, place: &Place) -> String {
        let all: usize = self.tiers[0].iter().map(|place| measure_text_width(&place.title) + 5).sum();
        let short = SHORT.iter().find(|(name, _)| *name == place.title && all > self.width);
        short.map_or(place.title.clone(), |(_, short)| (*short).to_owned())
    }

    /// The column in the middle of a box.
    fn middle(&self, (tier, n): At) -> usize {
        let widths = self.widths(&self.tiers[tier]);
        widths[..n].iter().map(|width| width + 1).sum::<usize>() + widths[n] / 2
    }

    /// The lines of a row of boxes.
    fn tier(&self, tier: &[Place]) -> Vec<String> {
        let height = tier.iter().map(|place| place.lines.len()).max().unwrap_or_default().max(1);
        let widths = self.widths(tier);
        let mut lines = vec![String::new(); height + 2];
        for (n, (place, width)) in tier.iter().zip(widths).enumerate() {
            if n > 0 {
                lines.iter_mut().for_each(|line| line.push(' '));
            }
            if width < 6 {
                lines.iter_mut().for_each(|line| *line += &" ".repeat(width));
                continue;
            }
            let inside = width - 2;
            // Who has to do with the message has a frame of heavier lines, which is seen without colours too.
            let [left, right, low_left, low_right, across, side] = if place.is_busy {
                ['┏', '┓', '┗', '┛', '━', '┃']
            } else {
                ['┌', '┐', '└', '┘', '─', '│']
            };
            let style = if place.is_busy { place.style() } else { palette::label() };
            let title = self.title(place);
            let title = truncate_str(&title, inside.saturating_sub(2), "…");
            let rest = across.to_string().repeat(inside.saturating_sub(2 + measure_text_width(&title)));
            let title = place.style().apply_to(title);
            lines[0] += &format!("{} {title} {}", style.apply_to(left), style.apply_to(format!("{rest}{right}")));
            for row in 0..height {
                let text = place.lines.get(row).map_or("", String::as_str);
                let text = truncate_str(text, inside.saturating_sub(1), "…");
                let blanks = " ".repeat(inside.saturating_sub(measure_text_width(&text)));
                let side = style.apply_to(side);
                lines[row + 1] += &format!("{side}{text}{blanks}{side}");
            }
            let bottom = format!("{low_left}{}{low_right}", across.to_string().repeat(inside));
            lines[height + 1] += &style.apply_to(bottom).to_string();
        }
        lines
    }
}

fn is_server(name: &str) -> bool {
    name.split('/').next() == Some("kube-apiserver")
}

/// An object in a few letters: `● Pod web-1 Running`. What is Ready has a full circle.
fn chip(name: &str, object: &Value, namespace: &str) -> String {
    let short = name.replacen(&format!(" {namespace}/"), " ", 1);
    let said = match counts(object) {
        Some(counts) => counts,
        None => phase(object).to_owned(),
    };
    let text = match short.strip_prefix("Pod ") {
        Some(pod) => format!("{} {pod} {}", if is_ready(object) { '●' } else { '○' }, phase(object)),
        None => format!("{short} {said}"),
    };
    text.trim_end().to_owned()
}

/// `2/3 ready` of what counts something.
fn counts(object: &Value) -> Option<String> {
    let wanted = object.pointer("/spec/replicas")?;
    let ready = object.pointer("/status/readyReplicas").and_then(Value::as_u64).unwrap_or_default();
    Some(format!("{ready}/{wanted} ready"))
}

/// What an object is at: its phase, or that it is going.
pub fn phase(object: &Value) -> &str {
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return "Terminating";
    }
    object.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default()
}

/// Whether an object's condition Ready is True.
fn is_ready(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
}
