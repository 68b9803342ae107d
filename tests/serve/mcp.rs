//! A server of the Model Context Protocol, which lets a language model work with a cluster: `KUBESTEP_MCP` names the program. It is
//! asked over standard input and output, a line of JSON-RPC each.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::http::ask;
use crate::operator::Ends;
use crate::program::{PATIENCE, Served, replayed, wait_for};
use crate::skip::skipped;

/// The program, and what it says.
struct Mcp {
    _child: Ends,
    stdin: ChildStdin,
    said: Receiver<Value>,
    asked: u64,
}

impl Mcp {
    fn start(program: PathBuf, served: &Served) -> Mcp {
        let mut command = Command::new(program);
        command.args(["--cluster-provider", "kubeconfig"]).env("KUBECONFIG", served.kubeconfig());
        command.env("HOME", &served.folder).current_dir(&served.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program can be started");
        let (stdin, stdout) = (child.stdin.take().expect("it is piped"), child.stdout.take().expect("it is piped"));
        let (send, said) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = send.send(serde_json::from_str(&line).expect("it is JSON"));
            }
        });
        Mcp { _child: Ends(child), stdin, said, asked: 0 }
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").expect("it reads");
    }

    /// What it answers to a request.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let said = self.said.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{method} is not answered"));
            if said["id"] == id {
                return said["result"].clone();
            }
        }
    }

    /// What a tool says; or why it has failed.
    fn call(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{tool}: {result}")).to_owned();
        if result["isError"] == true { Err(text) } else { Ok(text) }
    }

    fn does(&mut self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).unwrap_or_else(|why| panic!("{tool}: {why}"))
    }
}

#[test]
fn a_server_of_tools_for_models_works_with_the_cluster() {
    let Some(program) = std::env::var_os("KUBESTEP_MCP").map(PathBuf::from) else {
        return skipped("kubernetes-mcp-server");
    };
    let mut served = Served::start(&["--speed", "5"]);
    let mut mcp = Mcp::start(program, &served);
    let client = json!({"name": "kubestep", "version": "0"});
    let begun =
        mcp.ask("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}));
    assert_eq!(begun["serverInfo"]["name"], "kubernetes-mcp-server", "{begun}");
    mcp.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let tools = mcp.ask("tools/list", json!({}))["tools"].to_string();
    assert!(tools.contains("\"pods_exec\"") && tools.contains("\"resources_create_or_update\""), "{tools}");

    let web = json!({"namespace": "default", "name": "web"});
    let ran = mcp.does("pods_run", json!({"namespace": "default", "name": "web", "image": "nginx", "port": 80}));
    assert!(ran.contains("operation: Apply"), "{ran}");
    let listed = wait_for("a ready Pod", || {
        let pods = mcp.does("pods_list_in_namespace", json!({"namespace": "default"}));
        pods.contains("1/1").then_some(pods)
    });
    assert!(listed.contains("web") && listed.contains("Running"), "{listed}");
    let pod = mcp.does("pods_get", web.clone());
    assert!(pod.contains("kind: Pod") && pod.contains("phase: Running"), "{pod}");
    let log = mcp.does("pods_log", web.clone());
    assert!(log.contains("start worker process"), "{log}");
    let exec = |command: &[&str]| json!({"namespace": "default", "name": "web", "command": command});
    assert_eq!(mcp.does("pods_exec", exec(&["hostname"])), "web\n");
    let failed = mcp.call("pods_exec", exec(&["false"])).expect_err("it fails");
    assert!(failed.contains("command terminated with exit code 1"), "{failed}");
    wait_for("its Events", || {
        let events = mcp.does("events_list", json!({"namespace": "default"}));
        (events.contains("Reason: Scheduled") && events.contains("Reason: Started")).then_some(())
    });

    let container = json!({"name": "api", "image": "nginx"});
    let template = json!({"metadata": {"labels": {"app": "api"}}, "spec": {"containers": [container]}});
    let api = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api"},
        "spec": {"selector": {"matchLabels": {"app": "api"}}, "template": template}});
    mcp.does("resources_create_or_update", json!({"resource": api.to_string()}));
    let api = json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "api"});
    let mut scaled = api.clone();
    scaled["scale"] = json!(2);
    wait_for("a scale without a conflict", || mcp.call("resources_scale", scaled.clone()).ok());
    let deployments = json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default"});
    wait_for("two replicas", || mcp.does("resources_list", deployments.clone()).contains("2/2").then_some(()));
    mcp.does("resources_delete", api);
    mcp.does("pods_delete", web.clone());
    wait_for("the end of the Pod", || {
        (ask(&served, "GET", "/api/v1/namespaces/default/pods/web", "").code == 404).then_some(())
    });
    let missing = mcp.call("pods_get", web).expect_err("it is gone");
    assert!(missing.contains("pods \"web\" not found"), "{missing}");
    drop(mcp);
    let saved = served.end();
    replayed(&served.folder, &saved, "clients\n");
}
