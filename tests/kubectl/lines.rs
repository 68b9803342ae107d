//! Lines of a timeline are a shell's: what is typed around kubectl does what it does on one's own machine.

use cluster::{Cluster, Config};

/// Lines one after another in one cluster, each with what it prints.
fn check(lines: &[(&str, &str)]) {
    let mut cluster = Cluster::start(Config::default());
    for (line, want) in lines {
        let before = cluster.kubectl.printed();
        cluster.type_lines(vec![(*line).to_owned()]);
        while !cluster.is_quiet() {
            cluster.step().expect("a line ends before everything stands still");
        }
        let printed = cluster.kubectl.printed_since(before);
        let said = printed.strip_prefix(&format!("$ {line}\n")).and_then(|said| said.strip_suffix('\n'));
        assert_eq!(said, Some(*want), "{line}");
    }
}

#[test]
fn loops_and_conditions_are_gone_through() {
    check(&[
        ("for n in $(seq 2); do kubectl create cm c$n; sleep 1; done", "configmap/c1 created\nconfigmap/c2 created\n"),
        ("if kubectl get cm c3 >/dev/null 2>&1; then echo there; else echo none; fi", "none\n"),
        ("kubectl get cm c3 2>/dev/null || echo missing", "missing\n"),
        ("kubectl get cm c1 -o name && kubectl get cm c2 -o name", "configmap/c1\nconfigmap/c2\n"),
        (
            "for c in $(kubectl get cm -o jsonpath='{.items[*].metadata.name}'); do echo ${c%.crt}; done",
            "c1\nc2\nkube-root-ca\n",
        ),
        ("until kubectl get cm c4 2>&1 | grep -q c4.*not; do sleep 1; done; echo $?", "0\n"),
    ]);
}

#[test]
fn what_a_command_prints_goes_where_it_is_sent() {
    check(&[
        ("kubectl create cm one --from-literal=a=1", "configmap/one created\n"),
        ("kubectl get cm one -o yaml > one.yaml", ""),
        (
            "sed 's/a: \"1\"/a: \"2\"/' one.yaml | kubectl apply --server-side --force-conflicts -f - 2>&1 | wc -l",
            "1\n",
        ),
        (
            "kubectl create cm two --dry-run=client -o yaml > two.yaml; kubectl apply -f two.yaml",
            "configmap/two created\n",
        ),
        (
            "cat <<END | kubectl create -f -\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: three}\nEND",
            "configmap/three created\n",
        ),
        (
            "kubectl get cm -o name | grep -v root | xargs kubectl delete",
            "configmap \"one\" deleted from default namespace\nconfigmap \"three\" deleted from default namespace\nconfigmap \"two\" deleted from default namespace\n",
        ),
        ("kubectl get cm --no-headers | awk '{print $2, $1}'", "1 kube-root-ca.crt\n"),
        ("kubectl get cm nobody | wc -l", "Error from server (NotFound): configmaps \"nobody\" not found\n0\n"),
    ]);
}

#[test]
fn commands_run_beside_each_other() {
    check(&[
        ("kubectl run web --image=nginx:1.27", "pod/web created\n"),
        (
            "kubectl wait --for=condition=Ready pod/web & kubectl get pod web -o name; wait",
            "pod/web\npod/web condition met\n",
        ),
        (
            "kubectl wait --for=delete pod/web & kubectl delete pod web; wait; echo gone",
            "pod \"web\" deleted from default namespace\npod/web condition met\ngone\n",
        ),
    ]);
}

#[test]
fn a_command_in_the_background_is_killed() {
    check(&[
        (
            "kubectl get pods --watch & kubectl wait --for=create pod/never --timeout=1h & kill $! %1; wait; echo over",
            "over\n",
        ),
        ("kubectl wait --for=create pod/never --timeout=1h & pid=$!; sleep 5; kill -9 $pid; wait; echo over", "over\n"),
        (
            "kill $pid || kill %1 || kill %%",
            "\
kill: (4) - No such process
kill: %1: no such job
kill: %%: no such job
",
        ),
        (
            "kubectl get cm kube-root-ca.crt & wait; kill %1 2>/dev/null || echo none",
            "\
NAME               DATA   AGE
kube-root-ca.crt   1      5s
none
",
        ),
    ]);
}

#[test]
fn a_line_that_never_ends_is_ended() {
    check(&[
        (
            "x=700000; until false; do sleep $x; done",
            "error: a line may sleep for a week at the most, which is 604800 seconds\n",
        ),
        ("while true; do true; done", "error: this is more than the shell here knows: while true; do true; done\n"),
        ("echo on", "on\n"),
    ]);
}

/// Lines at the prompt run one after another, as in a shell; what follows changes lets the next one begin.
#[test]
fn a_typed_line_waits_for_the_one_before_it() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut cluster = Cluster::start(Config::default());
    cluster.type_words(words("config set-context --current --namespace=kube-system"));
    assert!(cluster.line_is_new(), "what is typed now means to come after it");
    cluster.type_words(words("create cm a"));
    cluster.type_line("kubectl get cm a -o name -n kube-system | tee list".to_owned());
    cluster.type_words(words("get cm --watch --no-headers --field-selector=metadata.name=b"));
    cluster.type_words(words("create cm b"));
    assert!(cluster.step().is_some() && cluster.line_runs() && !cluster.line_is_new());
    while !cluster.is_quiet() && cluster.step().is_some() {}
    let printed = cluster.kubectl.printed_since(0);
    let said: Vec<&str> = printed.lines().filter(|line| !line.is_empty() && !line.starts_with('$')).collect();
    let expected = [
        "Context \"kubernetes-admin@kubernetes\" modified.",
        "configmap/a created",
        "configmap/a",
        "configmap/b created",
        "b     0     0s",
    ];
    assert_eq!(said, expected, "{printed}");
    assert!(!cluster.line_runs());
}

#[test]
fn more_of_a_shell_is_known() {
    check(&[
        ("for n in {1..3}; do echo $n; done", "1\n2\n3\n"),
        ("kubectl create cm one --from-literal=a=1 | tee said # and kept", "configmap/one created\n"),
        ("cat said | head -c 9", "configmap"),
        ("kubectl get cm one -o json | jq -r '.data.a, .metadata.name'", "1\none\n"),
        ("date +%Y", "2026\n"),
        ("ls said", "said\n"),
    ]);
}
