//! What is asked about and never kept: reviews, Bindings, the health of components.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;
use crate::verbs::check;

const ACCESS: &str = "
apiVersion: authorization.k8s.io/v1
kind: SelfSubjectAccessReview
spec: {resourceAttributes: {verb: get, resource: pods, namespace: asked}}
";
const LOCAL: &str = "
apiVersion: authorization.k8s.io/v1
kind: LocalSubjectAccessReview
spec: {user: ada, resourceAttributes: {verb: get, resource: pods, namespace: asked}}
";
const EMPTY: &str = "{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview, spec: {}}";
const TYPO: &str = "{apiVersion: authentication.k8s.io/v1, kind: TokenReview, spec: {tokn: x}}";
const TOKEN: &str = "{apiVersion: authentication.k8s.io/v1, kind: TokenReview, spec: {token: x}}";
const RAW: &str = r#"{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}"#;
const BINDING: &str = "
apiVersion: v1
kind: Binding
metadata: {name: web}
target: {kind: Node, name: node-1}
";

fn shell(namespace: &str, files: &[(&str, &str)]) -> Shell {
    let mut shell = Shell::new(Path::new("."), namespace);
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    shell.cluster.kubectl.files = Rc::new(files.collect::<BTreeMap<_, _>>());
    shell
}

#[test]
fn reviews_are_created_and_gone() {
    let files = [
        ("access.yaml", ACCESS),
        ("local.yaml", LOCAL),
        ("empty.yaml", EMPTY),
        ("typo.yaml", TYPO),
        ("token.yaml", TOKEN),
        ("raw.json", RAW),
    ];
    let mut shell = shell("asked", &files);
    let not_allowed =
        "Error from server (MethodNotAllowed): the server does not allow this method on the requested resource";
    let forbidden = "Error from server (Forbidden): error when creating \"local.yaml\": \
        localsubjectaccessreviews.authorization.k8s.io is forbidden: User \"ada\" cannot create resource \
        \"localsubjectaccessreviews\" in API group \"authorization.k8s.io\" in the namespace \"asked\"";
    let whole = "apiVersion: authorization.k8s.io/v1
kind: SelfSubjectAccessReview
metadata: {}
spec:
  resourceAttributes:
    namespace: asked
    resource: pods
    verb: get
status:
  allowed: true";
    let invalid = "The request is invalid: 
* spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified
* spec.user: Invalid value: \"\": at least one of user or group must be specified";
    #[rustfmt::skip]
    let script = [
        ("kubectl create -f access.yaml", "selfsubjectaccessreview.authorization.k8s.io/<unknown> created"),
        ("kubectl create -f access.yaml -o yaml", whole),
        ("kubectl create -f access.yaml -o jsonpath={.status} --as=ada", "{\"allowed\":false}"),
        ("kubectl create -f access.yaml -o name", "selfsubjectaccessreview.authorization.k8s.io/<unknown>"),
        ("kubectl create -f local.yaml -o jsonpath={.metadata.namespace}:{.status}", "asked:{\"allowed\":false}"),
        ("kubectl create -f local.yaml --as=ada", forbidden),
        ("kubectl create -f empty.yaml", invalid),
        ("kubectl create -f typo.yaml", "Error from server (BadRequest): error when creating \"typo.yaml\": TokenReview in version \"v1\" cannot be handled as a TokenReview: strict decoding error: unknown field \"spec.tokn\""),
        ("kubectl create -f token.yaml -o jsonpath={.status}", "{\"error\":\"invalid bearer token\",\"user\":{}}"),
        ("kubectl create --raw /apis/authorization.k8s.io/v1/selfsubjectaccessreviews -f raw.json", "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",…"),
        ("kubectl apply --server-side -f access.yaml", "error: resource name may not be empty"),
        ("kubectl replace -f access.yaml", "error: error when replacing \"access.yaml\": resource name may not be empty"),
        ("kubectl delete -f access.yaml", "error: error when deleting \"access.yaml\": resource name may not be empty"),
        ("kubectl get tokenreviews", not_allowed),
        ("kubectl get bindings", not_allowed),
        ("kubectl get --raw /apis/authentication.k8s.io/v1/tokenreviews", not_allowed),
        ("kubectl explain selfsubjectaccessreview.spec.resourceAttributes.verb", "GROUP:      authorization.k8s.io\nKIND:       SelfSubjectAccessReview…"),
        ("kubectl auth whoami -o jsonpath={.status.userInfo.username}", "kubernetes-admin"),
    ];
    check(&mut shell, &script);
}

/// kubectl sends what any other client would.
#[test]
fn kubectl_asks_by_reviews() {
    let mut shell = shell("asked", &[]);
    #[rustfmt::skip]
    let script = [
        ("kubectl auth can-i get /healthz --as=ada", "yes"),
        ("kubectl auth can-i dance /healthz --as=ada", "Warning: verb 'dance' is not a known verb\n\nno"),
        ("kubectl auth can-i get /healthz --subresource=x", "error: --subresource can not be used with NonResourceURL"),
        ("kubectl auth can-i get pods --no-headers", "error: --no-headers cannot be set without --list specified"),
        ("kubectl auth can-i get gizmos.lab.example --as=ada", "Warning: the server doesn't have a resource type 'gizmos' in group 'lab.example'\n\nno"),
        ("kubectl auth can-i impersonate users --as=ada", "no"),
        ("kubectl auth can-i create tokenreviews --as=ada", "Warning: resource 'tokenreviews' is not namespace scoped in group 'authentication.k8s.io'\n\nno"),
        ("kubectl auth can-i --list pods", "error: list option must be specified with no arguments"),
        ("kubectl auth can-i --list --as=system:node:node-1 --as-group=system:nodes", "Warning: the list may be incomplete: node authorizer does not support user rule resolution\nResources …"),
    ];
    check(&mut shell, &script);
    for (line, kind) in [
        ("can-i list pods --as=ada", "selfsubjectaccessreviews"),
        ("can-i --list --as=ada", "selfsubjectrulesreviews"),
        ("whoami --as=ada", "selfsubjectreviews"),
    ] {
        shell.calls.clear();
        shell.line(&format!("kubectl auth {line}"));
        assert_eq!(shell.calls, [format!("create {kind} - 201")], "{line}");
    }
}

#[test]
fn a_pod_is_bound_in_the_old_way() {
    let mut shell = shell("bound", &[("binding.yaml", BINDING)]);
    #[rustfmt::skip]
    let script = [
        ("kubectl run web --image=nginx:1.27 --overrides '{\"spec\":{\"schedulerName\":\"nobody\"}}'", "pod/web created"),
        ("kubectl create -f binding.yaml", "status/<unknown> created"),
        ("kubectl get pod web -o jsonpath={.spec.nodeName}", "node-1"),
        ("kubectl create -f binding.yaml", "Error from server (Conflict): error when creating \"binding.yaml\": Operation cannot be fulfilled on pods/binding \"web\": pod web is already assigned to node \"node-1\""),
    ];
    check(&mut shell, &script);
}

#[test]
fn components_say_how_they_are() {
    let mut shell = shell("components", &[]);
    let healthy = "Warning: v1 ComponentStatus is deprecated in v1.19+
NAME                 STATUS    MESSAGE   ERROR
controller-manager   Healthy   ok        
etcd-0               Healthy   ok        
scheduler            Healthy   ok        ";
    check(&mut shell, &[("kubectl get cs", healthy)]);
    shell.cluster.stop_process("kube-scheduler").unwrap();
    let refused = "Get \"https://127.0.0.1:10259/healthz\": dial tcp 127.0.0.1:10259: connect: connection refused";
    let shown = shell.line("kubectl get componentstatuses scheduler --no-headers");
    assert_eq!(
        shown,
        format!("Warning: v1 ComponentStatus is deprecated in v1.19+\nscheduler   Unhealthy         {refused}\n")
    );
    shell.cluster.start_process("kube-scheduler").unwrap();
    assert!(shell.line("kubectl get cs scheduler --no-headers").contains("Healthy   ok"));
}
