use serde_json::{Value, json};

use super::*;
use object::Kind;

fn service(spec: Value) -> Object {
    Kind::Service.decode(json!({"metadata": {"name": "s"}, "spec": spec})).expect("a Service")
}

fn allocated(taken: &ServiceAddresses, spec: Value, old: Option<&Object>) -> Result<Value, String> {
    let mut object = service(spec);
    taken.allocate(&mut object, old, &mut Random::new(1)).map_err(|status| status.message)?;
    Ok(object.to_json()["spec"].clone())
}

#[test]
fn a_family_that_the_cluster_lacks_is_refused() {
    const NOT_DUAL: &str = "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured \
                                for dual-stack services";
    let taken = ServiceAddresses::default();
    for (more, why) in [
        (
            json!({"ipFamilies": ["IPv6"]}),
            "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster",
        ),
        (json!({"ipFamilyPolicy": "RequireDualStack", "selector": {"a": "b"}}), NOT_DUAL),
        (
            json!({"ipFamilies": ["IPv5"]}),
            "spec.ipFamilies[0]: Unsupported value: \"IPv5\": supported values: \"IPv4\", \"IPv6\"",
        ),
        (json!({"ipFamilyPolicy": "PreferDualStack"}), ""),
        (json!({"ipFamilies": ["IPv4", "IPv6"], "clusterIP": "None"}), ""),
    ] {
        let mut spec = json!({"ports": [{"port": 80}], "type": "ClusterIP"});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let refused = allocated(&taken, spec, None).err().unwrap_or_default();
        assert!(refused.ends_with(why) && refused.is_empty() == why.is_empty(), "{more}: {refused}");
    }
}

#[test]
fn a_service_gets_what_its_type_needs() {
    let taken = ServiceAddresses::default();
    let spec = allocated(&taken, json!({"ports": [{"port": 80}], "type": "NodePort"}), None).unwrap();
    assert!(spec["clusterIP"].as_str().is_some_and(|ip| ip.starts_with("10.96.")), "{spec}");
    assert_eq!(spec["clusterIPs"], json!([spec["clusterIP"]]));
    assert!(spec["ports"][0]["nodePort"].as_i64().is_some_and(|port| (30_086..=32_767).contains(&port)), "{spec}");
    let headless = allocated(&taken, json!({"clusterIP": "None"}), None).unwrap();
    assert_eq!(headless["clusterIPs"], json!(["None"]));
    let external = allocated(&taken, json!({"type": "ExternalName", "externalName": "a.b"}), None).unwrap();
    assert_eq!(external.get("clusterIP"), None);
}

#[test]
fn ports_of_one_number_share_a_node_port() {
    let ports = |ports: Value| {
        let spec = allocated(&ServiceAddresses::default(), json!({"type": "NodePort", "ports": ports}), None)?;
        let numbers = spec["ports"].as_array().into_iter().flatten().map(|port| port["nodePort"].as_i64());
        Ok::<_, String>(numbers.map(Option::unwrap).collect::<Vec<_>>())
    };
    let dns = |tcp: Value, udp: Value| {
        let port = |protocol: &str, more: Value| {
            let mut port = json!({"name": protocol, "port": 53, "protocol": protocol});
            port.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            port
        };
        json!([port("TCP", tcp), port("UDP", udp)])
    };
    let both = ports(dns(json!({}), json!({}))).unwrap();
    assert_eq!(both[0], both[1]);
    assert_eq!(ports(dns(json!({}), json!({"nodePort": 30053}))), Ok(vec![30053, 30053]));
    assert_eq!(ports(dns(json!({"nodePort": 30053}), json!({"nodePort": 30054}))), Ok(vec![30053, 30054]));
    let others = ports(json!([{"port": 1}, {"port": 2}])).unwrap();
    assert_ne!(others[0], others[1]);
    let taken = ports(json!([{"port": 1, "nodePort": 30053}, {"port": 2, "nodePort": 30053, "protocol": "UDP"}]));
    let why = "spec.ports[1].nodePort: Invalid value: 30053: provided port is already allocated";
    assert_eq!(taken, Err(format!("Service \"s\" is invalid: {why}")));
}

#[test]
fn a_load_balancer_without_node_ports_may_still_ask_for_one() {
    let spec = |port: i32| {
        json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false,
                "ports": [{"port": 80}, {"port": 81, "nodePort": port}]})
    };
    let given = allocated(&ServiceAddresses::default(), spec(30053), None).unwrap();
    assert_eq!((given["ports"][0].get("nodePort"), &given["ports"][1]["nodePort"]), (None, &json!(30053)));
    assert!(allocated(&ServiceAddresses::default(), spec(80), None).is_err());
}

#[test]
fn a_headless_service_without_selector_has_both_families() {
    let families = |spec: Value, old: Option<&Object>| {
        let spec = allocated(&ServiceAddresses::default(), spec, old).unwrap();
        format!("{} {}", spec["ipFamilyPolicy"].as_str().unwrap(), spec["ipFamilies"])
    };
    let (both, one) = (r#"RequireDualStack ["IPv4","IPv6"]"#, r#"SingleStack ["IPv4"]"#);
    assert_eq!(families(json!({"clusterIP": "None"}), None), both);
    assert_eq!(families(json!({"clusterIP": "None", "selector": {"a": "b"}}), None), one);
    assert_eq!(families(json!({"clusterIP": "None", "ipFamilyPolicy": "SingleStack"}), None), one);
    let old = json!({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"], "ipFamilyPolicy": "PreferDualStack",
            "ipFamilies": ["IPv4"]});
    let old = service(old);
    assert_eq!(families(json!({"clusterIP": "10.96.0.9"}), Some(&old)), r#"PreferDualStack ["IPv4"]"#);
}

#[test]
fn what_is_taken_is_refused_until_it_is_free() {
    let mut taken = ServiceAddresses::default();
    let first =
        service(json!({"clusterIP": "10.96.0.9", "type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}));
    let address = Kind::IPAddress.decode(json!({"metadata": {"name": "10.96.0.9"},
            "spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "s"}}}));
    let address = address.expect("an IPAddress");
    taken.changed(None, Some(&address));
    taken.changed(None, Some(&first));
    #[rustfmt::skip]
        let cases = [
            (json!({"clusterIP": "10.96.0.9"}), "spec.clusterIPs: Invalid value: [\"10.96.0.9\"]: failed to allocate IP 10.96.0.9: provided IP is already allocated"),
            (json!({"clusterIP": "192.168.1.1"}), "spec.clusterIPs: Invalid value: [\"192.168.1.1\"]: failed to allocate IP 192.168.1.1: the provided network does not match the current range"),
            (json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": 30080}]}), "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated"),
            (json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]}), "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"),
        ];
    for (spec, want) in cases {
        assert_eq!(allocated(&taken, spec, None), Err(format!("Service \"s\" is invalid: {want}")));
    }
    taken.changed(Some(&address), None);
    assert!(allocated(&taken, json!({"clusterIP": "10.96.0.9"}), None).is_ok());
}

#[test]
fn a_range_that_is_full_is_nobodys_mistake() {
    let all_ips = (RANGE_FIRST + 1..RANGE_FIRST + RANGE_LEN - 1).collect();
    let taken = ServiceAddresses { ips: all_ips, ports: (PORT_FIRST..=PORT_LAST).collect() };
    let exposed = json!({"clusterIP": "10.96.0.9", "type": "NodePort", "ports": [{"port": 80}]});
    let old = service(json!({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"], "ports": [{"port": 80}]}));
    #[rustfmt::skip]
    let cases = [
        (json!({"ports": [{"port": 80}]}), None, "a serviceIP for Service \"s\""),
        (exposed, Some(&old), "a nodePort"),
    ];
    for (spec, old, what) in cases {
        let want = format!("Internal error occurred: failed to allocate {what}: range is full");
        assert_eq!(allocated(&taken, spec, old), Err(want));
    }
}

#[test]
fn an_update_keeps_its_addresses() {
    let old = service(
        json!({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"], "type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}),
    );
    let mut taken = ServiceAddresses::default();
    taken.changed(None, Some(&old));
    let updated = |more: Value| {
        let mut spec = json!({"type": "NodePort", "ports": [{"port": 80}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        allocated(&taken, spec, Some(&old)).unwrap()
    };
    for more in [
        json!({}),
        json!({"ports": [{"port": 81, "protocol": "UDP"}]}),
        json!({"clusterIP": "", "clusterIPs": ["10.96.0.9"]}),
        json!({"clusterIP": "10.96.0.9"}),
    ] {
        let spec = updated(more.clone());
        assert_eq!((&spec["clusterIP"], &spec["clusterIPs"]), (&json!("10.96.0.9"), &json!(["10.96.0.9"])), "{more}");
        assert_eq!(spec["ports"][0]["nodePort"], 30080, "{more}");
    }
    // Of another name, and so another port; and one that another port has taken over.
    assert_ne!(updated(json!({"ports": [{"port": 80, "name": "x"}]}))["ports"][0]["nodePort"], 30080);
    let both = updated(json!({"ports": [{"port": 80}, {"port": 81, "name": "x", "nodePort": 30080}]}));
    assert_ne!(both["ports"][0]["nodePort"], 30080);
}

#[test]
fn another_type_gives_up_what_it_has_no_use_for() {
    let old = json!({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"], "type": "NodePort",
            "externalTrafficPolicy": "Cluster", "ports": [{"port": 80, "nodePort": 30080}]});
    let change = |type_: &str, more: Value| {
        let mut new = old.clone();
        new["type"] = json!(type_);
        new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        allocated(&ServiceAddresses::default(), new, Some(&service(old.clone()))).unwrap()
    };
    let inner = change("ClusterIP", json!({}));
    assert_eq!((&inner["clusterIP"], inner["ports"][0].get("nodePort")), (&json!("10.96.0.9"), None));
    assert_eq!(inner.get("externalTrafficPolicy"), None);
    let name = change("ExternalName", json!({"externalName": "a.b"}));
    assert_eq!((name.get("clusterIP"), name.get("clusterIPs")), (None, None));
}
