//! `-k` and `kustomize`: manifests that are built before they are sent.

use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;
use crate::verbs::check;

const BASE: &str = "
resources: [web.yaml]
configMapGenerator: [{name: settings, literals: [greeting=hello]}]
labels: [{pairs: {app: web}, includeSelectors: true}]
";

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  template:
    spec:
      containers: [{name: web, image: nginx, envFrom: [{configMapRef: {name: settings}}]}]
";

const DEV: &str = "
resources: [../base, space.yaml]
namespace: dev
images: [{name: nginx, newTag: '1.27'}]
";

const SPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: any}\n";

fn shell() -> Shell {
    let mut shell = Shell::new(Path::new("."), "kustomize");
    let files = [
        ("base/kustomization.yaml", BASE),
        ("base/web.yaml", WEB),
        ("dev/kustomization.yaml", DEV),
        ("dev/space.yaml", SPACE),
        ("old/kustomization.yaml", "bases: [../base]"),
    ];
    shell.cluster.kubectl.files =
        Rc::new(files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect());
    shell
}

#[test]
fn a_kustomization_is_applied_and_what_changes_rolls() {
    let mut shell = shell();
    let changed = BASE.replace("hello", "good day");
    check(
        &mut shell,
        &[
            (
                "kubectl apply -k dev",
                "namespace/dev created\nconfigmap/settings-k6cm94h6ch created\ndeployment.apps/web created",
            ),
            ("kubectl rollout status deploy web -n dev", "*deployment \"web\" successfully rolled out"),
            ("kubectl diff -k dev", ""),
            (
                "kubectl get -k dev",
                "NAME            STATUS   AGE\nnamespace/dev   Active   …\n\nNAME                            DATA   AGE\n\
                 configmap/settings-k6cm94h6ch   1      …\n\nNAME                  READY   UP-TO-DATE   AVAILABLE   AGE\n\
                 deployment.apps/web   1/1     1            1           …",
            ),
            ("kubectl get -k dev -o name", "namespace/dev\nconfigmap/settings-k6cm94h6ch\ndeployment.apps/web"),
            ("kubectl annotate -k dev a=b", "namespace/dev annotated\n…"),
            ("kubectl replace -k dev --dry-run=server -o name", "namespace/dev\nconfigmap/settings-k6cm94h6ch\n…"),
        ],
    );
    let mut files = (*shell.cluster.kubectl.files).clone();
    files.insert("base/kustomization.yaml".to_owned(), changed);
    shell.cluster.kubectl.files = Rc::new(files);
    check(
        &mut shell,
        &[
            ("kubectl diff -k dev", "diff -u -N /tmp/LIVE-1/v1.ConfigMap.dev.settings-66g2g6m649 …"),
            (
                "kubectl apply -k dev",
                "namespace/dev unchanged\nconfigmap/settings-66g2g6m649 created\ndeployment.apps/web configured",
            ),
            ("kubectl rollout status deploy web -n dev", "*deployment \"web\" successfully rolled out"),
            (
                "kubectl get rs -n dev -o jsonpath='{.items[*].spec.template.spec.containers[0].envFrom[0].configMapRef.name}'",
                "settings-k6cm94h6ch settings-66g2g6m649",
            ),
            (
                "kubectl delete -k dev",
                "namespace \"dev\" deleted\nconfigmap \"settings-66g2g6m649\" deleted from dev namespace\ndeployment.apps \"web\" deleted from dev namespace",
            ),
        ],
    );
}

#[test]
fn what_is_built_is_shown_and_mistakes_are_told() {
    let mut shell = shell();
    check(
        &mut shell,
        &[
            ("kubectl kustomize base", "apiVersion: v1\ndata:\n  greeting: hello\nkind: ConfigMap\n…"),
            (
                "kubectl kustomize old",
                "# Warning: 'bases' is deprecated. Please use 'resources' instead. Run 'kustomize edit fix' to update your \
                 Kustomization automatically.\napiVersion: v1\n…",
            ),
            (
                "kubectl kustomize dev --reorder none",
                "Flag --reorder has been deprecated, use the new 'sortOptions' field in kustomization.yaml instead.\n\
                 apiVersion: apps/v1\nkind: Deployment\n…",
            ),
            ("kubectl kustomize a b", "error: specify one path to kustomization.yaml"),
            (
                "kubectl apply -k kubectl",
                "error: unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory 'kubectl'",
            ),
            (
                "kubectl apply -k nowhere",
                "error: must build at directory: not a valid directory: evalsymlink failure on 'nowhere' : lstat nowhere: no \
                 such file or directory",
            ),
            ("kubectl apply -k base -f base/web.yaml", "error: only one of -f or -k can be specified"),
            ("kubectl apply -k base -R", "error: the -k flag can't be used with -f or -R"),
            (
                "kubectl get -k base pods",
                "error: when paths, URLs, or stdin is provided as resource input, you may not specify resource arguments as \
                 well",
            ),
            (
                "kubectl kustomize base --enable-helm",
                "error: --enable-helm is left out here: kubectl kustomize has it, and this one has not",
            ),
        ],
    );
}
