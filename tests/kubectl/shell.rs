//! A shell of the few things that the recordings use, over a cluster of its own.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use cluster::scenario::{ImageBehaviour, Scenario};
use cluster::{Cluster, Config, NodeConfig, Parts};
use engine::{Note, Step, What};
use object::Kind;
use wire::{Body, FieldValidation, Verb};

/// A shell.
pub struct Shell {
    /// What it commands.
    pub cluster: Cluster,
    pub directory: PathBuf,
    namespace: String,
    variables: BTreeMap<String, String>,
    /// What kubectl has asked of the API server.
    pub calls: Vec<String>,
}

impl Shell {
    /// A shell in a directory and a new namespace.
    pub fn new(directory: &Path, namespace: &str) -> Shell {
        Shell::of(Cluster::start(Config::default()), directory, namespace)
    }

    /// The same over the cluster of a recording. Its programs were run by a runtime that only plays, so a database needs no
    /// password.
    pub fn of_recording(directory: &Path, namespace: &str) -> Shell {
        let images = BTreeMap::from([("postgres".to_owned(), ImageBehaviour::default())]);
        let scenario = Scenario { images, ..Scenario::default() };
        Shell::of(Cluster::with_parts(&scenario, Parts::default()), directory, namespace)
    }

    fn of(cluster: Cluster, directory: &Path, namespace: &str) -> Shell {
        let (directory, namespace) = (directory.to_owned(), namespace.to_owned());
        let mut shell = Shell { cluster, directory, namespace, variables: BTreeMap::new(), calls: Vec::new() };
        shell.line(&format!("kubectl create namespace {}", shell.namespace));
        shell.line("sleep 1");
        shell.cluster.kubectl.config.set(kubectl::config::Config::new(&shell.namespace));
        shell.calls.clear();
        shell
    }

    /// Runs one line and returns what it showed.
    pub fn line(&mut self, line: &str) -> String {
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
                self.cluster.add_node(&node);
                Default::default()
            }
            "fake-node" if text(1) == "stop" => {
                let node = NodeConfig::numbered(text(2).parse().unwrap());
                self.cluster.stop_node(&node.name);
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
        let mut kubectl = self.cluster.kubectl.clone();
        kubectl.workdir = kubectl.workdir.at(&self.directory);
        kubectl.stdin = stdin.to_owned();
        kubectl = kubectl.apart();
        let (shown, stdout) = (kubectl.output.clone(), kubectl.stdout.clone());
        self.until_done(line, async move {
            kubectl::run(&words, &kubectl).await;
        });
        (shown.take(), stdout.take())
    }

    fn until_done(&mut self, label: &str, command: impl Future<Output = ()> + 'static) {
        let done = Rc::new(Cell::new(false));
        let flag = done.clone();
        self.cluster.run_command(label, async move {
            command.await;
            flag.set(true);
        });
        while !done.get() {
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
    // The recordings leave out what is read of nodes and of classes, and discovery, for which definitions are read here.
    let reads = matches!(request.verb, Verb::Get | Verb::List | Verb::Watch);
    let elsewhere = matches!(request.kind, Kind::Node | Kind::PriorityClass | Kind::CustomResourceDefinition);
    if &*request.user.agent != "user/kubectl" || (elsewhere && reads) {
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
    let writes = matches!(request.verb, Verb::Create | Verb::Update | Verb::Patch);
    if writes && !request.options.field_manager.is_empty() {
        query.push(format!(" fieldManager={}", request.options.field_manager));
        if request.options.field_validation != FieldValidation::default() {
            query.push(format!("fieldValidation={:?}", request.options.field_validation));
        }
    }
    Some(format!("{verb} {plural}{subresource} {name} {code}{}", query.join("&")))
}
