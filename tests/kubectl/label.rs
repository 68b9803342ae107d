//! `label`, `annotate` and `taint`.

use std::path::Path;

use crate::shell::Shell;
use crate::verbs::check;

#[test]
fn labels_and_annotations_are_set_and_shown() {
    let mut shell = Shell::new(Path::new("."), "marks");
    shell.line("kubectl create configmap a");
    shell.line("kubectl create configmap b");
    check(
        &mut shell,
        &[
            ("kubectl label cm a x=1 y=2", "configmap/a labeled"),
            ("kubectl label cm a --list", "x=1\ny=2"),
            ("kubectl label cm -l x=1 --list z=3", "Listing labels for ConfigMap./a:\n x=1\n y=2\n z=3"),
            ("kubectl label cm a --list -o yaml", "error: --list and --output may not be specified together"),
            (
                "kubectl label cm a x=2 y=3",
                "'x' already has a value (1), and --overwrite is false\n'y' already has a value (2), and --overwrite is false",
            ),
            (
                "kubectl label cm a x=-bad-",
                "error: invalid label value: \"x=-bad-\": a valid label must be an empty string…",
            ),
            ("kubectl label cm a x=1 x-", "error: can not both modify and remove a label in the same command"),
            ("kubectl label cm a k=v=w", "error: invalid label spec: k=v=w"),
            ("kubectl label cm a k=v b", "error: all resources must be specified before label changes: b"),
            (
                "kubectl label cm b none a w=1",
                "configmap/b labeled\nconfigmap/a labeled\nError from server (NotFound): configmaps \"none\" not found",
            ),
            ("kubectl label cm b v=1 w-", "configmap/b modified"),
            ("kubectl label cm a w-", "configmap/a unlabeled"),
            ("kubectl label cm a nothing-", "label \"nothing\" not found.\nconfigmap/a not labeled"),
            ("kubectl label cm --field-selector metadata.name=b k=v", "configmap/b labeled"),
            (
                "kubectl label cm --all --field-selector metadata.name=b k=v",
                "error: cannot set --all and --field-selector…",
            ),
            (
                "kubectl label cm a k=v --resource-version=1",
                "Error from server (Conflict): Operation cannot be fulfilled on configmaps \"a\": the object has been modified…",
            ),
            (
                "kubectl label cm --all k=v --resource-version=1",
                "error: --resource-version may only be used with a single…",
            ),
            ("kubectl annotate cm a p=q", "configmap/a annotated"),
            ("kubectl annotate cm a p=q", "configmap/a annotated"),
            (
                "kubectl annotate cm a p=r",
                "error: --overwrite is false but found the following declared annotation(s): 'p' already has a value (q)",
            ),
            ("kubectl annotate cm a p=r --overwrite", "configmap/a annotated"),
            ("kubectl annotate cm a --list", "p=r"),
            ("kubectl annotate cm a", "error: at least one annotation update is required"),
            ("kubectl annotate cm a nothing-", "configmap/a annotated"),
            ("kubectl annotate cm a kubernetes.io/change-cause=one", "configmap/a annotated"),
            ("kubectl annotate cm a kubernetes.io/change-cause=two", "configmap/a annotated"),
        ],
    );
}

#[test]
fn a_taint_that_was_there_is_modified() {
    let mut shell = Shell::new(Path::new("."), "taints");
    check(
        &mut shell,
        &[
            ("kubectl taint node node-1 a=b:NoSchedule", "node/node-1 tainted"),
            (
                "kubectl taint node node-1 a=c:NoSchedule",
                "error: node node-1 already has a taint(s) with same effect(s)…",
            ),
            ("kubectl taint node node-1 a=c:NoSchedule --overwrite", "node/node-1 modified"),
            ("kubectl taint node node-1 a=c:NoSchedule --overwrite", "node/node-1 modified"),
            ("kubectl taint node node-1 a-", "node/node-1 untainted"),
            (
                "kubectl taint node node-1 node-9 b=1:NoSchedule c:NoExecute",
                "node/node-1 tainted\nError from server (NotFound): nodes \"node-9\" not found",
            ),
            ("kubectl get node node-1 -o jsonpath={.spec.taints[*].key}", "b c"),
            ("kubectl taint node node-1 d:NoSchedule b-", "node/node-1 modified"),
            ("kubectl taint node node-1 x- y:NoExecute-", "taint \"x\" not found\ntaint \"y:NoExecute\" not found"),
            (
                "kubectl taint node node-1 x:NoExecute x-",
                "error: can not both modify and remove the following taint(s) in the same command: x=",
            ),
            (
                "kubectl taint node node-1 x:NoExecute x=1:NoExecute",
                "error: duplicated taints with the same key and effect: {x 1 NoExecute <nil>}…",
            ),
            ("kubectl taint node node-1 x:y:NoExecute", "error: invalid taint spec: x:y:NoExecute…"),
            (
                "kubectl taint node node-1 x:NoExecute y",
                "error: all resources must be specified before taint changes: y",
            ),
            ("kubectl taint node node-1 c- d-", "node/node-1 untainted"),
        ],
    );
    check(
        &mut shell,
        &[
            ("kubectl taint node/node-1 x:NoExecute", "error: the server doesn't have a resource type \"node/node-1\""),
            ("kubectl taint pods a x:NoExecute", "error: invalid resource type pods, only node types are supported"),
            ("kubectl taint x:NoExecute", "error: one or more resources must be specified as <resource> <name>"),
            (
                "kubectl taint node x:NoExecute",
                "error: at least one resource name must be specified since 'all' parameter is not set",
            ),
            (
                "kubectl taint node --all -l a=b x:NoExecute",
                "error: setting 'all' parameter with a non empty selector is prohibited",
            ),
            // Beside a selector names say nothing.
            ("kubectl taint node node-9 -l kubernetes.io/hostname=node-1 x:NoExecute", "node/node-1 tainted"),
            (
                "kubectl taint node node-9 --all x-",
                "node/node-1 untainted\ntaint \"x\" not found\ntaint \"x\" not found",
            ),
            ("kubectl taint node node/node-1 x:NoExecute", "node/node-1 tainted"),
            ("kubectl taint node ns/default x:NoExecute", "error: unexpected type *v1.Namespace, expected Node"),
        ],
    );
    shell.line("kubectl taint node node-1 e=f:NoSchedule");
    shell.calls.clear();
    shell.line("kubectl taint node node-1 e=f:NoSchedule --overwrite");
    let patches: Vec<&String> = shell.calls.iter().filter(|call| call.starts_with("patch nodes node-1 200")).collect();
    assert_eq!(patches.len(), 1, "it is sent though it changes nothing: {:?}", shell.calls);
}
