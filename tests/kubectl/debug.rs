//! `kubectl debug`: a container beside those of a Pod that runs, a copy of a Pod, a Pod in the namespaces of a node.

use std::time::Duration;

use cluster::Cluster;
use kubestep_tests::scenario;
use object::reader::Reader;
use object::{Kind, Object};
use serde_json::{Value, json};

const SCENE: &str = "
title: A Pod to look into
story: One Pod runs.
timeline:
- kubectl run web --image=nginx:1.27
- kubectl wait --for=condition=Ready pod/web
";

/// Types a line, lets everything come to rest, and gives what was printed.
fn says(cluster: &mut Cluster, line: &str) -> String {
    scenario::said(cluster, line, 300)
}

fn scene() -> Cluster {
    scenario::settled(SCENE, 300)
}

#[test]
fn a_container_is_added_and_the_others_run_on() {
    let mut cluster = scene();
    let said = says(&mut cluster, "kubectl debug web --image=busybox:1.36 -c look --target=web -- sleep 1000");
    assert!(said.starts_with("Targeting container \"web\". If you don't see processes"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let pod = Reader::get(&cluster.engine.server.api.store, Kind::Pod, "default", "web").expect("it is there");
    let Object::Pod(pod) = pod else { panic!("it is a Pod") };
    let (spec, status) = (pod.spec.as_ref().unwrap(), pod.status.as_ref().unwrap());
    let added = &spec.ephemeral_containers.as_ref().unwrap()[0];
    assert_eq!((added.name.as_str(), added.target_container_name.as_deref()), ("look", Some("web")));
    assert_eq!(added.image_pull_policy.as_deref(), Some("IfNotPresent"), "the server has filled in what was not said");
    assert_eq!((pod.metadata.generation, status.observed_generation), (Some(2), Some(2)));
    let seen = &status.ephemeral_container_statuses.as_ref().unwrap()[0];
    assert!(seen.state.as_ref().is_some_and(|state| state.running.is_some()) && !seen.ready, "{seen:?}");
    assert_eq!(status.container_statuses.as_ref().unwrap()[0].restart_count, 0);
    let lines = [
        ("kubectl exec web -c look -- hostname", "web"),
        ("kubectl get pod web --no-headers -o custom-columns=A:.metadata.name,B:.status.phase", "web   Running"),
        (
            "kubectl get events --field-selector reason=Started -o jsonpath='{.items[*].involvedObject.fieldPath}'",
            "spec.containers{web} spec.ephemeralContainers{look}",
        ),
        ("kubectl logs web --tail=0", "Defaulted container \"web\" out of: web, look (ephem)"),
    ];
    for (line, expected) in lines {
        assert_eq!(says(&mut cluster, line), expected, "{line}");
    }
    assert!(says(&mut cluster, "kubectl describe pod web").contains("\nEphemeral Containers:\n  look:\n"));
}

#[test]
fn a_container_whose_target_has_not_been_made_waits() {
    let mut cluster = scene();
    says(&mut cluster, "kubectl run late --image=nginx:no-such");
    says(&mut cluster, "kubectl debug late --image=busybox:1.36 -c look --target=late -- sleep 1000");
    // Why it waits is told with the next sync, which comes when the other's image may be pulled again.
    says(&mut cluster, "sleep 60");
    let waiting = "kubectl get pod late -o jsonpath='{.status.ephemeralContainerStatuses[*].state.waiting}'";
    let expected = r#"{"message":"unable to find target container late","reason":"CreateContainerConfigError"}"#;
    assert_eq!(says(&mut cluster, waiting), expected);
}

#[test]
fn it_is_never_started_again_and_stays() {
    let mut cluster = scene();
    let said = says(&mut cluster, "kubectl debug web --image=busybox:1.36 -- sh -c 'exit 3'");
    let name = said.strip_prefix("Defaulting debug container name to ").and_then(|name| name.strip_suffix('.'));
    let name = name.unwrap_or_else(|| panic!("{said}")).to_owned();
    assert!(name.starts_with("debugger-") && name.len() == "debugger-".len() + 5, "{name}");
    cluster.settle(Duration::from_secs(3_600));
    let status = "kubectl get pod web -o jsonpath='{.status.ephemeralContainerStatuses[*].state.terminated.exitCode} \
                  {.status.ephemeralContainerStatuses[*].restartCount} {.status.phase}'";
    assert_eq!(says(&mut cluster, status), "3 0 Running");
    let again = says(&mut cluster, &format!("kubectl debug web --image=nginx -c {name}"));
    let refused = format!(
        "The Pod \"web\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers \"{name}\" may not be changed\n"
    );
    assert!(again.starts_with(&refused) && again.contains("\n- \"Image\": \"busybox:1.36\",\n+"), "{again}");
    // A shell whose input is open waits.
    assert_eq!(says(&mut cluster, "kubectl debug web -q --image=busybox:1.36 -c shell -- sleep 1000"), "");
    assert_eq!(says(&mut cluster, "kubectl exec web -c shell -- hostname"), "web");
}

fn pod(cluster: &Cluster, name: &str) -> Value {
    let pod = Reader::get(&cluster.engine.server.api.store, Kind::Pod, "default", name);
    pod.unwrap_or_else(|| panic!("no {name}")).to_json()
}

#[test]
fn a_copy_is_nobodys_and_has_something_changed() {
    let mut cluster = scene();
    let said = says(&mut cluster, "kubectl debug web --copy-to=look --image=busybox:1.36 -c tools -- sleep 1000");
    assert_eq!(said, "");
    let copy = pod(&cluster, "look");
    assert_eq!(copy["metadata"]["labels"]["run"], Value::Null, "no Service sends to it");
    assert_eq!(copy["spec"]["shareProcessNamespace"], true);
    let [web, tools] = [0, 1].map(|i| &copy["spec"]["containers"][i]);
    assert_eq!(
        (&web["name"], &tools["name"], &tools["image"]),
        (&json!("web"), &json!("tools"), &json!("busybox:1.36"))
    );
    assert_eq!(tools["securityContext"]["capabilities"]["add"], json!(["SYS_PTRACE"]));
    assert_eq!(copy["status"]["phase"], "Running");

    let said =
        says(&mut cluster, "kubectl debug web --copy-to=newer --set-image=*=nginx:1.28 --keep-labels --same-node");
    assert_eq!(said, "");
    let (first, copy) = (pod(&cluster, "web"), pod(&cluster, "newer"));
    assert_eq!(copy["spec"]["containers"][0]["image"], "nginx:1.28");
    assert_eq!(copy["metadata"]["labels"]["run"], "web");
    assert_eq!(copy["spec"]["nodeName"], first["spec"]["nodeName"]);

    let said =
        says(&mut cluster, "kubectl debug web --copy-to=other --replace -c web --share-processes=false -- sleep 5");
    assert_eq!(said, "");
    let copy = pod(&cluster, "other");
    assert_eq!(copy["spec"]["containers"][0]["command"], json!(["sleep", "5"]));
    assert_eq!(copy["spec"]["shareProcessNamespace"], false);
    assert!(says(&mut cluster, "kubectl get pod web").starts_with("Error from server (NotFound)"));
}

#[test]
fn a_node_is_looked_into_from_a_pod_in_its_namespaces() {
    let mut cluster = scene();
    let said = says(&mut cluster, "kubectl debug node/node-2 --image=busybox:1.36 -- sleep 1000");
    let name = said.strip_prefix("Creating debugging pod ").and_then(|said| said.split(' ').next());
    let name = name.unwrap_or_else(|| panic!("{said}")).to_owned();
    assert_eq!(said, format!("Creating debugging pod {name} with container debugger on node node-2."));
    assert!(name.starts_with("node-debugger-node-2-"), "{name}");
    let pod = pod(&cluster, &name);
    assert_eq!(pod["spec"]["nodeName"], "node-2");
    assert_eq!(pod["metadata"]["labels"]["app.kubernetes.io/managed-by"], "kubectl-debug");
    assert_eq!(["hostNetwork", "hostPID", "hostIPC"].map(|field| pod["spec"][field] == true), [true; 3]);
    assert_eq!(pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"], "/host");
    assert_eq!(pod["spec"]["volumes"][0]["hostPath"]["path"], "/");
    assert_eq!((&pod["status"]["phase"], &pod["status"]["podIP"]), (&json!("Running"), &pod["status"]["hostIP"]));
    assert_eq!(says(&mut cluster, &format!("kubectl exec {name} -- hostname")), "node-2");

    let said = says(&mut cluster, "kubectl debug node/node-2 -q --image=busybox:1.36 --profile=netadmin -c net");
    assert_eq!(said, "");
    let pods = Reader::list(&cluster.engine.server.api.store, Kind::Pod, "default")
        .iter()
        .map(Object::to_json)
        .collect::<Vec<_>>();
    let net = pods.iter().find(|pod| pod["spec"]["containers"][0]["name"] == "net").expect("it is made");
    assert_eq!(net["spec"]["containers"][0]["securityContext"]["capabilities"]["add"], json!(["NET_ADMIN", "NET_RAW"]));
    assert!(net["spec"]["volumes"].as_array().is_none_or(|volumes| volumes.iter().all(|v| v["hostPath"].is_null())));
}

#[test]
fn what_a_command_prints_is_shown() {
    let mut cluster = scene();
    for (line, said) in [
        ("kubectl debug web -q -it --image=busybox:1.36 -- hostname", "web"),
        ("kubectl debug web -q -i --copy-to=web-2 --image=busybox:1.36 -- sh -c 'hostname; exit 1'", "web-2"),
        ("kubectl debug node/node-2 -q --attach --image=busybox:1.36 -- hostname", "node-2"),
    ] {
        assert_eq!(says(&mut cluster, line), said, "{line}");
    }
}

#[test]
fn what_cannot_be_is_said() {
    let mut cluster = scene();
    let lines = [
        ("kubectl debug web", "error: you must specify --image when not using --copy-to."),
        ("kubectl debug web --copy-to=x", "error: you must specify --image, --set-image or command arguments."),
        (
            "kubectl debug web --copy-to=x -- sh",
            "error: you must specify an existing container or a new image when specifying args.",
        ),
        ("kubectl debug web --copy-to=x -c no -- sh", "error: you must specify image when creating new container"),
        (
            "kubectl debug web --copy-to=x --image=busybox --target=web",
            "error: --target is incompatible with --copy-to. Use --share-processes instead.",
        ),
        ("kubectl debug web --replace --image=busybox", "error: --replace may only be used with --copy-to."),
        ("kubectl debug web --set-image=*=nginx", "error: --set-image may only be used with --copy-to."),
        ("kubectl debug web --image=busybox --image-pull-policy=Now", "error: invalid image pull policy: Now"),
        (
            "kubectl debug web -q --copy-to=web --image=busybox",
            "Error from server (AlreadyExists): pods \"web\" already exists",
        ),
        ("kubectl debug --image=busybox", "error: NAME or filename is required for debug"),
        ("kubectl debug web --image=busybox -t", "error: -i/--stdin is required for containers with -t/--tty=true"),
        ("kubectl debug web --image=busybox -c a --profile=lazy", "error: unknown profile: lazy"),
        (
            "kubectl debug gone --image=busybox -c a --profile=legacy",
            "--profile=legacy is deprecated and planned to be removed in v1.39. It is recommended to specify other profile, for \
             example \"--profile=general\".\nError from server (NotFound): pods \"gone\" not found",
        ),
        (
            "kubectl debug deploy/web --image=busybox",
            "Error from server (NotFound): deployments.apps \"web\" not found",
        ),
        ("kubectl debug gone --image=busybox", "Error from server (NotFound): pods \"gone\" not found"),
        (
            "kubectl debug web --image=busybox -c web",
            "The Pod \"web\" is invalid: spec.ephemeralContainers[0].name: Duplicate value: \"web\"",
        ),
        (
            "kubectl debug web -q --image=busybox -c a --target=db",
            "The Pod \"web\" is invalid: spec.ephemeralContainers[0].targetContainerName: Not found: \"db\"",
        ),
    ];
    for (line, expected) in lines {
        assert_eq!(says(&mut cluster, line), expected, "{line}");
    }
    // Nothing else changes on that way, even if more is sent.
    let labels = "kubectl get pod web -o jsonpath='{.metadata.labels.run}'";
    assert_eq!(says(&mut cluster, labels), "web");
}
