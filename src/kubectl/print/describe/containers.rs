//! The containers of a Pod or of a template.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ResourceFieldSelector};
use serde_json::Value;

use super::super::fields::{at, flag, int, list, long_time, map, or_none, plain, text};
use super::page::{Page, go_list};
use object::downward;
use object::{Pod, read};

/// `indent` is empty in a Pod's page, and two spaces where the Pod is a template. `pod` is what fields of the Pod
/// itself (`fieldRef`) are read from; a template has none.
pub(super) fn describe(
    page: &mut Page,
    title: &str,
    specs: &[Value],
    statuses: &[Value],
    indent: &str,
    pod: Option<&Value>,
) {
    let pod: Option<Pod> = pod.and_then(|pod| read::from_value(pod).ok());
    match specs {
        [] => page.field(&format!("{indent}{title}"), "<none>"),
        _ => page.line(format!("{indent}{title}:")),
    }
    let shift = if indent.is_empty() { "" } else { " " };
    for spec in specs {
        let status = statuses.iter().find(|s| text(s, "name") == text(spec, "name"));
        page.line(format!("  {shift}{}:", text(spec, "name")));
        basic(page, spec, status);
        lines_of(page, "Command", list(spec, "command"));
        lines_of(page, "Args", list(spec, "args"));
        if let Some(status) = status {
            describe_status(page, status);
        }
        resources(page, spec, "    ");
        probes(page, spec);
        environment(page, spec, pod.as_ref());
        mounts(page, spec);
    }
}

fn basic(page: &mut Page, spec: &Value, status: Option<&Value>) {
    if let Some(status) = status {
        page.field("    Container ID", text(status, "containerID"));
    }
    page.field("    Image", text(spec, "image"));
    if let Some(status) = status {
        page.field("    Image ID", text(status, "imageID"));
    }
    for (title, field) in [("Port", "containerPort"), ("Host Port", "hostPort")] {
        let show = |port: &Value| {
            let shown = format!("{}/{}", int(port, field), protocol(port));
            if text(port, "name").is_empty() { shown } else { format!("{shown} ({})", text(port, "name")) }
        };
        let ports: Vec<String> = list(spec, "ports").iter().map(show).collect();
        let plural = if ports.len() > 1 { "s" } else { "" };
        page.field(&format!("    {title}{plural}"), or_none(&ports.join(", ")));
    }
    let profile = at(spec, "securityContext.seccompProfile");
    for (title, field) in [("    SeccompProfile", "type"), ("      LocalhostProfile", "localhostProfile")] {
        if !text(profile, field).is_empty() {
            page.field(title, text(profile, field));
        }
    }
}

fn protocol(port: &Value) -> &str {
    match text(port, "protocol") {
        "" => "TCP",
        protocol => protocol,
    }
}

fn lines_of(page: &mut Page, title: &str, words: &[Value]) {
    if words.is_empty() {
        return;
    }
    page.line(format!("    {title}:"));
    for word in words {
        word.as_str().unwrap_or_default().split('\n').for_each(|line| page.line(format!("      {line}")));
    }
}

fn describe_status(page: &mut Page, status: &Value) {
    describe_state(page, "State", at(status, "state"));
    if !at(status, "lastState.terminated").is_null() {
        describe_state(page, "Last State", at(status, "lastState"));
    }
    page.field("    Ready", if flag(status, "ready") { "True" } else { "False" });
    page.field("    Restart Count", int(status, "restartCount").to_string());
}

fn describe_state(page: &mut Page, title: &str, state: &Value) {
    let title = format!("    {title}");
    let time = |path| long_time(state, path).unwrap_or_default();
    if !at(state, "running").is_null() {
        page.field(&title, "Running");
        page.field("      Started", time("running.startedAt"));
    } else if !at(state, "terminated").is_null() {
        page.field(&title, "Terminated");
        for (name, path) in [("Reason", "terminated.reason"), ("Message", "terminated.message")] {
            if !text(state, path).is_empty() {
                page.field(&format!("      {name}"), text(state, path));
            }
        }
        page.field("      Exit Code", int(state, "terminated.exitCode").to_string());
        if int(state, "terminated.signal") > 0 {
            page.field("      Signal", int(state, "terminated.signal").to_string());
        }
        page.field("      Started", time("terminated.startedAt"));
        page.field("      Finished", time("terminated.finishedAt"));
    } else {
        page.field(&title, "Waiting");
        if !text(state, "waiting.reason").is_empty() {
            page.field("      Reason", text(state, "waiting.reason"));
        }
    }
}

/// The limits and requests of a container, or of a Pod as a whole. Mirrors `describeResources`.
pub(super) fn resources(page: &mut Page, spec: &Value, indent: &str) {
    for (title, path) in [("Limits", "resources.limits"), ("Requests", "resources.requests")] {
        let amounts: Vec<String> =
            map(spec, path).map(|(name, amount)| format!("{indent}  {name}:\t{}", plain(amount))).collect();
        if !amounts.is_empty() {
            page.line(format!("{indent}{title}:"));
            amounts.iter().for_each(|line| page.line(line));
        }
    }
}

fn probes(page: &mut Page, spec: &Value) {
    for (title, field) in [("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe")]
    {
        let probe = at(spec, field);
        if !probe.is_null() {
            page.field(&format!("    {title}"), probe_text(probe));
        }
    }
}

/// Mirrors `DescribeProbe`.
fn probe_text(probe: &Value) -> String {
    let or = |field, default| at(probe, field).as_i64().unwrap_or(default);
    let attributes = format!(
        "delay={}s timeout={}s period={}s #success={} #failure={}",
        int(probe, "initialDelaySeconds"),
        or("timeoutSeconds", 0),
        or("periodSeconds", 0),
        or("successThreshold", 0),
        or("failureThreshold", 0),
    );
    let target = |action: &Value| format!("{}:{}", text(action, "host"), plain(at(action, "port")));
    let [exec, http, tcp, grpc] = ["exec", "httpGet", "tcpSocket", "grpc"].map(|field| at(probe, field));
    if !exec.is_null() {
        return format!("exec {} {attributes}", go_list(list(exec, "command")));
    }
    if !http.is_null() {
        let scheme = text(http, "scheme").to_ascii_lowercase();
        return format!("http-get {scheme}://{}{} {attributes}", target(http), text(http, "path"));
    }
    if !tcp.is_null() {
        return format!("tcp-socket {} {attributes}", target(tcp));
    }
    if !grpc.is_null() {
        return format!("grpc <pod>:{} {} {attributes}", int(grpc, "port"), text(grpc, "service"));
    }
    format!("unknown {attributes}")
}

fn environment(page: &mut Page, spec: &Value, pod: Option<&Pod>) {
    let from = list(spec, "envFrom");
    if !from.is_empty() {
        page.line("    Environment Variables from:");
        for source in from {
            let (kind, reference) = match at(source, "configMapRef") {
                Value::Null => ("Secret", at(source, "secretRef")),
                reference => ("ConfigMap", reference),
            };
            let with = match text(source, "prefix") {
                "" => String::new(),
                prefix => format!(" with prefix '{prefix}'"),
            };
            let (name, optional) = (text(reference, "name"), flag(reference, "optional"));
            page.line(format!("      {name}\t{kind}{with}\tOptional: {optional}"));
        }
    }
    let variables = list(spec, "env");
    if variables.is_empty() {
        return page.field("    Environment", "<none>");
    }
    page.line("    Environment:");
    for variable in variables {
        page.field(&format!("      {}", text(variable, "name")), variable_text(variable, spec, pod));
    }
}

fn variable_text(variable: &Value, spec: &Value, pod: Option<&Pod>) -> String {
    let from = at(variable, "valueFrom");
    let key_of = |field: &str, what: &str| {
        let reference = at(from, field);
        let (key, name, optional) = (text(reference, "key"), text(reference, "name"), flag(reference, "optional"));
        format!("<set to the key '{key}' {what} '{name}'>\tOptional: {optional}")
    };
    if from.is_null() {
        return text(variable, "value").replace('\n', "\n\t");
    }
    if !at(from, "fieldRef").is_null() {
        let path = text(from, "fieldRef.fieldPath");
        // Only metadata: kubectl knows no other field by the path that the kubelet reads.
        let pod = pod.filter(|_| path.starts_with("metadata."));
        let value = pod.and_then(|pod| downward::field(pod, path).ok()).unwrap_or_default();
        return format!("{value} ({}:{path})", text(from, "fieldRef.apiVersion"));
    }
    let selector = at(from, "resourceFieldRef");
    if !selector.is_null() {
        let resource = text(selector, "resource");
        return match resource_value(selector, spec).as_str() {
            "0" if matches!(resource, "limits.cpu" | "limits.memory") => format!("node allocatable ({resource})"),
            value => format!("{value} ({resource})"),
        };
    }
    if !at(from, "secretKeyRef").is_null() {
        return key_of("secretKeyRef", "in secret");
    }
    key_of("configMapKeyRef", "of config map")
}

/// What the container itself says of a resource, in units of the divisor; empty for one that no variable may have.
fn resource_value(selector: &Value, spec: &Value) -> String {
    let selector = read::from_value::<ResourceFieldSelector>(selector).unwrap_or_default();
    let selector = ResourceFieldSelector { container_name: None, ..selector };
    let own: Option<Container> = read::from_value(spec).ok();
    downward::resource(&Pod::default(), &selector, own.as_ref(), &BTreeMap::new()).unwrap_or_default()
}

fn mounts(page: &mut Page, spec: &Value) {
    let mut mounts: Vec<&Value> = list(spec, "volumeMounts").iter().collect();
    mounts.sort_by_key(|mount| text(mount, "mountPath"));
    match mounts.as_slice() {
        [] => page.field("    Mounts", "<none>"),
        _ => page.line("    Mounts:"),
    }
    for mount in &mounts {
        let mut flags = vec![if flag(mount, "readOnly") { "ro".to_owned() } else { "rw".to_owned() }];
        if !text(mount, "subPath").is_empty() {
            flags.push(format!("path=\"{}\"", text(mount, "subPath")));
        }
        let (path, name) = (text(mount, "mountPath"), text(mount, "name"));
        page.line(format!("      {path} from {name} ({})", flags.join(",")));
    }
    let mut devices: Vec<&Value> = list(spec, "volumeDevices").iter().collect();
    devices.sort_by_key(|device| text(device, "devicePath"));
    if !devices.is_empty() {
        // What it says behind `Devices:` is about the mounts. kubectl is like that.
        page.line(format!("    Devices:{}", if mounts.is_empty() { "\t<none>" } else { "" }));
    }
    for device in devices {
        page.line(format!("      {} from {}", text(device, "devicePath"), text(device, "name")));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_container_is_told_with_what_is_rare_about_it() {
        let spec = json!([{
            "name": "app", "image": "nginx", "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}, {"containerPort": 81, "protocol": "UDP"}],
            "volumeDevices": [{"name": "raw", "devicePath": "/dev/xvdb"}],
            "livenessProbe": {"grpc": {"port": 9, "service": ""}},
        }]);
        let mut page = Page { text: String::new(), now: jiff::Timestamp::UNIX_EPOCH };
        describe(&mut page, "Containers", spec.as_array().unwrap(), &[], "", None);
        let want = "Containers:\n  app:\n    Image:\tnginx\n    Ports:\t80/TCP (http), 81/UDP\n    Host Ports:\t0/TCP (http), \
                    0/UDP\n    SeccompProfile:\tRuntimeDefault\n    Liveness:\tgrpc <pod>:9  delay=0s timeout=0s period=0s \
                    #success=0 #failure=0\n    Environment:\t<none>\n    Mounts:\t<none>\n    Devices:\t<none>\n      \
                    /dev/xvdb from raw\n";
        assert_eq!(page.text, want);
    }

    #[test]
    fn variables_are_told_as_far_as_a_client_knows_them() {
        let pod: Pod = read::from_value(&json!({"metadata": {"name": "web", "labels": {"app": "a"}},
            "spec": {"nodeName": "node-1", "containers": []}}))
        .unwrap();
        let spec = json!({"name": "c", "resources": {"requests": {"cpu": "250m"}, "limits": {"memory": "1Ki"}}});
        let field = |path: &str| json!({"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}});
        let resource = |name: &str| json!({"valueFrom": {"resourceFieldRef": {"resource": name, "divisor": "0"}}});
        for (variable, of_pod, of_template) in [
            (field("metadata.name"), "web (v1:metadata.name)", " (v1:metadata.name)"),
            (field("metadata.labels['app']"), "a (v1:metadata.labels['app'])", " (v1:metadata.labels['app'])"),
            (field("spec.nodeName"), " (v1:spec.nodeName)", " (v1:spec.nodeName)"),
            (resource("limits.cpu"), "node allocatable (limits.cpu)", "node allocatable (limits.cpu)"),
            (resource("requests.cpu"), "1 (requests.cpu)", "1 (requests.cpu)"),
            (resource("requests.memory"), "0 (requests.memory)", "0 (requests.memory)"),
            (resource("limits.memory"), "1024 (limits.memory)", "1024 (limits.memory)"),
        ] {
            assert_eq!(variable_text(&variable, &spec, Some(&pod)), of_pod);
            assert_eq!(variable_text(&variable, &spec, None), of_template);
        }
    }
}
