//! What the cluster is: `api-resources`, `api-versions`, `cluster-info`, `version`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::apiserver::request::Options;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::calls::Failure;
use crate::cluster::kubectl::print::fields::{list, text};
use crate::cluster::kubectl::print::tabs;
use crate::object::{Kind, versions};

/// `kubectl api-resources`.
pub async fn api_resources(cx: &Kubectl) -> Result<(), Failure> {
    let known = cx.discover().await?;
    let mut rows = vec!["NAME\tSHORTNAMES\tAPIVERSION\tNAMESPACED\tKIND".to_owned()];
    let mut kinds: Vec<Kind> = known.kinds().collect();
    kinds.sort_by_key(|kind| (kind.info().group, kind.info().plural));
    for kind in kinds {
        let info = kind.info();
        let short = known.short_names(kind).join(",");
        rows.push(format!("{}\t{short}\t{}\t{}\t{}", info.plural, info.api_version, info.namespaced, info.kind));
    }
    cx.print(&tabs::table(&(rows.join("\n") + "\n")));
    Ok(())
}

/// `kubectl api-versions`.
pub async fn api_versions(cx: &Kubectl) -> Result<(), Failure> {
    let known = cx.discover().await?;
    let versions: BTreeSet<&str> =
        known.kinds().chain(versions::all_older()).map(|kind| kind.info().api_version).collect();
    versions.into_iter().for_each(|version| cx.line(version));
    Ok(())
}

/// `kubectl version`.
pub fn version(cx: &Kubectl) -> Result<(), Failure> {
    cx.line("Client Version: v1.36.2\nServer Version: v1.36.2");
    Ok(())
}

/// `kubectl cluster-info`: the API server, and the Services that call themselves part of the cluster.
pub async fn cluster_info(cx: &Kubectl) -> Result<(), Failure> {
    // A real kubectl has the address from its kubeconfig.
    let server = cx.get_once(Kind::EndpointSlice, "default", "kubernetes").await?;
    let address = server.pointer("/endpoints/0/addresses/0").and_then(Value::as_str).unwrap_or_default();
    let port = server.pointer("/ports/0/port").and_then(Value::as_i64).unwrap_or(6443);
    let url = format!("https://{address}:{port}");
    cx.line(format!("Kubernetes control plane is running at {url}"));
    let options =
        Options { label_selector: "kubernetes.io/cluster-service=true".to_owned(), limit: 500, ..Options::default() };
    for service in cx.list(Kind::Service, "kube-system", options).await?.items {
        let name = text(&service, "metadata.name");
        let port = list(&service, "spec.ports").first().map_or("", |port| text(port, "name"));
        let shown = service["metadata"]["labels"]["kubernetes.io/name"].as_str().unwrap_or(name);
        let port = if port.is_empty() { String::new() } else { format!(":{port}") };
        cx.line(format!("{shown} is running at {url}/api/v1/namespaces/kube-system/services/{name}{port}/proxy"));
    }
    cx.line("\nTo further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.");
    Ok(())
}
