//! The Node authorizer: what a kubelet may do. Mirrors `plugin/pkg/auth/authorizer/node`.
//!
//! A kubelet runs on a machine that may be broken into, so it may only see what its own Pods need: the authorizer keeps
//! a graph from Secrets, ConfigMaps and service accounts through the Pods that name them to the nodes they run on, and
//! a read is allowed if there is a path to the kubelet's node. What it may *change* is checked again, more finely, by
//! the admission plugin NodeRestriction.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Volume};

use object::pod::{assigned_node, containers};
use object::reader::Reader;
use object::volume::claims_behind;
use object::{Accessor, Kind, Object, Pod};
use wire::{Request, Subresource, User, Verb};

use super::attributes::{Attributes, exact_term};

/// Where the heartbeat leases of nodes are.
pub const NODE_LEASES: &str = "kube-node-lease";

/// What an authorizer thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// Yes, for this reason.
    Allow(&'static str),
    /// The next authorizer decides; if none allows the request, this is why.
    None(Option<String>),
}

/// The node that a kubelet speaks for. Mirrors `nodeidentifier.NodeIdentity`.
pub fn node_of(user: &User) -> Option<&str> {
    let name = user.name.strip_prefix("system:node:")?;
    user.groups.iter().any(|group| group == "system:nodes").then_some(name)
}

/// An object that Pods refer to.
type Reference = (Kind, String, String);

/// Which objects the Pods bound to each node name, and how many Pods name them.
#[derive(Clone, Debug, Default)]
pub struct NodeGraph {
    nodes: BTreeMap<String, BTreeMap<Reference, u32>>,
}

impl NodeGraph {
    /// What the Node authorizer thinks of a request.
    pub fn authorize(&self, request: &Request, reader: &dyn Reader) -> Opinion {
        let Some(node) = node_of(&request.user) else { return Opinion::None(None) };
        match request.kind {
            Kind::Secret | Kind::ConfigMap => self.read(node, request),
            Kind::ServiceAccount => self.create_token(node, request),
            Kind::Lease => lease(node, request),
            Kind::Node => own_node(node, request),
            Kind::Pod => own_pods(node, request, reader),
            Kind::PersistentVolumeClaim | Kind::PersistentVolume | Kind::VolumeAttachment => {
                self.storage(node, request, reader)
            }
            Kind::CSINode => own_drivers(node, request),
            Kind::CSIDriver if is_read(request.verb) => Opinion::Allow("kubelets read CSIDrivers"),
            Kind::RuntimeClass if is_read(request.verb) => Opinion::Allow("kubelets read RuntimeClasses"),
            Kind::Service if is_read(request.verb) => Opinion::Allow("kubelets read Services"),
            Kind::Event if matches!(request.verb, Verb::Create | Verb::Patch | Verb::Update) => {
                Opinion::Allow("kubelets report Events")
            }
            Kind::CertificateSigningRequest
                if request.subresource.is_none() && (request.verb == Verb::Create || is_read(request.verb)) =>
            {
                Opinion::Allow("kubelets ask for certificates")
            }
            Kind::TokenReview | Kind::SubjectAccessReview | Kind::LocalSubjectAccessReview
                if request.verb == Verb::Create =>
            {
                Opinion::Allow("kubelets ask who asks them, and whether they may")
            }
            _ => Opinion::None(None),
        }
    }

    /// A Pod was bound, or is gone. Its node never changes, and what it names hardly does, so nothing else counts.
    pub fn pod_changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let (before, after) = (old.and_then(bound_pod), new.and_then(bound_pod));
        match (before, after) {
            (None, Some((node, pod))) => {
                let references = self.nodes.entry(node.to_owned()).or_default();
                for reference in references_of(pod) {
                    *references.entry(reference).or_insert(0) += 1;
                }
            }
            (Some((node, pod)), None) => self.forget(node, pod),
            _ => {}
        }
    }

    fn forget(&mut self, node: &str, pod: &Pod) {
        let Some(references) = self.nodes.get_mut(node) else { return };
        for reference in references_of(pod) {
            if let Some(count) = references.get_mut(&reference) {
                *count -= 1;
                if *count == 0 {
                    references.remove(&reference);
                }
            }
        }
        if references.is_empty() {
            self.nodes.remove(node);
        }
    }

    fn read(&self, node: &str, request: &Request) -> Opinion {
        if !is_read(request.verb) {
            return no("can only read resources of this type");
        }
        if request.subresource.is_some() {
            return no("cannot read subresource");
        }
        if request.namespace.is_empty() {
            return no("can only read namespaced object of this type");
        }
        let name = Attributes::of(request).name;
        if name.is_empty() {
            return no("No Object name found");
        }
        self.path(node, request.kind, &request.namespace, name, "a Pod of the node names it")
    }

    /// Claims that Pods of the node name, the volumes bound to these, and attachments to the node.
    fn storage(&self, node: &str, request: &Request, reader: &dyn Reader) -> Opinion {
        let resizes = request.kind == Kind::PersistentVolumeClaim && request.subresource == Some(Subresource::Status);
        match (request.verb, request.subresource) {
            (Verb::Get, None) => {}
            (Verb::Update | Verb::Patch, _) if resizes => {}
            _ => return no("can only get individual resources of this type"),
        }
        let why = "a Pod of the node uses it";
        match reader.get(request.kind, &request.namespace, &request.name) {
            Some(Object::PersistentVolume(volume)) => {
                let claim = volume.spec.as_ref().and_then(|spec| spec.claim_ref.clone()).unwrap_or_default();
                let (namespace, name) = (claim.namespace.unwrap_or_default(), claim.name.unwrap_or_default());
                self.path(node, Kind::PersistentVolumeClaim, &namespace, &name, why)
            }
            Some(Object::VolumeAttachment(attachment)) if attachment.spec.node_name == node => Opinion::Allow(why),
            _ => self.path(node, request.kind, &request.namespace, &request.name, why),
        }
    }

    fn create_token(&self, node: &str, request: &Request) -> Opinion {
        if request.verb != Verb::Create || request.name.is_empty() {
            return no("can only create tokens for individual service accounts");
        }
        if request.subresource != Some(Subresource::Token) {
            return no("can only create token subresource of service account");
        }
        self.path(node, request.kind, &request.namespace, &request.name, "a Pod of the node runs as this account")
    }

    fn path(&self, node: &str, kind: Kind, namespace: &str, name: &str, why: &'static str) -> Opinion {
        let reference = (kind, namespace.to_owned(), name.to_owned());
        if self.nodes.get(node).is_some_and(|references| references.contains_key(&reference)) {
            return Opinion::Allow(why);
        }
        no(format!("no relationship found between node '{node}' and this object"))
    }
}

fn lease(node: &str, request: &Request) -> Opinion {
    if !matches!(request.verb, Verb::Get | Verb::Create | Verb::Update | Verb::Patch | Verb::Delete) {
        return no("can only get, create, update, patch, or delete a node lease");
    }
    if request.namespace != NODE_LEASES {
        return no(format!("can only access leases in the \"{NODE_LEASES}\" system namespace"));
    }
    // The name of a lease to be created is in its body, which NodeRestriction sees.
    if request.verb != Verb::Create && request.name != node {
        return no("can only access node lease with the same name as the requesting node");
    }
    Opinion::Allow("the node's own lease")
}

fn own_drivers(node: &str, request: &Request) -> Opinion {
    if !matches!(request.verb, Verb::Get | Verb::Create | Verb::Update | Verb::Patch | Verb::Delete) {
        return no("can only get, create, update, patch, or delete a CSINode");
    }
    if request.verb != Verb::Create && request.name != node {
        return no("can only access CSINode with the same name as the requesting node");
    }
    Opinion::Allow("the node's own CSINode")
}

fn own_node(node: &str, request: &Request) -> Opinion {
    match (request.verb, request.subresource) {
        // Which node it is, NodeRestriction sees.
        (Verb::Create | Verb::Update | Verb::Patch, None) => Opinion::Allow("kubelets register themselves"),
        (Verb::Update | Verb::Patch, Some(Subresource::Status)) => Opinion::Allow("kubelets report their status"),
        (Verb::Get | Verb::List | Verb::Watch, None) => match Attributes::of(request).name {
            name if name == node => Opinion::Allow("its own Node"),
            "" => no(format!("node '{node}' cannot read all nodes, only its own Node object")),
            name => no(format!("node '{node}' cannot read '{name}', only its own Node object")),
        },
        _ => Opinion::None(None),
    }
}

fn own_pods(node: &str, request: &Request, reader: &dyn Reader) -> Opinion {
    match (request.verb, request.subresource) {
        (Verb::List | Verb::Watch, None) => {
            match exact_term(&request.options.field_selector, "spec.nodeName") == Some(node) {
                true => Opinion::Allow("the Pods of the node"),
                false => no("can only list/watch pods with spec.nodeName field selector"),
            }
        }
        (Verb::Get, None) => {
            let pod = reader.get(Kind::Pod, &request.namespace, &request.name);
            match pod.as_ref().and_then(bound_pod) {
                Some((there, _)) if there == node => Opinion::Allow("a Pod of the node"),
                _ => no(format!("no relationship found between node '{node}' and this object")),
            }
        }
        // Which Pods, NodeRestriction sees.
        (Verb::Create, None) => Opinion::Allow("kubelets show their static Pods"),
        (Verb::Delete, None) => Opinion::Allow("kubelets remove their Pods"),
        (Verb::Update | Verb::Patch, Some(Subresource::Status)) => Opinion::Allow("kubelets report on their Pods"),
        _ => Opinion::None(None),
    }
}

fn no(reason: impl Into<String>) -> Opinion {
    Opinion::None(Some(reason.into()))
}

fn is_read(verb: Verb) -> bool {
    matches!(verb, Verb::Get | Verb::List | Verb::Watch)
}

/// The Pod and its node, if it has one.
fn bound_pod(object: &Object) -> Option<(&str, &Pod)> {
    let Object::Pod(pod) = object else { return None };
    Some((assigned_node(pod)?, pod))
}

/// What a Pod names. Mirrors `podutil.VisitPodSecretNames` and its like.
fn references_of(pod: &Pod) -> Vec<Reference> {
    let namespace = pod.metadata.namespace();
    let Some(spec) = &pod.spec else { return Vec::new() };
    let mut names: Vec<(Kind, &str)> = Vec::new();
    let account = spec.service_account_name.as_deref().filter(|name| !name.is_empty());
    names.extend(account.map(|name| (Kind::ServiceAccount, name)));
    let pulls = spec.image_pull_secrets.as_deref().unwrap_or_default();
    names.extend(pulls.iter().map(|secret| (Kind::Secret, secret.name.as_str())));
    for volume in spec.volumes.as_deref().unwrap_or_default() {
        volume_names(volume, &mut names);
    }
    for container in containers(spec) {
        environment_names(container, &mut names);
    }
    let claims = claims_behind(pod).map(|claim| (Kind::PersistentVolumeClaim, claim.name));
    let mut names: Vec<_> = names.into_iter().map(|(kind, name)| (kind, name.into())).chain(claims).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|(kind, name)| (kind, namespace.to_owned(), name.into_owned())).collect()
}

fn volume_names<'a>(volume: &'a Volume, names: &mut Vec<(Kind, &'a str)>) {
    let secret = volume.secret.as_ref().and_then(|s| s.secret_name.as_deref());
    names.extend(secret.map(|name| (Kind::Secret, name)));
    names.extend(volume.config_map.as_ref().map(|c| (Kind::ConfigMap, c.name.as_str())));
    for source in volume.projected.iter().flat_map(|p| p.sources.iter().flatten()) {
        names.extend(source.secret.as_ref().map(|s| (Kind::Secret, s.name.as_str())));
        names.extend(source.config_map.as_ref().map(|c| (Kind::ConfigMap, c.name.as_str())));
    }
}

fn environment_names<'a>(container: &'a Container, names: &mut Vec<(Kind, &'a str)>) {
    for from in container.env_from.iter().flatten() {
        names.extend(from.secret_ref.as_ref().map(|s| (Kind::Secret, s.name.as_str())));
        names.extend(from.config_map_ref.as_ref().map(|c| (Kind::ConfigMap, c.name.as_str())));
    }
    for from in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
        names.extend(from.secret_key_ref.as_ref().map(|s| (Kind::Secret, s.name.as_str())));
        names.extend(from.config_map_key_ref.as_ref().map(|c| (Kind::ConfigMap, c.name.as_str())));
    }
}
