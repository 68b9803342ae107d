//! The real kubectl and the one of the prompt, side by side on one cluster: they print the same.

use crate::kubectl::{Client, kubectl_of_our_version};
use crate::program::{Served, folder};
use crate::recorded::errors;

/// What both are asked. Nothing of it changes anything. `events` is missing: of those of the same second Go's sort keeps no order.
const LINES: &[&str] = &[
    "get nodes",
    "get nodes -o wide",
    "get nodes -o name",
    "get pods",
    "get pods -A -o wide",
    "get pods -l app=web --no-headers",
    "get pods --show-labels",
    "get pods -L app",
    "get pods -A --sort-by=.metadata.name",
    "get pods --field-selector=status.phase=Running",
    "get pods -o jsonpath={.items[*].metadata.name}",
    "get pods -o custom-columns=N:.metadata.name,I:.spec.containers[0].image",
    "get deploy web -o yaml",
    "get deploy web -o json",
    "get deploy web -o wide",
    "get rs",
    "get svc -o wide",
    "get svc web -o yaml",
    "get endpointslices",
    "get ns",
    "get all",
    "get cm c1 -o yaml",
    "get sa",
    "get sc",
    "get pv",
    "get crd",
    "get events -A",
    "get clusterroles",
    "get leases -A",
    "get priorityclasses",
    "get apiservices",
    "get nope",
    "get pods nope",
    "get pods,svc",
    "get deploy/web svc/web",
    "get deploy web --subresource=scale",
    "get deploy web --subresource=status -o name",
    "get --raw /healthz",
    "auth can-i create pods",
    "auth can-i create pods --as jane",
    "auth can-i --list",
    "auth whoami",
    "explain pod",
    "explain pod.spec.containers",
    "explain nope",
    "describe cm c1",
    "describe ns default",
    "describe nope",
    "top nodes",
    "top pods",
];

/// What both do, and what undoes it.
const CHANGES: &[(&str, &str)] = &[
    ("label deployment web tier=front", "label deployment web tier-"),
    ("label deployment web tier-", ""),
    ("label deployment web app=other", ""),
    ("annotate deployment web note=a", "annotate deployment web note-"),
    ("scale deployment web --replicas=3", "scale deployment web --replicas=2"),
    ("scale deployment web --replicas=3 --current-replicas=9", ""),
    ("set image deployment/web nginx=nginx:1.29", "set image deployment/web nginx=nginx"),
    ("set image deployment/web nope=nginx", ""),
    ("set env deployment/web A=b", "set env deployment/web A-"),
    ("set resources deployment web --limits=cpu=200m", "set resources deployment web --limits=cpu=0"),
    ("set serviceaccount deployment web robot", "set serviceaccount deployment web default"),
    ("rollout pause deployment web", "rollout resume deployment web"),
    ("rollout resume deployment web", ""),
    ("rollout restart deployment web", ""),
    ("rollout history deployment nope", ""),
    (
        "patch deployment web -p {\"spec\":{\"minReadySeconds\":1}}",
        "patch deployment web -p {\"spec\":{\"minReadySeconds\":0}}",
    ),
    ("patch deployment web --type=json -p [{\"op\":\"remove\",\"path\":\"/spec/nope\"}]", ""),
    ("expose deployment web --port=80", ""),
    ("expose deployment web --port=80 --name=web2", "delete service web2"),
    ("autoscale deployment web --min=1 --max=3 --cpu=50%", "delete hpa web"),
    ("cordon node-1", "uncordon node-1"),
    ("uncordon node-1", ""),
    ("taint nodes node-1 a=b:NoSchedule", "taint nodes node-1 a-"),
    ("taint nodes node-1 a:NoSchedule-", ""),
    ("drain node-1", "uncordon node-1"),
    ("drain node-1 --ignore-daemonsets --dry-run=client", ""),
    ("create namespace other", "delete namespace other"),
    ("create configmap c2 --from-literal=a=b", "delete configmap c2"),
    ("create configmap c1 --from-literal=a=b", ""),
    ("create secret generic s --from-literal=a=b", "delete secret s"),
    ("create serviceaccount robot2", "delete serviceaccount robot2"),
    ("create role r --verb=get --resource=pods", "delete role r"),
    ("create rolebinding rb --role=r --user=jane", "delete rolebinding rb"),
    ("create clusterrole cr --verb=get --resource=nodes", "delete clusterrole cr"),
    ("create clusterrolebinding crb --clusterrole=cr --group=dev", "delete clusterrolebinding crb"),
    ("create quota q --hard=pods=9", "delete quota q"),
    ("create poddisruptionbudget p --selector=app=web --min-available=1", "delete pdb p"),
    ("create priorityclass pc --value=5", "delete priorityclass pc"),
    ("create ingress i --rule=a.example/=web:80", "delete ingress i"),
    ("create job j --image=busybox -- true", "delete job j"),
    ("create cronjob cj --image=busybox --schedule=0/5 -- true", ""),
    ("create deployment web --image=nginx", ""),
    ("create deployment Bad_Name --image=nginx", ""),
    ("create service clusterip s2 --tcp=80", "delete service s2"),
    ("create service nodeport s3 --tcp=80 --node-port=99", ""),
    ("run p --image=nginx", "delete pod p --now"),
    ("run p --image=nginx --dry-run=server -o name", ""),
    ("delete pod nope", ""),
    ("delete service web2 --ignore-not-found", ""),
    ("delete pods -l app=nope", ""),
    ("wait --for=condition=Available deployment/web --timeout=30s", ""),
    ("rollout status deployment web", ""),
    ("create deployment dry --image=nginx --dry-run=server -o yaml", ""),
    ("create deployment dry --image=nginx --dry-run=client -o json", ""),
    ("get deploy web -o go-template={{.metadata.name}}", ""),
    ("exec deploy/web -- hostname -i", ""),
    ("exec deploy/web -- no-such-program", ""),
    ("logs deploy/web --tail=1", ""),
    ("logs deploy/web -c nope", ""),
];

/// The lines, in order: what is printed and what is complained of come by two ways. Without ages, which go on between the two, how
/// much room they take, uids and the numbers of processes.
fn masked(text: &str) -> Vec<String> {
    let age = |word: &str| {
        let is_unit = |c: char| "smhd".contains(c);
        let digits = word.trim_end_matches(is_unit);
        digits.len() < word.len() && digits.chars().all(|c| c.is_ascii_digit() || is_unit(c)) && !digits.is_empty()
    };
    let id = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_hexdigit());
        word.len() >= 32 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
    };
    let mask = |word: &str| if age(word) || id(word) { "MASKED".to_owned() } else { word.to_owned() };
    let line = |line: &str| line.split_whitespace().map(mask).collect::<Vec<_>>().join(" ");
    let mut lines: Vec<String> = text.lines().map(line).collect();
    lines.sort();
    lines
}

/// What the real one prints.
fn printed(client: &Client, line: &str) -> Vec<String> {
    let out = client.run(line);
    masked(&format!("{}{}", String::from_utf8_lossy(&out.stdout), errors(&out.stderr)))
}

#[test]
fn the_real_kubectl_prints_what_ours_prints() {
    let Some(program) = kubectl_of_our_version() else { return };
    let served = Served::in_folder(folder(), "step", &["playground", "--serve", "--clock", "fast"]);
    let mut client = Client { program, served };
    client.prints("create deployment web --image=nginx --replicas=2");
    client.prints("expose deployment web --port=80");
    client.prints("create configmap c1 --from-literal=a=b");
    client.prints("rollout status deployment web");
    let mut differ = Vec::new();
    for line in LINES {
        let ours = masked(&client.served.answers(&format!("kubectl {line}")));
        let real = printed(&client, line);
        if ours != real {
            differ.push(format!("{line}:\n  ours: {ours:#?}\n  real: {real:#?}"));
        }
    }
    for (line, undo) in CHANGES {
        let undone = |client: &Client| {
            if !undo.is_empty() {
                client.prints(undo);
            }
        };
        let real = printed(&client, line);
        undone(&client);
        let quoted: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let ours = client.served.answers(&format!("kubectl {} !", quoted.join(" ")));
        // Below it stands how far the cluster has come.
        let ours: Vec<String> = masked(&ours).into_iter().filter(|line| !line.contains(", now at ")).collect();
        undone(&client);
        if ours != real {
            differ.push(format!("{line}:\n  ours: {ours:#?}\n  real: {real:#?}"));
        }
    }
    let all = LINES.len() + CHANGES.len();
    assert!(differ.is_empty(), "{} of {all} differ\n{}", differ.len(), differ.join("\n"));
}
