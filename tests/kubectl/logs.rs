//! `logs`: whose, from which attempt, and from how many Pods.

use std::path::Path;

use crate::shell::Shell;
use crate::verbs::check;

#[test]
fn a_log_is_that_of_one_attempt_of_one_pod() {
    let mut shell = Shell::new(Path::new("."), "logs");
    let said = |shell: &mut Shell, line: &str, expected: &str| {
        let shown = shell.line(line);
        assert_eq!(shown.trim_end(), expected, "$ {line}");
    };
    shell.line("kubectl create deployment crash --image=busybox --replicas=2 -- sh -c 'echo one; echo two; exit 1'");
    shell.line("kubectl run once --image=busybox --restart=Never -- echo hi");
    shell.line("sleep 1");
    const NONE: &str =
        "Error from server (BadRequest): previous terminated container \"once\" in pod \"once\" not found";
    said(&mut shell, "kubectl logs once", "hi");
    said(&mut shell, "kubectl logs once -p", NONE);
    shell.line("sleep 60");
    let shown = shell.line("kubectl logs deploy/crash --previous");
    let (found, log) = shown.split_once('\n').unwrap();
    assert!(found.starts_with("Found 2 pods, using pod/crash-"), "{shown}");
    assert_eq!(log, "one\ntwo\n");
    said(&mut shell, "kubectl logs -l app=crash --tail=1", "two\ntwo");
    said(&mut shell, "kubectl logs -l app=crash --limit-bytes=5", "one\ntone\nt");
    let all = shell.line("kubectl logs deploy/crash --all-pods --tail=1");
    let ends = |line: &str| line.starts_with("[pod/crash-") && line.ends_with("/busybox] two");
    assert!(all.lines().count() == 2 && all.lines().all(ends), "{all}");
    said(&mut shell, "kubectl logs -l app=none", "No resources found in logs namespace.");
    shell.line("kubectl delete pod once");
    shell.line("kubectl run once --image=busybox --restart=Never -- echo ho");
    shell.line("sleep 2");
    said(&mut shell, "kubectl logs once", "ho");
    said(&mut shell, "kubectl logs once -p", NONE);
    said(&mut shell, "kubectl logs once -c none", "error: container none is not valid for pod once out of: once");
    const GHOST: &str = "error: error from server (NotFound): pods \"ghost\" not found in namespace \"logs\"";
    said(&mut shell, "kubectl logs ghost", GHOST);
    const SINCE: &str = "error: invalid argument \"foo\" for \"--since\" flag: time: invalid duration \"foo\"\n\
                         See 'kubectl logs --help' for usage.";
    said(&mut shell, "kubectl logs once --since=foo", SINCE);
}

/// A container may go round for ever: it prints what it prints when it is time.
#[test]
fn a_loop_goes_on_printing() {
    let manifest = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "count"}, "spec": {"containers": [{
        "name": "count", "image": "busybox:1.36", "env": [{"name": "WHO", "value": "$(HOSTNAME)me"}],
        "command": ["sh", "-c", "i=0; while true; do echo \"$i: $WHO on $(hostname)\"; i=$((i+1)); sleep 10; done"]}]}}"#;
    let mut shell = Shell::new(Path::new("."), "logs");
    shell.cluster.kubectl.files = std::rc::Rc::new([("count.yaml".to_owned(), manifest.to_owned())].into());
    shell.line("kubectl apply -f count.yaml");
    shell.line("kubectl wait --for=condition=Ready pod/count");
    assert_eq!(shell.line("kubectl logs count"), "0: $(HOSTNAME)me on count\n");
    shell.line("sleep 20");
    let expected = "0: $(HOSTNAME)me on count\n1: $(HOSTNAME)me on count\n2: $(HOSTNAME)me on count\n";
    assert_eq!(shell.line("kubectl logs count"), expected);
}

/// A container's log is followed until the container ends; a silent one's, for a while.
#[test]
fn a_log_is_followed_to_its_end() {
    let mut shell = Shell::new(Path::new("."), "logs");
    for (name, script) in
        [("ends", "echo one; sleep 5; echo two; sleep 70; echo three"), ("other", "sleep 3; echo here")]
    {
        shell.line(&format!("kubectl run {name} --image=busybox:1.36 --restart=Never -l a=b -- sh -c '{script}'"));
    }
    shell.line("kubectl run web --image=nginx:1.27");
    shell.line("kubectl wait --for=condition=Ready pod/ends pod/other pod/web");
    assert_eq!(shell.line("kubectl logs ends"), "one\n");
    assert_eq!(
        shell.line("kubectl logs -f -l a=b --prefix"),
        "[pod/ends/ends] one\n[pod/other/other] here\n[pod/ends/ends] two\n"
    );
    // It has said nothing for as long as kubectl follows.
    shell.line("sleep 20");
    assert_eq!(shell.line("kubectl logs -f ends --tail=1"), "two\nthree\n");
    assert_eq!(shell.line("kubectl logs -f ends --tail=1"), "three\n");
    assert_eq!(shell.line("kubectl logs -f web --tail=0"), "");
}

#[test]
fn a_workload_stands_for_its_best_pod() {
    let mut shell = Shell::new(Path::new("."), "best");
    shell.line("kubectl create deployment web --image=nginx:1.27 --replicas=2");
    shell.line("kubectl rollout status deployment web");
    let host = shell.line("kubectl exec deploy/web -- hostname");
    assert!(host.starts_with("web-"), "{host}");
    let table = shell.line("kubectl get pods -L app,nothing --no-headers");
    assert!(table.lines().all(|line| line.trim_end().ends_with("web")) && table.lines().count() == 2, "{table}");
    let head = shell.line("kubectl get pods -L app,pod-template-hash");
    assert!(head.lines().next().unwrap().trim_end().ends_with("AGE   APP   POD-TEMPLATE-HASH"), "{head}");
}

#[test]
fn lines_are_of_many_containers_and_of_a_time() {
    let manifest = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "two", "labels": {"a": "b"}}, "spec": {
        "initContainers": [{"name": "first", "image": "busybox:1.36", "command": ["echo", "begin"]}],
        "containers": [{"name": "x", "image": "busybox:1.36", "command": ["sh", "-c", "echo one; sleep 20; echo two; sleep 9999"]},
            {"name": "y", "image": "busybox:1.36", "command": ["sh", "-c", "echo other; sleep 9999"]}]}}"#;
    let mut shell = Shell::new(Path::new("."), "many");
    shell.cluster.kubectl.files = std::rc::Rc::new([("two.yaml".to_owned(), manifest.to_owned())].into());
    shell.line("kubectl apply -f two.yaml");
    shell.line("kubectl wait --for=condition=Ready pod/two");
    shell.line("sleep 30");
    #[rustfmt::skip]
    let script = [
        ("kubectl logs two --all-containers", "begin\none\ntwo\nother"),
        ("kubectl logs two y", "other"),
        ("kubectl logs two --all-containers --prefix --tail=1", "[pod/two/first] begin\n[pod/two/x] two\n[pod/two/y] other"),
        ("kubectl logs -l a=b --prefix -c x", "[pod/two/x] one\n[pod/two/x] two"),
        ("kubectl logs two -c x --since=15s", "two"),
        ("kubectl logs two -c x --since-time=2100-01-01T00:00:00Z", ""),
        ("kubectl logs two --since-time=now", "error: parsing time \"now\" as \"2006-01-02T15:04:05Z07:00\": write a time such as …"),
        ("kubectl logs two --since=1s --since-time=2100-01-01T00:00:00Z", "error: at most one of `sinceTime` or `sinceSeconds` may be specified"),
        ("kubectl logs two x -c y", "error: only one of -c or an inline [CONTAINER] arg is allowed"),
        ("kubectl logs two -c x --all-containers", "error: --all-containers=true should not be specified with container name x"),
        ("kubectl logs two -f --all-containers --max-log-requests=2", "error: you are attempting to follow 3 log streams, but maximum allowed concurrency is 2, use --max-log-requests to increase the limit"),
        ("kubectl logs two -p y --ignore-errors", "error: previous terminated container \"y\" in pod \"two\" not found"),
    ];
    check(&mut shell, &script);
    let shown = shell.line("kubectl logs two -c x --timestamps --tail=1");
    let (time, line) = shown.split_once(' ').unwrap();
    assert!(time.len() == "2006-01-02T15:04:05.000000000Z".len() && time.ends_with('Z') && line == "two\n", "{shown}");
}

/// A client that reads on from the last time it has seen misses none.
#[test]
fn no_two_lines_of_a_log_have_the_same_time() {
    let mut shell = Shell::new(Path::new("."), "times");
    shell.line("kubectl run web --image=nginx:1.27");
    shell.line("kubectl wait --for=condition=Ready pod/web");
    let said = shell.line("kubectl logs web --timestamps");
    let times: Vec<&str> = said.lines().filter_map(|line| Some(line.split_once(' ')?.0)).collect();
    assert!(times.len() > 10 && times.is_sorted_by(|one, next| one < next), "{said}");
    let last = times[times.len() - 1];
    assert_eq!(shell.line(&format!("kubectl logs web --since-time={last}")).lines().count(), 1);
}

/// The API server says who may read a log, and it has to reach the kubelet.
#[test]
fn a_log_is_asked_for_on_the_way_there() {
    let mut shell = Shell::new(Path::new("."), "logs");
    shell.line("kubectl run web --image=nginx:1.27 --overrides='{\"spec\":{\"nodeName\":\"node-1\"}}'");
    shell.line("kubectl wait --for=condition=Ready pod/web");
    shell.line("kubectl create role reads --verb=get --resource=pods");
    shell.line("kubectl create rolebinding ann --role=reads --user=ann");
    let mut says = |line: &str| shell.line(line).trim_end().to_owned();
    let forbidden = "Error from server (Forbidden): pods \"web\" is forbidden: User \"ann\" cannot get resource \
                     \"pods/log\" in API group \"\" in the namespace \"logs\"";
    assert_eq!(says("kubectl logs web --as=ann"), forbidden);
    says("kubectl create role logs --verb=get --resource=pods/log");
    says("kubectl create rolebinding bob --role=logs --user=ann");
    assert!(says("kubectl logs web --as=ann").starts_with("/docker-entrypoint.sh: "));
    assert_eq!(
        says("kubectl get --raw /api/v1/namespaces/logs/pods/web/log"),
        "error: what a kubelet answers is left out with --raw; use kubectl logs or kubectl exec"
    );
    says("fake-node stop 1");
    let unreachable = "Error from server: Get \"https://172.18.0.10:10250/containerLogs/logs/web/web\": dial tcp \
                       172.18.0.10:10250: connect: no route to host";
    assert_eq!(says("kubectl logs web"), unreachable);
}
