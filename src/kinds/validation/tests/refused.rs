//! `refused.yaml`: one bad object each, and the whole message of the 422.

use serde_json::{Value, json};

use object::Kind;

use super::wrong;

const SENTENCES: &[(&str, &str)] = &[
    (
        "<label>",
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
         with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ),
    (
        "<subdomain>",
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ),
    (
        "<qualified>",
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ),
    (
        "<value>",
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
         and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
         validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ),
    (
        "<percent>",
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for \
         validation is '[0-9]+%')",
    ),
    ("<port>", "must be between 1 and 65535, inclusive"),
];

/// One entry: what is put in, and the problems as the table has them.
fn entries(section: &str) -> Vec<(Value, Vec<String>)> {
    let table: Value = serde_yaml::from_str(include_str!("refused.yaml")).unwrap();
    let list = table[section].as_array().unwrap_or_else(|| panic!("no section {section}"));
    let entry = |entry: &Value| {
        let mut parts = entry.as_array().unwrap().iter();
        let put = parts.next().unwrap().clone();
        (put, parts.map(|text| text.as_str().unwrap().to_owned()).collect())
    };
    list.iter().map(entry).collect()
}

/// The message of a table's problems, with `at` before each path, and `list` before those that begin with `^`.
fn message(problems: &[String], at: &str, list: &str) -> String {
    let whole = |problem: &String| match (problem.strip_prefix('^'), problem.starts_with('[')) {
        (Some(rest), _) => format!("{list}{rest}"),
        (None, true) => problem.replace('@', at),
        (None, false) => format!("{at}{problem}"),
    };
    let problems: Vec<String> = problems.iter().map(whole).collect();
    let mut text = if let [one] = problems.as_slice() { one.clone() } else { format!("[{}]", problems.join(", ")) };
    for (mark, sentence) in SENTENCES {
        text = text.replace(mark, sentence);
    }
    text
}

fn with(mut sound: Value, more: &Value) -> Value {
    sound.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    sound
}

fn check(section: &str, kind: Kind, at: &str, list: &str, object: impl Fn(&Value) -> Value) {
    for (put, problems) in entries(section) {
        assert_eq!(wrong(kind, object(&put)), message(&problems, at, list), "{section}: {put}");
    }
}

fn pod(more: &Value) -> Value {
    let spec = json!({"serviceAccountName": "default", "containers": [{"name": "a", "image": "i:1"}]});
    json!({"metadata": {"name": "x", "namespace": "n", "labels": {"a": "b"}}, "spec": with(spec, more)})
}

#[test]
fn containers_and_volumes() {
    let container = |more: &Value| json!({"containers": [with(json!({"name": "a", "image": "i:1"}), more)]});
    check("container", Kind::Pod, "spec.containers[0].", "", |more| pod(&container(more)));
    let (at, list) = ("spec.containers[0].volumeMounts[0].", "spec.containers[0].volumeMounts.");
    check("mount", Kind::Pod, at, list, |mount| {
        let mut spec = container(&json!({"volumeMounts": [with(json!({"name": "v", "mountPath": ""}), mount)]}));
        spec["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
        pod(&spec)
    });
    check("volume", Kind::Pod, "spec.volumes[0]", "", |volume| {
        pod(&json!({"volumes": [with(json!({"name": "v"}), volume)]}))
    });
}

#[test]
fn pods() {
    check("pod", Kind::Pod, "spec.", "", pod);
}

#[test]
fn where_pods_may_run() {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let at = format!("spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].");
    check("nodeTerm", Kind::Pod, &at, "", |term| {
        pod(&json!({"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}}))
    });
    let list = format!("spec.affinity.podAffinity.{REQUIRED}");
    check("podTerm", Kind::Pod, &format!("{list}[0]."), &list, |term| {
        pod(&json!({"affinity": {"podAffinity": {REQUIRED: [with(json!({"topologyKey": "k"}), term)]}}}))
    });
    let sound = json!({"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule"});
    let list = "spec.topologySpreadConstraints";
    check("spread", Kind::Pod, &format!("{list}[0]."), list, |more| {
        pod(&json!({"topologySpreadConstraints": [with(sound.clone(), more)]}))
    });
    let twice = json!({"topologySpreadConstraints": [sound, sound]});
    assert_eq!(
        wrong(Kind::Pod, pod(&twice)),
        "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{k, DoNotSchedule}\""
    );
}

#[test]
fn other_kinds() {
    let named = |spec: Value| json!({"metadata": {"name": "x", "namespace": "n"}, "spec": spec});
    let deployment = json!({
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "i:1"}]}},
    });
    check("deployment", Kind::Deployment, "", "", |more| named(with(deployment.clone(), more)));
    let template = &deployment["template"];
    let controller = json!({"selector": {"app": "web"}, "template": template});
    check("replicationController", Kind::ReplicationController, "", "", |more| named(with(controller.clone(), more)));
    check("daemonSet", Kind::DaemonSet, "", "", |more| named(with(deployment.clone(), more)));
    check("statefulSet", Kind::StatefulSet, "", "", |more| named(with(deployment.clone(), more)));
    let (mut job, manual) = (deployment.clone(), json!({"manualSelector": true}));
    job["template"]["spec"]["restartPolicy"] = json!("Never");
    check("job", Kind::Job, "", "", |more| named(with(with(job.clone(), &manual), more)));
    check("service", Kind::Service, "", "", |more| named(with(json!({"ports": [{"port": 80}]}), more)));
    check("node", Kind::Node, "", "", |node| with(json!({"metadata": {"name": "x"}}), node));
    check("event", Kind::Event, "", "", |event| with(json!({"metadata": {"name": "x", "namespace": "n"}}), event));
}

#[test]
fn what_a_cluster_takes_is_taken() {
    for event in [
        json!({"metadata": {"name": "Not_A.dns Name", "namespace": "n"}, "involvedObject": {"namespace": "n"}}),
        json!({"metadata": {"name": "x", "namespace": "default"}, "involvedObject": {"kind": "Node"}}),
    ] {
        assert_eq!(wrong(Kind::Event, event.clone()), "", "{event}");
    }
    for spec in [
        json!({"hostNetwork": true, "containers": [{"name": "a", "image": "i", "ports": [{"containerPort": 80}]}]}),
        json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["_tcp.a", "b."]}}),
        json!({"containers": [{"name": "a", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 0}}}}]}),
        json!({"initContainers": [{"name": "b", "image": "i", "restartPolicy": "OnFailure"}]}),
    ] {
        assert_eq!(wrong(Kind::Pod, pod(&spec)), "", "{spec}");
    }
}
