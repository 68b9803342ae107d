//! `describe`: GET of the object, and then of what belongs on its page.

use serde_json::Value;

use super::get::{SUGGESTION, fetch};
use super::wanted::named;
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::FILES;
use crate::kubectl::Kubectl;
use crate::print::describe::{Related, describe as page, has_events};
use crate::print::fields::{list, namespace_and_name, selector, text};
use crate::print::ingress;
use crate::print::service::ready_endpoints;
use crate::targets::Target;
use crate::usage::Usage;
use object::Kind;
use object::pod::MIRROR;
use object::well_known::SERVICE_NAME;
use wire::Options;

/// `kubectl describe`.
pub const DESCRIBE: Command = Command {
    usage: Usage {
        name: "describe",
        words: "TYPE [NAME]",
        about: "All about an object, with its Events.",
        flags: &[FILES, &["selector", "all-namespaces", "show-events"]],
        ..Usage::EMPTY
    },
    reads_only: |_| true,
    names_objects: true,
    takes: Takes::named(Named::Objects),
    run: Run::There(|args, cx| Box::pin(describe(args, cx))),
    ..Command::EMPTY
};

/// `kubectl describe`.
async fn describe(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if args.words.is_empty() && !args.gives_manifests() {
        return Err(Failure::text(format!("You must specify the type of resource to describe. {SUGGESTION}\n")));
    }
    let mut failed = Vec::new();
    let mut found = Vec::new();
    let (targets, faults) = named("describe", &args.words, args, cx).await?;
    for (target, namespace) in targets {
        let kind = target.kind;
        let (fetched, by_prefix) = match fetch(&target, &namespace, args, cx).await {
            Err(fault) if fault.is_not_found() => (beginning_with(&target, fault, args, cx).await, true),
            fetched => (fetched, false),
        };
        let objects = match fetched {
            Ok(objects) => objects,
            Err(fault) => {
                failed.push(fault);
                continue;
            }
        };
        found.extend(objects.into_iter().map(|object| (kind, object, by_prefix)));
    }
    // Events of many objects are many requests: unless the line says so, only a page by itself has them.
    let with_events = if args.has("show-events") { args.is_on("show-events") } else { found.len() == 1 };
    let is_empty = found.is_empty();
    for (place, (kind, object, by_prefix)) in found.into_iter().enumerate() {
        // The describer reads the object again, as a typed one.
        let (namespace, name) = namespace_and_name(&object);
        let object = cx.get_once(kind, namespace, name).await?;
        let related = related(kind, &object, with_events, cx).await?;
        let page = page(kind, &object, &related, cx.now());
        cx.print(&match (by_prefix, place) {
            (true, _) => format!("{page}\n"),
            (false, 0) => page,
            (false, _) => format!("\n\n{page}"),
        });
    }
    failed.extend(faults);
    match (is_empty && failed.is_empty(), args.is_on("all-namespaces")) {
        (false, _) => {}
        (true, true) => cx.complain("No resources found"),
        (true, false) => cx.complain(format!("No resources found in {} namespace.", cx.namespace(args))),
    }
    Failure::all(failed)
}

/// A name that nothing has may be the beginning of names. Mirrors `DescribeMatchingResources`.
async fn beginning_with(target: &Target, missing: Failure, args: &Args, cx: &Kubectl) -> Result<Vec<Value>, Failure> {
    let [_, start] = args.words.as_slice() else { return Err(missing) };
    let namespace = if args.is_on("all-namespaces") { "" } else { cx.namespace(args) };
    let mut objects = fetch(&Target { name: None, ..target.clone() }, namespace, args, cx).await?;
    objects.retain(|object| text(object, "metadata.name").starts_with(start.as_str()));
    if objects.is_empty() { Err(missing) } else { Ok(objects) }
}

async fn related(kind: Kind, object: &Value, with_events: bool, cx: &Kubectl) -> Result<Related, Failure> {
    let namespace = text(object, "metadata.namespace");
    let mut related = Related::default();
    if kind == Kind::Node {
        let lease = cx.get_once(Kind::Lease, "kube-node-lease", text(object, "metadata.name")).await;
        related.lease = Some(lease.map_err(|fault| fault.message()));
        let name = text(object, "metadata.name");
        let field_selector = format!("spec.nodeName={name},status.phase!=Failed,status.phase!=Succeeded");
        let options = Options { field_selector, limit: 500, ..Options::default() };
        related.pods = cx.list(Kind::Pod, "", options).await?.items;
    }
    if kind == Kind::PersistentVolumeClaim {
        related.pods = cx.list(Kind::Pod, namespace, Options::default()).await?.items;
    }
    if kind == Kind::Service {
        let label_selector = format!("{SERVICE_NAME}={}", text(object, "metadata.name"));
        let options = Options { label_selector, limit: 500, ..Options::default() };
        related.slices = cx.list(Kind::EndpointSlice, namespace, options).await?.items;
    }
    if kind == Kind::Ingress {
        for backend in ingress::backends(object) {
            let named = ingress::service_of(backend);
            if !named.is_empty() && !related.backends.contains_key(&named) {
                let behind = behind(backend, namespace, cx).await?;
                related.backends.insert(named, behind);
            }
        }
    }
    if matches!(kind, Kind::ReplicaSet | Kind::ReplicationController | Kind::DaemonSet | Kind::StatefulSet) {
        related.pods = of_selector(Kind::Pod, object, cx).await?;
    }
    if kind == Kind::Namespace {
        let (name, options) = (text(object, "metadata.name"), Options { limit: 500, ..Options::default() });
        related.quotas = cx.list(Kind::ResourceQuota, name, options.clone()).await?.items;
        related.limit_ranges = cx.list(Kind::LimitRange, name, options).await?.items;
    }
    if with_events && has_events(kind) {
        let mut events = events_about(kind, object, told_uid(object), cx).await?;
        if kind == Kind::Node {
            // A kubelet does not know its node's uid, and tells of it by its name.
            events.extend(events_about(kind, object, text(object, "metadata.name"), cx).await?);
        }
        related.events = Some(events);
    }
    if kind == Kind::Deployment {
        related.replica_sets = of_selector(Kind::ReplicaSet, object, cx).await?;
    }
    Ok(related)
}

/// The endpoints behind a Service's port that an Ingress leads to. Mirrors `describeBackendV1`.
async fn behind(backend: &Value, namespace: &str, cx: &Kubectl) -> Result<String, Failure> {
    let name = text(backend, "service.name");
    let label_selector = format!("kubernetes.io/service-name={name}");
    let options = Options { label_selector, ..Options::default() };
    let slices = cx.list(Kind::EndpointSlice, namespace, options).await?.items;
    let service = match cx.get_once(Kind::Service, namespace, name).await {
        Ok(service) => service,
        Err(fault @ (Failure::Server { .. } | Failure::Unanswered { .. })) => {
            return Ok(format!("(<error: {}>)", fault.message()));
        }
        Err(other) => return Err(other),
    };
    let meant = &backend["service"]["port"];
    let is_meant = |port: &&Value| match &meant["number"] {
        Value::Null => port["name"] == meant["name"],
        number => port["port"] == *number,
    };
    let port = list(&service, "spec.ports").iter().find(is_meant).map_or("", |port| text(port, "name"));
    Ok(format!("({})", ready_endpoints(&slices, port)))
}

async fn of_selector(kind: Kind, object: &Value, cx: &Kubectl) -> Result<Vec<Value>, Failure> {
    let label_selector = selector(object, "spec.selector");
    let options = Options { label_selector, limit: 500, ..Options::default() };
    Ok(cx.list(kind, text(object, "metadata.namespace"), options).await?.items)
}

/// The uid by which Events are about an object: the kubelet tells of what it runs, which has another uid than the object
/// that stands for it.
fn told_uid(object: &Value) -> &str {
    object["metadata"]["annotations"][MIRROR].as_str().unwrap_or_else(|| text(object, "metadata.uid"))
}

/// The Events about what has this uid. Mirrors `searchEvents` and `EventExpansion.GetFieldSelector`.
async fn events_about(kind: Kind, object: &Value, uid: &str, cx: &Kubectl) -> Result<Vec<Value>, Failure> {
    let (namespace, name) = namespace_and_name(object);
    let mut parts = vec![format!("involvedObject.name={name}")];
    if !namespace.is_empty() {
        parts.push(format!("involvedObject.namespace={namespace}"));
    }
    if kind != Kind::Pod {
        parts.push(format!("involvedObject.kind={kind}"));
    }
    parts.push(format!("involvedObject.uid={uid}"));
    let options = Options { field_selector: parts.join(","), limit: 500, ..Options::default() };
    Ok(cx.list(Kind::Event, namespace, options).await?.items)
}
