//! What is served, and to whom.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use crate::project::project;
use crate::server::Server;

const SCENE: &str = "# A\n\n```scene pod from=\"create pods request\" to=\"create pods/binding request\"\n```\n";

#[test]
fn pages_are_for_this_machine_alone() {
    let project = project(SCENE);
    let server = Server::start(&project);
    let page = server.get("/a.html");
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains("ks-scene"), "{page:.300}");
    assert!(server.get("/").contains("302 Found"));
    let port = server.address.rsplit(':').next().unwrap_or_default();
    assert!(server.get_as(&format!("localhost:{port}"), "/a.html").contains("200 OK"));
    for host in ["evil.example", "evil.example:80", ""] {
        assert!(server.get_as(host, "/a.html").contains("403 Forbidden"), "{host}");
    }
    for path in
        ["/nothing.html", "/../book/book.toml", "/%2e%2e/book/book.toml", "/..%2fbook/book.toml", "//etc/passwd"]
    {
        assert!(server.get(path).contains("404 Not Found"), "{path}");
    }
    // What the server writes into pages it serves is in no file.
    let file = fs::read_to_string(project.0.join("out/a.html")).expect("the page is there");
    assert!(!file.contains("kubestep-live\" content"));
}

#[test]
fn sessions_are_for_pages_of_this_run() {
    let project = project(SCENE);
    let server = Server::start(&project);
    let (token, origin) = (server.token(), format!("http://{}", server.address));
    assert!(token.len() >= 32 && token != Server::start(&project).token());
    for (origin, token, scenario, status) in [
        ("http://evil.example", token.as_str(), "pod", "403"),
        ("null", token.as_str(), "pod", "403"),
        (origin.as_str(), "", "pod", "403"),
        (origin.as_str(), "x", "pod", "403"),
        (origin.as_str(), token.as_str(), "nowhere", "404"),
        (origin.as_str(), token.as_str(), "--help", "404"),
        (origin.as_str(), token.as_str(), "..%2Fbook", "404"),
    ] {
        let error = server.session(origin, token, scenario).err().unwrap_or_default();
        assert!(error.contains(status), "{origin} {scenario}: {error:?}");
    }
    assert!(server.session(&origin, &token, "pod").is_ok());
}

#[test]
fn two_pages_are_two_sessions_that_take_commands() {
    let project = project(SCENE);
    let server = Server::start(&project);
    let (token, origin) = (server.token(), format!("http://{}", server.address));
    let session = || server.session(&origin, &token, "pod").unwrap_or_else(|error| panic!("{error}"));
    let (mut one, mut two) = (session(), session());
    for live in [&mut one, &mut two] {
        assert_eq!(live.line()["kind"], "hello");
    }
    let stop = one.ask("until create pods request");
    assert_eq!((stop["kind"].as_str(), stop["event"]["class"].as_str()), (Some("stop"), Some("request")));
    assert_eq!(two.ask("show")["kind"], "text", "the other has not moved");
    assert_eq!(one.ask("nonsense")["kind"], "error");
    // A line is a line, whatever is in it.
    assert_eq!(one.ask("show\nstep")["kind"], "error");
    let step = stop["step"].as_u64().expect("stops have numbers");
    assert_eq!(two.ask(&format!("goto {step}"))["step"], step);

    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: edited}\n";
    two.say(&serde_json::json!({"file": manifest}));
    two.ask("apply -f edit.yaml");
    two.ask("run");
    let found = two.ask("get configmaps edited -o name");
    assert!(found["text"].as_str().is_some_and(|text| text.contains("configmap/edited")), "{found}");
    let missing = one.ask("get configmaps edited -o name");
    assert!(!missing["text"].as_str().unwrap_or_default().contains("configmap/edited"), "{missing}");
    assert_eq!(one.ask("quit")["kind"], "text");
    assert_eq!(one.line()["kind"], "end");
}

#[test]
fn pages_are_built_again_and_mistakes_are_told() {
    let project = project(SCENE);
    let server = Server::start(&project);
    let chapter = project.0.join("book/src/a.md");
    let comes = |what: &dyn Fn() -> bool| {
        (0..300).any(|_| {
            what() || {
                sleep(Duration::from_millis(100));
                false
            }
        })
    };
    fs::write(&chapter, format!("{SCENE}\nanother sentence\n")).expect("a file can be written");
    assert!(comes(&|| server.get("/a.html").contains("another sentence")));
    fs::write(&chapter, "```scene nowhere\n```\n").expect("a file can be written");
    assert!(comes(&|| server.get("/.kubestep/build").contains("a.md:1: ")));
    assert!(server.get("/a.html").contains("another sentence"), "the last good pages stay");
}
