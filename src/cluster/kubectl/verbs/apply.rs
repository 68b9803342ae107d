//! `apply`, `create`, `replace`, `run`: objects from manifests and from words.

use serde_json::{Value, json};

use crate::apiserver::request::{Body, Patch, Request, Verb};
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::client::failure;
use crate::cluster::kubectl::print::qualified_name;
use crate::cluster::kubectl::{Failure, Kubectl};
use crate::cluster::manifest::{self, Manifest};
use crate::object::{Kind, patch};

/// Where `apply` keeps what was applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// `kubectl apply -f`.
pub async fn apply(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let mut first_error = None;
    for manifest in read(args, kubectl)? {
        if let Err(failure) = apply_one(args, kubectl, manifest).await {
            if let Some(earlier) = first_error.replace(failure) {
                kubectl.print(&format!("{}\n", earlier.message));
            }
        }
    }
    first_error.map_or(Ok(()), Err)
}

async fn apply_one(args: &Args, kubectl: &Kubectl, manifest: Manifest) -> Result<(), Failure> {
    let kubectl = &for_manifest(kubectl, &manifest);
    let (kind, name) = (manifest.kind, name_of(&manifest)?);
    let file = &manifest.source.file;
    let new = with_last_applied(&manifest.object, &kubectl.namespace_of(kind));
    match kubectl.get(kind, &name).await {
        Err(status) if status.is_not_found() => {
            if kind.info().namespaced {
                // kubectl asks whether the namespace is there, to say so better than the server would.
                let _ = kubectl.get(Kind::Namespace, &kubectl.namespace).await;
            }
            let request = post(args, kubectl, kind, &new, "kubectl-client-side-apply")?;
            let made = kubectl.send_for_object(request).await;
            let made = made.map_err(|status| failure(&status, &format!("when creating \"{file}\"")))?;
            kubectl.print(&format!("{} created\n", qualified_name(&made)));
        }
        Err(status) => return Err(failure(&status, &format!("when retrieving current configuration of \"{file}\""))),
        Ok(live) => {
            let before = live.pointer(&format!("/metadata/annotations/{}", LAST_APPLIED.replace('/', "~1")));
            let before: Value =
                before.and_then(Value::as_str).and_then(|s| serde_json::from_str(s).ok()).unwrap_or_default();
            let change = patch::three_way_strategic(kind, &before, &live, &new);
            if change.as_object().is_none_or(serde_json::Map::is_empty) {
                kubectl.print(&format!("{} unchanged\n", qualified_name(&live)));
                return Ok(());
            }
            let mut request = kubectl.request(Verb::Patch, kind, &name, Body::Patch(Patch::Strategic(change)));
            request.options.field_manager = "kubectl-client-side-apply".into();
            request.options.field_validation = Kubectl::validation(args.flag("validate"))?;
            let patched = kubectl.send_for_object(request).await;
            let patched = patched.map_err(|status| failure(&status, &format!("when applying patch to \"{file}\"")))?;
            kubectl.print(&format!("{} configured\n", qualified_name(&patched)));
        }
    }
    Ok(())
}

/// `kubectl create -f`, `create namespace NAME`, `create deployment NAME --image=…`.
pub async fn create(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    if args.flags("filename").is_empty() {
        return create_from_words(args, kubectl).await;
    }
    for manifest in read(args, kubectl)? {
        let kubectl = &for_manifest(kubectl, &manifest);
        let request = post(args, kubectl, manifest.kind, &manifest.object, "kubectl-create")?;
        let made = kubectl.send_for_object(request).await;
        let file = &manifest.source.file;
        let made = made.map_err(|status| failure(&status, &format!("when creating \"{file}\"")))?;
        kubectl.print(&format!("{} created\n", qualified_name(&made)));
    }
    Ok(())
}

async fn create_from_words(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let (kind, object) = match words.as_slice() {
        ["namespace" | "ns", name] => {
            (Kind::Namespace, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        }
        ["serviceaccount" | "sa", name] => {
            (Kind::ServiceAccount, json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}))
        }
        ["deployment" | "deploy", name] => {
            let image = args.flag("image");
            if image.is_empty() {
                return Err(Failure::error("required flag(s) \"image\" not set"));
            }
            let replicas: i64 = args.flag("replicas").parse().unwrap_or(1);
            (Kind::Deployment, deployment(name, image, replicas))
        }
        _ => {
            let text = "create takes -f FILE, or: namespace NAME, serviceaccount NAME, deployment NAME --image=IMAGE";
            return Err(Failure::error(text));
        }
    };
    let made = kubectl.send_for_object(post(args, kubectl, kind, &object, "kubectl-create")?).await;
    let made = made.map_err(|status| failure(&status, ""))?;
    kubectl.print(&format!("{} created\n", qualified_name(&made)));
    Ok(())
}

fn deployment(name: &str, image: &str, replicas: i64) -> Value {
    let container = image.rsplit('/').next().unwrap_or(image).split([':', '@']).next().unwrap_or(image);
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": container, "image": image}]},
            },
        },
    })
}

/// `kubectl replace -f`.
pub async fn replace(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    for manifest in read(args, kubectl)? {
        let kubectl = &for_manifest(kubectl, &manifest);
        let name = name_of(&manifest)?;
        let body = Body::Json(manifest.object.to_string());
        let mut request = kubectl.request(Verb::Update, manifest.kind, &name, body);
        request.options.field_manager = "kubectl-replace".into();
        request.options.field_validation = Kubectl::validation(args.flag("validate"))?;
        let replaced = kubectl.send_for_object(request).await;
        let file = &manifest.source.file;
        let replaced = replaced.map_err(|status| failure(&status, &format!("when replacing \"{file}\"")))?;
        kubectl.print(&format!("{} replaced\n", qualified_name(&replaced)));
    }
    Ok(())
}

/// `kubectl run NAME --image=IMAGE`: one Pod.
pub async fn run(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let (Some(name), image) = (args.words.first(), args.flag("image")) else {
        return Err(Failure::error("NAME is required for run"));
    };
    if image.is_empty() {
        return Err(Failure::error("--image is required"));
    }
    let mut container = json!({"name": name, "image": image, "resources": {}});
    if args.words.len() > 1 {
        container["args"] = json!(&args.words[1..]);
    }
    let restart = if args.flag("restart").is_empty() { "Always" } else { args.flag("restart") };
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"run": name}},
        "spec": {"containers": [container], "restartPolicy": restart, "dnsPolicy": "ClusterFirst"},
    });
    let mut request = post(args, kubectl, Kind::Pod, &pod, "kubectl-run")?;
    request.options.field_validation = Default::default();
    let made = kubectl.send_for_object(request).await.map_err(|status| failure(&status, ""))?;
    kubectl.print(&format!("{} created\n", qualified_name(&made)));
    Ok(())
}

fn post(args: &Args, kubectl: &Kubectl, kind: Kind, object: &Value, manager: &str) -> Result<Request, Failure> {
    let mut request = kubectl.request(Verb::Create, kind, "", Body::Json(object.to_string()));
    request.options.field_manager = manager.to_owned();
    request.options.field_validation = Kubectl::validation(args.flag("validate"))?;
    request.options.dry_run = args.flag("dry-run") == "server";
    Ok(request)
}

/// All objects that `-f` names.
pub fn read(args: &Args, kubectl: &Kubectl) -> Result<Vec<Manifest>, Failure> {
    let files = args.flags("filename");
    if files.is_empty() {
        return Err(Failure::error("must specify one of -f and -k"));
    }
    let mut manifests = Vec::new();
    for file in files.iter().flat_map(|list| list.split(',')) {
        let read = match file {
            "-" => manifest::read_text("STDIN", &kubectl.stdin),
            file => manifest::read_path(&kubectl.base, file),
        };
        manifests.extend(read.map_err(Failure::error)?);
    }
    Ok(manifests)
}

fn for_manifest(kubectl: &Kubectl, manifest: &Manifest) -> Kubectl {
    let namespace = manifest.object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    kubectl.in_namespace(namespace)
}

fn name_of(manifest: &Manifest) -> Result<String, Failure> {
    let name = manifest.object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() {
        return Err(Failure::error(format!("{}: resource name may not be empty", manifest.source)));
    }
    Ok(name.to_owned())
}

/// The object with the annotation that says what was applied.
fn with_last_applied(object: &Value, namespace: &str) -> Value {
    let mut new = object.clone();
    if let Some(meta) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.entry("annotations").or_insert_with(|| json!({}));
        if !namespace.is_empty() {
            meta.entry("namespace").or_insert_with(|| json!(namespace));
        }
        if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    let applied = format!("{new}\n");
    if let Some(annotations) = new.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.insert(LAST_APPLIED.into(), json!(applied));
    }
    new
}
