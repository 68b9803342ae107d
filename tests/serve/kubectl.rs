//! The real kubectl: the programs that `KUBESTEP_KUBECTL` lists (as `PATH` lists folders), or the one on the path.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::program::{Served, folder, replayed, wait_for};
use crate::skip::skipped;

/// All of them, of different versions.
fn programs() -> Vec<PathBuf> {
    if let Some(listed) = std::env::var_os("KUBESTEP_KUBECTL") {
        return std::env::split_paths(&listed).collect();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join("kubectl"))
        .find(|program| program.is_file())
        .into_iter()
        .collect()
}

/// Any of them.
pub fn kubectl() -> Option<PathBuf> {
    let found = programs().into_iter().next();
    if found.is_none() {
        skipped("kubectl");
    }
    found
}

/// One of the version whose words our own kubectl has.
pub fn kubectl_of_our_version() -> Option<PathBuf> {
    let is_ours = |program: &PathBuf| {
        let out = Command::new(program).args(["version", "--client"]).output();
        out.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains("Client Version: v1.36."))
    };
    let found = programs().into_iter().find(is_ours);
    if found.is_none() {
        skipped("kubectl 1.36");
    }
    found
}

/// kubectl as a client of a cluster.
pub struct Client {
    pub program: PathBuf,
    pub served: Served,
}

impl Client {
    /// Runs a line.
    pub fn run(&self, line: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = Command::new(&self.program);
        command.args(words).env("KUBECONFIG", self.served.kubeconfig()).env("HOME", &self.served.folder);
        command.current_dir(&self.served.folder).output().expect("kubectl can be started")
    }

    /// The same with something to read.
    fn reads(&self, line: &str, input: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = Command::new(&self.program);
        command.args(words).env("KUBECONFIG", self.served.kubeconfig()).env("HOME", &self.served.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("kubectl can be started");
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    }

    /// Runs a line that must end well, and gives what it prints.
    pub fn prints(&self, line: &str) -> String {
        let out = self.run(line);
        let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "{line}: {text}{errors}");
        text.into_owned()
    }
}

#[test]
fn every_kubectl_rolls_out_scales_and_deletes() {
    if kubectl().is_some() {
        programs().iter().for_each(|program| rolls_out_scales_and_deletes(program));
    }
}

fn rolls_out_scales_and_deletes(program: &Path) {
    let mut client = Client { program: program.to_owned(), served: Served::start(&["--speed", "10"]) };
    let nodes = client.prints("get nodes");
    assert!(nodes.contains("node-1") && nodes.contains("Ready"), "{nodes}");
    client.prints("create deployment web --image=nginx --replicas=2");
    assert!(client.prints("rollout status deployment web").contains("successfully rolled out"));
    assert_eq!(client.prints("get pods -l app=web --no-headers").lines().count(), 2);
    client.prints("scale deployment web --replicas=3");
    client.prints("wait --for=jsonpath={.status.readyReplicas}=3 deployment/web --timeout=60s");
    client.prints("label deployment web tier=front");
    client.prints("set image deployment/web nginx=nginx:1.29");
    client.prints("rollout status deployment web");
    client.prints("rollout undo deployment web");
    assert!(client.prints("describe deployment web").contains("ScalingReplicaSet"));
    assert_eq!(client.prints("auth can-i create pods").trim(), "yes");
    client.prints("delete deployment web");
    client.prints("wait --for=delete pod -l app=web --timeout=60s");
    let missing = client.run("get deployment web");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("(NotFound): deployments.apps \"web\" not found"));
    let saved = client.served.end();
    replayed(&client.served.folder, &saved, "clients\n");
}

#[test]
fn kubectl_reads_logs_and_runs_commands() {
    let Some(program) = kubectl() else { return };
    let mut client = Client { program, served: Served::start(&["--speed", "10"]) };
    client.prints("run web --image=nginx");
    client.prints("wait --for=condition=Ready pod/web --timeout=60s");
    assert!(client.prints("logs web").contains("start worker process"));
    assert_eq!(client.prints("logs web --tail=1").lines().count(), 1);
    assert_eq!(client.prints("exec web -- hostname").trim(), "web");
    let failed = client.reads("exec -i web -- sh", "exit 3\n");
    assert_eq!(failed.status.code(), Some(3), "{failed:?}");
    let read = client.reads("exec -i web -- cat", "ä line\n");
    assert_eq!(String::from_utf8_lossy(&read.stdout), "ä line\n", "{read:?}");
    let missing = client.run("exec web -- no-such-program");
    assert!(!missing.status.success() && !missing.stderr.is_empty(), "{missing:?}");
    let counts = [
        "run",
        "count",
        "--image=busybox",
        "--restart=Never",
        "--",
        "sh",
        "-c",
        "for i in 1 2 3; do echo $i; sleep 1; done",
    ];
    let mut command = Command::new(&client.program);
    command.args(counts).env("KUBECONFIG", client.served.kubeconfig()).env("HOME", &client.served.folder);
    assert!(command.status().is_ok_and(|status| status.success()));
    client.prints("wait --for=jsonpath={.status.phase}=Running pod/count --timeout=60s");
    assert_eq!(client.prints("logs -f count"), "1\n2\n3\n");
    let saved = client.served.end();
    replayed(&client.served.folder, &saved, "clients\n");
}

/// The session of the course's page on real clients: what kubectl sent, stepped. `KUBESTEP_BLESS=1` records it anew.
#[test]
fn the_session_of_the_course_is_what_kubectl_sends() {
    let saved = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/sessions/own-kubectl.kubestep");
    if std::env::var_os("KUBESTEP_BLESS").is_none() {
        let text = std::fs::read_to_string(saved).expect("it is there");
        let folder = folder();
        let out = replayed(&folder, &text, "clients\n");
        let _ = std::fs::remove_dir_all(folder);
        return assert!(out.contains("kubectl POST /apis/apps/v1/namespaces/default/deployments"), "{out}");
    }
    let Some(program) = kubectl() else { return };
    let mut client = Client { program, served: Served::in_folder(folder(), "step", &["playground", "--serve"]) };
    let mut command = Command::new(&client.program);
    command.args(["create", "deployment", "web", "--image=nginx"]);
    command.env("KUBECONFIG", client.served.kubeconfig()).env("HOME", &client.served.folder);
    let mut child = command.spawn().expect("kubectl can be started");
    client.served.prints("sends POST");
    client.served.type_line("wait 3");
    assert!(child.wait().is_ok_and(|status| status.success()));
    let _ = std::fs::remove_file(saved);
    client.served.type_line(&format!("save {saved}"));
    wait_for("the session", || std::fs::metadata(saved).ok());
}
