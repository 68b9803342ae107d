//! `kubectl run` that stays until its Pod has done its work.

use std::path::Path;

use crate::shell::Shell;

#[test]
fn it_shows_what_was_printed_and_takes_the_pod_away() {
    let mut shell = Shell::new(Path::new("."), "attached");
    for (line, said) in [
        (
            "kubectl run a --rm -it --restart=Never --image=busybox -- echo hello",
            "hello\npod \"a\" deleted from attached namespace\n",
        ),
        ("kubectl run b --rm -i -q --restart=Never --image=busybox -- echo hello", "hello\n"),
        (
            "kubectl run c --rm -i --restart=Never --image=busybox -- sh -c 'echo no; exit 3'",
            "no\npod \"c\" deleted from attached namespace\npod attached/c terminated (Error)\n",
        ),
        ("kubectl run d --attach --restart=Never --image=busybox -- sh -c 'sleep 5; echo late'", "late\n"),
        ("kubectl get pod d --no-headers -o custom-columns=A:.status.phase", "Succeeded\n"),
        // Started again for ever: its first end is what is waited for.
        ("kubectl run e --rm -i --image=busybox -- echo again", "again\npod \"e\" deleted from attached namespace\n"),
        (
            "kubectl run k --rm -i --image=busybox -- sh -c 'echo no; sleep 1; exit 1'",
            "no\npod \"k\" deleted from attached namespace\n",
        ),
        (
            "kubectl run f -i --restart=Never --image=busybox --pod-running-timeout=10s -- sleep 60",
            "error: timed out waiting for the condition\n",
        ),
        // No user types here: what the shell reads is at its end.
        ("kubectl run g -it -q --image=busybox", ""),
        (
            "kubectl run h --rm -i --restart=Never --expose --port=80 --image=busybox -- true",
            "service/h created\npod \"h\" deleted from attached namespace\nservice \"h\" deleted from attached namespace\n",
        ),
        (
            "kubectl run x -t --image=busybox",
            "error: -i/--stdin is required for containers with -t/--tty=true\nSee 'kubectl run -h' for help and examples\n",
        ),
        (
            "kubectl run x -i --dry-run=client --image=busybox",
            "error: --dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or \
             --tty)\nSee 'kubectl run -h' for help and examples\n",
        ),
    ] {
        assert_eq!(shell.line(line), said, "{line}");
    }
    let container = "{.spec.containers[0].stdin} {.spec.containers[0].stdinOnce} {.spec.containers[0].tty}";
    assert_eq!(shell.line(&format!("kubectl get pod g -o jsonpath='{container}'")), "true true true");
}
