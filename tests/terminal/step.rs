//! Sessions as people have them: piped, at a terminal, and with everything that can be wrong with the input.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use kubestep_tests::project::{command, program};
use kubestep_tests::skip;

pub(super) fn run(arguments: &[&str], stdin: &str) -> Output {
    let mut child = command()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program was built for this test");
    let mut input = child.stdin.take().expect("standard input is a pipe");
    // A program that refuses its arguments never reads its input.
    let _ = input.write_all(stdin.as_bytes());
    drop(input);
    child.wait_with_output().expect("the program ends")
}

pub(super) fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A folder of this test's own, empty at first and gone at the end.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("kubestep-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder can be made");
        Scratch(path)
    }

    pub(super) fn file(&self, name: &str, text: &[u8]) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a temporary file can be written");
        path.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n  \
    selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      \
    containers: [{name: c, image: nginx}]\n";

#[test]
fn wrong_input_is_named() {
    let scratch = Scratch::new("input");
    let bomb: String = (1..9).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
        let list = vec![format!("*a{}", n - 1); 9].join(",");
        format!("{text}a{n}: &a{n} [{list}]\n")
    });
    let huge = scratch.file("huge.yaml", b"");
    fs::File::options().write(true).open(&huge).and_then(|f| f.set_len(1 << 30)).expect("a sparse file can be made");
    fs::create_dir_all(scratch.0.join("empty")).expect("a folder can be made");
    let empty_folder = scratch.0.join("empty").display().to_string();
    let cases: &[(String, &[&str])] = &[
        (
            scratch.file("kind.yaml", b"apiVersion: v1\nkind: Podd\nmetadata: {name: x}\n"),
            &["no matches for kind \"Podd\""],
        ),
        (
            scratch.file("old.yaml", DEPLOYMENT.replace("apps/v1", "apps/v1beta1").as_bytes()),
            &["no matches for kind \"Deployment\" in version \"apps/v1beta1\"", "apps/v1"],
        ),
        (
            scratch.file("twice.yaml", b"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nmetadata: {name: y}\n"),
            &["metadata"],
        ),
        (scratch.file("broken.yaml", b"apiVersion: v1\nkind: {\n"), &["broken.yaml"]),
        (scratch.file("nothing.yaml", b"# only a comment\n---\n"), &["no objects passed to apply"]),
        (scratch.file("binary.yaml", &[0, 159, 146, 150, 0, 1, 2]), &["binary.yaml"]),
        (scratch.file("bomb.yaml", bomb.as_bytes()), &["bomb.yaml"]),
        (scratch.0.join("missing.yaml").display().to_string(), &["does not exist"]),
        (empty_folder, &[".yaml"]),
        (huge, &["huge.yaml"]),
    ];
    for (file, says) in cases {
        let output = run(&["run", "-f", file], "");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{file}: {error}");
        assert!(says.iter().all(|text| error.contains(text)), "{file} should say {says:?}, but said: {error}");
        assert!(!error.contains("panicked"), "{file}: {error}");
    }
}

#[test]
fn refused_objects_say_why() {
    let scratch = Scratch::new("refused");
    for (name, text, says) in [
        ("field.yaml", DEPLOYMENT.replace("replicas", "replica"), "unknown field \"spec.replica\""),
        ("type.yaml", DEPLOYMENT.replace("replicas: 1", "replicas: three"), "cannot be handled as a Deployment"),
        (
            "selector.yaml",
            DEPLOYMENT.replace("labels: {app: web}", "labels: {app: other}"),
            "does not match template `labels`",
        ),
    ] {
        let file = scratch.file(name, text.as_bytes());
        let output = run(&["run", "-f", &file], "");
        let said = printed(&output);
        assert!(said.contains(says), "{name}: {said}");
        assert_eq!(output.status.code(), Some(1), "{name}: a refused manifest is an error");
    }
}

#[test]
fn ten_thousand_documents_are_read() {
    let scratch = Scratch::new("many");
    let text: String = (0..10_000)
        .map(|n| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}}}\ndata: {{n: \"{n}\"}}\n"))
        .collect();
    let file = scratch.file("many.yaml", text.as_bytes());
    let output = run(&["run", "-f", &file], "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed(&output).contains("configmap/c9999 created"));
}

#[test]
fn standard_input_is_a_manifest() {
    let output = run(&["run", "-f", "-"], DEPLOYMENT);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed(&output).contains("deployment.apps/web created"), "{}", printed(&output));
}

/// As a shell hands one on with `-f <(command)`: there is nothing in it the second time.
#[cfg(unix)]
#[test]
fn a_pipe_is_a_manifest() {
    let output = run(&["run", "-f", "/dev/stdin"], DEPLOYMENT);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed(&output).contains("deployment.apps/web created"), "{}", printed(&output));
}

/// What a manifest wants from a cluster on the user's own machine: a class for its claims, names for its Services, a network
/// plugin that enforces its policies, and time for a late probe. An object of an unknown kind does not stop the others.
const ON_ONES_OWN: &str = "\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: g}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: nginx
    readinessProbe: {initialDelaySeconds: 40, exec: {command: [\"true\"]}}
    volumeMounts: [{name: data, mountPath: /data}]
  initContainers:
  - name: waits
    image: busybox:1.28
    command: [sh, -c, until nslookup db; do echo waiting for db; sleep 2; done]
  volumes:
  - name: data
    persistentVolumeClaim: {claimName: data}
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {ports: [{port: 5432}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: nobody}
spec: {podSelector: {}, policyTypes: [Ingress]}
";

#[test]
fn manifests_run_as_on_ones_own_machine() {
    let scratch = Scratch::new("own");
    let (file, out) = (scratch.file("own.yaml", ON_ONES_OWN.as_bytes()), scratch.0.join("out"));
    let output = run(&["run", "-f", &file, "--out", &out.display().to_string()], "");
    assert_eq!(output.status.code(), Some(1), "one of them could not be applied: {}", printed(&output));
    assert!(printed(&output).contains("no matches for kind \"Gadget\""), "{}", printed(&output));
    let state = fs::read_to_string(out.join("state.json")).expect("the run wrote its end");
    let state: serde_json::Value = serde_json::from_str(&state).expect("it is JSON");
    let mut items = state["items"].as_array().into_iter().flatten();
    let pod = items.find(|object| object["kind"] == "Pod").expect("the Pod was created");
    let ready = |condition: &serde_json::Value| condition["type"] == "Ready" && condition["status"] == "True";
    assert!(pod["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(ready)), "{}", pod["status"]);
    let output = run(&["step", "-f", &file], "run\nget pvc,pods\ncurl web --from node-3\nrun\n");
    let lines: Vec<String> =
        printed(&output).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(lines.iter().any(|line| line.contains("data Bound pvc-") && line.contains("RWO standard")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("pod/web 1/1 Running")), "{lines:?}");
    assert!(!printed(&output).contains("answers GET"), "{}", printed(&output));
}

#[test]
fn commands_may_be_anything() {
    let noise = "\u{0}\u{1b}[A\nstep -1\nstep 99999999999999999999\nwhy x\nwhy 0\netcd\netcd get é\ncache\nqueue x\nget\n\
        get pods -o\ndescribe\nkubectl\nwait\nshow\nstack\n'\n\"\\\nget pods -o jsonpath={\n🦀\n";
    let output = run(&["step", "pod"], noise);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}

/// What kubectl would say before its first request is said before the next step.
#[test]
fn a_line_that_is_wrong_in_itself_is_answered_at_once() {
    let output = run(&["step", "pod"], "scale web 3\nkubectl delete pod\nkubectl apply -f nowhere.yaml\npending\n");
    let said = printed(&output);
    for words in [
        "error: required flag(s) \"replicas\" not set",
        "error: resource(s) were provided, but no name was specified",
        "error: the path \"nowhere.yaml\" does not exist",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("about to send its first request"), "{said}");
}

#[test]
fn what_is_printed_goes_through_pipes() {
    let typed = "get nodes | grep -c Ready\nkubectl get nodes | awk 'NR>1 {print $1}' | sort -r | head -1\n\
        get pod nobody | wc -l\nget nodes |\nget nodes | less\ndelete pod web | wc -l\n";
    let said = printed(&run(&["step", "pod", "--nodes", "3"], typed));
    let answers: Vec<&str> = said.split("(kubestep)").skip(1).collect();
    for (at, want) in [
        "\n3\n",
        "\nnode-3\n",
        "\nError from server (NotFound): pods \"nobody\" not found\n0\n",
        "\na program is missing behind the |\n",
        "\nnode-3   Ready    <none>   0s    v1.36.2\n",
        "\nthe line is about to start; press Enter to step\n",
    ]
    .iter()
    .enumerate()
    {
        assert!(answers[at].ends_with(want), "{at}: {answers:?}");
    }
}

/// What a shell has to read is typed into one: what it writes is found by later lines, and a text after `<<` is part of its line.
#[test]
fn a_line_may_be_a_shells() {
    let typed = "create ns shop --dry-run=client -o yaml > shop.yaml\nrun\ncat shop.yaml\nrun\nkubectl apply -f shop.yaml\nrun\n\
        cat <<EOF | kubectl apply -f -\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: its\ndata:\n  it: \"don't\"\nEOF\nrun\n\
        for n in 1 2; do kubectl create ns shop-$n; done\nrun\nkubectl get ns && vim\nk get ns \\\n  -o name\nchoices\n";
    let said = printed(&run(&["step", "pod"], typed));
    for words in [
        "kind: Namespace\nmetadata:\n  name: shop\n",
        "\nnamespace/shop created\n",
        "\n> EOF\nthe line is about to start; press Enter to step\n",
        "\nconfigmap/its created\n",
        "\nnamespace/shop-1 created\nnamespace/shop-2 created\n",
        "\n\"vim\" is not understood; a line is a kubectl command, ",
        "\nnamespace/shop\nnamespace/shop-1\nnamespace/shop-2\n",
        "type sh -c 'kubectl create ns shop --dry-run=client -o yaml > shop.yaml'\n",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!std::path::Path::new("shop.yaml").exists(), "nothing is written to the disk");
}

/// The user is told that nothing enforces a NetworkPolicy.
#[test]
fn a_policy_that_nobody_enforces_is_said() {
    let typed = "cat <<EOF | kubectl apply -f -\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: deny\n\
        spec:\n  podSelector: {}\nEOF\nrun\nkubectl get netpol\n";
    for (scenario, told) in [("pod", true), ("playground", false)] {
        let said = printed(&run(&["step", scenario], typed));
        assert_eq!(said.contains("nothing here enforces NetworkPolicies"), told, "{said}");
        assert!(said.contains("networkpolicy.networking.k8s.io/deny created"), "{said}");
    }
}

/// The user is told that nothing measures what Pods use.
#[test]
fn what_nobody_measures_is_said() {
    const SAID: &str = "nothing here measures what Pods use";
    let typed = "kubectl top pods\nkubectl get pods top\n";
    let said = printed(&run(&["step", "pod"], typed));
    assert_eq!(said.matches(SAID).count(), 1, "{said}");
    assert!(said.contains(&format!("error: Metrics API not available\n{SAID}")), "{said}");
    assert!(printed(&run(&["step", "pod"], "kubectl autoscale deployment web --max=3\n")).contains(SAID));
    assert!(!printed(&run(&["step", "playground"], typed)).contains(SAID));
    let autoscaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: web\nspec:\n  maxReplicas: 2\n  \
        scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: web\n";
    let file = std::env::temp_dir().join(format!("kubestep-autoscaler-{}.yaml", std::process::id()));
    std::fs::write(&file, autoscaler).unwrap();
    let said = printed(&run(&["step", "-f", file.to_str().unwrap()], typed));
    std::fs::remove_file(&file).unwrap();
    assert!(!said.contains(SAID), "{said}");
}

/// `auth` asks, but for its `reconcile`: that writes, and is stepped through.
#[test]
fn roles_are_reconciled_as_you_step() {
    let typed = "cat > role.yaml <<EOF\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: reader\n  namespace: \
        default\nrules:\n- apiGroups: ['']\n  resources: [pods]\n  verbs: [get]\nEOF\nrun\nkubectl auth reconcile -f role.yaml\nrun\n\
        kubectl get role reader -o name\n";
    let said = printed(&run(&["step", "pod"], typed));
    assert!(said.contains("\nrole.rbac.authorization.k8s.io/reader reconciled\n"), "{said}");
    assert!(said.contains("\nrole.rbac.authorization.k8s.io/reader\n"), "{said}");
}

/// Each command with each kind of nonsense behind it: a reply, never a panic.
#[test]
fn every_command_takes_nonsense() {
    const NONSENSE: &[&str] = &[
        "",
        "x",
        "-1",
        "0",
        "99999999999999999999",
        "e1",
        "'",
        "🦀 é",
        "--all",
        "pod/",
        "a b c d",
        "* *",
        "#0",
        "kube-scheduler",
        "pod/x.status.phase if new.x = 1",
        "1 1",
        "pod.status[",
        "if if print print do do",
    ];
    let names = stepper::commands::names().filter(|name| !["quit", "q", "exit", "save"].contains(name));
    let lines = names.flat_map(|name| NONSENSE.iter().map(move |nonsense| format!("{name} {nonsense}\n")));
    let output = run(&["step", "pod"], &lines.collect::<String>());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !error.contains("panicked"), "{error}");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let script = format!("{} run rolling-update | head -n 1", program());
    let Ok(output) = Command::new("sh").args(["-c", &script]).output() else {
        skip::skipped("sh");
        return;
    };
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn without_colour_there_is_no_escape() {
    for (arguments, variable) in [(&["--color", "never", "step", "pod"][..], ""), (&["step", "pod"][..], "1")] {
        let output = command()
            .args(arguments)
            .env("NO_COLOR", variable)
            .stdin(Stdio::null())
            .output()
            .expect("the program was built for this test");
        assert!(!printed(&output).contains('\u{1b}'));
    }
}

/// Drives the program in a terminal as a person would, with tmux.
#[test]
fn at_a_terminal() {
    if Command::new("tmux").arg("-V").output().is_err() {
        skip::skipped("tmux");
        return;
    }
    let socket = format!("kubestep-{}", std::process::id());
    let tmux = |arguments: &[&str]| {
        let output = Command::new("tmux").args(["-L", &socket, "-f", "/dev/null"]).args(arguments).output();
        String::from_utf8_lossy(&output.expect("tmux runs").stdout).into_owned()
    };
    let shows = |text: &str| {
        for _ in 0..100 {
            let screen = tmux(&["capture-pane", "-p", "-t", "t"]);
            if screen.contains(text) {
                return;
            }
            sleep(Duration::from_millis(100));
        }
        panic!("the screen never shows {text:?}:\n{}", tmux(&["capture-pane", "-p", "-t", "t"]));
    };
    let scratch = Scratch::new("terminal");
    let state = format!("XDG_STATE_HOME={}", scratch.0.display());
    let program = program();
    let start = || tmux(&["new-session", "-d", "-s", "t", "-x", "80", "-y", "24", "env", &state, program, "step"]);
    let quit = || {
        tmux(&["send-keys", "-t", "t", "quit", "Enter"]);
        sleep(Duration::from_millis(500));
        assert_eq!(tmux(&["list-sessions"]), "", "quit ends the program");
        tmux(&["kill-server"]);
    };
    start();
    shows("type to search");
    tmux(&["send-keys", "-t", "t", "statef"]);
    shows("> statefulset");
    tmux(&["send-keys", "-t", "t", "Enter"]);
    shows("nodes are up");
    quit();
    start();
    shows("> deployment");
    tmux(&["send-keys", "-t", "t", "Enter"]);
    shows("nodes are up");
    tmux(&["send-keys", "-t", "t", "Enter"]);
    shows("ADDED Deployment");
    tmux(&["send-keys", "-t", "t", "timel", "Tab", "Enter"]);
    shows("create deployments default/web → 201");
    tmux(&["send-keys", "-t", "t", "option pager off", "Enter"]);
    shows("pager    off");
    tmux(&["resize-window", "-t", "t", "-x", "40", "-y", "10"]);
    tmux(&["send-keys", "-t", "t", "run", "Enter"]);
    shows("events, now at");
    for (width, height, typed, seen) in
        [("200", "60", "nodes", "node-3"), ("20", "5", "get ns", "kube-system"), ("132", "43", "help", "stepi")]
    {
        tmux(&["resize-window", "-t", "t", "-x", width, "-y", height]);
        tmux(&["send-keys", "-t", "t", "clear", "Enter", typed, "Enter"]);
        shows(seen);
    }
    quit();
}

#[test]
fn help_names_every_command() {
    let help = printed(&run(&["--help"], ""));
    for word in ["step", "run", "scenarios", "--color"] {
        assert!(help.contains(word), "{help}");
    }
}
