//! What the cluster is: `api-resources`, `api-versions`, `cluster-info`, `version`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::apiserver::non_resource::{build, resource, verbs};
use crate::apiserver::request::Options;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::Failure;
use crate::cluster::kubectl::print::fields::{list, text};
use crate::cluster::kubectl::print::{json_text, tabs, yaml};
use crate::object::go_types::Ordered;
use crate::object::{Discovery, Kind, versions};

/// The Kustomize that is part of kubectl.
const KUSTOMIZE: &str = "v5.8.1";

/// `kubectl api-resources`. Mirrors `pkg/cmd/apiresources`.
pub async fn api_resources(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let output = args.value("output");
    if !matches!(output, "" | "wide" | "name" | "json" | "yaml") {
        return Err(Failure::text(format!("--output {output} is not available; write wide, name, json or yaml")));
    }
    let by = args.value("sort-by");
    if !matches!(by, "" | "name" | "kind") {
        return Err(Failure::text("--sort-by accepts only name or kind"));
    }
    let known = cx.discover().await?;
    let mut kinds: Vec<Kind> = known.kinds().filter(|kind| is_asked_for(*kind, args)).collect();
    kinds.sort_by_key(|kind| {
        let info = kind.info();
        let first = match by {
            "name" => info.plural,
            "kind" => info.kind,
            _ => info.group,
        };
        (first, info.plural)
    });
    if output == "name" {
        kinds.iter().for_each(|kind| cx.line(kind.info().qualified_plural()));
        return Ok(());
    }
    if matches!(output, "json" | "yaml") {
        let resources: Vec<Value> = kinds.into_iter().map(|kind| whole_row(&known, kind)).collect();
        let list = json!({"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "", "resources": resources});
        cx.print(&match output {
            "json" => json_text(&Ordered::object("APIResourceList", &list)),
            _ => yaml::print(&list),
        });
        return Ok(());
    }
    let wide = output == "wide";
    let mut rows = Vec::new();
    if !args.is_on("no-headers") {
        rows.push(format!(
            "NAME\tSHORTNAMES\tAPIVERSION\tNAMESPACED\tKIND{}",
            if wide { "\tVERBS\tCATEGORIES" } else { "" }
        ));
    }
    for kind in kinds {
        let info = kind.info();
        let short = known.short_names(kind).join(",");
        let mut row = format!("{}\t{short}\t{}\t{}\t{}", info.plural, info.api_version, info.namespaced, info.kind);
        if wide {
            row += &format!("\t{}\t{}", verbs(kind, None).join(","), known.categories(kind).join(","));
        }
        rows.push(row);
    }
    cx.print(&tabs::table(&(rows.join("\n") + "\n")));
    Ok(())
}

/// A row of discovery that says of itself in which group it is, as the list is of all of them.
fn whole_row(known: &Discovery, kind: Kind) -> Value {
    let (mut row, info) = (resource(known, kind), kind.info());
    if !info.group.is_empty() {
        row["group"] = json!(info.group);
    }
    row["version"] = json!(info.version);
    row
}

/// Whether `--api-group`, `--namespaced` and `--verbs` let a kind through.
fn is_asked_for(kind: Kind, args: &Args) -> bool {
    let (info, can) = (kind.info(), verbs(kind, None));
    let mut wanted = args.values("verbs").iter().flat_map(|words| words.split(','));
    (!args.has("api-group") || args.value("api-group") == info.group)
        && (!args.has("namespaced") || args.is_on("namespaced") == info.namespaced)
        && wanted.all(|verb| can.contains(&verb))
}

/// `kubectl api-versions`.
pub async fn api_versions(cx: &Kubectl) -> Result<(), Failure> {
    let known = cx.discover().await?;
    let versions: BTreeSet<&str> =
        known.kinds().chain(versions::others()).map(|kind| kind.info().api_version).collect();
    versions.into_iter().for_each(|version| cx.line(version));
    Ok(())
}

/// `kubectl version`. The server is asked for its own; the client's is the same.
pub async fn version(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let output = args.value("output");
    if !matches!(output, "" | "json" | "yaml") {
        return Err(Failure::text("--output must be 'yaml' or 'json'"));
    }
    let mut whole = json!({"clientVersion": build(), "kustomizeVersion": KUSTOMIZE});
    let mut lines =
        vec![format!("Client Version: {}", text(&build(), "gitVersion")), format!("Kustomize Version: {KUSTOMIZE}")];
    let mut failed = None;
    if !args.is_on("client") {
        match super::raw::get("/version", cx).await {
            Ok(body) => {
                let server: Value = serde_json::from_str(&body).unwrap_or_default();
                lines.push(format!("Server Version: {}", text(&server, "gitVersion")));
                whole["serverVersion"] = server;
            }
            Err(fault) => failed = Some(fault),
        }
    }
    match output {
        "json" => cx.line(serde_json::to_string_pretty(&whole).unwrap_or_default()),
        "yaml" => cx.print(&yaml::print(&whole)),
        _ => cx.line(lines.join("\n")),
    }
    failed.map_or(Ok(()), Err)
}

/// `kubectl cluster-info`: the API server, and the Services that call themselves part of the cluster.
pub async fn cluster_info(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if args.words.first().is_some_and(|word| word == "dump") {
        return Err(Failure::text("cluster-info dump is not here; get KIND -A -o yaml shows what there is of a kind"));
    }
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
