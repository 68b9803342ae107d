//! Files that the kubelet writes: which of them follow what they are made from, and which a container keeps.

use std::time::Duration;

use kubestep_tests::scenario;

const PODS: &str = r#"title: t
nodes: 1
files:
  pod.yaml: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: settings}
    data: {k: one}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: keys}
    stringData: {s: one}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: p, labels: {a: b}}
    spec:
      containers:
        - name: c
          image: busybox
          command: [sh, -c, 'until [ -f /tmp/end ]; do sleep 1; done']
          volumeMounts:
            - {name: map, mountPath: /full}
            - {name: map, mountPath: /sub/k, subPath: k}
            - {name: map, mountPath: /none, subPath: none}
            - {name: secret, mountPath: /sub/s, subPath: s}
            - {name: told, mountPath: /told}
            - {name: told, mountPath: /sub/labels, subPath: labels}
            - {name: all, mountPath: /all}
      volumes:
        - {name: map, configMap: {name: settings}}
        - {name: secret, secret: {secretName: keys}}
        - name: told
          downwardAPI:
            items:
              - {path: labels, fieldRef: {fieldPath: metadata.labels}}
              - {path: notes, fieldRef: {fieldPath: metadata.annotations}}
        - name: all
          projected:
            sources:
              - configMap: {name: settings}
              - downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}
timeline:
  - kubectl apply -f pod.yaml
  - kubectl wait --for=condition=Ready pod/p
"#;

/// What is printed by lines, so long after those before them.
fn printed(lines: &[(u64, &str)]) -> String {
    let mut cluster = scenario::started(PODS);
    while !cluster.is_quiet() && cluster.step().is_some() {}
    let mark = cluster.kubectl.printed();
    for (seconds, line) in lines {
        let end = cluster.engine.now() + Duration::from_secs(*seconds);
        while cluster.step_due(end).is_some() {}
        cluster.type_lines(vec![(*line).to_owned()]);
        while !cluster.is_quiet() && cluster.step().is_some() {}
    }
    cluster.kubectl.printed_since(mark)
}

const SHOWN: &str =
    "kubectl exec p -- sh -c 'echo full=$(cat /full/k) sub=$(cat /sub/k),$(cat /sub/s) all=$(cat /all/k)'";

/// A sub-path is bound when its container starts: it keeps what was there then, until the next one starts.
#[test]
fn a_sub_path_keeps_what_its_container_started_with() {
    let said = printed(&[
        (0, SHOWN),
        (0, "kubectl patch configmap settings -p '{\"data\":{\"k\":\"two\"}}'"),
        (0, "kubectl patch secret keys -p '{\"stringData\":{\"s\":\"two\"}}'"),
        (120, SHOWN),
        (0, "kubectl exec p -- touch /tmp/end"),
        (10, SHOWN),
        (0, "kubectl exec p -- ls -a /none"),
    ]);
    let shown: Vec<&str> = said.lines().filter(|line| line.starts_with("full=")).collect();
    assert_eq!(shown, ["full=one sub=one,one all=one", "full=two sub=one,one all=two", "full=two sub=two,two all=two"]);
    assert!(said.trim_end().ends_with("ls -a /none"), "a key that is not there is an empty directory: {said}");
}

/// What the downward API tells in files follows the Pod's labels and annotations at once; and with it what was stale.
#[test]
fn files_of_the_downward_api_follow_the_pod() {
    const LABELS: &str =
        "kubectl exec p -- sh -c 'cat /told/labels; echo; cat /told/notes; echo; cat /all/labels; echo'";
    let said = printed(&[
        (0, "kubectl label pod p c=d"),
        (2, LABELS),
        (0, "kubectl patch configmap settings -p '{\"data\":{\"k\":\"two\"}}'"),
        (0, "kubectl annotate pod p note=now"),
        (2, LABELS),
        (0, "kubectl exec p -- cat /full/k /sub/labels"),
    ]);
    assert_eq!(said.matches("a=\"b\"\nc=\"d\"\n").count(), 4, "{said}");
    assert_eq!(said.matches("note=\"now\"").count(), 1, "{said}");
    assert!(said.contains("-- cat /full/k /sub/labels\ntwoa=\"b\""), "{said}");
}
