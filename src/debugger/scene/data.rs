//! A scene as the player reads it: JSON in which every name stands once.
//!
//! ```text
//! {"v": 1, "scenario": …, "title": …, "seed": …, "nodes": [name…],
//!  "names": [text…],                    everything below that is marked * is a place in this list
//!  "objects": {name: object},           before the first step
//!  "queues": [[queue*, key*]…],
//!  "code": [[file, first line, line, [text…]]…],
//!  "steps": [{"n": number, "t": microseconds, "k": class*, "f": from*, "o": to*, "w": what, "y": the number of its cause,
//!             "x": [[object*, revision, patch]…], "c": [[actor*, object*, revision]…], "q": [[queue*, key*, how]…],
//!             "l": [code, task*, awaits*], "s": [[stage*, decision*]…], "a": status code,
//!             "p": [packet*, spot, [spot it has left by…]], "d": [[table*, decision*]…], "said": [sentence, effect…]}…],
//!  "flights": [[cause, from*, to*, what]…]}
//! ```
//! A spot is a device: `[machine*, Pod*, device*]`, its Pod is `""` in the machine's own namespace. A `patch` is null for an
//! object that is gone, a JSON merge patch, or `[object]` with a whole object. `how` is 0 for a key that was added, 1 taken, 2
//! done with, 3 to be added later. What a step is in words (`said`) stands in the course's pages already, and so does what the
//! author says of it: there it is left out here.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::source;
use super::{After, How, Scene, Spot, Step};

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

/// Where a reader finds what a step is in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// In the scene.
    Within,
    /// In the page around it.
    Beside,
}

/// The scene as JSON.
pub fn json(scene: &Scene, words: Words) -> Value {
    let (mut names, mut code) = (Names::default(), Excerpts::default());
    let queues: Vec<Value> =
        scene.start.queues.iter().map(|(queue, key)| json!([names.place(queue), names.place(key)])).collect();
    let steps: Vec<Value> = scene.steps.iter().map(|one| step(one, words, &mut names, &mut code)).collect();
    let flights: Vec<Value> = scene
        .under_way
        .iter()
        .map(|flight| json!([flight.cause, names.place(&flight.from), names.place(&flight.to), flight.what]))
        .collect();
    json!({
        "v": 1,
        "scenario": scene.scenario,
        "title": scene.title,
        "seed": scene.seed,
        "nodes": scene.nodes,
        "names": names.list,
        "objects": scene.start.objects,
        "queues": queues,
        "code": code.list,
        "steps": steps,
        "flights": flights,
    })
}

fn step(step: &Step, words: Words, names: &mut Names, code: &mut Excerpts) -> Value {
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
        step.changes.iter().map(|one| json!([names.place(&one.object), one.revision, after(&one.after)])).collect();
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
    if let Some(packet) = &step.packet {
        let by: Vec<Value> = packet.by.iter().map(|one| spot(one, names)).collect();
        put("p", json!([names.place(&packet.what), spot(&packet.at, names), by]));
    }
    if !step.decisions.is_empty() {
        let decisions = step.decisions.iter().map(|(table, text)| json!([names.place(table), names.place(text)]));
        put("d", decisions.collect());
    }
    if words == Words::Within {
        let said: Vec<&str> = [step.text.as_str()].into_iter().chain(step.effects.iter().map(String::as_str)).collect();
        put("said", json!(said));
    }
    Value::Object(out)
}

fn spot(spot: &Spot, names: &mut Names) -> Value {
    json!([names.place(&spot.machine), names.place(&spot.pod), names.place(&spot.device)])
}

fn after(after: &After) -> Value {
    match after {
        After::Gone => Value::Null,
        After::Patched(patch) => patch.clone(),
        After::Whole(object) => json!([object]),
    }
}
