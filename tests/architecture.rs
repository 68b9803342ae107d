//! The floors of the house: a module may use only those below its own, and components never use one another.
//! ARCHITECTURE.md says the same in words.

use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up.
const FLOORS: &[&[&str]] = &[
    &["object"],
    &["store"],
    &["apiserver"],
    &["engine"],
    &["client"],
    // Components, side by side: none may use another, but for those of one node.
    &["controllers", "scheduler", "network", "userland", "kubelet"],
    &["cluster"],
    &["bugs"],
    &["debugger"],
    // What a learner's program has, and all that it has.
    &["exercise"],
    &["lab"],
    &["cli"],
    &["book"],
];

/// What runs on a node stands on what the machine has: programs on the network, and the kubelet's runtime on both.
const ON_A_NODE: &[(&str, &str)] = &[("userland", "network"), ("kubelet", "network"), ("kubelet", "userland")];

/// What components may name of the API server: the shape of requests and watch events, nothing behind them; and libraries that
/// they have in common with it and that look at nothing but what they are handed: a kubelet reads manifests of its own.
const APISERVER_FOR_COMPONENTS: &[&str] = &["request", "watch", "type_checking", "defaults", "validation"];

#[test]
fn modules_use_only_floors_below() {
    let mut wrong = Vec::new();
    for file in sources(Path::new("src")) {
        let Some((module, floor)) = place_of(&file) else { continue };
        let text = fs::read_to_string(&file).expect("a file just listed can be read");
        for (line, used) in uses(&text) {
            let Some(other) = FLOORS.iter().position(|modules| modules.contains(&used.0.as_str())) else { continue };
            let beside = other == floor && used.0 != module && !ON_A_NODE.contains(&(&module, &used.0));
            let hidden = floor == 5 && used.0 == "apiserver" && !APISERVER_FOR_COMPONENTS.contains(&used.1.as_str());
            let store =
                used.0 == "store" && floor > 2 && !(module == "cli" || module == "debugger" || module == "engine");
            if other > floor || beside || hidden || store {
                wrong.push(format!("{}:{line}: {module} may not use {}::{}", file.display(), used.0, used.1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_faces_print() {
    let mut wrong = Vec::new();
    for file in sources(Path::new("src")) {
        let Some((module, _)) = place_of(&file) else { continue };
        if ["cli", "book", "lab", "exercise"].contains(&module.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a file just listed can be read");
        for (n, line) in (1..).zip(text.lines()) {
            if ["println!(", "eprintln!(", "print!(", "dbg!("].iter().any(|word| line.trim_start().starts_with(word)) {
                wrong.push(format!("{}:{n}: {module} prints", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Floors whose state is saved with the world, and the files in which a cell lives no longer than a step.
const REMEMBERING: &[&str] = &["client", "controllers", "scheduler", "network", "userland", "kubelet", "cluster"];
const WITHIN_A_STEP: &[&str] = &["src/kubelet/sync.rs"];

#[test]
fn what_components_remember_can_be_saved() {
    let (mut wrong, mut within_a_step) = (Vec::new(), Vec::new());
    for file in sources(Path::new("src")) {
        let Some((module, _)) = place_of(&file) else { continue };
        if !REMEMBERING.contains(&module.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a file just listed can be read");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let has_cell = |line: &str| line.contains("RefCell") || line.contains("Cell<") || line.contains("Cell::new");
        let cells = (1..).zip(code.lines()).filter(|(_, line)| has_cell(line)).map(|(n, _)| n);
        match WITHIN_A_STEP.iter().find(|path| file == Path::new(path)) {
            Some(path) => within_a_step.extend(cells.map(|_| *path)),
            None => wrong.extend(cells.map(|n| {
                format!("{}:{n}: what is remembered between steps sits in an engine::Memory", file.display())
            })),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    within_a_step.dedup();
    assert_eq!(within_a_step, WITHIN_A_STEP, "an exception is a file that needs it");
}

/// Where time and chance must come from the engine, and the one file with a thread: that lives no longer than a call, which
/// waits for it, and has a deeper stack.
const WITHOUT_THREADS: &[&str] = &[
    "object", "store", "apiserver", "engine", "client", "controllers", "scheduler", "network", "userland", "kubelet",
    "cluster", "bugs",
];
const DEEP_STACK: &str = "src/apiserver/cel/parse.rs";

#[test]
fn the_core_has_no_threads_and_asks_no_environment() {
    let mut wrong = Vec::new();
    for file in sources(Path::new("src")) {
        let Some((module, _)) = place_of(&file) else { continue };
        let is_test = file.file_stem().is_some_and(|stem| stem == "tests");
        if !WITHOUT_THREADS.contains(&module.as_str()) || is_test || file == Path::new(DEEP_STACK) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a file just listed can be read");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (n, line) in (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if ["std::thread", "thread::spawn", "thread::scope", "std::env"].iter().any(|word| line.contains(word)) {
                wrong.push(format!("{}:{n}: the core knows no thread and no environment", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).expect("tests run in the project's folder");
    for path in entries.map(|entry| entry.expect("a folder can be listed").path()) {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The module that a file belongs to, and its floor.
fn place_of(file: &Path) -> Option<(String, usize)> {
    let module = file.strip_prefix("src").ok()?.iter().next()?.to_str()?.trim_end_matches(".rs").to_owned();
    let floor = FLOORS.iter().position(|modules| modules.contains(&module.as_str()))?;
    Some((module, floor))
}

/// Only a crate's root names another crate: whoever reads a file elsewhere finds `crate::` and a floor.
#[test]
fn crates_are_joined_at_their_roots() {
    let mut wrong = Vec::new();
    for file in sources(Path::new("src")) {
        let text = fs::read_to_string(&file).expect("a file just listed can be read");
        let root = file.file_name().is_some_and(|name| name == "lib.rs" || name == "main.rs");
        for (n, line) in (1..).zip(text.lines()) {
            let code = || line.split('"').step_by(2);
            if !root && !line.trim_start().starts_with("//") && code().any(|part| part.contains("kubestep_")) {
                wrong.push(format!("{}:{n}: name the floor, as crate::…", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each `crate::module::part` of a file, with its line. Documentation may name what code may not.
fn uses(text: &str) -> Vec<(usize, (String, String))> {
    let mut found = Vec::new();
    for (n, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for rest in line.split("crate::").skip(1) {
            let mut parts =
                rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next().unwrap_or("").split("::");
            let (module, part) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
            found.push((n, (module.to_owned(), part.to_owned())));
        }
    }
    found
}

/// A learner's program cannot ask the cluster what is right: it has the machinery's objects, and through one crate only.
#[test]
fn a_learners_program_has_no_cluster_in_it() {
    let named = |manifest: &Path| -> Vec<String> {
        let text = fs::read_to_string(manifest).expect("a crate has a manifest");
        let names = text.lines().filter_map(|line| line.split_once([' ', '.', '=']));
        names.map(|(name, _)| name.to_owned()).filter(|name| name.starts_with("kubestep")).collect()
    };
    assert_eq!(named(Path::new("src/exercise/Cargo.toml")), ["kubestep-machinery"]);
    let mut count = 0;
    for folder in ["exercises", "solutions"] {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let manifest = entry.expect("a folder can be listed").path().join("Cargo.toml");
            if manifest.exists() {
                assert_eq!(named(&manifest), ["kubestep-exercise"], "{}", manifest.display());
                count += 1;
            }
        }
    }
    assert!(count > 0);
}
