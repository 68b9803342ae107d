//! What real clients send, as the session keeps it (rules 35 and 36 of the recording of a real server's wire).

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::kubectl::{Client, kubectl_of_our_version};
use crate::program::Served;

/// One request of a saved session.
#[derive(Debug)]
pub struct Sent {
    /// `GET /api/v1/pods`, without parameters.
    pub line: String,
    /// `a=b&c=d`.
    pub parameters: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Sent {
    /// All of a saved session, in order.
    pub fn all(saved: &str) -> Vec<Sent> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let read = |line: &str| {
            let request: Value = serde_json::from_str(line.trim().strip_prefix("do: arrive ")?).expect("it is JSON");
            let target = text(&request["target"]);
            let (path, parameters) = target.split_once('?').unwrap_or((&target, ""));
            let headers: Vec<(String, String)> = serde_json::from_value(request["headers"].clone()).unwrap_or_default();
            let in_base64 = serde_json::from_value(request["body"]["base64"].clone()).map(|ByteString(bytes)| bytes);
            let body = in_base64.unwrap_or_else(|_| text(&request["body"]).into_bytes());
            Some(Sent {
                line: format!("{} {path}", text(&request["method"])),
                parameters: parameters.to_owned(),
                headers,
                body,
            })
        };
        saved.lines().filter_map(read).collect()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(of, _)| of == name).map_or("", |(_, value)| value)
    }

    pub fn has(&self, parameter: &str) -> bool {
        self.parameters.split('&').any(|one| one == parameter)
    }

    /// Whether its body is an object in protobuf.
    pub fn is_protobuf(&self) -> bool {
        self.header("content-type") == PROTOBUF && self.body.starts_with(b"k8s\0")
    }

    /// Whether it is a watch that begins with what is there.
    pub fn is_watch_list(&self) -> bool {
        ["watch=true", "sendInitialEvents=true", "allowWatchBookmarks=true"].iter().all(|one| self.has(one))
    }
}

pub const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

const CONFIG_MAP: &str = "GET /api/v1/namespaces/default/configmaps/c";

/// Typed commands speak protobuf, documents of OpenAPI are read once, waits are watches that begin with a list (rule 35).
#[test]
fn kubectl_sends_what_it_sends_to_a_real_server() {
    let Some(program) = kubectl_of_our_version() else { return };
    let mut client = Client { program, served: Served::start(&["--speed", "10"]) };
    let file = client.served.folder.join("c.json");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}});
    std::fs::write(file, map.to_string()).expect("it can be written");
    client.prints("apply -f c.json");
    assert_eq!(client.prints("apply -f c.json"), "configmap/c unchanged\n");
    client.prints("create deployment web --image=nginx");
    client.prints("rollout status deployment web");
    client.prints("wait --for=condition=Available deployment/web");
    let sent = Sent::all(&client.served.end());
    let commands: Vec<&str> = sent.iter().map(|one| one.header("kubectl-command")).collect();
    assert!(commands.iter().all(|command| command.starts_with("kubectl ")), "{commands:?}");
    let of = |command: &str| sent.iter().filter(|one| one.header("kubectl-command") == command).collect::<Vec<_>>();

    let applied: Vec<&str> = of("kubectl apply").iter().map(|one| one.line.as_str()).collect();
    let first = [
        "GET /openapi/v3",
        "GET /openapi/v3/api/v1",
        "GET /api",
        "GET /apis",
        CONFIG_MAP,
        "POST /api/v1/namespaces/default/configmaps",
    ];
    assert_eq!(applied, [&first[..], &["GET /openapi/v3", CONFIG_MAP]].concat());
    let index = of("kubectl apply")[6];
    assert!(!index.header("if-none-match").is_empty(), "{index:?}");

    let [created] = of("kubectl create deployment")[..] else { panic!("{commands:?}") };
    assert!(created.is_protobuf() && created.header("accept").starts_with(PROTOBUF), "{created:?}");
    for command in ["kubectl rollout status", "kubectl wait"] {
        let waits = of(command).into_iter().filter(|one| one.is_watch_list()).collect::<Vec<_>>();
        let by_name = waits.iter().all(|one| one.has("fieldSelector=metadata.name%3Dweb"));
        assert!(waits.len() == 1 && by_name, "{command}: {waits:?}");
    }
}
