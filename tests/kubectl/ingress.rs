//! Ingresses: kept and shown as in a cluster that has no ingress controller.

use std::path::Path;

use crate::shell::Shell;

#[test]
fn an_ingress_is_kept_and_shown() {
    let mut shell = Shell::new(Path::new("kubectl"), "ingress");
    shell.line("kubectl create deployment web --image=nginx:1.27 --port=80");
    shell.line("kubectl expose deployment web");
    let made = shell.line("kubectl apply -f ingress.yaml");
    assert_eq!(made, "ingressclass.networking.k8s.io/nginx created\ningress.networking.k8s.io/web created\n");
    shell.line("sleep 5");
    let table = shell.line("kubectl get ingress");
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..5], ["web", "nginx", "a.example.com", "80,", "443"], "{table}");
    let classes = shell.line("kubectl get ingressclass");
    assert!(classes.contains("\nnginx (default)   "), "{classes}");
    let page = shell.line("kubectl describe ingress web");
    for part in ["Ingress Class:    nginx", "tls terminates a.example.com", "(<error: services \"none\" not found>)"] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let line = page.lines().find(|line| line.contains("web:80")).unwrap();
    assert!(line.contains("web:80 (10.244.") && line.ends_with(":80)"), "{line}");
    let patched =
        shell.line("kubectl patch ingressclass nginx --type=merge -p '{\"spec\":{\"controller\":\"a.io/b\"}}'");
    assert!(patched.contains("spec.controller: Invalid value: \"a.io/b\": field is immutable"), "{patched}");
}
