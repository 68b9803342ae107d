//! The user that a container's process runs as, and where it may write: not as root, if its Pod says so.
//!
//! `runAsNonRoot` is a promise that is checked, and does not change the user. The process runs as the user that
//! `runAsUser` gives, or else the image's, which may be a name; the kubelet cannot resolve a name to a user id.
//!
//! Mirrors `verifyRunAsNonRoot` (`pkg/kubelet/kuberuntime/security_context_others.go`) and
//! `DetermineEffectiveSecurityContext`.

use k8s_openapi::api::core::v1::Container;

use crate::cri::{CriRequest, CriResponse, LinuxContainerSecurityContext};
use crate::pod_types::pod_text;
use crate::shared::Shared;
use object::Pod;

/// The user that an image names. Neither a number nor a name: root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageUser {
    /// By number.
    pub uid: Option<i64>,
    /// By name.
    pub name: String,
}

/// Whether a container keeps what it or its Pod promises; else why it cannot be made.
pub fn verify_not_root(pod: &Pod, container: &Container, image: &ImageUser) -> Result<(), String> {
    let own = container.security_context.as_ref();
    let of_pod = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    let promised = own.and_then(|c| c.run_as_non_root).or_else(|| of_pod?.run_as_non_root);
    if promised != Some(true) {
        return Ok(());
    }
    let which = format!("(pod: {:?}, container: {})", pod_text(pod), container.name);
    match own.and_then(|c| c.run_as_user).or_else(|| of_pod?.run_as_user) {
        Some(0) => return Err(format!("container's runAsUser breaks non-root policy {which}")),
        Some(_) => return Ok(()),
        None => {}
    }
    match image.uid {
        None if !image.name.is_empty() => Err(format!(
            "container has runAsNonRoot and image has non-numeric user ({}), cannot verify user is non-root {which}",
            image.name
        )),
        None | Some(0) => Err(format!("container has runAsNonRoot and image will run as root {which}")),
        Some(_) => Ok(()),
    }
}

/// What the runtime is told (`determineEffectiveSecurityContext`): the container's word counts before its Pod's.
pub fn context(pod: &Pod, container: &Container) -> LinuxContainerSecurityContext {
    let own = container.security_context.as_ref();
    let spec = pod.spec.as_ref();
    let of_pod = spec.and_then(|spec| spec.security_context.as_ref());
    let groups = of_pod.and_then(|of_pod| of_pod.supplemental_groups.as_ref());
    let read_only = container.volume_mounts.iter().flatten().filter(|mount| mount.read_only == Some(true));
    LinuxContainerSecurityContext {
        run_as_user: own.and_then(|c| c.run_as_user).or_else(|| of_pod?.run_as_user),
        run_as_group: own.and_then(|c| c.run_as_group).or_else(|| of_pod?.run_as_group),
        supplemental_groups: groups.into_iter().flatten().copied().chain(of_pod.and_then(|p| p.fs_group)).collect(),
        readonly_rootfs: own.and_then(|c| c.read_only_root_filesystem) == Some(true),
        read_only_mounts: read_only.map(|mount| mount.mount_path.clone()).collect(),
        share_processes: spec.and_then(|spec| spec.share_process_namespace) == Some(true),
    }
}

impl Shared {
    /// As whom an image runs (`getImageUser`).
    pub(super) async fn image_user(&self, image: &str) -> ImageUser {
        match self.cri(CriRequest::ImageStatus { image: image.into() }).await {
            Ok(CriResponse::Image(Some(image))) => ImageUser { uid: image.uid, name: image.username },
            _ => ImageUser::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn who_promises_not_to_be_root_is_not() {
        let root = ImageUser::default();
        let uid = |uid: i64| ImageUser { uid: Some(uid), ..ImageUser::default() };
        let named = ImageUser { name: "haproxy".into(), ..ImageUser::default() };
        let promise = json!({"runAsNonRoot": true});
        let as_user = |user: i64| json!({"runAsNonRoot": true, "runAsUser": user});
        let table: [(Value, Value, &ImageUser, &str); 9] = [
            (json!({}), json!({}), &root, ""),
            (promise.clone(), json!({}), &root, "container has runAsNonRoot and image will run as root"),
            (json!({}), promise.clone(), &uid(0), "container has runAsNonRoot and image will run as root"),
            (promise.clone(), json!({"runAsNonRoot": false}), &root, ""),
            (promise.clone(), json!({}), &uid(101), ""),
            (promise.clone(), json!({"runAsUser": 1000}), &root, ""),
            (as_user(1000), json!({"runAsUser": 0}), &uid(101), "container's runAsUser breaks non-root policy"),
            (as_user(0), json!({"runAsUser": 1}), &root, ""),
            (
                promise,
                json!({}),
                &named,
                "container has runAsNonRoot and image has non-numeric user (haproxy), cannot verify user is non-root",
            ),
        ];
        for (of_pod, own, image, expected) in table {
            let pod: Pod = serde_json::from_value(json!({
                "metadata": {"name": "web", "namespace": "shop", "uid": "u1"},
                "spec": {"securityContext": of_pod, "containers": [{"name": "a", "securityContext": own}]},
            }))
            .expect("a Pod");
            let said = verify_not_root(&pod, &pod.spec.as_ref().expect("a spec").containers[0], image).err();
            let which = " (pod: \"web_shop(u1)\", container: a)";
            let expected = (!expected.is_empty()).then(|| format!("{expected}{which}"));
            assert_eq!(said, expected, "{of_pod} {own} {image:?}");
        }
    }
}
