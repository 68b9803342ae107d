//! The real kubectl and the one of the prompt, side by side on one cluster: they print the same.

use crate::kubectl::{Client, kubectl_of_our_version};
use crate::program::{Served, folder};

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

/// Ages, which go on between the two, and how much room they take.
fn masked(text: &str) -> Vec<String> {
    let age = |word: &str| {
        let is_unit = |c: char| "smhd".contains(c);
        let digits = word.trim_end_matches(is_unit);
        digits.len() < word.len() && digits.chars().all(|c| c.is_ascii_digit() || is_unit(c)) && !digits.is_empty()
    };
    let line = |line: &str| -> String {
        line.split_whitespace().map(|word| if age(word) { "AGE" } else { word }).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect()
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
        let out = client.run(line);
        let real = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
        let real = masked(&real);
        if ours != real {
            differ.push(format!("{line}:\n  ours: {ours:#?}\n  real: {real:#?}"));
        }
    }
    assert!(differ.is_empty(), "{} of {} differ\n{}", differ.len(), LINES.len(), differ.join("\n"));
}
