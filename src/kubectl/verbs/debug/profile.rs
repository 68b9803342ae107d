//! What a container to look around in may do, and what a Pod gives up for it. Mirrors `profiles.go`.

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;

/// From where the user debugs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// From a container beside the others.
    Ephemeral,
    /// From a copy of the Pod.
    Copy,
    /// From a Pod in the node's namespaces.
    Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Legacy,
    General,
    Baseline,
    Restricted,
    Netadmin,
    Sysadmin,
}

/// A profile, and what a copy keeps of its Pod all the same (`KeepFlags`).
pub(super) struct Profile<'a> {
    name: Name,
    args: &'a Args,
}

impl Profile<'_> {
    /// The one that `--profile` names.
    pub(super) fn of(args: &Args) -> Result<Profile<'_>, Failure> {
        let name = match args.value("profile") {
            "legacy" => Name::Legacy,
            "" | "general" => Name::General,
            "baseline" => Name::Baseline,
            "restricted" => Name::Restricted,
            "netadmin" => Name::Netadmin,
            "sysadmin" => Name::Sysadmin,
            other => return Err(Failure::text(format!("unknown profile: {other}"))),
        };
        Ok(Profile { name, args })
    }

    /// Applies it to a container of this name, and to the Pod around it.
    pub(super) fn apply(&self, pod: &mut Value, container: &str, style: Style) {
        if let Some(container) = container_mut(pod, container) {
            self.allow(container, style);
        }
        match style {
            Style::Ephemeral => {}
            Style::Copy if self.name == Name::Legacy => drop(fields_mut(pod, "metadata").map(|it| it.remove("labels"))),
            Style::Copy => self.strip(pod),
            Style::Node => self.open(pod, container),
        }
    }

    /// What the container may do.
    fn allow(&self, container: &mut Value, style: Style) {
        let on_node = style == Style::Node;
        match self.name {
            Name::Legacy => {}
            Name::General if on_node => container["securityContext"] = Value::Null,
            Name::General => add_capabilities(container, &["SYS_PTRACE"]),
            Name::Baseline => container["securityContext"] = Value::Null,
            Name::Restricted => {
                container["securityContext"] = json!({
                    "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": true,
                    "seccompProfile": {"type": "RuntimeDefault"},
                });
            }
            Name::Netadmin => add_capabilities(container, &["NET_ADMIN", "NET_RAW"]),
            Name::Sysadmin => context_mut(container)["privileged"] = json!(true),
        }
        if container["securityContext"].is_null() {
            drop(container.as_object_mut().map(|fields| fields.remove("securityContext")));
        }
    }

    /// A copy gets no traffic from a Service, and no probe restarts it, unless a `--keep` flag says otherwise.
    fn strip(&self, pod: &mut Value) {
        let keeps = |what: &str| self.args.is_on(&format!("keep-{what}"));
        for field in ["labels", "annotations"] {
            if !keeps(field) {
                drop(fields_mut(pod, "metadata").map(|metadata| metadata.remove(field)));
            }
        }
        for container in pod["spec"]["containers"].as_array_mut().into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            for probe in ["liveness", "readiness", "startup"].into_iter().filter(|probe| !keeps(probe)) {
                container.remove(&format!("{probe}Probe"));
            }
        }
        if self.args.value("keep-init-containers") == "false" {
            drop(fields_mut(pod, "spec").map(|spec| spec.remove("initContainers")));
        }
        let shares = &mut pod["spec"]["shareProcessNamespace"];
        if shares.is_null() {
            *shares = json!(true);
        }
    }

    /// What of the node the Pod sees.
    fn open(&self, pod: &mut Value, container: &str) {
        if matches!(self.name, Name::Legacy | Name::General | Name::Netadmin | Name::Sysadmin) {
            for field in ["hostNetwork", "hostPID", "hostIPC"] {
                pod["spec"][field] = json!(true);
            }
        }
        if matches!(self.name, Name::Legacy | Name::General | Name::Sysadmin) {
            const ROOT: &str = "host-root";
            pod["spec"]["volumes"] = json!([{"name": ROOT, "hostPath": {"path": "/"}}]);
            if let Some(container) = container_mut(pod, container) {
                container["volumeMounts"] = json!([{"mountPath": "/host", "name": ROOT}]);
            }
        }
    }
}

fn fields_mut<'a>(pod: &'a mut Value, part: &str) -> Option<&'a mut serde_json::Map<String, Value>> {
    pod.get_mut(part).and_then(Value::as_object_mut)
}

fn container_mut<'a>(pod: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let lists = fields_mut(pod, "spec")?.iter_mut().filter(|(field, _)| field.to_lowercase().ends_with("containers"));
    let mut all = lists.filter_map(|(_, list)| list.as_array_mut()).flatten();
    all.find(|container| container["name"] == name)
}

fn context_mut(container: &mut Value) -> &mut Value {
    let context = &mut container["securityContext"];
    if context.is_null() {
        *context = json!({});
    }
    context
}

fn add_capabilities(container: &mut Value, names: &[&str]) {
    let added = &mut context_mut(container)["capabilities"]["add"];
    let mut all = added.as_array().cloned().unwrap_or_default();
    all.extend(names.iter().map(|name| json!(name)));
    *added = json!(all);
}
