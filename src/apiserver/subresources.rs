//! The endpoints of parts of Pods: binding, connections, log. Evictions are in [`super::eviction`], tokens in
//! [`super::tokens`], the scale of an object in [`super::scale`].

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;

use object::pod::assigned_node;
use object::pod::status::PodCondition;
use object::well_known::KUBELET_PORT;
use object::{Accessor, Kind, Object, Pod, Status};
use wire::{Binding, Body, Request, Response, Subresource, Verb};

use super::pipeline::decoding::place_in_namespace;
use super::pipeline::preconditions::wrong_meta;
use super::{ApiServer, Handling, Outcome, admission};
use rest::body::binding_of;

impl ApiServer {
    /// `POST pods/NAME/binding`: the Pod gets its node, once. Mirrors `pkg/registry/core/pod/storage`.
    pub(super) fn bind(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let Body::Binding(binding) = &request.body else {
            return Err(Status::bad_request("the request carries no Binding"));
        };
        self.bind_pod(handling, &request.name, binding.clone())
    }

    /// `POST bindings`: the old way, where only the Binding says which Pod it is about. Mirrors `LegacyBindingREST`.
    pub(super) fn bind_named(&mut self, handling: &mut Handling) -> Outcome {
        let mut sent = self.incoming(handling)?;
        place_in_namespace(&mut sent, &handling.request.namespace)?;
        let Object::Binding(sent) = sent else { return Err(Status::bad_request("the request carries no Binding")) };
        let name = sent.metadata.name.clone().unwrap_or_default();
        let binding = binding_of(Arc::unwrap_or_clone(sent))?;
        if name.is_empty() {
            return Err(Status::bad_request("Name parameter required."));
        }
        self.bind_pod(handling, &name, binding)
    }

    fn bind_pod(&mut self, handling: &mut Handling, name: &str, mut binding: Binding) -> Outcome {
        admission::admit_binding(&mut binding, &self.store);
        handling.stage("mutating admission", || "PodTopologyLabels".into());
        let old = self.stored(Kind::Pod, &handling.request.namespace, name)?;
        let new = bound(&old, &binding, handling)?;
        self.put(handling, old.revision(), new)?;
        Ok((201, Response::Success { uid: String::new() }))
    }

    /// `pods/NAME/exec`, `attach`, `portforward`: the kubelet that the client talks to from now on. Mirrors `ExecLocation`,
    /// `AttachLocation` and `PortForwardLocation` of `pkg/registry/core/pod/strategy.go`.
    pub(super) fn connect(&mut self, handling: &mut Handling) -> Outcome {
        self.may_connect(handling)?;
        let container = match (&handling.request.subresource, &handling.request.body) {
            (Some(Subresource::Exec), Body::Exec { container, .. }) => Some(container.as_str()),
            (Some(Subresource::Attach), Body::Attach { container }) => Some(container.as_str()),
            (Some(Subresource::PortForward), Body::None) => None,
            _ => return Err(Status::bad_request("the request does not say to what it wants to be connected")),
        };
        let passed_on = self.passed_on(handling, container)?;
        match &handling.request.body {
            Body::Exec { command, .. } if command.is_empty() => {
                Err(Status::bad_request("you must specify at least one command for the container"))
            }
            _ => Ok((101, passed_on)),
        }
    }

    /// A WebSocket begins with a GET, which a user who only reads may send. So a GET needs the permission to `create`, too.
    /// Mirrors `ensureAuthorizedForVerb` of `pkg/registry/core/pod/rest/subresources.go`.
    fn may_connect(&self, handling: &Handling) -> Result<(), Status> {
        match handling.request.verb {
            Verb::Get => {
                let creates = Request { verb: Verb::Create, ..handling.request.clone() };
                self.authorizer.authorize(&creates, &self.store).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// `GET pods/NAME/log`: whose log it is, and who keeps it. Mirrors `LogLocation` of `pkg/registry/core/pod/strategy.go`.
    pub(super) fn log(&mut self, handling: &mut Handling) -> Outcome {
        let container = match &handling.request.body {
            Body::Log { container } => container,
            _ => return Err(Status::bad_request("the request carries no PodLogOptions")),
        };
        match self.kubelet_of(handling, Some(container))? {
            Some(kubelet) => Ok((200, kubelet)),
            // There is no log before there is a node, and that is all there is to say.
            None => Ok((204, Response::Page { content_type: "text/plain", body: String::new() })),
        }
    }

    fn passed_on(&self, handling: &Handling, container: Option<&str>) -> Result<Response, Status> {
        let why = || Status::bad_request(format!("pod {} does not have a host assigned", handling.request.name));
        self.kubelet_of(handling, container)?.ok_or_else(why)
    }

    /// Which kubelet is asked about a Pod, or about a container of it; an empty name means the only one. None: the Pod
    /// has no node yet.
    fn kubelet_of(&self, handling: &Handling, container: Option<&str>) -> Result<Option<Response>, Status> {
        let request = handling.request;
        let Object::Pod(pod) = self.stored(Kind::Pod, &request.namespace, &request.name)? else {
            return Err(Status::not_found(Kind::Pod, &request.name));
        };
        let container = container.map_or(Ok(""), |name| container_of(&pod, name))?.to_owned();
        let Some(node) = assigned_node(&pod) else { return Ok(None) };
        let Object::Node(host) = self.stored(Kind::Node, "", node)? else {
            return Err(Status::not_found(Kind::Node, node));
        };
        Ok(Some(Response::PassedOn { node: node.to_owned(), kubelet: kubelet_at(&host)?, container }))
    }
}

/// Where a node's kubelet listens: `172.18.0.10:10250`. Mirrors `ConnectionInfoGetter`.
pub(super) fn kubelet_at(node: &Node) -> Result<String, Status> {
    let status = node.status.as_ref();
    let mut addresses = status.into_iter().flat_map(|status| status.addresses.iter().flatten());
    let internal = addresses.find(|address| address.type_ == "InternalIP");
    let address = internal.ok_or_else(|| Status::internal("no preferred addresses found; known addresses: []"))?;
    let endpoint = status.and_then(|status| status.daemon_endpoints.as_ref()?.kubelet_endpoint.as_ref());
    Ok(format!("{}:{}", address.address, endpoint.map_or(KUBELET_PORT, |endpoint| endpoint.port)))
}

/// The container that a request names, or the only one beside init containers. Mirrors `validateContainer`.
fn container_of<'a>(pod: &'a Pod, name: &'a str) -> Result<&'a str, Status> {
    let spec = pod.spec.as_ref();
    let init = spec.iter().flat_map(|spec| spec.init_containers.iter().flatten()).map(|c| c.name.as_str());
    let added = spec.iter().flat_map(|spec| spec.ephemeral_containers.iter().flatten()).map(|c| c.name.as_str());
    let own: Vec<&str> = spec.iter().flat_map(|spec| &spec.containers).map(|c| c.name.as_str()).collect();
    let all: Vec<&str> = init.chain(own.iter().copied()).chain(added).collect();
    let pod = pod.metadata.name();
    match (name, own.as_slice()) {
        ("", [only]) => Ok(only),
        ("", _) => {
            let all = all.join(" ");
            Err(Status::bad_request(format!(
                "a container name must be specified for pod {pod}, choose one of: [{all}]"
            )))
        }
        (name, _) if all.contains(&name) => Ok(name),
        (name, _) => Err(Status::bad_request(format!("container {name} is not valid for pod {pod}"))),
    }
}

/// Sets a Pod's condition of the same type, or adds it.
pub(super) fn set_condition(conditions: &mut Vec<PodCondition>, new: PodCondition) {
    match conditions.iter_mut().find(|condition| condition.type_ == new.type_) {
        Some(condition) => *condition = new,
        None => {
            // There are few, and a list that grows by itself takes room for four.
            conditions.reserve_exact(1);
            conditions.push(new);
        }
    }
}

/// The Pod with its node, or why it cannot have it.
fn bound(old: &Object, binding: &Binding, handling: &Handling) -> Result<Object, Status> {
    let Object::Pod(pod) = old else { return Err(Status::bad_request("only Pods are bound")) };
    let refuse = |why: String| Err(Status::conflict_with("", "pods/binding", old.name(), &why));
    let meta = &pod.metadata;
    for (what, wanted, there) in
        [("UID", &binding.uid, &meta.uid), ("ResourceVersion", &binding.resource_version, &meta.resource_version)]
    {
        if wanted.is_some() && wanted != there {
            let wanted = wanted.as_deref().unwrap_or_default();
            // Of the preconditions the store says so itself, and speaks of the Pod.
            return Err(Status::conflict(Kind::Pod, old.name(), &wrong_meta(old, what, wanted)));
        }
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return refuse(format!("pod {} is being deleted, cannot be assigned to a host", old.name()));
    }
    if let Some(node) = assigned_node(pod) {
        return refuse(format!("pod {} is already assigned to node \"{node}\"", old.name()));
    }
    if pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty()) {
        return refuse(format!("pod {} has non-empty .spec.schedulingGates", old.name()));
    }
    let mut pod = pod.clone();
    let new = Arc::make_mut(&mut pod);
    new.spec.get_or_insert_default().node_name = Some(binding.node.clone());
    if !binding.annotations.is_empty() {
        let annotations = new.metadata.annotations.get_or_insert_default();
        annotations.extend(binding.annotations.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
    if !binding.labels.is_empty() {
        let labels = new.metadata.labels.get_or_insert_default();
        labels.extend(binding.labels.iter().map(|(k, v)| (k.clone(), v.clone())));
    }
    let status = new.status.get_or_insert_default();
    status.nominated_node_name = None;
    let conditions = status.conditions.get_or_insert_default();
    let scheduled = PodCondition {
        type_: "PodScheduled".into(),
        status: "True".into(),
        last_transition_time: Some(handling.now.time()),
        ..PodCondition::default()
    };
    set_condition(conditions, scheduled);
    Ok(Object::Pod(pod))
}
