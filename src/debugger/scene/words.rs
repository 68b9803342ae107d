//! A step in sentences: what a reader without pictures gets.

use object::text::shortened;
use serde_json::Value;

use super::super::diff::FieldChange;
use super::super::stop::{How, Stop};

/// So many changed fields are told.
const FIELDS: usize = 4;
/// So much of a value is told.
const VALUE: usize = 60;

/// What happened.
pub fn sentence(stop: &Stop, code: Option<u16>) -> String {
    let event = &stop.event;
    let (from, what, to) = (&event.from, &event.what, &event.to);
    match event.class {
        "request" => {
            let answer = code.map_or(String::new(), |code| format!(" Answer: {code}."));
            format!("{from} asks {to}: {what}.{answer}")
        }
        "response" => format!("{from} answers {to}: {what}."),
        "notification" => format!("{from} tells the {to}: {what}."),
        "timer" if event.from == "timer" => format!("{to} turns to its work: {what}."),
        "timer" => format!("In {to}, {what}."),
        "packet" => format!("A packet goes from {from} to {to}: {what}."),
        _ => format!("{from} calls {to}: {what}."),
    }
}

/// What came of it. `stored` is what the store changed, with its revisions.
pub fn effects(stop: &Stop, stored: &[super::Change]) -> Vec<String> {
    let mut out = Vec::new();
    for change in stop.change.iter().chain(&stop.also) {
        let Some(stored) = stored.iter().find(|stored| stored.object == change.object) else { continue };
        let verb = match change.how {
            How::Added => "has a new object",
            How::Modified => "changes",
            How::Deleted => "loses",
        };
        let told: Vec<&FieldChange> = change.fields.iter().filter(|field| !field.path.ends_with("Time")).collect();
        let fields: Vec<String> = told.iter().take(FIELDS).map(|change| field(change)).collect();
        let more = told.len().saturating_sub(FIELDS);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let fields = if fields.is_empty() { String::new() } else { format!(": {}{more}", fields.join(", ")) };
        out.push(format!("etcd {verb} at revision {}: {}{fields}", stored.revision, change.object));
    }
    for fact in &stop.facts {
        match fact.topic.as_str() {
            "stage" | "answer" => {}
            "table" => out.push(fact.text.clone()),
            topic => out.push(format!("{topic}: {}", fact.text)),
        }
    }
    out
}

fn field(change: &FieldChange) -> String {
    let value = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), short);
    match &change.old {
        None => format!("{} is {}", change.path, value(&change.new)),
        _ => format!("{} from {} to {}", change.path, value(&change.old), value(&change.new)),
    }
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    shortened(&text, VALUE).into_owned()
}
