//! What is asked: a Site with what was said of it before, and what others do while it is reported on; simple ones first.

use serde_json::{Value, json};

use crate::making::{drawn, longer, read, with};
use exercise::conditions::{Case, Meanwhile, Site, time};

use Meanwhile::{Deleted, Fails, Labelled, Nothing, Overtaken, Recreated, Reported, Scaled, Turned};

/// What the clock shows.
const NOW: u64 = 900;
/// The generation that was acted upon, and how many Pods it asks for.
const GENERATION: i64 = 4;
const REPLICAS: i32 = 3;
/// So many cases in which all goes as if by chance.
const BY_CHANCE: usize = 300;

pub(super) fn all() -> Vec<Case> {
    let mut all = in_peace();
    all.extend(behind());
    all.extend(disturbed());
    all.extend((0..BY_CHANCE).map(by_chance));
    all
}

/// A Site of this generation that asks for so many Pods, with this status.
fn site(generation: i64, replicas: i32, status: Value) -> Site {
    read(json!({
        "metadata": {
            "name": "blog", "namespace": "default", "uid": "uid-1", "resourceVersion": "7", "generation": generation,
            "labels": {"team": "web"}, "finalizers": ["example.com/keep"],
        },
        "spec": {"replicas": replicas, "image": "nginx:1.27"},
        "status": status,
    }))
}

/// What Ready says of so many Pods, of that generation, since that time.
fn ready(ready: Option<i32>, replicas: i32, generation: i64, since: u64) -> Value {
    let (status, reason, message) = match ready {
        None => ("Unknown", "NotCounted", "the Pods were not counted".to_owned()),
        Some(ready) if ready >= replicas => ("True", "AllReady", format!("{ready} of {replicas} Pods are ready")),
        Some(ready) => ("False", "SomeNotReady", format!("{ready} of {replicas} Pods are ready")),
    };
    condition("Ready", status, reason, &message, Some(generation), since)
}

fn condition(sort: &str, status: &str, reason: &str, message: &str, generation: Option<i64>, since: u64) -> Value {
    json!({
        "type": sort, "status": status, "reason": reason, "message": message, "observedGeneration": generation,
        "lastTransitionTime": time(since),
    })
}

fn backup() -> Value {
    condition("Backup", "True", "Done", "the backup of 3 is there", None, 50)
}

fn synced() -> Value {
    condition("Synced", "False", "Late", "two changes wait", Some(1), 70)
}

/// A status that says of so many Pods what there is to say.
fn status(count: Option<i32>, replicas: i32, generation: i64, since: u64) -> Value {
    json!({
        "observedGeneration": generation, "readyReplicas": count.unwrap_or(1),
        "conditions": [ready(count, replicas, generation, since)],
    })
}

/// The same with what others have written, around it.
fn among_others(mut status: Value) -> Value {
    let own = status["conditions"][0].clone();
    status["conditions"] = json!([backup(), own, synced()]);
    with(status, &json!({"address": "192.0.2.1"}))
}

/// What a status may say before.
fn statuses() -> Vec<Value> {
    let mut all = vec![Value::Null];
    for count in [Some(3), Some(2), Some(0), None] {
        for generation in [GENERATION, GENERATION - 1, 1] {
            let one = status(count, REPLICAS, generation, 100);
            all.extend([one.clone(), among_others(one)]);
        }
    }
    // Other writers only; without a generation of its own; and as another hand has left it.
    all.push(json!({"address": "192.0.2.1", "conditions": [backup(), synced()]}));
    all.push(json!({"observedGeneration": GENERATION, "conditions": []}));
    all.push(json!({"readyReplicas": 3, "conditions": [ready(Some(3), REPLICAS, GENERATION, 100)]}));
    let by_hand = condition("Ready", "True", "AllReady", "as I see it", None, 100);
    all.push(json!({"observedGeneration": GENERATION, "readyReplicas": 3, "conditions": [by_hand]}));
    let other_reason = condition("Ready", "False", "Starting", "2 of 3 Pods are ready", Some(GENERATION), 100);
    all.push(json!({"observedGeneration": GENERATION, "readyReplicas": 2, "conditions": [other_reason]}));
    all
}

/// Others do nothing, and the Site is as it was acted upon.
fn in_peace() -> Vec<Case> {
    let mut all = Vec::new();
    for status in statuses() {
        for ready in [Some(3), Some(2), Some(0), Some(4), None] {
            let stored = site(GENERATION, REPLICAS, status.clone());
            all.push(Case { site: stored.clone(), stored, ready, now: NOW, script: vec![] });
        }
    }
    for (replicas, ready) in
        [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2), (12, 9), (12, 12), (100, 99), (2_147_483_647, 70_000)]
    {
        for before in [Value::Null, status(Some(0), replicas, 3, 100), status(Some(replicas), replicas, 3, 100)] {
            let stored = site(GENERATION, replicas, before);
            all.push(Case { site: stored.clone(), stored, ready: Some(ready), now: NOW, script: vec![] });
        }
    }
    all
}

/// The cache is behind: the spec has changed since, or the status.
fn behind() -> Vec<Case> {
    let mut all = Vec::new();
    let newer = |status: Value| site(GENERATION + 1, REPLICAS + 1, status);
    let reported = status(Some(3), REPLICAS + 1, GENERATION + 1, 500);
    let stored = [
        newer(Value::Null),
        newer(status(Some(3), REPLICAS, GENERATION - 1, 100)),
        newer(status(Some(2), REPLICAS, GENERATION, 100)),
        newer(among_others(status(Some(3), REPLICAS, GENERATION, 400))),
        newer(reported.clone()),
        newer(among_others(reported)),
        site(GENERATION, REPLICAS, status(Some(2), REPLICAS, GENERATION, 400)),
        site(GENERATION, REPLICAS, among_others(status(Some(3), REPLICAS, GENERATION, 400))),
        site(GENERATION, REPLICAS, among_others(status(None, REPLICAS, GENERATION, 400))),
    ];
    let cached =
        [Value::Null, status(Some(3), REPLICAS, GENERATION, 100), status(Some(2), REPLICAS, GENERATION - 1, 100)];
    for stored in &stored {
        for status in &cached {
            for ready in [Some(3), Some(2), Some(4), None] {
                let mut site = site(GENERATION, REPLICAS, status.clone());
                site.metadata.resource_version = Some("5".to_owned());
                all.push(Case { stored: stored.clone(), site, ready, now: NOW, script: vec![] });
            }
        }
    }
    all
}

/// Others write, delete or break something before a call.
fn disturbed() -> Vec<Case> {
    let (one, two) =
        (longer(&[Vec::new()], &Meanwhile::ALL), longer(&longer(&[Vec::new()], &Meanwhile::ALL), &Meanwhile::ALL));
    let mut scripts = [one, two].concat();
    for rounds in 2..=7 {
        for other in [Labelled, Scaled, Reported, Turned] {
            scripts.push([Nothing, other].repeat(rounds));
        }
    }
    // What is no conflict, at each call of a later try.
    for rounds in 1..=4 {
        let before = [Nothing, Reported].repeat(rounds);
        for last in [Deleted, Recreated, Fails, Overtaken, Scaled, Turned] {
            scripts.push([&before[..], &[last]].concat());
            scripts.push([&before[..], &[Nothing, last]].concat());
        }
    }
    let stored = [
        site(GENERATION, REPLICAS, Value::Null),
        site(GENERATION, REPLICAS, among_others(status(Some(2), REPLICAS, GENERATION, 100))),
        site(GENERATION, REPLICAS, status(Some(3), REPLICAS, GENERATION - 1, 100)),
    ];
    let mut all = Vec::new();
    for stored in &stored {
        for script in &scripts {
            let ready = Some(if script.len() % 2 == 0 { 3 } else { 2 });
            all.push(Case { site: stored.clone(), stored: stored.clone(), ready, now: NOW, script: script.clone() });
        }
    }
    all.sort_by_key(|case| case.script.len());
    all
}

/// Anything may be so.
fn by_chance(n: usize) -> Case {
    let mut draw = drawn(n);
    let statuses = statuses();
    let replicas = [1, 2, 3, 5, 9][draw(5)];
    let is_newer = draw(4) == 0;
    let before = statuses[draw(statuses.len())].clone();
    let stored = site(GENERATION + i64::from(is_newer), replicas + i32::from(is_newer), before);
    let mut given = site(GENERATION, replicas, statuses[draw(statuses.len())].clone());
    given.metadata.resource_version = Some("5".to_owned());
    let ready = [None, Some(draw(4) as i32), Some(replicas), Some(replicas - 1), Some(replicas + 2)][draw(5)];
    let script = (0..draw(9)).map(|_| Meanwhile::ALL[draw(Meanwhile::ALL.len() - 3)]).collect();
    Case { stored, site: given, ready, now: NOW + draw(5_000) as u64, script }
}
