//! Kinds that are served in another version too, and what stands at paths that are no object's.

use std::path::Path;
use std::rc::Rc;

use crate::shell::Shell;
use crate::verbs::check;

const V1: &str = "
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 5
  targetCPUUtilizationPercentage: 50
";

const V2: &str = "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: mixed}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 60}}}]
";

#[test]
fn the_old_version_of_an_autoscaler_is_the_same_object() {
    let mut shell = Shell::new(Path::new("."), "old");
    let more = V1.replace("maxReplicas: 5", "maxReplicas: 7").replace("50", "70");
    let typo = V1.replace("targetCPU", "targetGPU");
    let low = V1.replace("maxReplicas: 5", "maxReplicas: 1");
    let files = [("v1.yaml", V1), ("v2.yaml", V2), ("more.yaml", &more), ("typo.yaml", &typo), ("low.yaml", &low)];
    shell.cluster.kubectl.files =
        Rc::new(files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect());
    #[rustfmt::skip]
    let script = [
        ("kubectl apply -f typo.yaml", "Error from server (BadRequest): error when creating \"typo.yaml\": HorizontalPodAutoscaler in version \"v1\" cannot be handled as a HorizontalPodAutoscaler: strict decoding error: unknown field \"spec.targetGPUUtilizationPercentage\""),
        ("kubectl apply -f low.yaml", "The HorizontalPodAutoscaler \"web\" is invalid: …"),
        ("kubectl apply -f v1.yaml", "horizontalpodautoscaler.autoscaling/web created"),
        ("kubectl apply -f v1.yaml", "horizontalpodautoscaler.autoscaling/web unchanged"),
        ("kubectl get hpa web -o jsonpath={.apiVersion}:{.spec.metrics}", "autoscaling/v2:[{\"resource\":{\"name\":\"cpu\",\"target\":{\"averageUtilization\":50,\"type\":\"Utilization\"}},\"type\":\"Resource\"}]"),
        ("kubectl get hpa.v1.autoscaling web -o jsonpath={.apiVersion}:{.spec.targetCPUUtilizationPercentage}", "autoscaling/v1:50"),
        ("kubectl get horizontalpodautoscalers.v1.autoscaling", "NAME   REFERENCE        TARGETS              MINPODS   MAXPODS   REPLICAS   AGE\nweb …"),
        ("kubectl apply -f more.yaml", "horizontalpodautoscaler.autoscaling/web configured"),
        ("kubectl get hpa web -o jsonpath={.spec.maxReplicas}:{.spec.metrics[0].resource.target.averageUtilization}", "7:70"),
        ("kubectl patch hpa.v1.autoscaling web --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/targetCPUUtilizationPercentage\",\"value\":20}]'", "horizontalpodautoscaler.autoscaling/web patched"),
        ("kubectl get hpa web -o jsonpath={.spec.metrics[0].resource.target.averageUtilization}", "20"),
        ("kubectl apply --server-side --field-manager=me --force-conflicts -f v1.yaml", "horizontalpodautoscaler.autoscaling/web serverside-applied"),
        ("kubectl create -f v2.yaml", "horizontalpodautoscaler.autoscaling/mixed created"),
        ("kubectl get hpa.v1.autoscaling mixed -o jsonpath={.spec}{.metadata.annotations.autoscaling\\.alpha\\.kubernetes\\.io/metrics}", "{\"maxReplicas\":5,\"minReplicas\":1,\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}[{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"targetAverageUtilization\":60}}]"),
        ("kubectl label hpa.v1.autoscaling mixed a=b", "horizontalpodautoscaler.autoscaling/mixed labeled"),
        ("kubectl get hpa mixed -o jsonpath={.spec.metrics[*].resource.name}{.metadata.labels}{.metadata.annotations}", "memory{\"a\":\"b\"}"),
        ("kubectl get --raw /apis/autoscaling/v1/namespaces/old/horizontalpodautoscalers/ghost", "Error from server (NotFound): horizontalpodautoscalers.autoscaling \"ghost\" not found"),
        ("kubectl delete -f v1.yaml", "horizontalpodautoscaler.autoscaling \"web\" deleted from old namespace"),
    ];
    check(&mut shell, &script);
    assert!(shell.line("kubectl api-versions").contains("autoscaling/v1\nautoscaling/v2\n"));
}

const EVENT: &str = "
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: told}
eventTime: 2026-01-01T00:00:00.000000Z
action: Tell
reason: Told
note: it is so
type: Normal
reportingController: example.com/teller
reportingInstance: one
regarding: {kind: Pod, name: web, namespace: twice}
";

#[test]
fn events_are_served_by_two_groups() {
    let mut shell = Shell::new(Path::new("."), "twice");
    let loose =
        EVENT.replace("eventTime: 2026-01-01T00:00:00.000000Z", "deprecatedCount: 1").replace("type: Normal", "");
    let later = EVENT.replace("it is so", "it was so");
    let files = [("told.yaml", EVENT), ("loose.yaml", &loose), ("later.yaml", &later)];
    shell.cluster.kubectl.files =
        Rc::new(files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect());
    #[rustfmt::skip]
    let script = [
        ("kubectl api-resources --api-group=events.k8s.io", "NAME     SHORTNAMES   APIVERSION         NAMESPACED   KIND\nevents   ev           events.k8s.io/v1   true         Event"),
        ("kubectl create -f loose.yaml", "The Event \"told\" is invalid: \n* eventTime: Required value\n* type: Invalid value: \"\": has invalid value: \n* count: Invalid value: \"\": needs to be unset"),
        ("kubectl create -f told.yaml", "event.events.k8s.io/told created"),
        ("kubectl replace -f later.yaml", "The Event \"told\" is invalid: message: Invalid value: \"it was so\": field is immutable"),
        ("kubectl get events told -o jsonpath={.apiVersion}:{.message}:{.involvedObject.name}:{.reportingComponent}", "v1:it is so:web:example.com/teller"),
        ("kubectl get events.events.k8s.io told -o jsonpath={.apiVersion}:{.note}:{.regarding.name}:{.reportingController}", "events.k8s.io/v1:it is so:web:example.com/teller"),
        ("kubectl get events.v1.events.k8s.io told -o jsonpath={.deprecatedSource}{.series}{.deprecatedFirstTimestamp}:{.eventTime}", "{}null:2026-01-01T00:00:00.000000Z"),
        ("kubectl get ev.v1.events.k8s.io -o name --field-selector=regarding.name=web", "event.events.k8s.io/told"),
        ("kubectl get events.events.k8s.io --field-selector=involvedObject.name=web", "Error from server (BadRequest): Unable to find \"events.k8s.io/v1, Resource=events\" that match label selector \"\", field selector \"involvedObject.name=web\": field label not supported: involvedObject.name"),
        ("kubectl get events.events.k8s.io", "LAST SEEN   TYPE     REASON   OBJECT    MESSAGE\n…"),
        ("kubectl get events.events.k8s.io --as=ada", "Error from server (Forbidden): events.events.k8s.io is forbidden: User \"ada\" cannot list resource \"events\" in API group \"events.k8s.io\" in the namespace \"twice\""),
        ("kubectl auth can-i create events.events.k8s.io --as=system:kube-scheduler", "yes"),
        ("kubectl explain event.regarding.name --api-version=events.k8s.io/v1", "GROUP:      events.k8s.io…"),
        ("kubectl delete events.events.k8s.io told", "event.events.k8s.io \"told\" deleted from twice namespace"),
    ];
    check(&mut shell, &script);
}

#[test]
fn paths_that_are_no_objects() {
    let mut shell = Shell::new(Path::new("."), "paths");
    #[rustfmt::skip]
    let script = [
        ("kubectl get --raw /healthz", "ok"),
        ("kubectl get --raw /livez", "ok"),
        ("kubectl get --raw /readyz --as=ada", "ok"),
        ("kubectl get --raw /readyz/ping", "ok"),
        ("kubectl get --raw /readyz/pong", "Error from server (NotFound): the server could not find the requested resource"),
        ("kubectl get --raw '/readyz?verbose' --as=ada", "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n…"),
        ("kubectl get --raw '/livez?verbose'", "*livez check passed"),
        ("kubectl get --raw '/livez/etcd' --as=ada", "Error from server (Forbidden): forbidden: User \"ada\" cannot get path \"/livez/etcd\""),
        ("kubectl get --raw /version", "{\n  \"major\": \"1\",\n  \"minor\": \"36\",\n  \"emulationMajor\": \"1\",\n  \"emulationMinor\": \"36\",\n  \"minCompatibilityMajor\": \"1\",\n  \"minCompatibilityMinor\": \"35\",\n  \"gitVersion\": \"v1.36.2\",…"),
        ("kubectl get --raw /api", "{\"kind\":\"APIVersions\",\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"172.18.0.2:6443\"}],\"versions\":[\"v1\"]}"),
        ("kubectl get --raw /apis/autoscaling", "{\"apiVersion\":\"v1\",\"kind\":\"APIGroup\",\"name\":\"autoscaling\",\"preferredVersion\":{\"groupVersion\":\"autoscaling/v2\",\"version\":\"v2\"},\"versions\":[{\"groupVersion\":\"autoscaling/v2\",\"version\":\"v2\"},{\"groupVersion\":\"autoscaling/v1\",\"version\":\"v1\"}]}"),
        ("kubectl get --raw /apis --as=ada", "{\"apiVersion\":\"v1\",\"groups\":[{\"name\":…"),
        ("kubectl get --raw /api/v1", "{\"apiVersion\":\"v1\",\"groupVersion\":\"v1\",\"kind\":\"APIResourceList\",\"resources\":[{\"kind\":\"Binding\",\"name\":\"bindings\",\"namespaced\":true,\"singularName\":\"binding\",\"verbs\":[\"create\"]},{\"kind\":\"ComponentStatus\",\"name\":\"componentstatuses\",\"namespaced\":false,\"shortNames\":[\"cs\"],\"singularName\":\"componentstatus\",\"verbs\":[\"get\",\"list\"]},{\"kind\":\"ConfigMap\",\"name\":\"configmaps\",\"namespaced\":true,\"shortNames\":[\"cm\"],\"singularName\":\"configmap\",\"storageVersionHash\":\"qFsyl6wFWjQ=\",\"verbs\":[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]},…"),
        ("kubectl get --raw /api/v1/namespaces/paths", "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{…"),
        ("kubectl get --raw /foo", "Error from server (NotFound): the server could not find the requested resource"),
        ("kubectl get --raw /foo --as=ada", "Error from server (Forbidden): forbidden: User \"ada\" cannot get path \"/foo\""),
        ("kubectl get --raw /apis/nosuch/v1", "Error from server (NotFound): the server could not find the requested resource"),
        ("kubectl auth can-i get /healthz --as=ada", "yes"),
        ("kubectl auth can-i get /logs/ --as=ada", "no"),
        ("kubectl auth can-i get /logs/", "yes"),
    ];
    check(&mut shell, &script);
}
