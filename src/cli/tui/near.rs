//! The last step from nearer by, as the course has it in its views: a request's stages in the API server, an informer from the
//! watch to the worker, the inside of a node, a packet's way from device to device.

use std::fmt::Display;

use console::Style;
use serde_json::Value;

use debugger::Session;
use debugger::scene::{self, How, Spot, Start, Step};
use engine::StepId;
use stepper::palette;

use super::map::phase;
use super::panes::Row;

/// From a head to what stands beside it.
const HEAD: usize = 22;

/// Answers of the store, which comes behind all stages.
const STORED: [u16; 2] = [404, 409];

/// The view of a step that has one, in `width` columns.
pub fn draw(session: &Session, now: &Start, step: &Step, nodes: &[String], width: usize) -> Vec<Row> {
    let node = nodes.iter().find(|node| [&step.from, &step.to].iter().all(|name| name.ends_with(&format!("/{node}"))));
    let (title, rows) = if step.packet.is_some() {
        ("packet", way(session, step))
    } else if !step.stages.is_empty() {
        ("request", stages(step))
    } else if !step.caches.is_empty() || !step.queues.is_empty() {
        ("informer", informer(step))
    } else if let Some(node) = node {
        ("inside the node", inside(now, node))
    } else {
        return Vec::new();
    };
    let title = palette::label().apply_to(format!("── {title} ──")).to_string();
    [title].into_iter().chain(rows).flat_map(|text| Row::text(text).wrapped(width)).collect()
}

/// A line with a mark and a head.
fn line(mark: char, style: Style, head: impl Display, text: impl Display) -> String {
    format!("{} {head:<HEAD$} {text}", style.apply_to(mark)).trim_end().to_owned()
}

/// A request's way through the API server.
fn stages(step: &Step) -> Vec<String> {
    let is_refused = step.answer.is_some_and(|code| code >= 400);
    let by_the_store = step.answer.is_some_and(|code| STORED.contains(&code));
    let last = step.stages.len() - 1;
    let mut rows: Vec<String> = Vec::new();
    for (n, (name, decision)) in
        step.stages.iter().enumerate().filter(|(_, (name, _))| *name != "etcd" || step.changes.is_empty())
    {
        rows.push(match is_refused && !by_the_store && n == last {
            true => line('✗', palette::error(), name, decision),
            false => line('✓', palette::added(), name, decision),
        });
    }
    for change in &step.changes {
        rows.push(line('✓', palette::added(), "etcd", format!("revision {}: {}", change.revision, change.object)));
    }
    if let Some(code) = step.answer {
        let (mark, style) = if is_refused { ('✗', palette::error()) } else { ('✓', palette::added()) };
        rows.push(line(mark, style, "answer", format!("{code} to {}", step.from)));
    }
    rows
}

/// From the watch to the worker.
fn informer(step: &Step) -> Vec<String> {
    let none = || Style::new();
    let mut rows = Vec::new();
    if step.class == "notification" {
        rows.push(line('▸', none(), "watch", &step.what));
    }
    for cached in &step.caches {
        let now = if cached.revision == 0 { "is gone".to_owned() } else { format!("at revision {}", cached.revision) };
        rows.push(line('▸', none(), "cache", format!("{} {now}", cached.object)));
    }
    for moved in &step.queues {
        let (head, how) = match moved.how {
            How::Added => ("work queue", "waits for a worker"),
            How::Later => ("work queue", "comes later"),
            How::Taken => ("worker", "is taken"),
            How::Done => ("worker", "is done"),
        };
        rows.push(line('▸', none(), head, format!("{}: {} {how}", moved.queue, moved.key)));
    }
    if let Some(code) = &step.code {
        rows.push(line('▸', none(), "", format!("{} waits for {}", code.task, code.awaits)));
    }
    rows
}

/// The Pods of a node with their containers, probes and volumes.
fn inside(now: &Start, node: &str) -> Vec<String> {
    let mut rows = Vec::new();
    let on = |object: &Value| object.pointer("/spec/nodeName").and_then(Value::as_str) == Some(node);
    for (name, pod) in now.objects.iter().filter(|(name, object)| name.starts_with("Pod ") && on(object)) {
        let sandbox = pod.pointer("/status/podIP").and_then(Value::as_str);
        let sandbox = sandbox.map_or(String::new(), |address| format!(" · sandbox {address}"));
        rows.push(format!("{} {}{sandbox}", palette::here().apply_to(name), phase(pod)));
        for (part, of) in [("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")] {
            let all = pod.pointer(&format!("/spec/{part}")).and_then(Value::as_array);
            let states = pod.pointer(&format!("/status/{of}"));
            rows.extend(all.into_iter().flatten().map(|container| self::container(container, states)));
        }
        let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array).into_iter().flatten();
        let volumes: Vec<&str> = volumes.filter_map(|volume| volume["name"].as_str()).collect();
        if !volumes.is_empty() {
            rows.push(format!("  {} {}", palette::label().apply_to("volumes"), volumes.join(", ")));
        }
    }
    rows
}

/// A container: its state, restarts and probes.
fn container(container: &Value, states: Option<&Value>) -> String {
    let states = states.and_then(Value::as_array);
    let status = states.into_iter().flatten().find(|status| status["name"] == container["name"]);
    let state = status.and_then(|status| status["state"].as_object()?.iter().next());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut said = vec![state.map_or("not started", |(name, _)| name).to_owned()];
    said.extend(state.and_then(|(_, more)| more["reason"].as_str()).map(str::to_owned));
    said.extend(state.and_then(|(_, more)| more["exitCode"].as_i64()).map(|code| format!("exit code {code}")));
    let restarts = status.and_then(|status| status["restartCount"].as_u64()).filter(|restarts| *restarts > 0);
    said.extend(restarts.map(|restarts| format!("restarts: {restarts}")));
    let probes = ["startup", "liveness", "readiness"].into_iter();
    let probes: Vec<&str> = probes.filter(|probe| container.get(format!("{probe}Probe")).is_some()).collect();
    if !probes.is_empty() {
        said.push(format!("probes: {}", probes.join(", ")));
    }
    let mark = if status.is_some_and(|status| status["ready"] == true) { '●' } else { '○' };
    format!("  {mark} {} {} · {}", text(&container["name"]), text(&container["image"]), said.join(" · "))
}

/// A packet's way to the device where it is now, and what kernels decided on it.
fn way(session: &Session, step: &Step) -> Vec<String> {
    let mut steps = vec![step.clone()];
    while let Some(before) = earlier(session, &steps[0]) {
        steps.insert(0, before);
    }
    let mut rows = Vec::new();
    let mut last: Option<Spot> = None;
    for one in &steps {
        let Some(packet) = &one.packet else { continue };
        for spot in packet.by.iter().chain([&packet.at]) {
            if last.as_ref() == Some(spot) {
                continue;
            }
            if last.as_ref().is_some_and(|last| last.machine != spot.machine) {
                rows.push(palette::label().apply_to("  │ from node to node").to_string());
            }
            let is_here = one.number == step.number && *spot == packet.at;
            let (mark, style) = if is_here { ('◆', palette::here()) } else { ('●', palette::label()) };
            let whose = if spot.pod.is_empty() { spot.machine.clone() } else { format!("Pod {}", spot.pod) };
            rows.push(line(mark, style.clone(), style.apply_to(format!("{:<HEAD$}", spot.device)), whose));
            last = Some(spot.clone());
        }
        rows.extend(one.decisions.iter().map(|(table, decision)| {
            let text = format!("  │   {table} {decision}");
            palette::label().apply_to(text).to_string()
        }));
    }
    rows
}

/// The step before on the same packet's way. What a Pod sends on is another packet.
fn earlier(session: &Session, step: &Step) -> Option<Step> {
    let before = scene::of_step(session, session.step(StepId(step.cause))?);
    let (came, goes) = (before.packet.as_ref()?, step.packet.as_ref()?);
    let sent_anew = !came.at.pod.is_empty() && goes.by.first().is_some_and(|first| first.pod == came.at.pod);
    (!sent_anew).then_some(before)
}
