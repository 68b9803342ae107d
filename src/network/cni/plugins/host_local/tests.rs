use serde_json::{Value, json};

use crate::cni::exec::Command;
use crate::cni::plugins::testing::{Bench, network};

/// Addresses given to so many containers, one after another.
fn given(bench: &mut Bench, from: usize, count: usize, ipam: &Value) -> Vec<String> {
    (from..from + count).flat_map(|n| bench.allocate(&format!("c{n}"), ipam).unwrap()).collect()
}

fn free(bench: &mut Bench, id: &str, ipam: &Value) {
    bench.run("host-local", Command::Del, id, &network(json!({"ipam": ipam}))).unwrap();
}

#[test]
fn addresses_go_round() {
    let (mut bench, ipam) = (Bench::new(), json!({"ranges": [[{"subnet": "10.1.2.0/29"}]]}));
    let all = ["10.1.2.2/29", "10.1.2.3/29", "10.1.2.4/29", "10.1.2.5/29", "10.1.2.6/29"];
    assert_eq!(given(&mut bench, 0, 5, &ipam), all);
    let full = bench.allocate("c5", &ipam).unwrap_err();
    let says = "failed to allocate for range 0: no IP addresses available in range set: 10.1.2.1-10.1.2.6";
    assert_eq!(full, says);
    free(&mut bench, "c1", &ipam);
    free(&mut bench, "c1", &ipam);
    assert_eq!(given(&mut bench, 6, 1, &ipam), ["10.1.2.3/29"]);
    free(&mut bench, "c0", &ipam);
    free(&mut bench, "c4", &ipam);
    assert_eq!(given(&mut bench, 7, 2, &ipam), ["10.1.2.6/29", "10.1.2.2/29"], "the search goes on after the last");
}

#[test]
fn a_freed_address_rests() {
    let (mut bench, ipam) = (Bench::new(), json!({"ranges": [[{"subnet": "10.1.2.0/24"}]]}));
    assert_eq!(given(&mut bench, 0, 1, &ipam), ["10.1.2.2/24"]);
    free(&mut bench, "c0", &ipam);
    assert_eq!(given(&mut bench, 1, 1, &ipam), ["10.1.2.3/24"]);
    let twice = bench.allocate("c1", &ipam).unwrap_err();
    assert_eq!(
        twice,
        "failed to allocate for range 0: 10.1.2.3 has been allocated to c1, duplicate allocation is not allowed"
    );
    assert_eq!(bench.allocate("c1", &ipam).unwrap_err(), twice, "the address stays the first one's");
}

/// The example of the plugin's documentation: an address of each family.
#[test]
fn each_set_of_ranges_gives_one_address() {
    let mut bench = Bench::new();
    let ipam = json!({
        "type": "host-local",
        "ranges": [
            [
                {"subnet": "10.10.0.0/16", "rangeStart": "10.10.1.20", "rangeEnd": "10.10.3.50", "gateway": "10.10.0.254"},
                {"subnet": "172.16.5.0/24"}
            ],
            [{"subnet": "3ffe:ffff:0:01ff::/64", "rangeStart": "3ffe:ffff:0:01ff::0010", "rangeEnd": "3ffe:ffff:0:01ff::0020"}]
        ],
        "routes": [
            {"dst": "0.0.0.0/0"},
            {"dst": "192.168.0.0/16", "gw": "10.10.5.1"},
            {"dst": "3ffe:ffff:0:01ff::1/64"}
        ],
        "dataDir": "/run/my-orchestrator/container-ipam-state"
    });
    let printed = bench.run("host-local", Command::Add, "c0", &network(json!({"ipam": ipam}))).unwrap();
    assert_eq!(
        printed["ips"],
        json!([
            {"address": "10.10.1.20/16", "gateway": "10.10.0.254"},
            {"address": "3ffe:ffff:0:1ff::10/64", "gateway": "3ffe:ffff:0:1ff::1"}
        ])
    );
    assert_eq!(printed["routes"][1], json!({"dst": "192.168.0.0/16", "gw": "10.10.5.1"}));
    let directory = "/run/my-orchestrator/container-ipam-state/net";
    let files = bench.disk.files_in(directory);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(
        files,
        [
            ("10.10.1.20", "c0\r\neth0"),
            ("3ffe:ffff:0:1ff::10", "c0\r\neth0"),
            ("last_reserved_ip.0", "10.10.1.20"),
            ("last_reserved_ip.1", "3ffe:ffff:0:1ff::10"),
            ("lock", ""),
        ]
    );
}

#[test]
fn one_set_may_have_several_ranges() {
    let mut bench = Bench::new();
    let ipam = json!({"ranges": [[
        {"subnet": "192.168.1.0/24", "rangeStart": "192.168.1.1", "rangeEnd": "192.168.1.3"},
        {"subnet": "192.168.2.0/24", "rangeStart": "192.168.2.9", "rangeEnd": "192.168.2.10", "gateway": "192.168.2.10"},
    ]]});
    assert_eq!(given(&mut bench, 0, 3, &ipam), ["192.168.1.2/24", "192.168.1.3/24", "192.168.2.9/24"]);
    let full = bench.allocate("c3", &ipam).unwrap_err();
    assert!(full.ends_with("in range set: 192.168.1.1-192.168.1.3,192.168.2.9-192.168.2.10"), "{full}");
    free(&mut bench, "c0", &ipam);
    assert_eq!(given(&mut bench, 4, 1, &ipam), ["192.168.1.2/24"]);
}

#[test]
fn an_address_can_be_asked_for() {
    let ipam = json!({"subnet": "10.1.2.0/24"});
    let stdin = |more: Value| {
        let mut stdin = network(json!({"ipam": ipam}));
        for (key, value) in more.as_object().into_iter().flatten() {
            stdin[key] = value.clone();
        }
        stdin
    };
    let mut bench = Bench::new();
    for (id, wish, outcome) in [
        ("a", json!({"runtimeConfig": {"ips": ["10.1.2.88"]}}), Ok("10.1.2.88/24")),
        (
            "b",
            json!({"args": {"cni": {"ips": ["10.1.2.88"]}}}),
            Err("failed to allocate for range 0: requested IP address 10.1.2.88 is not available in range set \
                 10.1.2.1-10.1.2.254"),
        ),
        (
            "b",
            json!({"args": {"cni": {"ips": ["10.1.2.1"]}}}),
            Err("failed to allocate for range 0: requested ip 10.1.2.1 is subnet's gateway"),
        ),
        (
            "b",
            json!({"runtimeConfig": {"ips": ["10.1.2.90", "10.9.9.9"]}}),
            Err("failed to allocate all requested IPs: 10.9.9.9"),
        ),
        ("b", json!({"runtimeConfig": {"ips": ["10.1.2"]}}), Err("invalid IP address: 10.1.2")),
        ("b", json!({}), Ok("10.1.2.91/24")),
    ] {
        let printed = bench.run("host-local", Command::Add, id, &stdin(wish.clone()));
        let printed = printed.map(|printed| printed["ips"][0]["address"].as_str().unwrap().to_owned());
        assert_eq!(printed.map_err(|error| error.message), outcome.map(str::to_owned).map_err(str::to_owned), "{wish}");
    }
}

#[test]
fn ranges_that_make_no_sense_are_refused() {
    for (ranges, says) in [
        (json!([]), "no IP ranges specified"),
        (json!([[]]), "invalid range set 0: empty range set"),
        (json!([[{"subnet": "10.1.2.0"}]]), "invalid CIDR address: 10.1.2.0"),
        (json!([[{"subnet": "10.1.2.0/31"}]]), "invalid range set 0: Network 10.1.2.0/31 too small to allocate from"),
        (
            json!([[{"subnet": "10.1.2.3/24"}]]),
            "invalid range set 0: Network has host bits set. For a subnet mask of length 24 the network address is 10.1.2.0",
        ),
        (
            json!([[{"subnet": "10.1.2.0/24", "rangeStart": "10.1.3.1"}]]),
            "invalid range set 0: RangeStart 10.1.3.1 not in network 10.1.2.0/24",
        ),
        (
            json!([[{"subnet": "10.1.2.0/24", "rangeStart": "10.1.2.9", "rangeEnd": "10.1.2.5"}]]),
            "invalid range set 0: RangeEnd 10.1.2.5 not in network 10.1.2.0/24",
        ),
        (
            json!([[{"subnet": "10.1.0.0/16"}, {"subnet": "10.1.2.0/24"}]]),
            "invalid range set 0: subnets 10.1.0.1-10.1.255.254 and 10.1.2.1-10.1.2.254 overlap",
        ),
        (json!([[{"subnet": "10.1.0.0/16"}], [{"subnet": "10.1.2.0/24"}]]), "range set 0 overlaps with 1"),
        (json!([[{"subnet": "10.1.0.0/16"}, {"subnet": "fd00::/64"}]]), "invalid range set 0: mixed address families"),
    ] {
        let error = Bench::new().allocate("a", &json!({"ranges": ranges})).unwrap_err();
        assert_eq!(error, says, "{ranges}");
    }
    let old = json!({"cniVersion": "0.2.0", "name": "n", "ipam": {"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/24"}]]}});
    let error = Bench::new().run("host-local", Command::Add, "a", &old).unwrap_err();
    assert_eq!(error.message, "CNI version 0.2.0 does not support more than 1 address per family");
}

/// An admin may leave anything in the directory.
#[test]
fn files_of_unknown_making_do_no_harm() {
    let (mut bench, ipam) = (Bench::new(), json!({"ranges": [[{"subnet": "10.1.2.0/29"}]]}));
    for (name, text) in [("last_reserved_ip.0", "not an address"), ("10.1.2.3", "leaked\neth0"), ("notes.txt", "c1")] {
        bench.disk.put(&format!("/var/lib/cni/networks/net/{name}"), text).unwrap();
    }
    assert_eq!(given(&mut bench, 0, 2, &ipam), ["10.1.2.2/29", "10.1.2.4/29"]);
    free(&mut bench, "c0", &ipam);
    assert!(bench.disk.read("/var/lib/cni/networks/net/10.1.2.3").is_some(), "nobody gives a leaked address back");
}
