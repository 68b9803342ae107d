//! Programs made with lightkube and with kr8s, where Python has them. Each prints what it sees.

use std::io::Read;
use std::process::Stdio;

use crate::operator::{Ends, has, python};
use crate::program::{Served, replayed, wait_for};

const LIGHTKUBE: &str = "nodes: 4
applied: [('lightkube', 'Apply')]
Pods: ['Running', 'Running']
started: True
hostname: True 0
cat: ä line 0
cat: can't open '/nothing': No such file or directory 1
refused: 409 Conflict
rolled out: ['nginx:1.29', 'nginx:1.29', 'nginx:1.29']
MODIFIED {'a': '3'}
MODIFIED {'a': '3', 'c': '4'}
DELETED {'a': '3', 'c': '4'}
404 configmaps \"notes\" not found
";

const KR8S: &str = "nodes: 4
ready: True True
started: True
hostname: True 0
cat: can't open '/nothing': No such file or directory 1
forwarded: 200 True
by the Service: 200 True
scaled: 3
patched: mine {}
MODIFIED {'a': '1', 'b': '2'}
DELETED {'a': '1', 'b': '2'}
there: False
Pods: 0
";

#[test]
fn lightkube_applies_watches_and_runs_commands() {
    sees("lightkube", LIGHTKUBE);
}

#[test]
fn kr8s_waits_forwards_ports_and_watches() {
    sees("kr8s", KR8S);
}

/// What the library's program prints; and its session repeats without it.
fn sees(library: &str, expected: &str) {
    if !has(&[library]) {
        return;
    }
    let mut served = Served::start(&["--speed", "5"]);
    let script = format!("{}/../../tests/serve/{library}_client.py", env!("CARGO_MANIFEST_DIR"));
    // kr8s warns of a version that is newer than those it knows.
    let mut command = python();
    command.args(["-W", "ignore", &script]).env("KUBECONFIG", served.kubeconfig()).env("PYTHONIOENCODING", "utf-8");
    let mut child = Ends(command.stdout(Stdio::piped()).spawn().expect("it was started before"));
    let status = wait_for("the end of the program", || child.0.try_wait().expect("it is a child"));
    let mut printed = String::new();
    child.0.stdout.take().expect("it is piped").read_to_string(&mut printed).expect("it is text");
    assert_eq!(printed, expected);
    assert!(status.success(), "{status}");
    let saved = served.end();
    replayed(&served.folder, &saved, "clients\n");
}
