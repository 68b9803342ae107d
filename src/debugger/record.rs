//! A run as files: what each step, call and change was, one JSON object a line.
//!
//! `calls.jsonl`, `events.jsonl` and `state.json` have the shape of the recordings of real clusters, so that a run can
//! be laid beside one; `trace.jsonl` holds every step and is what two runs are compared by. `audit.log` is in [`audit`].

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value, json};

use apiserver::host::Engine;
use engine::{Note, Step, What};
use object::patch::diff_strategic;
use object::time::Instant;
use object::{Kind, Object};
use wire::{Binding, Body, DeleteOptions, Patch, Request, StatusPatch, Subresource, name_in};

use super::{audit, describe};

/// Who asks when the API server asks itself.
const APISERVER: &str = "kube-apiserver";

/// Collects the lines of a run.
#[derive(Debug, Default)]
pub struct Record {
    /// `calls.jsonl`.
    pub calls: Vec<String>,
    /// `events.jsonl`.
    pub events: Vec<String>,
    /// `trace.jsonl`.
    pub trace: Vec<String>,
    /// `audit.log`.
    pub audit: Vec<String>,
    origin: Instant,
    namespace: String,
}

impl Record {
    /// An empty record whose times count from `origin`. Calls and events of other namespaces are left out.
    pub fn new(origin: Instant, namespace: &str) -> Record {
        Record { origin, namespace: namespace.to_owned(), ..Record::default() }
    }

    /// Takes one step. Steps must keep notes.
    pub fn add(&mut self, engine: &Engine, step: &Step) {
        self.trace.push(self.trace_line(engine, step).to_string());
        self.audit.extend(audit::events(engine, step).map(|event| event.to_string()));
        let What::Request { request, .. } = &step.event.what else { return };
        if !request.namespace.is_empty() && request.namespace != self.namespace {
            return;
        }
        self.own_lists(step);
        self.own_writes(request, step);
        if let Some(call) = self.call(request, step) {
            self.calls.push(call.to_string());
        }
        for note in &step.notes {
            if let Note::Stored { revision, old, new, .. } = note {
                let type_ = match (old, new) {
                    (None, _) => "ADDED",
                    (_, None) => "DELETED",
                    _ => "MODIFIED",
                };
                let Some(object) = new.as_ref().or(old.as_ref()) else { continue };
                let object = engine.server.api.with_managers(object);
                self.events.push(self.change(request, step, *revision, type_, object).to_string());
            }
        }
    }

    fn milliseconds(&self, at: Instant) -> u64 {
        at.0.saturating_sub(self.origin.0) / 1_000_000
    }

    fn trace_line(&self, engine: &Engine, step: &Step) -> Value {
        let head = describe::headline(engine, &step.event);
        json!({
            "step": step.id.0,
            "t_ns": step.time.0.saturating_sub(self.origin.0),
            "cause": step.event.cause.0,
            "from": head.from,
            "to": head.to,
            "what": head.what,
            "background": step.event.background,
            "sent": step.sent.len(),
        })
    }

    /// What the API server asked itself for before it answered: limits that its informer may not know of yet, and the budgets of
    /// a Pod that is to be evicted.
    fn own_lists(&mut self, step: &Step) {
        for note in &step.notes {
            let Note::Lists { kind, namespace } = note else { continue };
            let info = kind.info();
            let call = json!({
                "seq": self.calls.len() + 1, "t_ms": self.milliseconds(step.time), "component": APISERVER,
                "verb": "list", "group": info.group, "resource": info.plural, "namespace": namespace, "name": "",
                "code": 200,
            });
            self.calls.push(call.to_string());
        }
    }

    /// The calls that the API server made to itself before it answered: what a quota is charged, and what an eviction
    /// takes off a budget.
    fn own_writes(&mut self, request: &Request, step: &Step) {
        for note in &step.notes {
            if let Note::Stored { revision, new: Some(object), .. } = note
                && is_own_write(request, object)
            {
                let info = object.kind().info();
                let call = json!({
                    "seq": self.calls.len() + 1, "t_ms": self.milliseconds(step.time), "component": APISERVER,
                    "verb": "update", "group": info.group, "resource": info.plural, "subresource": "status",
                    "namespace": object.namespace(), "name": object.name(), "code": 200, "rv": revision,
                });
                self.calls.push(call.to_string());
            }
        }
    }

    fn call(&self, request: &Request, step: &Step) -> Option<Value> {
        let answered = step.notes.iter().find_map(|note| match note {
            Note::Answered { code, name, revision, error } => Some((*code, name.clone(), *revision, error.clone())),
            _ => None,
        })?;
        let (code, answered_name, revision, error) = answered;
        let info = request.kind.info();
        let (group, resource) = if request.target().is_some() { ("", "") } else { (info.group, info.plural) };
        let name = [request.name.clone(), body_name(&request.body, code), answered_name];
        let mut call = Map::new();
        call.insert("seq".into(), json!(self.calls.len() + 1));
        call.insert("t_ms".into(), json!(self.milliseconds(step.time)));
        call.insert("component".into(), json!(&*request.user.agent));
        call.insert("verb".into(), json!(request.verb.as_str()));
        call.insert("group".into(), json!(group));
        call.insert("resource".into(), json!(resource));
        if let Some(subresource) = request.subresource {
            call.insert("subresource".into(), json!(subresource.as_str()));
        }
        // A Namespace that is named is in itself.
        let namespace = if request.kind == Kind::Namespace { &request.name } else { &request.namespace };
        call.insert("namespace".into(), json!(namespace));
        call.insert("name".into(), json!(name.iter().find(|n| !n.is_empty()).cloned().unwrap_or_default()));
        call.insert("code".into(), json!(code));
        if revision > 0 {
            call.insert("rv".into(), json!(revision));
        }
        if let Body::Object(object) = &request.body
            && object.revision() > 0
        {
            call.insert("on_rv".into(), json!(object.revision()));
        }
        if let Some(event) = event_of(request, step) {
            call.insert("event".into(), event);
        }
        if let Some(body) = sent_body(request, step) {
            call.insert("request".into(), body);
        }
        if let Some(error) = error {
            call.insert("error".into(), json!(error.message()));
        }
        Some(Value::Object(call))
    }

    fn change(&self, request: &Request, step: &Step, revision: u64, type_: &str, mut object: Object) -> Value {
        let subresource = request.subresource.map_or(String::new(), |s| format!("/{}", s.as_str()));
        let info = object.kind().info();
        let by = if is_own_write(request, &object) {
            format!("{APISERVER} update {}/status", info.plural)
        } else if object.kind() == Kind::Endpoints && request.kind == Kind::Service {
            format!("{APISERVER} (inside the request that deleted the Service)")
        } else {
            format!("{} {} {}{subresource}", request.user.agent, request.verb.as_str(), request.kind.info().plural)
        };
        // Who manages is told by name: managedFields themselves would hide the rest.
        let managed = object.meta_mut().managed_fields.take().unwrap_or_default();
        let mut printed = object.printed();
        if !managed.is_empty() {
            printed["metadata"]["managers"] = json!(manager_names(&managed));
        }
        if type_ == "DELETED" {
            // Watches are told of an object that is gone with the revision at which it went.
            printed["metadata"]["resourceVersion"] = json!(revision.to_string());
        }
        json!({
            "rv": revision,
            "t_ms": self.milliseconds(step.time),
            "type": type_,
            "kind": info.kind,
            "namespace": object.namespace(),
            "name": object.name(),
            "by": by,
            "manager": newest_manager(&managed),
            "object": printed,
        })
    }
}

/// Whether this version was written by the API server in its own name, on the way to what the request asked for.
fn is_own_write(request: &Request, written: &Object) -> bool {
    matches!(written.kind(), Kind::ResourceQuota | Kind::PodDisruptionBudget) && request.kind != written.kind()
}

/// Who wrote last, as far as managedFields tell, which know seconds.
fn newest_manager(managed: &[ManagedFieldsEntry]) -> Option<String> {
    let newest = managed.iter().max_by_key(|entry| entry.time.as_ref().map(|time| time.0))?;
    Some(format!("{}/{}", manager(newest), newest.operation.as_deref().unwrap_or_default()))
}

/// `kubelet/status:Update`, one for each manager, by name.
fn manager_names(managed: &[ManagedFieldsEntry]) -> Vec<String> {
    let name = |entry: &ManagedFieldsEntry| format!("{}:{}", manager(entry), entry.operation.as_deref().unwrap_or(""));
    let mut names: Vec<String> = managed.iter().map(name).collect();
    names.sort();
    names
}

/// `kubelet/status`: a manager, and the subresource it wrote, if any.
fn manager(entry: &ManagedFieldsEntry) -> String {
    let subresource = entry.subresource.iter().map(|name| format!("/{name}")).collect::<String>();
    entry.manager.clone().unwrap_or_default() + &subresource
}

/// The name of the object that comes with a request. What the server could not decode has none.
fn body_name(body: &Body, code: u16) -> String {
    match body {
        Body::Object(object) => object.name().to_owned(),
        Body::Json(text) if code != 400 => name_in(text),
        _ => String::new(),
    }
}

/// Of a call that writes an Event: what the Event says.
fn event_of(request: &Request, step: &Step) -> Option<Value> {
    if request.kind != Kind::Event {
        return None;
    }
    let stored = step.notes.iter().find_map(|note| match note {
        Note::Stored { new: Some(Object::Event(event)), .. } => Some(event),
        _ => None,
    });
    // What is refused is told as it was sent.
    let stored = stored.or(match &request.body {
        Body::Object(Object::Event(event)) => Some(event),
        _ => None,
    })?;
    let involved = &stored.involved_object;
    let (kind, name) = (involved.kind.clone().unwrap_or_default(), involved.name.clone().unwrap_or_default());
    Some(json!({
        "type": stored.type_.as_deref(), "reason": stored.reason.as_deref(), "message": stored.message.as_deref(),
        "object": format!("{kind}/{name}"),
    }))
}

/// The body of patches, deletes, evictions and bindings.
fn sent_body(request: &Request, step: &Step) -> Option<Value> {
    match &request.body {
        Body::Patch(Patch::Status(patch)) => Some(status_patch(patch, request, step)),
        Body::Patch(patch) => patch.document().cloned(),
        Body::Binding(binding) => Some(sent_binding(binding, request)),
        Body::Delete(options) if request.subresource == Some(Subresource::Eviction) => {
            let about = json!({"name": request.name, "namespace": request.namespace});
            let mut sent = json!({"kind": "Eviction", "apiVersion": "policy/v1", "metadata": about});
            sent["deleteOptions"] = delete_options(options);
            Some(sent)
        }
        Body::Delete(options) => {
            let mut sent = delete_options(options);
            sent["kind"] = json!("DeleteOptions");
            sent["apiVersion"] = json!("meta.k8s.io/__internal");
            Some(sent)
        }
        _ => None,
    }
}

/// What a node agent has sent, which is kept typed on its way: the difference that it made.
fn status_patch(patch: &StatusPatch, request: &Request, step: &Step) -> Value {
    let difference = step.notes.iter().find_map(|note| match note {
        Note::Stored { old: Some(old), new: Some(new), .. } if new.kind() == request.kind => {
            let [old, new] = [old, new].map(|object| json!({"status": object.printed()["status"]}));
            Some(diff_strategic(request.kind, &old, &new))
        }
        _ => None,
    });
    let mut sent = difference.unwrap_or_else(|| json!({}));
    if let StatusPatch::Pod { uid, .. } = patch {
        sent["metadata"] = json!({"uid": uid});
    }
    sent
}

fn sent_binding(binding: &Binding, request: &Request) -> Value {
    let mut about = json!({"name": request.name, "namespace": request.namespace});
    for (name, value) in [("uid", &binding.uid), ("resourceVersion", &binding.resource_version)] {
        if let Some(value) = value {
            about[name] = json!(value);
        }
    }
    if !binding.annotations.is_empty() {
        about["annotations"] = json!(binding.annotations);
    }
    let target = json!({"kind": "Node", "name": binding.node});
    json!({"kind": "Binding", "apiVersion": "v1", "metadata": about, "target": target})
}

/// The options of a DELETE: what was not said is not there.
fn delete_options(options: &DeleteOptions) -> Value {
    let mut sent = json!({});
    if let Some(seconds) = options.grace_period_seconds {
        sent["gracePeriodSeconds"] = json!(seconds);
    }
    for (name, value) in [("uid", &options.uid), ("resourceVersion", &options.resource_version)] {
        if let Some(value) = value {
            sent["preconditions"][name] = json!(value);
        }
    }
    if let Some(policy) = options.propagation {
        sent["propagationPolicy"] = json!(format!("{policy:?}"));
    }
    sent
}

/// What `kubectl get all -o json` gives for a namespace.
pub fn state(engine: &Engine, namespace: &str) -> Value {
    let mut items = Vec::new();
    for kind in Kind::CATEGORY_ALL {
        let prefix = kinds::registry::list_prefix(*kind, namespace);
        items.extend(engine.server.api.store.prefix(&prefix).map(|(_, entry)| entry.value.printed()));
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items, "metadata": {"resourceVersion": ""}})
}
