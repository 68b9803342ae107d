//! Answers as tables, and as metadata alone.

use super::*;

#[test]
fn objects_come_as_tables() {
    let mut server = server_with_config_maps(3);
    let list = table(&mut server, &format!("{CONFIG_MAPS}?limit=2"));
    assert_eq!((list.0, &list.1["kind"], &list.1["apiVersion"]), (200, &json!("Table"), &json!("meta.k8s.io/v1")));
    assert_eq!(list.1["metadata"]["remainingItemCount"], json!(1));
    assert!(list.1["metadata"]["continue"].is_string() && list.1["metadata"]["resourceVersion"].is_string());
    let column = |name: &str, format: &str| {
        let about = kinds::printers::columns::description("ConfigMap", name);
        json!({"name": name, "type": "string", "format": format, "description": about, "priority": 0})
    };
    assert_eq!(list.1["columnDefinitions"], json!([column("Name", "name"), column("Data", ""), column("Age", "")]));
    let rows = list.1["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[1]["cells"]), (2, &json!(["c1", 0, "2s"])));
    let partial = &rows[1]["object"];
    assert_eq!((&partial["kind"], &partial["metadata"]["name"]), (&json!("PartialObjectMetadata"), &json!("c1")));

    let one = &format!("{CONFIG_MAPS}/c0");
    let row = |server: &mut ApiServer, include: &str| {
        table(server, &format!("{one}?includeObject={include}")).1["rows"].clone()
    };
    assert_eq!(row(&mut server, "None"), json!([{"cells": ["c0", 0, "2s"], "object": null}]));
    assert_eq!(row(&mut server, "Object")[0]["object"]["kind"], json!("ConfigMap"));
    let all = table(&mut server, &format!("{CONFIG_MAPS}?includeObject=Object")).1;
    assert_eq!(all["rows"][1]["object"]["apiVersion"], json!("v1"));
    let (code, refused, _) = table(&mut server, &format!("{one}?includeObject=All"));
    let why = "Unable to convert to Table as requested: includeObject: Invalid value: \"All\": \
               must be 'Metadata', 'Object', 'None', or empty";
    assert_eq!((code, refused["message"].as_str()), (400, Some(why)));
    assert_eq!(table(&mut server, &format!("{CONFIG_MAPS}/none")).1["kind"], json!("Status"));

    let (_, _, lines) = table(&mut server, &format!("{CONFIG_MAPS}?watch=true"));
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let heads: Vec<bool> = events.iter().map(|event| event["object"]["columnDefinitions"].is_array()).collect();
    assert_eq!(heads, [true, false, false]);
    assert_eq!(events[2]["object"]["rows"][0]["cells"], json!(["c2", 0, "2s"]));
}

#[test]
fn a_table_of_another_group_is_none() {
    let mut server = server_with_config_maps(1);
    let user = || Some(Rc::new(User::admin()));
    for (accept, want) in [
        ("application/json;as=Table;v=v1;g=example.com, application/json", "ConfigMapList"),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", "Table"),
        ("application/json;as=Table;g=meta.k8s.io", "Status"),
        ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io, */*", "ConfigMapList"),
    ] {
        let http = HttpRequest { method: "GET", target: CONFIG_MAPS, accept, user: user(), ..HttpRequest::default() };
        assert_eq!(send_http(&mut server, &http).1["kind"], json!(want), "{accept}");
    }
}

#[test]
fn objects_come_as_their_metadata() {
    let mut server = server_with_config_maps(2);
    let mut ask = |target: &str, kind: &str| {
        let (user, accept) = (Some(Rc::new(User::admin())), format!("application/json;as={kind};g=meta.k8s.io;v=v1"));
        send_http(&mut server, &HttpRequest { method: "GET", target, accept: &accept, user, ..HttpRequest::default() })
    };
    let one = format!("{CONFIG_MAPS}/c0");
    let (code, object, _) = ask(&one, "PartialObjectMetadata");
    assert_eq!(
        (code, &object["kind"], &object["metadata"]["name"]),
        (200, &json!("PartialObjectMetadata"), &json!("c0"))
    );
    assert_eq!(object.as_object().map(serde_json::Map::len), Some(3));
    let (_, list, _) = ask(CONFIG_MAPS, "PartialObjectMetadataList");
    assert_eq!(list["items"][1]["kind"], json!("PartialObjectMetadata"));
    let (_, _, lines) = ask(&format!("{CONFIG_MAPS}?watch=true"), "PartialObjectMetadata");
    assert!(lines.lines().all(|line| line.contains("\"kind\":\"PartialObjectMetadata\"")), "{lines}");
    let wrong = "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)";
    let (code, status, _) = ask(CONFIG_MAPS, "PartialObjectMetadata");
    assert_eq!((code, &status["message"]), (406, &json!(wrong)));
}

/// A kind's own columns, each of the type that its definition gives it.
#[test]
fn a_custom_kind_has_its_own_columns() {
    let mut server = ApiServer::new(1);
    let column = |name: &str, type_: &str| json!({"name": name, "type": type_, "jsonPath": format!(".spec.{name}")});
    let definition = json!({"metadata": {"name": "games.example.com"}, "spec": {"group": "example.com", "scope": "Cluster",
        "names": {"plural": "games", "kind": "Game", "singular": "game", "listKind": "GameList"}, "versions": [{
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            "additionalPrinterColumns": [column("size", "integer"), column("rate", "number"), column("fun", "boolean")]}]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, told, _) = send(&mut server, "POST", definitions, "", &definition.to_string());
    assert_eq!(code, 201, "{told}");
    let established = json!({"status": {"conditions": [{"type": "Established", "status": "True", "reason": "x",
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}], "acceptedNames": definition["spec"]["names"],
        "storedVersions": ["v1"]}});
    let status = format!("{definitions}/games.example.com/status");
    let (code, told, _) = send(&mut server, "PATCH", &status, "application/merge-patch+json", &established.to_string());
    assert_eq!(code, 200, "{told}");
    let game = json!({"apiVersion": "example.com/v1", "kind": "Game", "metadata": {"name": "go"},
        "spec": {"size": 19, "rate": 0.5, "fun": true}});
    let games = "/apis/example.com/v1/games";
    let (code, told, _) = send(&mut server, "POST", games, "", &game.to_string());
    assert_eq!(code, 201, "{told}");
    let (_, told, _) = table(&mut server, games);
    assert_eq!(told["rows"][0]["cells"], json!(["go", 19, 0.5, true]));
    assert_eq!(told["columnDefinitions"][2]["type"], json!("number"));
}
