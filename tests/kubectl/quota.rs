//! Quotas over Pods that change after they were made.

use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;

const POD: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "NAME"}, "spec": {"containers": [
    {"name": "app", "image": "nginx:1.27", "resources": {"requests": {"cpu": "500m"}}}]}}"#;

fn with(namespace: &str, quotas: &[&str], pods: &[&str]) -> Shell {
    let mut shell = Shell::new(Path::new("."), namespace);
    quotas.iter().for_each(|quota| _ = shell.line(&format!("kubectl create quota {quota}")));
    shell.line("sleep 1");
    for name in pods {
        shell.cluster.kubectl.files = Rc::new([("pod.json".to_owned(), POD.replace("NAME", name))].into());
        shell.line("kubectl apply -f pod.json");
        shell.line(&format!("kubectl wait --for=condition=Ready pod/{name}"));
    }
    shell
}

fn used(shell: &mut Shell, quota: &str, resource: &str) -> String {
    shell.line(&format!("kubectl get quota {quota} -o jsonpath='{{.status.used.{resource}}}'")).trim().to_owned()
}

/// The API server charges for a resize up; that the kubelet has seen one down through its controller hears.
#[test]
fn what_a_resize_gives_back_the_quota_gets_back() {
    let mut shell = with("resized", &["few --hard=requests.cpu=2"], &["web"]);
    let resize = |shell: &mut Shell, cpu: &str| {
        let patch =
            format!(r#"{{"spec":{{"containers":[{{"name":"app","resources":{{"requests":{{"cpu":"{cpu}"}}}}}}]}}}}"#);
        shell.line(&format!("kubectl patch pod web --subresource resize --patch '{patch}'"));
        shell.line("sleep 3");
        used(shell, "few", "requests\\.cpu")
    };
    assert_eq!(used(&mut shell, "few", "requests\\.cpu"), "500m");
    assert_eq!(resize(&mut shell, "800m"), "800m");
    assert_eq!(resize(&mut shell, "200m"), "200m");
}

/// A running Pod that is given a deadline comes under another quota: if that one can have it.
#[test]
fn a_deadline_moves_a_pod_from_one_quota_to_another() {
    let quotas = ["term --hard=pods=1 --scopes=Terminating", "rest --hard=pods=5 --scopes=NotTerminating"];
    let mut shell = with("scoped", &quotas, &["a", "b"]);
    let end = |name: &str| format!(r#"kubectl patch pod {name} -p '{{"spec":{{"activeDeadlineSeconds":600}}}}'"#);
    assert_eq!((used(&mut shell, "term", "pods"), used(&mut shell, "rest", "pods")), ("0".into(), "2".into()));
    assert_eq!(shell.line(&end("a")), "pod/a patched\n");
    assert_eq!(used(&mut shell, "term", "pods"), "1", "it is charged before it is written");
    shell.line("sleep 1");
    assert_eq!((used(&mut shell, "term", "pods"), used(&mut shell, "rest", "pods")), ("1".into(), "1".into()));
    const EXCEEDED: &str = "Error from server (Forbidden): pods \"b\" is forbidden: exceeded quota: term, requested: pods=1, \
                            used: pods=1, limited: pods=1\n";
    assert_eq!(shell.line(&end("b")), EXCEEDED);
}

/// A volume that failed to grow may be given more than its claim asks for by now; the client that writes that is charged for it.
#[test]
fn what_a_claim_is_being_given_is_charged() {
    let mut shell = with("claims", &["few --hard=requests.storage=3Gi"], &[]);
    let claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: none, \
                 accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}";
    shell.cluster.kubectl.files = Rc::new([("claim.yaml".to_owned(), claim.to_owned())].into());
    shell.line("kubectl apply -f claim.yaml");
    let give = |size: &str| {
        format!(
            r#"kubectl patch pvc data --subresource=status -p '{{"status":{{"allocatedResources":{{"storage":"{size}"}}}}}}'"#
        )
    };
    assert_eq!(shell.line(&give("2Gi")), "persistentvolumeclaim/data patched\n");
    assert_eq!(used(&mut shell, "few", "requests\\.storage"), "2Gi");
    const EXCEEDED: &str = "Error from server (Forbidden): persistentvolumeclaims \"data\" is forbidden: exceeded quota: few, \
                            requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi\n";
    assert_eq!(shell.line(&give("4Gi")), EXCEEDED);
}
