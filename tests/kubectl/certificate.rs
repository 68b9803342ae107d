//! Requests for certificates: who may ask, decide and sign, what comes of it, and when it is thrown away.

use std::path::Path;
use std::rc::Rc;

use object::{base64, x509};

use crate::shell::Shell;

/// Alice of the group `dev`, as a real cluster's user sent it.
const ALICE: &str = include_str!("../../src/object/x509/recorded-request.pem");
/// `system:node:node-9` of the group `system:nodes`.
const NODE: &str = include_str!("node-request.pem");

fn manifest(name: &str, pem: &str, signer: &str, usages: &str) -> (String, String) {
    let request = base64::padded(pem.as_bytes());
    let text = format!(
        r#"{{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {{"name": "{name}"}},
            "spec": {{"request": "{request}", "signerName": "{signer}", "usages": {usages}, "username": "root"}}}}"#
    );
    (format!("{name}.json"), text)
}

fn shell() -> Shell {
    let mut shell = Shell::new(Path::new("."), "certificates");
    let client = "kubernetes.io/kube-apiserver-client";
    let kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
    let of_node = r#"["digital signature", "client auth"]"#;
    let files = [
        manifest("jane", ALICE, client, r#"["client auth"]"#),
        manifest("jim", ALICE, client, r#"["client auth"]"#),
        manifest("odd", ALICE, client, r#"["server auth"]"#),
        manifest("mine", ALICE, "example.com/mine", r#"["client auth"]"#),
        manifest("node-9", NODE, kubelet, of_node),
        manifest("node-9-again", NODE, kubelet, of_node),
    ];
    shell.cluster.kubectl.files = Rc::new(files.into());
    shell
}

fn look(shell: &mut Shell, name: &str, path: &str) -> String {
    shell.line(&format!("kubectl get csr {name} -o jsonpath='{{{path}}}'"))
}

#[test]
fn what_an_administrator_approves_is_signed() {
    let mut shell = shell();
    assert_eq!(
        shell.line("kubectl apply -f jane.json"),
        "certificatesigningrequest.certificates.k8s.io/jane created\n"
    );
    assert_eq!(look(&mut shell, "jane", ".spec.username},{.spec.groups[0]"), "kubernetes-admin,system:masters");
    shell.line("sleep 2");
    assert_eq!(look(&mut shell, "jane", ".status"), "{}", "it waits");
    shell.calls.clear();
    let line = "certificatesigningrequest.certificates.k8s.io/jane approved\n";
    assert_eq!(shell.line("kubectl certificate approve jane"), line);
    assert_eq!(shell.calls.len(), 3, "GET, GET, PUT: {:?}", shell.calls);
    shell.line("sleep 2");
    assert!(shell.line("kubectl get csr jane --no-headers").contains("Approved,Issued"));
    let certificate = look(&mut shell, "jane", ".status.certificate");
    let pem = base64::decode(&certificate.trim_end_matches('=').replace('+', "-").replace('/', "_")).unwrap();
    assert!(x509::certificate::not_after(&pem).is_some(), "{}", String::from_utf8_lossy(&pem));
    assert_eq!(look(&mut shell, "jane", ".status.conditions[*].reason"), "KubectlApprove");
    assert_eq!(shell.line("kubectl certificate approve jane"), line, "as it was");
    let denied = "error: certificate signing request \"jane\" is already Approved\n";
    assert_eq!(shell.line("kubectl certificate deny jane"), denied);
}

#[test]
fn what_cannot_be_signed_says_why() {
    let mut shell = shell();
    shell.line("kubectl apply -f jim.json -f odd.json -f mine.json");
    assert_eq!(
        shell.line("kubectl certificate deny jim"),
        "certificatesigningrequest.certificates.k8s.io/jim denied\n"
    );
    shell.line("kubectl certificate approve odd mine");
    shell.line("sleep 2");
    let all = shell.line("kubectl get csr --no-headers");
    for (name, condition) in [("jim ", "Denied"), ("mine ", "Approved"), ("odd ", "Approved,Failed")] {
        let row = all.lines().find(|row| row.starts_with(name)).unwrap_or_default();
        assert_eq!(row.split_whitespace().last(), Some(condition), "{all}");
    }
    assert_eq!(
        look(&mut shell, "odd", ".status.conditions[1].message"),
        "invalid usage for client certificate: server auth"
    );
    for (line, want) in [
        (
            "kubectl certificate approve nope",
            "Error from server (NotFound): certificatesigningrequests.certificates.k8s.io \"nope\" not found\n",
        ),
        ("kubectl certificate approve", "error: one or more CSRs must be specified as <name> or -f <filename>\n"),
    ] {
        assert_eq!(shell.line(line), want);
    }
}

#[test]
fn who_decides_needs_a_rule_about_the_signer() {
    let mut shell = shell();
    shell.line("kubectl apply -f jane.json");
    shell.line("kubectl create clusterrole decides --verb=get,update --resource=certificatesigningrequests,certificatesigningrequests/approval");
    shell.line("kubectl create clusterrolebinding decides --clusterrole=decides --user=bob");
    let refused = "Error from server (Forbidden): certificatesigningrequests.certificates.k8s.io \"jane\" is forbidden: user not \
                   permitted to approve requests with signerName \"kubernetes.io/kube-apiserver-client\"\n";
    assert_eq!(shell.line("kubectl certificate approve jane --as=bob"), refused);
    const ROLE: &str = "system:certificates.k8s.io:kube-apiserver-client-approver";
    shell.line(&format!("kubectl create clusterrolebinding bob --clusterrole={ROLE} --user=bob"));
    assert!(shell.line("kubectl certificate approve jane --as=bob").ends_with("jane approved\n"));
}

#[test]
fn a_kubelet_has_its_certificate_by_itself_where_roles_allow_it() {
    let mut shell = shell();
    let join = "--as=system:bootstrap:abcdef --as-group=system:bootstrappers";
    const ROLES: [(&str, &str, &str); 3] = [
        ("join", "system:node-bootstrapper", "system:bootstrappers"),
        ("first", "system:certificates.k8s.io:certificatesigningrequests:nodeclient", "system:bootstrappers"),
        ("next", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", "system:nodes"),
    ];
    let bind = |shell: &mut Shell, (name, role, group): (&str, &str, &str)| {
        shell.line(&format!("kubectl create clusterrolebinding {name} --clusterrole={role} --group={group}"));
    };
    bind(&mut shell, ROLES[0]);
    shell.line(&format!("kubectl create -f node-9.json {join}"));
    shell.line("sleep 2");
    assert_eq!(look(&mut shell, "node-9", ".status"), "{}");
    ROLES[1..].iter().for_each(|role| bind(&mut shell, *role));
    // It was tried, and is tried again, later each time.
    shell.line("sleep 20");
    assert_eq!(
        look(&mut shell, "node-9", ".status.conditions[0].message"),
        "Auto approving kubelet client certificate after SubjectAccessReview."
    );
    let node = "--as=system:node:node-9 --as-group=system:nodes";
    shell.line(&format!("kubectl create -f node-9-again.json {node}"));
    shell.line("sleep 2");
    assert_eq!(
        look(&mut shell, "node-9-again", ".status.conditions[0].message"),
        "Auto approving self kubelet client certificate after SubjectAccessReview."
    );
    assert!(shell.line("kubectl get csr node-9-again --no-headers").contains("Approved,Issued"));
    shell.line("sleep 7300");
    assert_eq!(shell.line("kubectl get csr"), "No resources found\n");
}
