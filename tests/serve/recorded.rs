//! Sessions of a real kubectl, a real Helm and the Python client at a real cluster of this version, repeated at this one: they print
//! the same.
//!
//! `recorded/` has what was typed, and what was printed as masked lines, sorted, for of objects of the same second the order is not
//! kept. It is a part of each session: a line without `lines` only changes something, and where another part is needed it is left out.

use std::collections::BTreeMap;
use std::process::Command;

use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::helm::helm;
use crate::kubectl::kubectl_of_our_version;
use crate::operator::{has_kopf, python};
use crate::program::{Served, folder};

const FILES: &str = include_str!("recorded/files.json");
const KUBECTL: &str = include_str!("recorded/kubectl.jsonl");
const HELM: &str = include_str!("recorded/helm.jsonl");
const PYTHON: &str = include_str!("recorded/python.jsonl");
/// What stands before each line in Python.
const IMPORTS: &str = "from kubernetes import client, config, watch, dynamic, utils; config.load_kube_config()
v, a = client.CoreV1Api(), client.AppsV1Api()
x, c = client.ApiextensionsV1Api(), client.CustomObjectsApi()
";
const SCENARIO: &str = include_str!("recorded/scenario.yaml");

/// What is different each time.
const MASKS: &[(&str, &str)] = &[
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\b\d+\.\d+\.\d+\.\d+\b", "IP"),
    (r"\b(\d+[smhd])+\b|<invalid>", "AGE"),
    (r"\d{4}-\d\d-\d\d[T ][\d:.]+( [+-]\d+ UTC|Z)?", "TIME"),
    (r"(\w{3},? )?\w{3} +\d+ [\d:]+ \d{4}", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} [\d:]+ [+\w]+", "TIME"),
    (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-RAND"),
    (r"\b[a-f0-9]{8,10}\b", "HASH"),
    (r#"resourceVersion: "\d+""#, "resourceVersion: \"N\""),
    (r#""resourceVersion": ?"\d+""#, "\"resourceVersion\":\"N\""),
    (r"http://\S+?:\d+(/s/\w+)?", "http://HOST"),
];

/// What client-go logs of a watch of its own, which it breaks off as soon as it has what it waits for. Whether the answer was there by
/// then is a race between two of the client's goroutines, with a real server too.
const CANCELLED: &str = r"(?m)^[IWE]\d{4} .* reflector\.go:\d+\] .*context canceled.*\n";

/// A line that was typed, and what came of it.
#[derive(Deserialize)]
struct Typed {
    argv: Vec<String>,
    exit: i32,
    lines: Option<Vec<String>>,
}

#[test]
fn a_recorded_session_with_kubectl_prints_the_same() {
    if let Some(program) = kubectl_of_our_version() {
        prints_the_same(&|| Command::new(&program), KUBECTL);
    }
}

#[test]
fn a_recorded_session_with_helm_prints_the_same() {
    if let Some(program) = helm() {
        prints_the_same(&|| Command::new(&program), HELM);
    }
}

#[test]
fn a_recorded_session_in_python_prints_the_same() {
    if has_kopf() {
        let programs: Vec<String> = PYTHON.lines().map(with_imports).collect();
        prints_the_same(&python, &programs.join("\n"));
    }
}

/// A line whose code is a whole program.
fn with_imports(line: &str) -> String {
    let mut line: Value = serde_json::from_str(line).expect("it is a line");
    line["argv"] = json!(["-c", format!("{IMPORTS}{}", line["argv"][0].as_str().expect("it is code"))]);
    line.to_string()
}

fn prints_the_same(program: &dyn Fn() -> Command, session: &str) {
    let folder = folder();
    let files: BTreeMap<String, String> = serde_json::from_str(FILES).expect("they are texts");
    for (name, text) in
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).chain([("scenario.yaml", SCENARIO)])
    {
        let path = folder.join("files").join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        std::fs::write(path, text).expect("it can be written");
    }
    let scenario = folder.join("files/scenario.yaml");
    let arguments = [scenario.to_str().expect("it is text"), "--clock", "fast"];
    let served = Served::in_folder(folder, "serve", &arguments);
    let masks: Vec<(Regex, &str)> =
        MASKS.iter().map(|(mask, by)| (Regex::new(mask).expect("it is an expression"), *by)).collect();
    let mut wrong = Vec::new();
    for line in session.lines() {
        let Typed { argv, exit, lines } = serde_json::from_str(line).expect("it is a line");
        let mut command = program();
        command.args(&argv).env("KUBECONFIG", served.kubeconfig()).env("HOME", &served.folder);
        let out = command.current_dir(served.folder.join("files")).output().expect("the program can be started");
        let errors = errors(&out.stderr);
        let output = String::from_utf8_lossy(&out.stdout);
        let printed = [lines_of(&masks, &output), vec!["--".to_owned()], lines_of(&masks, &errors)].concat();
        if let Some(lines) = lines.filter(|lines| *lines != printed || out.status.code() != Some(exit)) {
            let only = |these: &[String], those: &[String]| {
                these.iter().filter(|line| !those.contains(line)).cloned().collect::<Vec<_>>().join("\n    ")
            };
            let (real, ours) = (only(&lines, &printed), only(&printed, &lines));
            let codes = format!("{exit} is {:?}", out.status.code());
            wrong.push(format!("{}: {codes}\n  real:\n    {real}\n  here:\n    {ours}", argv.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// What a client has said of errors, without [`CANCELLED`].
pub fn errors(printed: &[u8]) -> String {
    let cancelled = Regex::new(CANCELLED).expect("it is an expression");
    cancelled.replace_all(&String::from_utf8_lossy(printed), "").into_owned()
}

/// What was printed as masked lines, sorted; spaces between words are one.
fn lines_of(masks: &[(Regex, &str)], printed: &str) -> Vec<String> {
    let mut text = printed.to_owned();
    for (mask, by) in masks {
        text = mask.replace_all(&text, *by).into_owned();
    }
    let mut lines: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    lines.sort();
    lines
}
