//! The page about a NetworkPolicy. Mirrors `NetworkPolicyDescriber`.

use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use super::super::fields::time;
use super::page::Page;
use object::read;
use object::selector::format_label_selector;

/// One rule: at which ports, and from whom or to whom.
type Allowed<'a> = (Option<&'a Vec<NetworkPolicyPort>>, Option<&'a Vec<NetworkPolicyPeer>>);

/// How a direction is told: its name, the word before peers, and the word for what is not restricted.
type Words = (&'static str, &'static str, &'static str);

pub(super) fn describe(page: &mut Page, object: &Value) {
    page.name(object);
    page.namespace(object);
    let created = time(object, "metadata.creationTimestamp").map(|time| time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC"));
    page.field("Created on", created.map_or_else(|| "<none>".to_owned(), |time| time.to_string()));
    page.labels("Labels", object, "metadata.labels");
    page.annotations("Annotations", object, "metadata.annotations");
    let policy: NetworkPolicy = read::from_value(object).unwrap_or_default();
    describe_spec(page, &policy.spec.unwrap_or_default());
}

fn describe_spec(page: &mut Page, spec: &NetworkPolicySpec) {
    page.line("Spec:");
    let selector = spec.pod_selector.as_ref();
    let shown = match format_label_selector(selector).as_str() {
        "<none>" => "<none> (Allowing the specific traffic to all pods in this namespace)".to_owned(),
        labels => labels.to_owned(),
    };
    page.line(format!("  PodSelector:     {shown}"));
    let ingress: Vec<Allowed> =
        spec.ingress.iter().flatten().map(|rule| (rule.ports.as_ref(), rule.from.as_ref())).collect();
    let egress: Vec<Allowed> =
        spec.egress.iter().flatten().map(|rule| (rule.ports.as_ref(), rule.to.as_ref())).collect();
    let types = spec.policy_types.as_deref().unwrap_or_default();
    describe_direction(page, types, "Ingress", ("ingress", "From", "source"), &ingress);
    describe_direction(page, types, "Egress", ("egress", "To", "destination"), &egress);
    page.line(format!("  Policy Types: {}", types.join(", ")));
}

fn describe_direction(page: &mut Page, types: &[String], type_: &str, words: Words, rules: &[Allowed]) {
    let (direction, peers_word, end) = words;
    if !types.iter().any(|there| there == type_) {
        return page.line(format!("  Not affecting {direction} traffic"));
    }
    page.line(format!("  Allowing {direction} traffic:"));
    if rules.is_empty() {
        page.line(format!("    <none> (Selected pods are isolated for {direction} connectivity)"));
    }
    for (i, (ports, peers)) in rules.iter().enumerate() {
        match ports.map(Vec::as_slice).unwrap_or_default() {
            [] => page.line("    To Port: <any> (traffic allowed to all ports)"),
            ports => ports.iter().for_each(|port| page.line(format!("    {}", port_text(port)))),
        }
        match peers.map(Vec::as_slice).unwrap_or_default() {
            [] => page.line(format!("    {peers_word}: <any> (traffic not restricted by {end})")),
            peers => {
                for peer in peers {
                    page.line(format!("    {peers_word}:"));
                    describe_peer(page, peer);
                }
            }
        }
        if i + 1 < rules.len() {
            page.line("    ----------");
        }
    }
}

fn port_text(port: &NetworkPolicyPort) -> String {
    let number = match &port.port {
        Some(IntOrString::Int(number)) => number.to_string(),
        Some(IntOrString::String(name)) => name.clone(),
        None => "<nil>".to_owned(),
    };
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    match port.end_port {
        Some(end) => format!("To Port Range: {number}-{end}/{protocol}"),
        None => format!("To Port: {number}/{protocol}"),
    }
}

fn describe_peer(page: &mut Page, peer: &NetworkPolicyPeer) {
    for (title, selector) in [("NamespaceSelector", &peer.namespace_selector), ("PodSelector", &peer.pod_selector)] {
        if selector.is_some() {
            page.line(format!("      {title}: {}", format_label_selector(selector.as_ref())));
        }
    }
    if let Some(block) = &peer.ip_block {
        page.line(format!("      IPBlock:\n        CIDR: {}", block.cidr));
        page.line(format!("        Except: {}", block.except.as_deref().unwrap_or_default().join(", ")));
    }
}
