//! What a client gets, and who it is.

use serde_json::{Value, json};

use crate::http::{ask, chunk, raw, watch};
use crate::program::Served;

const PODS: &str = "/api/v1/namespaces/default/pods";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn a_request_is_answered_and_a_watch_is_told() {
    let served = Served::start(&["--clock", "fast"]);
    let version = ask(&served, "GET", "/version/", "");
    assert_eq!((version.code, &version.json()["major"]), (200, &json!("1")));
    let mut watching = watch(&served, &format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=100"));
    let root = chunk(&mut watching).expect("kube-root-ca.crt is there");
    assert!(root.starts_with("{\"type\":\"ADDED\""), "{root}");
    let made = ask(&served, "POST", CONFIG_MAPS, &json!({"metadata": {"name": "a"}, "data": {"k": "ä"}}).to_string());
    assert_eq!(made.code, 201, "{made:?}");
    let told = chunk(&mut watching).expect("it is told");
    assert!(told.contains("\"name\":\"a\"") && told.contains('ä') && told.ends_with('\n'), "{told}");
    assert_eq!(ask(&served, "GET", "/nothing/here", "").code, 404);
    assert_eq!(ask(&served, "HEAD", "/version", "").body, "");
}

#[test]
fn a_watch_ends_when_its_time_is_over() {
    let served = Served::start(&["--speed", "20"]);
    let mut watching = watch(&served, &format!("{PODS}?watch=1&timeoutSeconds=10"));
    assert_eq!(chunk(&mut watching), None);
}

/// Each minute, and shortly before the end, to a client that has asked for it.
#[test]
fn a_watch_says_how_far_it_has_come() {
    let served = Served::start(&["--speed", "50"]);
    let path = format!("{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Dkube-root-ca.crt&timeoutSeconds=130");
    let open = [watch(&served, &path), watch(&served, &format!("{path}&allowWatchBookmarks=true"))];
    let [silent, told] = open.map(|mut watch| std::iter::from_fn(move || chunk(&mut watch)).collect::<Vec<_>>());
    assert!(silent.iter().all(|line| !line.contains("BOOKMARK")), "{silent:?}");
    let mut revisions = Vec::new();
    for line in &told[silent.len()..] {
        let event: Value = serde_json::from_str(line).expect("a line is JSON");
        let revision = &event["object"]["metadata"]["resourceVersion"];
        revisions.push(revision.as_str().and_then(|text| text.parse::<u64>().ok()).expect("a bookmark has one"));
        let object =
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": revision.clone()}});
        assert_eq!(event, json!({"type": "BOOKMARK", "object": object}));
    }
    assert!(revisions.len() == 3 && revisions.is_sorted_by(|one, next| one < next), "{revisions:?}");
}

/// No event comes for some seconds, and the user looks in the meantime: time passes all the same.
#[test]
fn time_passes_where_nothing_happens() {
    let served = Served::start(&["--clock", "fast"]);
    let mut watching = watch(&served, &format!("{PODS}?watch=1&timeoutSeconds=12"));
    assert_eq!(chunk(&mut watching), None);
    let page = raw(&served, "GET", "/", &format!("Host: {}\r\n", served.address), "");
    assert!(page.code == 200 && page.body.contains("<h2>Under way</h2><p>None."), "{}", page.body);
}

#[test]
fn a_secret_says_who_comes() {
    let served = Served::start(&["--clock", "fast", "--as", "jane:developers"]);
    let host = format!("Host: {}\r\n", served.address);
    let janes = std::fs::read_to_string(served.folder.join("kubeconfig-jane")).expect("she has a kubeconfig");
    let janes = janes.split(&served.address).nth(1).and_then(|path| path.split('"').next()).expect("a path");
    let pods = raw(&served, "GET", &format!("{janes}{PODS}"), &host, "");
    let message = pods.json()["message"].as_str().unwrap_or_default().to_owned();
    assert!(pods.code == 403 && message.contains("User \"jane\" cannot list resource \"pods\""), "{pods:?}");
    for target in [PODS.to_owned(), format!("/s/guess{PODS}"), "/s/".to_owned(), format!("{}x{PODS}", served.path)] {
        assert_eq!(raw(&served, "GET", &target, &host, "").code, 401, "{target}");
    }
    // A token of the cluster needs no secret.
    let asked = json!({"spec": {"audiences": []}}).to_string();
    let token = ask(&served, "POST", "/api/v1/namespaces/default/serviceaccounts/default/token", &asked);
    let bearer =
        format!("{host}Authorization: Bearer {}\r\n", token.json()["status"]["token"].as_str().expect("a token"));
    let pods = raw(&served, "GET", PODS, &bearer, "");
    assert!(pods.code == 403 && pods.body.contains("system:serviceaccount:default:default"), "{pods:?}");
    assert_eq!(raw(&served, "GET", PODS, &format!("{host}Authorization: Bearer x\r\n"), "").code, 401);
}

#[test]
fn other_hosts_and_other_sites_are_refused() {
    let served = Served::start(&[]);
    let (target, address) = (format!("{}{PODS}", served.path), &served.address);
    for headers in [
        "Host: evil.example\r\n".to_owned(),
        format!("Host: {address}\r\nOrigin: http://evil.example\r\n"),
        format!("Host: {address}\r\nOrigin: null\r\n"),
    ] {
        assert_eq!(raw(&served, "GET", &target, &headers, "").code, 403, "{headers}");
        assert_eq!(raw(&served, "GET", "/", &headers, "").code, 403, "{headers}");
    }
    let port = address.rsplit(':').next().expect("a port");
    assert_eq!(raw(&served, "GET", &target, &format!("Host: localhost:{port}\r\n"), "").code, 200);
}

#[test]
fn the_page_says_who_is_connected_and_no_secret() {
    let served = Served::start(&[]);
    let _watching = watch(&served, &format!("{PODS}?watch=1"));
    let page = raw(&served, "GET", "/", &format!("Host: {}\r\n", served.address), "");
    assert_eq!(page.code, 200);
    assert!(page.body.contains("wire/unknown-1") && page.body.contains("watches"), "{}", page.body);
    assert!(!page.body.contains(served.path.trim_start_matches("/s/")), "{}", page.body);
}
