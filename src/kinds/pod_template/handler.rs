//! Probes and lifecycle hooks: what they call, and how often. Mirrors `validateProbe`, `validateLifecycle` and
//! `validateHandler` of `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{
    Container, ExecAction, GRPCAction, HTTPGetAction, LifecycleHandler, Probe, SleepAction, TCPSocketAction,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use object::validation::field::{Path, Problems};
use object::validation::names::{check_header_name, check_port, check_port_name};
/// The hooks and probes of a container that keeps running. `grace` is the Pod's, in seconds.
pub fn handlers(problems: &mut Problems, path: &Path, container: &Container, grace: i64) {
    if let Some(lifecycle) = &container.lifecycle {
        let path = path.child("lifecycle");
        for (name, hook) in [("postStart", &lifecycle.post_start), ("preStop", &lifecycle.pre_stop)] {
            if let Some(hook) = hook {
                handler(problems, &path.child(name), &Handler::of_hook(hook), grace);
            }
        }
    }
    if let Some(liveness) = &container.liveness_probe {
        probe(problems, &path.child("livenessProbe"), liveness, grace);
        succeeds_at_once(problems, &path.child("livenessProbe"), liveness);
    }
    if let Some(readiness) = &container.readiness_probe {
        let path = path.child("readinessProbe");
        probe(problems, &path, readiness, grace);
        if let Some(seconds) = readiness.termination_grace_period_seconds {
            const WHY: &str = "must not be set for readinessProbes";
            problems.invalid(&path.child("terminationGracePeriodSeconds"), seconds, WHY);
        }
    }
    if let Some(startup) = &container.startup_probe {
        probe(problems, &path.child("startupProbe"), startup, grace);
        succeeds_at_once(problems, &path.child("startupProbe"), startup);
    }
}

fn succeeds_at_once(problems: &mut Problems, path: &Path, probe: &Probe) {
    let threshold = probe.success_threshold.unwrap_or(1);
    if threshold != 1 {
        problems.invalid(&path.child("successThreshold"), threshold, "must be 1");
    }
}

fn probe(problems: &mut Problems, path: &Path, probe: &Probe, grace: i64) {
    handler(problems, path, &Handler::of_probe(probe), grace);
    for (name, value) in [
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ] {
        problems.not_negative(&path.child(name), value.unwrap_or(0));
    }
    if let Some(seconds) = probe.termination_grace_period_seconds.filter(|seconds| *seconds <= 0) {
        problems.invalid(&path.child("terminationGracePeriodSeconds"), seconds, "must be greater than 0");
    }
}

/// What a probe or a hook may do. Exactly one of these.
#[derive(Default)]
struct Handler<'a> {
    exec: Option<&'a ExecAction>,
    http_get: Option<&'a HTTPGetAction>,
    tcp_socket: Option<&'a TCPSocketAction>,
    grpc: Option<&'a GRPCAction>,
    sleep: Option<&'a SleepAction>,
}

impl<'a> Handler<'a> {
    fn of_probe(probe: &'a Probe) -> Handler<'a> {
        Handler {
            exec: probe.exec.as_ref(),
            http_get: probe.http_get.as_ref(),
            tcp_socket: probe.tcp_socket.as_ref(),
            grpc: probe.grpc.as_ref(),
            sleep: None,
        }
    }

    fn of_hook(hook: &'a LifecycleHandler) -> Handler<'a> {
        Handler {
            exec: hook.exec.as_ref(),
            http_get: hook.http_get.as_ref(),
            tcp_socket: hook.tcp_socket.as_ref(),
            grpc: None,
            sleep: hook.sleep.as_ref(),
        }
    }
}

fn handler(problems: &mut Problems, path: &Path, handler: &Handler, grace: i64) {
    let mut handlers = 0;
    let mut is_first = |problems: &mut Problems, name: &str| {
        handlers += 1;
        if handlers > 1 {
            problems.forbidden(&path.child(name), "may not specify more than 1 handler type");
        }
        handlers == 1
    };
    if let Some(exec) = handler.exec
        && is_first(problems, "exec")
        && exec.command.as_ref().is_none_or(|command| command.is_empty())
    {
        problems.required(&path.child("exec").child("command"), "");
    }
    if let Some(get) = handler.http_get
        && is_first(problems, "httpGet")
    {
        http_get(problems, &path.child("httpGet"), get);
    }
    if let Some(tcp) = handler.tcp_socket
        && is_first(problems, "tcpSocket")
    {
        port_or_name(problems, &path.child("tcpSocket").child("port"), &tcp.port);
    }
    if let Some(grpc) = handler.grpc
        && is_first(problems, "grpc")
    {
        port_or_name(problems, &path.child("grpc").child("port"), &IntOrString::Int(grpc.port));
    }
    if let Some(sleep) = handler.sleep
        && is_first(problems, "sleep")
        && !(0..=grace).contains(&sleep.seconds)
    {
        let why = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        problems.invalid(&path.child("sleep"), sleep.seconds, &why);
    }
    if handlers == 0 {
        problems.required(path, "must specify a handler type");
    }
}

fn http_get(problems: &mut Problems, path: &Path, get: &HTTPGetAction) {
    if get.path.as_deref().unwrap_or_default().is_empty() {
        problems.required(&path.child("path"), "");
    }
    port_or_name(problems, &path.child("port"), &get.port);
    match get.scheme.as_deref().unwrap_or_default() {
        "HTTP" | "HTTPS" => {}
        scheme => problems.not_supported(&path.child("scheme"), scheme, &["HTTP", "HTTPS"]),
    }
    for header in get.http_headers.iter().flatten() {
        if let Some(why) = check_header_name(&header.name) {
            problems.invalid(&path.child("httpHeaders"), header.name.as_str(), why);
        }
    }
}

/// A port by number or by name. Mirrors `ValidatePortNumOrName`.
pub fn port_or_name(problems: &mut Problems, path: &Path, port: &IntOrString) {
    match port {
        IntOrString::Int(number) => {
            if let Some(why) = check_port(*number) {
                problems.invalid(path, *number, why);
            }
        }
        IntOrString::String(name) => problems.all_invalid(path, name, check_port_name(name)),
    }
}
