//! The containers of a Pod or of a template.

use serde_json::Value;

use super::super::fields::{at, flag, int, list, long_time, map, or_none, plain, text};
use super::{Page, go_list};

/// `indent` is empty in a Pod's page, and two spaces where the Pod is a template. `pod` is what fields of the Pod
/// itself (`fieldRef`) are read from.
pub(super) fn describe(page: &mut Page, title: &str, specs: &[Value], statuses: &[Value], indent: &str, pod: &Value) {
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
        amounts(page, "Limits", spec, "resources.limits");
        amounts(page, "Requests", spec, "resources.requests");
        probes(page, spec);
        environment(page, spec, pod);
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
        let show = |port: &Value| format!("{}/{}", int(port, field), protocol(port));
        let ports: Vec<String> = list(spec, "ports").iter().map(show).collect();
        let plural = if ports.len() > 1 { "s" } else { "" };
        page.field(&format!("    {title}{plural}"), or_none(&ports.join(", ")));
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

fn amounts(page: &mut Page, title: &str, spec: &Value, path: &str) {
    let amounts: Vec<String> =
        map(spec, path).map(|(name, amount)| format!("      {name}:\t{}", plain(amount))).collect();
    if !amounts.is_empty() {
        page.line(format!("    {title}:"));
        amounts.iter().for_each(|line| page.line(line));
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
        return format!("grpc <pid>:{} {} {attributes}", int(grpc, "port"), text(grpc, "service"));
    }
    format!("unknown {attributes}")
}

fn environment(page: &mut Page, spec: &Value, pod: &Value) {
    let from = list(spec, "envFrom");
    if !from.is_empty() {
        page.line("    Environment Variables from:");
        for source in from {
            let (kind, reference) = match at(source, "configMapRef") {
                Value::Null => ("Secret", at(source, "secretRef")),
                reference => ("ConfigMap", reference),
            };
            page.line(format!("      {}\t{kind}\tOptional: {}", text(reference, "name"), flag(reference, "optional")));
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

fn variable_text(variable: &Value, spec: &Value, pod: &Value) -> String {
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
        return format!(" {} ({}:{path})", text(pod, path), text(from, "fieldRef.apiVersion")).trim_start().to_owned();
    }
    if !at(from, "resourceFieldRef").is_null() {
        let resource = text(from, "resourceFieldRef.resource");
        return format!("{} ({resource})", text(at(spec, "resources"), resource));
    }
    if !at(from, "secretKeyRef").is_null() {
        return key_of("secretKeyRef", "in secret");
    }
    key_of("configMapKeyRef", "of config map")
}

fn mounts(page: &mut Page, spec: &Value) {
    let mut mounts: Vec<&Value> = list(spec, "volumeMounts").iter().collect();
    if mounts.is_empty() {
        return page.field("    Mounts", "<none>");
    }
    mounts.sort_by_key(|mount| text(mount, "mountPath"));
    page.line("    Mounts:");
    for mount in mounts {
        let mut flags = vec![if flag(mount, "readOnly") { "ro".to_owned() } else { "rw".to_owned() }];
        if !text(mount, "subPath").is_empty() {
            flags.push(format!("path=\"{}\"", text(mount, "subPath")));
        }
        let (path, name) = (text(mount, "mountPath"), text(mount, "name"));
        page.line(format!("      {path} from {name} ({})", flags.join(",")));
    }
}
