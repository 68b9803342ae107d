use serde_json::{Value, json};

use crate::validation::tests::wrong;
use crate::validation::validate_update;
use object::Kind;

fn slice(address_type: &str, put: Value) -> Value {
    let metadata = json!({"name": "x", "namespace": "n"});
    let mut slice = json!({"metadata": metadata, "addressType": address_type, "endpoints": []});
    for (field, value) in put.as_object().unwrap() {
        slice[field] = value.clone();
    }
    slice
}

#[test]
fn addresses_are_of_their_slices_type() {
    const NAME: &str = "endpoints[0].addresses[0]: Invalid value:";
    let two = "should be a domain with at least two segments separated by dots";
    for (address_type, address, want) in [
        ("IPv4", "10.0.0.1", String::new()),
        ("IPv6", "fd00::1", String::new()),
        ("FQDN", "db.example.com.", String::new()),
        ("IPv4", "web", format!("{NAME} \"web\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")),
        ("IPv4", "fd00::1", "endpoints[0].addresses: Invalid value: \"fd00::1\": must be an IPv4 address".into()),
        ("IPv6", "10.0.0.1", "endpoints[0].addresses: Invalid value: \"10.0.0.1\": must be an IPv6 address".into()),
        ("IPv6", "FD00::1", format!("{NAME} \"FD00::1\": must be in canonical form (\"fd00::1\")")),
        ("IPv4", "0.0.0.0", format!("{NAME} \"0.0.0.0\": may not be unspecified (0.0.0.0)")),
        ("FQDN", "db", format!("{NAME} \"db\": {two}")),
        ("FQDN", "", "endpoints[0].addresses[0]: Required value".into()),
    ] {
        let found = wrong(Kind::EndpointSlice, slice(address_type, json!({"endpoints": [{"addresses": [address]}]})));
        assert_eq!(found, want, "{address_type} {address}");
    }
}

#[test]
fn hints_and_ports_of_a_slice() {
    let many: Vec<Value> = (0..9).map(|i| json!({"name": format!("z{i}")})).collect();
    let hinted = |hints: Value| json!({"endpoints": [{"addresses": ["10.0.0.1"], "hints": hints}]});
    for (put, want) in [
        // A port's number is not checked, and ports come before endpoints.
        (json!({"ports": [{"port": 0}]}), ""),
        (
            json!({"ports": [{"protocol": "HTTP", "appProtocol": "a b"}], "endpoints": [{"addresses": []}]}),
            "[ports[0].protocol: Unsupported value: \"HTTP\": supported values: \"SCTP\", \"TCP\", \"UDP\", \
             ports[0].appProtocol: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' \
             or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
             '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), \
             endpoints[0].addresses: Required value: must contain at least 1 address]",
        ),
        (
            hinted(json!({"forZones": [{"name": "a"}, {"name": "a"}]})),
            "endpoints[0].hints.forZones[1].name: Duplicate value: \"a\"",
        ),
        (
            hinted(json!({"forZones": many, "forNodes": [{"name": "A"}]})),
            "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items",
        ),
        (
            hinted(json!({"forNodes": [{"name": "a"}, {"name": "a"}]})),
            "endpoints[0].hints.forNodes[1].name: Duplicate value: \"a\"",
        ),
    ] {
        assert_eq!(wrong(Kind::EndpointSlice, slice("IPv4", put.clone())), want, "{put}");
    }
}

fn change(kind: Kind, old: &Value, new: &Value) -> Vec<String> {
    let [old, new] = [old, new].map(|object| kind.decode(object.clone()).unwrap());
    validate_update(&new, &old, None).into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

#[test]
fn an_address_belongs_to_somebody_for_good() {
    let address = |parent: Value| json!({"metadata": {"name": "10.96.0.1"}, "spec": {"parentRef": parent}});
    let of = |name: &str| address(json!({"resource": "services", "namespace": "default", "name": name}));
    let wrongly = address(json!({"group": "A", "resource": "a/b", "namespace": "c%", "name": "d"}));
    let found = wrong(Kind::IPAddress, wrongly);
    for part in ["spec.parentRef.group: Invalid value: \"A\"", "\"a/b\": may not contain '/'", "may not contain '%'"] {
        assert!(found.contains(part), "{found}");
    }
    let alone = json!({"metadata": {"name": "10.96.0.1"}, "spec": {}});
    assert_eq!(wrong(Kind::IPAddress, alone), "spec.parentRef: Required value");
    assert_eq!(change(Kind::IPAddress, &of("a"), &of("a")), Vec::<String>::new());
    let moved = "spec.parentRef: Invalid value: \
                 {\"Group\":\"\",\"Resource\":\"services\",\"Namespace\":\"default\",\"Name\":\"b\"}: field is immutable";
    assert_eq!(change(Kind::IPAddress, &of("a"), &of("b")), [moved]);
}

#[test]
fn a_second_range_may_be_added() {
    let range = |cidrs: &[&str]| json!({"metadata": {"name": "x"}, "spec": {"cidrs": cidrs}});
    let (four, six) = ("10.96.0.0/16", "fd00::/108");
    for (old, new, want) in [
        (vec![four], vec![four, six], vec![]),
        (vec![four], vec!["10.97.0.0/16"], vec!["spec.cidrs[0]: Invalid value: \"10.97.0.0/16\": field is immutable"]),
        (
            vec![four],
            vec![four, "10.97.0.0/16"],
            vec![
                "spec.cidrs: Invalid value: [\"10.96.0.0/16\",\"10.97.0.0/16\"]: may specify no more than one IP for each \
                 IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
            ],
        ),
        (vec![four, six], vec![four], vec!["spec.cidrs: Invalid value: [\"10.96.0.0/16\"]: field is immutable"]),
    ] {
        assert_eq!(change(Kind::ServiceCIDR, &range(&old), &range(&new)), want, "{old:?} {new:?}");
    }
    let canonical = "spec.cidrs[0]: Invalid value: \"FD00::/108\": must be in canonical form (\"fd00::/108\")";
    assert_eq!(wrong(Kind::ServiceCIDR, range(&["FD00::/108"])), canonical);
    let three = "spec.cidrs: Invalid value: {\"CIDRs\":[\"a\",\"b\",\"c\"]}: may only hold up to 2 values";
    assert_eq!(wrong(Kind::ServiceCIDR, range(&["a", "b", "c"])), three);
}
