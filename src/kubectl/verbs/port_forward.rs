//! `port-forward`: a port of the user's machine becomes one of a Pod.
//!
//! Of a Service or a Deployment one Pod is chosen, once: nothing is balanced. What goes on afterwards is in
//! [`forwards`](crate::forwards). Mirrors `pkg/cmd/portforward` of kubectl.
//!
//! Left out: to wait for a Pod where none is there (`--pod-running-timeout`).

use std::net::Ipv4Addr;

use serde_json::Value;

use super::connect::connect;
use super::pod_of::{Order, best_pod, object_of};
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::left_open::Forward;
use crate::nodes::{Ask, Told};
use crate::print::fields::{at, int, list, text};
use crate::usage::Usage;
use object::{Key, Kind};
use wire::{Body, Subresource};

const USAGE: &str = "TYPE/NAME and list of ports are required for port-forward";

/// A port of the user's machine, or 0 for any, and the port of the Pod that it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    local: u16,
    remote: u16,
}

/// `kubectl port-forward`.
pub const PORT_FORWARD: Command = Command {
    usage: Usage {
        name: "port-forward",
        words: "TYPE/NAME [LOCAL:]REMOTE …",
        about: "Make a port of your machine one of a Pod, in the background: curl http://localhost:LOCAL\n\
                Of a Service, a Deployment and so on one Pod is chosen, and it ends with that one.\n\
                LOCAL is at least 1024; without a number before the : it is any that is free.",
        flags: &[&["address"]],
        left_out: &["pod-running-timeout"],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Pods),
    run: Run::There(|args, cx| Box::pin(port_forward(args, cx))),
    ..Command::EMPTY
};

/// `kubectl port-forward`.
async fn port_forward(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let [word, ports @ ..] = args.words.as_slice() else { return Err(Failure::usage("port-forward", USAGE)) };
    if ports.is_empty() {
        return Err(Failure::usage("port-forward", USAGE));
    }
    let namespace = cx.namespace(args);
    let (kind, object) = object_of("port-forward", word, args, cx).await?;
    let (pod, _) = best_pod(word, kind, &object, Order::Exec, args, cx).await?;
    let pairs = match kind {
        Kind::Service => of_service(ports, &object, &pod)?,
        _ => of_pod(ports, &pod)?,
    };
    let name = text(&pod, "metadata.name");
    let pod = cx.get_once(Kind::Pod, namespace, name).await?;
    let phase = text(&pod, "status.phase");
    if phase != "Running" {
        return Err(Failure::text(format!(
            "unable to forward port because pod is not running. Current status={phase}"
        )));
    }
    let addresses = addresses(args)?;
    open(&Key::new(namespace, name), &addresses, &pairs, cx).await
}

/// Connects to the Pod, and listens.
async fn open(pod: &Key, addresses: &[Ipv4Addr], pairs: &[Pair], cx: &Kubectl) -> Result<(), Failure> {
    let upgrade = |why: String| Failure::text(format!("error upgrading connection: {why}"));
    let there = connect(Subresource::PortForward, pod.namespace(), pod.name(), Body::None, cx)
        .await
        .map_err(|failure| upgrade(failure.message()))?;
    let sandbox = match cx.nodes.ask(&cx.client, there.kubelet, Ask::PortForward { pod: pod.clone() }).await {
        Ok(Told::Sandbox(sandbox)) => sandbox,
        Ok(_) => return Err(upgrade("unable to upgrade connection".to_owned())),
        Err(error) => return Err(upgrade(format!("unable to upgrade connection: {}", error.message))),
    };
    let mut process = None;
    for Pair { local, remote } in pairs.iter().copied() {
        match listen(addresses, local, remote, cx).await {
            Ok(port) => {
                let forward = Forward {
                    process: *process.get_or_insert(port),
                    remote,
                    node: there.node.clone(),
                    address: there.address.clone(),
                    kubelet: there.kubelet,
                    sandbox: sandbox.clone(),
                };
                cx.forwards.borrow_mut().insert(port, forward);
            }
            Err(why) => cx.complain(format!(
                "Unable to listen on port {local}: Listeners failed to create with the following errors: [unable to create \
                 listener: Error {why}]"
            )),
        }
    }
    if process.is_some() {
        return Ok(());
    }
    let pairs: Vec<String> = pairs.iter().map(|pair| format!("{{{} {}}}", pair.local, pair.remote)).collect();
    Err(Failure::text(format!("unable to listen on any of the requested ports: [{}]", pairs.join(" "))))
}

/// Listens at a port of the user's machine, which is the one outside. Returns which.
async fn listen(addresses: &[Ipv4Addr], local: u16, remote: u16, cx: &Kubectl) -> Result<u16, String> {
    // A port has one listener here: more than one address is every address.
    let address = match addresses {
        [one] => *one,
        _ => Ipv4Addr::UNSPECIFIED,
    };
    let port = cx.nodes.listen(&cx.client, address, local).await?;
    for address in addresses {
        cx.line(format!("Forwarding from {address}:{port} -> {remote}"));
    }
    Ok(port)
}

/// The addresses that `--address` names, each once. Mirrors `parseAddresses`.
fn addresses(args: &Args) -> Result<Vec<Ipv4Addr>, Failure> {
    let mut found = Vec::new();
    let given = args.values("address").iter().flat_map(|word| word.split(','));
    for word in given.filter(|word| !word.is_empty()) {
        found.push(match word {
            "localhost" => Ipv4Addr::LOCALHOST,
            word => word.parse().map_err(|_| Failure::text(format!("{word} is not a valid IP")))?,
        });
    }
    if found.is_empty() {
        found.push(Ipv4Addr::LOCALHOST);
    }
    found.sort_by_key(ToString::to_string);
    found.dedup();
    Ok(found)
}

/// `LOCAL:REMOTE`; with one number, or with more than two, both are the first. Mirrors `splitPort`.
fn split(port: &str) -> (&str, &str) {
    match port.split(':').collect::<Vec<_>>()[..] {
        [local, remote] => (local, remote),
        [both, ..] => (both, both),
        [] => ("", ""),
    }
}

/// Mirrors `parsePorts`.
fn pair(local: &str, remote: &str) -> Result<Pair, Failure> {
    let number = |which: &str, word: &str| {
        word.parse::<u16>().map_err(|_| {
            let why = match word.parse::<u128>() {
                Ok(_) => "value out of range",
                Err(_) => "invalid syntax",
            };
            let why = format!("strconv.ParseUint: parsing {word:?}: {why}");
            Failure::text(format!("error parsing {which} port '{word}': {why}"))
        })
    };
    let local = if local.is_empty() { 0 } else { number("local", local)? };
    match number("remote", remote)? {
        0 => Err(Failure::text("remote port must be > 0")),
        remote => Ok(Pair { local, remote }),
    }
}

/// A Service's ports become those of the Pod behind them. Mirrors `translateServicePortToTargetPort`.
fn of_service(ports: &[String], service: &Value, pod: &Value) -> Result<Vec<Pair>, Failure> {
    let mut all = Vec::new();
    for port in ports {
        let (local, remote) = split(port);
        let number = match remote.parse::<i64>() {
            Ok(number) => number,
            Err(_) => int(named(list(service, "spec.ports"), remote, "Service", service)?, "port"),
        };
        let of_number: Vec<&Value> =
            list(service, "spec.ports").iter().filter(|there| int(there, "port") == number).collect();
        refuse_udp(of_number.iter().copied(), remote)?;
        let target = match of_number.first() {
            Some(there) => target_of(there, service, pod)?,
            None => {
                let name = text(service, "metadata.name");
                return Err(Failure::text(format!("Service {name} does not have a service port {number}")));
            }
        };
        // A name alone is the Service's port on this side, too.
        let local = if local == remote { number.to_string() } else { local.to_owned() };
        all.push(pair(&local, &target.to_string())?);
    }
    Ok(all)
}

/// Mirrors `LookupContainerPortNumberByServicePort`.
fn target_of(port: &Value, service: &Value, pod: &Value) -> Result<i64, Failure> {
    let own = int(port, "port");
    if text(service, "spec.clusterIP") == "None" {
        return Ok(own);
    }
    match at(port, "targetPort") {
        Value::String(name) => Ok(int(named(container_ports(pod), name, "Pod", pod)?, "containerPort")),
        number => Ok(number.as_i64().filter(|number| *number != 0).unwrap_or(own)),
    }
}

/// Named ports of a Pod become numbers. Mirrors `convertPodNamedPortToNumber`.
fn of_pod(ports: &[String], pod: &Value) -> Result<Vec<Pair>, Failure> {
    let mut all = Vec::new();
    for port in ports {
        let (local, remote) = split(port);
        if remote.is_empty() {
            return Err(Failure::text("remote port cannot be empty"));
        }
        let number = match remote.parse::<i64>() {
            Ok(_) => remote.to_owned(),
            Err(_) => int(named(container_ports(pod), remote, "Pod", pod)?, "containerPort").to_string(),
        };
        let of_number = container_ports(pod).filter(|there| int(there, "containerPort").to_string() == number);
        refuse_udp(of_number, remote)?;
        all.push(pair(if local == remote { &number } else { local }, &number)?);
    }
    Ok(all)
}

fn container_ports(pod: &Value) -> impl Iterator<Item = &Value> {
    list(pod, "spec.containers").iter().flat_map(|container| list(container, "ports"))
}

fn named<'a>(
    ports: impl IntoIterator<Item = &'a Value>,
    name: &str,
    kind: &str,
    of: &Value,
) -> Result<&'a Value, Failure> {
    ports.into_iter().find(|port| text(port, "name") == name).ok_or_else(|| {
        Failure::text(format!("{kind} '{}' does not have a named port '{name}'", text(of, "metadata.name")))
    })
}

/// A port that is UDP's alone cannot be forwarded. Mirrors `checkUDPPorts`.
fn refuse_udp<'a>(ports: impl Iterator<Item = &'a Value>, remote: &str) -> Result<(), Failure> {
    let protocols: Vec<&str> = ports.map(|port| text(port, "protocol")).collect();
    match protocols.contains(&"UDP") && !protocols.contains(&"TCP") {
        true => Err(Failure::text(format!("UDP protocol is not supported for {remote}"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(pairs: Result<Vec<Pair>, Failure>) -> String {
        let shown = |pair: &Pair| format!("{}:{}", pair.local, pair.remote);
        pairs.map_or_else(|failure| failure.message(), |pairs| pairs.iter().map(shown).collect::<Vec<_>>().join(" "))
    }

    fn named_port(name: &str, number: u16, protocol: &str) -> Value {
        json!({"name": name, "containerPort": number, "protocol": protocol})
    }

    fn pod() -> Value {
        let ports = [named_port("http", 8080, "TCP"), named_port("dns", 53, "UDP")];
        json!({"metadata": {"name": "web-1"}, "spec": {"containers": [{"ports": ports}]}})
    }

    #[test]
    fn a_port_of_a_pod_may_have_a_name() {
        for (word, expected) in [
            ("80", "80:80"),
            ("8000:80", "8000:80"),
            (":80", "0:80"),
            ("0:80", "0:80"),
            ("http", "8080:8080"),
            ("80:http", "80:8080"),
            // As of the real one.
            ("1:2:3", "1:1"),
            ("x:80", "error parsing local port 'x': strconv.ParseUint: parsing \"x\": invalid syntax"),
            ("80:70000", "error parsing remote port '70000': strconv.ParseUint: parsing \"70000\": value out of range"),
            ("80:0", "remote port must be > 0"),
            ("80:", "remote port cannot be empty"),
            ("ftp", "Pod 'web-1' does not have a named port 'ftp'"),
            ("dns", "UDP protocol is not supported for dns"),
            ("53", "UDP protocol is not supported for 53"),
        ] {
            assert_eq!(shown(of_pod(&[word.to_owned()], &pod())), expected, "{word}");
        }
    }

    #[test]
    fn a_port_of_a_service_is_what_its_pod_has_behind_it() {
        let service = |address: &str| {
            json!({"metadata": {"name": "web"}, "spec": {"clusterIP": address, "ports": [
                {"name": "web", "port": 80, "targetPort": "http", "protocol": "TCP"},
                {"port": 81, "targetPort": 8081, "protocol": "TCP"},
                {"port": 82, "protocol": "TCP"},
                {"port": 84, "targetPort": "no", "protocol": "TCP"},
                {"port": 53, "targetPort": 53, "protocol": "UDP"},
            ]}})
        };
        let told = |word: &str, address: &str| shown(of_service(&[word.to_owned()], &service(address), &pod()));
        for (word, expected) in [
            ("80", "80:8080"),
            ("9000:80", "9000:8080"),
            (":80", "0:8080"),
            ("web", "80:8080"),
            ("9000:web", "9000:8080"),
            ("81", "81:8081"),
            ("82", "82:82"),
            ("84", "Pod 'web-1' does not have a named port 'no'"),
            ("99", "Service web does not have a service port 99"),
            ("ftp", "Service 'web' does not have a named port 'ftp'"),
            ("53", "UDP protocol is not supported for 53"),
        ] {
            assert_eq!(told(word, "10.96.0.9"), expected, "{word}");
        }
        assert_eq!(told("80", "None"), "80:80", "a headless Service has no ports of its own");
    }
}
