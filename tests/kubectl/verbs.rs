//! Verbs that no recording has, one after the other on one small cluster: what they print.

use std::path::Path;

use crate::shell::Shell;

/// Each command, and what it prints. Lines that end in `…` are compared up to there.
const SCRIPT: &[(&str, &str)] = &[
    ("kubectl create deployment web --image=nginx:1.27 --replicas=2", "deployment.apps/web created"),
    ("kubectl rollout status deploy web --watch=false", "Waiting for deployment \"web\" rollout to finish: 0 of 2…"),
    ("kubectl wait --for=condition=Available deploy/web --timeout=60s", "deployment.apps/web condition met"),
    ("kubectl expose deployment web --port=80 --target-port=8080", "service/web exposed"),
    ("kubectl get service web -o jsonpath={.spec.ports[0].targetPort}/{.spec.selector.app}", "8080/web"),
    ("kubectl scale deployment/web --replicas=3", "deployment.apps/web scaled"),
    (
        "kubectl scale deployment/web --replicas=-1",
        "error: The --replicas=COUNT flag is required, and COUNT must be greater…",
    ),
    ("kubectl annotate deployment web kubernetes.io/change-cause=first", "deployment.apps/web annotated"),
    ("kubectl set image deployment/web nginx=nginx:1.28", "deployment.apps/web image updated"),
    ("kubectl set image deployment/web db=x", "error: unable to find container named \"db\""),
    ("kubectl rollout status deployment/web", "*deployment \"web\" successfully rolled out"),
    (
        "kubectl rollout history deployment/web",
        "deployment.apps/web \nREVISION  CHANGE-CAUSE\n1         first\n2         first\n\n",
    ),
    (
        "kubectl rollout history deployment/web --revision=2",
        "deployment.apps/web with revision #2\nPod Template:\n  Labels:\tapp=web\n\tpod-template-hash=…\n  \
         Annotations:\tkubernetes.io/change-cause: first\n  Containers:…",
    ),
    ("kubectl rollout undo deployment/web --to-revision=7", "error: unable to find specified revision 7 in history"),
    ("kubectl rollout undo deployment/web", "deployment.apps/web rolled back"),
    ("kubectl rollout status deployment/web", "*deployment \"web\" successfully rolled out"),
    ("kubectl get deploy web -o jsonpath={.spec.template.spec.containers[*].image}", "nginx:1.27"),
    ("kubectl rollout pause deployment/web", "deployment.apps/web paused"),
    ("kubectl rollout pause deployment/web", "error: deployments.apps \"web\" is already paused"),
    ("kubectl rollout undo deployment/web", "error: you cannot rollback a paused deployment; resume it first with…"),
    ("kubectl rollout resume deployment/web", "deployment.apps/web resumed"),
    ("kubectl rollout restart deployment/web", "deployment.apps/web restarted"),
    ("kubectl rollout status deployment/web", "*deployment \"web\" successfully rolled out"),
    ("kubectl rollout status pod/x", "Error from server (NotFound): pods \"x\" not found"),
    ("kubectl patch deployment web -p '{\"spec\":{\"replicas\":1}}'", "deployment.apps/web patched"),
    (
        "kubectl patch deployment web -p '{\"spec\":{\"replicas\":\"2\"}}'",
        "The request is invalid: patch: Invalid value: \"map[spec:map[replicas:2]]\": unrecognized type: int32",
    ),
    ("kubectl patch deployment web -p '{\"spec\":{\"replicas\":1}}'", "deployment.apps/web patched (no change)"),
    (
        "kubectl patch deployment web --type=json -p '[{\"op\":\"test\",\"path\":\"/spec/replicas\",\"value\":9}]'",
        "The request is invalid: the server rejected our request due to an error in our request",
    ),
    ("kubectl label deployment web app=other", "error: 'app' already has a value (web), and --overwrite is false"),
    ("kubectl label deployment web tier=front", "deployment.apps/web labeled"),
    ("kubectl label deployment web tier=front", "deployment.apps/web not labeled"),
    ("kubectl label deployment web tier-", "deployment.apps/web unlabeled"),
    ("kubectl cordon node-1", "node/node-1 cordoned"),
    ("kubectl cordon node-1", "node/node-1 already cordoned"),
    ("kubectl get node node-1 --no-headers", "node-1   Ready,SchedulingDisabled   <none>   …"),
    ("kubectl uncordon node-1", "node/node-1 uncordoned"),
    (
        "kubectl taint node node-1 a=b:Never",
        "error: invalid taint effect: Never, unsupported taint effect\nSee 'kubectl taint -h' for help and examples",
    ),
    ("kubectl taint pod x a=b:NoSchedule", "error: invalid resource type pod, only node types are supported"),
    (
        "kubectl scale deploy web --replicas=two",
        "error: invalid argument \"two\" for \"--replicas\" flag: strconv.ParseInt: parsing \"two\": invalid syntax\n\
         See 'kubectl scale --help' for usage.",
    ),
    ("kubectl set env deploy/web 1=b", "error: \"1\" is not a valid key name: a valid environment variable name must…"),
    ("kubectl taint node node-1 nothing-", "error: taint \"nothing\" not found"),
    ("kubectl create configmap settings --from-literal=a=1", "configmap/settings created"),
    ("kubectl create configmap settings", "error: failed to create configmap: configmaps \"settings\" already exists"),
    ("kubectl get configmap settings -o jsonpath={.data.a}", "1"),
    ("kubectl get cm/settings sa/default --no-headers", "configmap/settings   1     …\nserviceaccount/default   …"),
    ("kubectl get pods '|' head", "error: a pipe goes only behind what looks, such as get: type one command a line"),
    ("kubectl get pods nothing -o name", "Error from server (NotFound): pods \"nothing\" not found"),
    ("kubectl get pods -l app=nothing", "No resources found in verbs namespace."),
    ("kubectl get deploy web -o custom-columns=NAME:.metadata.name,N:.spec.replicas", "NAME   N\nweb    1"),
    (
        "kubectl get deploy web -o go-template='{{range .spec.template.spec.containers}}{{.image}} {{$.spec.replicas}}{{end}}'",
        "nginx:1.27 1",
    ),
    (
        "kubectl get deploy web -o go-template='{{.spec'",
        "error: error parsing template {{.spec, template: output:1: unclosed action",
    ),
    ("kubectl wait --for=delete pod/nothing", ""),
    ("kubectl wait --for=condition=Ready pod/nothing", "Error from server (NotFound): pods \"nothing\" not found"),
    (
        "kubectl wait --for=condition=Nothing deploy/web --timeout=2s",
        "error: timed out waiting for the condition on deployments/web",
    ),
    ("kubectl wait --for=jsonpath='{.spec.replicas}'=1 deploy/web", "deployment.apps/web condition met"),
    (
        "kubectl delete cm settings nothing",
        "configmap \"settings\" deleted from verbs namespace\nError from server (NotFound): configmaps \"nothing\" not found",
    ),
    ("kubectl delete pods", "error: resource(s) were provided, but no name was specified"),
    ("kubectl delete deploy --all", "deployment.apps \"web\" deleted from verbs namespace"),
    ("kubectl run once --image=busybox --restart=Never -- sleep 1", "pod/once created"),
    (
        "kubectl logs once",
        "Error from server (BadRequest): container \"once\" in pod \"once\" is waiting to start: ContainerCreating",
    ),
    (
        "kubectl delete pod once --grace-period=0 --force --wait=false",
        "*pod \"once\" force deleted from verbs namespace",
    ),
    ("kubectl get pod a/b c", "error: there is no need to specify a resource type as a separate argument…"),
    ("kubectl get pods --colour", "error: unknown flag: --colour\nSee 'kubectl get --help' for usage."),
    ("kubectl get pods -o", "error: flag needs an argument: 'o' in -o…"),
    ("kubectl get pods -o shiny", "error: unable to match a printer suitable for the output format \"shiny\"…"),
    ("kubectl delete pods lost --image=x", "error: unknown flag: --image…"),
    ("kubectl debug lost --custom=x", "error: --custom is left out here: kubectl debug has it, and this one has not"),
    ("kubectl get pods --username=x", "error: --username is left out here: kubectl get has it, and this one has not"),
    ("kubectl get --help", "Show objects.\n\nUsage: kubectl get TYPE [NAME] | TYPE/NAME … | -f FILE | -k DIR [flags]…"),
    ("kubectl help logs", "What a container has printed.\n\nUsage: kubectl logs …"),
    ("kubectl get pods -x", "error: unknown shorthand flag: 'x' in -x…"),
    ("kubectl exec once -- sh", "Error from server (NotFound): pods \"once\" not found"),
    ("kubectl -n kube-system get pods", "No resources found in kube-system namespace."),
    ("kubectl --namespace=kube-public get pods -l a=b", "No resources found in kube-public namespace."),
    ("kubectl -n", "error: flag needs an argument: -n…"),
    ("kubectl run lost --image=x -n nowhere", "Error from server (NotFound): namespaces \"nowhere\" not found"),
    ("kubectl get pods lost -n nowhere", "Error from server (NotFound): namespaces \"nowhere\" not found"),
    (
        "kubectl Git pods",
        "error: unknown command \"Git\" for \"kubectl\"\n\nDid you mean this?\n\tset\n\tget\n\tedit\n\twait",
    ),
    ("kubectl dance", "error: unknown command \"dance\" for \"kubectl\""),
    ("kubectl", "Commands:…"),
    (
        "kubectl apply -f nowhere.yaml",
        "error: the path \"nowhere.yaml\" does not exist\n  hint: Check the name, and the directory that you are in.",
    ),
    ("kubectl apply", "error: must specify one of -f and -k"),
];

/// Writes that are only tried, and what they would have come to.
const TRIALS: &[(&str, &str)] = &[
    (
        "kubectl create deployment web --image=nginx:1.27 --dry-run=client -o yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  labels:\n    app: web\n  name: web\nspec:\n  replicas: 1\n  \
         selector:\n    matchLabels:\n      app: web\n  strategy: {}\n  template:\n    metadata:\n      labels:\n        app: \
         web\n    spec:\n      containers:\n      - image: nginx:1.27\n        name: nginx\n        resources: {}\nstatus: {}",
    ),
    ("kubectl get deploy", "No resources found in trials namespace."),
    ("kubectl create quota q --hard=pods=3 --dry-run=server", "resourcequota/q created (server dry run)"),
    ("kubectl get quota", "No resources found in trials namespace."),
    (
        "kubectl run once --image=nginx --dry-run=never",
        "error: Invalid dry-run value (never). Must be \"none\", \"server\",…",
    ),
    ("kubectl create deployment web --image=nginx:1.27 -o name", "deployment.apps/web"),
    ("kubectl scale deploy web --replicas=3 --dry-run=client -o jsonpath={.metadata.name}", "web"),
    ("kubectl scale deploy web --replicas=3 --dry-run=client", "deployment.apps/web scaled (dry run)"),
    ("kubectl label deploy web a=b --dry-run=client -o jsonpath={.metadata.labels.a}", "b"),
    ("kubectl delete deploy web --dry-run=client", "deployment.apps \"web\" deleted from trials namespace (dry run)"),
    ("kubectl get deploy web -o jsonpath={.spec.replicas}{.metadata.labels}", "1{\"app\":\"web\"}"),
    ("kubectl set env deploy/web A=1 B=2", "deployment.apps/web env updated"),
    ("kubectl set env deploy/web A-", "deployment.apps/web env updated"),
    ("kubectl set env deploy/web --list", "# Deployment web, container nginx\nB=2"),
    ("kubectl set env deploy/web", ""),
    ("kubectl set resources deploy web -c db --limits=cpu=1", "error: unable to find container named db"),
    ("kubectl set resources deploy web --limits=cpu=1000m", "deployment.apps/web resource requirements updated"),
    ("kubectl get deploy web -o jsonpath={.spec.template.spec.containers[0].resources.limits.cpu}", "1"),
    ("kubectl create quota q --hard=pods", "error: Invalid argument syntax pods, expected <resource>=<value>"),
    (
        "kubectl create quota q --hard=deployments=1",
        "error: failed to create quota: ResourceQuota \"q\" is invalid: [spec.hard[deployments]:…",
    ),
    ("kubectl create quota q --hard=services=0,limits.cpu=2 --scopes=", "resourcequota/q created"),
    ("kubectl wait --for=jsonpath={.status.used.services}=0 quota/q", "resourcequota/q condition met"),
    ("kubectl get quota --no-headers", "q     services: 0/0   limits.cpu: 1/2   …"),
    (
        "kubectl expose deploy web --port=80",
        "Error from server (Forbidden): services \"web\" is forbidden: exceeded quota: q, requested: services=1, used: services=0, limited: services=0",
    ),
    (
        "kubectl create configmap f --from-file=kubectl/ingress.yaml --from-file=again=kubectl/ingress.yaml",
        "configmap/f created",
    ),
    ("kubectl get cm f -o custom-columns=D:.data --no-headers", "map[again:apiVersion: networking.k8s.io/v1…"),
    ("kubectl create deploy d --image=a/b_c.d:1 --dry-run=client -o jsonpath={..containers[0].name}", "b-c-d-…"),
    ("kubectl create configmap f --from-file=nowhere", "error: error reading nowhere: no such file or directory"),
    ("kubectl create configmap f --from-file==x", "error: key name for file path x missing"),
    (
        "kubectl create secret generic f --from-literal=a=1 --from-literal=a=2",
        "error: cannot add key a, another key by that name already exists",
    ),
    ("kubectl create secret generic s --from-literal=user=root", "secret/s created"),
    ("kubectl get secret s -o jsonpath={.type}/{.data.user}", "Opaque/cm9vdA=="),
    ("kubectl create secret t", "error: unknown command \"t\"\nSee 'kubectl create secret -h' for help and examples"),
    (
        "kubectl create service",
        "Usage: kubectl create service clusterip|nodeport|loadbalancer|externalname NAME [flags]",
    ),
    ("kubectl create", "error: must specify one of -f and -k"),
    ("kubectl create thing x", "error: Unexpected args: [thing x]\nSee 'kubectl create -h' for help and examples"),
    ("kubectl create secret generic s", "error: failed to create secret secrets \"s\" already exists"),
    ("kubectl create service clusterip s --tcp=abc", "error: strconv.ParseUint: parsing \"abc\": invalid syntax"),
    (
        "kubectl create service clusterip s --tcp=99999",
        "error: strconv.ParseUint: parsing \"99999\": value out of range",
    ),
    ("kubectl create role r3 --verb=get --resource=foos", "the server doesn't have a resource type \"foos\""),
    (
        "kubectl create role r3 --verb=get --resource=foos.bar",
        "the server doesn't have a resource type \"foos\" in group \"bar\"",
    ),
    ("kubectl create role r3 --verb=get --resource=pods", "role.rbac.authorization.k8s.io/r3 created"),
    (
        "kubectl create role r3 --verb=get --resource=pods",
        "Error from server (AlreadyExists): roles.rbac.authorization.k8s.io \"r3\" already exists",
    ),
    (
        "kubectl create namespace x -o wide",
        "error: unable to match a printer suitable for the output format \"wide\", allowed formats are: go-template,…",
    ),
    (
        "kubectl delete -f one.yaml two.yaml",
        "error: when paths, URLs, or stdin is provided as resource input, you may not…",
    ),
    (
        "kubectl get pods --show-labels=maybe",
        "error: invalid argument \"maybe\" for \"--show-labels\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax…",
    ),
    ("kubectl delete pods --all --dry-run=maybe", "error: Invalid dry-run value (maybe). Must be…"),
    (
        "kubectl apply -f https://k8s.io/examples/pod.yaml",
        "error: unable to read URL \"https://k8s.io/examples/pod.yaml\": nothing is fetched here…",
    ),
    ("kubectl top things", "error: unknown command \"things\"\nSee 'kubectl top -h' for help and examples"),
    ("kubectl run x --image=nginx --env=A", "error: invalid env: A"),
    ("kubectl run x --image=nginx --labels=a", "error: unexpected label spec: a"),
    ("kubectl create secret tls t --cert=kubectl/nobody.pem", "error: key and cert must be specified"),
    (
        "kubectl create secret tls t --cert=kubectl/patch.yaml --key=kubectl/nobody.pem",
        "error: tls: failed to find any PEM data in certificate input",
    ),
    ("kubectl create secret tls t --cert=kubectl/nobody.pem --key=kubectl/nobody.pem", "secret/t created"),
    ("kubectl get secret t --no-headers", "t     kubernetes.io/tls   2     …"),
    (
        "kubectl create secret docker-registry d --docker-username=me",
        "error: either --from-file or the combination of --docker-username, --docker-password and --docker-server is…",
    ),
    (
        "kubectl create secret docker-registry d --docker-username=me '--docker-password=p&w' --docker-email=me@x.y",
        "secret/d created",
    ),
    (
        "kubectl get secret d -o go-template='{{base64decode (index .data \".dockerconfigjson\")}}'",
        r#"{"auths":{"https://index.docker.io/v1/":{"username":"me","password":"p\u0026w","email":"me@x.y","auth":"bWU6cCZ3"}}}"#,
    ),
    ("kubectl patch secret d --patch-file=kubectl/patch.yaml", "secret/d patched"),
    ("kubectl get secret -l patched=by-file -o name", "secret/d"),
    ("kubectl patch secret d --patch-file=nowhere -p {}", "error: cannot specify --patch and --patch-file together"),
    (
        "kubectl create ingress i",
        "error: not enough information provided: every ingress has to either specify a default-backend (which catches…",
    ),
    (
        "kubectl create ingress i --rule=a.com=web:80",
        "error: rule a.com=web:80 is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]",
    ),
    (
        "kubectl create ingress i --class=nginx --rule=a.com/x*=web:80,tls=s --rule=a.com/=api:http --annotation=k=v",
        "ingress.networking.k8s.io/i created",
    ),
    ("kubectl get ing i --no-headers", "i     nginx   a.com         80, 443   …"),
    (
        "kubectl create role r --verb=get,list --resource=pods,deployments.apps,pods/log",
        "role.rbac.authorization.k8s.io/r created",
    ),
    (
        "kubectl get role r -o jsonpath={.rules}",
        "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"pods/log\"],\"verbs\":[\"get\",\"list\"]},\
         {\"apiGroups\":[\"apps\"],\"resources\":[\"deployments\"],\"verbs\":[\"get\",\"list\"]}]",
    ),
    ("kubectl create role r2 --verb=get", "error: at least one resource must be specified"),
    ("kubectl create rolebinding b --role=r", "rolebinding.rbac.authorization.k8s.io/b created"),
    ("kubectl create rolebinding b2 --user=jane", "error: exactly one of clusterrole or role must be specified"),
    (
        "kubectl create clusterrolebinding b --clusterrole=view --serviceaccount=trials:default",
        "clusterrolebinding.rbac.authorization.k8s.io/b created",
    ),
    (
        "kubectl create clusterrolebinding b2 --clusterrole=view --serviceaccount=x",
        "error: serviceaccount must be <namespace>:<name>",
    ),
    ("kubectl create priorityclass high --value=1000", "priorityclass.scheduling.k8s.io/high created"),
    ("kubectl cluster-info", "Kubernetes control plane is running at https://172.18.0.2:6443…"),
    ("kubectl label ns trials pod-security.kubernetes.io/warn=baseline", "namespace/trials labeled"),
    (
        "kubectl api-versions",
        "admissionregistration.k8s.io/v1\napiextensions.k8s.io/v1\napiregistration.k8s.io/v1\napps/v1\n…",
    ),
];

/// What the API server has to say of a change.
const REFUSED: &[(&str, &str)] = &[
    ("kubectl label ns default kubernetes.io/metadata.name-", "namespace/default unlabeled"),
    ("kubectl label ns default kubernetes.io/metadata.name=other --overwrite", "namespace/default labeled"),
    ("kubectl get ns default -o jsonpath={.metadata.labels}", "{\"kubernetes.io/metadata.name\":\"default\"}"),
    (
        "kubectl patch node node-1 -p '{\"spec\":{\"podCIDR\":\"10.8.0.0/24\"}}'",
        "The Node \"node-1\" is invalid: spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid",
    ),
    ("kubectl apply -f kubectl/indexed.yaml", "job.batch/indexed created"),
    (
        "kubectl patch job indexed -p '{\"spec\":{\"completions\":3}}'",
        "The Job \"indexed\" is invalid: spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism",
    ),
    ("kubectl patch job indexed -p '{\"spec\":{\"completions\":3,\"parallelism\":3}}'", "job.batch/indexed patched"),
    ("kubectl create secret generic s", "secret/s created"),
    (
        "kubectl patch secret s -p '{\"data\":{\"a\":\"###\"}}'",
        "The request is invalid: patch: Invalid value: \"map[data:map[a:###]]\": error decoding from json: illegal base64 data…",
    ),
];

#[test]
fn changes_are_refused_as_a_server_refuses_them() {
    script("refused", REFUSED);
}

#[test]
fn trials_leave_everything_as_it_is() {
    script("trials", TRIALS);
}

#[test]
fn verbs_print_what_kubectl_prints() {
    script("verbs", SCRIPT);
}

fn script(namespace: &str, script: &[(&str, &str)]) {
    check(&mut Shell::new(Path::new("."), namespace), script);
}

/// Each line prints what it should, as far as that is said.
pub fn check(shell: &mut Shell, script: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (line, want) in script {
        let shown = shell.line(line);
        if !agrees(&shown, want) {
            wrong.push(format!("$ {line}\n- {want}\n+ {shown}"));
        }
    }
    assert!(wrong.is_empty(), "- wanted, + shown\n{}", wrong.join("\n"));
}

/// A leading `*` asks for the last line only, a `…` for what stands before it.
pub fn agrees(shown: &str, want: &str) -> bool {
    if let Some(last) = want.strip_prefix('*') {
        return shown.lines().last() == Some(last);
    }
    let shown: Vec<&str> = shown.trim_end().lines().collect();
    let wanted: Vec<&str> = want.trim_end().lines().collect();
    let same = |(shown, want): (&&str, &&str)| match want.strip_suffix('…') {
        Some(start) => shown.starts_with(start),
        None => shown == want,
    };
    let open = wanted.last().is_some_and(|last| last.ends_with('…'));
    let enough = if open { shown.len() >= wanted.len() } else { shown.len() == wanted.len() };
    enough && shown.iter().zip(&wanted).all(same)
}

#[test]
fn pages_are_laid_out_as_kubectl_lays_them_out() {
    let mut shell = Shell::new(Path::new("."), "pages");
    shell.line("kubectl create deployment web --image=nginx:1.27 --replicas=2 --port=80");
    shell.line("kubectl rollout status deploy web");
    shell.line("kubectl expose deploy web");
    #[rustfmt::skip]
    let pages: &[(&str, &[&str])] = &[
        ("kubectl describe node node-1", &[
            "Name:               node-1", "Roles:              <none>", "Taints:             <none>", "Unschedulable:      false",
            "Lease:\n  HolderIdentity:  node-1\n  AcquireTime:     <unset>",
            "Capacity:\n  cpu:                4\n  ephemeral-storage:  100Gi\n  memory:             8Gi\n  pods:               110",
            "  Kubelet Version:            v1.36.2", "Non-terminated Pods:          (",
            "  Resource           Requests  Limits\n  --------           --------  ------\n  cpu                0 (0%)    0 (0%)",
        ]),
        ("kubectl describe rs", &[
            "Controlled By:  Deployment/web\nReplicas:       2 current / 2 desired\nPods Status:    2 Running / 0 Waiting / 0 Succeeded / 0 Failed",
            "Pod Template:\n  Labels:  app=web\n           pod-template-hash=", "replicaset-controller  Created pod: web-",
        ]),
        ("kubectl describe svc web", &[
            "Selector:                 app=web\nType:                     ClusterIP", "Port:                     <unset>  80/TCP\nTargetPort:               80/TCP",
            "Session Affinity:         None\n", "Events:                   <none>",
        ]),
        ("kubectl describe ns pages", &["Status:       Active\n\nNo resource quota.\n\nNo LimitRange resource.\n"]),
        ("kubectl describe cm", &["Data\n====\nca.crt:\n----\n", "\n\nBinaryData\n====\n\nEvents:  <none>\n"]),
        ("kubectl describe sa default", &["Image pull secrets:  <none>\nEvents:              <none>"]),
        ("kubectl describe lease node-1 -n kube-node-lease", &["Spec:\n  Holder Identity:         node-1\n"]),
        ("kubectl rollout history deploy web --revision=1", &["deployment.apps/web with revision #1\nPod Template:\n  Labels:\tapp=web\n\tpod-template-hash="]),
        ("kubectl get all", &["\n\nNAME          TYPE        CLUSTER-IP", "\n\nNAME                  READY   UP-TO-DATE   AVAILABLE   AGE\ndeployment.apps/web   2/2"]),
        ("kubectl get deploy web -o yaml", &["spec:\n  progressDeadlineSeconds: 600\n  replicas: 2\n", "    deployment.kubernetes.io/revision: \"1\"\n"]),
    ];
    for (line, parts) in pages {
        let page = shell.line(line);
        for part in *parts {
            assert!(page.contains(part), "$ {line}\n{part}\n-- is not in\n{page}");
        }
    }
}

/// kubectl answers every line that is typed.
#[test]
fn nothing_that_is_typed_brings_it_down() {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "get", "apply", "delete", "describe", "rollout", "status", "undo", "set", "image", "label", "taint", "wait", "scale", "patch",
        "expose", "create", "run", "logs", "replace", "node", "pods", "deploy", "deploy/web", "web", "pod/", "/", "a=b", "a-", "-", "--",
        "-f", "-o", "-l", "-p", "é=ü", "--for=jsonpath={.a[}", "--for=condition=", "-o=jsonpath={range .a}", "-o=custom-columns=A", "=",
        "--replicas=x", "--timeout=1", "--image=", "--all", "{}", "[1]", "5", "-n", "default", "a:NoSchedule", ":", "--to-revision=-9",
        "--sort-by=.[", "--grace-period=-1", "--port=99999", "service", "clusterip", "--tcp=1:2:3", "configmap", "--from-literal=a",
    ];
    let mut shell = Shell::new(Path::new("."), "typed");
    let mut random = object::random::Random::new(7);
    for _ in 0..1_500 {
        let words: Vec<&str> = (0..random.below(6)).map(|_| WORDS[random.below(WORDS.len() as u64) as usize]).collect();
        shell.line(&format!("kubectl {}", words.join(" ")));
        assert!(shell.cluster.engine.take_crashes().is_empty(), "kubectl {}", words.join(" "));
    }
}

/// What kubectl has made or read into a struct has the struct's order; what it has read into a map is sorted.
#[test]
fn json_has_the_order_of_the_struct_that_kubectl_holds() {
    let mut shell = Shell::new(Path::new("."), "json");
    let mut order = |line: &str, names: &[&str]| {
        let text = shell.line(line);
        let at = |name: &&str| {
            text.find(&format!("\"{name}\"")).unwrap_or_else(|| panic!("{line}: {name} is not in\n{text}"))
        };
        assert!(names.iter().map(at).is_sorted(), "{line}\n{text}");
    };
    let structs =
        ["kind", "apiVersion", "metadata", "name", "labels", "spec", "replicas", "selector", "template", "status"];
    order("kubectl create deployment web --image=nginx:1.27 --dry-run=client -o json", &structs);
    order("kubectl create deployment web --image=nginx:1.27 -o json", &structs);
    order("kubectl set image deployment/web nginx=nginx:1.28 -o json", &structs);
    order("kubectl rollout restart deployment/web -o json", &structs);
    order(
        "kubectl run one --image=nginx:1.27 --dry-run=client -o json",
        &["kind", "name", "labels", "spec", "image", "restartPolicy", "dnsPolicy"],
    );
    order(
        "kubectl label deployment web a=b -o json",
        &["apiVersion", "kind", "metadata", "labels", "name", "uid", "spec"],
    );
    order("kubectl get deployment web -o json", &["apiVersion", "kind", "metadata", "labels", "name", "uid", "spec"]);
    order("kubectl taint node node-1 a=b:NoSchedule -o json", &["kind", "apiVersion", "name", "labels", "spec"]);
    order("kubectl taint node node-1 a- --dry-run=client -o json", &["apiVersion", "kind", "labels", "name", "spec"]);
}
