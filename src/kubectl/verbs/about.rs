//! What the cluster is: `api-resources`, `api-versions`, `cluster-info`, `version`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::args::Args;
use crate::command::{Command, Run};
use crate::config;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::print::fields::{int, list, namespace_and_name, text};
use crate::print::output::{json_text, no_printer};
use crate::print::{kyaml, tabs, yaml};
use crate::usage::Usage;
use object::go_types::Ordered;
use object::{Discovery, Kind, versions};
use rest::discovery::{build, resource, verbs};
use wire::Options;

/// The Kustomize that is part of kubectl.
const KUSTOMIZE: &str = "v5.8.1";

/// `kubectl api-resources`.
pub const API_RESOURCES: Command = Command {
    usage: Usage {
        name: "api-resources",
        about: "The kinds that the cluster knows.",
        flags: &[&["api-group", "cached", "categories", "namespaced", "no-headers", "output", "sort-by", "verbs"]],
        ..Usage::EMPTY
    },
    reads_only: |_| true,
    run: Run::There(|args, cx| Box::pin(api_resources(args, cx))),
    ..Command::EMPTY
};

/// `kubectl api-versions`.
pub const API_VERSIONS: Command = Command {
    usage: Usage { name: "api-versions", about: "The groups and versions of these kinds.", ..Usage::EMPTY },
    reads_only: |_| true,
    run: Run::There(|args, cx| Box::pin(api_versions(args, cx))),
    ..Command::EMPTY
};

/// `kubectl cluster-info`.
pub const CLUSTER_INFO: Command = Command {
    usage: Usage { name: "cluster-info", about: "Where the API server is.", ..Usage::EMPTY },
    reads_only: |_| true,
    run: Run::There(|args, cx| Box::pin(cluster_info(args, cx))),
    ..Command::EMPTY
};

/// `kubectl version`.
pub const VERSION: Command = Command {
    usage: Usage {
        name: "version",
        about: "The versions of kubectl and of the cluster.",
        flags: &[&["client", "output"]],
        ..Usage::EMPTY
    },
    reads_only: |_| true,
    run: Run::There(|args, cx| Box::pin(version(args, cx))),
    ..Command::EMPTY
};

/// `kubectl api-resources`. Mirrors `pkg/cmd/apiresources`.
async fn api_resources(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    no_arguments("api-resources", args)?;
    let output = args.value("output");
    if !matches!(output, "" | "wide" | "name" | "json" | "yaml" | "kyaml") {
        return Err(Failure::text(no_printer(output, "json,kyaml,name,wide,yaml")));
    }
    let by = args.value("sort-by");
    if !matches!(by, "" | "name" | "kind") {
        return Err(Failure::text("--sort-by accepts only name or kind"));
    }
    let known = cx.discover().await?;
    let mut kinds: Vec<Kind> = known.kinds().filter(|kind| is_asked_for(*kind, &known, args)).collect();
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
    if matches!(output, "json" | "yaml" | "kyaml") {
        let resources: Vec<Value> = kinds.into_iter().map(|kind| whole_row(&known, kind)).collect();
        let list = json!({"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "", "resources": resources});
        cx.print(&match output {
            "json" => json_text(&Ordered::object("APIResourceList", &list)),
            "kyaml" => kyaml::in_order(&Ordered::object("APIResourceList", &list)),
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
    // It asks for all of discovery at once, and there that is missing.
    row.as_object_mut().map(|row| row.remove("storageVersionHash"));
    row
}

/// Whether the flags let a kind through: it has all verbs and all categories that they name.
fn is_asked_for(kind: Kind, known: &Discovery, args: &Args) -> bool {
    let (info, can, categories) = (kind.info(), verbs(kind, None), known.categories(kind));
    let wanted = |flag| args.values(flag).iter().flat_map(|words| words.split(',')).filter(|word| !word.is_empty());
    (!args.has("api-group") || args.value("api-group") == info.group)
        && (!args.has("namespaced") || args.is_on("namespaced") == info.namespaced)
        && wanted("verbs").all(|verb| can.contains(&verb))
        && wanted("categories").all(|category| categories.contains(&category))
}

/// Refuses the words of a command that takes only flags.
fn no_arguments(command: &str, args: &Args) -> Result<(), Failure> {
    if args.words.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(command, format!("unexpected arguments: [{}]", args.words.join(" "))))
}

/// `kubectl api-versions`.
async fn api_versions(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    no_arguments("api-versions", args)?;
    let known = cx.discover().await?;
    let versions: BTreeSet<&str> =
        known.kinds().chain(versions::others()).map(|kind| kind.info().api_version).collect();
    versions.into_iter().for_each(|version| cx.line(version));
    Ok(())
}

/// `kubectl version`. The server is asked for its own; the client's is the same.
async fn version(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let output = args.value("output");
    if !args.words.is_empty() && !args.is_on("client") {
        return Err(Failure::text(format!("extra arguments: [{}]", args.words.join(" "))));
    }
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
        "json" => cx.line(serde_json::to_string_pretty(&Ordered::object("Version", &whole)).unwrap_or_default()),
        // The document has a line's end of its own.
        "yaml" => cx.line(yaml::print(&whole)),
        _ => cx.line(lines.join("\n")),
    }
    failed.map_or(Ok(()), Err)
}

/// `kubectl cluster-info`: the API server, and the Services that call themselves part of the cluster.
async fn cluster_info(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if args.words.first().is_some_and(|word| word == "dump") {
        return Err(Failure::text("cluster-info dump is missing; get KIND -A -o yaml shows all objects of a kind"));
    }
    let namespace = match args.value("namespace") {
        "" => "kube-system",
        namespace => namespace,
    };
    let options = Options { label_selector: "kubernetes.io/cluster-service=true".to_owned(), ..Options::default() };
    let listed = cx.list(Kind::Service, namespace, options).await;
    if let Ok(services) = &listed {
        let url = config::server();
        cx.line(format!("Kubernetes control plane is running at {url}"));
        for service in &services.items {
            let name = service["metadata"]["labels"]["kubernetes.io/name"].as_str().filter(|name| !name.is_empty());
            let name = name.unwrap_or(text(service, "metadata.name"));
            cx.line(format!("{name} is running at {}", link(service, &url)));
        }
    }
    cx.line("\nTo further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.");
    listed.map(drop)
}

/// Where a Service of the cluster's is reached: at its load balancer, or through the API server.
fn link(service: &Value, url: &str) -> String {
    let ports = list(service, "spec.ports");
    if let Some(ingress) = list(service, "status.loadBalancer.ingress").first() {
        let host = Some(text(ingress, "ip")).filter(|ip| !ip.is_empty()).unwrap_or(text(ingress, "hostname"));
        return ports.iter().map(|port| format!("http://{host}:{} ", int(port, "port"))).collect();
    }
    let (namespace, name) = namespace_and_name(service);
    let name = match ports.first().map(|port| (text(port, "name"), int(port, "port"))) {
        None => name.to_owned(),
        Some((port, number)) if port == "https" || number == 443 => format!("https:{name}:{port}"),
        Some(("", _)) => name.to_owned(),
        Some((port, _)) => format!("{name}:{port}"),
    };
    format!("{url}/api/v1/namespaces/{namespace}/services/{name}/proxy")
}
