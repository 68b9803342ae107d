//! `api-resources` and `version`.

use std::path::Path;

use crate::shell::Shell;
use crate::verbs::check;

#[test]
fn kinds_and_versions_are_told() {
    let mut shell = Shell::new(Path::new("."), "about");
    #[rustfmt::skip]
    let script = [
        ("kubectl api-resources --api-group=policy", "\
NAME                   SHORTNAMES   APIVERSION   NAMESPACED   KIND
poddisruptionbudgets   pdb          policy/v1    true         PodDisruptionBudget"),
        ("kubectl api-resources --api-group=apps -o name --sort-by=kind", "\
controllerrevisions.apps\ndaemonsets.apps\ndeployments.apps\nreplicasets.apps\nstatefulsets.apps"),
        ("kubectl api-resources --namespaced=false --api-group= --verbs=list,get --no-headers", "\
componentstatuses   cs    v1    false   ComponentStatus
namespaces          ns    v1    false   Namespace
nodes               no    v1    false   Node
persistentvolumes   pv    v1    false   PersistentVolume"),
        ("kubectl api-resources", "\
NAME                                SHORTNAMES   APIVERSION                        NAMESPACED   KIND
bindings                                         v1                                true         Binding
componentstatuses                   cs           v1                                false        ComponentStatus
configmaps                          cm           v1                                true         ConfigMap…"),
        ("kubectl api-resources --api-group=authorization.k8s.io --no-headers -o wide", "\
localsubjectaccessreviews         authorization.k8s.io/v1   true    LocalSubjectAccessReview   create   
selfsubjectaccessreviews          authorization.k8s.io/v1   false   SelfSubjectAccessReview    create   
selfsubjectrulesreviews           authorization.k8s.io/v1   false   SelfSubjectRulesReview     create   
subjectaccessreviews              authorization.k8s.io/v1   false   SubjectAccessReview        create   "),
        ("kubectl api-resources --api-group=authentication.k8s.io -o name", "\
selfsubjectreviews.authentication.k8s.io\ntokenreviews.authentication.k8s.io"),
        ("kubectl api-resources --api-group=policy -o yaml", "\
apiVersion: v1
groupVersion: \"\"
kind: APIResourceList
resources:
- group: policy
  kind: PodDisruptionBudget
  name: poddisruptionbudgets
  namespaced: true
  shortNames:
  - pdb
  singularName: poddisruptionbudget
  verbs:
  - create
  - delete
  - deletecollection
  - get
  - list
  - patch
  - update
  - watch
  version: v1"),
        ("kubectl api-resources -o json", "{\n    \"kind\": \"APIResourceList\",\n    \"apiVersion\": \"v1\",…"),
        ("kubectl api-resources --verbs=dance --no-headers -o name", ""),
        ("kubectl api-resources --sort-by=age", "error: --sort-by accepts only name or kind"),
        ("kubectl api-resources -o table", "error: --output table is not available; write wide, name, json or yaml"),
        ("kubectl version", "Client Version: v1.36.2\nKustomize Version: v5.8.1\nServer Version: v1.36.2"),
        ("kubectl version --client", "Client Version: v1.36.2\nKustomize Version: v5.8.1"),
        ("kubectl version --client -o json", "{\n  \"clientVersion\": {…"),
        ("kubectl version -o yaml", "clientVersion:\n  compiler: gc…"),
        ("kubectl version -o wide", "error: --output must be 'yaml' or 'json'"),
    ];
    check(&mut shell, &script);
    let wide = shell.line("kubectl api-resources -o wide --api-group=batch");
    assert!(wide.contains("CronJob   create,delete,deletecollection,get,list,patch,update,watch   all\n"), "{wide}");
}

#[test]
fn a_server_that_does_not_run_takes_no_connection() {
    let mut shell = Shell::new(Path::new("."), "refused");
    shell.cluster.stop_process("kube-apiserver").unwrap();
    let refused = "The connection to the server 172.18.0.2:6443 was refused - did you specify the right host or port?";
    let script = [
        ("kubectl get pods", refused),
        ("kubectl version", &*format!("Client Version: v1.36.2\nKustomize Version: v5.8.1\n{refused}")),
        ("kubectl version --client", "Client Version: v1.36.2\nKustomize Version: v5.8.1"),
    ];
    check(&mut shell, &script);
}
