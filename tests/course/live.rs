//! What is served, and to which clients.

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
    assert!(page.contains("href=\"#mdbook-content\">Skip") && page.contains("id=\"mdbook-content\""), "{page:.300}");
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
    // Another program of this machine may read, and finds no token.
    let token = server.cookie().split_once('=').expect("it has a name").1;
    assert!(token.len() >= 32 && !page.contains(token) && !page.contains("kubestep-live"), "{page:.600}");
    // What the server writes into pages it serves is in no file.
    let file = fs::read_to_string(project.0.join("out/a.html")).expect("the page is there");
    assert!(!file.contains("kubestep-live\" content"));
}

#[test]
fn the_printed_address_becomes_a_cookie() {
    let project = project(SCENE);
    let server = Server::start(&project);
    let opened = server.raw(&format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", path_of(&server.url), server.address));
    assert!(opened.contains("302 Found") && opened.contains("Location: /\r\n"), "{opened}");
    assert!(opened.contains("; HttpOnly; SameSite=Strict"), "{opened}");
    let wrong = server.get("/?token=x");
    assert!(wrong.contains("403 Forbidden") && !wrong.contains("Set-Cookie"), "{wrong}");
    let request = format!("GET /a.html HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n", server.address, server.cookie());
    assert!(server.raw(&request).contains("<meta name=\"kubestep-live\""));
}

fn path_of(url: &str) -> &str {
    url.trim_start_matches("http://").find('/').map_or("/", |at| &url.trim_start_matches("http://")[at..])
}

#[test]
fn answers_are_what_browsers_expect() {
    let project = project(SCENE);
    let server = Server::start(&project);
    let host = &server.address;
    let head = server.raw(&format!("HEAD /a.html HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.ends_with("\r\n\r\n"), "{head}");
    let length = head.split_once("Content-Length: ").expect("it says how long").1;
    assert_ne!(length.split("\r\n").next(), Some("0"));
    assert!(server.raw(&format!("POST /a.html HTTP/1.1\r\nHost: {host}\r\n\r\n")).contains("400 Bad Request"));
    // The book's own page for addresses that lead nowhere.
    let missing = server.get("/nothing.html");
    assert!(missing.contains("404 Not Found") && missing.contains("Document not found"), "{missing:.2000}");
    let policy = server.get("/a.html");
    let policy = policy.split_once("Content-Security-Policy: ").expect("there is one").1;
    let policy = policy.split("\r\n").next().unwrap_or_default();
    let scripts = policy.split_once("script-src ").expect("it speaks of scripts").1.split(';').next();
    // WebAssembly may be compiled, which is no script.
    let scripts = scripts.unwrap_or_default().replace("'wasm-unsafe-eval'", "");
    assert!(scripts.contains("'sha256-") && !scripts.contains("unsafe"), "{policy}");
}

#[test]
fn sessions_are_for_pages_of_this_run() {
    let project = project(SCENE);
    let server = Server::start(&project);
    let (cookie, origin) = (server.cookie(), format!("http://{}", server.address));
    assert_ne!(cookie, Server::start(&project).cookie());
    for foreign in ["http://evil.example", "null"] {
        let error = server.session(foreign, cookie, "pod").err().unwrap_or_default();
        assert!(error.contains("403"), "{foreign}: {error:?}");
    }
    // A page of ours is refused in words: a script cannot see why a WebSocket was not opened.
    for (cookie, scenario, words) in [
        ("", "pod", "may not run sessions"),
        ("kubestep=x", "pod", "may not run sessions"),
        (cookie, "nowhere", "no such scenario"),
        (cookie, "--help", "no such scenario"),
        (cookie, "..%2Fbook", "no such scenario"),
    ] {
        let said = server.session(&origin, cookie, scenario).expect("it is opened").line();
        assert!(said["message"].as_str().is_some_and(|message| message.contains(words)), "{scenario}: {said}");
    }
    assert_eq!(server.session(&origin, cookie, "pod").expect("it is opened").line()["kind"], "hello");
}

#[test]
fn a_session_that_is_sent_too_much_at_once_ends_and_gives_its_place_back() {
    let project = project(SCENE);
    let server = Server::start(&project);
    let (cookie, origin) = (server.cookie(), format!("http://{}", server.address));
    // More than there are places for, one after another.
    for _ in 0..20 {
        let mut live = server.session(&origin, cookie, "deployment").expect("it is opened");
        assert_eq!(live.line()["kind"], "hello");
        for _ in 0..1_000 {
            if !live.try_say(&serde_json::json!({"line": "get pods -A -o json"})) {
                break;
            }
        }
        let last = std::iter::from_fn(|| live.try_line()).last().expect("something was said");
        let words = last["message"].as_str().unwrap_or_default().to_owned();
        assert!(words.contains("wait for their answers"), "{words:.200}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_ends_with_the_server() {
    let project = project(SCENE);
    let server = Server::start(&project);
    let (cookie, origin) = (server.cookie(), format!("http://{}", server.address));
    let mut live = server.session(&origin, cookie, "pod").expect("it is opened");
    assert_eq!(live.line()["kind"], "hello");
    let children = || {
        let path = format!("/proc/{0}/task/{0}/children", server.id());
        fs::read_to_string(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let children = children();
    assert!(!children.is_empty());
    let _ = std::process::Command::new("kill").args(["-9", &server.id().to_string()]).status();
    let gone = |id: &String| {
        let state = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    };
    assert!((0..100).any(|_| {
        sleep(Duration::from_millis(100));
        children.iter().all(gone)
    }));
}

#[test]
fn two_pages_are_two_sessions_that_take_commands() {
    let project = project(SCENE);
    let server = Server::start(&project);
    let (cookie, origin) = (server.cookie(), format!("http://{}", server.address));
    let session = || server.session(&origin, cookie, "pod").unwrap_or_else(|error| panic!("{error}"));
    let (mut one, mut two) = (session(), session());
    for live in [&mut one, &mut two] {
        assert_eq!(live.line()["kind"], "hello");
    }
    let stop = one.ask("until create pods request");
    assert_eq!((stop["kind"].as_str(), stop["event"]["class"].as_str()), (Some("stop"), Some("request")));
    assert_eq!(two.ask("show")["kind"], "text", "the other has not moved");
    assert_eq!(one.ask("nonsense")["kind"], "error");
    // A message is one command, even if it contains a newline.
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
    let (cookie, origin) = (server.cookie(), format!("http://{}", server.address));
    let session = |scenario: &str| server.session(&origin, cookie, scenario);
    for unknown in ["deployment&exercise=nothing", "deployment&exercise=queue", "deployment&exercise=--help"] {
        let said = session(unknown).expect("it is opened").line();
        assert!(said["message"].as_str().unwrap_or_default().contains("no such exercise"), "{unknown}: {said}");
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
