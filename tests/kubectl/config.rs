//! `config`: the kubeconfig, and the namespace that lines without one work in.

use std::path::Path;

use crate::shell::Shell;
use crate::verbs::agrees;

const SCRIPT: &[(&str, &str)] = &[
    ("kubectl config current-context", "kubernetes-admin@kubernetes"),
    (
        "kubectl config get-contexts",
        "CURRENT   NAME                          CLUSTER      AUTHINFO           NAMESPACE\n\
         *         kubernetes-admin@kubernetes   kubernetes   kubernetes-admin   team",
    ),
    ("kubectl config get-clusters", "NAME\nkubernetes"),
    ("kubectl config get-users", "NAME\nkubernetes-admin"),
    (
        "kubectl config view",
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: DATA+OMITTED\n    server: https://172.18.0.2:6443\n  \
         name: kubernetes\ncontexts:\n- context:\n    cluster: kubernetes\n    namespace: team\n    user: kubernetes-admin\n  name: \
         kubernetes-admin@kubernetes\ncurrent-context: kubernetes-admin@kubernetes\nkind: Config\nusers:\n- name: kubernetes-admin\n  \
         user:\n    client-certificate-data: DATA+OMITTED\n    client-key-data: DATA+OMITTED",
    ),
    ("kubectl config view --minify -o jsonpath={..namespace}", "team"),
    ("kubectl create configmap here --from-literal=a=b", "configmap/here created"),
    ("kubectl config set-context --current --namespace=default", "Context \"kubernetes-admin@kubernetes\" modified."),
    ("kubectl get configmap here", "Error from server (NotFound): configmaps \"here\" not found"),
    ("kubectl get configmap here -n team -o name", "configmap/here"),
    ("kubectl config set-context ours --namespace=team", "Context \"ours\" created."),
    ("kubectl get configmap here --context=ours -o name", "configmap/here"),
    ("kubectl get configmap here --context=theirs", "error: context \"theirs\" does not exist"),
    ("kubectl config use-context ours", "Switched to context \"ours\"."),
    ("kubectl get configmap here -o name", "configmap/here"),
    ("kubectl config get-contexts -o name", "kubernetes-admin@kubernetes\nours"),
    ("kubectl config get-contexts ours --no-headers", "**     ours   kubernetes   kubernetes-admin   team"),
    ("kubectl config get-contexts none -o name", "error: context none not found"),
    ("kubectl config use-context theirs", "error: no context exists with the name: \"theirs\""),
    ("kubectl config set-context ours --current", "error: you cannot specify both a context name and --current"),
    ("kubectl config set-context", "error: you must specify a non-empty context name or --current"),
    ("kubectl config set-context far --cluster=mars", "error: there is no cluster \"mars\" here, only \"kubernetes\""),
    ("kubectl config rename-context ours mine", "Context \"ours\" renamed to \"mine\"."),
    ("kubectl config current-context", "mine"),
    ("kubectl config delete-context none", "error: cannot delete context none, not in ~/.kube/config"),
    ("kubectl config delete-context kubernetes-admin@kubernetes", "deleted context kubernetes-admin@kubernetes from…"),
    ("kubectl config set contexts.far.namespace team", "Property \"contexts.far.namespace\" set."),
    ("kubectl get configmap here --context=far -o name", "configmap/here"),
    ("kubectl config unset contexts.far.namespace", "Property \"contexts.far.namespace\" unset."),
    ("kubectl get configmap here --context=far -o name", "Error from server (NotFound): configmaps \"here\" not found"),
    ("kubectl config set contexts.far.cluster mars", "error: there is no cluster \"mars\" here, only \"kubernetes\""),
    ("kubectl config unset contexts.far", "Property \"contexts.far\" unset."),
    ("kubectl config unset contexts.far", "error: current map key `far` is invalid"),
    (
        "kubectl config set users.ada.token x",
        "error: users.ada.token: of the properties of a kubeconfig these are here: …",
    ),
    ("kubectl config set-cluster mars", "error: set-cluster: there is one cluster here, and it stays as it is"),
    ("kubectl config set current-context mine", "Property \"current-context\" set."),
    ("kubectl config set current-context", "error: unexpected args: [current-context]"),
    ("kubectl config set-clutser", "error: write: kubectl config view,…"),
    ("kubectl auth can-i create pods --quiet", ""),
    ("kubectl auth can-i create pods -q --as=ada", ""),
];

#[test]
fn contexts_are_seen_and_changed() {
    let mut shell = Shell::new(Path::new("."), "team");
    let mut wrong = Vec::new();
    for (line, want) in SCRIPT {
        let shown = shell.line(line);
        if !agrees(&shown, want) {
            wrong.push(format!("$ {line}\n- {want}\n+ {shown}"));
        }
    }
    assert!(wrong.is_empty(), "- wanted, + shown\n{}", wrong.join("\n"));
}

/// Here `TOKEN` stands for a token of the ServiceAccount.
const WITH_TOKEN: &[(&str, &str)] = &[
    ("kubectl config set-credentials bob --token=TOKEN", "User \"bob\" set."),
    ("kubectl config set-context bob --user=bob", "Context \"bob\" created."),
    ("kubectl config view -o jsonpath={.users[0].user}", "{\"token\":\"REDACTED\"}"),
    ("kubectl auth whoami --context=bob -o jsonpath={.status.userInfo.username}", "system:serviceaccount:team:reader"),
    (
        "kubectl get pods --context=bob",
        "Error from server (Forbidden): pods is forbidden: User \"system:serviceaccount:team:reader\" cannot list resource \
         \"pods\" in API group \"\" in the namespace \"default\"",
    ),
    ("kubectl get pods --context=bob --token=none", "error: You must be logged in to the server (Unauthorized)"),
    // A certificate comes first.
    ("kubectl auth whoami --token=none -o jsonpath={.status.userInfo.username}", "kubernetes-admin"),
    ("kubectl config set-credentials eve", "User \"eve\" set."),
    ("kubectl config set contexts.bob.user eve", "Property \"contexts.bob.user\" set."),
    ("kubectl get pods --context=bob", "Error from server (Forbidden): pods is forbidden: User \"system:anonymous\"…"),
    ("kubectl config delete-user eve", "deleted user eve from ~/.kube/config"),
    ("kubectl config delete-user eve", "error: cannot delete user eve, not in ~/.kube/config"),
    ("kubectl get pods --context=bob", "error: auth info \"eve\" does not exist"),
    ("kubectl config get-users", "NAME\nbob\nkubernetes-admin"),
];

#[test]
fn a_user_may_have_a_token() {
    let mut shell = Shell::new(Path::new("."), "team");
    shell.line("kubectl create serviceaccount reader");
    let token = shell.line("kubectl create token reader");
    for (line, want) in WITH_TOKEN {
        let shown = shell.line(&line.replace("TOKEN", token.trim()));
        assert!(agrees(&shown, want), "$ {line}\n- {want}\n+ {shown}");
    }
}
