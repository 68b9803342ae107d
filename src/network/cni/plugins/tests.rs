use serde_json::{Value, json};

use super::testing::{Bench, environment, network};
use crate::cni::exec::Command;
use crate::netfilter::{Packet, Payload, Protocol, Table, Tuple};
use object::time::Instant;

fn ipam() -> Value {
    json!({"type": "host-local", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]})
}

fn bridge() -> Value {
    network(json!({"type": "bridge", "isGateway": true, "ipMasq": true, "ipam": ipam()}))
}

/// A plugin's input with the result of the one before.
fn after(previous: &Value, more: Value) -> Value {
    let mut stdin = network(more);
    stdin["prevResult"] = previous.clone();
    stdin
}

#[test]
fn an_add_is_refused_unless_all_is_as_it_should_be() {
    let mut bench = Bench::new();
    let good = environment(Command::Add, "a", "/var/run/netns/a");
    let mut no_netns = good.clone();
    no_netns.netns = String::new();
    no_netns.path = String::new();
    let mut long = good.clone();
    long.ifname = "an-interface-too-long".into();
    let mut odd = good.clone();
    odd.container_id = "a/b".into();
    let check = environment(Command::Check, "a", "/var/run/netns/a");
    let gc = environment(Command::Gc, "", "");
    for (plugin, environment, stdin, code, says) in [
        ("bridge", &no_netns, json!({}), 4, "required env variables [CNI_NETNS,CNI_PATH] missing"),
        ("bridge", &odd, json!({}), 4, "invalid characters in containerID; a/b"),
        ("bridge", &long, bridge(), 4, "interface name is too long; interface name should be less than 16 characters"),
        ("bridge", &good, json!({}), 7, "missing network name"),
        ("bridge", &good, json!({"name": "my net"}), 7, "invalid characters found in network name; my net"),
        (
            "bridge",
            &good,
            network(json!({"cniVersion": "1.2.0"})),
            1,
            "incompatible CNI versions; config is \"1.2.0\", plugin supports [\"0.1.0\" \"0.2.0\" \"0.3.0\" \"0.3.1\" \
             \"0.4.0\" \"1.0.0\" \"1.1.0\"]",
        ),
        (
            "firewall",
            &good,
            network(json!({"cniVersion": "0.3.1"})),
            1,
            "incompatible CNI versions; config is \"0.3.1\", plugin supports [\"0.4.0\" \"1.0.0\" \"1.1.0\"]",
        ),
        ("bridge", &check, network(json!({"cniVersion": "0.3.1"})), 1, "config version does not allow CHECK"),
        ("bridge", &gc, network(json!({"cniVersion": "1.0.0"})), 1, "config version does not allow GC"),
        ("bridge", &good, network(json!({"vlan": 5000})), 999, "invalid VLAN ID 5000 (must be between 0 and 4094)"),
        (
            "bridge",
            &good,
            network(json!({"hairpinMode": true, "promiscMode": true})),
            999,
            "cannot set hairpin mode and promiscuous mode at the same time",
        ),
        (
            "bridge",
            &good,
            bridge(),
            999,
            "failed to open netns \"/var/run/netns/a\": failed to Statfs \"/var/run/netns/a\": no such file or directory",
        ),
        ("portmap", &good, network(json!({})), 999, "must be called as chained plugin"),
        ("firewall", &good, network(json!({})), 999, "missing prevResult from earlier plugin"),
        ("host-local", &good, network(json!({})), 999, "IPAM config missing 'ipam' key"),
        (
            "cilium-cni",
            &good,
            network(json!({})),
            999,
            "netplugin failed with no error message: fork/exec /opt/cni/bin/cilium-cni: exec format error",
        ),
    ] {
        let error = bench.run_with(plugin, environment, &stdin).unwrap_err();
        assert_eq!((error.code, error.to_string().as_str()), (code, says), "{plugin}");
    }
    let mut version = good;
    version.command = Command::Version;
    let supported = bench.run_with("firewall", &version, &Value::Null).unwrap();
    assert_eq!(supported, json!({"cniVersion": "1.1.0", "supportedVersions": ["0.4.0", "1.0.0", "1.1.0"]}));
}

#[test]
fn without_an_address_plugin_there_are_interfaces_only() {
    let mut bench = Bench::new();
    let stdin = network(json!({"type": "bridge", "ipMasq": true}));
    let result = bench.run("bridge", Command::Add, "a", &stdin).unwrap();
    let names: Vec<&Value> =
        result["interfaces"].as_array().into_iter().flatten().map(|interface| &interface["name"]).collect();
    assert_eq!((names.first(), names.len(), names.last()), (Some(&&json!("cni0")), 3, Some(&&json!("eth0"))));
    assert_eq!(result.get("ips"), None);
    bench.run("bridge", Command::Del, "a", &stdin).unwrap();
}

#[test]
fn bad_bridges_and_address_plugins_are_named() {
    let mut bench = Bench::new();
    let mut stdin = bridge();
    stdin["bridge"] = json!("eth0");
    let error = bench.run("bridge", Command::Add, "a", &stdin).unwrap_err();
    assert_eq!(error.message, "failed to create bridge \"eth0\": \"eth0\" already exists but is not a bridge");
    stdin = bridge();
    stdin["ipam"]["type"] = json!("whereabouts");
    let error = bench.run("bridge", Command::Add, "a", &stdin).unwrap_err();
    assert_eq!(error.message, "failed to find plugin \"whereabouts\" in path [/opt/cni/bin]");
    bench.run("bridge", Command::Add, "b", &bridge()).unwrap();
    stdin = bridge();
    stdin["ipam"]["ranges"] = json!([[{"subnet": "10.99.0.0/24"}]]);
    let error = bench.run("bridge", Command::Add, "c", &stdin).unwrap_err();
    assert_eq!(
        error.message,
        "failed to set bridge addr: \"cni0\" already has an IP address different from 10.99.0.1/24"
    );
    assert!(bench.disk.read("/var/lib/cni/networks/net/10.99.0.2").is_none(), "the address is given back");
    stdin["forceAddress"] = json!(true);
    bench.run("bridge", Command::Add, "d", &stdin).unwrap();
    assert_eq!(bench.network.root.links["cni0"].addresses, ["10.99.0.1/24".parse().unwrap()]);
}

#[test]
fn what_add_does_del_undoes() {
    let mut bench = Bench::new();
    let first = bench.run("bridge", Command::Add, "first", &bridge()).unwrap();
    let ports = json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]);
    let portmap = json!({"type": "portmap", "runtimeConfig": {"portMappings": ports}});
    // What all containers share is made once, and stays.
    bench.run("portmap", Command::Add, "first", &after(&first, portmap.clone())).unwrap();
    bench.run("firewall", Command::Add, "first", &after(&first, json!({}))).unwrap();
    let files = |bench: &Bench| bench.disk.files_in("/var/lib/cni/networks/net");
    let (before, network) = (files(&bench), bench.network.root.clone());

    let result = bench.run("bridge", Command::Add, "a", &bridge()).unwrap();
    assert_eq!(result["ips"], json!([{"address": "10.244.0.3/24", "gateway": "10.244.0.1", "interface": 2}]));
    assert_eq!(result["interfaces"][2]["sandbox"], "/var/run/netns/a");
    assert_eq!(result["routes"], json!([{"dst": "0.0.0.0/0"}]));
    assert_eq!(bench.inside("a").routes.len(), 2);
    let chained = [("portmap", after(&result, portmap)), ("firewall", after(&result, json!({})))];
    for (plugin, stdin) in &chained {
        assert_eq!(bench.run(plugin, Command::Add, "a", stdin).as_ref(), Ok(&result), "{plugin} hands on what it got");
    }
    let mut with_result = bridge();
    with_result["prevResult"] = result.clone();
    let all = [("bridge", with_result)].into_iter().chain(chained);
    for (plugin, stdin) in all.clone() {
        assert_eq!(bench.run(plugin, Command::Check, "a", &stdin), Ok(Value::Null), "{plugin}");
    }
    let again = bench.run("bridge", Command::Add, "a", &bridge()).unwrap_err();
    assert!(again.message.starts_with("container veth name (\"eth0\") peer provided (\"veth"), "{again}");
    for _ in 0..2 {
        for (plugin, stdin) in all.clone().rev() {
            assert_eq!(bench.run(plugin, Command::Del, "a", &stdin), Ok(Value::Null), "{plugin}");
        }
    }
    for (plugin, stdin) in all {
        assert!(bench.run(plugin, Command::Check, "a", &stdin).is_err(), "{plugin}");
    }
    assert!(bench.inside("a").links.keys().eq(["lo"]));
    assert_eq!(bench.network.root.links, network.links);
    assert_eq!(bench.network.root.netfilter, network.netfilter);
    bench.disk.put("/var/lib/cni/networks/net/last_reserved_ip.0", "10.244.0.2").unwrap();
    assert_eq!(files(&bench), before);
}

#[test]
fn an_add_that_finds_no_address_leaves_a_pair_for_del() {
    let mut bench = Bench::new();
    let mut stdin = bridge();
    stdin["ipam"]["ranges"] = json!([[{"subnet": "10.244.0.0/30"}]]);
    bench.run("bridge", Command::Add, "a", &stdin).unwrap();
    let error = bench.run("bridge", Command::Add, "b", &stdin).unwrap_err();
    let says = "failed to allocate for range 0: no IP addresses available in range set: 10.244.0.1-10.244.0.2";
    assert_eq!(error.message, says);
    assert!(bench.inside("b").links.contains_key("eth0"));
    bench.run("bridge", Command::Del, "b", &stdin).unwrap();
    assert!(!bench.inside("b").links.contains_key("eth0"));
    assert_eq!(bench.network.root.links.values().filter(|link| link.master.is_some()).count(), 1);
}

#[test]
fn whoever_sent_to_a_port_before_it_was_forwarded_is_heard() {
    let mut bench = Bench::new();
    let result = bench.run("bridge", Command::Add, "a", &bridge()).unwrap();
    let tuple = |protocol, destination_port| Tuple {
        protocol,
        source: [192, 0, 2, 9].into(),
        source_port: 4000,
        destination: [172, 18, 0, 10].into(),
        destination_port,
    };
    let known = [(Protocol::Udp, 53, false), (Protocol::Tcp, 53, true), (Protocol::Udp, 54, true)];
    for (protocol, port, _) in known {
        let mut packet = Packet::new(tuple(protocol, port), Payload::Syn);
        bench.network.root.netfilter.conntrack.track(&mut packet, Instant(0));
    }
    let ports = json!([{"hostPort": 53, "containerPort": 53, "protocol": "udp"}]);
    let portmap = json!({"type": "portmap", "runtimeConfig": {"portMappings": ports}});
    bench.run("portmap", Command::Add, "a", &after(&result, portmap)).unwrap();
    for (protocol, port, stays) in known {
        let found = bench.network.root.netfilter.conntrack.find(tuple(protocol, port));
        assert_eq!(found.is_some(), stays, "{protocol:?} {port}");
    }
}

#[test]
fn rules_are_those_of_the_real_plugins() {
    let mut bench = Bench::new();
    let result = bench.run("bridge", Command::Add, "a", &bridge()).unwrap();
    let ports = json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"},
        {"hostPort": 53, "containerPort": 53, "protocol": "udp", "hostIP": "172.18.0.10"}]);
    let portmap = json!({"type": "portmap", "runtimeConfig": {"portMappings": ports}});
    bench.run("portmap", Command::Add, "a", &after(&result, portmap)).unwrap();
    bench.run("firewall", Command::Add, "a", &after(&result, json!({}))).unwrap();
    // The digits are those of sha512("net" + "a").
    let rules = &bench.network.root.netfilter.rules;
    let saved = rules.save_table(Table::Nat) + &rules.save_table(Table::Filter);
    let hash = crate::cni::hash::sha512_hex("neta");
    let (masquerade, dnat) = (format!("CNI-{}", &hash[..24]), format!("CNI-DN-{}", &hash[..21]));
    for line in [
        "-A POSTROUTING -m comment --comment \"CNI portfwd requiring masquerade\" -j CNI-HOSTPORT-MASQ".into(),
        format!(
            "-A POSTROUTING -s 10.244.0.2/32 -m comment --comment \"name: \\\"net\\\" id: \\\"a\\\"\" -j {masquerade}"
        ),
        format!("-A {masquerade} -d 10.244.0.0/24 -m comment --comment \"name: \\\"net\\\" id: \\\"a\\\"\" -j ACCEPT"),
        format!(
            "-A {masquerade} ! -d 224.0.0.0/4 -m comment --comment \"name: \\\"net\\\" id: \\\"a\\\"\" -j MASQUERADE"
        ),
        "-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT".into(),
        format!(
            "-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment \"dnat name: \\\"net\\\" id: \\\"a\\\"\" \
             -m multiport --dports 8080 -j {dnat}"
        ),
        format!("-A {dnat} -s 10.244.0.0/24 -p tcp -m tcp --dport 8080 -j CNI-HOSTPORT-SETMARK"),
        format!("-A {dnat} -s 127.0.0.1/32 -p tcp -m tcp --dport 8080 -j CNI-HOSTPORT-SETMARK"),
        format!("-A {dnat} -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.244.0.2:80"),
        format!("-A {dnat} -d 172.18.0.10/32 -p udp -m udp --dport 53 -j DNAT --to-destination 10.244.0.2:53"),
        "-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE".into(),
        "-A FORWARD -m comment --comment \"CNI firewall plugin rules\" -j CNI-FORWARD".into(),
        "-A CNI-FORWARD -d 10.244.0.2/32 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT".into(),
        "-A CNI-FORWARD -s 10.244.0.2/32 -j ACCEPT".into(),
    ] {
        assert!(saved.lines().any(|there| there == line), "{line}\nis not in\n{saved}");
    }
}

#[test]
fn ports_out_of_range_are_refused() {
    let mut bench = Bench::new();
    let result = bench.run("bridge", Command::Add, "a", &bridge()).unwrap();
    for (host, container, says) in [
        (0, 80, "failed to parse config: Invalid host port number: 0"),
        (80, 70_000, "failed to parse config: Invalid container port number: 70000"),
    ] {
        let mappings = json!([{"hostPort": host, "containerPort": container, "protocol": "tcp"}]);
        let stdin = after(&result, json!({"runtimeConfig": {"portMappings": mappings}}));
        assert_eq!(bench.run("portmap", Command::Add, "a", &stdin).unwrap_err().message, says);
    }
}

#[test]
fn loopback_is_set_up() {
    let mut bench = Bench::new();
    let mut stdin = network(json!({}));
    stdin["cniVersion"] = json!("0.3.1");
    let result = bench.run("loopback", Command::Add, "a", &stdin).unwrap();
    assert_eq!(result["ips"], json!([{"address": "127.0.0.1/8", "interface": 0, "version": "4"}]));
    bench.run("loopback", Command::Del, "a", &stdin).unwrap();
    bench.run("loopback", Command::Del, "gone", &stdin).unwrap();
    assert!(!bench.inside("a").links["lo"].up);
}
