//! What kubectl 1.36 prints and sends otherwise than its predecessors, as it was recorded with 1.36.4.

use std::path::Path;

use cluster::{Cluster, Config};
use engine::What;
use wire::{Body, Patch};

use crate::shell::Shell;
use crate::verbs::check;

#[test]
fn what_is_said_is_said_by_1_36() {
    let mut shell = Shell::new(Path::new("."), "new");
    let head = "KIND:       Pod\nVERSION:    v1\n\n";
    check(
        &mut shell,
        &[
            ("kubectl create deployment web --image=nginx --replicas=2", "deployment.apps/web created"),
            ("kubectl rollout status deployment web", "*deployment \"web\" successfully rolled out"),
            (
                "kubectl scale deploy nope --replicas=1",
                "Error from server (NotFound): deployments.apps \"nope\" not found",
            ),
            (
                "kubectl patch deploy web --subresource=scale --type=merge -p {\"spec\":{\"replicas\":2}}",
                "scale.autoscaling/web patched (no change)",
            ),
            (
                "kubectl patch deploy web --subresource=scale --type=merge -p {\"spec\":{\"replicas\":1}}",
                "scale.autoscaling/web patched",
            ),
            ("kubectl explain pods.spec.nope", &format!("{head}error: field \"nope\" does not exist")),
            (
                "kubectl delete deploy web --dry-run=server",
                "deployment.apps \"web\" deleted from new namespace (server dry run)",
            ),
            ("kubectl delete deploy web", "deployment.apps \"web\" deleted from new namespace"),
            (
                "kubectl create clusterrole r --verb=get --resource=pods",
                "clusterrole.rbac.authorization.k8s.io/r created",
            ),
            ("kubectl delete clusterrole r", "clusterrole.rbac.authorization.k8s.io \"r\" deleted"),
        ],
    );
}

#[test]
fn many_pages_have_no_events_unless_they_are_asked_for() {
    let mut shell = Shell::new(Path::new("."), "pages");
    shell.line("kubectl create deployment web --image=nginx --replicas=2");
    shell.line("kubectl rollout status deployment web");
    let mut events = |line: &str| {
        shell.calls.clear();
        let shown = shell.line(line);
        let asked = shell.calls.iter().filter(|call| call.starts_with("list events ")).count();
        (shown.matches("\nEvents:").count(), asked)
    };
    assert_eq!(events("kubectl describe pods -l app=web"), (0, 0));
    assert_eq!(events("kubectl describe pods web"), (0, 0), "two that begin so");
    assert_eq!(events("kubectl describe pods -l app=web --show-events"), (2, 2));
    assert_eq!(events("kubectl describe rs -l app=web"), (1, 1), "one by itself");
    assert_eq!(events("kubectl describe rs -l app=web --show-events=false"), (0, 0));
    let page = shell.line("kubectl describe pods -l app=web");
    assert_eq!(
        page.matches("    ConfigMapName:           kube-root-ca.crt\n    Optional:                false\n").count(),
        2
    );
}

#[test]
fn requests_are_logged_as_klog_does() {
    let mut shell = Shell::new(Path::new("."), "log");
    let shown = shell.line("kubectl get cm none -v=6");
    let lines: Vec<&str> =
        shown.lines().map(|line| line.split_once("    4242 ").map_or(line, |(_, rest)| rest)).collect();
    let asked = |path: &str, milliseconds: u32| {
        format!(
            "round_trippers.go:632] \"Response\" verb=\"GET\" url=\"https://172.18.0.2:6443/api/v1/namespaces/log{path}\" \
             status=\"404 Not Found\" milliseconds={milliseconds}"
        )
    };
    assert_eq!(lines[0], "loader.go:402] Config loaded from file:  ~/.kube/config");
    assert!(lines[1].starts_with(asked("/configmaps/none", 3).trim_end_matches('3')), "{}", lines[1]);
    assert_eq!(lines.last(), Some(&"Error from server (NotFound): configmaps \"none\" not found"));
    let stamped = shown.lines().filter(|line| line.starts_with("I0101 00:00:01.") && line.contains("    4242 "));
    assert_eq!(stamped.count(), lines.len() - 1, "{shown}");
}

/// `diff` sends the manifest alone, with the version of the object that it is compared with.
#[test]
fn a_difference_is_that_of_the_manifest() {
    let mut cluster = Cluster::start(Config::default());
    let manifest =
        |size: u32| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{size: \"{size}\"}}\n");
    let mut patches = Vec::new();
    for size in [1, 2] {
        let verb = if size == 1 { "apply" } else { "diff" };
        cluster.type_lines(vec![format!("cat <<EOF | kubectl {verb} -f -\n{}EOF", manifest(size))]);
        while !cluster.is_quiet()
            && let Some(step) = cluster.step()
        {
            if let What::Request { request, .. } = &step.event.what
                && let Body::Patch(Patch::Strategic(patch)) = &request.body
                && request.user.program() == "kubectl"
            {
                patches.push(patch.clone());
            }
        }
    }
    let printed = cluster.kubectl.printed_since(0);
    let changes: Vec<&str> = printed.lines().filter(|line| line.starts_with(['+', '-'])).skip(2).collect();
    assert_eq!(changes, ["-  size: \"1\"", "+  size: \"2\""], "{printed}");
    let version = patches[0]["metadata"]["resourceVersion"].as_str().map(str::len);
    assert!(version.is_some_and(|digits| digits > 0), "{patches:?}");
    assert_eq!(patches[0]["metadata"].as_object().map(serde_json::Map::len), Some(1), "{patches:?}");
}

/// What only looks finds no server either, when none runs.
#[test]
fn nobody_answers_while_the_api_server_is_stopped() {
    let mut cluster = Cluster::start(Config::default());
    let read =
        |line: &str, cluster: &mut Cluster| cluster.read_now(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    assert!(read("get nodes", &mut cluster).contains("node-1"));
    cluster.stop_process("kube-apiserver").expect("it runs");
    const REFUSED: &str =
        "The connection to the server 172.18.0.2:6443 was refused - did you specify the right host or port?\n";
    for line in [
        "get pods",
        "describe node node-1",
        "auth can-i get pods",
        "auth whoami",
        "logs web",
        "top pods",
        "explain pod",
        "api-resources",
        "api-versions",
        "cluster-info",
        "events",
        "get --raw /livez",
        "rollout history deploy web",
        "version",
    ] {
        let said = read(line, &mut cluster);
        assert!(said.ends_with(REFUSED), "{line}: {said}");
    }
    assert!(read("config current-context", &mut cluster).starts_with("kubernetes-admin"));
}
