//! A Pod's spec shares the volume with its token, and the mounts of it, with the Pods beside it: what `Deref` shows of them has a
//! name that no Pod has (see `object/pod/spec.rs`). The honest name is told by `volumes()`, `name_of` and `whole`.

use std::collections::BTreeSet;
use std::path::Path;

use kubestep_tests::project::enter;

use super::sources;

/// Who reads the fields all the same: each knows only a template, compares names within one spec, looks at nothing but what a
/// volume or a mount is, or asks `name_of` for what it tells.
const READ_THE_FIELDS: &[&str] = &[
    "src/apiserver/admission/pod_security/checks.rs",
    "src/apiserver/admission/service_account.rs",
    "src/apiserver/authorization/node.rs",
    "src/controllers/ephemeral_volume.rs",
    "src/controllers/statefulset/identity.rs",
    "src/kinds/core/pod/mod.rs",
    "src/kinds/pod_template/container.rs",
    "src/kinds/pod_template/defaults.rs",
    "src/kinds/pod_template/env.rs",
    "src/kinds/pod_template/ephemeral.rs",
    "src/kinds/pod_template/spec.rs",
    "src/kinds/pod_template/warnings.rs",
    "src/kubelet/eviction/limits.rs",
    "src/kubelet/eviction/usage.rs",
    "src/kubelet/expansion.rs",
    "src/kubelet/runtime_client.rs",
    "src/kubelet/security.rs",
    "src/kubelet/status/containers.rs",
    "src/object/ephemeral.rs",
    "src/object/volume.rs",
    "src/scheduler/plugins/image_locality.rs",
];

#[test]
fn who_reads_a_pods_volumes_is_known() {
    enter();
    let mut found = BTreeSet::new();
    for file in sources(Path::new("src")) {
        let name = file.to_string_lossy().replace('\\', "/");
        if name == "src/object/pod/spec.rs" || name.contains("test") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a file just listed can be read");
        let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let reads = |line: &str| {
            let field = line.split("spec.volumes").skip(1).any(|rest| !rest.starts_with(['(', '"', '[']));
            field || line.contains(".volume_mounts.") || line.contains("container.volume_mounts")
        };
        if { code }.any(reads) {
            found.insert(name);
        }
    }
    let known: BTreeSet<String> = READ_THE_FIELDS.iter().map(|file| (*file).to_owned()).collect();
    assert_eq!(found, known, "who shows a volume's name asks the spec for it: volumes(), name_of, whole");
}
