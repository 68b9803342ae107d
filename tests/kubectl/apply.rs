//! `apply` beside what it does every day: what it deletes, and what it keeps of the manifest.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;
use crate::verbs::check;

const BOTH: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {app: shop}}
data: {a: '1'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, labels: {app: shop}}
";

const ONE: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {app: shop}}
data: {a: '2'}
";

const SOME_WRONG: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: Wrong}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: right}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: nowhere}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fine}
";

fn shell() -> Shell {
    let mut shell = Shell::new(Path::new("."), "apply");
    let files = [("both.yaml", BOTH), ("one.yaml", ONE), ("wrong.yaml", SOME_WRONG)];
    let files: BTreeMap<String, String> =
        files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    shell.cluster.kubectl.files = Rc::new(files);
    shell
}

/// What is wrong with some of many objects is said when all have been looked at.
#[test]
fn the_right_ones_come_first() {
    let want = "configmap/right created\nconfigmap/fine created\n\
                The ConfigMap \"Wrong\" is invalid: metadata.name: Invalid value: \"Wrong\": a lowercase RFC 1123 subdomain…\n\
                Error from server (NotFound): error when creating \"wrong.yaml\": namespaces \"nowhere\" not found";
    check(
        &mut shell(),
        &[
            ("kubectl create -f wrong.yaml", want),
            (
                "kubectl delete cm right fine",
                "configmap \"right\" deleted from apply namespace\nconfigmap \"fine\" deleted from apply namespace",
            ),
            ("kubectl apply -f wrong.yaml", want),
        ],
    );
}

#[test]
fn what_is_in_no_manifest_any_more_is_pruned() {
    let mut shell = shell();
    check(
        &mut shell,
        &[
            ("kubectl apply -f both.yaml", "configmap/one created\nconfigmap/two created"),
            ("kubectl create configmap other", "configmap/other created"),
            ("kubectl label configmap other app=shop", "configmap/other labeled"),
            (
                "kubectl apply -f one.yaml --prune",
                "error: all resources selected for prune without explicitly passing --all.…",
            ),
            (
                "kubectl apply -f one.yaml --prune -l app=shop --dry-run=client",
                "configmap/one configured (dry run)\nconfigmap/two pruned (dry run)\nWarning: v1 Endpoints is deprecated in v1.33+;…",
            ),
            ("kubectl apply -f one.yaml -l app=other", "error: no objects passed to apply"),
            ("kubectl apply -f one.yaml --prune --all --prune-allowlist=core/v1/Secret", "configmap/one configured"),
            (
                "kubectl apply -f one.yaml --prune --all --prune-allowlist=Secret",
                "*error: invalid GroupVersionKind format: Secret, please follow <group/version/kind>",
            ),
            (
                "kubectl apply -f one.yaml --prune -l app=shop",
                "configmap/one unchanged\nconfigmap/two pruned\nWarning: v1 Endpoints is deprecated…",
            ),
            ("kubectl get cm -l app=shop -o name", "configmap/one\nconfigmap/other"),
            (
                "kubectl apply -f one.yaml --prune --all -l app=shop",
                "error: cannot set --all and --selector at the same time",
            ),
        ],
    );
}

#[test]
fn what_was_applied_last_is_shown_and_set() {
    let mut shell = shell();
    check(
        &mut shell,
        &[
            ("kubectl apply -f both.yaml", "configmap/one created\nconfigmap/two created"),
            (
                "kubectl apply view-last-applied cm one",
                "apiVersion: v1\ndata:\n  a: \"1\"\nkind: ConfigMap\nmetadata:\n  annotations: {}\n  labels:\n    app: shop\n  name: \
                 one\n  namespace: apply",
            ),
            ("kubectl apply view-last-applied cm one -o json", "{\n  \"apiVersion\": \"v1\",\n  \"data\"…"),
            (
                "kubectl apply view-last-applied cm one -o name",
                "error: Unexpected -o output mode: name, the flag 'output'…",
            ),
            ("kubectl apply set-last-applied -f one.yaml", "configmap/one configured"),
            ("kubectl apply set-last-applied -f one.yaml", "set-last-applied one: no changes required."),
            ("kubectl get cm one -o jsonpath={.data.a}", "1"),
            ("kubectl create configmap other", "configmap/other created"),
            (
                "kubectl apply view-last-applied cm other",
                "error: no last-applied-configuration annotation found on resource: other",
            ),
            (
                "kubectl apply edit-last-applied cm one",
                "error: edit-last-applied needs an editor; change the manifest…",
            ),
            (
                "kubectl apply -f one.yaml --record",
                "Flag --record has been deprecated, --record will be removed in the future\nconfigmap/one configured",
            ),
            (
                "kubectl get cm one -o jsonpath={.metadata.annotations.kubernetes\\.io/change-cause}",
                "kubectl apply --filename=one.yaml --record=true",
            ),
        ],
    );
}

/// An object that was read carries the version that it had there.
#[test]
fn what_was_read_can_be_created() {
    let mut shell = shell();
    check(
        &mut shell,
        &[
            ("kubectl apply -f one.yaml", "configmap/one created"),
            (
                "kubectl get cm one -o yaml | kubectl replace --force -f -",
                "configmap \"one\" deleted from apply namespace\nconfigmap/one replaced",
            ),
            ("kubectl get cm one -o jsonpath={.data.a}", "2"),
            ("kubectl create namespace other", "namespace/other created"),
        ],
    );
    let other = shell.line("kubectl get cm one -o yaml").replace("namespace: apply", "namespace: other");
    let mut files = (*shell.cluster.kubectl.files).clone();
    files.insert("other.yaml".to_owned(), other);
    shell.cluster.kubectl.files = Rc::new(files);
    check(
        &mut shell,
        &[
            ("kubectl create -f other.yaml", "configmap/one created"),
            ("kubectl delete -f other.yaml", "configmap \"one\" deleted from other namespace"),
            ("kubectl apply -f other.yaml", "configmap/one created"),
        ],
    );
}

/// What stands before something broken is done, and what stands after something unknown too.
#[test]
fn a_file_is_read_as_far_as_it_goes() {
    const BROKEN: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: before}
data: {a: '1', a: '2'}
---
apiVersion: x/v1
kind: Shirt
metadata: {name: my}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: between}
---
apiVersion: v1
kind: {
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after}
";
    let mut shell = shell();
    shell.cluster.kubectl.files = Rc::new([("broken.yaml".to_owned(), BROKEN.to_owned())].into());
    let faults = "resource mapping not found for name: \"my\" namespace: \"\" from \"broken.yaml\": no matches for kind \"Shirt\" …\n\
                  ensure CRDs are installed first\n  hint: …\nerror parsing broken.yaml: error converting YAML to JSON: …\n  hint: …";
    let with = |done: &str| format!("{done}\n{faults}");
    check(
        &mut shell,
        &[
            ("kubectl apply -f broken.yaml --dry-run=client -o name", &with("configmap/before\nconfigmap/between")),
            ("kubectl create -f broken.yaml", &with("configmap/before created\nconfigmap/between created")),
            ("kubectl get cm before -o jsonpath={.data.a}", "2"),
            ("kubectl get -f broken.yaml --no-headers", &with("before    1     …\nbetween   0     …")),
            ("kubectl get -f broken.yaml -o name", faults),
            ("kubectl replace -f broken.yaml", &with("configmap/before replaced\nconfigmap/between replaced")),
            ("kubectl label -f broken.yaml a=b", &with("configmap/before labeled\nconfigmap/between labeled")),
            (
                "kubectl delete -f broken.yaml",
                &with(
                    "configmap \"before\" deleted from apply namespace\nconfigmap \"between\" deleted from apply namespace",
                ),
            ),
        ],
    );
}

/// What is no text goes where bytes go.
#[test]
fn files_need_not_be_texts() {
    let folder = std::env::temp_dir().join(format!("kubestep-bytes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    std::fs::write(folder.join("icon"), [0xff, 0x00, 0x80]).expect("it can be written");
    std::fs::write(folder.join("motto"), "hi").expect("it can be written");
    let mut shell = shell();
    shell.directory.clone_from(&folder);
    check(
        &mut shell,
        &[
            ("kubectl create cm a --from-file=icon --from-file=motto", "configmap/a created"),
            ("kubectl get cm a -o jsonpath={.binaryData.icon}{.data}", "/wCA{\"motto\":\"hi\"}"),
            ("kubectl create secret generic a --from-file=.", "secret/a created"),
            ("kubectl get secret a -o jsonpath={.data}", "{\"icon\":\"/wCA\",\"motto\":\"aGk=\"}"),
            (
                "kubectl create cm b --from-file=icon --from-file=icon",
                "error: cannot add key \"icon\", another key by that name already exists in BinaryData for ConfigMap \"b\"",
            ),
        ],
    );
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn what_goes_is_not_changed_unnoticed() {
    let mut shell = shell();
    check(
        &mut shell,
        &[
            ("kubectl apply -f one.yaml", "configmap/one created"),
            (
                "kubectl patch cm one -p '{\"metadata\":{\"finalizers\":[\"example.com/stay\"]}}'",
                "configmap/one patched",
            ),
            ("kubectl delete cm one --wait=false", "configmap \"one\" deleted from apply namespace"),
            (
                "kubectl apply -f both.yaml",
                "Warning: Detected changes to resource one which is currently being deleted.\nconfigmap/one configured\n\
                 configmap/two created",
            ),
        ],
    );
}

/// The endpoints controller hears of the Endpoints that it has created before it reconciles their Service again.
#[test]
fn a_service_gets_its_endpoints_once() {
    let manifest = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2,
            "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec":
            {"containers": [{"name": "nginx", "image": "nginx:1.27"}]}}}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"},
            "ports": [{"port": 80}]}}]}"#;
    let mut shell = Shell::new(Path::new("."), "once");
    shell.cluster.kubectl.files = std::rc::Rc::new([("web.json".to_owned(), manifest.to_owned())].into());
    shell.line("kubectl apply -f web.json");
    shell.line("kubectl rollout status deployment/web");
    let reasons = shell.line("kubectl get events -o jsonpath={.items[*].reason}");
    assert!(reasons.contains("ScalingReplicaSet") && !reasons.contains("FailedToCreateEndpoint"), "{reasons}");
}
