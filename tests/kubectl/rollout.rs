//! `rollout`: of several objects, of kinds that know nothing of it, of the past.

use std::path::Path;

use crate::shell::Shell;
use crate::verbs::check;

#[test]
fn a_kind_alone_is_all_of_it() {
    let mut shell = Shell::new(Path::new("."), "rollout");
    shell.line("kubectl create deployment a --image=nginx:1.27");
    shell.line("kubectl create deployment b --image=nginx:1.27");
    shell.line("sleep 30");
    const TOO_SOON: &str = "if restart has already been triggered within the past second, please wait before attempting to trigger another";
    check(
        &mut shell,
        &[
            ("kubectl rollout", "error: expected 'rollout status|history|undo|restart|pause|resume TYPE/NAME'"),
            ("kubectl rollout status", "error: required resource not specified"),
            ("kubectl rollout status sts", "No resources found in rollout namespace."),
            ("kubectl rollout pause deploy -l app=b", "deployment.apps/b paused"),
            (
                "kubectl rollout restart deploy",
                "deployment.apps/a restarted\nerror: deployments.apps \"b\" can't restart paused deployment (run rollout…",
            ),
            ("kubectl rollout resume deploy b", "deployment.apps/b resumed"),
            (
                "kubectl rollout resume deploy",
                "error: deployments.apps \"a\" is not paused\nerror: deployments.apps \"b\" is not paused",
            ),
            ("sleep 30", ""),
            (
                "kubectl rollout status deployment",
                "deployment \"a\" successfully rolled out\ndeployment \"b\" successfully rolled out",
            ),
            ("kubectl rollout restart deploy", "deployment.apps/a restarted\ndeployment.apps/b restarted"),
            (
                "kubectl rollout restart deploy/a deploy/b",
                &format!("failed to create patch for a: {TOO_SOON}\nfailed to create patch for b: {TOO_SOON}"),
            ),
            ("kubectl rollout restart deploy/a", &format!("error: failed to create patch for a: {TOO_SOON}")),
        ],
    );
}

#[test]
fn other_kinds_have_no_rollout() {
    let mut shell = Shell::new(Path::new("."), "kinds");
    shell.line("kubectl run p --image=nginx");
    shell.line("kubectl create configmap c");
    check(
        &mut shell,
        &[
            ("kubectl rollout history pod/p", "error: no history viewer has been implemented for \"Pod\""),
            (
                "kubectl rollout history cm/c",
                "error: error retrieving history for \"ConfigMap\", no visitor method exists for { ConfigMap}",
            ),
            ("kubectl rollout undo pod/p", "error: no rollbacker has been implemented for \"Pod\""),
            ("kubectl rollout status pod/p", "error: no status viewer has been implemented for Pod"),
            ("kubectl rollout restart pod/p", "error: pods \"p\" restarting is not supported"),
            ("kubectl rollout pause pod/p", "error: pods \"p\" pausing is not supported"),
            ("kubectl rollout resume pod/p", "error: pods \"p\" resuming is not supported"),
        ],
    );
}

#[test]
fn the_past_is_shown_in_full() {
    let mut shell = Shell::new(Path::new("."), "past");
    shell.line("kubectl create deployment web --image=nginx:1.27");
    shell.line("sleep 20");
    shell.line("kubectl set image deployment web nginx=nginx:1.28");
    shell.line("sleep 20");
    let shown = shell.line("kubectl rollout history deployment web -o yaml");
    assert_eq!(shown.matches("kind: ReplicaSet\n").count(), 2, "{shown}");
    assert_eq!(shown.matches("\n---\n").count(), 1, "{shown}");
    check(
        &mut shell,
        &[
            (
                "kubectl rollout history deploy/web --revision=1 -o jsonpath={.spec.template.spec.containers[0].image}",
                "nginx:1.27",
            ),
            ("kubectl rollout history deploy/web --revision=7", "error: unable to find the specified revision"),
            ("kubectl rollout history deploy/web --revision=-1", "error: revision must be a positive integer: -1"),
            (
                "kubectl rollout undo deploy/web --dry-run=client",
                "deployment.apps/web Pod Template:\n  Labels:\tapp=web\n\tpod-template-hash=…",
            ),
            (
                "kubectl rollout undo deploy/web --to-revision=2",
                "deployment.apps/web skipped rollback (current template already matches revision 2)",
            ),
        ],
    );
    assert!(shell.line("kubectl rollout undo deploy/web --dry-run=client").ends_with("\n (dry run)\n"));
}

const APPLIED: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: nginx:1.27}]}
";

/// Of a set that keeps its past in ControllerRevisions it is said that it is rolled back. It is read twice.
#[test]
fn a_daemon_set_is_rolled_back() {
    let mut shell = Shell::new(Path::new("."), "sets");
    const AGENT: &str = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: \
         {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: app, image: 'nginx:1.27'}]}}}}";
    shell.cluster.kubectl.files = std::rc::Rc::new([("agent.yaml".to_owned(), AGENT.to_owned())].into());
    check(
        &mut shell,
        &[
            ("kubectl apply -f agent.yaml", "daemonset.apps/agent created"),
            ("sleep 5", ""),
            ("kubectl rollout undo ds/agent", "error: no last revision to roll back to"),
            ("kubectl set image ds/agent app=nginx:1.28", "daemonset.apps/agent image updated"),
            ("sleep 5", ""),
            ("kubectl rollout undo ds/agent --to-revision=7", "error: unable to find specified revision 7 in history"),
        ],
    );
    let shown = shell.line("kubectl rollout undo ds/agent --dry-run=client");
    assert!(
        shown.starts_with("daemonset.apps/agent will roll back to Pod Template:\n  Labels:\tapp=agent\n"),
        "{shown}"
    );
    shell.calls.clear();
    assert_eq!(shell.line("kubectl rollout undo ds/agent"), "daemonset.apps/agent rolled back\n");
    let reads = shell.calls.iter().filter(|call| call.contains("daemonsets") && call.starts_with("get")).count();
    assert_eq!(reads, 2, "{:#?}", shell.calls);
}

/// An object that is not there keeps no other from being rolled back. A namespace does not limit what is in none.
#[test]
fn others_are_not_kept_from_it() {
    let mut shell = Shell::new(Path::new("."), "applied");
    shell.cluster.kubectl.files = std::rc::Rc::new([("web.yaml".to_owned(), APPLIED.to_owned())].into());
    check(
        &mut shell,
        &[
            ("kubectl apply -f web.yaml", "deployment.apps/web created"),
            ("kubectl set image deploy/web app=nginx:1.28", "deployment.apps/web image updated"),
            ("sleep 5", ""),
            (
                "kubectl rollout undo deploy/web deploy/none",
                "deployment.apps/web rolled back\nError from server (NotFound): deployments.apps \"none\" not found",
            ),
            (
                "kubectl create clusterrole r --verb=get --resource=pods",
                "clusterrole.rbac.authorization.k8s.io/r created",
            ),
            (
                "kubectl delete clusterrole r -n applied",
                "Warning: deleting cluster-scoped resources, not scoped to the provided namespace\n\
                 clusterrole.rbac.authorization.k8s.io \"r\" deleted",
            ),
        ],
    );
}
