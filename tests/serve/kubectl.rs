//! The real kubectl: the programs that `KUBESTEP_KUBECTL` lists (as `PATH` lists folders), or the one on the path.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::channel;

use crate::http::ask;
use crate::program::{PATIENCE, Served, folder, replayed, wait_for};
use crate::skip::skipped;

/// All of them, of different versions.
fn programs() -> Vec<PathBuf> {
    if let Some(listed) = std::env::var_os("KUBESTEP_KUBECTL") {
        return std::env::split_paths(&listed).collect();
    }
    on_path("kubectl").into_iter().collect()
}

/// The program of this name on the path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Any of them.
pub fn kubectl() -> Option<PathBuf> {
    let found = programs().into_iter().next();
    if found.is_none() {
        skipped("kubectl");
    }
    found
}

/// One of the version whose words our own kubectl has.
pub fn kubectl_of_our_version() -> Option<PathBuf> {
    let is_ours = |program: &PathBuf| {
        let out = Command::new(program).args(["version", "--client"]).output();
        out.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains("Client Version: v1.36."))
    };
    let found = programs().into_iter().find(is_ours);
    if found.is_none() {
        skipped("kubectl 1.36");
    }
    found
}

/// A program as a client of a cluster: kubectl, Helm.
pub struct Client {
    pub program: PathBuf,
    pub served: Served,
}

impl Client {
    /// Runs a line.
    pub fn run(&self, line: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = Command::new(&self.program);
        command.args(words).env("KUBECONFIG", self.served.kubeconfig()).env("HOME", &self.served.folder);
        command.current_dir(&self.served.folder).output().expect("the program can be started")
    }

    /// The same with something to read.
    pub fn reads(&self, line: &str, input: &str) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = Command::new(&self.program);
        command.args(words).env("KUBECONFIG", self.served.kubeconfig()).env("HOME", &self.served.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("kubectl can be started");
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    }

    /// Starts a line that goes on. Its input stays open.
    fn begins(&self, line: &str) -> Begun {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = Command::new(&self.program);
        command.args(words).env("KUBECONFIG", self.served.kubeconfig()).env("HOME", &self.served.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("kubectl can be started");
        let out = child.stdout.take().map(BufReader::new);
        Begun { child, out }
    }

    /// Runs a line that must end well, and gives what it prints.
    pub fn prints(&self, line: &str) -> String {
        let out = self.run(line);
        let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "{line}: {text}{errors}");
        text.into_owned()
    }
}

/// A line that goes on until the value is dropped.
struct Begun {
    child: Child,
    out: Option<BufReader<ChildStdout>>,
}

impl Begun {
    /// Its first line.
    fn first_line(&mut self) -> String {
        let mut line = String::new();
        // It stays open: kubectl goes on to print.
        self.out.as_mut().expect("it is piped").read_line(&mut line).expect("it is text");
        assert!(!line.is_empty(), "it has ended");
        line
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_kubectl_rolls_out_scales_and_deletes() {
    if kubectl().is_some() {
        programs().iter().for_each(|program| rolls_out_scales_and_deletes(program));
    }
}

fn rolls_out_scales_and_deletes(program: &Path) {
    let mut client = Client { program: program.to_owned(), served: Served::start(&["--speed", "10"]) };
    let nodes = client.prints("get nodes");
    assert!(nodes.contains("node-1") && nodes.contains("Ready"), "{nodes}");
    client.prints("create deployment web --image=nginx --replicas=2");
    assert!(client.prints("rollout status deployment web").contains("successfully rolled out"));
    assert_eq!(client.prints("get pods -l app=web --no-headers").lines().count(), 2);
    client.prints("scale deployment web --replicas=3");
    client.prints("wait --for=jsonpath={.status.readyReplicas}=3 deployment/web --timeout=60s");
    client.prints("label deployment web tier=front");
    client.prints("set image deployment/web nginx=nginx:1.29");
    client.prints("rollout status deployment web");
    client.prints("rollout undo deployment web");
    assert!(client.prints("describe deployment web").contains("ScalingReplicaSet"));
    assert_eq!(client.prints("auth can-i create pods").trim(), "yes");
    client.prints("delete deployment web");
    client.prints("wait --for=delete pod -l app=web --timeout=60s");
    let missing = client.run("get deployment web");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("(NotFound): deployments.apps \"web\" not found"));
    let saved = client.served.end();
    replayed(&client.served.folder, &saved, "clients\n");
}

#[test]
fn kubectl_reads_logs_and_runs_commands() {
    let Some(program) = kubectl() else { return };
    let mut client = Client { program, served: Served::start(&["--speed", "10"]) };
    client.prints("run web --image=nginx");
    client.prints("wait --for=condition=Ready pod/web --timeout=60s");
    assert!(client.prints("logs web").contains("start worker process"));
    assert_eq!(client.prints("logs web --tail=1").lines().count(), 1);
    assert_eq!(client.prints("exec web -- hostname").trim(), "web");
    let failed = client.reads("exec -i web -- sh", "exit 3\n");
    assert_eq!(failed.status.code(), Some(3), "{failed:?}");
    let both = client.reads("exec -i web -- sh", "echo a\nfor i in 1 2\ndo echo $i\ndone\nls /nope\n(exit 4)");
    assert_eq!((both.status.code(), String::from_utf8_lossy(&both.stdout).as_ref()), (Some(4), "a\n1\n2\n"));
    let errors = String::from_utf8_lossy(&both.stderr);
    assert_eq!(errors, "ls: /nope: No such file or directory\ncommand terminated with exit code 4\n");
    says_what_a_line_prints_before_the_next(&client);
    let read = client.reads("exec -i web -- cat", "ä line\n");
    assert_eq!(String::from_utf8_lossy(&read.stdout), "ä line\n", "{read:?}");
    // What reads nothing does not wait for the end of its input.
    assert_eq!(client.begins("exec -i web -- hostname").first_line(), "web\n");
    let missing = client.run("exec web -- no-such-program");
    assert!(!missing.status.success() && !missing.stderr.is_empty(), "{missing:?}");
    let counts = [
        "run",
        "count",
        "--image=busybox",
        "--restart=Never",
        "--",
        "sh",
        "-c",
        "for i in 1 2 3; do echo $i; sleep 10; done",
    ];
    let mut command = Command::new(&client.program);
    command.args(counts).env("KUBECONFIG", client.served.kubeconfig()).env("HOME", &client.served.folder);
    assert!(command.status().is_ok_and(|status| status.success()));
    // On a slow machine it may be over before kubectl asks.
    let log = wait_for("its log", || Some(client.run("logs -f count")).filter(|out| out.status.success()));
    assert_eq!(String::from_utf8_lossy(&log.stdout), "1\n2\n3\n", "{log:?}");
    let saved = client.served.end();
    replayed(&client.served.folder, &saved, "clients\n");
}

/// A program that talks to a shell.
fn says_what_a_line_prints_before_the_next(client: &Client) {
    let mut command = Command::new(&client.program);
    command.args(["exec", "-i", "web", "--", "sh"]).env("KUBECONFIG", client.served.kubeconfig());
    command.env("HOME", &client.served.folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("kubectl can be started");
    let mut input = child.stdin.take().expect("it is piped");
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    for (line, said) in [("cd /tmp; X=1", ""), ("echo $X", "1\n"), ("pwd", "/tmp\n")] {
        writeln!(input, "{line}").expect("it reads");
        let mut heard = String::new();
        if !said.is_empty() {
            output.read_line(&mut heard).expect("it is text");
        }
        assert_eq!(heard, said, "{line}");
    }
    drop(input);
    assert!(child.wait().is_ok_and(|status| status.success()));
}

#[test]
fn kubectl_forwards_ports_attaches_copies_and_debugs() {
    let Some(program) = kubectl() else { return };
    let arguments = ["playground", "--serve", "--clock", "fast"];
    let mut client = Client { program, served: Served::in_folder(folder(), "step", &arguments) };
    client.prints("run web --image=nginx");
    client.prints("expose pod web --port=80");
    client.prints("wait --for=condition=Ready pod/web --timeout=60s");

    let mut forward = client.begins("port-forward svc/web :80");
    let says = forward.first_line();
    let port = says.split(' ').find_map(|word| word.strip_prefix("127.0.0.1:")).expect("it says where it listens");
    for _ in 0..2 {
        let page = page(&format!("127.0.0.1:{port}"));
        assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains("answers GET /"), "{page}");
    }
    drop(forward);
    let mut forward = client.begins("port-forward web :81");
    let says = forward.first_line();
    let port = says.split(' ').find_map(|word| word.strip_prefix("127.0.0.1:")).expect("it says where it listens");
    assert_eq!(page(&format!("127.0.0.1:{port}")), "", "nothing listens at 81");
    drop(forward);

    for path in ["services/web/proxy/", "services/web:80/proxy/", "pods/web:80/proxy/", "pods/http:web:/proxy/"] {
        let page = ask(&client.served, "GET", &format!("/api/v1/namespaces/default/{path}"), "");
        assert!(page.code == 200 && page.body.contains("answers GET /"), "{path}: {page:?}");
        client.served.type_line(&format!("kubectl get --raw /api/v1/namespaces/default/{path}"));
        client.served.prints("answers GET /");
    }
    // A client goes where it is sent.
    let page = client.prints("get --raw /api/v1/namespaces/default/services/web/proxy");
    assert!(page.contains("answers GET /"), "{page}");
    let node = client.prints("get pod web -o jsonpath={.spec.nodeName}");
    assert_eq!(client.prints(&format!("get --raw /api/v1/nodes/{node}/proxy/healthz")), "ok");
    let pods = client.prints(&format!("get --raw /api/v1/nodes/{node}/proxy/pods"));
    assert!(pods.contains("\"kind\":\"PodList\"") && pods.contains("\"name\":\"web\""), "{pods}");
    let missing = ask(&client.served, "GET", "/api/v1/namespaces/default/services/web:81/proxy/", "");
    assert!(missing.code == 503 && missing.body.contains("no service port 81 found for service"), "{missing:?}");

    std::fs::write(client.served.folder.join("note"), "copied\n").expect("it can be written");
    client.prints("cp note web:/tmp/note");
    assert_eq!(client.prints("exec web -- cat /tmp/note"), "copied\n");
    client.prints("cp web:/etc/hostname hostname");
    let copied = std::fs::read_to_string(client.served.folder.join("hostname")).expect("it was copied");
    assert_eq!(copied, "web\n");

    let mut attached = client.begins("attach web");
    // It sees what is printed from then on, and does not say when that is.
    let lines = attached.out.take().expect("it is piped").lines().map_while(Result::ok);
    let (send, seen) = channel();
    std::thread::spawn(move || lines.for_each(|line| drop(send.send(line))));
    wait_for("a line of the process", || {
        client.prints("exec web -- curl -s localhost/attached");
        seen.try_iter().find(|line| line.contains("/attached"))
    });
    drop(attached);

    client.prints("debug web --image=busybox --target=web --container=tools -- sleep 1000");
    client.prints(
        "wait --for=jsonpath={.status.ephemeralContainerStatuses[0].state.running.startedAt} pod/web --timeout=60s",
    );
    assert_eq!(client.prints("exec web -c tools -- hostname"), "web\n");

    // What is typed into a shell of an image's own.
    let out = client.reads("run -i sh --image=busybox --restart=Never --rm -- sh", "echo typed; exit 3\n");
    assert!(String::from_utf8_lossy(&out.stdout).contains("typed"), "{out:?}");
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    let file = client.served.folder.join("session.kubestep");
    client.served.type_line(&format!("save {}", file.display()));
    let saved = wait_for("the session", || std::fs::read_to_string(&file).ok());
    replayed(&client.served.folder, &saved, "clients\n");
}

/// The root of a web server, or nothing if it closes the connection.
fn page(address: &str) -> String {
    let mut connection = TcpStream::connect(address).expect("it listens");
    connection.write_all(b"GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n").expect("it reads");
    connection.set_read_timeout(Some(PATIENCE)).expect("it is a time");
    let mut bytes = Vec::new();
    // A connection to nothing is closed in one way or another.
    let _ = connection.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The session of the course's page on real clients: what kubectl sent, stepped. `KUBESTEP_BLESS=1` records it anew.
#[test]
fn the_session_of_the_course_is_what_kubectl_sends() {
    let saved = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/sessions/own-kubectl.kubestep");
    if std::env::var_os("KUBESTEP_BLESS").is_none() {
        let text = std::fs::read_to_string(saved).expect("it is there");
        let folder = folder();
        let out = replayed(&folder, &text, "clients\n");
        let _ = std::fs::remove_dir_all(folder);
        return assert!(out.contains("kubectl POST /apis/apps/v1/namespaces/default/deployments"), "{out}");
    }
    let Some(program) = kubectl() else { return };
    let mut client = Client { program, served: Served::in_folder(folder(), "step", &["playground", "--serve"]) };
    let mut command = Command::new(&client.program);
    command.args(["create", "deployment", "web", "--image=nginx"]);
    command.env("KUBECONFIG", client.served.kubeconfig()).env("HOME", &client.served.folder);
    let mut child = command.spawn().expect("kubectl can be started");
    client.served.prints("sends POST");
    client.served.type_line("wait 3");
    assert!(child.wait().is_ok_and(|status| status.success()));
    let _ = std::fs::remove_file(saved);
    client.served.type_line(&format!("save {saved}"));
    wait_for("the session", || std::fs::metadata(saved).ok());
}
