//! Commands of the network that a learner runs wherever they like: `curl`, `ping`, `nslookup`.
//!
//! They are no part of kubectl. The words go straight to a machine's kernel, so that what follows is packets and nothing
//! else; `exec` is the way that a real cluster has.

use std::any::Any;
use std::net::Ipv4Addr;
use std::rc::Rc;

use serde_json::Value;

use kinds::printers::fields::{list, namespace_and_name, text};
use kubectl::verbs::exec::{finish, refuse_completed};
use kubectl::{Failure, Kubectl};
use network::kernel::{Execute, Executed, Fabric, Userland};
use object::status::Reason;
use object::{Kind, Status};

/// The machine outside the cluster.
const OUTSIDE: &str = "outside";
/// What is said of a Service without rules on any node.
const NO_PROXY: &str = "no kube-proxy runs in this cluster: a Service's address leads nowhere";

/// Runs `curl`, `ping` or `nslookup` from a Pod, a node or outside. Returns the exit code.
pub(super) async fn run(words: &[String], place: &str, cx: &Kubectl, fabric: &Fabric) -> u8 {
    let done = match cx.in_context("") {
        Ok(cx) => from(words, place, &cx, fabric).await,
        Err(fault) => Err(fault),
    };
    cx.exit_code(done)
}

/// `curl URL --from POD`, `ping HOST --from NODE`, `nslookup NAME --from outside`. Without `--from` it is the first node, but
/// for a port of `localhost` that port-forward listens at: that is the user's own machine, outside.
///
/// From where names of the cluster lead nowhere (a node, or a cluster without DNS) the name of a Pod or a Service is
/// looked up here, and that is said.
async fn from(words: &[String], from: &str, cx: &Kubectl, fabric: &Fabric) -> Result<(), Failure> {
    let first = fabric.first_node().ok_or_else(|| Failure::text("no node is up; start one, or add --from outside"))?;
    let from = match from {
        "" if asks_forward(words, cx) => OUTSIDE,
        "" => &first,
        from => from,
    };
    let is_machine = from == OUTSIDE || fabric.machine(from).is_some();
    let (node, place) = if is_machine {
        (from.to_owned(), String::new())
    } else {
        let name = from.strip_prefix("pod/").unwrap_or(from);
        place_of(&cx.get(Kind::Pod, &cx.namespace, name).await?)?
    };
    let has_dns = !place.is_empty() && fabric.dns().is_some();
    let words = if has_dns { words.to_vec() } else { with_address(words, cx, fabric).await? };
    execute(cx, fabric, &node, &place, &words).await
}

/// The node of a Pod, and where a command in it asks from: in the Pod; empty: on the node, whose network and resolver the
/// Pod has. Refused before anything in it runs.
fn place_of(pod: &Value) -> Result<(String, String), Failure> {
    let (namespace, name) = namespace_and_name(pod);
    refuse_completed(pod)?;
    let node = text(pod, "spec.nodeName");
    if node.is_empty() {
        return Err(Status::bad_request(format!("pod {name} does not have a host assigned")).into());
    }
    let runs = |status: &Value| status.pointer("/state/running").is_some();
    if !list(pod, "status.containerStatuses").iter().any(runs) {
        return Err(Failure::text(format!(
            "no container of pod {name} runs yet, or any more; kubectl describe pod {name} says why"
        )));
    }
    let on_host = pod.pointer("/spec/hostNetwork").and_then(Value::as_bool).unwrap_or(false)
        && matches!(text(pod, "spec.dnsPolicy"), "ClusterFirst" | "Default");
    Ok((node.to_owned(), if on_host { String::new() } else { format!("{namespace}/{name}") }))
}

/// Runs a command on a machine and prints what it prints.
async fn execute(cx: &Kubectl, fabric: &Fabric, node: &str, pod: &str, words: &[String]) -> Result<(), Failure> {
    let Some(kernel) = fabric.machine(node) else {
        return Err(Status::new(Reason::Unknown, format!("{node} is off")).into());
    };
    let execute = Execute { pod: pod.to_owned(), words: words.to_vec(), userland: Userland::Usual };
    let reply = cx.client.hub().rpc(kernel, Rc::new(execute)).await.map_err(|error| Failure::text(error.message))?;
    let any: &dyn Any = &*reply;
    let Some(Executed { output, errors, code, .. }) = any.downcast_ref::<Executed>() else { return Ok(()) };
    finish(cx, &[(false, output.clone()), (true, errors.clone())], i32::from(*code))
}

/// The words with the address of a Pod or Service in the place of its name.
async fn with_address(words: &[String], cx: &Kubectl, fabric: &Fabric) -> Result<Vec<String>, Failure> {
    if words.first().is_some_and(|word| word == "nslookup") {
        return Ok(words.to_vec());
    }
    let Some(at) = target(words) else { return Ok(words.to_vec()) };
    let target = &words[at];
    let (scheme, rest) = target.split_at(target.find("://").map_or(0, |end| end + 3));
    let (host, tail) = rest.split_at(rest.find([':', '/']).unwrap_or(rest.len()));
    let Some((what, address)) = address_of(host, cx).await? else { return Ok(words.to_vec()) };
    cx.line(format!("{host} is {what}: {address}"));
    if what.starts_with("Service ") && !fabric.is_proxied() {
        cx.line(NO_PROXY);
    }
    let mut words = words.to_vec();
    words[at] = format!("{scheme}{address}{tail}");
    Ok(words)
}

/// Whether a command asks a port of `localhost` that port-forward listens at.
fn asks_forward(words: &[String], cx: &Kubectl) -> bool {
    let Some(word) = target(words).map(|at| &words[at]) else { return false };
    let rest = word.find("://").map_or(word.as_str(), |end| &word[end + 3..]);
    let authority = rest.split('/').next().unwrap_or_default();
    let port = ["localhost:", "127.0.0.1:"].iter().find_map(|host| authority.strip_prefix(host)?.parse().ok());
    port.is_some_and(|port: u16| cx.forwards.borrow().contains_key(&port))
}

/// The place of the word that says whom: the first that is neither an option nor the value of one.
fn target(words: &[String]) -> Option<usize> {
    const VALUED: [&str; 6] = ["-c", "-m", "-o", "--max-time", "--connect-timeout", "--output"];
    (1..words.len()).find(|at| !words[*at].starts_with('-') && !VALUED.contains(&words[at - 1].as_str()))
}

/// What a name stands for: a Service's ClusterIP, a Pod's address, a node's. `NAME.NAMESPACE` names another namespace.
async fn address_of(host: &str, cx: &Kubectl) -> Result<Option<(String, String)>, Failure> {
    if host.parse::<Ipv4Addr>().is_ok() || host.is_empty() || host == "localhost" {
        return Ok(None);
    }
    let (name, namespace) = host.split_once('.').unwrap_or((host, &cx.namespace));
    for (kind, path) in [(Kind::Service, "spec.clusterIP"), (Kind::Pod, "status.podIP")] {
        match cx.get_once(kind, namespace, name).await {
            Ok(object) => {
                let address = text(&object, path);
                if address.parse::<Ipv4Addr>().is_ok() {
                    return Ok(Some((format!("{kind} {namespace}/{name}"), address.to_owned())));
                }
            }
            Err(failure) if failure.is_not_found() => {}
            Err(failure) => return Err(failure),
        }
    }
    match cx.get_once(Kind::Node, "", host).await {
        Ok(node) => {
            let addresses = list(&node, "status.addresses").iter();
            let internal = addresses.filter(|a| text(a, "type") == "InternalIP").map(|a| text(a, "address")).next();
            Ok(internal.map(|address| (format!("Node {host}"), address.to_owned())))
        }
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure),
    }
}
