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
        ("kubectl api-resources -o table", 
            "error: unable to match a printer suitable for the output format \"table\", allowed formats are: json,kyaml,name,wide,yaml"),
        ("kubectl api-resources -o kyaml --api-group=node.k8s.io", "---\n{\n  kind: \"APIResourceList\",\n  apiVersion: \"v1\",…"),
        ("kubectl api-resources --categories=all --cached --api-group=apps -o name",
            "daemonsets.apps\ndeployments.apps\nreplicasets.apps\nstatefulsets.apps"),
        ("kubectl api-resources --categories=api-extensions --api-group=apiextensions.k8s.io -o wide --no-headers",
            "customresourcedefinitions   crd,crds   apiextensions.k8s.io/v1   false   CustomResourceDefinition   create,delete,deletecollection,get,list,patch,update,watch   api-extensions"),
        ("kubectl api-resources --categories=api-extensions --api-group=admissionregistration.k8s.io -o name", "\
mutatingadmissionpolicies.admissionregistration.k8s.io
mutatingadmissionpolicybindings.admissionregistration.k8s.io
mutatingwebhookconfigurations.admissionregistration.k8s.io
validatingadmissionpolicies.admissionregistration.k8s.io
validatingadmissionpolicybindings.admissionregistration.k8s.io
validatingwebhookconfigurations.admissionregistration.k8s.io"),
        ("kubectl get api-extensions -o name --field-selector=metadata.name=v1.apps", "apiservice.apiregistration.k8s.io/v1.apps"),
        ("kubectl api-resources --categories=all,none --no-headers", ""),
        ("kubectl api-resources pods nodes", "error: unexpected arguments: [pods nodes]\nSee 'kubectl api-resources -h' for help and examples"),
        ("kubectl api-versions v1", "error: unexpected arguments: [v1]\nSee 'kubectl api-versions -h' for help and examples"),
        ("kubectl version 1 2", "error: extra arguments: [1 2]"),
        ("kubectl version 1 --client", "Client Version: v1.36.2\nKustomize Version: v5.8.1"),
        ("kubectl version", "Client Version: v1.36.2\nKustomize Version: v5.8.1\nServer Version: v1.36.2"),
        ("kubectl version --client", "Client Version: v1.36.2\nKustomize Version: v5.8.1"),
        ("kubectl version --client -o json", "\
{
  \"clientVersion\": {
    \"major\": \"1\",
    \"minor\": \"36\",
    \"gitVersion\": \"v1.36.2\",
    \"gitCommit\": \"0000000000000000000000000000000000000000\",
    \"gitTreeState\": \"clean\",
    \"buildDate\": \"2026-06-01T00:00:00Z\",
    \"goVersion\": \"go1.26.6\",
    \"compiler\": \"gc\",
    \"platform\": \"linux/amd64\"
  },
  \"kustomizeVersion\": \"v5.8.1\"
}"),
        ("kubectl version -o yaml", "clientVersion:\n  buildDate: \"2026-06-01T00:00:00Z\"\n  compiler: gc…"),
        ("kubectl version -o wide", "error: --output must be 'yaml' or 'json'"),
    ];
    check(&mut shell, &script);
    let version = shell.line("kubectl version -o yaml");
    assert!(version.ends_with("platform: linux/amd64\n\n"), "{version:?}");
    let wide = shell.line("kubectl api-resources -o wide --api-group=batch");
    assert!(wide.contains("CronJob   create,delete,deletecollection,get,list,patch,update,watch   all\n"), "{wide}");
}

#[test]
fn the_cluster_is_where_its_services_are() {
    let mut shell = Shell::new(Path::new("."), "where");
    let services = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns", "labels": {"kubernetes.io/cluster-service": "true",
            "kubernetes.io/name": "CoreDNS"}}, "spec": {"ports": [{"name": "dns", "port": 53}]}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "safe", "labels": {"kubernetes.io/cluster-service": "true"}},
            "spec": {"ports": [{"name": "api", "port": 443}]}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "labels": {"kubernetes.io/cluster-service": "true"}},
            "spec": {"ports": [{"port": 80}]}}]}"#;
    shell.cluster.kubectl.files = std::rc::Rc::new([("services.yaml".to_owned(), services.to_owned())].into());
    shell.line("kubectl create -f services.yaml");
    const URL: &str = "https://172.18.0.2:6443";
    const MORE: &str = "To further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.";
    let of = |service: &str| format!("{URL}/api/v1/namespaces/where/services/{service}/proxy");
    let script = [
        ("kubectl cluster-info", &*format!("Kubernetes control plane is running at {URL}\n\n{MORE}")),
        (
            "kubectl cluster-info -n where",
            &*format!(
                "\
Kubernetes control plane is running at {URL}
CoreDNS is running at {}
safe is running at {}
web is running at {}\n\n{MORE}",
                of("dns:dns"),
                of("https:safe:api"),
                of("web")
            ),
        ),
        (
            "kubectl cluster-info --as=ada",
            &*format!(
                "\n{MORE}\nError from server (Forbidden): services is forbidden: \
User \"ada\" cannot list resource \"services\" in API group \"\" in the namespace \"kube-system\""
            ),
        ),
    ];
    check(&mut shell, &script);
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
