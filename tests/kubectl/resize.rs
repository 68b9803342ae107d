//! `pods/resize`: containers that become larger or smaller while they run.

use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;

const POD: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "demo"}, "spec": {"nodeName": "node-1",
    "containers": [{"name": "app", "image": "nginx:1.27",
        "resources": {"requests": {"cpu": "100m", "memory": "32Mi"}, "limits": {"cpu": "200m", "memory": "64Mi"}},
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"},
            {"resourceName": "memory", "restartPolicy": "RestartContainer"}]}]}}"#;

fn demo(namespace: &str) -> Shell {
    let mut shell = Shell::new(Path::new("."), namespace);
    shell.cluster.kubectl.files = Rc::new([("demo.json".to_owned(), POD.to_owned())].into());
    shell.line("kubectl apply -f demo.json");
    shell.line("kubectl wait --for=condition=Ready pod/demo");
    shell
}

fn resize(shell: &mut Shell, resources: &str) -> String {
    let patch = format!(r#"{{"spec":{{"containers":[{{"name":"app","resources":{resources}}}]}}}}"#);
    shell.line(&format!("kubectl patch pod demo --subresource resize --patch '{patch}'"))
}

/// Conditions that a resize leaves behind or has now, and what the container has.
fn state(shell: &mut Shell) -> String {
    let conditions = r#"{range .status.conditions[?(@.observedGeneration>0)]}{.type}={.reason};{end}"#;
    let all = shell.line(&format!("kubectl get pod demo -o jsonpath='{conditions}'"));
    let resize = all.split(';').filter(|condition| condition.starts_with("PodResize")).collect::<Vec<_>>().join(" ");
    let sizes = "{.status.containerStatuses[0].allocatedResources.cpu} {.status.containerStatuses[0].resources.requests.cpu} \
                 {.status.containerStatuses[0].resources.limits.memory} restarts {.status.containerStatuses[0].restartCount}";
    format!("{resize} {}", shell.line(&format!("kubectl get pod demo -o jsonpath='{sizes}'")).trim_end())
        .trim()
        .to_owned()
}

#[test]
fn cpu_changes_while_the_container_runs_and_memory_with_a_new_one() {
    let mut shell = demo("sizes");
    assert_eq!(state(&mut shell), "100m 100m 64Mi restarts 0");
    assert_eq!(resize(&mut shell, r#"{"requests":{"cpu":"200m"},"limits":{"cpu":"400m"}}"#), "pod/demo patched\n");
    shell.line("sleep 3");
    assert_eq!(state(&mut shell), "200m 200m 64Mi restarts 0");
    resize(&mut shell, r#"{"limits":{"memory":"128Mi"}}"#);
    shell.line("sleep 3");
    assert_eq!(state(&mut shell), "200m 200m 128Mi restarts 1");
    let events = shell.line("kubectl get events --field-selector involvedObject.name=demo");
    for expected in [
        "ResizeStarted     pod/demo   Pod resize started: {\"containers\":[{\"name\":\"app\",\"resources\":{\"limits\":{\"cpu\":\
         \"400m\",\"memory\":\"64Mi\"},\"requests\":{\"cpu\":\"200m\",\"memory\":\"32Mi\"}}}],\"generation\":2}",
        "Killing           pod/demo   Container app resize requires restart",
        "ResizeCompleted   pod/demo   Pod resize completed: {\"containers\":[{\"name\":\"app\",\"resources\":{\"limits\":{\"cpu\":\
         \"400m\",\"memory\":\"128Mi\"},\"requests\":{\"cpu\":\"200m\",\"memory\":\"32Mi\"}}}],\"generation\":3}",
    ] {
        assert!(events.contains(expected), "{expected}\n{events}");
    }
    const TOO_MUCH: &str = "Error from server (Forbidden): pods \"demo\" is forbidden: node didn't have enough allocatable \
                            resources: cpu, requested: 20000, allocatable: 4000\n";
    assert_eq!(resize(&mut shell, r#"{"requests":{"cpu":"20"},"limits":{"cpu":"20"}}"#), TOO_MUCH);
    let other_class = resize(&mut shell, r#"{"requests":{"cpu":"400m","memory":"128Mi"}}"#);
    assert!(other_class.contains("Pod QOS Class may not change as a result of resizing"), "{other_class}");
    assert!(resize(&mut shell, r#"{"limits":{"cpu":null}}"#).contains("resource limits cannot be removed"));
}

#[test]
fn a_pod_waits_until_there_is_room() {
    let mut shell = demo("room");
    let big = r#"{"spec":{"nodeName":"node-1","containers":[{"name":"big","image":"nginx","resources":{"requests":{"cpu":"3"}}}]}}"#;
    shell.line(&format!("kubectl run big --image=nginx --overrides='{big}'"));
    shell.line("kubectl wait --for=condition=Ready pod/big");
    resize(&mut shell, r#"{"requests":{"cpu":"2"},"limits":{"cpu":"3"}}"#);
    shell.line("sleep 3");
    assert_eq!(state(&mut shell), "PodResizePending=Deferred 100m 100m 64Mi restarts 0");
    let events = shell.line("kubectl get events --field-selector involvedObject.name=demo");
    const WHY: &str = "\"generation\":2,\"error\":\"Node didn't have enough resource: cpu, requested: 2000, used: 3000, \
                       capacity: 4000\"}";
    assert!(
        events.contains("Warning   ResizeDeferred   pod/demo   Pod resize Deferred: {") && events.contains(WHY),
        "{events}"
    );
    shell.line("fake-node stop 1");
    shell.line("fake-node start 1");
    shell.line("sleep 20");
    assert_eq!(state(&mut shell), "PodResizePending=Deferred 100m 100m 64Mi restarts 1", "a new kubelet knows it too");
    shell.line("kubectl delete pod big");
    shell.line("sleep 3");
    assert_eq!(state(&mut shell), "2 2 64Mi restarts 1");
}
