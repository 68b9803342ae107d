//! An operator made with kube-rs (`tests/kube`), where it was built: `KUBESTEP_KUBE` names the program.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::http::ask;
use crate::operator::{Ends, GREETINGS, define_greetings};
use crate::program::{Served, replayed, wait_for};
use crate::skip::skipped;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/greeter";

/// Two of it: the one that holds the Lease works, and when it is killed, the other one.
#[test]
fn a_controller_of_kube_rs_works_by_turns() {
    let Some(program) = std::env::var_os("KUBESTEP_KUBE").map(PathBuf::from) else {
        return skipped("an operator with kube-rs");
    };
    let mut served = Served::start(&["--speed", "5"]);
    define_greetings(&served);
    let begin = |name: &str| {
        let mut command = Command::new(&program);
        command.arg(name).env("KUBECONFIG", served.kubeconfig()).stdout(Stdio::null()).stderr(Stdio::null());
        Ends(command.spawn().expect("the program can be started"))
    };
    let leads = |name: &str| {
        let lease = ask(&served, "GET", LEASE, "");
        (lease.code == 200 && lease.json()["spec"]["holderIdentity"] == name).then_some(())
    };
    let text = |name: &str| -> Option<Value> {
        let map = ask(&served, "GET", &format!("{CONFIG_MAPS}/{name}"), "");
        (map.code == 200).then(|| map.json()["data"]["text"].clone())
    };
    let first = begin("first");
    wait_for("a leader", || leads("first"));
    let second = begin("second");
    let greeting = json!({"apiVersion": "example.com/v1", "kind": "Greeting", "metadata": {"name": "hi"}, "spec": {"text": "hello"}});
    assert_eq!(ask(&served, "POST", GREETINGS, &greeting.to_string()).code, 201);
    assert_eq!(wait_for("its ConfigMap", || text("greeting-hi")), "hello");
    // What it owns it watches.
    assert_eq!(ask(&served, "DELETE", &format!("{CONFIG_MAPS}/greeting-hi"), "").code, 200);
    assert_eq!(wait_for("its ConfigMap once more", || text("greeting-hi")), "hello");

    assert_eq!(leads("first"), Some(()), "it has stayed the leader");
    drop(first);
    wait_for("another leader", || leads("second"));
    wait_for("a write without a conflict", || {
        let mut changed = ask(&served, "GET", &format!("{GREETINGS}/hi"), "").json();
        changed["spec"]["text"] = json!("good evening");
        (ask(&served, "PUT", &format!("{GREETINGS}/hi"), &changed.to_string()).code == 200).then_some(())
    });
    wait_for("the new text", || text("greeting-hi").filter(|text| text == "good evening"));
    let going = ask(&served, "DELETE", &format!("{GREETINGS}/hi"), "");
    assert_eq!((going.code, &going.json()["metadata"]["finalizers"]), (200, &json!(["example.com/goodbye"])));
    assert_eq!(wait_for("the goodbye", || text("goodbye-hi")), "goodbye");
    wait_for("the end of the Greeting", || {
        (ask(&served, "GET", &format!("{GREETINGS}/hi"), "").code == 404).then_some(())
    });
    wait_for("the end of what it owned", || text("greeting-hi").is_none().then_some(()));
    drop(second);
    let saved = served.end();
    replayed(&served.folder, &saved, "clients\n");
}
