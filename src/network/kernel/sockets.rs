//! The sockets of a machine's processes: which of them listens where.
//!
//! No program is run, so a rule says what a container listens on ([`ports`]):
//! - a well-known server image (nginx, redis, …) listens on its own port, even if its `containerPort` is another, as the real
//!   one would: a Service with another targetPort is refused;
//! - `agnhost`, of the test images, listens where the first word tells it to (`netexec`, `liveness`, …);
//! - `--http-port=8080`, `--port 8080`, `-listen=:5678` or `http.server 8000` among its words name the port;
//! - any other image listens on the TCP and UDP ports that its spec declares, where its probes ask, and where Services send
//!   connections to, as far as the rules of its node say so;
//! - a container whose command is a known shell script, such as `sleep 3600`, listens on nothing, or only from the moment on
//!   at which the script comes to something that serves.
//!
//! It listens from that moment, or from its process's start, until the process ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::Ipv4Addr;
use std::rc::Rc;

use serde::Serialize;

use crate::netfilter::{Protocol, Tuple};
use engine::{ActorId, Assumed};
use object::Shared;
use object::time::Instant;

/// What a server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// A page that names its Pod.
    Http,
    /// The same at the paths that a web server has as it comes, and 404 at all others; where its files are known
    /// ([`Sockets::sites`]), those.
    Site,
    /// The same for ten seconds, and 500 from then on: what `agnhost liveness` does, so that a probe has something to find.
    FailingHttp,
    /// DNS: CoreDNS answers.
    Dns,
    /// The answer of this process.
    Process(ActorId),
    /// Something else; to HTTP it says nothing.
    Other,
}

/// A request that has come to a web server.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Whose it is.
    pub client: Ipv4Addr,
    /// Its text.
    pub request: &'a str,
    /// When it came.
    pub now: Instant,
}

/// What a web server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The status.
    pub status: u16,
    /// The body.
    pub text: String,
    /// What the server calls itself.
    pub server: String,
}

/// A web server that serves files, which the kernel does not know.
pub trait Site: fmt::Debug {
    /// What it answers; None: the page that names its Pod.
    fn find(&self, asked: &Asked<'_>) -> Option<Said>;
    /// It has answered with this status and so many bytes.
    fn answered(&self, asked: &Asked<'_>, status: u16, length: usize);
}

/// One listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The container whose process it is; empty for a process of the machine.
    pub container: String,
    /// Who that is, for the page: `default/web`.
    pub name: String,
    /// What it says.
    pub speaks: Speaks,
    /// Since when it takes connections: some servers take their time.
    pub since: Instant,
    /// The only address at which it takes them; None: every one.
    pub address: Option<Ipv4Addr>,
}

/// A Pod, as its machine's network knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The Pod: `default/web`.
    pub pod: String,
    /// What its `/etc/resolv.conf` says.
    pub dns: Shared<DnsConfig>,
}

/// `DNSConfig`: what a Pod's `/etc/resolv.conf` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DnsConfig {
    /// `nameserver`.
    pub servers: Vec<String>,
    /// `search`.
    pub searches: Vec<String>,
    /// `options`.
    pub options: Vec<String>,
}

/// `/etc/resolv.conf`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolver {
    /// `nameserver`.
    pub servers: Vec<Ipv4Addr>,
    /// `search`.
    pub searches: Vec<String>,
    /// `options`.
    pub options: Vec<String>,
}

impl From<&DnsConfig> for Resolver {
    fn from(dns: &DnsConfig) -> Resolver {
        Resolver {
            servers: dns.servers.iter().filter_map(|server| server.parse().ok()).collect(),
            searches: dns.searches.clone(),
            options: dns.options.clone(),
        }
    }
}

impl Resolver {
    /// `options ndots:N`; 1 unless given.
    pub fn ndots(&self) -> usize {
        self.options.iter().find_map(|option| option.strip_prefix("ndots:")?.parse().ok()).unwrap_or(1)
    }

    /// The names that are asked for one after another until one is found. A name with fewer dots than `ndots` is first
    /// looked for in every search domain; a name that ends with a dot is final.
    pub fn tries(&self, name: &str) -> Vec<String> {
        if let Some(absolute) = name.strip_suffix('.') {
            return vec![absolute.to_owned()];
        }
        let searched = self.searches.iter().map(|domain| format!("{name}.{domain}"));
        let as_is = std::iter::once(name.to_owned());
        if name.matches('.').count() >= self.ndots() {
            as_is.chain(searched).collect()
        } else {
            searched.chain(as_is).collect()
        }
    }

    /// The text of the `/etc/resolv.conf` that says so.
    pub fn file(&self) -> String {
        let mut out = String::new();
        if !self.searches.is_empty() {
            out += &format!("search {}\n", self.searches.join(" "));
        }
        for server in &self.servers {
            out += &format!("nameserver {server}\n");
        }
        if !self.options.is_empty() {
            out += &format!("options {}\n", self.options.join(" "));
        }
        out
    }
}

/// All sockets of one machine. The namespace with the empty path is the machine's own.
#[derive(Clone, Debug, Default)]
pub struct Sockets {
    /// Whose the namespaces are, by path.
    pub owners: BTreeMap<String, Owner>,
    /// The Pods that have no namespace of their own and use the machine's, by what would be the path of theirs.
    pub on_host: BTreeMap<String, Owner>,
    /// Who would take connections at ports that are not known, in namespaces where a program runs that is not known, by path;
    /// and which program it is.
    pub unknown: BTreeMap<String, (Rc<str>, Listener)>,
    /// What was said of programs that are not known: once is enough.
    pub assumed: BTreeSet<(Rc<str>, Assumed)>,
    /// The HTTP status that a Pod (`default/web`) answers with, where a scenario says so; 200 otherwise.
    pub answers: BTreeMap<String, u16>,
    /// The web servers whose files are known, by their containers.
    pub sites: BTreeMap<String, Rc<dyn Site>>,
    listeners: BTreeMap<(String, Protocol, u16), Listener>,
    /// Accepted connections, as packets to the server have their addresses.
    accepted: BTreeSet<(String, Tuple)>,
}

impl Sockets {
    /// A process begins to listen. The first one on a port keeps it.
    pub fn listen(&mut self, namespace: &str, protocol: Protocol, port: u16, listener: Listener) {
        self.listeners.entry((namespace.to_owned(), protocol, port)).or_insert(listener);
    }

    /// A container's process is gone, and its sockets with it.
    pub fn close(&mut self, container: &str) {
        let gone = |listener: &Listener| listener.container == container;
        self.unknown.retain(|_, (_, listener)| !gone(listener));
        self.sites.remove(container);
        let ports: Vec<_> = self.listeners.iter().filter(|(_, l)| gone(l)).map(|(at, _)| at.clone()).collect();
        for (namespace, protocol, port) in ports {
            self.close_port(&namespace, protocol, port);
        }
    }

    /// No process listens on a port any longer, and its connections are over.
    pub fn close_port(&mut self, namespace: &str, protocol: Protocol, port: u16) {
        self.accepted.retain(|(of, tuple)| (of.as_str(), tuple.destination_port) != (namespace, port));
        self.listeners.remove(&(namespace.to_owned(), protocol, port));
    }

    /// A namespace is gone, or a Pod that uses the machine's.
    pub fn forget(&mut self, namespace: &str) {
        self.owners.remove(namespace);
        self.on_host.remove(namespace);
        self.unknown.remove(namespace);
        self.listeners.retain(|(of, ..), _| of != namespace);
        self.accepted.retain(|(of, _)| of != namespace);
    }

    /// The namespace of a Pod, `default/web`, and what its `/etc/resolv.conf` says: that is a file of the Pod, and on the
    /// machine's network each has its own.
    pub fn find(&self, pod: &str) -> Option<(&str, Resolver)> {
        let of = |(_, owner): &(&String, &Owner)| owner.pod == pod;
        let own = self.owners.iter().find(of).map(|(path, owner)| (path.as_str(), owner));
        let found = own.or_else(|| self.on_host.iter().find(of).map(|(_, owner)| ("", owner)));
        found.map(|(namespace, owner)| (namespace, Resolver::from(&*owner.dns)))
    }

    /// Who listens there.
    pub fn listener(&self, namespace: &str, protocol: Protocol, port: u16) -> Option<&Listener> {
        self.listeners.get(&(namespace.to_owned(), protocol, port))
    }

    /// What a namespace's processes listen on.
    pub fn ports(&self, namespace: &str) -> Vec<(Protocol, u16)> {
        let of = self.listeners.keys().filter(|(there, ..)| there == namespace);
        of.map(|(_, protocol, port)| (*protocol, *port)).collect()
    }

    /// Accepts a connection. False if no process listens, or not yet.
    pub fn accept(&mut self, namespace: &str, tuple: Tuple, now: Instant) -> bool {
        let listener = self.listener(namespace, tuple.protocol, tuple.destination_port);
        let takes = |there: &Listener| there.address.is_none_or(|address| address == tuple.destination);
        listener.is_some_and(|listener| listener.since <= now && takes(listener)) && {
            self.accepted.insert((namespace.to_owned(), tuple));
            true
        }
    }

    /// Whether such a connection was accepted.
    pub fn is_accepted(&self, namespace: &str, tuple: Tuple) -> bool {
        self.accepted.contains(&(namespace.to_owned(), tuple))
    }

    /// A connection is over.
    pub fn hang_up(&mut self, namespace: &str, tuple: Tuple) {
        self.accepted.remove(&(namespace.to_owned(), tuple));
    }
}

/// Server images and where they listen.
const WELL_KNOWN: &[(&str, Protocol, u16, Speaks)] = &[
    ("nginx", Protocol::Tcp, 80, Speaks::Site),
    ("nginx-unprivileged", Protocol::Tcp, 8080, Speaks::Site),
    ("httpd", Protocol::Tcp, 80, Speaks::Site),
    ("caddy", Protocol::Tcp, 80, Speaks::Site),
    ("whoami", Protocol::Tcp, 80, Speaks::Http),
    ("hello-app", Protocol::Tcp, 8080, Speaks::Http),
    ("node-hello", Protocol::Tcp, 8080, Speaks::Http),
    ("kubernetes-bootcamp", Protocol::Tcp, 8080, Speaks::Http),
    ("goproxy", Protocol::Tcp, 8080, Speaks::Http),
    ("hpa-example", Protocol::Tcp, 80, Speaks::Http),
    ("httpbin", Protocol::Tcp, 80, Speaks::Http),
    ("podinfo", Protocol::Tcp, 9898, Speaks::Http),
    ("echoserver", Protocol::Tcp, 8080, Speaks::Http),
    ("http-echo", Protocol::Tcp, 5678, Speaks::Http),
    ("tomcat", Protocol::Tcp, 8080, Speaks::Http),
    ("registry", Protocol::Tcp, 5000, Speaks::Http),
    ("serve_hostname", Protocol::Tcp, 9376, Speaks::Http),
    ("redis", Protocol::Tcp, 6379, Speaks::Other),
    ("postgres", Protocol::Tcp, 5432, Speaks::Other),
    ("mysql", Protocol::Tcp, 3306, Speaks::Other),
    ("mariadb", Protocol::Tcp, 3306, Speaks::Other),
    ("mongo", Protocol::Tcp, 27017, Speaks::Other),
    ("memcached", Protocol::Tcp, 11211, Speaks::Other),
    ("rabbitmq", Protocol::Tcp, 5672, Speaks::Other),
    ("etcd", Protocol::Tcp, 2379, Speaks::Other),
    ("coredns", Protocol::Udp, 53, Speaks::Dns),
    ("coredns", Protocol::Tcp, 53, Speaks::Other),
    ("coredns", Protocol::Tcp, 9153, Speaks::Http),
];

/// Images whose work is done by something else here, the listening too.
const DONE_ELSEWHERE: &[&str] = &["kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"];

/// What `agnhost` does, and where it listens then.
const AGNHOST: &[(&str, u16, Speaks)] = &[
    ("liveness", 8080, Speaks::FailingHttp),
    ("netexec", 8080, Speaks::Http),
    ("serve-hostname", 9376, Speaks::Http),
    ("test-webserver", 80, Speaks::Http),
];

/// Whether it is known where a server of this image listens.
pub fn is_well_known(image: &str) -> bool {
    let name = base_name(image);
    WELL_KNOWN.iter().any(|(known, ..)| *known == name) || DONE_ELSEWHERE.contains(&name)
}

/// The name of an image without registry, path, tag and digest.
fn base_name(image: &str) -> &str {
    image.rsplit('/').next().unwrap_or(image).split([':', '@']).next().unwrap_or(image)
}

/// Whether it is told by nothing but its ports where a container listens.
pub fn is_guessed(image: &str, words: &[String]) -> bool {
    named_port(words).is_none() && agnhost(image, words).is_none() && !is_well_known(image)
}

fn agnhost(image: &str, words: &[String]) -> Option<(u16, Speaks)> {
    let does = |what: &str| base_name(image) == "agnhost" && words.iter().take(2).any(|word| word == what);
    AGNHOST.iter().find(|(what, ..)| does(what)).map(|(_, port, speaks)| (*port, *speaks))
}

/// What a container that serves listens on. `declared` are the ports of its spec.
pub fn ports(image: &str, words: &[String], declared: &[(u16, Protocol)]) -> Vec<(Protocol, u16, Speaks)> {
    if let Some(port) = named_port(words) {
        return vec![(Protocol::Tcp, port, Speaks::Http)];
    }
    if let Some((port, speaks)) = agnhost(image, words) {
        return vec![(Protocol::Tcp, port, speaks)];
    }
    let name = base_name(image);
    let known: Vec<_> = WELL_KNOWN.iter().filter(|(known, ..)| *known == name).collect();
    if known.is_empty() && !DONE_ELSEWHERE.contains(&name) {
        let speaks = |protocol| if protocol == Protocol::Tcp { Speaks::Http } else { Speaks::Other };
        return declared.iter().map(|(port, protocol)| (*protocol, *port, speaks(*protocol))).collect();
    }
    known.into_iter().map(|(_, protocol, port, speaks)| (*protocol, *port, *speaks)).collect()
}

/// A port among the words of a command.
fn named_port(words: &[String]) -> Option<u16> {
    const FLAGS: [&str; 5] = ["--http-port", "--port", "-port", "-listen", "--listen"];
    let words: Vec<&str> = words.iter().flat_map(|word| word.split_whitespace()).collect();
    let number = |text: &str| text.rsplit(':').next().and_then(|port| port.parse().ok());
    let with_value =
        |word: &str| word.split_once('=').filter(|(flag, _)| FLAGS.contains(flag)).and_then(|(_, v)| number(v));
    let follows =
        |pair: &[&str]| (FLAGS.contains(&pair[0]) || pair[0] == "http.server").then(|| number(pair[1])).flatten();
    words.iter().find_map(|word| with_value(word)).or_else(|| words.windows(2).find_map(follows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_and_words_say_where_a_container_listens() {
        let declared = [(8080, Protocol::Tcp), (53, Protocol::Udp)];
        for (image, words, expected) in [
            ("nginx:1.27", "", vec![80]),
            ("docker.io/library/redis@sha256:00", "", vec![6379]),
            ("example.com/shop/cart:v2", "", vec![8080, 53]),
            ("registry.k8s.io/e2e-test-images/agnhost:2.53", "netexec --http-port=9090", vec![9090]),
            ("registry.k8s.io/e2e-test-images/agnhost:2.40", "liveness", vec![8080]),
            ("registry.k8s.io/e2e-test-images/agnhost:2.40", "/agnhost test-webserver", vec![80]),
            ("gcr.io/google-samples/kubernetes-bootcamp:v1", "", vec![8080]),
            ("hashicorp/http-echo", "-listen=:5000 -text=hi", vec![5000]),
            ("python:3", "python3 -m http.server 8000", vec![8000]),
            ("registry.k8s.io/kube-apiserver:v1.36.2", "kube-apiserver --secure-port=6443", vec![]),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let found: Vec<u16> = ports(image, &words, &declared).iter().map(|(_, port, _)| *port).collect();
            assert_eq!(found, expected, "{image}");
        }
    }

    #[test]
    fn a_name_is_tried_where_the_file_says() {
        let resolver = Resolver {
            servers: vec![Ipv4Addr::new(10, 96, 0, 10)],
            searches: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"].map(str::to_owned).into(),
            options: vec!["ndots:5".into()],
        };
        let all = |name: &str| resolver.tries(name);
        assert_eq!(all("web")[0], "web.default.svc.cluster.local");
        assert_eq!(all("example.com").len(), 4);
        assert_eq!(all("example.com")[3], "example.com");
        assert_eq!(all("example.com."), ["example.com"]);
        assert_eq!(all("a.b.c.d.e.f")[0], "a.b.c.d.e.f");
        assert_eq!(Resolver::default().tries("web"), ["web"]);
        assert_eq!(
            resolver.file(),
            "search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"
        );
    }

    #[test]
    fn sockets_go_with_their_process() {
        let mut sockets = Sockets::default();
        let since = Instant(5);
        let listener =
            Listener { container: "c1".into(), name: "default/web".into(), speaks: Speaks::Http, since, address: None };
        sockets.listen("/ns", Protocol::Tcp, 80, listener);
        let tuple = Tuple {
            protocol: Protocol::Tcp,
            source: Ipv4Addr::LOCALHOST,
            source_port: 1,
            destination: Ipv4Addr::LOCALHOST,
            destination_port: 80,
        };
        assert!(!sockets.accept("/ns", tuple, Instant(4)), "it is still starting");
        assert!(sockets.accept("/ns", tuple, since) && !sockets.accept("/other", tuple, since));
        sockets.close("c1");
        assert!(!sockets.is_accepted("/ns", tuple) && !sockets.accept("/ns", tuple, since));
    }
}
