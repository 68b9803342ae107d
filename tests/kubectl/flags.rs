//! Flags of all sorts, and what they do.

use std::path::Path;

use crate::bench::Bench;
use crate::shell::Shell;
use crate::verbs::check;

#[test]
fn what_is_made_without_a_manifest() {
    let mut shell = Shell::new(Path::new("."), "flags");
    check(
        &mut shell,
        &[
            (
                "kubectl run p --image=nginx --expose",
                "error: --port must be set when exposing a service\nSee 'kubectl run -h' for help and examples",
            ),
            (
                "kubectl run p --image=nginx --restart=Foo",
                "error: invalid restart policy: Foo\nSee 'kubectl run -h' for help and examples",
            ),
            (
                "kubectl run p --image=nginx --image-pull-policy=No",
                "error: invalid image pull policy: No\nSee 'kubectl run -h' for help and examples",
            ),
            ("kubectl run p --image='bad image'", "error: Invalid image name \"bad image\": invalid reference format"),
            (
                "kubectl run p --image=nginx --port=80 --expose --annotations=a=b --image-pull-policy=Never",
                "service/p created\npod/p created",
            ),
            ("kubectl get pod p -o jsonpath={.metadata.annotations.a}{.spec.containers[0].imagePullPolicy}", "bNever"),
            ("kubectl get service p -o jsonpath={.spec.selector.run}", "p"),
            (
                "kubectl run q --image=nginx --overrides='{\"spec\":{\"nodeName\":\"n\"}}' --dry-run=client -o jsonpath={.spec.nodeName}",
                "n",
            ),
            ("kubectl run q --image=nginx --overrides=[", "error: Invalid JSON Patch: …"),
            ("kubectl run q --image=nginx --rm", "error: --rm should only be used for attached containers…"),
            ("kubectl expose pod p --port=80 --name=x -l tier=front", "service/x exposed"),
            ("kubectl get service x -o jsonpath={.metadata.labels}", "{\"tier\":\"front\"}"),
            ("kubectl create deployment d --image=nginx -r 0", "deployment.apps/d created"),
            (
                "kubectl create deployment e --image=a --image=b -- sh",
                "error: cannot specify multiple --image options and command",
            ),
            ("kubectl create configmap c --append-hash --from-literal=a=b", "configmap/c-…"),
            (
                "kubectl create pdb b --selector=a=b --min-available=1 --dry-run=client -o yaml",
                "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: b\nspec:\n  minAvailable: 1\n  selector:\n    \
                 matchLabels:\n      a: b\nstatus:\n  currentHealthy: 0\n  desiredHealthy: 0\n  disruptionsAllowed: 0\n  expectedPods: 0",
            ),
            (
                "kubectl autoscale deployment d --max=3 --dry-run=client -o yaml",
                "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: d\nspec:\n  maxReplicas: 3\n  \
                 scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: d\nstatus:\n  currentMetrics: null\n  \
                 desiredReplicas: 0",
            ),
        ],
    );
}

#[test]
fn roles_are_made_of_verbs_resources_and_paths() {
    let mut shell = Shell::new(Path::new("."), "roles");
    check(
        &mut shell,
        &[
            (
                "kubectl create role r --verb=foo,get --resource=pods",
                "Warning: 'foo' is not a standard resource verb\nrole.rbac.authorization.k8s.io/r created",
            ),
            (
                "kubectl create clusterrole m --verb=get --non-resource-url=/metrics,/logs/*",
                "clusterrole.rbac.authorization.k8s.io/m created",
            ),
            (
                "kubectl get clusterrole m -o jsonpath={.rules}",
                "[{\"nonResourceURLs\":[\"/metrics\",\"/logs/*\"],\"verbs\":[\"get\"]}]",
            ),
            (
                "kubectl create clusterrole m --verb=list --non-resource-url=/a",
                "error: invalid verb: 'list' for nonResourceURL",
            ),
            (
                "kubectl create clusterrole m --verb=get --non-resource-url=a",
                "error: nonResourceURL should start with /",
            ),
            (
                "kubectl create clusterrole m --verb=get --non-resource-url=/a/*/b",
                "error: nonResourceURL only supports wildcard matches when '*' is at the end",
            ),
            ("kubectl create clusterrole m --verb=get", "error: one of resource or nonResourceURL must be specified"),
            (
                "kubectl create clusterrole m --aggregation-rule=a=b --verb=get",
                "error: aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames",
            ),
            (
                "kubectl create clusterrole all --verb=* --resource=* --dry-run=client -o jsonpath={.rules[0].apiGroups}",
                "[\"\"]",
            ),
        ],
    );
}

/// Some verbs mean something with a few resources alone; `*` is all of a group's, and takes the place of others.
#[test]
fn roles_have_verbs_that_fit_their_resources() {
    let mut shell = Shell::new(Path::new("."), "fits");
    let mut wrong = Vec::new();
    for (line, want) in [
        ("role r --verb=bind --resource=pods", "error: can not perform 'bind' on 'pods' in group ''"),
        ("role r --verb=use --resource=rs", "error: can not perform 'use' on 'replicasets' in group 'apps'"),
        (
            "clusterrole r --verb=impersonate --resource=gizmos",
            "error: can not perform 'impersonate' on 'gizmos' in group ''",
        ),
        (
            "role r --verb=get,* --resource=deploy,po,pods,*.batch,gizmos",
            "[\"\"][\"pods\",\"gizmos\"][\"*\"]/[\"apps\"][\"deployments\"][\"*\"]/[\"batch\"][\"*\"][\"*\"]/",
        ),
        ("role r --verb=get --resource=pods,*", "[\"\"][\"*\"][\"get\"]/"),
        ("role r --verb=get --resource=*.*", "[\"*\"][\"*\"][\"get\"]/"),
        ("role r --verb=get --resource=*/scale", "[\"\"][\"*/scale\"][\"get\"]/"),
        (
            "clusterrole r --verb=impersonate --resource=users,userextras.authentication.k8s.io/scopes",
            "[\"\"][\"users\"][\"impersonate\"]/[\"authentication.k8s.io\"][\"userextras/scopes\"][\"impersonate\"]/",
        ),
        (
            "clusterrole r --verb=bind,escalate --resource=clusterroles",
            "[\"rbac.authorization.k8s.io\"][\"clusterroles\"][\"bind\",\"escalate\"]/",
        ),
        (
            "clusterrole r --verb=sign --resource=gizmos",
            "Warning: 'sign' is not a standard resource verb\nthe server doesn't have a resource type \"gizmos\"",
        ),
        ("role r --verb=get --resource=.apps", "error: resource must be specified if apiGroup/subresource specified"),
        (
            "role r --verb=sign",
            "Warning: 'sign' is not a standard resource verb\nerror: at least one resource must be specified",
        ),
        (
            "clusterrole r --aggregation-rule=team",
            "error: invalid argument \"team\" for \"--aggregation-rule\" flag: malformed pair, expect string=string\nSee 'kubectl create --help' for usage.",
        ),
    ] {
        const RULES: &str = "jsonpath={range .rules[*]}{.apiGroups}{.resources}{.verbs}/{end}";
        let shown = shell.line(&format!("kubectl create {line} --dry-run=client -o '{RULES}'"));
        if shown.trim_end() != want {
            wrong.push(format!("$ {line}\n- {want}\n+ {shown}"));
        }
    }
    assert!(wrong.is_empty(), "- wanted, + shown\n{}", wrong.join("\n"));
    let line = "kubectl create rolebinding b --role=r --dry-run=client -o";
    let shown = shell.line(&format!("{line} yaml"));
    assert!(!shown.contains("subjects"), "{shown}");
    let names = "'jsonpath={range .subjects[*]}{.kind} {.name}/{end}'";
    assert_eq!(shell.line(&format!("{line} {names} --user=b,a --group=z --group=z")), "User b,a/Group z/Group z/");
    let line = "kubectl create role r --verb=get --resource=cm --resource-name=a,b --resource-name=c --resource-name=c";
    let shown = shell.line(&format!("{line} --dry-run=client -o jsonpath={{.rules[0].resourceNames}}"));
    assert_eq!(shown, "[\"a,b\",\"c\"]");
}

#[test]
fn names_alone_and_flags_that_change_nothing() {
    let mut shell = Shell::new(Path::new("."), "names");
    shell.line("kubectl run p --image=nginx");
    check(
        &mut shell,
        &[
            ("kubectl -v=2 get pod p -o name", "pod/p"),
            ("kubectl get pod p -o name --v=5", "pod/p"),
            ("kubectl wait pod/p --for=condition=Ready -o name", "pod/p"),
            ("kubectl wait pod/p --for=condition=Ready -o jsonpath={.metadata.name}", "p"),
            ("kubectl patch pod p --subresource=resize -p {}", "pod/p patched (no change)"),
            ("kubectl delete pod p -o yaml", "error: unexpected -o output mode: yaml. We only support '-o name'"),
            ("kubectl delete pod p -o name", "pod/p"),
        ],
    );
}

/// `-i` asks before anything is deleted; without a pipe there is no answer, which is a no.
#[test]
fn one_is_asked_before_a_deletion() {
    let mut bench = Bench::new("title: t\nnodes: 1\ntimeline:\n  - kubectl run p --image=nginx\n");
    let asks = "You are about to delete the following 1 resource(s):\npod/p\nDo you want to continue? (y/N): ";
    for (line, answer) in [
        ("kubectl delete pod p -i", "deletion is cancelled"),
        ("echo yes | kubectl delete pod p --interactive", "deletion is cancelled"),
        ("echo y | kubectl delete pod p -i --dry-run=client", "pod \"p\" deleted from default namespace (dry run)"),
        ("echo Y | kubectl delete pods --all -i", "pod \"p\" deleted from default namespace"),
    ] {
        assert_eq!(bench.line(line), format!("{asks}{answer}"), "{line}");
    }
    assert_eq!(bench.line("echo y | kubectl delete pods --all -i"), "No resources found");
}

/// What kubectl holds in Go structs has their order, in KYAML as in JSON.
#[test]
fn kyaml_has_the_order_of_structs() {
    let mut shell = Shell::new(Path::new("."), "names");
    let said = shell.line("kubectl create configmap c --from-literal=b=1 --dry-run=client -o kyaml");
    let keys: Vec<&str> =
        said.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(':')).map(|(key, _)| key).collect();
    assert_eq!(keys, ["kind", "apiVersion", "metadata", "  name", "data", "  b"], "{said}");
    let said = shell.line("kubectl create deployment web --image=nginx --dry-run=client -o kyaml");
    let place = |word: &str| said.find(word).unwrap_or_else(|| panic!("no {word} in {said}"));
    assert!(
        place("replicas: 1") < place("selector: {") && place("name: \"nginx\"") < place("image: \"nginx\""),
        "{said}"
    );
}

#[test]
fn a_command_is_recorded() {
    let mut shell = Shell::new(Path::new("."), "record");
    shell.line("kubectl create deployment web --image=nginx:1");
    check(
        &mut shell,
        &[
            (
                "kubectl set image deploy/web nginx=nginx:2 --record",
                "Flag --record has been deprecated, --record will be removed in the future\ndeployment.apps/web image updated",
            ),
            (
                "kubectl get deploy web -o jsonpath={.metadata.annotations.kubernetes\\.io/change-cause}",
                "kubectl set image deploy/web nginx=nginx:2 --record=true",
            ),
        ],
    );
}

const TWO: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, labels: {a: b}}
";

#[test]
fn a_manifest_is_changed_without_the_cluster() {
    let mut shell = Shell::new(Path::new("."), "local");
    shell.cluster.kubectl.files = std::rc::Rc::new([("two.yaml".to_owned(), TWO.to_owned())].into());
    #[rustfmt::skip]
    let script = [
        ("kubectl label --local -f two.yaml x=y", "configmap/one labeled\nconfigmap/two labeled"),
        ("kubectl annotate --local -f two.yaml x=y -o yaml", "\
apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
    x: \"y\"
  name: one
  namespace: local
---
apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
    x: \"y\"
  labels:
    a: b
  name: two
  namespace: local"),
        ("kubectl label --local cm one x=y", "error: you must specify resources by --filename when --local is set.\n…"),
        ("kubectl label --local -f two.yaml a=c", "configmap/one labeled\nerror: 'a' already has a value (b), and --overwrite is false"),
        ("kubectl patch --local -f two.yaml -p '{\"data\":{\"k\":\"v\"}}' -o jsonpath={.data}", "{\"k\":\"v\"}{\"k\":\"v\"}"),
        ("kubectl get cm one", "Error from server (NotFound): configmaps \"one\" not found"),
        ("kubectl get nodes --server-print=false", "NAME     AGE\nnode-1   …"),
        ("kubectl options", "The following options can be passed to any command:\n\n      --as=…"),
    ];
    check(&mut shell, &script);
}
