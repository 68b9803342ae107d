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

#[cfg(unix)]
#[test]
fn a_session_runs_with_a_learners_code_or_says_why_not() {
    const WITH: &str = "deployment&exercise=replicaset";
    let project = project(SCENE);
    crate::project::with_exercise(&project, "no Rust");
    let server = Server::start(&project);
    let (token, origin) = (server.token(), format!("http://{}", server.address));
    let session = |scenario: &str| server.session(&origin, &token, scenario);
    for unknown in ["deployment&exercise=nothing", "deployment&exercise=queue", "deployment&exercise=--help"] {
        assert!(session(unknown).err().unwrap_or_default().contains("404"), "{unknown}");
    }
    // What does not compile is told in the compiler's words.
    let said = session(WITH).expect("there is such an exercise").line();
    let message = said["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("replicaset does not compile:") && message.contains("expected item"), "{said}");
    assert_eq!(said["kind"], "error");
    // Without it the cluster has its own.
    assert_eq!(session("deployment").expect("there is such a scenario").line()["kind"], "hello");

    fs::write(project.0.join("exercises/06_replicaset/src/lib.rs"), "fn mended() {}").expect("a file can be written");
    let mut live = session(WITH).expect("there is such an exercise");
    assert_eq!(live.line()["kind"], "hello");
    let stop = live.ask("until create pods request");
    assert_eq!(stop["kind"], "stop", "{stop}");
    // The lines at which the cluster's own waits are known; a learner's are in another process.
    let own = |stop: &serde_json::Value| stop["waiting"].to_string().contains("src/controllers/replicaset");
    assert!(!own(&stop), "{stop}");
    let folders = fs::read_dir(project.0.join("target")).expect("sessions work there");
    assert!(folders.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("kubestep-live-")));
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
