//! The real kubectl, where there is one: `KUBESTEP_KUBECTL` names it, or it is on the path.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::program::{Served, replayed};
use crate::skip::skipped;

fn kubectl() -> Option<PathBuf> {
    let named = std::env::var_os("KUBESTEP_KUBECTL").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = named.or_else(|| {
        std::env::split_paths(&path).map(|folder| folder.join("kubectl")).find(|program| program.is_file())
    });
    if found.is_none() {
        skipped("kubectl");
    }
    found
}

/// Runs a line, and gives what it prints; it must end well.
struct Client {
    program: PathBuf,
    served: Served,
}

impl Client {
    fn run(&self, line: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = Command::new(&self.program);
        command.args(words).env("KUBECONFIG", self.served.kubeconfig()).env("HOME", &self.served.folder);
        command.current_dir(&self.served.folder).output().expect("kubectl can be started")
    }

    fn prints(&self, line: &str) -> String {
        let out = self.run(line);
        let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "{line}: {text}{errors}");
        text.into_owned()
    }
}

#[test]
fn kubectl_rolls_out_scales_and_deletes() {
    let Some(program) = kubectl() else { return };
    let mut client = Client { program, served: Served::start(&["--speed", "10"]) };
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
