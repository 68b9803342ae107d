use object::Object;
use serde_json::{Value, json};

use super::*;

fn definition(served: &[&str]) -> Object {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
            "size": {"type": "integer", "description": "How big.", "minimum": 1},
        }},
    }}});
    let version = |name: &&str| {
        json!({"name": name, "served": true, "storage": *name == "v1", "schema": schema,
            "subresources": {"status": {}}})
    };
    let value = json!({"metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": served.iter().map(version).collect::<Vec<_>>()},
        "status": {"conditions": [{"type": "Established", "status": "True"}]}});
    Kind::CustomResourceDefinition.decode(value).expect("it is a definition")
}

fn get(target: &str, known: &Discovery) -> HttpAnswer {
    page(target, true, known)
}

fn header<'a>(answer: &'a HttpAnswer, name: &str) -> Option<&'a str> {
    answer.headers.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
}

fn read(answer: &HttpAnswer) -> Value {
    serde_json::from_str(&answer.body).expect("it is JSON")
}

#[test]
fn the_index_names_documents_by_their_hash() {
    let known = Discovery::default();
    let index = get("/openapi/v3", &known);
    assert_eq!((index.code, index.content_type), (200, TEXT));
    let url = read(&index)["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap_or_default().to_owned();
    let found = get(&url, &known);
    let hash = url.split_once("?hash=").expect("it has a hash").1;
    assert_eq!((found.code, found.content_type), (200, "application/json"));
    assert_eq!(header(&found, "Etag"), Some(format!("{hash:?}").as_str()));
    assert_eq!(header(&found, "Cache-Control"), Some("public, immutable"));
    assert_eq!(header(&found, "Expires"), Some(NEVER));
    assert!(header(&found, "Last-Modified").is_some());
    let named = get("/openapi/v3/apis/apps/v1", &known);
    assert_eq!((header(&named, "Cache-Control"), header(&named, "Expires")), (None, None));
    let stale = get("/openapi/v3/apis/apps/v1?hash=ABC&timeout=32s", &known);
    assert_eq!((stale.code, stale.body.as_str(), header(&stale, "Location")), (301, "", Some(url.as_str())));
}

#[test]
fn what_is_not_there_has_no_body() {
    let known = Discovery::default();
    for target in ["/openapi/v3/apis/nope/v1", "/openapi", "/openapi/v4", "/openapi/v3/apis/example.com/v1"] {
        let answer = get(target, &known);
        assert_eq!((answer.code, answer.content_type, answer.body.as_str()), (404, "", ""), "{target}");
        assert!(!is_served(target, &known), "{target}");
    }
    let in_yaml = page("/openapi/v3/apis/apps/v1", false, &known);
    assert_eq!((in_yaml.code, in_yaml.content_type, in_yaml.body.as_str()), (406, "", ""));
    assert!(is_served("/openapi/v3/apis/apps/v1", &known) && is_served("/openapi/v2", &known));
}

#[test]
fn patches_say_what_becomes_of_unknown_fields() {
    let document = read(&get("/openapi/v3/apis/apps/v1", &Discovery::default()));
    let patch = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    let of = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    assert_eq!(patch["x-kubernetes-group-version-kind"], of);
    let names = patch["parameters"].as_array().expect("it has some").iter().map(|one| one["name"].as_str());
    assert!(names.into_iter().any(|name| name == Some("fieldValidation")));
    let containers = &document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
}

#[test]
fn a_custom_kind_has_the_schema_of_its_definition() {
    let one = Discovery::of(&[definition(&["v1"])]);
    let two = Discovery::of(&[definition(&["v1", "v2"])]);
    let document = read(&get("/openapi/v3/apis/example.com/v1", &one));
    assert_eq!(document["info"]["title"], "Kubernetes CRD Swagger");
    assert_eq!(document["paths"].as_object().map(serde_json::Map::len), Some(4), "all, one, everywhere, its status");
    let widget = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(widget["properties"]["spec"]["properties"]["size"]["description"], "How big.");
    assert_eq!(widget["properties"]["spec"]["properties"]["size"]["minimum"], json!(1));
    let metadata = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(widget["properties"]["metadata"]["allOf"][0]["$ref"], metadata);
    let url = |known: &Discovery, name: &str| read(&get("/openapi/v3", known))["paths"][name].clone();
    assert_ne!(url(&one, "apis/example.com/v1"), url(&two, "apis/example.com/v1"), "its definition has changed");
    assert_eq!(url(&one, "apis/apps/v1"), url(&two, "apis/apps/v1"));
    assert_eq!(url(&one, "apis/example.com/v2"), Value::Null);
}

#[test]
fn the_old_document_says_what_it_is_about() {
    let known = Discovery::default();
    assert_eq!(read(&get("/openapi/v2", &known))["swagger"], "2.0");
    let binary = page("/openapi/v2", false, &known);
    // Length-delimited fields 1, 2 and 8, one after the other to the end.
    let bytes = binary.body.as_bytes();
    let (mut at, mut fields) = (0, Vec::new());
    while at < bytes.len() {
        fields.push(bytes[at] >> 3);
        at += 2 + usize::from(bytes[at + 1]);
    }
    assert_eq!((at, fields), (bytes.len(), vec![1, 2, 8]));
}
