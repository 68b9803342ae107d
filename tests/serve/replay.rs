//! Sessions with clients, repeated without them.

use std::io::Write;

use serde_json::json;

use crate::http::{answer, ask, chunk, connect, watch};
use crate::program::{Served, folder, replayed, wait_for};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn deployment(replicas: u32) -> String {
    let labels = json!({"app": "web"});
    json!({"metadata": {"name": "web"}, "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template":
        {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}}})
    .to_string()
}

/// The saved session is the proof: its digest has two digits for each step, and opening it compares them.
#[test]
fn a_session_repeats_without_its_clients() {
    let mut served = Served::start(&["--speed", "50"]);
    let mut watching = watch(&served, "/api/v1/namespaces/default/pods?watch=1");
    let mut marked = watch(&served, "/api/v1/namespaces/default/configmaps?watch=1&allowWatchBookmarks=true");
    assert_eq!(ask(&served, "POST", DEPLOYMENTS, &deployment(2)).code, 201);
    let ready = "\"phase\":\"Running\"";
    while !chunk(&mut watching).expect("Pods come").contains(ready) {}
    drop(watching);
    while !chunk(&mut marked).expect("a bookmark comes each minute").contains("\"type\":\"BOOKMARK\"") {}
    assert_eq!(ask(&served, "DELETE", &format!("{DEPLOYMENTS}/web"), "").code, 200);
    let body = "{\"metadata\":{\"name\":\"it's\"}}";
    assert_eq!(ask(&served, "POST", "/api/v1/namespaces/default/configmaps", body).code, 422);
    let saved = served.end();
    assert!(saved.contains("do: hang-up 1"), "{saved}");
    let out = replayed(&served.folder, &saved, "clients\nbranches\n");
    assert!(out.contains("unknown POST /apis/apps/v1/namespaces/default/deployments"), "{out}");
}

/// As `kill -9` does it: the journal leads to where the last request came.
#[test]
fn a_session_is_resumed_after_its_program_was_killed() {
    let journal = folder();
    let arguments = ["--journal", journal.to_str().expect("it is text")];
    let mut served = Served::start(&arguments);
    let mut watching = watch(&served, "/api/v1/namespaces/default/pods?watch=1");
    assert_eq!(ask(&served, "POST", DEPLOYMENTS, &deployment(1)).code, 201);
    while !chunk(&mut watching).expect("Pods come").contains("\"phase\":\"Running\"") {}
    assert_eq!(ask(&served, "GET", &format!("{DEPLOYMENTS}/web"), "").code, 200);
    served.kill();
    let again = Served::in_folder(folder(), "serve", &[&arguments[..], &["--resume"]].concat());
    let web = ask(&again, "GET", &format!("{DEPLOYMENTS}/web"), "");
    assert_eq!((web.code, &web.json()["spec"]["replicas"]), (200, &json!(1)));
    let _ = std::fs::remove_dir_all(journal);
}

/// With the stepped clock a client waits for the user; going back cuts it off, and what it changed is gone.
#[test]
fn going_back_cuts_clients_off() {
    let mut served = Served::in_folder(folder(), "step", &["playground", "--serve"]);
    let mut watching = watch_when_stepped(&mut served);
    let mut asking = connect(&served);
    let body = "{\"metadata\":{\"name\":\"a\"}}";
    let head = format!(
        "POST {}/api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{body}",
        served.path,
        served.address,
        body.len()
    );
    asking.write_all(head.as_bytes()).expect("it reads");
    served.prints("wire/unknown-1 sends POST /api/v1/namespaces/default/configmaps");
    served.type_line("wait 1");
    let made = answer(&mut std::io::BufReader::new(asking));
    assert_eq!(made.code, 201);
    assert!(chunk(&mut watching).expect("it is told").contains("\"name\":\"a\""));
    served.type_line("goto 1");
    assert_eq!(chunk(&mut watching), None, "its connection is cut off");
    // In the past a client waits, until the user starts a new branch.
    let mut asking = connect(&served);
    let head = format!(
        "GET {}/api/v1/namespaces/default/configmaps/a HTTP/1.1\r\nHost: {}\r\n\r\n",
        served.path, served.address
    );
    asking.write_all(head.as_bytes()).expect("it reads");
    served.prints("a client waits: the session is at an earlier step");
    served.type_line("go");
    assert_eq!(answer(&mut std::io::BufReader::new(asking)).code, 404);
    served.type_line("branches");
    served.prints("(this one)");
}

/// A client is an actor: what is decided about actors is decided about it.
#[test]
fn a_client_can_be_refused_and_stopped_at() {
    let mut served = Served::in_folder(folder(), "step", &["playground", "--serve", "--clock", "fast"]);
    let post = |served: &Served, name: &str| {
        let body = json!({"metadata": {"name": name}}).to_string();
        let mut asking = connect(served);
        let head = format!(
            "POST {}/api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{body}",
            served.path,
            served.address,
            body.len()
        );
        asking.write_all(head.as_bytes()).expect("it reads");
        std::io::BufReader::new(asking)
    };
    assert_eq!(answer(&mut post(&served, "a")).code, 201);
    served.type_line("fail wire/* create configmaps with 409");
    served.type_line("break wire/unknown-1 create configmaps request");
    served.type_line("clock");
    served.prints("the clock is fast");
    let mut asked = post(&served, "b");
    served.prints("the clock is stepped; go lets time run on");
    served.type_line("go");
    assert_eq!(answer(&mut asked).code, 409);
}

/// A watch that is open, as the user lets time pass.
fn watch_when_stepped(served: &mut Served) -> std::io::BufReader<std::net::TcpStream> {
    let mut stream = connect(served);
    let path = "/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name%3Da";
    let head = format!("GET {}{path} HTTP/1.1\r\nHost: {}\r\n\r\n", served.path, served.address);
    stream.write_all(head.as_bytes()).expect("it reads");
    served.prints("wire/unknown-1 sends GET");
    served.type_line("wait 1");
    let mut stream = std::io::BufReader::new(stream);
    let head = wait_for("the head of the watch", || Some(crate::http::head(&mut stream)));
    assert_eq!(head.code, 200);
    stream
}
