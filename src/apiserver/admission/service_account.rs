//! ServiceAccount: every Pod runs as a service account, and finds the account's token in a file. Mirrors
//! `plugin/pkg/admission/serviceaccount`.
//!
//! A Pod that names no account gets `default`. Unless it or its account says otherwise, a projected volume
//! `kube-api-access-xxxxx` is added and mounted in every container: a token that the kubelet asks for and renews, the
//! cluster's certificate authority from the ConfigMap `kube-root-ca.crt`, and the namespace's name.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    ConfigMapProjection, Container, DownwardAPIProjection, DownwardAPIVolumeFile, KeyToPath, ObjectFieldSelector,
    PodSpec, ProjectedVolumeSource, ServiceAccount, ServiceAccountTokenProjection, Volume, VolumeMount,
    VolumeProjection,
};

use object::pod::spec::TOKEN_VOLUME_PREFIX;
use object::pod::{MIRROR, containers};
use object::random::Random;
use object::{Kind, Object, Pod, Status};

use super::{Attributes, forbidden};

/// Where every container finds its token.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The account of a Pod that names none; the service account controller makes one in each namespace.
const DEFAULT_ACCOUNT: &str = "default";

/// An hour, and seven seconds that tell these tokens from those that a user asked for.
const TOKEN_EXPIRATION_SECONDS: i64 = 60 * 60 + 7;

/// Gives a new Pod its account, the volume with the token, and the account's pull secrets.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    if !concerns(attributes, object) {
        return Ok(());
    }
    let Object::Pod(pod) = object else { return Ok(()) };
    let spec = Arc::make_mut(pod).spec.get_or_insert_default();
    let named = [&spec.service_account_name, &spec.service_account].into_iter().flatten().find(|name| !name.is_empty());
    let name = named.cloned().unwrap_or_else(|| DEFAULT_ACCOUNT.to_owned());
    // The second is the old name of the first; the API shows both.
    spec.service_account_name = Some(name.clone());
    spec.service_account = Some(name);
    let account = account_of(attributes, pod)?;
    let spec = Arc::make_mut(pod).spec.get_or_insert_default();
    if automounts(spec, &account) {
        let mut whole = PodSpec::from(std::mem::take(spec));
        mount_token(&mut whole, attributes.random);
        *spec = whole.into();
    }
    if spec.image_pull_secrets.as_ref().is_none_or(Vec::is_empty) {
        spec.image_pull_secrets.clone_from(&account.image_pull_secrets);
    }
    Ok(())
}

/// The account must be there, no matter where the Pod got its name from.
pub fn validate(attributes: &Attributes, object: &Object) -> Result<(), Status> {
    match object {
        Object::Pod(pod) if concerns(attributes, object) => account_of(attributes, pod).map(|_| ()),
        _ => Ok(()),
    }
}

fn concerns(attributes: &Attributes, object: &Object) -> bool {
    let mirror = object.meta().annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MIRROR));
    object.kind() == Kind::Pod && attributes.is_create() && attributes.request.subresource.is_none() && !mirror
}

fn account_of(attributes: &Attributes, pod: &Arc<Pod>) -> Result<Arc<ServiceAccount>, Status> {
    let name = pod.spec.as_ref().and_then(|spec| spec.service_account_name.as_deref()).unwrap_or_default();
    let namespace = &attributes.request.namespace;
    match attributes.reader.get(Kind::ServiceAccount, namespace, name) {
        Some(Object::ServiceAccount(account)) => Ok(account),
        _ => {
            let why =
                format!("error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found");
            Err(forbidden(attributes.request, Some(&Object::Pod(pod.clone())), &why))
        }
    }
}

/// The Pod decides; if it does not, its account; if neither does: yes.
fn automounts(spec: &PodSpec, account: &ServiceAccount) -> bool {
    spec.automount_service_account_token.or(account.automount_service_account_token).unwrap_or(true)
}

/// Adds the mount to each container that has nothing there, and the volume if any needed it.
fn mount_token(spec: &mut PodSpec, random: &mut Random) {
    let volumes = spec.volumes.as_deref().unwrap_or_default();
    let there =
        volumes.iter().find(|volume| volume.name.starts_with(TOKEN_VOLUME_PREFIX)).map(|volume| volume.name.clone());
    if containers(spec).all(has_mount) {
        return;
    }
    let name = there.clone().unwrap_or_else(|| format!("{TOKEN_VOLUME_PREFIX}{}", random.suffix()));
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        if !has_mount(container) {
            container.volume_mounts.get_or_insert_default().push(VolumeMount {
                name: name.clone(),
                read_only: Some(true),
                mount_path: MOUNT_PATH.to_owned(),
                ..VolumeMount::default()
            });
        }
    }
    if there.is_none() {
        spec.volumes.get_or_insert_default().push(token_volume(name));
    }
}

fn has_mount(container: &Container) -> bool {
    container.volume_mounts.iter().flatten().any(|mount| mount.mount_path == MOUNT_PATH)
}

/// Mirrors `TokenVolumeSource`.
fn token_volume(name: String) -> Volume {
    let token = ServiceAccountTokenProjection {
        path: "token".into(),
        expiration_seconds: Some(TOKEN_EXPIRATION_SECONDS),
        ..Default::default()
    };
    let authority = ConfigMapProjection {
        name: "kube-root-ca.crt".into(),
        items: Some(vec![KeyToPath { key: "ca.crt".into(), path: "ca.crt".into(), mode: None }]),
        optional: None,
    };
    let namespace = DownwardAPIVolumeFile {
        path: "namespace".into(),
        field_ref: Some(ObjectFieldSelector {
            api_version: Some("v1".into()),
            field_path: "metadata.namespace".into(),
        }),
        ..Default::default()
    };
    let sources = vec![
        VolumeProjection { service_account_token: Some(token), ..Default::default() },
        VolumeProjection { config_map: Some(authority), ..Default::default() },
        VolumeProjection {
            downward_api: Some(DownwardAPIProjection { items: Some(vec![namespace]) }),
            ..Default::default()
        },
    ];
    let projected = ProjectedVolumeSource { sources: Some(sources), default_mode: Some(0o644) };
    Volume { name, projected: Some(projected), ..Volume::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{Objects, create};
    use super::*;

    fn objects() -> Objects {
        let account = |name: &str, more: Value| {
            let mut account =
                json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "dev", "name": name}});
            account.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            account
        };
        Objects::parse(&[
            account("default", json!({"imagePullSecrets": [{"name": "registry"}]})),
            account("quiet", json!({"automountServiceAccountToken": false})),
        ])
    }

    fn pod(spec: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "dev", "name": "p"}, "spec": spec})
    }

    #[test]
    fn a_pod_gets_its_account_and_token() {
        let spec = json!({"containers": [{"name": "app"}], "initContainers": [{"name": "init"}]});
        let got = create(admit, &objects(), pod(spec)).expect("admitted").to_json();
        let name = got["spec"]["volumes"][0]["name"].as_str().expect("a volume").to_owned();
        assert!(name.starts_with("kube-api-access-") && name.len() == "kube-api-access-c4bdh".len(), "{name}");
        let mount = json!([{"name": name, "readOnly": true, "mountPath": MOUNT_PATH}]);
        let expected = json!({
            "volumes": [{"name": name, "projected": {"sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [
                    {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
            ], "defaultMode": 420}}],
            "initContainers": [{"name": "init", "volumeMounts": mount}],
            "containers": [{"name": "app", "volumeMounts": mount}],
            "serviceAccountName": "default", "serviceAccount": "default",
            "imagePullSecrets": [{"name": "registry"}],
        });
        assert_eq!(got["spec"], expected);
        let again = create(admit, &objects(), got.clone()).expect("admitted").to_json();
        assert_eq!(again["spec"], got["spec"], "nothing is added twice");
    }

    #[test]
    fn a_token_can_be_declined() {
        for spec in [
            json!({"containers": [{"name": "app"}], "automountServiceAccountToken": false}),
            json!({"containers": [{"name": "app"}], "serviceAccountName": "quiet"}),
            json!({"containers": [{"name": "app", "volumeMounts": [{"name": "v", "mountPath": MOUNT_PATH}]}]}),
        ] {
            let got = create(admit, &objects(), pod(spec.clone())).expect("admitted").to_json();
            assert_eq!(got["spec"]["volumes"], Value::Null, "{spec}");
        }
    }

    #[test]
    fn the_account_must_exist() {
        let spec = json!({"containers": [{"name": "app"}], "serviceAccountName": "nope"});
        let status = create(admit, &objects(), pod(spec)).expect_err("no such account");
        let message = "pods \"p\" is forbidden: error looking up service account dev/nope: serviceaccount \"nope\" \
                       not found";
        assert_eq!((status.code, status.message.as_str()), (403, message));
    }
}
