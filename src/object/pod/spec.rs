//! A Pod's spec: Pods made alike share one copy of it.
//!
//! Thousands of Pods of one owner differ in two things: the node that each is bound to, and the name of the volume with the
//! token of its service account, which ends in five letters of chance. These two a Pod has to itself; all else it can
//! share with its siblings ([`Spec::share_with`]), and with its own earlier versions.
//!
//! Must hold:
//! - What a spec is made from is what [`Spec::whole`], and printing it, give back. Kept by `what_goes_in_comes_out`.

use std::ops::{Deref, DerefMut};

use k8s_openapi::api::core::v1::{PodSpec, Volume, VolumeMount};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::shared::Shared;

/// How the name begins of the volume with the token of a Pod's service account.
pub const TOKEN_VOLUME_PREFIX: &str = "kube-api-access-";

/// What that volume is called in what is shared. No volume can have this name.
const TOKEN_VOLUME: &str = "kube-api-access-*";

/// What a Pod should run. Its fields are those of the spec that `k8s-openapi` has, with one exception: the volume with the
/// token, and its mounts, have a name that only [`Spec::volumes`], [`Spec::name_of`] and [`Spec::whole`] tell. Who reads the fields
/// themselves is known to a test, `who_reads_a_pods_volumes_is_known`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// The node that it is bound to. Of what is shared it is no part.
    pub node_name: Option<String>,
    token_volume: Option<Box<str>>,
    shared: Shared<PodSpec>,
}

impl Spec {
    /// All of it in one.
    pub fn whole(&self) -> PodSpec {
        self.clone().into()
    }

    /// The volumes, by their own names.
    pub fn volumes(&self) -> impl ExactSizeIterator<Item = PodVolume<'_>> {
        let volumes = self.shared.volumes.as_deref().unwrap_or_default().iter();
        volumes.map(|source| PodVolume { name: self.name_of(&source.name), source })
    }

    /// The own name of a volume that is found under this name in what is shared.
    pub fn name_of<'a>(&'a self, volume: &'a str) -> &'a str {
        self.token_volume.as_deref().filter(|_| volume == TOKEN_VOLUME).unwrap_or(volume)
    }

    /// Keeps one copy with a Pod that was made alike. Whether the two are alike, apart from what each has of its own.
    pub fn share_with(&mut self, sibling: &Spec) -> bool {
        let alike = self.shared == sibling.shared;
        if alike {
            self.shared = sibling.shared.clone();
        }
        alike
    }

    /// Whether both keep one copy of what is not their own.
    pub fn shares_with(&self, other: &Spec) -> bool {
        self.shared.same(&other.shared)
    }

    /// Whether both are one in memory, and what each has of its own is equal.
    pub fn same(&self, other: &Spec) -> bool {
        self.shared.same(&other.shared) && self.node_name == other.node_name && self.token_volume == other.token_volume
    }
}

impl From<PodSpec> for Spec {
    fn from(mut whole: PodSpec) -> Spec {
        let is_token = |volume: &&Volume| volume.projected.is_some() && volume.name.starts_with(TOKEN_VOLUME_PREFIX);
        let token = whole.volumes.iter().flatten().find(is_token).map(|volume| volume.name.clone());
        if let Some(name) = &token {
            rename(&mut whole, name, TOKEN_VOLUME);
        }
        Spec { node_name: whole.node_name.take(), token_volume: token.map(Into::into), shared: whole.into() }
    }
}

impl From<Spec> for PodSpec {
    fn from(spec: Spec) -> PodSpec {
        let mut whole = spec.shared.into_inner();
        whole.node_name = spec.node_name;
        if let Some(name) = &spec.token_volume {
            rename(&mut whole, TOKEN_VOLUME, name);
        }
        whole
    }
}

/// Calls the volume `from` by the name `to`, where it is declared and where it is mounted.
fn rename(spec: &mut PodSpec, from: &str, to: &str) {
    let is = |name: &str| name == from;
    if let Some(volume) = spec.volumes.iter_mut().flatten().find(|volume| is(&volume.name)) {
        volume.name = to.to_owned();
    }
    let mounts = spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten());
    let mounts = mounts.map(|container| &mut container.volume_mounts);
    let added = spec.ephemeral_containers.iter_mut().flatten().map(|container| &mut container.volume_mounts);
    let mounts = mounts.chain(added).filter_map(Option::as_mut).flatten();
    mounts.filter(|mount: &&mut VolumeMount| is(&mount.name)).for_each(|mount| mount.name = to.to_owned());
}

impl Deref for Spec {
    type Target = PodSpec;

    fn deref(&self) -> &PodSpec {
        &self.shared
    }
}

impl DerefMut for Spec {
    fn deref_mut(&mut self) -> &mut PodSpec {
        &mut self.shared
    }
}

impl Serialize for Spec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.whole().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Spec, D::Error> {
        PodSpec::deserialize(deserializer).map(Spec::from)
    }
}

/// A volume of a Pod, by its own name.
#[derive(Clone, Copy, Debug)]
pub struct PodVolume<'a> {
    /// Its name.
    pub name: &'a str,
    source: &'a Volume,
}

impl<'a> PodVolume<'a> {
    /// What it is made of. The name there need not be its own.
    pub fn source(&self) -> &'a Volume {
        self.source
    }
}

impl Deref for PodVolume<'_> {
    type Target = Volume;

    fn deref(&self) -> &Volume {
        self.source
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(node: &str, token: &str) -> Value {
        let mounts = json!([{"name": token, "mountPath": "/token"}, {"name": "data", "mountPath": "/data"}]);
        let container = json!({"name": "app", "volumeMounts": mounts});
        let volumes = json!([{"name": "data", "emptyDir": {}}, {"name": token, "projected": {"sources": []}}]);
        json!({
            "containers": [container], "ephemeralContainers": [container], "initContainers": [container],
            "nodeName": node, "volumes": volumes,
        })
    }

    fn read(value: &Value) -> Spec {
        serde_json::from_value(value.clone()).expect("a spec")
    }

    #[test]
    fn what_goes_in_comes_out() {
        for value in [
            spec("node-1", "kube-api-access-abcde"),
            spec("node-1", TOKEN_VOLUME),
            spec("node-1", "token"),
            json!({"containers": []}),
            json!({"containers": [], "volumes": [{"name": "kube-api-access-abcde", "emptyDir": {}}]}),
            json!({"containers": [], "volumes": [
                {"name": "kube-api-access-abcde", "projected": {}}, {"name": "kube-api-access-fghij", "projected": {}},
            ]}),
        ] {
            assert_eq!(json!(read(&value)), value);
        }
    }

    #[test]
    fn siblings_share_what_is_alike_and_keep_what_is_their_own() {
        let first = read(&spec("node-1", "kube-api-access-abcde"));
        let mut second = read(&spec("node-2", "kube-api-access-fghij"));
        assert!(!first.shared.same(&second.shared));
        assert!(second.share_with(&first));
        assert!(first.shared.same(&second.shared));
        assert_eq!(json!(second), spec("node-2", "kube-api-access-fghij"));
        let names = |spec: &Spec| spec.volumes().map(|volume| volume.name.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            (names(&first)[1].as_str(), names(&second)[1].as_str()),
            ("kube-api-access-abcde", "kube-api-access-fghij")
        );

        second.containers[0].image = Some("nginx".into());
        assert_eq!(first.containers[0].image, None);
        assert!(!second.share_with(&first));
        assert!(!first.shared.same(&second.shared));
    }
}
