//! A scene as the player reads it: JSON in which every name stands once.
//!
//! ```text
//! {"v": 1, "scenario": …, "seed": …, "nodes": [name…],
//!  "names": [text…],                    everything below that is marked * is a place in this list
//!  "objects": {name: object},           before the first step
//!  "queues": [[queue*, key*]…],
//!  "code": [[file, first line, line, [text…]]…],
//!  "steps": [{"n": number, "t": microseconds, "k": class*, "f": from*, "o": to*, "w": what, "y": the number of its cause,
//!             "x": [[object*, revision, patch]…], "c": [[actor*, object*, revision]…], "q": [[queue*, key*, how]…],
//!             "l": [code, task*, awaits*], "s": [[stage*, decision*]…], "a": status code}…],
//!  "flights": [[cause, from*, to*, what]…]}
//! ```
//! `how` is 0 for a key that was added, 1 taken, 2 done with, 3 to be added later. What a step is in words, and what the
//! author says of it, stands in the page already.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use debugger::source;

use super::{How, Scene, Step};

/// Lines of code before and after the one that waits.
const AROUND: u32 = 4;

/// Names that have been given a place.
#[derive(Default)]
struct Names {
    places: BTreeMap<String, usize>,
    list: Vec<String>,
}

impl Names {
    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.places.insert(name.to_owned(), self.list.len());
        self.list.push(name.to_owned());
        self.list.len() - 1
    }
}

/// Lines of code that have been given a place.
#[derive(Default)]
struct Excerpts {
    places: BTreeMap<(String, u32), usize>,
    list: Vec<Value>,
}

impl Excerpts {
    fn place(&mut self, file: &str, line: u32) -> usize {
        let key = (file.to_owned(), line);
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let excerpt = source::lines(file, line, AROUND);
        let first = excerpt.lines.first().map_or(line, |(number, _)| *number);
        let texts: Vec<&str> = excerpt.lines.iter().map(|(_, text)| text.as_str()).collect();
        self.places.insert(key, self.list.len());
        self.list.push(json!([file, first, line, texts]));
        self.list.len() - 1
    }
}

/// The scene as JSON that can stand in a page's script element.
pub fn json(scene: &Scene) -> String {
    let (mut names, mut code) = (Names::default(), Excerpts::default());
    let queues: Vec<Value> =
        scene.start.queues.iter().map(|(queue, key)| json!([names.place(queue), names.place(key)])).collect();
    let steps: Vec<Value> = scene.steps.iter().map(|one| step(one, &mut names, &mut code)).collect();
    let flights: Vec<Value> = scene
        .under_way
        .iter()
        .map(|flight| json!([flight.cause, names.place(&flight.from), names.place(&flight.to), flight.what]))
        .collect();
    let value = json!({
        "v": 1,
        "scenario": scene.scenario,
        "seed": scene.seed,
        "nodes": scene.nodes,
        "names": names.list,
        "objects": scene.start.objects,
        "queues": queues,
        "code": code.list,
        "steps": steps,
        "flights": flights,
    });
    // Nothing in it can end the element that it stands in.
    value.to_string().replace('<', "\\u003c")
}

fn step(step: &Step, names: &mut Names, code: &mut Excerpts) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("n", json!(step.number));
    put("t", json!(step.t_us));
    put("k", json!(names.place(step.class)));
    put("f", json!(names.place(&step.from)));
    put("o", json!(names.place(&step.to)));
    put("w", json!(step.what));
    put("y", json!(step.cause));
    let changes: Vec<Value> =
        step.changes.iter().map(|change| json!([names.place(&change.object), change.revision, change.patch])).collect();
    let caches: Vec<Value> = step
        .caches
        .iter()
        .map(|cached| json!([names.place(&cached.actor), names.place(&cached.object), cached.revision]))
        .collect();
    let queues: Vec<Value> = step
        .queues
        .iter()
        .map(|moved| {
            let how = match moved.how {
                How::Added => 0,
                How::Taken => 1,
                How::Done => 2,
                How::Later => 3,
            };
            json!([names.place(&moved.queue), names.place(&moved.key), how])
        })
        .collect();
    for (key, values) in [("x", changes), ("c", caches), ("q", queues)] {
        if !values.is_empty() {
            put(key, Value::Array(values));
        }
    }
    if !step.stages.is_empty() {
        let stages = step.stages.iter().map(|(name, detail)| json!([names.place(name), names.place(detail)]));
        put("s", stages.collect());
    }
    if let Some(code) = step.answer {
        put("a", json!(code));
    }
    if let Some(at) = &step.code {
        put("l", json!([code.place(&at.file, at.line), names.place(&at.task), names.place(&at.awaits)]));
    }
    Value::Object(out)
}
