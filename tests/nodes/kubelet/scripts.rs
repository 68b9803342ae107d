//! What containers do while they run: scripts that wait for others, decide and go round.

use std::time::Duration;

use cluster::Cluster;
use engine::What;
use kubestep_tests::scenario;

/// A cluster in which this Pod was applied.
fn applied(pod: &str) -> Cluster {
    let indented: String = pod.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "title: a script\nnodes: 2\nproxy: true\ndns: true\nfiles:\n  pod.yaml: |\n{indented}timeline:\n- kubectl apply -f pod.yaml\n"
    );
    scenario::settled(&text, 60)
}

/// What a line prints, when nothing but background traffic is left.
fn said(cluster: &mut Cluster, line: &str) -> String {
    let said = scenario::said(cluster, line, 120);
    assert!(cluster.is_quiet(), "{line}: it comes to rest");
    said
}

pub fn pass(cluster: &mut Cluster, seconds: u64) {
    let end = cluster.engine.now() + Duration::from_secs(seconds);
    while cluster.step_due(end).is_some() {}
}

/// The columns READY and STATUS of `kubectl get pod`.
fn state(cluster: &mut Cluster, pod: &str) -> String {
    let table = said(cluster, &format!("kubectl get pod {pod} --no-headers"));
    table.split_whitespace().skip(1).take(2).collect::<Vec<_>>().join(" ")
}

const INIT: &str = r#"apiVersion: v1
kind: Pod
metadata:
  name: myapp-pod
spec:
  containers:
  - name: myapp-container
    image: busybox:1.28
    command: ['sh', '-c', 'echo The app is running! && sleep 3600']
  initContainers:
  - name: init-myservice
    image: busybox:1.28
    command: ['sh', '-c', "until nslookup myservice.$(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace).svc.cluster.local; do echo waiting for myservice; sleep 2; done"]
  - name: init-mydb
    image: busybox:1.28
    command: ['sh', '-c', "until nslookup mydb.$(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace).svc.cluster.local; do echo waiting for mydb; sleep 2; done"]
"#;

/// The example of the page on init containers: they wait for Services.
#[test]
fn init_containers_wait_for_services() {
    let mut cluster = applied(INIT);
    assert!(cluster.is_quiet(), "nobody waits for a loop that may have no end");
    assert_eq!(state(&mut cluster, "myapp-pod"), "0/1 Init:0/2");
    pass(&mut cluster, 30);
    let log = said(&mut cluster, "kubectl logs myapp-pod -c init-myservice");
    assert!(
        log.contains("nslookup: can't resolve 'myservice.default.svc.cluster.local'\nwaiting for myservice\n"),
        "{log}"
    );
    let waited = log.matches("waiting for myservice").count();
    assert!((10..40).contains(&waited), "{waited}: {log}");
    said(&mut cluster, "kubectl create service clusterip myservice --tcp=80:9376");
    pass(&mut cluster, 10);
    assert_eq!(state(&mut cluster, "myapp-pod"), "0/1 Init:1/2");
    said(&mut cluster, "kubectl create service clusterip mydb --tcp=80:9377");
    // The end of a loop is no background traffic: the first event of it is followed until all is done.
    while cluster.is_quiet() {
        cluster.step().expect("the loop goes on");
    }
    cluster.settle(Duration::from_secs(60));
    assert_eq!(state(&mut cluster, "myapp-pod"), "1/1 Running");
    assert_eq!(said(&mut cluster, "kubectl logs myapp-pod -c myapp-container"), "The app is running!");
}

/// Going back while a script is in the middle of a loop: it goes on as it did.
#[test]
fn a_script_is_saved_with_the_world() {
    let mut cluster = applied(INIT);
    while cluster.engine.tasks().next().is_some() {
        cluster.step();
    }
    let saved = cluster.save().expect("no task is in flight");
    let mut log = || {
        pass(&mut cluster, 20);
        let log = said(&mut cluster, "kubectl logs myapp-pod -c init-myservice");
        cluster.restore(&saved);
        log
    };
    assert_eq!(log(), log());
}

fn pod(script: &str) -> String {
    let script: String = script.lines().map(|line| format!("      {line}\n")).collect();
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web-1\nspec:\n  restartPolicy: Never\n  containers:\n  - name: main\n    \
         image: nginx:1.27\n    command:\n    - bash\n    - -c\n    - |\n{script}    volumeMounts:\n    - {{name: conf, mountPath: \
         /mnt/conf.d}}\n  volumes:\n  - name: conf\n    emptyDir: {{}}\n"
    )
}

#[test]
fn scripts_decide_and_go_round() {
    let server_id = r#"set -ex
# Generate mysql server-id from pod ordinal index.
[[ $HOSTNAME =~ -([0-9]+)$ ]] || exit 1
ordinal=${BASH_REMATCH[1]}
echo [mysqld] > /mnt/conf.d/server-id.cnf
# Add an offset to avoid reserved server-id=0 value.
echo server-id=$((100 + $ordinal)) >> /mnt/conf.d/server-id.cnf
if [[ $ordinal -eq 0 ]]; then
  echo primary
else
  echo replica
fi
cat /mnt/conf.d/server-id.cnf"#;
    for (script, state_then, log) in [
        (server_id, "0/1 Completed", "replica\n[mysqld]\nserver-id=101"),
        ("for i in 1 2 3; do echo $i; sleep 1; done; exit 4", "0/1 Error", "1\n2\n3"),
        ("seq 1 5 | while read i; do echo $((i * i)); done | tail -n 2", "0/1 Completed", "16\n25"),
        ("[ -e /mnt/conf.d/none ] || echo no", "0/1 Completed", "no"),
        ("if [ -d /mnt/conf.d ] && cat /etc/hosts | grep -q web-1; then echo yes; fi", "0/1 Completed", "yes"),
        (
            "case $HOSTNAME in *-0) echo first;; *) echo other;; esac; wget -q http://example.com/x",
            "0/1 Completed",
            "other",
        ),
        ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); done; echo $i; exec nginx", "1/1 Running", "3"),
        ("wget -q -O- http://nobody || echo $? && sleep infinity", "1/1 Running", "wget: bad address 'nobody'\n1"),
        ("f() { echo $1; return 3; }; f yes || exit 4", "0/1 Error", "yes"),
        ("x+=(1 2); echo no", "1/1 Running", ""),
    ] {
        let mut cluster = applied(&pod(script));
        pass(&mut cluster, 30);
        assert_eq!(state(&mut cluster, "web-1"), state_then, "{script}");
        assert_eq!(said(&mut cluster, "kubectl logs web-1"), log, "{script}");
        assert!(cluster.engine.take_crashes().is_empty(), "{script}");
    }
}

/// A script's requests are sent, and only a name that is unknown in the cluster is taken to be on the internet.
#[test]
fn names_of_the_cluster_come_before_those_of_the_internet() {
    let server = "apiVersion: v1\nkind: Namespace\nmetadata: {name: dev}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, \
                  namespace: dev, labels: {app: web}}\nspec: {containers: [{name: main, image: nginx}]}\n---\napiVersion: \
                  v1\nkind: Service\nmetadata: {name: web, namespace: dev}\nspec: {selector: {app: web}, ports: [{port: \
                  80}]}\n---\n";
    let mut cluster =
        applied(&(server.to_owned() + &pod("sleep 20; curl -s web.dev && curl -s there.is.dev && echo both")));
    pass(&mut cluster, 40);
    let log = said(&mut cluster, "kubectl logs web-1");
    assert!(log.contains("dev/web on ") && log.ends_with("both"), "{log}");
}

/// A script that comes to a server listens from then on.
#[test]
fn a_script_may_end_in_a_server() {
    let mut cluster = applied(&pod("until [ -f /ready ]; do sleep 1; done; nginx -g 'daemon off;'"));
    let asks = "kubectl exec web-1 -- curl -sS localhost";
    let refused = said(&mut cluster, asks);
    assert!(refused.contains("Connection refused"), "{refused}");
    said(&mut cluster, "kubectl exec web-1 -- touch /ready");
    pass(&mut cluster, 2);
    assert!(said(&mut cluster, asks).contains("default/web-1 on "));
}

/// A loop that never lets time pass is given up, and holds up no other program.
#[test]
fn a_loop_without_a_pause_comes_to_an_end() {
    for script in
        ["while true; do echo a; done", "while true; do while true; do :; done & done", "x=a; while :; do x=$x$x; done"]
    {
        let mut cluster = applied(&pod(script));
        pass(&mut cluster, 30);
        assert_eq!(state(&mut cluster, "web-1"), "1/1 Running", "{script}");
        assert!(said(&mut cluster, "kubectl logs web-1").len() < 50_000);
        let wakes = cluster
            .engine
            .pending()
            .filter(|event| matches!(&event.what, What::Wake { what, .. } if what.starts_with("process")));
        assert_eq!(wakes.count(), 0, "{script}");
    }
}

/// What was to happen to a process is called off when it has ended.
#[test]
fn a_process_that_has_ended_leaves_no_timer() {
    for (script, within) in [("sleep 70; exit 3", 17..26), ("sleep 170; exit 3", 29..32)] {
        let mut cluster = applied(&pod(script));
        pass(&mut cluster, 50);
        let start = cluster.engine.now();
        assert_eq!(
            said(&mut cluster, "kubectl delete pod web-1"),
            "pod \"web-1\" deleted from default namespace",
            "{script}"
        );
        let took = (cluster.engine.now() - start).as_secs();
        assert!(within.contains(&took), "{script}: {took} s");
        let timers: Vec<_> = cluster
            .engine
            .pending()
            .filter(|event| matches!(&event.what, What::Wake { what, .. } if what.starts_with("process")))
            .collect();
        assert!(timers.is_empty(), "{script}: {timers:?}");
    }
}

/// A shell ignores SIGTERM as process 1, unless it has a trap for it.
#[test]
fn a_trap_ends_a_container_in_time() {
    for (script, within) in [
        ("while true; do sleep 1; done", 29..32),
        ("trap 'exit 0' TERM; while true; do sleep 1; done", 0..3),
        ("trap 'exit 0' TERM; sleep infinity & wait", 0..2),
        ("trap 'exit 0' TERM; sleep 3600", 29..32),
    ] {
        let mut cluster = applied(&pod(script));
        let start = cluster.engine.now();
        assert_eq!(
            said(&mut cluster, "kubectl delete pod web-1"),
            "pod \"web-1\" deleted from default namespace",
            "{script}"
        );
        let took = (cluster.engine.now() - start).as_secs();
        assert!(within.contains(&took), "{script}: {took} s");
        while cluster.engine.tasks().next().is_some() {
            cluster.step();
        }
        assert!(cluster.save().is_some(), "{script}");
    }
}

/// What ends a process ends the wait for it: its own end, but no second deletion that has less patience.
#[test]
fn a_stop_waits_no_longer_than_the_process_is_there() {
    for (script, hurry, after, there) in [("sleep 10; exit 0", false, 14, false), ("sleep 1000", true, 8, true)] {
        let mut cluster = applied(&pod(script));
        let mut lines = vec!["kubectl delete pod web-1 --wait=false".to_owned()];
        if hurry {
            lines.push("kubectl delete pod web-1 --grace-period=1 --wait=false".to_owned());
        }
        cluster.type_lines(lines);
        pass(&mut cluster, after);
        let said = said(&mut cluster, "kubectl get pod web-1 --ignore-not-found");
        assert_eq!(said.contains("Terminating"), there, "{script}: {said}");
    }
}

/// A container says why it ended in a file, or else in the last lines of its log if it is to.
#[test]
fn a_container_leaves_its_last_words() {
    let logs = "image: nginx:1.27\n    terminationMessagePolicy: FallbackToLogsOnError\n";
    let elsewhere = "image: nginx:1.27\n    terminationMessagePath: /tmp/why\n";
    for (script, image, words) in [
        ("echo first; echo boom > /dev/termination-log; exit 7", "", "boom\n"),
        ("echo first; exit 7", "", ""),
        ("echo first; echo second; exit 7", logs, "first\nsecond\n"),
        ("echo first; exit 0", logs, ""),
        ("echo first; echo boom > /dev/termination-log; exit 7", logs, "boom\n"),
        ("echo boom > /tmp/why; exit 0", elsewhere, "boom\n"),
    ] {
        let pod = pod(script);
        let pod = if image.is_empty() { pod } else { pod.replace("image: nginx:1.27\n", image) };
        let mut cluster = applied(&pod);
        let path = "jsonpath='{.status.containerStatuses[0].state.terminated.message}'";
        let message = said(&mut cluster, &format!("kubectl get pod web-1 -o {path}"));
        assert_eq!(message, words.trim_end(), "{script}");
    }
}

/// A rule for an exit code comes before the policy, and the API server lets the container run again.
#[test]
fn a_rule_starts_a_container_again() {
    let rule = "  - name: main\n    restartPolicy: Never\n    restartPolicyRules: [{action: Restart, exitCodes: \
                {operator: In, values: [42]}}]\n";
    let mut cluster = applied(&pod("sleep 1; exit 42").replace("  - name: main\n", rule));
    pass(&mut cluster, 25);
    let restarts =
        said(&mut cluster, "kubectl get pod web-1 -o jsonpath='{.status.containerStatuses[0].restartCount}'");
    assert!(restarts.parse::<u32>().is_ok_and(|restarts| restarts >= 2), "{restarts}");
    assert_eq!(said(&mut cluster, "kubectl get pod web-1 -o jsonpath='{.status.phase}'"), "Running");
}

/// A rule starts all containers again, under any restart policy: where they are, init containers first, with no preStop hook.
#[test]
fn a_rule_starts_all_containers_again() {
    let mut cluster = applied(
        r#"apiVersion: v1
kind: Pod
metadata: {name: worker}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 600
  volumes: [{name: work, emptyDir: {}}]
  initContainers:
  - {name: setup, image: busybox, command: [sh, -c, "echo ready"]}
  - name: watcher
    image: busybox
    restartPolicy: Always
    command: [sh, -c, "[ -e /data/again ] && exec tail -f /dev/null; touch /data/again; sleep 8; exit 88"]
    volumeMounts: [{name: work, mountPath: /data}]
    restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [88]}}]
  containers:
  - {name: done, image: busybox, command: ["true"]}
  - {name: main, image: nginx, lifecycle: {preStop: {exec: {command: [sleep, "500"]}}}}
"#,
    );
    let told = |cluster: &mut Cluster, path: &str| {
        said(cluster, &format!("kubectl get pod worker -o jsonpath='{path}'")).trim().to_owned()
    };
    pass(&mut cluster, 15);
    assert_eq!(state(&mut cluster, "worker"), "2/3 NotReady", "one is done");
    let again = "{range .status.initContainerStatuses[*]}{.name} {.restartCount} {end}{range .status.containerStatuses[*]}\
                 {.name} {.restartCount} {.lastState.terminated.reason} {.lastState.terminated.exitCode} {end}";
    let all = "setup 1 watcher 1 done 1 RestartingAllContainers 137 main 1 RestartingAllContainers 137";
    assert_eq!(told(&mut cluster, again), all);
    let conditions = "{range .status.conditions[*]}{.type}={.status} {end}";
    let over = "PodReadyToStartContainers=True Initialized=True Ready=False ContainersReady=False PodScheduled=True \
                AllContainersRestarting=False";
    assert_eq!(told(&mut cluster, conditions), over);
    let began = told(&mut cluster, "{.status.containerStatuses[1].state.running.startedAt}");
    assert!(began.as_str() < "2026-01-01T00:00:20Z", "neither hook nor grace was waited for: {began}");
    let events = said(&mut cluster, "kubectl get events --field-selector involvedObject.name=worker");
    assert!(events.contains("Killing") && !events.contains("SandboxChanged"), "{events}");
}

/// The address is known when the sandbox stands, before any status tells it.
#[test]
fn a_container_knows_its_address() {
    let env = "    image: nginx:1.27\n    env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]\n";
    let mut cluster = applied(&pod("echo $IP").replace("    image: nginx:1.27\n", env));
    let address = said(&mut cluster, "kubectl get pod web-1 -o jsonpath='{.status.podIP}'");
    assert!(address.starts_with("10.244."), "{address}");
    assert_eq!(said(&mut cluster, "kubectl logs web-1"), address);
}

/// What a script starts beside itself serves from then on.
#[test]
fn a_server_may_run_beside_its_script() {
    let mut cluster = applied(&pod("nginx & for i in 1 2; do echo $i; sleep 1; done; wait"));
    assert!(said(&mut cluster, "kubectl exec web-1 -- curl -sS localhost").contains("default/web-1 on "));
    let log = said(&mut cluster, "kubectl logs web-1");
    let [first, second, request] = log.lines().collect::<Vec<_>>()[..] else { panic!("{log}") };
    assert_eq!((first, second), ("1", "2"));
    assert!(request.starts_with("127.0.0.1 - - [") && request.contains("] \"GET / HTTP/1.1\" 200 "), "{request}");
    assert_eq!(state(&mut cluster, "web-1"), "1/1 Running");
}

/// As with a real containerd: what an image does not have cannot be started, and that is tried again and again.
#[test]
fn what_is_not_in_the_image_does_not_start() {
    let mut cluster = applied(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: typo}\n\
         spec: {containers: [{name: c, image: busybox, command: [sleeep, \"5\"]}]}\n",
    );
    let why = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: \
               unable to start container process: error during container init: exec: \"sleeep\": executable file not found \
               in $PATH: unknown";
    pass(&mut cluster, 9);
    let described = said(&mut cluster, "kubectl describe pod typo");
    for words in [
        &format!("Error: {why}"),
        &format!("Message:      {why}"),
        "Reason:       StartError",
        "Exit Code:    128",
        "Started:      Thu, 01 Jan 1970 00:00:00 +0000",
        "Back-off restarting failed container c in pod typo_default",
    ] {
        assert!(described.contains(words), "{words}: {described}");
    }
    let waits = said(&mut cluster, "kubectl get pod typo --no-headers");
    assert!(waits.contains("0/1   CrashLoopBackOff") || waits.contains("0/1   RunContainerError"), "{waits}");
}

const ENV_FILE: &str = r#"apiVersion: v1
kind: Pod
metadata:
  name: painted
spec:
  restartPolicy: Never
  initContainers:
  - name: writer
    image: busybox:1.36
    command: ['sh', '-c', "echo \"COLOR='blue'\" > /data/env"]
    volumeMounts:
    - {name: data, mountPath: /data}
  containers:
  - name: reader
    image: busybox:1.36
    command: ['sh', '-c', 'echo $COLOR']
    env:
    - name: COLOR
      valueFrom:
        fileKeyRef: {volumeName: data, path: env, key: KEY}
  volumes:
  - {name: data, emptyDir: {}}
"#;

/// An init container writes the file from which another takes a variable. Without the key it cannot be made.
#[test]
fn a_variable_comes_from_a_file() {
    let mut cluster = applied(&ENV_FILE.replace("KEY", "COLOR"));
    assert_eq!(state(&mut cluster, "painted"), "0/1 Completed");
    assert_eq!(said(&mut cluster, "kubectl logs painted -c reader"), "blue");
    let mut cluster = applied(&ENV_FILE.replace("KEY", "SHAPE"));
    let table = scenario::said(&mut cluster, "kubectl get pod painted --no-headers", 120);
    assert!(table.contains("CreateContainerConfigError"), "{table}");
}
