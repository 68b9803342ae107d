//! The endpoints of parts of objects: binding, connections to Pods, log, scale. Evictions are in [`super::eviction`], tokens in
//! [`super::tokens`].

use std::sync::Arc;

use k8s_openapi::api::autoscaling::v1::{Scale, ScaleSpec, ScaleStatus};
use k8s_openapi::api::core::v1::{self as core, PodCondition};
use serde_json::{Value, json};

use crate::object::meta::scale_metadata;
use crate::object::patch;
use crate::object::selector::{Selector, format_label_selector};
use crate::object::status::{Cause, Reason, aggregate};
use crate::object::{Kind, Object, Pod, Status};

use super::decode::Patched;
use super::request::{Binding, Body, Patch, Request, Response, Subresource, Verb};
use super::{ApiServer, Handling, Outcome, admission, apiextensions, create, decode};

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
        create::place_in_namespace(&mut sent, &handling.request.namespace)?;
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

    /// `pods/NAME/exec`, `attach`, `portforward`: with whom the client talks from now on. Mirrors `ExecLocation`,
    /// `AttachLocation` and `PortForwardLocation` of `pkg/registry/core/pod/strategy.go`.
    pub(super) fn connect(&mut self, handling: &mut Handling) -> Outcome {
        self.may_connect(handling)?;
        let container = match (&handling.request.subresource, &handling.request.body) {
            (Some(Subresource::Exec), Body::Exec { command, .. }) if command.is_empty() => {
                return Err(Status::bad_request("you must specify at least one command for the container"));
            }
            (Some(Subresource::Exec), Body::Exec { container, .. }) => Some(container.as_str()),
            (Some(Subresource::Attach), Body::Attach { container }) => Some(container.as_str()),
            (Some(Subresource::PortForward), Body::None) => None,
            _ => return Err(Status::bad_request("the request does not say to what it wants to be connected")),
        };
        Ok((101, self.passed_on(handling, container)?))
    }

    /// A WebSocket begins with a GET, which whoever only reads may send. So a GET needs the permission to `create`, too.
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
        Ok((200, self.passed_on(handling, Some(container))?))
    }

    /// Which kubelet is asked about a Pod, or about a container of it; an empty name means the only one.
    fn passed_on(&self, handling: &Handling, container: Option<&str>) -> Result<Response, Status> {
        let request = handling.request;
        let Object::Pod(pod) = self.stored(Kind::Pod, &request.namespace, &request.name)? else {
            return Err(Status::not_found(Kind::Pod, &request.name));
        };
        let container = container.map_or(Ok(""), |name| container_of(&pod, name))?.to_owned();
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
        if node.is_empty() {
            return Err(Status::bad_request(format!("pod {} does not have a host assigned", request.name)));
        }
        let Object::Node(host) = self.stored(Kind::Node, "", node)? else {
            return Err(Status::not_found(Kind::Node, node));
        };
        let status = host.status.clone().unwrap_or_default();
        let internal = status.addresses.into_iter().flatten().find(|address| address.type_ == "InternalIP");
        let address = internal.ok_or_else(|| Status::internal("no preferred addresses found; known addresses: []"))?;
        let port =
            status.daemon_endpoints.and_then(|ports| ports.kubelet_endpoint).map_or(10250, |endpoint| endpoint.port);
        let kubelet = format!("{}:{port}", address.address);
        Ok(Response::PassedOn { node: node.to_owned(), kubelet, container })
    }

    /// `scale`: the replica count of an object that has one, seen and changed alone. Mirrors the `ScaleREST`s.
    pub(super) fn scale(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let parent = self
            .stored(request.kind, &request.namespace, &request.name)
            .map_err(|_| no_scale(request.kind, Status::not_found(request.kind, &request.name)))?;
        let version = handling.custom.clone();
        let paths = version.as_ref().and_then(|version| version.scale.as_ref());
        let scale_of = |object: &Object| match (object, paths) {
            (Object::Custom(object), Some(paths)) => apiextensions::scale::scale_of(object, paths),
            _ => scale_of(object).ok_or_else(Status::not_served),
        };
        let scale = scale_of(&parent)?;
        if request.verb == Verb::Get {
            return Ok((200, Response::Scale(Box::new(scale))));
        }
        if let Body::Patch(Patch::Apply(config)) = &request.body {
            let path = paths.map_or(".spec.replicas", |paths| &paths.spec_replicas_path);
            let (new, written) = self.applied(handling, &parent, &parent_config(request.kind, config, path))?;
            let stored = self.store_update(handling, &parent, new, Some(written))?;
            return Ok((200, Response::Scale(Box::new(scale_of(&stored)?))));
        }
        let wanted = wanted_scale(handling, &scale)?;
        check_scale(&wanted, &parent)?;
        let replicas = wanted.spec.and_then(|spec| spec.replicas).unwrap_or(0);
        let mut new = parent.clone();
        new.meta_mut().resource_version = wanted.metadata.resource_version;
        match (&mut new, paths) {
            (Object::Custom(new), Some(paths)) => {
                apiextensions::scale::set_replicas(Arc::make_mut(new), paths, replicas);
            }
            (new, _) => set_replicas(new, replicas),
        }
        let stored = self.store_update(handling, &parent, new, None)?;
        Ok((200, Response::Scale(Box::new(scale_of(&stored)?))))
    }
}

/// What a Binding says. Mirrors `ValidatePodBinding`, whose errors are none that the server knows: they become a 500.
pub(super) fn binding_of(sent: core::Binding) -> Result<Binding, Status> {
    let (kind, node) = (sent.target.kind.unwrap_or_default(), sent.target.name.unwrap_or_default());
    let mut wrong = Vec::new();
    if !matches!(kind.as_str(), "" | "Node") {
        wrong.push(format!("target.kind: Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\""));
    }
    if node.is_empty() {
        wrong.push("target.name: Required value".to_owned());
    }
    if !wrong.is_empty() {
        return Err(Status::new(Reason::Unknown, aggregate(&wrong)));
    }
    Ok(Binding {
        uid: sent.metadata.uid.filter(|uid| !uid.is_empty()),
        resource_version: sent.metadata.resource_version.filter(|version| !version.is_empty()),
        node,
        annotations: sent.metadata.annotations.unwrap_or_default(),
        labels: sent.metadata.labels.unwrap_or_default(),
    })
}

/// An error that speaks of the scale of a built-in kind and not of the object.
fn no_scale(kind: Kind, mut status: Status) -> Status {
    let info = kind.info();
    if matches!(kind, Kind::Custom(_)) {
        return status;
    }
    // A ReplicationController has no group, and that of its scale is taken for it.
    let group = if info.group.is_empty() { "autoscaling" } else { info.group };
    let scale = format!("{}/scale", info.plural);
    status.message = status.message.replacen(&info.qualified_plural(), &format!("{scale}.{group}"), 1);
    if let Some(details) = &mut status.details {
        (details.kind, details.group) = (scale, group.to_owned());
    }
    status
}

/// The scale that the request wants, of an object that has this one.
fn wanted_scale(handling: &mut Handling, scale: &Scale) -> Result<Scale, Status> {
    let options = &handling.request.options;
    let mode = options.field_validation;
    let now = to_json(scale)?;
    let patched = |value: Value, how| decode::patched_scale(&value, how, (mode, &options.patch_problems));
    let (wanted, warnings) = match &handling.request.body {
        Body::Scale { replicas, resource_version } => {
            let mut wanted = scale.clone();
            wanted.metadata.resource_version.clone_from(resource_version);
            wanted.spec = Some(ScaleSpec { replicas: Some(*replicas) });
            (wanted, Vec::new())
        }
        Body::Patch(Patch::Merge(patch)) => patched(patch::merge(now, patch), Patched::Otherwise)?,
        // There is no list in it.
        Body::Patch(Patch::Strategic(patch)) => patched(patch::merge(now, patch), Patched::Strategic(patch))?,
        Body::Patch(Patch::Json(patch)) => patched(patch::json(now, patch)?, Patched::Otherwise)?,
        Body::Json(text) => decode::scale(text, mode)?,
        _ => return Err(Status::bad_request("the request carries no Scale")),
    };
    handling.warnings.extend(warnings);
    Ok(wanted)
}

/// Whether the scale is this object's and can be. Mirrors `ValidateScale`.
fn check_scale(wanted: &Scale, parent: &Object) -> Result<(), Status> {
    let (meta, kind, name) = (&wanted.metadata, parent.kind(), parent.name());
    super::update::check_place(meta, name, parent.namespace())?;
    let replicas = wanted.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(0);
    if replicas < 0 {
        let message = format!("Invalid value: {replicas}: must be greater than or equal to 0");
        let cause = Cause { reason: "FieldValueInvalid".into(), message, field: "spec.replicas".into() };
        let mut status = Status::invalid(kind, name, vec![cause]);
        status.message = status.message.replacen(&kind.info().qualified_kind(), "Scale.autoscaling", 1);
        if let Some(details) = &mut status.details {
            (details.kind, details.group) = ("Scale".into(), "autoscaling".into());
        }
        return Err(status);
    }
    let there = parent.meta().uid.as_deref().unwrap_or_default();
    match meta.uid.as_deref().unwrap_or_default() {
        uid if uid.is_empty() || uid == there => Ok(()),
        uid => {
            let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {there}");
            Err(no_scale(kind, Status::conflict(kind, name, &why)))
        }
    }
}

/// The container that a request names, or the only one.
fn container_of<'a>(pod: &'a Pod, name: &'a str) -> Result<&'a str, Status> {
    let spec = pod.spec.as_ref();
    let init = spec.iter().flat_map(|spec| spec.init_containers.iter().flatten()).map(|c| c.name.as_str());
    let added = spec.iter().flat_map(|spec| spec.ephemeral_containers.iter().flatten()).map(|c| c.name.as_str());
    let own: Vec<&str> = spec.iter().flat_map(|spec| &spec.containers).map(|c| c.name.as_str()).collect();
    let pod = pod.metadata.name.as_deref().unwrap_or_default();
    match (name, own.as_slice()) {
        ("", [only]) => Ok(only),
        ("", all) => {
            let all = all.join(" ");
            Err(Status::bad_request(format!(
                "a container name must be specified for pod {pod}, choose one of: [{all}]"
            )))
        }
        (name, own) if own.contains(&name) || init.chain(added).any(|there| there == name) => Ok(name),
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
    let refuse = |why: String| {
        let mut status = Status::conflict(Kind::Pod, old.name(), &why);
        status.message = status.message.replacen("pods", "pods/binding", 1);
        if let Some(details) = &mut status.details {
            details.kind = "pods/binding".into();
        }
        Err(status)
    };
    let meta = &pod.metadata;
    for (what, wanted, there) in
        [("UID", &binding.uid, &meta.uid), ("ResourceVersion", &binding.resource_version, &meta.resource_version)]
    {
        if wanted.is_some() && wanted != there {
            let wanted = wanted.as_deref().unwrap_or_default();
            // Of the preconditions the store says so itself, and speaks of the Pod.
            return Err(Status::conflict(Kind::Pod, old.name(), &super::update::wrong_meta(old, what, wanted)));
        }
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return refuse(format!("pod {} is being deleted, cannot be assigned to a host", old.name()));
    }
    let spec = pod.spec.as_ref();
    if let Some(node) = spec.and_then(|spec| spec.node_name.as_deref()).filter(|node| !node.is_empty()) {
        return refuse(format!("pod {} is already assigned to node \"{node}\"", old.name()));
    }
    if spec.and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty()) {
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

/// What applying a Scale says of the object that it is the scale of. Mirrors `managedfields.ScaleHandler`.
fn parent_config(kind: Kind, scale: &Value, path: &str) -> Value {
    let info = kind.info();
    let version = scale.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
    let mut config = json!({"apiVersion": info.api_version, "kind": info.kind});
    if !version.is_null() {
        config["metadata"] = json!({"resourceVersion": version});
    }
    if let Some(replicas) = scale.pointer("/spec/replicas") {
        let steps = path.trim_start_matches('.').rsplit('.');
        let fields = steps.fold(replicas.clone(), |value, name| json!({name: value}));
        patch::merge(config, &fields)
    } else {
        config
    }
}

fn to_json(scale: &Scale) -> Result<Value, Status> {
    serde_json::to_value(scale).map_err(|e| Status::internal(&e.to_string()))
}

fn set_replicas(object: &mut Object, replicas: i32) {
    match object {
        Object::Deployment(d) => Arc::make_mut(d).spec.get_or_insert_default().replicas = Some(replicas),
        Object::ReplicaSet(r) => Arc::make_mut(r).spec.get_or_insert_default().replicas = Some(replicas),
        Object::ReplicationController(r) => Arc::make_mut(r).spec.get_or_insert_default().replicas = Some(replicas),
        Object::StatefulSet(s) => Arc::make_mut(s).spec.get_or_insert_default().replicas = Some(replicas),
        _ => {}
    }
}

/// The `autoscaling/v1 Scale` of an object that has one.
fn scale_of(object: &Object) -> Option<Scale> {
    let (replicas, selector, seen) = match object {
        Object::Deployment(d) => {
            let spec = d.spec.as_ref()?;
            (spec.replicas, format_label_selector(Some(&spec.selector)), d.status.as_ref().and_then(|s| s.replicas))
        }
        Object::ReplicaSet(r) => {
            let spec = r.spec.as_ref()?;
            (spec.replicas, format_label_selector(Some(&spec.selector)), r.status.as_ref().map(|s| s.replicas))
        }
        Object::StatefulSet(s) => {
            let spec = s.spec.as_ref()?;
            (spec.replicas, format_label_selector(Some(&spec.selector)), s.status.as_ref().map(|s| s.replicas))
        }
        Object::ReplicationController(r) => {
            let spec = r.spec.as_ref()?;
            let selector = spec.selector.as_ref().map_or_else(Selector::everything, Selector::of_labels);
            (spec.replicas, selector.to_string(), r.status.as_ref().map(|s| s.replicas))
        }
        _ => return None,
    };
    Some(Scale {
        metadata: scale_metadata(object.meta()),
        // Go leaves a zero out.
        spec: Some(ScaleSpec { replicas: replicas.filter(|n| *n != 0) }),
        status: Some(ScaleStatus { replicas: seen.unwrap_or(0), selector: Some(selector) }),
    })
}
