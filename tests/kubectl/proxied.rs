//! `get --raw` of what stands behind a proxy of the API server.

use std::path::Path;

use serde_json::{Value, json};

use crate::shell::Shell;

#[test]
fn a_kubelet_has_pages_of_its_own() {
    let mut shell = Shell::new(Path::new("."), "pages");
    shell.line("kubectl run web --image=nginx:1.27 --overrides='{\"spec\":{\"nodeName\":\"node-1\"}}'");
    shell.line("kubectl wait --for=condition=Ready pod/web");
    let mut page = |node: &str, path: &str| {
        let shown = shell.line(&format!("kubectl get --raw /api/v1/nodes/{node}/proxy{path}"));
        shown.trim_end().to_owned()
    };
    assert_eq!(["/healthz", "/healthz/syncloop"].map(|path| page("node-1", path)), ["ok", "ok"]);
    let pods: Value = serde_json::from_str(&page("node-1", "/pods")).expect("it is JSON");
    let names: Vec<&Value> =
        pods["items"].as_array().into_iter().flatten().map(|pod| &pod["metadata"]["name"]).collect();
    assert!(pods["kind"] == "PodList" && names.contains(&&json!("web")), "{names:?}");
    let configz: Value = serde_json::from_str(&page("https:node-1:10250", "/configz")).expect("it is JSON");
    assert_eq!(configz["kubeletconfig"]["nodeStatusUpdateFrequency"], "10s");
    const NONE: &str = "Error from server (NotFound): the server could not find the requested resource";
    assert_eq!(["/metrics", "/", ""].map(|path| page("node-1", path)), [NONE; 3]);
    assert_eq!(page("ghost", "/healthz"), "Error from server (NotFound): nodes \"ghost\" not found");
    assert_eq!(page("node-1:10250", "/healthz"), "ok", "it is the kubelet's port");
    let other = page("node-1:10256", "/healthz");
    assert!(other.contains("error trying to reach service: dial tcp"), "nothing listens there: {other}");
    shell.line("fake-node stop 1");
    let gone = shell.line("kubectl get --raw /api/v1/nodes/node-1/proxy/healthz");
    assert!(gone.contains("dial tcp 172.18.0.10:10250: connect: no route to host"), "{gone}");
}
