//! `explore --wire`: the user's own operator, and what breaks at its requests.

use std::path::Path;
use std::process::{Command, Output};

use crate::operator::has_kopf;
use crate::program::{PROGRAM, folder, replayed};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// `explore` of an operator's scenario, in a folder of its own.
fn explore(folder: &Path, command: &str, arguments: &[&str]) -> Output {
    let mut program = Command::new(PROGRAM);
    program.args(["explore", "scenarios/operators/greeting.yaml", "--wire", command]).args(arguments);
    program.current_dir(ROOT).env("HOME", folder).env_remove("XDG_STATE_HOME").env_remove("PYTHONPATH");
    if let Some(kopf) = std::env::var_os("KUBESTEP_PYTHON") {
        program.env("PYTHONPATH", kopf);
    }
    program.output().expect("the program can be started")
}

fn operator(name: &str) -> String {
    format!("exec python3 -m kopf run --all-namespaces --standalone scenarios/operators/{name}.py")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_bug_of_an_operator_is_found_and_repeats_without_it() {
    if !has_kopf() {
        return;
    }
    let folder = folder();
    let file = folder.join("found.kubestep");
    for (kind, deviates) in [
        ("lost-after", "create configmaps with lost-after"),
        ("crash", "the command is killed before the answer to create configmaps reaches it"),
    ] {
        let out = explore(&folder, &operator("buggy"), &["--kinds", kind, "--out", file.to_str().expect("it is text")]);
        let (said, errors) = (text(&out.stdout), text(&out.stderr));
        assert_eq!(out.status.code(), Some(1), "{said}{errors}");
        assert!(errors.contains("a Greeting never has two ConfigMaps: there are 2: greeting-hi-"), "{said}{errors}");
        assert!(said.contains(deviates) && said.contains("open it there with"), "{said}");
        let saved = std::fs::read_to_string(&file).expect("it is saved");
        assert!(saved.contains("breaks: 'a Greeting never has two ConfigMaps: there are 2"), "{saved}");
        let shown = replayed(&folder, &saved, "kubectl get configmaps -o name\n");
        assert_eq!(shown.matches("configmap/greeting-hi-").count(), 2, "{shown}");
    }
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn an_operator_that_is_right_holds() {
    if !has_kopf() {
        return;
    }
    let folder = folder();
    let kinds = ["--kinds", "crash,lost-after", "--schedules", "6", "--seconds", "120"];
    let out = explore(&folder, &operator("right"), &kinds);
    let (said, errors) = (text(&out.stdout), text(&out.stderr));
    assert!(out.status.success(), "{said}{errors}");
    assert!(said.contains("none breaks a property"), "{said}");
    let _ = std::fs::remove_dir_all(folder);
}

/// What is no operator is told so, soon, with its last words.
#[test]
fn a_command_that_is_no_client_is_told_apart() {
    let folder = folder();
    for (command, says) in [
        ("no-such-operator", "the command has ended although nothing was broken: exit status: 127"),
        ("echo why; exit 3", "exit status: 3; its last lines:\n  why"),
        ("exit 0", "exit status: 0; it has printed nothing"),
        ("yes | head -c 100000000; exit 4", "exit status: 4; its last lines:\n  y\n"),
    ] {
        let out = explore(&folder, command, &[]);
        let errors = text(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{command}: {errors}");
        assert!(errors.contains(says) && errors.len() < 1000, "{command}: {errors}");
    }
    let out = explore(&folder, "yes", &["--seconds", "2"]);
    assert!(text(&out.stderr).contains("the command has sent nothing in"), "{out:?}");
    let _ = std::fs::remove_dir_all(folder);
}
