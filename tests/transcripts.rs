//! What kubectl prints, beside what a real kubectl printed.
//!
//! `tests/reference/*/commands.sh` and `output.txt` are recordings of a real cluster. The same commands run here, and
//! what they print is compared line by line; names, ages, times, addresses and the nodes that Pods happen to be on are
//! masked. Where a real cluster would not print the same twice, less is asked: of `rollout status` only the last line,
//! of tables not the order.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use kubestep::apiserver::request::{Body, FieldValidation, Verb};
use kubestep::cluster::{Action, Cluster, Config, NodeConfig, kubectl};
use kubestep::engine::{Note, Step, What};
use kubestep::object::Kind;

/// A shell of the few things that the recordings use.
struct Shell {
    cluster: Cluster,
    directory: PathBuf,
    namespace: String,
    variables: BTreeMap<String, String>,
    /// What kubectl has asked of the API server.
    calls: Vec<String>,
}

impl Shell {
    fn new(directory: &Path, namespace: &str) -> Shell {
        let cluster = Cluster::start(Config::default());
        let (directory, namespace) = (directory.to_owned(), namespace.to_owned());
        let mut shell = Shell { cluster, directory, namespace, variables: BTreeMap::new(), calls: Vec::new() };
        shell.line(&format!("kubectl create namespace {}", shell.namespace));
        shell.line("sleep 1");
        shell.calls.clear();
        shell
    }

    /// Runs one line and returns what it showed.
    fn line(&mut self, line: &str) -> String {
        if let Some((name, inner)) = line.split_once("=$(").filter(|(name, _)| name.chars().all(char::is_alphanumeric))
        {
            let (_, stdout) = self.command(inner.trim_end_matches(')'), "");
            self.variables.insert(name.to_owned(), stdout);
            return String::new();
        }
        let (mut shown, mut stdin) = (String::new(), String::new());
        for stage in line.split(" | ") {
            (shown, stdin) = self.command(stage, &stdin);
        }
        shown
    }

    fn command(&mut self, line: &str, stdin: &str) -> (String, String) {
        let words = self.words(line);
        let text = |i: usize| words.get(i).map_or("", String::as_str);
        match text(0) {
            "kubectl" => self.kubectl(line, words[1..].to_vec(), stdin),
            "sleep" => {
                let client = self.cluster.user.clone();
                let seconds = text(1).parse().unwrap();
                self.until_done(line, async move { client.sleep(Duration::from_secs(seconds)).await });
                Default::default()
            }
            "fake-node" if text(1) == "start" => {
                let mut node = NodeConfig::numbered(text(2).parse().unwrap());
                node.cpu = text(4).parse().unwrap_or(node.cpu);
                node.memory_gi = text(6).parse().unwrap_or(node.memory_gi);
                self.cluster.actions().borrow_mut().push_back(Action::StartNode(node));
                self.cluster.act();
                Default::default()
            }
            // sed 's/"resourceVersion": "[0-9]*"/"resourceVersion": "1"/'
            "sed" => {
                const FIELD: &str = "\"resourceVersion\": \"";
                let edit = |line: &str| match line.split_once(FIELD).and_then(|(a, b)| Some((a, b.split_once('"')?.1)))
                {
                    Some((before, after)) => format!("{before}{FIELD}1\"{after}\n"),
                    None => format!("{line}\n"),
                };
                let out: String = stdin.lines().map(edit).collect();
                (out.clone(), out)
            }
            other => panic!("the recordings' shell does not know {other}"),
        }
    }

    /// Words, without quotes, and variables filled in.
    fn words(&self, line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        for (name, value) in &self.variables {
            words.iter_mut().filter(|word| **word == format!("${name}")).for_each(|word| word.clone_from(value));
        }
        words
    }

    fn kubectl(&mut self, line: &str, words: Vec<String>, stdin: &str) -> (String, String) {
        let mut kubectl = self.cluster.kubectl.in_namespace(&self.namespace);
        kubectl.base.clone_from(&self.directory);
        kubectl.stdin = stdin.to_owned();
        (kubectl.output, kubectl.stdout) = Default::default();
        let (shown, stdout) = (kubectl.output.clone(), kubectl.stdout.clone());
        self.until_done(line, async move {
            kubectl::run(&words, &kubectl).await;
        });
        (shown.take(), stdout.take())
    }

    fn until_done(&mut self, label: &str, command: impl Future<Output = ()> + 'static) {
        let done = Rc::new(RefCell::new(false));
        let flag = done.clone();
        self.cluster.run_command(label, async move {
            command.await;
            *flag.borrow_mut() = true;
        });
        while !*done.borrow() {
            let step = self.cluster.step().expect("a command ends before everything stands still");
            self.calls.extend(call(&step));
        }
    }
}

/// `create deployments web 201 fieldManager=…`, if a step is a request of kubectl's.
fn call(step: &Step) -> Option<String> {
    let What::Request { request, .. } = &step.event.what else { return None };
    let code = step.notes.iter().find_map(|note| match note {
        Note::Answered { code, .. } => Some(*code),
        _ => None,
    })?;
    // The recordings leave out what is read of nodes.
    let writes = matches!(request.verb, Verb::Create | Verb::Update | Verb::Patch);
    if &*request.user.agent != "user/kubectl" || (request.kind == Kind::Node && !writes) {
        return None;
    }
    let body = match &request.body {
        Body::Json(text) if code != 400 => serde_json::from_str(text).unwrap_or_default(),
        _ => serde_json::Value::Null,
    };
    let selected = request.options.field_selector.strip_prefix("metadata.name=");
    let names = [Some(request.name.as_str()), selected, body["metadata"]["name"].as_str(), Some("-")];
    let name = names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or_default();
    let subresource = request.subresource.map_or(String::new(), |s| format!("/{}", s.as_str()));
    let (verb, plural) = (request.verb.as_str(), request.kind.info().plural);
    let mut query = Vec::new();
    if writes && !request.options.field_manager.is_empty() {
        query.push(format!(" fieldManager={}", request.options.field_manager));
        if request.options.field_validation != FieldValidation::default() {
            query.push(format!("fieldValidation={:?}", request.options.field_validation));
        }
    }
    Some(format!("{verb} {plural}{subresource} {name} {code}{}", query.join("&")))
}

/// A recorded command and what it printed.
fn recorded(output: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in output.split_inclusive('\n') {
        match line.split_once("s] $ ").filter(|(time, _)| time.starts_with('[')) {
            Some((_, command)) => commands.push((command.trim_end().to_owned(), String::new())),
            None => commands.last_mut().into_iter().for_each(|(_, text)| text.push_str(line)),
        }
    }
    commands
}

/// The lines that have to agree.
fn comparable(command: &str, text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(mask).filter(|line| !line.is_empty()).collect();
    // The recorded cluster had one more source in each token volume; its name was taken out of the recording.
    let extra = |pair: &[String]| pair[0] == "DownwardAPI: true" && pair[1] == "ConfigMapOptional: <nil>";
    while let Some(i) = lines.windows(2).position(extra) {
        lines.remove(i + 1);
    }
    lines.retain(|line| !line.starts_with("hint: "));
    if command.contains("rollout status") {
        return lines.pop().into_iter().collect();
    }
    if command.contains(" get ") || command.contains(" -l ") {
        lines.sort();
    }
    // Whether an image is there already depends on what the nodes did before.
    let about_images = |line: &String| ["Pulling", "Pulled", "BackOff", "Failed"].iter().any(|w| line.contains(w));
    if command.contains("events") || command.contains("describe pod") {
        lines.retain(|line| !about_images(line));
        lines.dedup();
    }
    lines
}

fn mask(line: &str) -> String {
    if line.trim_end().ends_with("+0000") {
        return format!("{} <time>", line.split(':').next().unwrap_or_default().trim());
    }
    line.split_whitespace().map(mask_word).collect::<Vec<_>>().join(" ")
}

fn mask_word(word: &str) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let bare = word.trim_matches(['(', ')']);
    let age = bare.strip_suffix(['s', 'm', 'h']).is_some_and(|n| n.split(['m', 'h', 's']).all(digits));
    if age {
        return "<age>".to_owned();
    }
    if word.starts_with("containerd://") {
        return "<container>".to_owned();
    }
    if bare.split('.').count() == 4 && bare.split('.').all(digits) {
        return "<ip>".to_owned();
    }
    const SAFE: &str = "bcdfghjklmnpqrstvwxz2456789";
    let generated = |part: &str| {
        part.trim_matches(['"', ':']).len() == 5 && part.trim_matches(['"', ':']).chars().all(|c| SAFE.contains(c))
    };
    let piece = |piece: &str| {
        let parts: Vec<&str> = piece.split('-').collect();
        let masked = parts.iter().enumerate().map(|(i, part)| match i {
            0 => *part,
            _ if generated(part) => "*",
            _ if matches!(parts[0], "node" | "zone") => "N",
            _ => part,
        });
        masked.collect::<Vec<_>>().join("-")
    };
    let mut out: Vec<String> = Vec::new();
    for part in word.split('/') {
        let part = part.split('=').map(|p| p.split(',').map(piece).collect::<Vec<_>>().join(",")).collect::<Vec<_>>();
        out.push(part.join("="));
    }
    if out.len() == 2 && out[0].starts_with("node-") {
        return "node-N/<ip>".to_owned();
    }
    out.join("/")
}

fn differences(name: &str) -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(name);
    let output = std::fs::read_to_string(directory.join("output.txt")).unwrap();
    let mut shell = Shell::new(&directory, &format!("s{}", &name[..2]));
    let mut found = Vec::new();
    let mut recorded = recorded(&output).into_iter().peekable();
    for line in std::fs::read_to_string(directory.join("commands.sh")).unwrap().lines() {
        let mut want = recorded.next().unwrap();
        for _ in line.split(" | ").skip(1) {
            want = recorded.next().unwrap();
        }
        let shown = shell.line(line);
        if std::env::var_os("SHOW").is_some() {
            println!("\n[{}] $ {line}\n{shown}", shell.cluster.engine.now());
        }
        let (want, got) = (comparable(line, &want.1), comparable(line, &shown));
        if want != got {
            let list = |lines: &[String], other: &[String], sign: char| -> String {
                lines.iter().filter(|l| !other.contains(l)).map(|l| format!("  {sign} {l}\n")).collect()
            };
            found.push(format!("$ {line}\n{}{}", list(&want, &got, '-'), list(&got, &want, '+')));
        }
    }
    found.extend(call_differences(&directory, &shell.calls));
    found
}

/// The requests, beside those that the real kubectl sent.
fn call_differences(directory: &Path, calls: &[String]) -> Option<String> {
    // What was asked by default and what was asked by `--validate=warn` look the same here.
    let line = |call: &str| mask(call.trim_end_matches("&fieldValidation=Warn"));
    let recorded = std::fs::read_to_string(directory.join("calls.txt")).unwrap();
    let want: Vec<String> = recorded.lines().map(line).collect();
    let got: Vec<String> = calls.iter().map(|call| line(call)).collect();
    let same = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
    (want != got).then(|| format!("call {same}:\n- {:?}\n+ {:?}", want.get(same), got.get(same)))
}

fn check(name: &str) {
    check_but(name, 0);
}

/// At most `missing` commands may print something else, because a part of the cluster is not there yet.
fn check_but(name: &str, missing: usize) {
    let found = differences(name);
    assert!(found.len() <= missing, "{name}: - recorded, + here\n{}", found.join("\n"));
}

#[test]
fn single_pod() {
    check("01-single-pod");
}

#[test]
fn deployment_create() {
    check("02-deployment-create");
}

#[test]
fn rolling_update() {
    check("04-rolling-update");
}

#[test]
fn bad_rollout_undo() {
    check("05-bad-rollout-undo");
}

#[test]
fn pod_deleted() {
    check("07-pod-deleted");
}

#[test]
fn unschedulable() {
    check("09-unschedulable");
}

#[test]
fn placement() {
    // The controller that evicts Pods from tainted nodes.
    check_but("19-placement", 3);
}

#[test]
fn invalid_requests() {
    // The validation of Pods and Deployments.
    check_but("22-invalid-requests", 5);
}
