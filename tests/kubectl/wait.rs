//! `kubectl wait`: several objects, several goals, and none.

use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;
use crate::verbs::check;

const MAP: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
";

#[test]
fn each_object_is_waited_for_and_what_failed_is_told_in_the_end() {
    let mut shell = Shell::new(Path::new("."), "waits");
    shell.cluster.kubectl.files = Rc::new([("map.yaml".to_owned(), MAP.to_owned())].into());
    #[rustfmt::skip]
    let script = [
        ("kubectl run a --image=nginx:1.27", "pod/a created"),
        ("kubectl run b --image=nginx:1.27", "pod/b created"),
        ("kubectl wait --for=condition=Ready pod --all", "pod/a condition met\npod/b condition met"),
        ("kubectl wait --for=condition=Ready pod", "error: resource(s) were provided, but no name was specified"),
        ("kubectl wait --for=condition=Ready pod/none pod/b", "pod/b condition met\nError from server (NotFound): pods \"none\" not found"),
        ("kubectl wait --for=condition=Other pod --all --timeout=2s",
            "timed out waiting for the condition on pods/a\ntimed out waiting for the condition on pods/b"),
        ("kubectl wait --for=condition=Other pod/a --timeout=0", "error: condition not met for pods/a"),
        ("kubectl wait --for=condition=Ready --for=jsonpath=.status.phase=Running pod/a", "pod/a condition met\npod/a condition met"),
        ("kubectl wait --for=condition=Ready pod -l app=none", "error: no matching resources found"),
        ("kubectl wait --for=delete pod -l app=none", ""),
        ("kubectl wait --for=Delete pod/none pod/a --timeout=1s", "error: timed out waiting for the condition on pods/a"),
        ("kubectl wait --for=create -f map.yaml --timeout=1s", "error: timed out waiting for the condition"),
        ("kubectl wait --for=create pod/a pod/none --timeout=1s", "error: timed out waiting for the condition"),
        ("kubectl wait --for=create pod/none pod/nil --timeout=1s",
            "Error from server (NotFound): pods \"none\" not found\nError from server (NotFound): pods \"nil\" not found"),
        ("kubectl create -f map.yaml", "configmap/settings created"),
        ("kubectl wait --for=create -f map.yaml", "configmap/settings condition met"),
        ("kubectl wait --for=jsonpath={.status.containerStatuses} pod/a", "pod/a condition met"),
        ("kubectl wait --for=jsonpath={.status.containerStatuses}=x pod/a", "error: jsonpath leads to a nested object or list which is not supported"),
        ("kubectl wait --for=jsonpath={.status.conditions[*].type}=Ready pod/a", "error: given jsonpath expression matches more than one value"),
        ("kubectl wait --for=jsonpath={.spec.containers[1].name}=b pod/a", "error: array index out of bounds: index 1, length 1"),
        ("kubectl wait --for=condition=Ready pod/a --timeout=30",
            "error: invalid argument \"30\" for \"--timeout\" flag: time: missing unit in duration \"30\"\nSee 'kubectl wait --help' for usage."),
        ("kubectl wait --for=condition=Ready pod/a --timeout=30x",
            "error: invalid argument \"30x\" for \"--timeout\" flag: time: unknown unit \"x\" in duration \"30x\"\nSee 'kubectl wait --help' for usage."),
        ("kubectl wait --for=condition=Ready pod/a --timeout=soon",
            "error: invalid argument \"soon\" for \"--timeout\" flag: time: invalid duration \"soon\"\nSee 'kubectl wait --help' for usage."),
        ("kubectl wait --for=condition=Ready pod/a --timeout=-1s", "pod/a condition met"),
        ("kubectl logs a --since=-1m", "error: --since must be greater than 0"),
        ("kubectl create token default --duration=-1h", "error: --duration must be greater than or equal to 0"),
        ("kubectl create token default --duration=1.5s", "error: --duration cannot be expressed in units less than seconds"),
        ("kubectl wait pod/a", "error: unrecognized condition: []"),
    ];
    check(&mut shell, &script);
}
