//! Emptying a node: what `drain` asks, what it prints, and what a PodDisruptionBudget has to do with it.

use std::path::Path;

use crate::shell::Shell;

const BUDGET: &str = "kubectl create pdb web --selector=app=web --min-available=3";

/// A shell on three nodes with a Deployment of three Pods, one on each.
fn shell(namespace: &str) -> Shell {
    let mut shell = Shell::new(Path::new("."), namespace);
    shell.line("kubectl create deployment web --image=nginx:1.27 --replicas=3");
    shell.line("kubectl rollout status deployment web");
    shell.calls.clear();
    shell
}

/// Runs a line, and compares each line that it shows with one that may end in `…`.
#[track_caller]
fn shows(shell: &mut Shell, line: &str, want: &[&str]) {
    let shown = shell.line(line);
    let lines: Vec<&str> = shown.lines().collect();
    let same = lines.len() == want.len()
        && lines.iter().zip(want).all(|(line, want)| match want.strip_suffix('…') {
            Some(start) => line.starts_with(start),
            None => line == want,
        });
    assert!(same, "$ {line}\n{shown}\nwanted:\n{}", want.join("\n"));
}

#[test]
fn a_drain_looks_evicts_and_waits() {
    let mut shell = shell("drain");
    shows(
        &mut shell,
        "kubectl drain node-1",
        &["node/node-1 cordoned", "evicting pod drain/web-…", "pod/web-…", "node/node-1 drained"],
    );
    let calls: Vec<String> = shell.calls.iter().map(|call| mask(call)).collect();
    let want = [
        "patch nodes node-1 200",
        "list pods - 200",
        "create pods/eviction web-* 201",
        "get pods web-* 200",
        "get pods web-* 404",
    ];
    let mut distinct = calls.clone();
    distinct.dedup();
    assert_eq!(distinct, want, "{calls:#?}");
    shows(&mut shell, "kubectl drain node-1", &["node/node-1 already cordoned", "node/node-1 drained"]);
    shows(&mut shell, "kubectl uncordon node-1", &["node/node-1 uncordoned"]);
    let help = "See 'kubectl drain -h' for help and examples";
    shows(&mut shell, "kubectl drain", &["error: USAGE: drain NODE [flags]", help]);
    let both = "error: cannot specify both a node name and a --selector option";
    shows(&mut shell, "kubectl drain node-1 --selector=a=b", &[both, help]);
}

/// A call without what is generated in a name, and without its query.
fn mask(call: &str) -> String {
    let words = call.split(' ').map(|word| match word.split_once("web-") {
        Some((before, _)) => format!("{before}web-*"),
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_budget_that_gives_nothing_stops_a_drain() {
    let mut shell = shell("held");
    shows(&mut shell, BUDGET, &["poddisruptionbudget.policy/web created"]);
    shell.line("sleep 1");
    shows(
        &mut shell,
        "kubectl get pdb",
        &[
            "NAME   MIN AVAILABLE   MAX UNAVAILABLE   ALLOWED DISRUPTIONS   AGE",
            "web    3               N/A               0  …",
        ],
    );
    let refused = "error when evicting pods/\"web-…";
    #[rustfmt::skip]
    let want = [
        "node/node-1 cordoned", "evicting pod held/web-…", refused, "evicting pod held/web-…", refused,
        "evicting pod held/web-…", "There are pending pods in node \"node-1\" when an error occurred: error when evicting pods/\"web-…",
        "pod/web-…", "error: unable to drain node \"node-1\" due to error: error when evicting pods/\"web-…",
        "There are pending nodes to be drained:", " node-1", "error when evicting pods/\"web-…",
    ];
    shell.calls.clear();
    shows(&mut shell, "kubectl drain node-1 --timeout=8s", &want);
    let calls: Vec<String> = shell.calls.iter().map(|call| mask(call)).collect();
    let pod = ["create pods/eviction web-* 429", "get pods web-* 200"];
    let about_pod: Vec<&String> = calls.iter().filter(|call| call.contains("web-*")).collect();
    assert_eq!(about_pod, [pod, pod].concat(), "after each refusal the Pod is read again");
    shows(
        &mut shell,
        "kubectl patch pdb web -p '{\"spec\":{\"minAvailable\":2}}'",
        &["poddisruptionbudget.policy/web patched"],
    );
    shell.line("sleep 1");
    shows(
        &mut shell,
        "kubectl drain node-1",
        &["node/node-1 already cordoned", "evicting pod held/web-…", "pod/web-…", "node/node-1 drained"],
    );
}

#[test]
fn pods_that_nobody_keeps_are_not_lost_by_accident() {
    let mut shell = shell("lone");
    shell.line("kubectl delete deployment web");
    shell.line("sleep 5");
    shell.line("kubectl run lone --image=nginx:1.27");
    shell.line("kubectl wait --for=condition=Ready pod/lone");
    let node = shell.line("kubectl get pod lone -o jsonpath={.spec.nodeName}");
    let why = "cannot delete Pods that declare no controller (use --force to override): lone/lone";
    let error = format!("error: unable to drain node \"{node}\" due to error: {why}, continuing command...");
    let (cordoned, pending, drained) =
        (format!("node/{node} cordoned"), format!(" {node}"), format!("node/{node} drained"));
    let want = [cordoned.as_str(), &error, "There are pending nodes to be drained:", &pending, why];
    shows(&mut shell, &format!("kubectl drain {node}"), &want);
    let want = [
        &format!("node/{node} already cordoned"),
        "Warning: deleting Pods that declare no controller: lone/lone",
        "evicting pod lone/lone",
        "pod/lone evicted",
        &drained,
    ];
    shows(&mut shell, &format!("kubectl drain {node} --force"), &want);
}

/// That data is lost is said of no Pod: the next question, whether a controller manages it, has the last word.
#[test]
fn what_is_lost_with_a_pod_is_not_told() {
    let mut shell = shell("data");
    shell.line("kubectl delete deployment web");
    let volume = r#"{"spec":{"volumes":[{"name":"data","emptyDir":{}}]}}"#;
    shell.line(&format!("kubectl run lone --image=nginx:1.27 --overrides='{volume}'"));
    shell.line("kubectl wait --for=condition=Ready pod/lone");
    let node = shell.line("kubectl get pod lone -o jsonpath={.spec.nodeName}");
    let shown = shell.line(&format!("kubectl drain {node} --force --delete-emptydir-data"));
    let warnings: Vec<&str> = shown.lines().filter(|line| line.starts_with("Warning: ")).collect();
    assert_eq!(warnings, ["Warning: deleting Pods that declare no controller: data/lone"], "{shown}");
}

#[test]
fn a_budget_says_how_it_stands() {
    let mut shell = shell("page");
    shows(
        &mut shell,
        "kubectl create pdb web --selector=app=web",
        &["error: one of min-available or max-unavailable must be specified"],
    );
    shows(&mut shell, "kubectl create pdb web --min-available=1", &["error: a selector must be specified"]);
    shell.line("kubectl create pdb web --selector=app=web --max-unavailable=50%");
    shell.line("sleep 1");
    let want = "Name:             web\nNamespace:        page\nMax unavailable:  50%\nSelector:         app=web\nStatus:\n    \
                Allowed disruptions:  2\n    Current:              3\n    Desired:              1\n    \
                Total:                3\nEvents:                   <none>\n";
    assert_eq!(shell.line("kubectl describe pdb web"), want);
    shell.line("kubectl create pdb all --selector=app --min-available=1");
    shell.line("sleep 1");
    let node = shell.line("kubectl get pods -o jsonpath={.items[0].spec.nodeName}");
    let shown = shell.line(&format!("kubectl drain {node}"));
    assert!(
        shown.contains(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        ),
        "{shown}"
    );
    shell.line("kubectl label pods --all seen=yes");
    shell.line("sleep 1");
    let events = shell.line("kubectl get events --field-selector reason=MultiplePodDisruptionBudgets -o name");
    assert!(events.contains("event/web-"), "{events}");
}
