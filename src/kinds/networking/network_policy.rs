//! NetworkPolicies. Mirrors `ValidateNetworkPolicySpec` of `pkg/apis/networking/validation`.

use std::net::IpAddr;

use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::defaults::fields::or_text;
use crate::pod_template::container::PROTOCOLS;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::selector;
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use crate::validation::metadata::label_selector;
use crate::warnings::addresses::of_cidr;
use object::validation::field::{Json, Path, Problems};
use object::validation::names::{check_cidr, check_port, check_port_name, parse_cidr};

/// What the server knows of NetworkPolicies.
pub const ROW: Row<NetworkPolicy> = Row {
    defaults: Some(defaults),
    strategy: Strategy { generation: Generation::Counted(|new, old| new.spec != old.spec), ..Strategy::DEFAULT },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: warn, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("Pod-Selector"), AGE],
            cells: |o, now| cells![name(o), selector(o, "spec.podSelector"), created(o, now)],
        },
        ..Facts::new("/registry/networkpolicies/", 11)
    })
};

const SPEC: Path = Path::new("spec");
const TYPES: &[&str] = &["Ingress", "Egress"];

/// A policy that does not say which way it isolates does so for ingress, and for egress if it has rules for that.
fn defaults(policy: &mut NetworkPolicy) {
    let spec = policy.spec.get_or_insert_default();
    let ingress = spec.ingress.iter_mut().flatten().flat_map(|rule| rule.ports.iter_mut().flatten());
    let egress = spec.egress.iter_mut().flatten().flat_map(|rule| rule.ports.iter_mut().flatten());
    for port in ingress.chain(egress) {
        or_text(&mut port.protocol, "TCP");
    }
    if spec.policy_types.as_ref().is_none_or(Vec::is_empty) {
        let egress = spec.egress.as_ref().is_some_and(|rules| !rules.is_empty()).then(|| "Egress".to_owned());
        spec.policy_types = Some(["Ingress".to_owned()].into_iter().chain(egress).collect());
    }
}

/// The spec of a NetworkPolicy.
fn validate(problems: &mut Problems, policy: &NetworkPolicy) {
    let default = NetworkPolicySpec::default();
    let spec = policy.spec.as_ref().unwrap_or(&default);
    label_selector(
        problems,
        &SPEC.child("podSelector"),
        spec.pod_selector.as_ref().unwrap_or(&LabelSelector::default()),
    );
    let list = SPEC.child("ingress");
    for (i, rule) in spec.ingress.iter().flatten().enumerate() {
        let path = list.index(i);
        ports(problems, &path.child("ports"), rule.ports.as_deref());
        peers(problems, &path.child("from"), rule.from.as_deref());
    }
    let list = SPEC.child("egress");
    for (i, rule) in spec.egress.iter().flatten().enumerate() {
        let path = list.index(i);
        ports(problems, &path.child("ports"), rule.ports.as_deref());
        peers(problems, &path.child("to"), rule.to.as_deref());
    }
    let (path, types) = (SPEC.child("policyTypes"), spec.policy_types.as_deref().unwrap_or_default());
    if types.len() > TYPES.len() {
        return problems.invalid(&path, Json(&types), "may not specify more than two policyTypes");
    }
    for (i, type_) in types.iter().enumerate().filter(|(_, type_)| !TYPES.contains(&type_.as_str())) {
        problems.not_supported(&path.index(i), type_.as_str(), TYPES);
    }
}

fn warn(told: &mut Vec<String>, policy: &NetworkPolicy) {
    let Some(spec) = &policy.spec else { return };
    for (i, rule) in spec.ingress.iter().flatten().enumerate() {
        of_peers(told, &format!("spec.ingress[{i}].from"), rule.from.as_deref());
    }
    for (i, rule) in spec.egress.iter().flatten().enumerate() {
        of_peers(told, &format!("spec.egress[{i}].to"), rule.to.as_deref());
    }
}

fn ports(problems: &mut Problems, list: &Path, ports: Option<&[NetworkPolicyPort]>) {
    for (i, port) in ports.unwrap_or_default().iter().enumerate() {
        self::port(problems, &list.index(i), port);
    }
}

/// Mirrors `ValidateNetworkPolicyPort`.
fn port(problems: &mut Problems, path: &Path, port: &NetworkPolicyPort) {
    if let Some(protocol) = port.protocol.as_deref().filter(|protocol| !PROTOCOLS.contains(protocol)) {
        problems.not_supported(&path.child("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
    }
    let (at, end) = (path.child("port"), path.child("endPort"));
    match (&port.port, port.end_port) {
        (Some(IntOrString::Int(first)), last) => {
            if let Some(why) = check_port(*first) {
                problems.invalid(&at, *first, why);
            }
            let Some(last) = last else { return };
            if last < *first {
                problems.invalid(&end, *first, "must be greater than or equal to `port`");
            }
            if let Some(why) = check_port(last) {
                problems.invalid(&end, last, why);
            }
        }
        (Some(IntOrString::String(name)), last) => {
            if let Some(last) = last {
                problems.invalid(&end, last, "may not be specified when `port` is non-numeric");
            }
            problems.all_invalid(&at, name, check_port_name(name));
        }
        (None, Some(last)) => problems.invalid(&end, last, "may not be specified when `port` is not specified"),
        (None, None) => {}
    }
}

fn peers(problems: &mut Problems, list: &Path, peers: Option<&[NetworkPolicyPeer]>) {
    for (i, peer) in peers.unwrap_or_default().iter().enumerate() {
        self::peer(problems, &list.index(i), peer);
    }
}

/// Mirrors `ValidateNetworkPolicyPeer`.
fn peer(problems: &mut Problems, path: &Path, peer: &NetworkPolicyPeer) {
    for (field, selector) in [("podSelector", &peer.pod_selector), ("namespaceSelector", &peer.namespace_selector)] {
        if let Some(selector) = selector {
            label_selector(problems, &path.child(field), selector);
        }
    }
    if let Some(block) = &peer.ip_block {
        ip_block(problems, &path.child("ipBlock"), block);
    }
    let others = peer.pod_selector.is_some() || peer.namespace_selector.is_some();
    match (peer.ip_block.is_some(), others) {
        (false, false) => problems.required(path, "must specify a peer"),
        (true, true) => problems.forbidden(path, "may not specify both ipBlock and another peer"),
        _ => {}
    }
}

/// Mirrors `ValidateIPBlock`.
fn ip_block(problems: &mut Problems, path: &Path, block: &IPBlock) {
    let at = path.child("cidr");
    if block.cidr.is_empty() {
        return problems.required(&at, "");
    }
    if let Some(why) = check_cidr(&block.cidr) {
        problems.invalid(&at, block.cidr.as_str(), why);
    }
    let Some(outer) = parse_cidr(&block.cidr) else { return };
    let list = path.child("except");
    for (i, except) in block.except.iter().flatten().enumerate() {
        let path = list.index(i);
        if let Some(why) = check_cidr(except) {
            problems.invalid(&path, except.as_str(), why);
        }
        if parse_cidr(except).is_some_and(|inner| !is_strictly_within(inner, outer)) {
            problems.invalid(&path, except.as_str(), "must be a strict subset of `cidr`");
        }
    }
}

fn is_strictly_within((inner, length): (IpAddr, u32), (outer, bits): (IpAddr, u32)) -> bool {
    let same = match (inner, outer) {
        (IpAddr::V4(inner), IpAddr::V4(outer)) => (inner.to_bits() ^ outer.to_bits()).leading_zeros() >= bits,
        (IpAddr::V6(inner), IpAddr::V6(outer)) => (inner.to_bits() ^ outer.to_bits()).leading_zeros() >= bits,
        _ => false,
    };
    same && length > bits
}

fn of_peers(told: &mut Vec<String>, path: &str, peers: Option<&[NetworkPolicyPeer]>) {
    for (i, peer) in peers.unwrap_or_default().iter().enumerate() {
        let Some(block) = &peer.ip_block else { continue };
        let path = format!("{path}[{i}].ipBlock");
        of_cidr(told, &format!("{path}.cidr"), &block.cidr);
        let except = block.except.iter().flatten().enumerate();
        except.for_each(|(i, range)| of_cidr(told, &format!("{path}.except[{i}]"), range));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn problems(spec: &Value) -> Vec<String> {
        let policy: NetworkPolicy = serde_json::from_value(json!({"spec": spec})).expect("a NetworkPolicy");
        let mut problems = Problems::default();
        validate(&mut problems, &policy);
        problems.0.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
    }

    #[test]
    fn policies_are_refused_as_by_kubernetes() {
        let port = |port: Value| json!({"podSelector": {}, "ingress": [{"ports": [port]}]});
        let peer = |peer: Value| json!({"podSelector": {}, "egress": [{"to": [peer]}]});
        let block = |cidr: &str, except: &[&str]| peer(json!({"ipBlock": {"cidr": cidr, "except": except}}));
        let at = |rest: &str| vec![format!("spec.ingress[0].ports[0].{rest}")];
        let to = |rest: &str| vec![format!("spec.egress[0].to[0]{rest}")];
        for (spec, expected) in [
            (json!({"podSelector": {}}), vec![]),
            (port(json!({"port": 80, "endPort": 90})), vec![]),
            (block("10.0.0.0/8", &["10.1.0.0/16"]), vec![]),
            (block("2001:db8::/32", &["2001:db8:1::/48"]), vec![]),
            (
                port(json!({"port": 0})),
                at("port: Invalid value: 0: must be between 1 and 65535, inclusive"),
            ),
            (
                port(json!({"port": 80, "protocol": "ICMP"})),
                at("protocol: Unsupported value: \"ICMP\": supported values: \"TCP\", \"UDP\", \"SCTP\""),
            ),
            (
                port(json!({"port": 80, "endPort": 70})),
                at("endPort: Invalid value: 80: must be greater than or equal to `port`"),
            ),
            (
                port(json!({"endPort": 70})),
                at("endPort: Invalid value: 70: may not be specified when `port` is not specified"),
            ),
            (
                port(json!({"port": "http", "endPort": 70})),
                at("endPort: Invalid value: 70: may not be specified when `port` is non-numeric"),
            ),
            (peer(json!({})), to(": Required value: must specify a peer")),
            (
                peer(json!({"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}})),
                to(": Forbidden: may not specify both ipBlock and another peer"),
            ),
            (block("", &[]), to(".ipBlock.cidr: Required value")),
            (
                block("10.0.0.0", &[]),
                to(".ipBlock.cidr: Invalid value: \"10.0.0.0\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
            ),
            (
                block("10.0.0.1/16", &["10.0.1.1/24"]),
                [".cidr: Invalid value: \"10.0.0.1/16\"", ".except[0]: Invalid value: \"10.0.1.1/24\""]
                    .map(|what| to(&format!(".ipBlock{what}: must not have bits set beyond the prefix length")))
                    .concat(),
            ),
            (
                block("10.0.0.0/16", &["10.1.0.0/24"]),
                to(".ipBlock.except[0]: Invalid value: \"10.1.0.0/24\": must be a strict subset of `cidr`"),
            ),
            (
                block("10.0.0.0/16", &["10.0.0.0/16"]),
                to(".ipBlock.except[0]: Invalid value: \"10.0.0.0/16\": must be a strict subset of `cidr`"),
            ),
            (
                json!({"podSelector": {}, "policyTypes": ["Both"]}),
                vec!["spec.policyTypes[0]: Unsupported value: \"Both\": supported values: \"Ingress\", \"Egress\"".to_owned()],
            ),
            (
                json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress", "Ingress"]}),
                vec![
                    "spec.policyTypes: Invalid value: [\"Ingress\",\"Egress\",\"Ingress\"]: may not specify more than two policyTypes"
                        .to_owned(),
                ],
            ),
            (
                json!({"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
                vec![
                    "spec.podSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
                        .to_owned(),
                ],
            ),
        ] {
            assert_eq!(problems(&spec), expected, "{spec}");
        }
    }
}
