//! Objects as tables: what `Accept: application/json;as=Table` gives, and what `kubectl get` lines up.
//!
//! - [`columns`]: what tables are made of; which columns a kind has, and what stands in them, says its row. [`layout`]: how a
//!   kind shows by that.
//! - [`cells`], [`workloads`], [`service`], [`storage`], [`ingress`]: what tables and pages of `describe` both show; [`pod`]: the
//!   one hard cell, a Pod's status.
//! - [`duration`], [`fields`]: what they are made of.
//!
//! All of it is pure: objects as JSON and the time it is, in; cells, out.
//!
//! Mirrors `pkg/printers` and `asTable` of `k8s.io/apiserver/pkg/endpoints/handlers/response.go`.

use jiff::Timestamp;
use serde_json::{Value, json};

use object::metrics::Metrics;
use object::{Discovery, Kind};
/// The cells of a row, each of them any JSON value.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$(serde_json::Value::from($cell)),*] };
}

pub mod cells;
pub mod columns;
pub mod duration;
pub mod fields;
pub mod ingress;
pub mod layout;
pub mod pod;
pub mod service;
pub mod storage;
pub mod workloads;

/// The group and version of what is made of objects for an answer.
pub const META: &str = "meta.k8s.io/v1";

/// What comes with a row: `includeObject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// A PartialObjectMetadata.
    #[default]
    Metadata,
    /// All of the object.
    Object,
}

impl Include {
    /// Reads `includeObject`; none if it is no such word.
    pub fn parse(text: &str) -> Option<Include> {
        match text {
            "" | "Metadata" => Some(Include::Metadata),
            "None" => Some(Include::None),
            "Object" => Some(Include::Object),
            _ => None,
        }
    }

    fn of(self, kind: Kind, object: &Value) -> Value {
        match self {
            Include::None => Value::Null,
            Include::Metadata => partial(object),
            // An item of a list does not say what it is, and a row does.
            Include::Object => {
                let mut object = object.clone();
                object["kind"] = kind.info().kind.into();
                object["apiVersion"] = kind.info().api_version.into();
                object
            }
        }
    }
}

/// Nothing of an object but its metadata: a PartialObjectMetadata.
pub fn partial(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": object["metadata"]})
}

/// What tables are made with.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The time it is, by which things have an age.
    pub now: Timestamp,
    /// The kinds that users have defined, and the columns that they gave them.
    pub known: &'a Discovery,
}

/// A Table of one `autoscaling/v1 Scale`, which is not kept and has no row of its own. Mirrors `printScale`.
pub fn scale_table(scale: &Value, metadata: Value, include: Include, now: Timestamp) -> Value {
    let columns = [columns::column("Name"), columns::integer("Desired"), columns::integer("Available"), columns::AGE];
    let replicas = |part: &str| fields::int(scale, &format!("{part}.replicas"));
    let cells = cells![cells::name(scale), replicas("spec"), replicas("status"), cells::created(scale, now)];
    let object = match include {
        Include::None => Value::Null,
        Include::Metadata => partial(scale),
        Include::Object => scale.clone(),
    };
    let definitions: Vec<Value> = columns.iter().map(|column| column.definition("Scale")).collect();
    json!({"kind": "Table", "apiVersion": META, "metadata": metadata, "columnDefinitions": definitions,
        "rows": [{"cells": cells, "object": object}]})
}

/// A Table of what Pods or nodes use, as metrics-server makes it: whether objects come with the rows is not asked, and a list of
/// nothing has no columns. Mirrors `addPodMetricsToTable`.
pub fn metrics_table(of: Kind, all: &[Metrics]) -> Value {
    let row = |metrics: &Metrics| {
        let usage = metrics.total();
        let amount = |resource| usage.of(resource).map(|amount| amount.to_string());
        let cells = cells![metrics.name.clone(), amount("cpu"), amount("memory"), metrics.window()];
        json!({"cells": cells, "object": metrics.to_json(of)})
    };
    let definition = |(name, format, about)| json!({"name": name, "type": "string", "format": format, "description": about, "priority": 0});
    let columns = [
        ("Name", "name", "Name of the resource"),
        ("cpu", "quantity", ""),
        ("memory", "quantity", ""),
        ("Window", "duration", ""),
    ];
    let definitions: Vec<Value> =
        if all.is_empty() { Vec::new() } else { columns.into_iter().map(definition).collect() };
    let rows: Vec<Value> = all.iter().map(row).collect();
    json!({"kind": "Table", "apiVersion": META, "metadata": {}, "columnDefinitions": definitions, "rows": rows})
}

/// A Table of objects of one kind, with this metadata.
pub fn table(kind: Kind, objects: &[Value], metadata: Value, include: Include, View { now, known }: View) -> Value {
    let layout = layout::layout(kind, known);
    let row = |object: &Value| json!({"cells": (layout.cells)(object, now), "object": include.of(kind, object)});
    let definition = |column: &columns::Column| {
        let mut definition = column.definition(kind.info().kind);
        if let Some(about) = known.columns(kind).and_then(|columns| layout::about(columns, column.name)) {
            definition["description"] = about.into();
        }
        definition
    };
    let definitions: Vec<Value> = layout.columns.iter().map(definition).collect();
    let rows: Vec<Value> = objects.iter().map(row).collect();
    json!({"kind": "Table", "apiVersion": META, "metadata": metadata, "columnDefinitions": definitions, "rows": rows})
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use object::metrics::Usage;
    use object::time::Instant;

    use super::*;

    #[test]
    fn a_table_of_metrics_sums_up_containers() {
        let usage = Usage { cpu_millis: 250, memory_bytes: 64 << 20 };
        let metrics = Metrics {
            namespace: "default".into(),
            name: "web-1".into(),
            timestamp: Instant(0),
            window: Duration::from_secs(15),
            containers: vec![("nginx".into(), usage), ("log".into(), usage)],
        };
        let table = metrics_table(Kind::Pod, &[metrics]);
        assert_eq!(table["rows"][0]["cells"], json!(["web-1", "500m", "128Mi", "15s"]));
        assert_eq!(table["rows"][0]["object"]["kind"], "PodMetrics");
        assert_eq!(metrics_table(Kind::Pod, &[])["columnDefinitions"], json!([]));
    }
}
