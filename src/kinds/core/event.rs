//! Events, which two groups serve. Mirrors `pkg/apis/core/validation/events.go`: `v1` is asked little, `events.k8s.io/v1` that
//! all be said in the newer fields, and that nothing but the series change.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::EventSeries;
use serde_json::Value;

use crate::printers::cells::{event_source, name};
use crate::printers::columns::{Column, NAME, column, wide};
use crate::printers::duration::since;
use crate::printers::fields::{at, int, text, time};
use crate::row::{Facts, Row, Table, Validation};
use object::Accessor;
use object::event::Event;
use object::selector::names::{check_label_key, check_subdomain};
use object::validation::field::{Json, Path, Problems};
use object::validation::internal::Internal;
use object::validation::names::check_path_segment;

/// What the server knows of Events.
pub const ROW: Row<Event> = Row {
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        in_other_version: Some((validate_strictly, validate_update_strictly)),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        create_on_update: true,
        check_name: check_path_segment,
        table: Table {
            columns: &[
                column("Last Seen"),
                column("Type"),
                column("Reason"),
                column("Object"),
                wide("Subobject"),
                wide("Source"),
                column("Message"),
                wide("First Seen"),
                wide("Count"),
                Column { priority: 1, ..NAME },
            ],
            cells,
        },
        ..Facts::new("/registry/events/", 5)
    })
};

const UNSET: &str = "needs to be unset";

/// The longest reason, action and reporting instance.
const FIELD_LEN_MAX: usize = 128;

/// The longest message.
const NOTE_LEN_MAX: usize = 1024;

/// An Event of `v1`.
fn validate(problems: &mut Problems, event: &Event) {
    legacy(problems, event, "reportingComponent");
}

/// A new Event of `events.k8s.io/v1`.
fn validate_strictly(problems: &mut Problems, event: &Event) {
    legacy(problems, event, "reportingController");
    let name = event.metadata.name.as_deref().unwrap_or_default();
    problems.all_invalid(&Path::new("metadata").child("name"), name, check_subdomain(name));
    series(problems, event.newer().series.as_ref());
    if event.newer().event_time.is_none() {
        problems.required(&Path::new("eventTime"), "");
    }
    let type_ = event.type_.as_deref().unwrap_or_default();
    if !matches!(type_, "Normal" | "Warning") {
        problems.invalid(&Path::new("type"), "", &format!("has invalid value: {type_}"));
    }
    let source = event.reporter.source.clone().unwrap_or_default();
    for (name, is_set) in [
        ("firstTimestamp", event.first_timestamp.is_some()),
        ("lastTimestamp", event.last_timestamp.is_some()),
        ("count", event.count.unwrap_or_default() != 0),
        ("source", source.component.or(source.host).is_some()),
    ] {
        if is_set {
            problems.invalid(&Path::new(name), "", UNSET);
        }
    }
}

/// A change through `events.k8s.io/v1`.
fn validate_update_strictly(problems: &mut Problems, new: &Event, old: &Event) {
    legacy(problems, new, "reportingController");
    if new.newer().series != old.newer().series {
        series(problems, new.newer().series.as_ref());
    }
    let text = |field: &Option<Arc<str>>| field.as_deref().unwrap_or_default().to_owned();
    same_struct(problems, ("involvedObject", "ObjectReference"), &*new.involved_object, &*old.involved_object);
    same(problems, "reason", &text(&new.reason), &text(&old.reason));
    same(problems, "message", &text(&new.message), &text(&old.message));
    let source = |event: &Event| event.reporter.source.clone().unwrap_or_default();
    same_struct(problems, ("source", "EventSource"), &source(new), &source(old));
    same(problems, "firstTimestamp", &new.first_timestamp, &old.first_timestamp);
    same(problems, "lastTimestamp", &new.last_timestamp, &old.last_timestamp);
    same(problems, "count", &new.count, &old.count);
    same(problems, "type", &text(&new.type_), &text(&old.type_));
    same(problems, "eventTime", &new.newer().event_time, &old.newer().event_time);
    same(problems, "action", &new.newer().action, &old.newer().action);
    same_struct(problems, ("related", "*ObjectReference"), &new.newer().related, &old.newer().related);
    same(problems, "reportingController", &new.reporter.component, &old.reporter.component);
    same(problems, "reportingInstance", &new.reporter.instance, &old.reporter.instance);
}

fn cells(event: &Value, now: Timestamp) -> Vec<Value> {
    let seen = |paths: &[&str]| match paths.iter().find_map(|path| time(event, path)) {
        Some(time) => since(now, time),
        None => "<unknown>".to_owned(),
    };
    let series = !at(event, "series").is_null();
    let count = if series { int(event, "series.count") } else { int(event, "count").max(1) };
    let last = match series {
        true => seen(&["series.lastObservedTime"]),
        false => seen(&["lastTimestamp", "firstTimestamp", "eventTime"]),
    };
    let about = text(event, "involvedObject.kind").to_ascii_lowercase();
    let about = match text(event, "involvedObject.name") {
        "" => about,
        name => format!("{about}/{name}"),
    };
    let host = match text(event, "source.host") {
        "" => text(event, "reportingInstance"),
        host => host,
    };
    let component = event_source(event);
    cells![
        last,
        text(event, "type"),
        text(event, "reason"),
        about,
        text(event, "involvedObject.fieldPath"),
        if host.is_empty() { component.to_owned() } else { format!("{component}, {host}") },
        text(event, "message").trim().to_owned(),
        seen(&["firstTimestamp", "eventTime"]),
        count,
        name(event),
    ]
}

fn same<T: PartialEq + serde::Serialize>(problems: &mut Problems, name: &'static str, new: &T, old: &T) {
    if new != old {
        problems.invalid(&Path::new(name), Json(new), "field is immutable");
    }
}

/// The same of a struct, given the field's name and its Go type.
fn same_struct<T>(problems: &mut Problems, (name, go_type): (&'static str, &'static str), new: &T, old: &T)
where
    T: PartialEq + serde::Serialize,
{
    if new != old {
        problems.invalid(&Path::new(name), Internal(go_type, new), "field is immutable");
    }
}

fn series(problems: &mut Problems, series: Option<&EventSeries>) {
    let Some(series) = series else { return };
    if series.count.unwrap_or_default() < 2 {
        problems.invalid(&Path::new("series.count"), "", "should be at least 2");
    }
    if series.last_observed_time.is_none() {
        problems.required(&Path::new("series.lastObservedTime"), "");
    }
}

/// What both are asked: an Event lives in the namespace of what it is about. `controller` is the name of the field that
/// names the reporting component.
fn legacy(problems: &mut Problems, event: &Event, controller: &'static str) {
    let own = event.metadata.namespace();
    let about = event.involved_object.namespace.as_deref().unwrap_or_default();
    let is_new = event.newer().event_time.is_some();
    let fits = match about {
        "" if is_new => matches!(own, "default" | "kube-system"),
        "" => matches!(own, "" | "default"),
        about => is_new || own == about,
    };
    if !fits {
        let path = Path::new("involvedObject");
        problems.invalid(&path.child("namespace"), about, "does not match event.namespace");
    }
    if is_new {
        new_event(problems, event, controller);
    }
}

/// What an Event with an `eventTime` must say.
fn new_event(problems: &mut Problems, event: &Event, controller: &'static str) {
    let (path, name) = (Path::new(controller), event.reporter.component.as_deref().unwrap_or_default());
    if name.is_empty() {
        problems.required(&path, "");
    }
    problems.all_invalid(&path, name, check_label_key(name));
    for (name, text) in [
        ("reportingInstance", event.reporter.instance.as_deref()),
        ("action", event.newer().action.as_deref()),
        ("reason", event.reason.as_deref()),
    ] {
        let text = text.unwrap_or_default();
        if text.is_empty() {
            problems.required(&Path::new(name), "");
        }
        at_most(problems, name, text, FIELD_LEN_MAX);
    }
    at_most(problems, "message", event.message.as_deref().unwrap_or_default(), NOTE_LEN_MAX);
}

fn at_most(problems: &mut Problems, name: &'static str, text: &str, max: usize) {
    if text.len() > max {
        problems.invalid(&Path::new(name), "", &format!("can have at most {max} characters"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_says_what_it_is_about_and_who_tells_it() {
        let cells_of = |event: Value| cells(&event, Timestamp::UNIX_EPOCH);
        let told = cells_of(
            json!({"involvedObject": {"kind": "Pod", "name": "web"}, "source": {"component": "kubelet", "host": "n"},
            "reportingComponent": "kubelet", "reportingInstance": "other"}),
        );
        assert_eq!((&told[3], &told[5]), (&json!("pod/web"), &json!("kubelet, n")));
        let newer = json!({"involvedObject": {"kind": "Node"}, "reportingComponent": "default-scheduler",
            "reportingInstance": "default-scheduler-a"});
        let told = cells_of(newer);
        assert_eq!((&told[3], &told[5]), (&json!("node"), &json!("default-scheduler, default-scheduler-a")));
    }
}
