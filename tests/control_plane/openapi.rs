//! The OpenAPI documents, against the operations of a real server's and the messages of its protobuf.

use std::collections::{BTreeMap, BTreeSet};

use object::Discovery;
use rest::openapi::page;
use serde_json::Value;

use crate::raw::recorded::recording;

/// Path, method, action, kind and parameters of each operation of a document.
type Operations = BTreeSet<[String; 5]>;

fn document(name: &str) -> Option<Value> {
    let answer = page(&format!("/openapi/v3/{name}"), true, &Discovery::default());
    (answer.code == 200).then(|| serde_json::from_str(&answer.body).expect("a document is JSON"))
}

fn operations(document: &Value) -> Operations {
    let mut found = Operations::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten().filter(|(key, _)| *key != "parameters") {
            let of_query = [&item["parameters"], &operation["parameters"]];
            let of_query = of_query.into_iter().filter_map(Value::as_array).flatten();
            let names = of_query.filter(|one| one["in"] == "query").filter_map(|one| one["name"].as_str());
            let names: BTreeSet<&str> = names.collect();
            let of = &operation["x-kubernetes-group-version-kind"];
            let of = [&of["group"], &of["version"], &of["kind"]].map(|part| part.as_str().unwrap_or_default());
            let [group, version, kind] = of;
            let of = if kind.is_empty() { String::new() } else { format!("{group}/{version}/{kind}") };
            let action = operation["x-kubernetes-action"].as_str().unwrap_or_default().to_owned();
            let names = names.into_iter().collect::<Vec<_>>().join(",");
            found.insert([path.clone(), method.to_uppercase(), action, of, names]);
        }
    }
    found
}

#[test]
fn documents_have_the_operations_of_a_real_servers() {
    let Some(table) = recording("openapi-v3-operations-1.36.tsv") else { return };
    let mut real = BTreeMap::<String, Operations>::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let [document, method, path, action, of, names] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let row = [path, method, action, of, names].map(str::to_owned);
        real.entry(document.replace("__", "/")).or_default().insert(row);
    }
    let mut compared = 0;
    for (name, real) in real {
        // Of betas, and of what is off, there is none.
        let Some(document) = document(&name) else { continue };
        let ours = operations(&document);
        let (lacks, has) = (real.difference(&ours).collect::<Vec<_>>(), ours.difference(&real).collect::<Vec<_>>());
        assert!(lacks.is_empty() && has.is_empty(), "{name} lacks {lacks:#?}, has {has:#?}");
        compared += ours.len();
    }
    assert!(compared > 800, "{compared}");
}

#[test]
fn schemas_are_named_by_the_packages_of_their_types() {
    let Some(messages) = recording("proto-fields.tsv") else { return };
    let known: BTreeSet<String> = messages
        .lines()
        .filter_map(|line| Some(format!("io.k8s.{}", line.split_once('\t')?.0.replace('_', "-"))))
        .collect();
    // These have no fields to send, or are no messages.
    const OTHERS: [&str; 5] = ["FieldsV1", "Info", "MicroTime", "Patch", "Time"];
    let mut unknown = BTreeSet::new();
    let mut named = 0;
    let index: Value =
        serde_json::from_str(&page("/openapi/v3", true, &Discovery::default()).body).expect("it is JSON");
    for name in index["paths"].as_object().expect("it names documents").keys() {
        let document = document(name).expect("what the index names is there");
        let text = document.to_string();
        for (schema, _) in document["components"]["schemas"].as_object().into_iter().flatten() {
            named += 1;
            let last = schema.rsplit('.').next().unwrap_or_default();
            if !known.contains(schema) && !OTHERS.contains(&last) {
                unknown.insert(schema.clone());
            }
        }
        for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
            let wanted = reference.split('"').next().unwrap_or_default();
            assert!(document["components"]["schemas"][wanted].is_object(), "{name} names {wanted}, and has it not");
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
    assert!(named > 1_000, "{named}");
}
