//! Describe pages of kinds that no recording has, and which objects are described.

use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;
use crate::verbs::check;

const CLASS: &str = "
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: outside}
spec: {controller: example.com/gate, parameters: {apiGroup: example.com, kind: Gate, name: g}}
";

#[test]
fn roles_and_classes_have_pages_of_their_own() {
    let mut shell = Shell::new(Path::new("."), "pages");
    shell.cluster.kubectl.files = Rc::new([("class.yaml".to_owned(), CLASS.to_owned())].into());
    #[rustfmt::skip]
    let script = [
        ("kubectl apply -f class.yaml", "ingressclass.networking.k8s.io/outside created"),
        ("kubectl create role r --verb=list,get --resource=pods,rs.apps", "role.rbac.authorization.k8s.io/r created"),
        ("kubectl describe role r", "\
Name:         r
Labels:       <none>
Annotations:  <none>
PolicyRule:
  Resources         Non-Resource URLs  Resource Names  Verbs
  ---------         -----------------  --------------  -----
  pods              []                 []              [list get]
  replicasets.apps  []                 []              [list get]
"),
        ("kubectl describe clusterrole cluster-admin", "\
Name:         cluster-admin
Labels:       kubernetes.io/bootstrapping=rbac-defaults
Annotations:  rbac.authorization.kubernetes.io/autoupdate: true
PolicyRule:
  Resources  Non-Resource URLs  Resource Names  Verbs
  ---------  -----------------  --------------  -----
  *.*        []                 []              [*]
             [*]                []              [*]
"),
        ("kubectl create rolebinding b --role=r --user=jane --serviceaccount=pages:default", "rolebinding.rbac.authorization.k8s.io/b created"),
        ("kubectl describe rolebinding b", "\
Name:         b
Labels:       <none>
Annotations:  <none>
Role:
  Kind:  Role
  Name:  r
Subjects:
  Kind            Name     Namespace
  ----            ----     ---------
  User            jane     \n  ServiceAccount  default  pages
"),
        ("kubectl create priorityclass high --value=7 --description=first", "priorityclass.scheduling.k8s.io/high created"),
        ("kubectl describe pc high", "\
Name:              high
Value:             7
GlobalDefault:     false
PreemptionPolicy:  PreemptLowerPriority
Description:       first
Annotations:       <none>
Events:            <none>
"),
        ("kubectl describe -f class.yaml --show-events=false", "\
Name:         outside
Labels:       <none>
Annotations:  <none>
Controller:   example.com/gate
Parameters:
  APIGroup:  example.com
  Kind:      Gate
  Name:      g
"),
    ];
    check(&mut shell, &script);
    let page = shell.line("kubectl describe servicecidr kubernetes");
    assert!(page.contains("\nCIDRs:        10.96.0.0/16\n"), "{page}");
    let page = shell.line("kubectl describe ip 10.96.0.1");
    assert!(
        page.contains("Parent Reference:\n  Group:      \n  Resource:   services\n  Namespace:  default\n"),
        "{page}"
    );
}

#[test]
fn a_name_may_be_the_beginning_of_names() {
    let mut shell = Shell::new(Path::new("."), "names");
    shell.line("kubectl create deployment web --image=nginx:1.27 --replicas=2");
    shell.line("kubectl rollout status deploy web");
    let names = |page: &str| page.lines().filter(|line| line.starts_with("Name:")).count();
    let by_prefix = shell.line("kubectl describe pod web-");
    assert_eq!(names(&by_prefix), 2);
    assert!(by_prefix.contains("\n\nName:") && by_prefix.ends_with("\n\n"), "{by_prefix}");
    assert!(!by_prefix.contains("\n\n\n"), "{by_prefix}");
    let all = shell.line("kubectl describe pods -A");
    assert!(names(&all) == 2 && all.contains("\n\n\nName:") && !all.ends_with("\n\n"), "{all}");
    let missing = shell.line("kubectl describe pod nobody");
    assert_eq!(missing, "Error from server (NotFound): pods \"nobody\" not found\n");
    assert_eq!(shell.line("kubectl describe cronjobs -A"), "No resources found\n");
}

const AGENT: &str = "
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {nodeSelector: {disk: fast}, containers: [{name: agent, image: busybox}]}
";

#[test]
fn lines_stand_in_the_order_of_kubectl() {
    let mut shell = Shell::new(Path::new("."), "order");
    shell.cluster.kubectl.files = Rc::new([("agent.yaml".to_owned(), AGENT.to_owned())].into());
    #[rustfmt::skip]
    let script = [
        ("kubectl apply -f agent.yaml", "daemonset.apps/agent created"),
        ("kubectl describe ds agent", "Name:           agent\nNamespace:      order\nSelector:       app=agent\nNode-Selector:  disk=fast\n…"),
        ("kubectl create cronjob tick --image=busybox --schedule='*/5 * * * *'", "cronjob.batch/tick created"),
        ("kubectl describe cronjob tick", "\
Name:                          tick
Namespace:                     order
Labels:                        <none>
Annotations:                   <none>
Schedule:                      */5 * * * *
Concurrency Policy:            Allow
Suspend:                       False
Time Zone:                     <unset>
…"),
        ("kubectl describe lease node-1 -n kube-node-lease", "\
Name:         node-1
Namespace:    kube-node-lease
Labels:       <none>
Annotations:  <none>
API Version:  coordination.k8s.io/v1
Kind:         Lease
Metadata:
…"),
    ];
    check(&mut shell, &script);
}

/// kubectl asks for Events with the node's uid, and with its name in the place of one. The kubelet's own have no uid, so this page
/// leaves them out, as the real one's does; `kubectl events --for` shows them.
#[test]
fn a_nodes_page_has_the_events_that_know_its_uid() {
    let mut shell = Shell::new(Path::new("."), "events");
    shell.line("sleep 5");
    shell.calls.clear();
    let page = shell.line("kubectl describe node node-1");
    let asked: Vec<&str> = shell.calls.iter().filter(|call| call.contains("events")).map(String::as_str).collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let events: Vec<&str> = page.lines().skip_while(|line| !line.starts_with("Events:")).collect();
    let of = |source: &str| events.iter().filter(|line| line.split_whitespace().any(|word| word == source)).count();
    assert!(of("node-controller") > 0 && of("kubelet") == 0, "{page}");
    let all = shell.line("kubectl events -n default --for node/node-1");
    assert!(all.contains("NodeHasSufficientMemory"), "{all}");
}
