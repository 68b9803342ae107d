//! `get`: kinds by all their names, and the formats that it prints.

use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;
use crate::verbs::check;

#[test]
fn what_is_asked_for_is_found_and_printed() {
    let mut shell = Shell::new(Path::new("."), "get");
    let files = [
        ("path", "{.metadata.name}!"),
        ("go", "{{.kind}}"),
        ("columns", "NAME N\n.metadata.name  .spec.replicas\n"),
        ("bad", "A B\n.a\n"),
    ];
    shell.cluster.kubectl.files =
        Rc::new(files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect());
    #[rustfmt::skip]
    let script = [
        ("kubectl create deployment web --image=nginx:1.27 --replicas=2", "deployment.apps/web created"),
        ("kubectl rollout status deploy web", "*deployment \"web\" successfully rolled out"),
        ("kubectl get deploy.apps,deployments.v1.apps -o name", "deployment.apps/web"),
        ("kubectl get pods -o", "error: flag needs an argument: 'o' in -o\nSee 'kubectl get --help' for usage."),
        ("kubectl get rs.batch", "error: the server doesn't have a resource type \"rs\""),
        ("kubectl get pods nope --ignore-not-found", ""),
        ("kubectl get", "You must specify the type of resource to get. Use \"kubectl api-resources\" for a complete list of supported resources.\n\nerror: Required resource not specified.\n…"),
        ("kubectl describe", "error: You must specify the type of resource to describe. Use \"kubectl api-resources\" for a complete list of supported resources.…"),
        ("kubectl delete", "error: You must provide one or more resources by argument or filename.\nExample resource specifications include:\n   '-f rsrc.yaml'\n…"),
        ("kubectl get deploy web -l a=b", "error: name cannot be provided when a selector is specified"),
        ("kubectl delete deploy/web --all", "error: selectors and the all flag cannot be used when passing resource/name arguments"),
        (
            "kubectl get pods --field-selector=spec.foo=x",
            "Error from server (BadRequest): Unable to find \"/v1, Resource=pods\" that match label selector \"\", field selector \"spec.foo=x\": field label not supported: spec.foo",
        ),
        ("kubectl get deploy -l 'a b'", "Error from server (BadRequest): Unable to find \"apps/v1, Resource=deployments\" that match label selector \"a b\", field selector \"\": unable to parse requirement: …"),
        ("kubectl get pods --sort-by=.x", "error: couldn't find any field with path \"{.x}\" in the list of objects"),
        ("kubectl rollout status deploy web --revision=9", "error: desired revision (9) is different from the running revision (1)"),
        ("kubectl rollout status deploy web --revision=1", "deployment \"web\" successfully rolled out"),
        ("kubectl create ns", "error: exactly one NAME is required, got 0\nSee 'kubectl create namespace -h' for help and examples"),
        ("kubectl taint node node-1 a=b", "error: invalid taint spec: a=b, name part must consist of alphanumeric characters, …"),
        ("kubectl scale deploy web nope --replicas=2", "deployment.apps/web scaled\nError from server (NotFound): deployments.apps \"nope\" not found"),
        ("kubectl patch deploy web -p '{\"spec\":'", "Error from server (BadRequest): unexpected end of JSON input"),
        ("kubectl patch deploy web --type=merge -p '{\"metadata\":{\"labels\":{},\"labels\":{}}}'", "Warning: duplicate field \"metadata.labels\"\ndeployment.apps/web patched (no change)"),
        ("kubectl rollout foo", "error: unknown command \"foo\"\nSee 'kubectl rollout -h' for help and examples"),
        ("kubectl run p --image=", "error: --image is required"),
        ("kubectl delete pod x --now --grace-period=5", "error: --now and --grace-period cannot be specified together"),
        ("kubectl get pods -A x", "error: a resource cannot be retrieved by name across all namespaces"),
        ("kubectl get pods -A x y", "error: a resource cannot be retrieved by name across all namespaces"),
        ("kubectl delete pod x -A", "error: a resource cannot be retrieved by name across all namespaces"),
        ("kubectl wait pod x -A --for=delete", "error: a resource cannot be retrieved by name across all namespaces"),
        ("kubectl label deploy web -l a=b x=y", "error: name cannot be provided when a selector is specified"),
        ("kubectl label deploy web --all x=y --dry-run=client", "deployment.apps/web labeled (dry run)"),
        ("kubectl create cm far -n kube-system", "configmap/far created"),
        ("kubectl label cm far -n kube-system a=b", "configmap/far labeled"),
        ("kubectl delete cm -A -l a=b", "configmap \"far\" deleted from kube-system namespace"),
        ("kubectl get pods nope nor", "Error from server (NotFound): pods \"nope\" not found\nError from server (NotFound): pods \"nor\" not found"),
        ("kubectl get deploy/nope deploy/web svc/nor -o name", "deployment.apps/web\nError from server (NotFound): deployments.apps \"nope\" not found\nError from server (NotFound): services \"nor\" not found"),
        ("kubectl describe deploy nope nor", "Error from server (NotFound): deployments.apps \"nope\" not found\nError from server (NotFound): deployments.apps \"nor\" not found"),
        ("kubectl describe cm nope kube-root-ca.crt", "Name:         kube-root-ca.crt\n…"),
        ("kubectl delete cm nope nor", "Error from server (NotFound): configmaps \"nope\" not found\nError from server (NotFound): configmaps \"nor\" not found"),
        ("kubectl get cronjobs --ignore-not-found", ""),
        ("kubectl get deploy web --subresource=scale", "NAME   DESIRED   AVAILABLE   AGE\nweb    2         2           …"),
        ("kubectl get deploy web --subresource=scale -o jsonpath={.kind}/{.status.replicas}", "Scale/2"),
        ("kubectl get deploy web --subresource=status -o name", "deployment.apps/web"),
        ("kubectl get deploy --subresource=status", "error: subresource cannot be used when bulk resources are specified"),
        ("kubectl get deploy web --subresource=heart", "Error from server (NotFound): the server could not find the requested resource"),
        ("kubectl get deploy web -o go-template --template={{.kind}}", "Deployment"),
        ("kubectl get deploy web --template={{.kind}}", "Deployment"),
        ("kubectl get deploy web -o go-template-file=go", "Deployment"),
        ("kubectl get deploy web -o jsonpath-file=path", "web!"),
        ("kubectl get deploy web -o jsonpath-file=nowhere", "error: open nowhere: no such file or directory"),
        ("kubectl get deploy web -o custom-columns-file=columns", "NAME   N\nweb    2"),
        ("kubectl get deploy web -o custom-columns-file=bad", "error: expected as many titles in the first line as paths in the second, got 2 and 1"),
        ("kubectl get deploy web -o jsonpath-as-json={.metadata.labels}", "[\n    {\n        \"app\": \"web\"\n    }\n]"),
        ("kubectl get deploy web -o template", "error: template format specified but no template given"),
        ("kubectl get pods --chunk-size=many", "error: invalid argument \"many\" for \"--chunk-size\" flag: …"),
    ];
    check(&mut shell, &script);
    shell.calls.clear();
    assert_eq!(shell.line("kubectl get pods --chunk-size=1 --no-headers").lines().count(), 2);
    assert_eq!(shell.calls.len(), 2, "{:?}", shell.calls);
    let shown = shell.line("kubectl get cm,all,deploy -o name");
    let of = |kind: &str| shown.lines().filter(|line| line.starts_with(kind)).count();
    assert_eq!((of("configmap/"), of("pod/"), of("deployment.apps/")), (1, 2, 1), "{shown}");
}

#[test]
fn a_kernel_is_told_with_its_architecture() {
    let mut shell = Shell::new(Path::new("."), "wide");
    let printed = shell.line("kubectl get node node-1 -o wide");
    let info = "{.status.nodeInfo.kernelVersion} ({.status.nodeInfo.architecture})";
    let wanted = shell.line(&format!("kubectl get node node-1 -o jsonpath='{info}'"));
    assert!(wanted.ends_with(" (amd64)") && printed.contains(&format!("   {wanted}   ")), "{wanted}\n{printed}");
}
