//! `get --watch`: the list, then each change, then an end.

use std::path::Path;

use kubestep_tests::scenario;

use crate::shell::Shell;

/// What a line shows, each line cut off behind its first columns.
fn columns(shown: &str, count: usize) -> Vec<String> {
    let cut = |line: &str| line.split_whitespace().take(count).collect::<Vec<_>>().join(" ");
    shown.lines().map(cut).collect()
}

#[test]
fn a_watch_shows_each_change_and_ends() {
    let mut shell = Shell::new(Path::new("."), "watch");
    shell.line("kubectl run web --image=nginx:1.27");
    shell.calls.clear();
    let shown = shell.line("kubectl get pods --watch");
    let want = ["NAME READY STATUS RESTARTS", "web 0/1 ContainerCreating 0", "web 1/1 Running 0"];
    let mut seen = columns(&shown, 4);
    seen.dedup();
    assert_eq!(seen, want, "{shown}");
    assert_eq!(shell.calls.iter().map(|call| call.split(' ').next().unwrap()).collect::<Vec<_>>(), ["list", "watch"]);
}

#[test]
fn what_a_watch_prints_is_what_get_prints() {
    let mut shell = Shell::new(Path::new("."), "watch");
    shell.line("kubectl create deployment web --image=nginx:1.27");
    shell.line("kubectl rollout status deployment web");
    shell.line("sleep 5");
    let shown = shell.line("kubectl get deployment web -w");
    assert_eq!(columns(&shown, 2), ["NAME READY", "web 1/1"], "{shown}");
    shell.line("kubectl scale deployment web --replicas=2");
    let shown = shell.line("kubectl get deployments -w -o name --request-timeout=20s");
    assert!(shown.lines().count() > 1 && shown.lines().all(|line| line == "deployment.apps/web"), "{shown}");
    shell.line("kubectl delete deployment web --wait=false");
    let shown = shell.line("kubectl get pods -w --output-watch-events --no-headers");
    let words: Vec<String> = columns(&shown, 1);
    assert_eq!((words.first().unwrap().as_str(), words.last().unwrap().as_str()), ("ADDED", "DELETED"), "{shown}");
    let widths: Vec<Option<usize>> = shown.lines().map(|line| line.find("web-")).collect();
    assert!(widths.windows(2).all(|pair| pair[0] <= pair[1]), "a column never becomes narrower:\n{shown}");
    assert_eq!(shell.line("kubectl get pods,services -w"), "error: you may only specify a single resource type\n");
    let shown = shell.line("kubectl get pod nobody -w");
    assert_eq!(shown, "Error from server (NotFound): pods \"nobody\" not found\n");
    assert_eq!(shell.line("kubectl get pod nobody -w --ignore-not-found"), "");
}

#[test]
fn a_watch_is_of_one_object_or_of_all() {
    let mut shell = Shell::new(Path::new("."), "watch");
    shell.line("kubectl create configmap a");
    shell.line("kubectl create configmap b");
    const ONE: &str = "error: you may only watch a single resource or type of resource at a time\n";
    assert_eq!(shell.line("kubectl get cm a b -w -o name"), format!("configmap/a\nconfigmap/b\n{ONE}"));
    assert_eq!(shell.line("kubectl get cm/a cm/b --watch-only"), ONE);
}

#[test]
fn what_is_there_at_first_is_one_table() {
    let mut shell = Shell::new(Path::new("."), "first");
    shell.line("kubectl create configmap a");
    shell.line("kubectl create configmap with-a-long-name");
    let shown = shell.line("kubectl get cm -w --output-watch-events");
    assert_eq!(shown.lines().next().unwrap(), "EVENT   NAME               DATA   AGE");
}

#[test]
fn a_timeline_ends_a_watch_when_its_time_is_over() {
    const LINES: &str = "title: watch\nnamespace: watch\ntimeline:\n- kubectl run web --image=nginx:1.27\n\
        - timeout 3 kubectl get pods -w\n- kubectl get pods -o name | wc -l\n\
        - name=$(kubectl get pods -o name | head -1)\n- kubectl get $name | grep -c Running\n";
    let mut cluster = scenario::started(LINES);
    let start = cluster.engine.now();
    while !cluster.is_quiet() {
        cluster.step().expect("lines are left");
    }
    let took = cluster.engine.now() - start;
    assert!((3..10).contains(&took.as_secs()), "{took:?}");
    let shown = cluster.kubectl.output.take();
    let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with('$') && !line.is_empty()).collect();
    assert_eq!(lines[0], "pod/web created", "{shown}");
    assert!(lines[2].contains("Pending") || lines[2].contains("ContainerCreating"), "{shown}");
    assert!(lines[lines.len() - 3].contains("Running"), "{shown}");
    assert_eq!(lines[lines.len() - 2..], ["1", "1"], "{shown}");
}
