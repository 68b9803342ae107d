//! An API that another server is to answer: what is said of it, and to those who ask for it.

use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;

const API: &str = r#"{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.agg.example.com"},
    "spec": {"group": "agg.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
        "insecureSkipTLSVerify": true, "service": {"namespace": "agg", "name": "agg"}}}"#;

#[test]
fn a_server_that_cannot_be_asked_is_said_to_be_unavailable() {
    let mut shell = Shell::new(Path::new("."), "agg");
    shell.cluster.kubectl.files = Rc::new([("api.json".to_owned(), API.to_owned())].into());
    assert_eq!(
        shell.line("kubectl apply -f api.json"),
        "apiservice.apiregistration.k8s.io/v1.agg.example.com created\n"
    );
    shell.line("sleep 1");
    let said = |shell: &mut Shell| {
        const PATH: &str =
            "jsonpath='{.status.conditions[0].status} {.status.conditions[0].reason}: {.status.conditions[0].message}'";
        shell.line(&format!("kubectl get apiservice v1.agg.example.com -o {PATH}"))
    };
    assert_eq!(said(&mut shell), "False ServiceNotFound: service/agg in \"agg\" is not present");
    let unavailable = "Error from server (ServiceUnavailable): the server is currently unable to handle the request\n";
    assert_eq!(shell.line("kubectl get --raw /apis/agg.example.com/v1/things"), unavailable);
    shell.line("kubectl create service clusterip agg --tcp=80:80");
    shell.line("sleep 1");
    assert_eq!(said(&mut shell), "False ServicePortError: service/agg in \"agg\" is not listening on port 443");
    shell.line("kubectl delete service agg");
    shell.line("kubectl create service clusterip agg --tcp=443:80");
    shell.line("sleep 2");
    let none =
        "False MissingEndpoints: endpointslices for service/agg in \"agg\" have no addresses with port name \"443-80\"";
    assert_eq!(said(&mut shell), none);
    shell.line("kubectl create deployment agg --image=nginx:1.27");
    shell.line("kubectl wait --for=condition=Available deployment/agg");
    shell.line("sleep 1");
    assert!(
        said(&mut shell).starts_with("False FailedDiscoveryCheck: failing or missing response from https://10.96.")
    );
    let row = shell.line("kubectl get apiservice v1.agg.example.com --no-headers");
    assert!(row.contains("agg/agg   False (FailedDiscoveryCheck)"), "{row}");
    shell.line("kubectl delete apiservice v1.agg.example.com");
    assert!(!shell.line("kubectl get --raw /apis/agg.example.com/v1/things").contains("ServiceUnavailable"));
}

#[test]
fn a_class_of_attributes_stays_while_a_claim_names_it() {
    let mut shell = Shell::new(Path::new("."), "classes");
    let class = r#"{"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": "fast"},
        "driverName": "csi.example.com", "parameters": {"iops": "100"}}"#;
    let claim = r#"{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"accessModes":
        ["ReadWriteOnce"], "storageClassName": "none", "volumeAttributesClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}"#;
    let files = [("class.json".to_owned(), class.to_owned()), ("claim.json".to_owned(), claim.to_owned())];
    shell.cluster.kubectl.files = Rc::new(files.into());
    shell.line("kubectl apply -f class.json -f claim.json");
    let finalizers = "kubectl get vac fast -o jsonpath='{.metadata.finalizers[*]}'";
    assert_eq!(shell.line(finalizers), "kubernetes.io/vac-protection");
    shell.line("kubectl delete vac fast --wait=false");
    shell.line("sleep 2");
    assert_eq!(shell.line(finalizers), "kubernetes.io/vac-protection", "a claim names it");
    shell.line("kubectl delete pvc data");
    shell.line("sleep 2");
    assert!(shell.line("kubectl get vac").contains("No resources found"));
}
