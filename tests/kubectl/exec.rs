//! `kubectl exec`: what commands in containers see, and how they fail.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use cluster::Cluster;
use engine::What;
use kubestep_tests::scenario;

use crate::shell::Shell;

const SCENE: &str = include_str!("../scenes/exec.yaml");

/// Lines after the scene is set, and what they printed.
fn after(lines: &[&str]) -> (Cluster, Vec<String>) {
    let mut cluster = scenario::settled(SCENE, 300);
    let said = lines.iter().map(|line| scenario::said(&mut cluster, line, 300)).collect();
    (cluster, said)
}

#[test]
fn a_command_sees_its_container() {
    let pairs = [
        ("kubectl exec app -c shell -- cat /etc/settings/color", "blue"),
        ("kubectl exec app -c shell -- ls /etc/settings", "color\nshape"),
        ("kubectl exec app -c shell -- cat /etc/keys/password", "swordfish"),
        ("kubectl exec app -c shell -- cat /etc/about/name", "app"),
        ("kubectl exec app -c shell -- ls /var/run/secrets/kubernetes.io/serviceaccount", "ca.crt\nnamespace\ntoken"),
        ("kubectl exec app -c shell -- sh -c 'echo \"by $HOSTNAME\" > /scratch/note && cat /scratch/note'", "by app"),
        ("kubectl exec app -c side -- cat /share/note", "by app"),
        ("kubectl exec app -c shell -- printenv COLOR", "blue"),
        ("kubectl exec -it app -c shell -- printenv COLOR", "blue"),
        (
            "kubectl exec app -c shell -- ls /etc/settings /etc/about/name",
            "/etc/about/name\n\n/etc/settings:\ncolor\nshape",
        ),
        ("kubectl exec app -c shell -- hostname", "app"),
        ("kubectl exec app -c shell -- sh -c 'test -f /scratch/note || echo gone; rm /scratch/note'", ""),
        ("kubectl exec app -c shell -- sh -c 'test -f /scratch/note || echo gone'", "gone"),
        ("kubectl exec app -c shell -- cat /etc/hostname /etc/resolv.conf", "app"),
        ("kubectl exec app -c shell -- sh -c 'ls /etc/settings | grep -c o'", "1"),
        (
            "kubectl exec app -c shell -- sh -c 'for f in $(ls /etc/settings); do echo $f; sleep 1; done'",
            "color\nshape",
        ),
        ("kubectl exec app -- hostname", "Defaulted container \"shell\" out of: shell, side, first (init)\napp"),
    ];
    let (_, said) = after(&pairs.map(|(line, _)| line));
    for ((line, expected), said) in pairs.iter().zip(said) {
        assert_eq!(said, *expected, "{line}");
    }
}

/// A container is told of the Services that were there when it was made, unless it does not want to know.
#[test]
fn a_container_is_told_of_services() {
    let (mut cluster, said) =
        after(&["kubectl exec app -c shell -- env", "kubectl exec app -c side -- printenv DB_SERVICE_HOST"]);
    let variables: Vec<&str> = said[0].lines().collect();
    let expected = [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOSTNAME=app",
        "COLOR=blue",
        "KUBERNETES_PORT=tcp://10.96.0.1:443",
        "KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443",
        "KUBERNETES_PORT_443_TCP_ADDR=10.96.0.1",
        "KUBERNETES_PORT_443_TCP_PORT=443",
        "KUBERNETES_PORT_443_TCP_PROTO=tcp",
        "KUBERNETES_SERVICE_HOST=10.96.0.1",
        "KUBERNETES_SERVICE_PORT=443",
        "KUBERNETES_SERVICE_PORT_HTTPS=443",
        "HOME=/root",
    ];
    assert_eq!(variables, expected);
    assert_eq!(said[1], "command terminated with exit code 1");
    let lines = [
        "kubectl create service clusterip my-db --tcp=5432 --clusterip=10.96.0.77",
        "sleep 1",
        "kubectl run linked --image=nginx",
        "kubectl apply -f unlinked.yaml",
        "kubectl wait --for=condition=Ready pod/linked pod/unlinked --timeout=60s",
        "kubectl exec app -c side -- printenv MY_DB_SERVICE_HOST",
        "kubectl exec linked -- printenv MY_DB_SERVICE_HOST",
        "kubectl exec linked -- printenv MY_DB_SERVICE_PORT_5432",
        "kubectl exec linked -- printenv MY_DB_PORT_5432_TCP_ADDR",
        "kubectl exec unlinked -- printenv MY_DB_SERVICE_HOST",
        "kubectl exec unlinked -- printenv KUBERNETES_SERVICE_HOST",
    ];
    let unlinked = "apiVersion: v1\nkind: Pod\nmetadata: {name: unlinked}\n\
                    spec: {enableServiceLinks: false, containers: [{name: c, image: nginx}]}\n";
    cluster.kubectl.files = Rc::new([("unlinked.yaml".to_owned(), unlinked.to_owned())].into());
    let before = cluster.kubectl.printed();
    cluster.type_lines(lines.map(str::to_owned).to_vec());
    cluster.settle(Duration::from_secs(300));
    let said = cluster.kubectl.printed_since(before);
    let asked: Vec<&str> =
        said.split("$ kubectl exec ").skip(1).map(|one| one.lines().nth(1).unwrap_or_default()).collect();
    let none = "command terminated with exit code 1";
    assert_eq!(asked, [none, "10.96.0.77", "5432", "10.96.0.77", none, "10.96.0.1"], "{said}");
}

#[test]
fn a_command_talks_to_others_in_packets() {
    let pairs = [
        ("kubectl exec app -c shell -- wget -qO- SERVER", "default/app on node-1 answers GET /"),
        ("kubectl exec app -c shell -- wget -qO- nowhere", "wget: bad address 'nowhere'"),
        (
            "kubectl exec app -c shell -- wget -O- SERVER:81",
            "Connecting to SERVER (SERVER:81)\nwget: can't connect to remote host (SERVER): Connection refused",
        ),
        ("kubectl exec app -c shell -- curl -s SERVER", "default/app on node-1 answers GET /"),
        ("kubectl exec app -c shell -- ip route", "default via 10.244.0.1 dev eth0"),
    ];
    let (mut cluster, _) = after(&[]);
    for (line, expected) in pairs {
        let before = cluster.kubectl.printed();
        cluster.type_lines(vec![line.replace("SERVER", "10.244.0.2")]);
        let (mut packets, mut calls) = (0, Vec::new());
        while !cluster.is_quiet()
            && let Some(step) = cluster.step()
        {
            match &step.event.what {
                What::Packet { .. } => packets += 1,
                What::Rpc { message, .. } => calls.push(message.method()),
                _ => {}
            }
            if cluster.kubectl.printed_since(before).contains(expected.split("SERVER").next().unwrap_or_default()) {
                break;
            }
        }
        let said = cluster.kubectl.printed_since(before);
        assert!(said.contains(&expected.replace("SERVER", "10.244.0.2")), "{line}: {said}");
        assert_eq!(calls[..3], ["exec", "ListContainers", "Exec"], "{line}");
        assert_eq!(packets > 0, !line.contains("ip route") && !line.contains("nowhere"), "{line}: {packets} packets");
    }
}

#[test]
fn a_command_fails_as_a_real_one_does() {
    let pairs = [
        ("kubectl exec app -c shell -- sh -c 'exit 3'", "command terminated with exit code 3"),
        (
            "kubectl exec app -c shell -- sh -c 'while true; do sleep 0.1; done'",
            "this would take for ever\ncommand terminated",
        ),
        ("kubectl exec app -c shell -- sh -c vi", "sh: vi: not found\ncommand terminated with exit code 127"),
        (
            "kubectl exec app -c shell -- vi",
            "exec: \"vi\": executable file not found in $PATH: unknown\nContainers here have awk, base64, basename, cat",
        ),
        (
            "kubectl exec app -c shell -- /bin/own",
            "exec: \"/bin/own\": stat /bin/own: no such file or directory: unknown",
        ),
        (
            "kubectl exec app -c shell -- sh -c 'x+=(1 2); echo $x'",
            "sh: this is more than the shell of these containers knows",
        ),
        (
            "kubectl exec app -c shell -- sh -c 'echo x > /etc/settings/color'",
            "sh: can't create /etc/settings/color: Read-only file system\ncommand terminated with exit code 1",
        ),
        ("kubectl exec app -c shell -- ls /nothing", "ls: /nothing: No such file or directory"),
        ("kubectl exec app -c nobody -- env", "error: container nobody is not valid for pod app out of: "),
        (
            "kubectl exec app -c first -- env",
            "error: Internal error occurred: unable to upgrade connection: container not found (\"first\")",
        ),
        ("kubectl exec nobody -- env", "Error from server (NotFound): pods \"nobody\" not found"),
        ("kubectl exec once -- env", "cannot exec into a container in a completed pod; current phase is Succeeded"),
        ("kubectl exec homeless -- env", "Error from server (BadRequest): pod homeless does not have a host assigned"),
        ("kubectl exec app", "error: you must specify at least one command for the container"),
        ("kubectl run -it app --image=nginx", "Error from server (AlreadyExists): pods \"app\" already exists"),
    ];
    let (mut cluster, said) = after(&pairs.map(|(line, _)| line));
    for ((line, expected), said) in pairs.iter().zip(said) {
        assert!(said.contains(expected), "{line}: {expected:?} is not in {said:?}");
    }
    for (meddle, expected) in [
        (None, "error dialing backend: dial tcp 172.18.0.10:10250: connect: connection refused"),
        (Some("node stop 1"), "error dialing backend: dial tcp 172.18.0.10:10250: connect: no route to host"),
    ] {
        match meddle {
            None => drop(cluster.stop_process("kubelet/node-1").expect("it runs")),
            Some(line) => cluster.type_lines(vec![line.to_owned()]),
        }
        cluster.settle(Duration::from_secs(5));
        let before = cluster.kubectl.printed();
        cluster.type_lines(vec!["kubectl exec app -c shell -- env".to_owned()]);
        cluster.settle(Duration::from_secs(5));
        let said = cluster.kubectl.printed_since(before);
        assert!(said.contains(&format!("Error from server: {expected}")), "{said}");
    }
}

#[test]
fn lines_use_what_earlier_lines_have_kept() {
    let (_, said) = after(&[
        "kubectl get ns $NS -o name",
        "node=$(kubectl get node node-1 -o name)",
        "kubectl get ${node} -o name",
        "kubectl taint node ${node#node/} a=b:NoSchedule",
        "kubectl taint node ${node#node/} a=b:NoSchedule-",
    ]);
    assert_eq!(said, ["namespace/default", "", "node/node-1", "node/node-1 tainted", "node/node-1 untainted"]);
}

/// A process is whom its Pod says, cannot write where that says so, and dies when it takes more memory than it may.
#[test]
fn a_process_is_held_to_its_spec() {
    let manifest = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "who"}, "spec": {
            "securityContext": {"runAsUser": 1000, "runAsGroup": 3000, "fsGroup": 2000},
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{"name": "c", "image": "busybox:1.36", "command": ["sh", "-c", "sleep 1h"],
                "securityContext": {"readOnlyRootFilesystem": true},
                "volumeMounts": [{"name": "v", "mountPath": "/rw"}, {"name": "v", "mountPath": "/ro", "readOnly": true}]}]}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "greedy"}, "spec": {"containers": [{
            "name": "c", "image": "polinux/stress", "command": ["stress", "--vm", "1", "--vm-bytes", "250M"],
            "resources": {"limits": {"memory": "100Mi"}}}]}}]}"#;
    let mut shell = Shell::new(Path::new("."), "held");
    shell.cluster.kubectl.files = std::rc::Rc::new([("pods.yaml".to_owned(), manifest.to_owned())].into());
    shell.line("kubectl apply -f pods.yaml");
    shell.line("kubectl wait --for=condition=Ready pod/who");
    for (line, expected) in [
        ("kubectl exec who -- id", "uid=1000 gid=3000 groups=2000,3000\n"),
        (
            "kubectl exec who -- ps",
            "PID   USER     TIME  COMMAND\n    1 1000      0:00 sleep 1h\n    7 1000      0:00 ps\n",
        ),
        ("kubectl exec who -- touch /rw/a", ""),
        (
            "kubectl exec who -- touch /ro/a",
            "touch: /ro/a: Read-only file system\ncommand terminated with exit code 1\n",
        ),
        ("kubectl exec who -- touch /a", "touch: /a: Read-only file system\ncommand terminated with exit code 1\n"),
    ] {
        assert_eq!(shell.line(line), expected, "$ {line}");
    }
    shell.line("sleep 5");
    let path = "{.status.containerStatuses[0].lastState.terminated.reason}";
    assert_eq!(shell.line(&format!("kubectl get pod greedy -o jsonpath={path}")), "OOMKilled");
}

/// A command stands in a directory, files are made and moved, and a port is tried.
#[test]
fn a_command_stands_somewhere() {
    const SCENE: &str = "
title: somewhere
story: A server, and a Pod that waits for it.
dns: true
proxy: true
files:
  app.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: app}
    spec:
      containers:
      - name: app
        image: busybox
        workingDir: /work
        command: [sh, -c, 'until nc -z -w 1 web 80; do echo waiting; sleep 1; done; pwd; sleep 1h']
timeline:
- kubectl create deployment web --image=nginx --port=80
- kubectl expose deployment web --port=80
- kubectl apply -f app.yaml
- sleep 20
";
    let mut cluster = scenario::settled(SCENE, 300);
    let mut said = |line: &str| scenario::said(&mut cluster, line, 300);
    let address = said("kubectl get service web -o jsonpath={.spec.clusterIP}");
    for (line, expected) in [
        ("pwd", "/work".to_owned()),
        (
            "sh -c 'cd /tmp && pwd; echo hi > note; cat note ../tmp/note; ls; cd ..; cat tmp/note'",
            "/tmp\nhi\nhi\nnote\nhi".into(),
        ),
        ("sh -c 'mkdir -p /a/b && cp /tmp/note /a/b && mv /a/b/note /a/c && ls /a'", "b\nc".into()),
        ("mkdir /a", "mkdir: can't create directory '/a': File exists\ncommand terminated with exit code 1".into()),
        ("nc -zv web 80", format!("web ({address}:80) open")),
        ("nc -zvw1 web 81", "nc: timed out\ncommand terminated with exit code 1".into()),
        ("curl -s -o /dev/null -w '%{http_code}' web", "200".into()),
        ("kill 1", String::new()),
    ] {
        assert_eq!(said(&format!("kubectl exec app -- {line}")), expected, "$ {line}");
    }
    let log = said("kubectl logs app");
    assert!(log.ends_with("/work"), "{log}");
    said("kubectl exec deploy/web -- kill 1");
    said("sleep 2");
    let path = "{.items[*].status.containerStatuses[0].restartCount}";
    assert_eq!(said(&format!("kubectl get pods -o jsonpath='{path}'")), "0 1", "nginx minds SIGTERM, a shell does not");
}

/// An annotation that names no container is a mistake to `exec`, and to `logs` only something to tell.
#[test]
fn an_annotation_names_the_container() {
    let mut shell = Shell::new(Path::new("."), "annotated");
    shell.line(
        "kubectl run two --image=busybox --annotations=kubectl.kubernetes.io/default-container=none -- sleep 100",
    );
    shell.line("kubectl wait --for=condition=Ready pod/two");
    let lines = [
        ("kubectl exec two -- true", "error: container none is not valid for pod two out of: two\n"),
        ("kubectl exec two -c two -- true", ""),
        ("kubectl logs two", "Default container name \"none\" not found in pod two\n"),
        (
            "kubectl attach two",
            "error: cannot attach to the container: container none is not valid for pod two out of: two\n",
        ),
    ];
    for (line, expected) in lines {
        assert_eq!(shell.line(line), expected, "{line}");
    }
}
