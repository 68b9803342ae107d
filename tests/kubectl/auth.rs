//! `auth can-i`, `auth whoami` and `--as`: what the API server says that it would decide, and that it then decides so.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;

const VIEWER: &str = "--as=system:serviceaccount:team:viewer";

const GRANTS: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: viewer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: view}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: viewer, namespace: team}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: one}
rules: [{apiGroups: [''], resources: [configmaps], resourceNames: [settings], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: one}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: one}
subjects: [{kind: User, name: ada}]
";

/// A shell in a namespace where one service account may view, and one person may read a single ConfigMap.
fn shell() -> Shell {
    let mut shell = Shell::new(Path::new("."), "team");
    shell.cluster.kubectl.files = Rc::new(BTreeMap::from([("grants.yaml".to_owned(), GRANTS.to_owned())]));
    let made = shell.line("kubectl apply -f grants.yaml");
    assert_eq!(made.lines().filter(|line| line.ends_with(" created")).count(), 4, "{made}");
    shell
}

#[test]
fn what_one_may() {
    let mut shell = shell();
    #[rustfmt::skip]
    let cases = [
        ("can-i create pods", "yes\n"),
        ("can-i '*' '*'", "yes\n"),
        (&format!("can-i list pods {VIEWER}"), "yes\n"),
        (&format!("can-i list deploy {VIEWER}"), "yes\n"),
        (&format!("can-i delete pods {VIEWER}"), "no\n"),
        (&format!("can-i list secrets {VIEWER}"), "no\n"),
        (&format!("can-i list pods -n default {VIEWER}"), "no\n"),
        (&format!("can-i list pods --all-namespaces {VIEWER}"), "no\n"),
        (&format!("can-i get pods --subresource=log {VIEWER}"), "yes\n"),
        (&format!("can-i create pods --subresource=exec {VIEWER}"), "no\n"),
        ("can-i get configmaps/settings --as=ada", "yes\n"),
        ("can-i get configmaps --as=ada", "no\n"),
        ("can-i create pods --as=ada --as-group=system:masters", "yes\n"),
        ("can-i get nodes", "Warning: resource 'nodes' is not namespace scoped\n\nyes\n"),
        ("can-i list storageclasses", "Warning: resource 'storageclasses' is not namespace scoped in group 'storage.k8s.io'\n\nyes\n"),
        ("can-i get gizmos --as=ada", "Warning: the server doesn't have a resource type 'gizmos'\n\nno\n"),
        ("can-i admire pods --as=ada", "Warning: verb 'admire' is not a known verb\n\nno\n"),
        ("can-i", "error: you must specify two arguments: verb resource or verb resource/resourceName.\nSee 'kubectl auth can-i -h' for help and examples.\n"),
        ("can-i list pods -q", ""),
        ("can-i get gizmos -q --as=ada", "Warning: the server doesn't have a resource type 'gizmos'\n\n"),
        ("can-i list pods --no-headers=false", "yes\n"),
        ("can-i list pods --no-headers", "error: --no-headers cannot be set without --list specified\n"),
        ("can-you list pods", "error: unknown command \"can-you list pods\"\nSee 'kubectl auth -h' for help and examples\n"),
        (
            "whoami -o wide",
            "error: unable to match a printer suitable for the output format \"wide\", allowed formats are: go-template,\
             go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,templatefile,yaml\n",
        ),
        ("whoami", "ATTRIBUTE   VALUE\nUsername    kubernetes-admin\nGroups      [system:masters system:authenticated]\n"),
    ];
    for (line, want) in cases {
        assert_eq!(shell.line(&format!("kubectl auth {line}")), want, "{line}");
    }
    assert!(shell.line("kubectl auth").starts_with("What one may do, and who one is.\n\nUsage: "));
    let shown = shell.line(&format!("kubectl auth whoami {VIEWER}"));
    assert!(shown.contains("Username    system:serviceaccount:team:viewer"), "{shown}");
    assert!(shown.contains("[system:serviceaccounts system:serviceaccounts:team system:authenticated]"), "{shown}");
}

/// What is asked for is what one is; a node is in the group of nodes, and everybody is known.
#[test]
fn as_whom_one_asks() {
    let mut shell = shell();
    for (flags, want) in [
        ("--as=ada", "Username ada; Groups [system:authenticated]"),
        ("--as=ada --as-group=system:authenticated", "Username ada; Groups [system:authenticated]"),
        ("--as=ada --as-group=a --as-group=b", "Username ada; Groups [a b system:authenticated]"),
        ("--as=system:node:node-1", "Username system:node:node-1; Groups [system:nodes system:authenticated]"),
        ("--as=ada --as-uid=7", "Username ada; UID 7; Groups [system:authenticated]"),
        (
            "--as=ada --as-user-extra=Scopes=a=b --as-user-extra=scopes=c --as-user-extra=none",
            "Username ada; Groups [system:authenticated]; Extra: scopes [a=b c]",
        ),
    ] {
        let said = shell.line(&format!("kubectl auth whoami {flags}"));
        let rows: Vec<String> =
            said.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(rows.join("; "), want, "{flags}");
    }
    // Who is not known is not told who they are.
    let said = shell.line("kubectl auth whoami --as=system:anonymous");
    assert!(said.starts_with("error: the selfsubjectreviews API is not enabled"), "{said}");
    for flags in ["--as-group=devs", "--as-uid=7", "--as-user-extra=a=b"] {
        let why = "requesting uid, groups or user-extra for kubernetes-admin without impersonating a user";
        assert_eq!(shell.line(&format!("kubectl get pods {flags}")), format!("Error in configuration: {why}\n"));
    }
}

#[test]
fn a_kubelet_is_answered_by_the_node_authorizer() {
    let mut shell = shell();
    let kubelet = "--as=system:node:node-1 --as-group=system:nodes";
    let asked = |shell: &mut Shell, what: &str| shell.line(&format!("kubectl auth can-i {what} {kubelet}"));
    assert!(asked(&mut shell, "get nodes/node-1").ends_with("\nyes\n"));
    let refused = asked(&mut shell, "get secrets/other");
    assert!(refused.starts_with("no"), "{refused}");
    assert_eq!(asked(&mut shell, "create deployments"), "no\n");
}

#[test]
fn what_is_said_is_what_is_done() {
    let mut shell = shell();
    assert_eq!(shell.line(&format!("kubectl get pods {VIEWER}")), "No resources found in team namespace.\n");
    let refused = shell.line(&format!("kubectl get pods -n default {VIEWER}"));
    let why = "User \"system:serviceaccount:team:viewer\" cannot list resource \"pods\" in API group \"\"";
    assert!(
        refused.contains("Error from server (Forbidden): pods is forbidden: ") && refused.contains(why),
        "{refused}"
    );
}

#[test]
fn all_that_one_may() {
    let mut shell = shell();
    let shown = shell.line("kubectl auth can-i --list");
    let mut lines = shown.lines();
    assert_eq!(
        lines.next().unwrap().split_whitespace().collect::<Vec<_>>().join(" "),
        "Resources Non-Resource URLs Resource Names Verbs"
    );
    let rows: Vec<String> = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(rows.contains(&"*.* [] [] [*]".to_owned()) && rows.contains(&"[*] [] [*]".to_owned()), "{shown}");
    let shown = shell.line("kubectl auth can-i --list --as=ada");
    let rows: Vec<String> = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for row in [
        "configmaps [] [settings] [get]",
        "selfsubjectreviews.authentication.k8s.io [] [] [create]",
        "selfsubjectaccessreviews.authorization.k8s.io [] [] [create]",
        "[/healthz] [] [get]",
    ] {
        assert!(rows.contains(&row.to_owned()), "{row} is not in\n{shown}");
    }
    assert_eq!(
        shell.line("kubectl auth can-i --list --all-namespaces"),
        "error: list option can't be specified with neither quiet, all-namespaces nor subresource options\n"
    );
}

#[test]
fn nobody_grants_what_they_do_not_have() {
    let mut shell = shell();
    let kube = |shell: &mut Shell, line: &str| shell.line(&format!("kubectl {line}"));
    // The lead has what `admin` has, which is to write roles too; `deputy` may only bind `view`, and `chief` anything.
    for line in [
        "create rolebinding lead --clusterrole=admin --user=lead",
        "create role binder --verb=create --resource=rolebindings.rbac.authorization.k8s.io",
        "create rolebinding binder --role=binder --user=deputy --user=chief",
        "create clusterrole binds-view --verb=bind --resource=clusterroles.rbac.authorization.k8s.io --resource-name=view",
        "create rolebinding binds-view --clusterrole=binds-view --user=deputy",
        "create clusterrole roles --verb=create,escalate --resource=clusterroles.rbac.authorization.k8s.io",
        "create clusterrolebinding roles --clusterrole=roles --user=chief",
        "create clusterrole makes-roles --verb=create --resource=clusterroles.rbac.authorization.k8s.io",
        "create clusterrolebinding makes-roles --clusterrole=makes-roles --user=lead",
    ] {
        let said = kube(&mut shell, line);
        assert!(said.ends_with(" created\n"), "{line}: {said}");
    }
    let refused = |kind: &str, name: &str, user: &str, missing: &str| {
        format!(
            "{} {kind}.rbac.authorization.k8s.io \"{name}\" is forbidden: user \"{user}\" \
             (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{missing}\n",
            // Those that make roles pass on what the server says.
            match kind {
                "roles" | "clusterroles" => "Error from server (Forbidden):".to_owned(),
                kind => format!("error: failed to create {}:", kind.trim_end_matches('s')),
            },
        )
    };
    let cases = [
        (
            "create role pods --verb=get,delete --resource=pods --as=lead",
            "role.rbac.authorization.k8s.io/pods created\n".to_owned(),
        ),
        (
            "create role nodes --verb=get,delete --resource=nodes --as=lead",
            refused("roles", "nodes", "lead", "{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\" \"delete\"]}"),
        ),
        (
            "create clusterrole pods --verb=get --resource=pods --as=lead",
            refused("clusterroles", "pods", "lead", "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}"),
        ),
        (
            "create clusterrole pods --verb=get --resource=pods --as=chief",
            "clusterrole.rbac.authorization.k8s.io/pods created\n".to_owned(),
        ),
        (
            "create rolebinding sees --clusterrole=view --user=guest --as=deputy",
            "rolebinding.rbac.authorization.k8s.io/sees created\n".to_owned(),
        ),
        (
            "create rolebinding gets --role=one --user=guest --as=deputy",
            refused(
                "rolebindings",
                "gets",
                "deputy",
                "{APIGroups:[\"\"], Resources:[\"configmaps\"], ResourceNames:[\"settings\"], Verbs:[\"get\"]}",
            ),
        ),
        (
            "create rolebinding none --role=none --user=guest --as=deputy",
            "error: failed to create rolebinding: roles.rbac.authorization.k8s.io \"none\" not found\n".to_owned(),
        ),
        (
            "create clusterrole sums --aggregation-rule=team=a --as=lead",
            "Error from server (Forbidden): clusterroles.rbac.authorization.k8s.io \"sums\" is forbidden: must have \
             cluster-admin privileges to use the aggregationRule\n"
                .to_owned(),
        ),
    ];
    for (line, said) in cases {
        assert_eq!(kube(&mut shell, line), said, "{line}");
    }
}

#[test]
fn roles_gather_what_is_labelled_for_them() {
    let mut shell = shell();
    // No server has such a kind, so that kubectl would ask about another.
    let review = r#"{"spec":{"resourceAttributes":{"verb":"list","group":"lab.example","resource":"gizmos","namespace":"team"}}}"#;
    let may = |shell: &mut Shell| {
        let files = BTreeMap::from([("review.json".to_owned(), review.to_owned())]);
        shell.cluster.kubectl.files = Rc::new(files);
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        shell.line(&format!("kubectl create --raw {path} -f review.json {VIEWER}")).contains("\"allowed\":true")
    };
    assert!(!may(&mut shell));
    let rules = |shell: &mut Shell, role: &str| {
        shell.line(&format!("kubectl get clusterrole {role} -o jsonpath={{.rules[*].apiGroups[*]}}"))
    };
    let before = ["view", "edit", "admin"].map(|role| rules(&mut shell, role));
    let role = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: gizmo-viewer
  labels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}
rules: [{apiGroups: [lab.example], resources: [gizmos], verbs: [get, list, watch]}]
";
    shell.cluster.kubectl.files = Rc::new(BTreeMap::from([("gizmos.yaml".to_owned(), role.to_owned())]));
    shell.line("kubectl apply -f gizmos.yaml");
    shell.line("sleep 1");
    assert!(may(&mut shell));
    for (role, before) in ["view", "edit", "admin"].iter().zip(&before) {
        let after = rules(&mut shell, role);
        assert!(after.contains("lab.example") && !before.contains("lab.example"), "{role}: {after}");
    }
    shell.line("kubectl delete clusterrole gizmo-viewer");
    shell.line("sleep 1");
    assert_eq!(["view", "edit", "admin"].map(|role| rules(&mut shell, role)), before, "and forgets it");

    let made = shell
        .line("kubectl create clusterrole sums --aggregation-rule=rbac.authorization.k8s.io/aggregate-to-view=true");
    assert_eq!(made, "clusterrole.rbac.authorization.k8s.io/sums created\n");
    shell.line("sleep 1");
    assert_eq!(rules(&mut shell, "sums"), before[0]);
}

/// It takes away what it wrote itself, and leaves what others wrote until it has something to write.
#[test]
fn a_role_that_gathers_nothing_keeps_the_rules_that_were_written_by_hand() {
    let mut shell = Shell::new(Path::new("."), "gathering");
    let role = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: sums}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {team: a}}]}
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
";
    shell.cluster.kubectl.files = Rc::new(BTreeMap::from([("sums.yaml".to_owned(), role.to_owned())]));
    let resources = |shell: &mut Shell| {
        shell.line("sleep 1");
        shell.line("kubectl get clusterrole sums -o jsonpath='{.rules[*].resources[*]}'")
    };
    shell.line("kubectl create -f sums.yaml");
    assert_eq!(resources(&mut shell), "pods");
    shell.line("kubectl create clusterrole part --verb=get --resource=secrets");
    shell.line("kubectl label clusterrole part team=a");
    assert_eq!(resources(&mut shell), "secrets");
    shell.line("kubectl label clusterrole part team-");
    assert_eq!(resources(&mut shell), "");
}

const WANTED: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reads, namespace: new, labels: {team: a}}
rules:
- {apiGroups: [''], resources: [pods, configmaps], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reads, namespace: new}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reads}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: ada}
- {kind: ServiceAccount, name: default, namespace: new}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: passed-over}
";

/// Roles and bindings are made, and their namespace; then only what is missing is added, or what is extra taken away.
#[test]
fn roles_are_reconciled_rule_by_rule() {
    let mut shell = shell();
    let other = WANTED
        .replace("[pods, configmaps], verbs: [get]", "[pods], verbs: [get, list]")
        .replace("name: ada", "name: bob");
    let bound = other.replace("kind: Role, name: reads", "kind: ClusterRole, name: view");
    let files = [("wanted.yaml", WANTED.to_owned()), ("other.yaml", other), ("bound.yaml", bound)];
    let files = files.into_iter().map(|(name, text)| (name.to_owned(), text)).collect::<BTreeMap<_, _>>();
    shell.cluster.kubectl.files = Rc::new(files);
    const ROLE: &str = "role.rbac.authorization.k8s.io/reads reconciled";
    const BINDING: &str = "rolebinding.rbac.authorization.k8s.io/reads reconciled";
    const PODS: &str = "APIGroups:[] Resources:[pods] ResourceNames:[] NonResourceURLs:[]}";
    let user = |name: &str| format!("{{Kind:User APIGroup:rbac.authorization.k8s.io Name:{name} Namespace:}}");
    let created = format!(
        "{ROLE}\n\treconciliation required create\n\tmissing rules added:\n\t\t{{Verbs:[get] APIGroups:[] Resources:[pods \
         configmaps] ResourceNames:[] NonResourceURLs:[]}}\n{BINDING}\n\treconciliation required create\n\tmissing subjects \
         added:\n\t\t{}\n\t\t{{Kind:ServiceAccount APIGroup: Name:default Namespace:new}}\n",
        user("ada")
    );
    let added = format!("\treconciliation required update\n\tmissing rules added:\n\t\t{{Verbs:[list] {PODS}\n");
    let joined = format!("\treconciliation required update\n\tmissing subjects added:\n\t\t{}\n", user("bob"));
    let [dry, updated] = [" (dry run)", ""].map(|dry| format!("{ROLE}{dry}\n{added}{BINDING}{dry}\n{joined}"));
    let nothing = format!("{ROLE}\n{BINDING}\n");
    let removed = format!(
        "{ROLE}\n\treconciliation required update\n\textra rules removed:\n\t\t{{Verbs:[list] {PODS}\n{BINDING}\n\t\
         reconciliation required update\n\textra subjects removed:\n\t\t{}\n",
        user("bob")
    );
    let opted_out = format!(
        "{ROLE}\n\treconciliation required update, but object opted out (rbac.authorization.kubernetes.io/autoupdate: \
         false)\n\tmissing rules added:\n\t\t{{Verbs:[list] {PODS}\n{BINDING}\n\treconciliation required recreate\n"
    );
    for (line, want) in [
        ("auth reconcile -f wanted.yaml", created.as_str()),
        ("auth reconcile -f wanted.yaml", &nothing),
        ("auth reconcile -f other.yaml --dry-run=client", &dry),
        ("auth reconcile -f other.yaml", &updated),
        ("auth reconcile -f other.yaml", &nothing),
        ("auth reconcile -f wanted.yaml --remove-extra-permissions --remove-extra-subjects", &removed),
        (
            "get role reads -n new -o jsonpath={.rules}{.metadata.labels}",
            "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"configmaps\"],\"verbs\":[\"get\"]}]{\"team\":\"a\"}",
        ),
        (
            "annotate role reads -n new rbac.authorization.kubernetes.io/autoupdate=false",
            "role.rbac.authorization.k8s.io/reads annotated\n",
        ),
        ("auth reconcile -f bound.yaml", &opted_out),
        ("get rolebinding reads -n new -o jsonpath={.roleRef.name}", "view"),
        ("auth reconcile", "error: must specify one of -f and -k\n"),
        ("auth reconcile x -f wanted.yaml", "error: no arguments are allowed\n"),
        (
            "auth reconcile -f wanted.yaml --dry-run=server",
            "error: --dry-run=server for command reconcile is not supported yet\n",
        ),
    ] {
        assert_eq!(shell.line(&format!("kubectl {line}")), want, "{line}");
    }
}
