//! An operator in Python, made with kopf, where Python has it: `KUBESTEP_PYTHON` names a folder with it, or it is installed.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::http::ask;
use crate::program::{Served, replayed, wait_for};
use crate::skip::skipped;

pub const GREETINGS: &str = "/apis/example.com/v1/namespaces/default/greetings";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Python with what `KUBESTEP_PYTHON` names.
pub fn python() -> Command {
    let mut python = Command::new("python3");
    if let Some(folder) = std::env::var_os("KUBESTEP_PYTHON") {
        python.env("PYTHONPATH", folder);
    }
    python
}

/// Whether that has these libraries. If not, the test says that it is skipped.
pub fn has(libraries: &[&str]) -> bool {
    let import = format!("import {}", libraries.join(", "));
    let found = python().args(["-c", &import]).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skipped(&format!("Python with {}", libraries.join(" and ")));
    }
    found
}

/// Whether it has what operators here are made with.
pub fn has_kopf() -> bool {
    has(&["kopf", "kubernetes"])
}

/// A program that ends with the value.
pub struct Ends(pub Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A kind of users' own.
pub fn define_greetings(served: &Served) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"metadata": {"name": "greetings.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "greetings", "singular": "greeting", "kind": "Greeting"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(ask(served, "POST", definitions, &definition.to_string()).code, 201);
    wait_for("the new kind", || (ask(served, "GET", GREETINGS, "").code == 200).then_some(()));
}

#[test]
fn an_operator_works_and_its_session_repeats_without_it() {
    if !has_kopf() {
        return;
    }
    let mut python = python();
    let mut served = Served::start(&["--speed", "5"]);
    define_greetings(&served);

    let operator = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/serve/operator.py");
    python.args(["-m", "kopf", "run", operator, "--namespace", "default", "--standalone"]);
    python.env("KUBECONFIG", served.kubeconfig()).stdout(Stdio::null()).stderr(Stdio::null());
    let operator = Ends(python.spawn().expect("it was started before"));

    let text = |name: &str| -> Option<Value> {
        let map = ask(&served, "GET", &format!("{CONFIG_MAPS}/{name}"), "");
        (map.code == 200).then(|| map.json()["data"]["text"].clone())
    };
    let greeting = json!({"apiVersion": "example.com/v1", "kind": "Greeting", "metadata": {"name": "hi"}, "spec": {"text": "hello"}});
    assert_eq!(ask(&served, "POST", GREETINGS, &greeting.to_string()).code, 201);
    assert_eq!(wait_for("its ConfigMap", || text("greeting-hi")), "hello");
    let mut changed = ask(&served, "GET", &format!("{GREETINGS}/hi"), "").json();
    wait_for("a write without a conflict", || {
        changed = ask(&served, "GET", &format!("{GREETINGS}/hi"), "").json();
        changed["spec"]["text"] = json!("good evening");
        (ask(&served, "PUT", &format!("{GREETINGS}/hi"), &changed.to_string()).code == 200).then_some(())
    });
    wait_for("the new text", || text("greeting-hi").filter(|text| text == "good evening"));
    assert_eq!(ask(&served, "DELETE", &format!("{GREETINGS}/hi"), "").code, 200);
    assert_eq!(wait_for("the goodbye", || text("goodbye-hi")), "goodbye");
    wait_for("the end of the Greeting", || {
        (ask(&served, "GET", &format!("{GREETINGS}/hi"), "").code == 404).then_some(())
    });
    drop(operator);
    let saved = served.end();
    let out = replayed(&served.folder, &saved, "clients\n");
    assert!(out.contains("the last requests:"), "{out}");
}
