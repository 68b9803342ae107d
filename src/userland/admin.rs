//! Commands of an admin who is logged in to a node and looks around: `cat`, `ls`, `ip`, `bridge`, `iptables-save`,
//! `conntrack`.

use network::cni::iproute;
use network::host::Host;
use network::netfilter::{Protocol, Table};
use object::time::Instant;

/// How commands are written.
pub const USAGE: &str = "cat PATH, ls PATH, ip addr|route|link|netns, ip -n NAME addr|route|link, bridge link|fdb, iptables-save [-t TABLE], \
     conntrack -L [-p PROTOCOL], nft list ruleset";

/// Runs a command that only looks, at this time. Gives what it prints, or its error as the real command words it.
pub fn run(host: &Host, words: &[&str], now: Instant) -> Result<String, String> {
    match words {
        ["cat", path] => match host.disk.read(path) {
            Some(text) => Ok(text),
            None => Err(format!("cat: {path}: {}", why_not(host, path))),
        },
        ["ls", path] => match host.disk.names(path) {
            Ok(names) => Ok(names.into_iter().map(|name| name + "\n").collect()),
            Err(error) => Err(format!("ls: cannot access '{path}': {error}")),
        },
        ["ip", rest @ ..] => iproute::ip(&host.network.borrow(), rest),
        ["bridge", rest @ ..] => iproute::bridge(&host.network.borrow(), rest),
        ["iptables-save"] => Ok(host.network.borrow().root.netfilter.rules.save()),
        ["iptables-save", "-t", table] => match Table::ALL.into_iter().find(|known| known.as_str() == *table) {
            Some(table) => Ok(host.network.borrow().root.netfilter.rules.save_table(table)),
            None => Err(format!("iptables-save: table '{table}' does not exist")),
        },
        ["conntrack", "-L"] => Ok(connections(host, None, now)),
        ["conntrack", "-L", "-p", protocol] => match Protocol::parse(protocol) {
            Some(protocol) => Ok(connections(host, Some(protocol), now)),
            None => Err(format!("conntrack: `{protocol}' unsupported protocol")),
        },
        _ => Err(format!("{:?} is not understood; a node knows {USAGE}", words.join(" "))),
    }
}

/// The kernel's connections, and how many there are: real conntrack says that on standard error.
fn connections(host: &Host, protocol: Option<Protocol>, now: Instant) -> String {
    let lines = host.network.borrow().root.netfilter.conntrack.list(protocol, now);
    let count = lines.lines().count();
    format!("{lines}conntrack v1.4.8 (conntrack-tools): {count} flow entries have been shown.\n")
}

fn why_not(host: &Host, path: &str) -> &'static str {
    if host.disk.names(path).is_ok() { "Is a directory" } else { "No such file or directory" }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use engine::Hub;
    use network::cni::config::PLUGINS;
    use network::cni::exec::{Command, Environment};
    use network::cni::plugins::{Machine, main};
    use network::install;
    use network::netfilter::{Hook, Packet, Payload, Surroundings, Tuple};

    fn host() -> Host {
        let hub = Hub::new(0);
        Host::new(&hub, [172, 18, 0, 10].into(), install::disk(&hub, "node-1", "10.244.0.0/24"))
    }

    fn looked(host: &Host, words: &[&str]) -> Result<String, String> {
        run(host, words, Instant::default())
    }

    fn add(host: &Host, plugin: &str, stdin: &Value) {
        let environment = Environment {
            command: Command::Add,
            container_id: "a".into(),
            netns: "/var/run/netns/cni-a".into(),
            ifname: "eth0".into(),
            args: String::new(),
            path: PLUGINS.into(),
        };
        let mut network = host.network.borrow_mut();
        network.named.entry("/var/run/netns/cni-a".into()).or_default();
        let mut machine =
            Machine { disk: &host.disk, network: &mut network, random: &mut || 0x1a2b_3c4d, steps: None, ipam: None };
        main(&mut machine, &format!("{PLUGINS}/{plugin}"), &environment, stdin).unwrap();
    }

    fn with_a_pod() -> Host {
        let host = host();
        let ipam = json!({"type": "host-local", "subnet": "10.244.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]});
        let bridge = json!({"cniVersion": "1.1.0", "name": "net", "isGateway": true, "ipam": ipam});
        add(&host, "loopback", &json!({"cniVersion": "0.3.1", "name": "lo"}));
        add(&host, "bridge", &bridge);
        host
    }

    #[test]
    fn links_and_addresses_are_as_ip_prints_them() {
        let host = with_a_pod();
        let mac =
            |namespace: &str, name: &str| host.network.borrow().namespace(namespace).unwrap().links[name].mac.clone();
        let (eth0, cni0, veth) = (mac("", "eth0"), mac("", "cni0"), mac("", "veth1a2b3c4d"));
        let expected = format!(
            "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq_codel state UP group default qlen 1000
    link/ether {eth0} brd ff:ff:ff:ff:ff:ff
    inet 172.18.0.10/16 brd 172.18.255.255 scope global eth0
       valid_lft forever preferred_lft forever
3: cni0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000
    link/ether {cni0} brd ff:ff:ff:ff:ff:ff
    inet 10.244.0.1/24 brd 10.244.0.255 scope global cni0
       valid_lft forever preferred_lft forever
4: veth1a2b3c4d@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue master cni0 state UP group default qlen 1000
    link/ether {veth} brd ff:ff:ff:ff:ff:ff link-netns cni-a
"
        );
        assert_eq!(looked(&host, &["ip", "addr"]).unwrap(), expected);
        let inner = mac("/var/run/netns/cni-a", "eth0");
        let expected = format!(
            "2: eth0@if4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP mode DEFAULT group default qlen 1000
    link/ether {inner} brd ff:ff:ff:ff:ff:ff link-netnsid 0
"
        );
        assert_eq!(looked(&host, &["ip", "-n", "cni-a", "link", "show", "eth0"]).unwrap(), expected);
        assert_eq!(looked(&host, &["ip", "netns"]).unwrap(), "cni-a\n");
        assert_eq!(
            looked(&host, &["bridge", "link"]).unwrap(),
            "4: veth1a2b3c4d@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 master cni0 state forwarding priority 32 cost 2 \n"
        );
        assert!(
            looked(&host, &["bridge", "fdb"]).unwrap().starts_with(&format!("{inner} dev veth1a2b3c4d master cni0 \n"))
        );
    }

    #[test]
    fn routes_are_as_ip_prints_them() {
        let host = with_a_pod();
        let expected = "default via 172.18.0.1 dev eth0 \n\
                        10.244.0.0/24 dev cni0 proto kernel scope link src 10.244.0.1 \n\
                        172.18.0.0/16 dev eth0 proto kernel scope link src 172.18.0.10 \n";
        assert_eq!(looked(&host, &["ip", "route"]).unwrap(), expected);
        let expected = "default via 10.244.0.1 dev eth0 \n\
                        10.244.0.0/24 dev eth0 proto kernel scope link src 10.244.0.2 \n";
        assert_eq!(looked(&host, &["ip", "netns", "exec", "cni-a", "ip", "r"]).unwrap(), expected);
    }

    #[test]
    fn connections_are_as_conntrack_prints_them() {
        let host = host();
        let hub = Hub::new(0);
        let now = Instant::default();
        let [client, server] = [[10, 244, 0, 2], [10, 244, 0, 3]].map(std::net::Ipv4Addr::from);
        let pass = |mut packet: Packet| {
            let netfilter = &mut host.network.borrow_mut().root.netfilter;
            hub.random(|random| {
                let mut around = Surroundings { host: &Nobody, random, now };
                netfilter.pass(Hook::Prerouting, &mut packet, &mut around);
                netfilter.pass(Hook::Postrouting, &mut packet, &mut around);
            });
        };
        let tuple = |protocol, source_port, destination_port| Tuple {
            protocol,
            source: client,
            source_port,
            destination: server,
            destination_port,
        };
        let (tcp, echo) = (tuple(Protocol::Tcp, 32768, 80), tuple(Protocol::Icmp, 7, 7));
        for (tuple, payload) in [
            (tcp, Payload::Syn),
            (tcp.inverted(), Payload::SynAck),
            (tcp, Payload::Data("GET / HTTP/1.1".into())),
            (echo, Payload::Echo(1)),
        ] {
            pass(Packet::new(tuple, payload));
        }
        let tcp = "tcp      6 86400 ESTABLISHED src=10.244.0.2 dst=10.244.0.3 sport=32768 dport=80 \
                   src=10.244.0.3 dst=10.244.0.2 sport=80 dport=32768 [ASSURED] mark=0 use=1\n";
        let icmp = "icmp     1 30 src=10.244.0.2 dst=10.244.0.3 type=8 code=0 id=7 [UNREPLIED] \
                    src=10.244.0.3 dst=10.244.0.2 type=0 code=0 id=7 mark=0 use=1\n";
        let shown = |count| format!("conntrack v1.4.8 (conntrack-tools): {count} flow entries have been shown.\n");
        assert_eq!(looked(&host, &["conntrack", "-L"]).unwrap(), format!("{tcp}{icmp}{}", shown(2)));
        assert_eq!(looked(&host, &["conntrack", "-L", "-p", "icmp"]).unwrap(), format!("{icmp}{}", shown(1)));
        assert_eq!(looked(&host, &["conntrack", "-L", "-p", "udp"]).unwrap(), shown(0));
    }

    struct Nobody;

    impl network::netfilter::Host for Nobody {
        fn is_local(&self, _: std::net::Ipv4Addr) -> bool {
            false
        }

        fn address_of(&self, _: &str) -> Option<std::net::Ipv4Addr> {
            None
        }
    }

    #[test]
    fn files_are_shown() {
        let host = with_a_pod();
        assert_eq!(looked(&host, &["ls", "/etc/cni/net.d"]).unwrap(), "10-kubestep.conflist\n");
        assert_eq!(
            looked(&host, &["ls", "/var/lib/cni/networks/net"]).unwrap(),
            "10.244.0.2\nlast_reserved_ip.0\nlock\n"
        );
        assert_eq!(looked(&host, &["cat", "/var/lib/cni/networks/net/10.244.0.2"]).unwrap(), "a\r\neth0");
        for (words, says) in [
            (vec!["cat", "/etc/cni"], "cat: /etc/cni: Is a directory"),
            (vec!["cat", "/none"], "cat: /none: No such file or directory"),
            (vec!["ls", "/none"], "ls: cannot access '/none': No such file or directory"),
            (vec!["ip", "addr", "show", "eth7"], "Device \"eth7\" does not exist."),
            (vec!["iptables-save", "-t", "broute"], "iptables-save: table 'broute' does not exist"),
            (vec!["conntrack", "-L", "-p", "gre"], "conntrack: `gre' unsupported protocol"),
            (vec!["ip", "neigh"], "Object \"neigh\" is unknown, try \"ip help\"."),
            (vec!["ip", "-n", "x", "addr"], "Cannot open network namespace \"x\": No such file or directory"),
        ] {
            assert_eq!(looked(&host, &words).unwrap_err(), says);
        }
        for unknown in [vec!["rm"], vec![], vec!["bridge"], vec!["ip"], vec!["cat"]] {
            assert!(looked(&host, &unknown).is_err(), "{unknown:?}");
        }
    }
}
