//! `kubectl attach`: what a container prints from now on.

use std::path::Path;

use crate::shell::Shell;

const WELCOME: &str = "All commands and output from this session will be recorded in container logs, including credentials and \
                       sensitive information passed through the command prompt.\n\
                       If you don't see a command prompt, try pressing enter.\n";

#[test]
fn it_shows_what_comes_from_now_on() {
    let mut shell = Shell::new(Path::new("."), "attach");
    let script = "'echo early; sleep 20; echo late; sleep 5; echo last'";
    shell.line(&format!("kubectl run a --restart=Never --image=busybox -- sh -c {script}"));
    shell.line("kubectl wait --for=condition=Ready pod/a");
    assert_eq!(shell.line("kubectl attach a"), format!("{WELCOME}late\nlast\n"));
    shell.line("kubectl wait --for=jsonpath={.status.phase}=Succeeded pod/a");
    let completed = "error: cannot attach a container in a completed pod; current phase is Succeeded\n";
    assert_eq!(shell.line("kubectl attach a"), completed);
    // Its process ends, and another one is started at once: that is another container.
    shell.line("kubectl run b --image=busybox -- sh -c 'sleep 15; echo once'");
    shell.line("kubectl wait --for=condition=Ready pod/b");
    assert_eq!(shell.line("kubectl attach pod/b -q"), "once\n");
    shell.line("kubectl create deployment c --image=nginx");
    shell.line("kubectl wait --for=condition=Available deploy/c");
    let stays = "container nginx runs on, and kubectl stays no longer than --pod-running-timeout\n";
    assert_eq!(shell.line("kubectl attach deployment c -q --pod-running-timeout=10s"), stays);
}

#[test]
fn what_reads_nothing_is_shown() {
    let mut shell = Shell::new(Path::new("."), "attach");
    shell.line("kubectl run sh -t -i --attach=false --image=busybox -- sh");
    shell.line("kubectl run web --image=nginx");
    shell.line("kubectl wait --for=condition=Ready pod/sh pod/web");
    // No user types here: what the shell reads is at its end.
    let back = "Session ended, resume using 'kubectl attach sh -c sh -n attach -i -t' command\n";
    assert_eq!(shell.line("kubectl attach sh -it"), format!("{WELCOME}{back}"));
    let said = shell.line("kubectl attach web -it --pod-running-timeout=5s");
    let no_tty = "error: Unable to use a TTY - container web did not allocate one\n";
    let stays = "container web runs on, and kubectl stays no longer than --pod-running-timeout\n";
    assert_eq!(said, format!("{no_tty}{WELCOME}{stays}"));
}

#[test]
fn it_fails_as_a_real_one_does() {
    let mut shell = Shell::new(Path::new("."), "attach");
    shell.line("kubectl run web --image=nginx");
    shell.line("kubectl run broken --image=busybox -- false");
    shell.line("kubectl wait --for=condition=Ready pod/web");
    shell.line("sleep 5");
    shell.line("kubectl create role reader --verb=get,list,watch --resource=pods,pods/attach");
    shell.line("kubectl create rolebinding reader --role=reader --user=jane");
    for (line, expected) in [
        ("kubectl attach", "error: at least 1 argument is required for attach\n"),
        (
            "kubectl attach a b c",
            "error: expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw 3: [a b c]\n",
        ),
        ("kubectl attach web --pod-running-timeout=0s", "error: --pod-running-timeout must be higher than zero\n"),
        ("kubectl attach nobody", "Error from server (NotFound): pods \"nobody\" not found\n"),
        (
            "kubectl attach web -c x",
            "error: cannot attach to the container: container x is not valid for pod web out of: web\n",
        ),
        (
            "kubectl attach broken -q",
            "error: Internal error occurred: unable to upgrade connection: container broken not found in pod broken_attach\n",
        ),
        (
            "kubectl attach web -q --as=jane",
            "Error from server (Forbidden): pods \"web\" is forbidden: User \"jane\" cannot create resource \"pods/attach\" in \
             API group \"\" in the namespace \"attach\"\n",
        ),
    ] {
        assert_eq!(shell.line(line), expected, "{line}");
    }
}
