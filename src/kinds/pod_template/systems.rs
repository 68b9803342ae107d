//! What a Pod says only for one operating system. Mirrors `validateLinux` and `validateWindows` of
//! `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{PodSpec, SecurityContext};

use object::ephemeral;
use object::validation::field::{Path, Problems};

/// A Pod for Linux has no options of Windows.
pub fn linux(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    if spec.security_context.as_ref().is_some_and(|context| context.windows_options.is_some()) {
        let path = path.child("securityContext");
        problems.forbidden(&path.child("windowsOptions"), "windows options cannot be set for a linux pod");
    }
    each_container(path, spec, &mut |path, context| {
        if context.windows_options.is_some() {
            problems.forbidden(&path.child("windowsOptions"), "cannot be set for a linux pod");
        }
    });
}

/// A Pod for Windows has nothing of Linux.
pub fn windows(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    const WHY: &str = "cannot be set for a windows pod";
    let context = &spec.security_context.clone().unwrap_or_default();
    let at = path.child("securityContext");
    for (path, field, given) in [
        (&at, "appArmorProfile", context.app_armor_profile.is_some()),
        (&at, "seLinuxOptions", context.se_linux_options.is_some()),
        (path, "hostUsers", spec.host_users.is_some()),
        (path, "hostPID", spec.host_pid == Some(true)),
        (path, "hostIPC", spec.host_ipc == Some(true)),
        (&at, "seccompProfile", context.seccomp_profile.is_some()),
        (&at, "fsGroup", context.fs_group.is_some()),
        (&at, "fsGroupChangePolicy", context.fs_group_change_policy.is_some()),
        (&at, "sysctls", context.sysctls.as_ref().is_some_and(|sysctls| !sysctls.is_empty())),
        (path, "shareProcessNamespace", spec.share_process_namespace.is_some()),
        (&at, "runAsUser", context.run_as_user.is_some()),
        (&at, "runAsGroup", context.run_as_group.is_some()),
        (&at, "supplementalGroups", context.supplemental_groups.is_some()),
        (&at, "supplementalGroupsPolicy", context.supplemental_groups_policy.is_some()),
    ] {
        if given {
            problems.forbidden(&path.child(field), WHY);
        }
    }
    each_container(path, spec, &mut |path, context| {
        for (field, given) in [
            ("appArmorProfile", context.app_armor_profile.is_some()),
            ("seLinuxOptions", context.se_linux_options.is_some()),
            ("seccompProfile", context.seccomp_profile.is_some()),
            ("capabilities", context.capabilities.is_some()),
            ("readOnlyRootFilesystem", context.read_only_root_filesystem.is_some()),
            ("privileged", context.privileged.is_some()),
            ("allowPrivilegeEscalation", context.allow_privilege_escalation.is_some()),
            ("procMount", context.proc_mount.is_some()),
            ("runAsUser", context.run_as_user.is_some()),
            ("runAsGroup", context.run_as_group.is_some()),
        ] {
            if given {
                problems.forbidden(&path.child(field), WHY);
            }
        }
    });
}

/// The security contexts of all containers: those that run first, the Pod's own, those that are added. Mirrors
/// `VisitContainersWithPath`.
fn each_container(path: &Path, spec: &PodSpec, look: &mut dyn FnMut(&Path, &SecurityContext)) {
    let inits = spec.init_containers.as_deref().unwrap_or_default().to_vec();
    let added = ephemeral::containers(spec).collect();
    for (list, containers) in
        [("initContainers", inits), ("containers", spec.containers.clone()), ("ephemeralContainers", added)]
    {
        let list = path.child(list);
        for (i, container) in containers.iter().enumerate() {
            let Some(context) = &container.security_context else { continue };
            look(&list.index(i).child("securityContext"), context);
        }
    }
}
