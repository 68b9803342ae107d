//! Who a container runs as, and what it may do. Mirrors `ValidateSecurityContext` and `validatePodSpecSecurityContext`
//! of `pkg/apis/core/validation`.
//!
//! Left out: the options of Windows.

use k8s_openapi::api::core::v1::{AppArmorProfile, PodSpec, SeccompProfile, SecurityContext, Sysctl};

use crate::pod_template::container::descending_path;
use object::validation::field::{Literal, Path, Problems};
use object::validation::internal::Internal;

const PROFILE_TYPES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];
/// The longest name of a profile of AppArmor.
const APP_ARMOR_LEN_MAX: usize = 4095;
const SYSCTL_LEN_MAX: usize = 253;
const SYSCTL: &str = "must have at most 253 characters and match regex \
    ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// What a container may do. `host_users`: its users are those of the node.
pub fn of_container(problems: &mut Problems, path: &Path, context: &SecurityContext, host_users: bool) {
    id(problems, &path.child("runAsUser"), context.run_as_user);
    id(problems, &path.child("runAsGroup"), context.run_as_group);
    if let Some(mount) = context.proc_mount.as_deref() {
        let path = path.child("procMount");
        if !matches!(mount, "Default" | "Unmasked") {
            problems.not_supported(&path, mount, &["Default", "Unmasked"]);
        }
        if host_users && mount == "Unmasked" {
            problems.invalid(&path, mount, "`hostUsers` must be false to use `Unmasked`");
        }
    }
    if let Some(profile) = &context.seccomp_profile {
        seccomp(problems, &path.child("seccompProfile"), profile);
    }
    if context.allow_privilege_escalation == Some(false) {
        let added = context.capabilities.iter().flat_map(|capabilities| capabilities.add.iter().flatten());
        if context.privileged == Some(true) {
            const WHY: &str = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            problems.invalid(path, Internal("SecurityContext", context), WHY);
        }
        if { added }.any(|capability| capability == "CAP_SYS_ADMIN") {
            const WHY: &str = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            problems.invalid(path, Internal("SecurityContext", context), WHY);
        }
    }
    if let Some(profile) = &context.app_armor_profile {
        app_armor(problems, &path.child("appArmorProfile"), profile);
    }
}

/// What all containers of a Pod may do.
pub fn of_pod(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    let path = path.child("securityContext");
    let Some(context) = &spec.security_context else { return };
    id(problems, &path.child("fsGroup"), context.fs_group);
    id(problems, &path.child("runAsUser"), context.run_as_user);
    id(problems, &path.child("runAsGroup"), context.run_as_group);
    let groups = path.child("supplementalGroups");
    for (i, group) in context.supplemental_groups.iter().flatten().enumerate() {
        id(problems, &groups.index(i), Some(*group));
    }
    if spec.host_pid == Some(true) && spec.share_process_namespace == Some(true) {
        const WHY: &str = "ShareProcessNamespace and HostPID cannot both be enabled";
        problems.invalid(&path.child("shareProcessNamespace"), Literal("true"), WHY);
    }
    sysctls(problems, &path.child("sysctls"), context.sysctls.as_deref().unwrap_or_default());
    for (name, value, supported) in [
        ("fsGroupChangePolicy", &context.fs_group_change_policy, ["Always", "OnRootMismatch"]),
        ("supplementalGroupsPolicy", &context.supplemental_groups_policy, ["Merge", "Strict"]),
        ("seLinuxChangePolicy", &context.se_linux_change_policy, ["MountOption", "Recursive"]),
    ] {
        if let Some(value) = value.as_deref().filter(|value| !supported.contains(value)) {
            problems.not_supported(&path.child(name), value, &supported);
        }
    }
    if let Some(profile) = &context.seccomp_profile {
        seccomp(problems, &path.child("seccompProfile"), profile);
    }
    if let Some(profile) = &context.app_armor_profile {
        app_armor(problems, &path.child("appArmorProfile"), profile);
    }
}

/// A Pod with users of its own cannot share what belongs to the node's. Mirrors `validateHostUsers`.
pub fn host_users(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    if spec.host_users != Some(false) {
        return;
    }
    // Two of the three are named as the field is named in Go.
    for (name, shared) in [("hostNetwork", spec.host_network), ("HostPID", spec.host_pid), ("HostIPC", spec.host_ipc)] {
        if shared == Some(true) {
            problems.forbidden(&path.child(name), "when `pod.Spec.HostUsers` is false");
        }
    }
}

fn id(problems: &mut Problems, path: &Path, id: Option<i64>) {
    if let Some(id) = id.filter(|id| !(0..=i64::from(i32::MAX)).contains(id)) {
        problems.invalid(path, id, "must be between 0 and 2147483647, inclusive");
    }
}

fn sysctls(problems: &mut Problems, list: &Path, sysctls: &[Sysctl]) {
    for (i, sysctl) in sysctls.iter().enumerate() {
        let (path, name) = (list.index(i), sysctl.name.as_str());
        let path = path.child("name");
        if name.is_empty() {
            problems.required(&path, "");
        } else if !is_sysctl(name) {
            problems.invalid(&path, name, SYSCTL);
        } else if sysctls[..i].iter().any(|other| other.name == name) {
            problems.duplicate(&path, name);
        }
    }
}

fn is_sysctl(name: &str) -> bool {
    let end = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_".contains(&c);
    let is_part = |part: &str| end(part.bytes().next()) && end(part.bytes().last()) && part.bytes().all(inner);
    name.len() <= SYSCTL_LEN_MAX && name.split(['.', '/']).all(is_part)
}

fn seccomp(problems: &mut Problems, path: &Path, profile: &SeccompProfile) {
    let at = path.child("localhostProfile");
    match profile.type_.as_str() {
        "" => problems.required(&path.child("type"), "type is required when seccompProfile is set"),
        type_ if !PROFILE_TYPES.contains(&type_) => problems.not_supported(&path.child("type"), type_, PROFILE_TYPES),
        _ => {}
    }
    match (&profile.localhost_profile, profile.type_ == "Localhost") {
        (None, true) => problems.required(&at, "must be set when seccomp type is Localhost"),
        (Some(file), true) => descending_path(problems, &at, file),
        (Some(_), false) => {
            let shown = Internal("SeccompProfile", profile);
            problems.invalid(&at, shown, "can only be set when seccomp type is Localhost");
        }
        (None, false) => {}
    }
}

fn app_armor(problems: &mut Problems, path: &Path, profile: &AppArmorProfile) {
    const NEEDED: &str = "must be set when AppArmor type is Localhost";
    let (at, given) = (path.child("localhostProfile"), profile.localhost_profile.as_deref());
    match (profile.type_.as_str(), given) {
        ("Localhost", None) => problems.required(&at, NEEDED),
        ("Localhost", Some(file)) => {
            if file.trim() != file {
                problems.invalid(&at, file, "must not be padded with whitespace");
            } else if file.is_empty() {
                problems.required(&at, NEEDED);
            }
            if file.len() > APP_ARMOR_LEN_MAX {
                problems.too_long(&at, APP_ARMOR_LEN_MAX);
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(file)) => {
            problems.invalid(&at, file, "can only be set when AppArmor type is Localhost");
        }
        ("RuntimeDefault" | "Unconfined", None) => {}
        ("", _) => problems.required(&path.child("type"), "type is required when appArmorProfile is set"),
        (type_, _) => problems.not_supported(&path.child("type"), type_, PROFILE_TYPES),
    }
}
