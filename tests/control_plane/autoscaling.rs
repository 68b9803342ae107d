//! The horizontal pod autoscaler: what it does in time, what it says when it cannot, and what is refused.

use cluster::Cluster;
use cluster::scenario::Scenario;
use engine::{Note, Step};
use kubestep_tests::scenario;
use object::{Kind, Object};

/// Runs a scenario to its end. Gives what was printed, and every number of replicas that the Deployment `web` was asked for,
/// with the second at which it was.
fn run(scenario: &Scenario) -> (String, Vec<(u64, i32)>) {
    let mut cluster = bugs::cluster(scenario);
    let (start, mut asked) = (cluster.engine.now(), Vec::new());
    scenario::run_checked(&mut cluster, |_, step| {
        for replicas in replicas_of_web(step) {
            if asked.last().is_none_or(|(_, last)| *last != replicas) {
                asked.push(((step.time - start).as_secs(), replicas));
            }
        }
    });
    assert!(cluster.engine.take_crashes().is_empty());
    (cluster.kubectl.printed_since(0), asked)
}

fn replicas_of_web(step: &Step) -> Vec<i32> {
    let stored = step.notes.iter().filter_map(|note| match note {
        Note::Stored { new: Some(Object::Deployment(web)), .. } => web.spec.as_ref()?.replicas,
        _ => None,
    });
    stored.collect()
}

fn scenario(timeline: &str) -> Scenario {
    let web = include_str!("../../scenarios/autoscale.yaml");
    let begin = web.find("files:").unwrap()..web.find("timeline:").unwrap();
    scenario::parsed(&format!("title: t\nnodes: 2\n{}timeline:\n{timeline}", &web[begin]))
}

#[track_caller]
fn says(timeline: &str, parts: &[&str]) {
    scenario::has(&run(&scenario(timeline)).0, parts);
}

#[test]
fn pods_follow_the_load() {
    let shipped = Scenario::find("autoscale").expect("it is shipped");
    for seed in 0..20 {
        let (said, asked) = run(&Scenario { seed, ..shipped.clone() });
        let replicas: Vec<i32> = asked.iter().map(|(_, replicas)| *replicas).collect();
        assert_eq!(replicas, [2, 4, 6, 2], "seed {seed}:\n{said}");
        let [_, (up, _), (again, _), (down, _)] = asked[..] else { unreachable!("four were compared") };
        assert_eq!(again - up, 15, "seed {seed}: a look every fifteen seconds");
        // The last high recommendation is a little older than the load's fall, and is remembered for five minutes.
        assert!((385..=410).contains(&(down - again)), "seed {seed}: {asked:?}");
    }
}

#[test]
fn bounds_hold_when_somebody_moves_them() {
    let (said, asked) = run(&scenario(
        "  - kubectl apply -f web.yaml
  - busy app=web cpu=400m
  - kubectl autoscale deployment web --min=2 --max=5 --cpu=50%
  - sleep 90
  - kubectl patch hpa web -p '{\"spec\":{\"maxReplicas\":3}}'
  - sleep 20
  - kubectl scale deployment web --replicas=1
  - sleep 20
  - kubectl scale deployment web --replicas=0
  - sleep 40
  - kubectl get hpa web -o jsonpath='{.status.conditions[?(@.type==\"ScalingActive\")].reason}'
  - kubectl get events --field-selector involvedObject.name=web
",
    ));
    let replicas: Vec<i32> = asked.iter().map(|(_, replicas)| *replicas).collect();
    assert_eq!(replicas, [2, 4, 5, 3, 1, 2, 0], "{said}");
    let above = "New size: 3; reason: Current number of replicas above Spec.MaxReplicas";
    let below = "New size: 2; reason: Current number of replicas below Spec.MinReplicas";
    scenario::has(&said, &["ScalingDisabled", above, below]);
}

/// The Deployment's own controller may write between the two.
#[test]
fn a_scale_made_from_an_old_version_is_written_again() {
    let events = |times: usize| {
        let said = run(&scenario(&format!(
            "  - kubectl apply -f web.yaml
  - busy app=web cpu=400m
  - fail horizontal-pod-autoscaler update deployments with 409 times {times}
  - kubectl autoscale deployment web --min=3 --max=5 --cpu=50%
  - sleep 20
  - kubectl get events --field-selector involvedObject.name=web
"
        )));
        ["FailedRescale", "SuccessfulRescale"].map(|reason| said.0.contains(reason))
    };
    assert_eq!(events(4), [false, true]);
    assert_eq!(events(5), [true, false]);
}

#[test]
fn a_cluster_without_metrics_says_so() {
    says(
        "  - kubectl apply -f web.yaml
  - kubectl top pods
  - kubectl top nodes
  - kubectl autoscale deployment web --min=2 --max=5 --cpu-percent=50
  - sleep 40
  - kubectl get hpa
  - kubectl describe hpa web
",
        &[
            "error: Metrics API not available",
            "Flag --cpu-percent has been deprecated",
            "web    Deployment/web   cpu: <unknown>/50%   2         5         2          40s",
            "ScalingActive  False   FailedGetResourceMetric  the HPA was unable to compute the replica count: failed to get \
             cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the \
             server could not find the requested resource (get pods.metrics.k8s.io)",
            "Warning  FailedComputeMetricsReplicas",
            "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: failed to get cpu \
             utilization",
        ],
    );
}

#[test]
fn that_nothing_could_be_computed_is_told_once_the_status_says_so() {
    let mut cluster = bugs::cluster(&scenario(
        "  - kubectl apply -f web.yaml
  - kubectl autoscale deployment web --min=2 --max=5 --cpu=50%
  - sleep 20
",
    ));
    let (mut written, mut told) = (None, None);
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        for note in &step.notes {
            match note {
                Note::Stored { new: Some(Object::HorizontalPodAutoscaler(hpa)), .. }
                    if hpa.status.as_ref().is_some_and(|status| status.conditions.is_some()) =>
                {
                    written.get_or_insert(step.time.timestamp().as_nanosecond());
                }
                Note::Stored { new: Some(Object::Event(event)), .. }
                    if event.reason.as_deref() == Some("FailedComputeMetricsReplicas") =>
                {
                    // The name of an Event has the time at which it was told.
                    let name = event.metadata.name.as_deref().unwrap();
                    told.get_or_insert(i128::from_str_radix(name.rsplit('.').next().unwrap(), 16).unwrap());
                }
                _ => {}
            }
        }
    }
    assert!(written.is_some() && written < told, "written {written:?}, told {told:?}");
}

#[test]
fn what_pods_and_nodes_use_is_shown() {
    says(
        "  - kubectl apply -f web.yaml
  - busy app=web cpu=250m memory=100Mi
  - sleep 5
  - kubectl top pods
  - sleep 40
  - kubectl top pods --containers
  - kubectl get --raw /apis/metrics.k8s.io/v1beta1
  - kubectl top nodes
  - kubectl top pod nobody
  - kubectl top pods -n kube-system
  - kubectl top pods --sort-by=name
  - kubectl top pods --sum
  - kubectl top pods -A -l app=nobody
  - kubectl top pod nobody -l app=web
",
        &[
            "\"groupVersion\":\"metrics.k8s.io/v1beta1\",\"kind\":\"APIResourceList\",\"resources\":[{\"kind\":\"NodeMetrics\",\"name\":\"nodes\"",
            "error: metrics not available yet",
            "POD                    NAME    CPU(cores)   MEMORY(bytes)   \n",
            "   nginx   250m         100Mi           \n",
            "NAME     CPU(cores)   CPU(%)   MEMORY(bytes)   MEMORY(%)   \n",
            "node-1   250m         6%       100Mi           1%          \n",
            "Error from server (NotFound): podmetrics.metrics.k8s.io \"default/nobody\" not found",
            "error: --sort-by accepts only cpu or memory",
            "      ________     ________        \n                       ",
            "No resources found\n",
            "error: only one of NAME or selector can be provided",
        ],
    );
}

/// What the controller says of an autoscaler with this spec, after it has looked.
fn conditions_of(spec: &str) -> String {
    let apply = "apiVersion: autoscaling/v2\\nkind: HorizontalPodAutoscaler\\nmetadata: {name: a}\\nspec: ";
    let mut scenario = scenario(
        "  - kubectl apply -f web.yaml
  - busy app=web cpu=100m memory=64Mi
  - sleep 40
  - kubectl apply -f hpa.yaml
  - sleep 20
  - kubectl describe hpa a
",
    );
    scenario.files.insert("hpa.yaml".to_owned(), apply.replace("\\n", "\n") + spec + "\n");
    run(&scenario).0
}

#[test]
fn what_cannot_be_measured_gets_its_condition() {
    const TARGET: &str =
        "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 4";
    #[rustfmt::skip]
    let cases: &[(&str, &str, &[&str])] = &[
        (TARGET, "{type: Pods, pods: {metric: {name: hits}, target: {type: AverageValue, averageValue: 10}}}", &[
            "ScalingActive  False   FailedGetPodsMetric  the HPA was unable to compute the replica count: unable to get metric \
             hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
            "\"hits\" on pods:  <unknown> / 10",
        ]),
        (TARGET, "{type: Object, object: {metric: {name: hits}, describedObject: {kind: Service, name: s}, target: {type: Value, value: 10}}}", &[
            "ScalingActive  False   FailedGetObjectMetric", "\"hits\" on Service/s (target value):  <unknown> / 10",
        ]),
        (TARGET, "{type: External, external: {metric: {name: hits}, target: {type: AverageValue, averageValue: 10}}}", &[
            "ScalingActive  False   FailedGetExternalMetric", "\"hits\" (target average value):  <unknown> / 10",
            "unable to get external metric default/hits/nil: unable to fetch metrics from external metrics API",
        ]),
        (TARGET, "{type: Resource, resource: {name: nvidia.com/gpu, target: {type: Utilization, averageUtilization: 50}}}", &[
            "FailedGetResourceMetric", "did not receive metrics for targeted pods (pods might be unready)",
        ]),
        (TARGET, "{type: ContainerResource, containerResource: {name: cpu, container: other, target: {type: Utilization, averageUtilization: 50}}}", &[
            "FailedGetContainerResourceMetric", "failed to get container metrics: container other not present in metrics for pod default/web-",
        ]),
        (TARGET, "{type: ContainerResource, containerResource: {name: cpu, container: nginx, target: {type: Utilization, averageUtilization: 50}}}", &[
            "ScalingActive   True    ValidMetricFound", "resource cpu of container \"nginx\" on pods  (as a percentage of request):  50% (100m) / 50%",
        ]),
        (TARGET, "{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 64Mi}}}", &[
            "resource memory on pods:", "64Mi / 64Mi", "ReadyForNewScale",
        ]),
        ("scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: api}, maxReplicas: 4", "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}", &[
            "AbleToScale  False   FailedGetScale  the HPA controller was unable to get the target's current scale: deployments/scale.apps \"api\" not found",
        ]),
        ("scaleTargetRef: {apiVersion: apps/v1, kind: Website, name: web}, maxReplicas: 4", "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}", &[
            "FailedGetScale  the HPA controller was unable to get the target's current scale: no matches for kind \"Website\" in group \"apps\"",
        ]),
        ("scaleTargetRef: {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, name: kubernetes}, maxReplicas: 4", "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}", &[
            "FailedGetScale", "the server could not find the requested resource",
        ]),
    ];
    for (target, metric, parts) in cases {
        scenario::has(&conditions_of(&format!("{{{target}, metrics: [{metric}]}}")), parts);
    }
}

/// Every kind with a scale can be scaled, also one that a user has defined.
#[test]
fn a_custom_resource_is_scaled() {
    let mut scenario = scenario(
        "  - kubectl apply -f web.yaml
  - busy app=web cpu=400m
  - kubectl apply -f farm.yaml
  - sleep 5
  - kubectl apply -f my.yaml
  - kubectl patch farm my --subresource=status --type=merge -p '{\"status\":{\"replicas\":2,\"selector\":\"app=web\"}}'
  - sleep 30
  - kubectl apply -f hpa.yaml
  - sleep 20
  - kubectl get farm my -o jsonpath='asked for {.spec.replicas}'
  - kubectl get hpa
  - kubectl describe hpa a
",
    );
    const FARM: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: farms.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: farms, singular: farm, kind: Farm}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {replicas: {type: integer}}}
            status: {type: object, properties: {replicas: {type: integer}, selector: {type: string}}}
      subresources:
        status: {}
        scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
";
    const HPA: &str = "
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
spec:
  scaleTargetRef: {apiVersion: example.com/v1, kind: Farm, name: my}
  minReplicas: 2
  maxReplicas: 9
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 100}}}]
";
    const MY: &str = "{apiVersion: example.com/v1, kind: Farm, metadata: {name: my}, spec: {replicas: 2}}";
    for (name, text) in [("farm.yaml", FARM), ("hpa.yaml", HPA), ("my.yaml", MY)] {
        scenario.files.insert(name.to_owned(), text.to_owned());
    }
    let (said, _) = run(&scenario);
    scenario::has(
        &said,
        &["asked for 4", "a Farm/my cpu: 200%/100% 2 9 2", "New size: 4; reason: cpu resource utilization"],
    );
}

#[test]
fn two_autoscalers_of_one_workload_both_stop() {
    says(
        "  - kubectl apply -f web.yaml
  - busy app=web cpu=400m
  - sleep 30
  - kubectl autoscale deployment web --max=5 --cpu=50% --name=a
  - kubectl autoscale deployment web --max=9 --cpu=50% --name=b
  - sleep 40
  - kubectl describe hpa b
",
        &["AmbiguousSelector", "pods by selector app=web are controlled by multiple HPAs: [default/a default/b]"],
    );
}

#[test]
fn of_two_autoscalers_one_goes_on_when_the_other_is_deleted() {
    says(
        "  - kubectl apply -f web.yaml
  - busy app=web cpu=400m
  - sleep 30
  - kubectl autoscale deployment web --max=5 --cpu=50% --name=a
  - sleep 1
  - kubectl autoscale deployment web --max=9 --cpu=50% --name=b
  - sleep 40
  - kubectl delete hpa b
  - sleep 6
  - kubectl describe hpa a
",
        // At its next look, although that comes before the other's would have come.
        &["ScalingActive True ValidMetricFound"],
    );
}

#[test]
fn what_kubectl_refuses() {
    says(
        "  - kubectl apply -f web.yaml
  - kubectl autoscale deployment web
  - kubectl autoscale deployment web --max=0
  - kubectl autoscale deployment web --min=5 --max=2
  - kubectl autoscale node node-1 --max=2
  - kubectl autoscale deployment web --max=2 --cpu=much
  - kubectl autoscale deployment nobody --max=2
  - kubectl autoscale deployment web --max=2 --memory=100Mi --dry-run=client
  - kubectl autoscale deployment web --max=2
  - kubectl autoscale deployment web --max=2
  - kubectl get hpa web -o jsonpath='{.spec.metrics[0].resource.target.averageUtilization} {.spec.minReplicas}'
",
        &[
            "error: required flag(s) \"max\" not set",
            "error: --max=MAXPODS is required and must be at least 1, max: 0",
            "error: --max=MAXPODS must be larger or equal to --min=MINPODS, max: 2, min: 5",
            "error: cannot autoscale a Node: could not find scale subresource for /v1, Resource=nodes in discovery information",
            "Error from server (NotFound): deployments.apps \"nobody\" not found",
            "horizontalpodautoscaler.autoscaling/web autoscaled (dry run)",
            "Error from server (AlreadyExists): horizontalpodautoscalers.autoscaling \"web\" already exists",
            "80 1",
        ],
    );
}

/// The load is a step like any other: a run that is brought back to before it goes on as it did the first time.
#[test]
fn a_load_is_a_step() {
    let scenario = Scenario::find("autoscale").expect("it is shipped");
    let mut cluster = bugs::cluster(&scenario);
    let (mut last, mut saved, mut loads) = (None, None, 0);
    let look = |cluster: &mut Cluster| cluster.read_now(&["top".to_owned(), "pods".to_owned()]);
    let mut seen = Vec::new();
    while !cluster.is_quiet() {
        last = cluster.save().or(last);
        let Some(step) = cluster.step() else { break };
        let is_load = |note: &Note| matches!(note, Note::Text { topic: "fault", text } if text.contains("app=web"));
        if step.notes.iter().any(is_load) {
            loads += 1;
            saved = if loads == 2 { last.take() } else { saved };
            assert!(step.event.cause.0 > 0, "somebody typed it");
        }
        if step.id.0.is_multiple_of(50) {
            seen.push((step.id, look(&mut cluster)));
        }
    }
    assert_eq!(loads, 3);
    assert!(seen.iter().any(|(_, text)| text.contains("150m")) && seen.iter().any(|(_, text)| text.contains("16m")));
    let saved = saved.expect("a world before the second load");
    cluster.restore(&saved);
    let before = look(&mut cluster);
    assert!(before.contains("100m") && !before.contains("300m"), "{before}");
    let mut again = Vec::new();
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        if step.id.0.is_multiple_of(50) {
            again.push((step.id, look(&mut cluster)));
        }
    }
    assert_eq!(again, seen[seen.len() - again.len()..]);
    assert!(!again.is_empty());
    assert_eq!(Kind::from_word("hpa"), Some(Kind::HorizontalPodAutoscaler));
}

/// What `top` says a container takes is what the kernel of its machine goes by.
#[test]
fn who_is_seen_to_take_too_much_is_killed() {
    let scenario = scenario::parsed(
        "title: t
nodes: 1
metrics: true
files:
  pods.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: modest}
    spec:
      containers:
      - {name: c, image: polinux/stress, command: [stress], args: [--vm, '1', --vm-bytes, 150M],
         resources: {limits: {memory: 200Mi}}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: web, labels: {app: web}}
    spec:
      containers:
      - {name: nginx, image: 'nginx:1.27', resources: {limits: {memory: 100Mi}}}
      - {name: other, image: 'nginxinc/nginx-unprivileged:1.27', resources: {limits: {memory: 100Mi}}}
timeline:
  - kubectl apply -f pods.yaml
  - busy app=web memory=80Mi
  - busy app=web memory=30Mi container=other
  - sleep 60
  - kubectl top pods --containers
  - busy app=web memory=120Mi
  - sleep 10
  - &look kubectl get pod web -o jsonpath='{range .status.containerStatuses[*]}{.name}={.lastState.terminated.reason},{.restartCount}{end}'
  - sleep 30
  - *look
  - kubectl top pod web
  - busy app=web memory=50Mi
  - sleep 90
  - kubectl top pod web
",
    );
    let (said, _) = run(&scenario);
    scenario::has(
        &said,
        &[
            "modest   c       0m           150Mi           \nweb      nginx   0m           80Mi            \n\
             web      other   0m           30Mi            \n",
            "nginx=OOMKilled,1other=,0\n",
            "nginx=OOMKilled,3other=,0\n",
            "web    0m           80Mi            \n",
        ],
    );
}
