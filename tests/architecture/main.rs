//! What the house promises and cargo cannot keep: cargo sees to it that a crate uses only those it names. ARCHITECTURE.md is
//! the map; the picture of the crates in it is drawn here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kubestep_tests::project::enter;

mod crates;
mod imports;
mod must_hold;
mod pod_volumes;
mod spelling;

/// Where the picture begins in ARCHITECTURE.md, and where it ends.
const PICTURE: (&str, &str) = ("<!-- who uses whom: drawn by tests/architecture -->\n```\n", "```\n");

/// The crates from the ground up, a line each with those that it uses. `KUBESTEP_BLESS=1` draws it anew.
#[test]
fn the_picture_of_the_crates_is_as_they_are() {
    enter();
    let text = fs::read_to_string("ARCHITECTURE.md").expect("there is a map");
    let (before, rest) = text.split_once(PICTURE.0).expect("the map has a picture");
    let (drawn, after) = rest.split_once(PICTURE.1).expect("the picture ends");
    let now = picture();
    if std::env::var_os("KUBESTEP_BLESS").is_some() {
        let text = [before, PICTURE.0, &now, PICTURE.1, after].concat();
        fs::write("ARCHITECTURE.md", text).expect("it can be written");
    } else {
        assert_eq!(drawn, now, "KUBESTEP_BLESS=1 draws it anew");
    }
}

fn picture() -> String {
    let folders = fs::read_dir("src").expect("the crates are there").flatten().map(|entry| entry.path());
    let mut left: BTreeMap<String, Vec<String>> = folders
        .filter_map(|folder| Some((folder.file_name()?.to_str()?.to_owned(), used(&folder.join("Cargo.toml"))?)))
        .collect();
    left.insert("cli".to_owned(), used(Path::new("Cargo.toml")).expect("the program has a manifest"));
    let mut lines = String::new();
    while !left.is_empty() {
        let stands = |used: &Vec<String>| !used.iter().any(|one| left.contains_key(one));
        let floor: Vec<String> = left.iter().filter(|(_, used)| stands(used)).map(|(name, _)| name.clone()).collect();
        assert!(!floor.is_empty(), "crates use one another in a circle");
        for name in floor {
            let used = left.remove(&name).unwrap_or_default().join(" ");
            lines += format!("{name:<12} {used}").trim_end();
            lines.push('\n');
        }
    }
    lines
}

/// The crates of the house among a manifest's dependencies.
fn used(manifest: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(manifest).ok()?;
    let section = text.split("\n[").find_map(|part| part.strip_prefix("dependencies]\n"))?;
    let names = section.lines().filter_map(|line| line.strip_suffix(".workspace = true"));
    let own = names.filter(|name| Path::new("src").join(name).join("Cargo.toml").exists());
    let mut names: Vec<String> = own.map(str::to_owned).collect();
    names.extend(section.lines().filter(|line| line.starts_with("kubestep = ")).map(|_| "cli".to_owned()));
    Some(names)
}

/// The sentence of the house: everybody stands around the wire, and goes through no other.
#[test]
fn components_and_the_api_server_know_the_wire_and_not_each_other() {
    enter();
    const AROUND: &[&str] =
        &["apiserver", "controllers", "scheduler", "kubelet", "network", "userland", "kubectl", "engine"];
    /// What runs on a node is in three crates.
    const MAY: &[(&str, &str)] = &[("kubelet", "network"), ("kubelet", "userland"), ("userland", "network")];
    for name in AROUND {
        for other in used(&Path::new("src").join(name).join("Cargo.toml")).expect("it is a crate") {
            let may = other == "engine" || MAY.contains(&(name, other.as_str()));
            assert!(may || !AROUND.contains(&other.as_str()), "{name} may not use {other}");
        }
    }
}

#[test]
fn only_faces_print() {
    let mut wrong = Vec::new();
    for file in sources(Path::new("src")) {
        let module = crate_of(&file);
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

/// In the network, what writes rules never sees a packet, and what moves packets never sees what the rules are for.
#[test]
fn rules_and_packets_know_nothing_of_each_other() {
    const APART: &[(&str, &[&str])] = &[
        ("kernel", &["proxy::", "policy::", "core::Service", "EndpointSlice", "NetworkPolicy"]),
        ("netfilter", &["proxy::", "policy::", "core::Service", "EndpointSlice", "NetworkPolicy"]),
        ("proxy", &["kernel::", "Packet"]),
        ("policy", &["kernel::", "Packet"]),
    ];
    enter();
    let mut wrong = Vec::new();
    for (folder, words) in APART {
        let files = sources(&Path::new("src/network").join(folder));
        for file in files.iter().filter(|file| file.file_stem().is_none_or(|stem| stem != "tests")) {
            let text = fs::read_to_string(file).expect("a file just listed can be read");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let seen = code.filter(|line| words.iter().any(|word| line.contains(word)));
            wrong.extend(seen.map(|line| format!("{}: {}", file.display(), line.trim())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Floors whose state is saved with the world, and the files in which a cell lives no longer than a step.
const REMEMBERING: &[&str] =
    &["client", "controllers", "scheduler", "network", "userland", "kubelet", "kubectl", "cluster"];
const WITHIN_A_STEP: &[&str] = &["src/kubelet/sync.rs"];

#[test]
fn what_components_remember_can_be_saved() {
    let (mut wrong, mut within_a_step) = (Vec::new(), Vec::new());
    for file in sources(Path::new("src")) {
        let module = crate_of(&file);
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
    "object",
    "wire",
    "engine",
    "client",
    "rules",
    "kinds",
    "rest",
    "apiserver",
    "controllers",
    "scheduler",
    "network",
    "userland",
    "kubelet",
    "cluster",
    "bugs",
];
const DEEP_STACK: &str = "src/rules/cel/parse.rs";

#[test]
fn the_core_has_no_threads_and_asks_no_environment() {
    let words = ["std::thread", "thread::spawn", "thread::scope", "std::env"];
    assert_absent(WITHOUT_THREADS, &words, &[DEEP_STACK], "the core knows no thread and no environment");
}

/// What a page runs too, compiled to WebAssembly, where there is none of this.
const ON_A_PAGE: &[&str] = &["bugs", "debugger", "stepper"];
const NOT_ON_A_PAGE: &[&str] = &[
    "std::fs",
    "std::thread",
    "thread::s",
    "std::process",
    "std::net::Tcp",
    "std::net::Udp",
    "std::env::",
    "std::time::Instant",
    "SystemTime",
    "stdin()",
    "stdout()",
    "stderr()",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "crossterm",
    "dialoguer",
    "indicatif",
    "ratatui",
    "Term::std",
    "{Term",
    "console::Term",
];
/// The explorer of delivery orders has as many threads as it is given, and with one it starts none.
const WITH_THREADS: &str = "src/debugger/explore/workers.rs";

#[test]
fn what_runs_on_a_page_has_no_terminal_files_or_threads() {
    assert_absent(ON_A_PAGE, NOT_ON_A_PAGE, &[WITH_THREADS], "a page has nothing of the kind");
}

/// Where texts leave the program past the filter that takes commands to the terminal out of them: JSON escapes them, mdBook is no
/// terminal, an editor has it for itself, and the full screen sets it up.
const PAST_THE_FILTER: &[&str] = &[
    "src/book/command.rs",
    "src/cli/editor.rs",
    "src/cli/json.rs",
    "src/cli/out.rs",
    "src/cli/tui/guard.rs",
    "src/cli/tui/screen.rs",
];

#[test]
fn texts_leave_by_one_filter() {
    let words = ["println!(", "print!(", "io::stdout()", "io::stderr()"];
    let (mut wrong, mut needed) = (Vec::new(), Vec::new());
    let faces = ["src/cli", "src/book", "tests/grade"].map(|folder| sources(Path::new(folder)));
    for file in faces.into_iter().flatten() {
        let text = fs::read_to_string(&file).expect("a file just listed can be read");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let prints = |line: &&str| words.iter().any(|word| line.contains(word)) && !line.contains("is_terminal()");
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")).filter(prints) {
            match PAST_THE_FILTER.iter().find(|path| file == Path::new(path)) {
                Some(path) => needed.push(*path),
                None => wrong.push(format!("{}: {line}", file.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "write to cli::out instead:\n{}", wrong.join("\n"));
    assert!(
        PAST_THE_FILTER.iter().all(|path| needed.contains(path)),
        "an exception is a file that needs it: {needed:?}"
    );
}

/// That no code of these modules but their tests has one of these words, and that each file in `but_for` needs to be there.
fn assert_absent(modules: &[&str], words: &[&str], but_for: &[&str], why: &str) {
    let (mut wrong, mut needed) = (Vec::new(), Vec::new());
    for file in sources(Path::new("src")) {
        let module = crate_of(&file);
        if !modules.contains(&module.as_str()) || file.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a file just listed can be read");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (n, line) in (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if !words.iter().any(|word| line.contains(word)) {
                continue;
            }
            match but_for.iter().find(|path| file == Path::new(path)) {
                Some(path) => needed.push(*path),
                None => wrong.push(format!("{}:{n}: {why}", file.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(but_for.iter().all(|path| needed.contains(path)), "an exception is a file that needs it: {needed:?}");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    enter();
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

/// The crate that a file belongs to, by its folder.
fn crate_of(file: &Path) -> String {
    let folder = file.strip_prefix("src").ok().and_then(|inside| inside.iter().next());
    folder.map_or_else(String::new, |folder| folder.to_string_lossy().trim_end_matches(".rs").to_owned())
}

/// A learner's program cannot ask the cluster what is right: it has the objects, and through one crate only.
#[test]
fn a_learners_program_has_no_cluster_in_it() {
    enter();
    assert_eq!(used(Path::new("src/exercise/Cargo.toml")), Some(vec!["object".to_owned()]));
    for folder in ["exercises", "solutions"] {
        let text = fs::read_to_string(Path::new(folder).join("Cargo.toml")).expect("a crate has a manifest");
        let ours: Vec<&str> = text.lines().filter(|line| line.contains("path = \"../")).collect();
        assert!(matches!(ours.as_slice(), [one] if one.starts_with("kubestep-exercise ")), "{folder}: {ours:?}");
    }
}

/// How many files of a folder may use one another in a circle, at most, by their imports. Some types are spread over several
/// files, which then do. A number only falls.
const CIRCLES: &[(&str, usize)] = &[
    ("src/object", 8),
    ("src/wire", 1),
    ("src/engine", 5),
    ("src/client", 1),
    ("src/rules", 2),
    ("src/kinds", 2),
    ("src/rest", 1),
    ("src/apiserver", 6),
    ("src/controllers", 4),
    ("src/scheduler", 12),
    ("src/network", 3),
    ("src/userland", 3),
    ("src/kubelet", 1),
    ("src/kubectl", 3),
    ("src/cluster", 12),
    ("src/bugs", 11),
    ("src/debugger", 13),
    ("src/stepper", 16),
    ("src/exercise", 1),
    ("src/lab", 8),
    ("src/cli", 4),
];

#[test]
fn files_use_one_another_in_small_circles_only() {
    enter();
    let mut wrong = Vec::new();
    for (folder, most) in CIRCLES {
        let largest = imports::circles(Path::new(folder)).into_iter().max_by_key(Vec::len).unwrap_or_default();
        if largest.len().max(1) > *most {
            let (count, files) = (largest.len(), largest.join(" "));
            wrong.push(format!("{folder}: {count} files use one another in a circle, {most} at most may: {files}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
