//! The rules of the levels, one function each, in the order in which they are listed. Mirrors
//! `k8s.io/pod-security-admission/policy`.
//!
//! Left out: AppArmor in annotations; hosts of probes.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{
    AppArmorProfile, Capabilities, ContainerPort, PodSecurityContext, PodSpec, SELinuxOptions, SeccompProfile,
    SecurityContext, Volume, WindowsSecurityContextOptions,
};

use object::pod;

use super::level::Level;

/// One rule that a Pod breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// In a word: `host namespaces`.
    pub reason: String,
    /// Where: `hostNetwork=true`.
    pub detail: String,
}

type Check = fn(&PodSpec) -> Option<(&'static str, String)>;

const BASELINE: &[Check] = &[
    app_armor,
    added_capabilities,
    host_namespaces,
    host_path_volumes,
    host_ports,
    privileged,
    proc_mount_of_host_users,
    se_linux,
    unconfined,
    sysctls,
    host_process,
];
/// Where a rule of `restricted` says more about the same, that of `baseline` is left out.
const RESTRICTED: &[Check] = &[
    app_armor,
    host_namespaces,
    host_ports,
    privileged,
    proc_mount,
    se_linux,
    sysctls,
    host_process,
    escalation,
    capabilities,
    volume_types,
    as_non_root,
    as_user,
    seccomp,
];

/// What a container has anyway.
const USUAL_CAPABILITIES: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
/// The profiles of AppArmor that hold a container in.
const APP_ARMOR: &[&str] = &["RuntimeDefault", "Localhost"];
/// The types that SELinux has for containers.
const SE_LINUX: &[&str] = &["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];
/// Settings of the kernel that are a Pod's own.
const SAFE_SYSCTLS: &[&str] = &[
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

/// The rules of `level` that the Pod breaks.
pub fn violations(level: Level, spec: &PodSpec) -> Vec<Violation> {
    let checks = match level {
        Level::Privileged => &[],
        Level::Baseline => BASELINE,
        Level::Restricted => RESTRICTED,
    };
    let broken = checks.iter().filter_map(|check| check(spec));
    broken.map(|(reason, detail)| Violation { reason: reason.to_owned(), detail }).collect()
}

/// What the rules look at of a container.
struct Judged<'a> {
    name: &'a str,
    security_context: Option<&'a SecurityContext>,
    ports: &'a [ContainerPort],
}

/// All containers, the ephemeral ones last. Mirrors `visitContainers`.
fn containers(spec: &PodSpec) -> impl Iterator<Item = Judged<'_>> {
    fn judged<'a>(
        name: &'a str,
        security_context: &'a Option<SecurityContext>,
        ports: &'a Option<Vec<ContainerPort>>,
    ) -> Judged<'a> {
        let (security_context, ports) = (security_context.as_ref(), ports.as_deref().unwrap_or_default());
        Judged { name, security_context, ports }
    }
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    pod::containers(spec)
        .map(|c| judged(&c.name, &c.security_context, &c.ports))
        .chain(ephemeral.map(|c| judged(&c.name, &c.security_context, &c.ports)))
}

/// The names of the containers for which `is` holds.
fn those(spec: &PodSpec, is: impl Fn(&SecurityContext) -> bool) -> Vec<&str> {
    let default = SecurityContext::default();
    let holds = |container: &Judged| is(container.security_context.unwrap_or(&default));
    containers(spec).filter(holds).map(|container| container.name).collect()
}

fn pod_context(spec: &PodSpec) -> PodSecurityContext {
    spec.security_context.clone().unwrap_or_default()
}

/// `container "a"`, `containers "a", "b"`.
fn named(word: &str, names: &[&str]) -> String {
    format!("{} {}", plural(word, names.len()), quoted(names))
}

/// `pod and container "a"`.
fn setters(pod: bool, names: &[&str]) -> String {
    let containers = (!names.is_empty()).then(|| named("container", names));
    pod.then(|| "pod".to_owned()).into_iter().chain(containers).collect::<Vec<_>>().join(" and ")
}

fn plural(word: &str, count: usize) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// The capabilities that containers add beyond `usual`.
fn added<'a>(spec: &'a PodSpec, usual: &[&str]) -> (Vec<&'a str>, BTreeSet<&'a str>) {
    let (mut names, mut all) = (Vec::new(), BTreeSet::new());
    for container in containers(spec) {
        let add = container
            .security_context
            .and_then(|context| context.capabilities.as_ref()?.add.as_deref())
            .unwrap_or_default();
        let unusual: Vec<&str> = add.iter().map(String::as_str).filter(|one| !usual.contains(one)).collect();
        if !unusual.is_empty() {
            names.push(container.name);
            all.extend(unusual);
        }
    }
    (names, all)
}

fn must_not_add(names: &[&str], capabilities: &BTreeSet<&str>) -> String {
    let list: Vec<&str> = capabilities.iter().copied().collect();
    format!("{} must not include {} in securityContext.capabilities.add", named("container", names), quoted(&list))
}

fn app_armor(spec: &PodSpec) -> Option<(&'static str, String)> {
    let bad = |profile: Option<&AppArmorProfile>| {
        profile.map(|profile| profile.type_.clone()).filter(|type_| !APP_ARMOR.contains(&type_.as_str()))
    };
    let pod = bad(pod_context(spec).app_armor_profile.as_ref());
    let of =
        |container: &Judged| bad(container.security_context.and_then(|context| context.app_armor_profile.as_ref()));
    let those: Vec<(&str, String)> = containers(spec).filter_map(|c| of(&c).map(|type_| (c.name, type_))).collect();
    let names: Vec<&str> = those.iter().map(|(name, _)| *name).collect();
    let types: BTreeSet<&str> =
        pod.iter().map(String::as_str).chain(those.iter().map(|(_, type_)| type_.as_str())).collect();
    let types: Vec<&str> = types.into_iter().collect();
    let reason = if types.len() == 1 { "forbidden AppArmor profile" } else { "forbidden AppArmor profiles" };
    let detail = || {
        let who = setters(pod.is_some(), &names);
        format!("{who} must not set AppArmor profile type to {}", quoted(&types))
    };
    (!types.is_empty()).then(|| (reason, detail()))
}

fn se_linux(spec: &PodSpec) -> Option<(&'static str, String)> {
    let is_set = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    let type_ = |options: &SELinuxOptions| options.type_.clone().unwrap_or_default();
    let bad = |options: &&SELinuxOptions| {
        !SE_LINUX.contains(&type_(options).as_str()) || is_set(&options.user) || is_set(&options.role)
    };
    let context = pod_context(spec);
    let pod = context.se_linux_options.as_ref().filter(bad);
    let of = |container: &Judged| -> Option<SELinuxOptions> {
        let options = container.security_context.and_then(|context| context.se_linux_options.as_ref());
        options.filter(bad).cloned()
    };
    let those: Vec<(&str, SELinuxOptions)> = containers(spec).filter_map(|c| of(&c).map(|it| (c.name, it))).collect();
    let names: Vec<&str> = those.iter().map(|(name, _)| *name).collect();
    let all: Vec<&SELinuxOptions> = pod.into_iter().chain(those.iter().map(|(_, options)| options)).collect();
    let types: BTreeSet<String> = all.iter().map(|options| type_(options)).collect();
    let types: Vec<&str> = types.iter().map(String::as_str).filter(|type_| !SE_LINUX.contains(type_)).collect();
    let mut what = Vec::new();
    if !types.is_empty() {
        what.push(named("type", &types));
    }
    if all.iter().any(|options| is_set(&options.user)) {
        what.push("user may not be set".to_owned());
    }
    if all.iter().any(|options| is_set(&options.role)) {
        what.push("role may not be set".to_owned());
    }
    let detail = || {
        let who = setters(pod.is_some(), &names);
        format!("{who} set forbidden securityContext.seLinuxOptions: {}", what.join("; "))
    };
    (!all.is_empty()).then(|| ("seLinuxOptions", detail()))
}

/// Containers of Windows that are processes of the node.
fn host_process(spec: &PodSpec) -> Option<(&'static str, String)> {
    let is = |options: Option<&WindowsSecurityContextOptions>| options.and_then(|it| it.host_process) == Some(true);
    let pod = is(pod_context(spec).windows_options.as_ref());
    let names = those(spec, |context| is(context.windows_options.as_ref()));
    let detail = || format!("{} must not set securityContext.windowsOptions.hostProcess=true", setters(pod, &names));
    (pod || !names.is_empty()).then(|| ("hostProcess", detail()))
}

fn added_capabilities(spec: &PodSpec) -> Option<(&'static str, String)> {
    let (names, all) = added(spec, USUAL_CAPABILITIES);
    (!names.is_empty()).then(|| ("non-default capabilities", must_not_add(&names, &all)))
}

fn host_namespaces(spec: &PodSpec) -> Option<(&'static str, String)> {
    let shares = [("hostNetwork", spec.host_network), ("hostPID", spec.host_pid), ("hostIPC", spec.host_ipc)];
    let list: Vec<String> =
        shares.iter().filter(|(_, on)| *on == Some(true)).map(|(name, _)| format!("{name}=true")).collect();
    (!list.is_empty()).then(|| ("host namespaces", list.join(", ")))
}

fn host_path_volumes(spec: &PodSpec) -> Option<(&'static str, String)> {
    let volumes = spec.volumes.iter().flatten().filter(|volume| volume.host_path.is_some());
    let names: Vec<&str> = volumes.map(|volume| volume.name.as_str()).collect();
    (!names.is_empty()).then(|| ("hostPath volumes", named("volume", &names)))
}

fn host_ports(spec: &PodSpec) -> Option<(&'static str, String)> {
    let (mut names, mut all) = (Vec::new(), BTreeSet::new());
    for container in containers(spec) {
        let ports = container.ports.iter().filter_map(|port| port.host_port).filter(|port| *port != 0);
        let ports: Vec<i32> = ports.collect();
        if !ports.is_empty() {
            names.push(container.name);
            all.extend(ports.iter().map(i32::to_string));
        }
    }
    let list: Vec<&str> = all.iter().map(String::as_str).collect();
    let reason = if list.len() == 1 { "hostPort" } else { "hostPorts" };
    let uses = if names.len() == 1 { "uses" } else { "use" };
    (!names.is_empty()).then(|| (reason, format!("{} {uses} {reason} {}", named("container", &names), list.join(", "))))
}

fn privileged(spec: &PodSpec) -> Option<(&'static str, String)> {
    let names = those(spec, |context| context.privileged == Some(true));
    let detail = || format!("{} must not set securityContext.privileged=true", named("container", &names));
    (!names.is_empty()).then(|| ("privileged", detail()))
}

/// Whether the Pod has its own user namespace: root in it is not root on the node. Mirrors `relaxPolicyForUserNamespacePod`.
fn has_own_users(spec: &PodSpec) -> bool {
    spec.host_users == Some(false)
}

fn proc_mount_of_host_users(spec: &PodSpec) -> Option<(&'static str, String)> {
    if has_own_users(spec) { None } else { proc_mount(spec) }
}

fn proc_mount(spec: &PodSpec) -> Option<(&'static str, String)> {
    let unusual = |context: &SecurityContext| context.proc_mount.as_deref().is_some_and(|mount| mount != "Default");
    let names = those(spec, unusual);
    let detail = || format!("{} must not set securityContext.procMount to \"Unmasked\"", named("container", &names));
    (!names.is_empty()).then(|| ("procMount", detail()))
}

fn sysctls(spec: &PodSpec) -> Option<(&'static str, String)> {
    let context = pod_context(spec);
    let all = context.sysctls.iter().flatten().map(|sysctl| sysctl.name.as_str());
    let unsafe_: Vec<&str> = all.filter(|name| !SAFE_SYSCTLS.contains(name)).collect();
    (!unsafe_.is_empty()).then(|| ("forbidden sysctls", unsafe_.join(", ")))
}

fn seccomp_type(profile: Option<&SeccompProfile>) -> Option<&str> {
    profile.map(|profile| profile.type_.as_str())
}

/// The Pod and containers that ask for no seccomp profile outright.
fn unconfined(spec: &PodSpec) -> Option<(&'static str, String)> {
    let pod = seccomp_type(pod_context(spec).seccomp_profile.as_ref()) == Some("Unconfined");
    let names = those(spec, |context| seccomp_type(context.seccomp_profile.as_ref()) == Some("Unconfined"));
    let who = setters(pod, &names);
    let detail = || format!("{who} must not set securityContext.seccompProfile.type to \"Unconfined\"");
    (!who.is_empty()).then(|| ("seccompProfile", detail()))
}

fn escalation(spec: &PodSpec) -> Option<(&'static str, String)> {
    let names = those(spec, |context| context.allow_privilege_escalation != Some(false));
    let detail = || format!("{} must set securityContext.allowPrivilegeEscalation=false", named("container", &names));
    (!names.is_empty()).then(|| ("allowPrivilegeEscalation != false", detail()))
}

fn capabilities(spec: &PodSpec) -> Option<(&'static str, String)> {
    let drops_all = |capabilities: &Capabilities| capabilities.drop.iter().flatten().any(|one| one == "ALL");
    let keeping = those(spec, |context| !context.capabilities.as_ref().is_some_and(drops_all));
    let (adding, all) = added(spec, &["NET_BIND_SERVICE"]);
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details.push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", named("container", &keeping)));
    }
    if !adding.is_empty() {
        details.push(must_not_add(&adding, &all));
    }
    (!details.is_empty()).then(|| ("unrestricted capabilities", details.join("; ")))
}

/// What a volume is made of, unless that is harmless.
fn restricted_type(volume: &Volume) -> Option<&'static str> {
    let harmless = volume.config_map.is_some()
        || volume.csi.is_some()
        || volume.downward_api.is_some()
        || volume.empty_dir.is_some()
        || volume.ephemeral.is_some()
        || volume.persistent_volume_claim.is_some()
        || volume.projected.is_some()
        || volume.secret.is_some()
        || volume.image.is_some();
    let type_ = match volume {
        Volume { host_path: Some(_), .. } => "hostPath",
        Volume { nfs: Some(_), .. } => "nfs",
        Volume { iscsi: Some(_), .. } => "iscsi",
        Volume { fc: Some(_), .. } => "fc",
        Volume { flex_volume: Some(_), .. } => "flexVolume",
        Volume { git_repo: Some(_), .. } => "gitRepo",
        _ => "unknown",
    };
    (!harmless).then_some(type_)
}

fn volume_types(spec: &PodSpec) -> Option<(&'static str, String)> {
    let (mut names, mut types) = (Vec::new(), BTreeSet::new());
    for volume in spec.volumes.iter().flatten() {
        if let Some(type_) = restricted_type(volume) {
            names.push(volume.name.as_str());
            types.insert(type_);
        }
    }
    let types: Vec<&str> = types.into_iter().collect();
    let uses = if names.len() == 1 { "uses" } else { "use" };
    let detail = || format!("{} {uses} restricted {}", named("volume", &names), named("volume type", &types));
    (!names.is_empty()).then(|| ("restricted volume types", detail()))
}

fn as_non_root(spec: &PodSpec) -> Option<(&'static str, String)> {
    if has_own_users(spec) {
        return None;
    }
    let pod = pod_context(spec).run_as_non_root;
    let refusing = those(spec, |context| context.run_as_non_root == Some(false));
    let silent = those(spec, |context| context.run_as_non_root.is_none());
    let who = setters(pod == Some(false), &refusing);
    let detail = match who.as_str() {
        "" if pod.is_none() && !silent.is_empty() => {
            format!("pod or {} must set securityContext.runAsNonRoot=true", named("container", &silent))
        }
        "" => return None,
        who => format!("{who} must not set securityContext.runAsNonRoot=false"),
    };
    Some(("runAsNonRoot != true", detail))
}

fn as_user(spec: &PodSpec) -> Option<(&'static str, String)> {
    if has_own_users(spec) {
        return None;
    }
    let names = those(spec, |context| context.run_as_user == Some(0));
    let who = setters(pod_context(spec).run_as_user == Some(0), &names);
    (!who.is_empty()).then(|| ("runAsUser=0", format!("{who} must not set runAsUser=0")))
}

fn seccomp(spec: &PodSpec) -> Option<(&'static str, String)> {
    if let Some(found) = unconfined(spec) {
        return Some(found);
    }
    let silent = those(spec, |context| context.seccomp_profile.is_none());
    let detail = || {
        let who = named("container", &silent);
        format!("pod or {who} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"")
    };
    (pod_context(spec).seccomp_profile.is_none() && !silent.is_empty()).then(|| ("seccompProfile", detail()))
}
