//! `set`: what it changes and what it says.

use std::path::Path;

use crate::shell::Shell;
use crate::verbs::check;

#[test]
fn variables_come_from_elsewhere() {
    let mut shell = Shell::new(Path::new("."), "variables");
    shell.line("kubectl create deployment web --image=nginx:1.27");
    shell.line("kubectl create configmap settings --from-literal=log-level=warn --from-literal=PORT=80");
    shell.line("kubectl create secret generic key --from-literal=TOKEN=t0p");
    check(
        &mut shell,
        &[
            (
                "kubectl set env deploy/web --from=configmap/settings --prefix APP_",
                "Warning: key log-level transferred to LOG_LEVEL\ndeployment.apps/web env updated",
            ),
            ("kubectl set env deploy/web --from=secret/key --keys=TOKEN", "deployment.apps/web env updated"),
            ("kubectl set env deploy/web --keys=A", "error: when specifying --keys, a configmap or secret must be…"),
            ("kubectl set env deploy/web -e A=b", "deployment.apps/web env updated"),
            (
                "kubectl set env deploy/web --list",
                "# Deployment web, container nginx\n# APP_PORT from configmap settings, key PORT\n\
                 # APP_LOG_LEVEL from configmap settings, key log-level\n# TOKEN from secret key, key TOKEN\nA=b",
            ),
            (
                "kubectl set env deploy/web --list --resolve",
                "# Deployment web, container nginx\nAPP_PORT=80\nAPP_LOG_LEVEL=warn\nTOKEN=t0p\nA=b",
            ),
            (
                "kubectl set env deploy/web A=c --overwrite=false",
                "error: deployments/web 'A' already has a value (b), and --overwrite is false",
            ),
            ("kubectl set env deploy --all A=c --dry-run=client", "deployment.apps/web env updated (dry run)"),
            (
                "kubectl set env deploy -l app=web A- --dry-run=server -o jsonpath={..env[*].name}",
                "APP_PORT APP_LOG_LEVEL TOKEN",
            ),
            (
                "kubectl set env deploy/web A=1 A-",
                "error: can not both modify and remove the same environment variable…",
            ),
            ("kubectl set env deploy/web =1", "error: \"\" is not a valid key name…"),
            (
                "kubectl set env deploy/web A=1 -c db",
                "Warning: Deployment/web does not have any containers matching \"db\"",
            ),
            (
                "kubectl set env cm/settings A=1",
                "error: configmaps/settings the object is not a pod or does not have a…",
            ),
        ],
    );
}

#[test]
fn whom_an_object_means() {
    let mut shell = Shell::new(Path::new("."), "names");
    shell.line("kubectl create deployment web --image=nginx:1.27");
    shell.line("kubectl expose deployment web --port=80");
    shell.line("kubectl create rolebinding b --clusterrole=view --user=jane");
    check(
        &mut shell,
        &[
            ("kubectl set sa deploy/web builder", "deployment.apps/web serviceaccount updated"),
            ("kubectl set serviceaccount deploy/web builder", "deployment.apps/web serviceaccount updated"),
            ("kubectl get deploy web -o jsonpath={.spec.template.spec.serviceAccountName}", "builder"),
            (
                "kubectl set sa service/web x",
                "error: services/web the object is not a pod or does not have a pod template…",
            ),
            ("kubectl set selector service web tier=front", "service/web selector updated"),
            ("kubectl get service web -o jsonpath={.spec.selector}", "{\"tier\":\"front\"}"),
            ("kubectl set selector deploy web a=b", "error: setting a selector is only supported for Services"),
            (
                "kubectl set subject rolebinding b --user=jane,joe --serviceaccount=names:default",
                "rolebinding.rbac.authorization.k8s.io/b subjects updated",
            ),
            ("kubectl get rolebinding b -o jsonpath={.subjects[*].name}", "jane joe default"),
            ("kubectl set subject rolebinding b", "error: you must specify at least one value of user, group or…"),
            (
                "kubectl set subject rolebinding b --serviceaccount=x",
                "error: serviceaccount must be <namespace>:<name>",
            ),
            ("kubectl set colour deploy web", "error: unknown command \"colour\" for \"kubectl set\""),
        ],
    );
}

#[test]
fn images_and_resources() {
    let mut shell = Shell::new(Path::new("."), "images");
    shell.line("kubectl create deployment a --image=nginx:1.27");
    shell.line("kubectl create deployment b --image=nginx:1.27");
    check(
        &mut shell,
        &[
            (
                "kubectl set image deploy --all *=x:1",
                "deployment.apps/a image updated\ndeployment.apps/b image updated",
            ),
            ("kubectl set image deploy -l app=b nginx=y:1 -o name", "deployment.apps/b"),
            ("kubectl set image deploy a nginx=z:1 --dry-run=client -o jsonpath={..image}", "z:1"),
            (
                "kubectl set image deploy a *=z:1 nginx=y",
                "error: all containers are already specified by *, but saw more…",
            ),
            (
                "kubectl set resources deploy a --limits=cpu=1 --requests=cpu=2",
                "error: failed to patch resources update to pod template Deployment.apps \"a\" is invalid: spec.template…",
            ),
        ],
    );
}
