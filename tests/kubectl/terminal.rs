//! `kubectl exec -it POD -- sh` and its like: what the user types, and how it ends.

use std::time::Duration;

use cluster::{Cluster, Config};
use kubelet::runtime::terminal::{CTRL_C, CTRL_D};

/// What is said before anything is shown.
const WELCOME: &str = "All commands and output from this session will be recorded in container logs, including credentials and \
                       sensitive information passed through the command prompt.\n\
                       If you don't see a command prompt, try pressing enter.\n";

/// A user at a terminal.
struct Typist(Cluster);

impl Typist {
    fn new() -> Typist {
        Typist(Cluster::start(Config::default()))
    }

    /// What is printed until nothing is left to do.
    fn settled(&mut self, before: usize) -> String {
        self.0.settle(Duration::from_secs(200));
        self.0.kubectl.printed_since(before)
    }

    /// Runs a command of kubectl's, and returns what it has printed.
    fn kubectl(&mut self, line: &str) -> String {
        let before = self.0.kubectl.printed();
        self.0.type_words(shell_words::split(line).expect("a line in words"));
        self.settled(before)
    }

    /// Types into the shell.
    fn types(&mut self, text: &str) -> String {
        let before = self.0.kubectl.printed();
        self.0.type_into_shell(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        self.settled(before)
    }

    /// The shell's prompt; empty if there is none.
    fn prompt(&self) -> String {
        self.0.shell().as_ref().and_then(|shell| shell.prompt()).unwrap_or_default().to_owned()
    }
}

#[test]
fn a_shell_keeps_what_it_was_told() {
    let mut me = Typist::new();
    me.kubectl("run box --image=busybox -- sleep 100000");
    assert_eq!(me.kubectl("exec -it box -- sh"), "");
    for (line, said, prompt) in [
        ("pwd", "/\n", "/ # "),
        ("cd /tmp", "", "/tmp # "),
        ("pwd; X=1; echo $X", "/tmp\n1\n", "/tmp # "),
        ("echo $X > x", "", "/tmp # "),
        ("cat x /tmp/x", "1\n1\n", "/tmp # "),
        ("foo", "sh: foo: not found\n", "/tmp # "),
        ("echo $?", "127\n", "/tmp # "),
        ("for n in 1 2; do sleep 1; echo $n; done", "1\n2\n", "/tmp # "),
        ("cat <<EOF\na\nb\nEOF", "a\nb\n", "/tmp # "),
        ("f() { echo f $1; }", "", "/tmp # "),
        ("f 2", "f 2\n", "/tmp # "),
        ("echo \"a", "", "> "),
        ("b\"", "a\nb\n", "/tmp # "),
        ("if true", "", "> "),
        ("then echo so", "", "> "),
        ("fi", "so\n", "/tmp # "),
        ("cat <<EOF", "", "> "),
        (CTRL_C, "", "/tmp # "),
        ("echo $?", "130\n", "/tmp # "),
        ("x+=(1)", "sh: this is more than the shell of these containers knows\n", "/tmp # "),
        ("echo $?", "2\n", "/tmp # "),
        ("tail -f x", "this would take for ever\n", "/tmp # "),
        ("bash", "sh: a shell that is begun in a shell is not simulated; this one goes on\n", "/tmp # "),
        (CTRL_C, "", "/tmp # "),
        ("echo $? $X", "130 1\n", "/tmp # "),
        ("cd", "", "~ # "),
        ("(exit 5)", "", "~ # "),
        ("exit", "command terminated with exit code 5\n", ""),
    ] {
        assert_eq!((me.types(line).as_str(), me.prompt().as_str()), (said, prompt), "{line}");
    }
    assert_eq!(me.0.type_into_shell("ls").unwrap_err().split(';').next(), Some("no shell is open"));
    assert_eq!(me.kubectl("logs box"), "", "it is none of the process's business");
    me.kubectl("exec -it box -- /bin/sh -l");
    assert_eq!((me.types("echo $X-"), me.types(CTRL_D)), ("-\n".to_owned(), String::new()));
}

#[test]
fn a_line_takes_its_time_unless_it_is_interrupted() {
    let mut me = Typist::new();
    me.kubectl("run box --image=busybox -- sleep 100000");
    me.kubectl("exec -it box -- sh");
    let start = me.0.engine.now();
    me.types("sleep 3");
    assert_eq!((me.0.engine.now() - start).as_secs(), 3);
    let before = me.0.kubectl.printed();
    me.0.type_into_shell("A=1; sleep 100000; A=2").expect("it waits");
    me.0.settle(Duration::from_secs(20));
    assert_eq!(me.0.shell_waits(), Some(false));
    assert!(me.0.type_into_shell("ls").unwrap_err().contains("runs a line"));
    me.0.type_into_shell(CTRL_C).expect("it runs a line");
    assert_eq!(me.settled(before), "^C\n");
    assert!(me.0.is_quiet() && (me.0.engine.now() - start).as_secs() < 60, "nothing of it is left");
    assert_eq!(me.types("echo $? $A"), "130 1\n");
}

#[test]
fn a_process_may_be_the_shell() {
    let mut me = Typist::new();
    let begun = me.kubectl("run -it --rm tmp --image=busybox -- sh");
    assert_eq!((begun.as_str(), me.prompt().as_str()), (WELCOME, "/ # "));
    me.types("hostname");
    assert_eq!(me.kubectl("logs tmp"), "/ # hostname\ntmp\n");
    let back = "Session ended, resume using 'kubectl attach tmp -c tmp -n default -i -t' command\n";
    assert_eq!(me.types("exit 3"), format!("{back}pod \"tmp\" deleted from default namespace\n"));

    let begun = me.kubectl("run -it -q --restart=Never one --image=busybox");
    assert_eq!((begun.as_str(), me.prompt().as_str()), ("", "/ # "));
    assert_eq!(me.types("exit 4"), "pod default/one terminated (Error)\n");

    // What is started again waits again, and is another shell.
    me.kubectl("run -it more --image=alpine -- sh");
    me.types("A=1");
    me.types("exit");
    let status = "get pod more -o jsonpath={.status.containerStatuses[0].restartCount}";
    assert_eq!(me.kubectl(status), "1");
    assert_eq!(me.kubectl("attach -it more -q"), "");
    assert_eq!(me.types("echo $A."), ".\n");
    me.types(CTRL_D);

    me.kubectl("run web --image=nginx");
    let said = me.kubectl("debug -it web --image=busybox -c look");
    assert_eq!((said.as_str(), me.prompt().as_str()), (WELCOME, "/ # "));
    let ended = "Session ended, the ephemeral container will not be restarted but may be reattached using 'kubectl attach \
                 web -c look -n default -i -t' if it is still running\n";
    assert_eq!(me.types("exit"), ended);
    let said = me.kubectl("run -it other --image=nginx");
    assert_eq!(said, "what runs in other reads nothing that is typed; a shell: kubectl exec -it other -- sh\n");
}

#[test]
fn prompts_are_those_of_their_images() {
    let mut me = Typist::new();
    let overrides = r#"{"spec":{"containers":[{"name":"user","image":"busybox","command":["sleep","100000"],"securityContext":{"runAsUser":1000}}]}}"#;
    me.kubectl(&format!("run user --image=busybox --overrides='{overrides}'"));
    me.kubectl("run web --image=nginx:1.27");
    me.kubectl("run small --image=nginx:1.27-alpine");
    for (line, prompt) in [
        ("exec -it web -- bash", "root@web:/# "),
        ("exec -it web -- sh", "# "),
        ("exec -it small -- sh", "/ # "),
        ("exec -it user -- sh", "/ $ "),
        ("exec -i web -- sh", ""),
    ] {
        assert_eq!((me.kubectl(line).as_str(), me.prompt().as_str()), ("", prompt), "{line}");
        assert_eq!(me.0.shell_waits(), Some(true), "{line}");
        me.types(CTRL_D);
    }
}

#[test]
fn a_shell_ends_with_what_it_is_in() {
    let killed = "command terminated with exit code 137\n";
    let lost = "error: websocket: close 1006 (abnormal closure): unexpected EOF\n";
    for (idle, break_it, said) in [
        (true, "kill", killed),
        (false, "kill", &format!("\n{killed}")),
        (true, "crash", lost),
        (false, "crash", lost),
        (true, "off", lost),
        (false, "off", lost),
    ] {
        let mut me = Typist::new();
        me.kubectl("run box --image=busybox -- sleep 100000");
        me.kubectl("exec -it box -- sh");
        let before = me.0.kubectl.printed();
        if !idle {
            me.0.type_into_shell("sleep 1000").expect("it waits");
            me.0.settle(Duration::from_secs(5));
        }
        let pod = object::Key::new("default", "box");
        let node = me.0.engine.actors().find_map(|(_, actor)| {
            let runtime = actor.as_any().downcast_ref::<kubelet::runtime::Runtime>()?;
            let runs = runtime.with(|state| !state.containers.is_empty());
            runs.then(|| actor.name().trim_start_matches("containerd/").to_owned())
        });
        let node = node.expect("it runs somewhere");
        match break_it {
            "kill" => assert!(me.0.kill_container(&pod, "", false)),
            "crash" => drop(me.0.stop_process(&format!("kubelet/{node}")).expect("it runs")),
            _ => me.0.stop_node(&node),
        }
        me.0.settle(Duration::from_secs(5));
        assert_eq!(me.0.kubectl.printed_since(before), *said, "{idle} {break_it}");
        assert_eq!(me.0.shell(), None, "{idle} {break_it}");
    }
}

#[test]
fn what_cannot_be_is_said() {
    let mut me = Typist::new();
    me.kubectl("run box --image=busybox -- sleep 100000");
    let said = me.kubectl("exec -it box -- bash");
    assert!(said.contains("exec: \"bash\": executable file not found in $PATH"), "{said}");
    assert!(me.kubectl("exec -t box -- sh").starts_with("error: with -t alone"));
    me.kubectl("exec -it box -- sh");
    for line in ["exec -it box -- sh", "run -it x --image=busybox", "debug -it box --image=busybox"] {
        assert_eq!(me.kubectl(line), "error: a shell in box has the terminal; leave it first, with exit\n", "{line}");
    }
    assert_eq!(me.kubectl("exec box -- hostname"), "box\n");
}

/// Where no user types it reads what a pipe brings, and that has an end.
#[test]
fn a_pipe_is_no_terminal() {
    let mut me = Typist::new();
    me.kubectl("run box --image=busybox -- sleep 100000");
    for (line, said) in [
        ("echo 'cd /tmp; pwd' | kubectl exec -i box -- sh", "/tmp\n"),
        ("kubectl exec -i box -- sh -s <<EOF\nhostname\nexit 3\nEOF", "box\ncommand terminated with exit code 3\n"),
        ("echo 'ls /nope; echo b; exit 3' | kubectl exec -i box -- sh 2> /dev/null", "b\n"),
        ("kubectl exec box -- sh -c 'echo a; echo b >&2; echo c'", "a\nb\nc\n"),
        ("kubectl exec box -- sh -c 'echo -n a >&2; echo b >&2; echo >&2'", "ab\n\n"),
        ("kubectl exec box -- sh -c 'echo a; echo b >&2; echo c' 2> /dev/null", "a\nc\n"),
        ("kubectl exec -it box -- sh", ""),
        ("echo hostname | kubectl run -i -q --rm x --restart=Never --image=busybox -- sh", "x\n"),
        ("kubectl run -it -q --rm y --restart=Never --image=busybox", ""),
    ] {
        let before = me.0.kubectl.printed();
        me.0.type_lines(vec![line.to_owned()]);
        let printed = me.settled(before);
        let printed = printed.strip_prefix(&format!("$ {line}\n")).and_then(|said| said.strip_suffix('\n'));
        assert_eq!((printed, me.0.shell()), (Some(said), None), "{line}");
    }
    // Who types at the prompt sits there.
    me.0.type_line("kubectl exec -it $(echo box) -- sh".to_owned());
    me.settled(0);
    assert_eq!(me.prompt(), "/ # ");
}
