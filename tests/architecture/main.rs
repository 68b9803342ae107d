//! The floors of the house: a module may use only those below its own, and components never use one another.
//! ARCHITECTURE.md says the same in words.

use std::fs;
use std::path::{Path, PathBuf};

use kubestep_tests::project::enter;

mod must_hold;
mod spelling;

/// From the ground up.
const FLOORS: &[&[&str]] = &[
    &["object"],
    &["wire"],
    &["engine"],
    &["client"],
    // Components, and the client that people use, side by side: none may use another.
    &["controllers", "scheduler", "node", "kubectl"],
    &["cluster"],
    &["bugs"],
    &["debugger"],
    // The session's language; the faces speak it.
    &["stepper"],
    // What a learner's program has, and all that it has.
    &["exercise"],
    &["lab"],
    &["cli"],
    &["book"],
];

/// What components may name of the API server: libraries that they have in common with it and that look at nothing but what
/// they are handed. A kubelet reads manifests of its own.
const APISERVER_FOR_COMPONENTS: &[&str] = &["defaults", "validation"];

/// The same for kubectl: what a real one is built from too, or would be told. Tables come from the server's printers, paths and
/// discovery from its rows, and `auth reconcile` compares rules as the server does.
const APISERVER_FOR_KUBECTL: &[&str] =
    &["request", "watch", "validation", "printers", "rest", "non_resource", "authorization"];

#[test]
fn modules_use_only_floors_below() {
    let mut wrong = Vec::new();
    for file in sources(Path::new("src")) {
        let Some((module, floor)) = place_of(&file) else { continue };
        let text = fs::read_to_string(&file).expect("a file just listed can be read");
        for (line, used) in uses(&text) {
            let Some(other) = FLOORS.iter().position(|modules| modules.contains(&used.0.as_str())) else { continue };
            let beside = other == floor && used.0 != module;
            let hidden = floor == 7 && used.0 == "apiserver" && !APISERVER_FOR_COMPONENTS.contains(&used.1.as_str());
            let store = used.0 == "store" && floor > 6 && !(module == "cli" || module == "debugger");
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
const REMEMBERING: &[&str] = &["client", "controllers", "scheduler", "node", "kubectl", "cluster"];
const WITHIN_A_STEP: &[&str] = &["src/node/kubelet/sync.rs"];

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
    "object",
    "wire",
    "store",
    "rules",
    "apiserver",
    "engine",
    "client",
    "controllers",
    "scheduler",
    "node",
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

/// That no code of these modules but their tests has one of these words, and that each file in `but_for` needs to be there.
fn assert_absent(modules: &[&str], words: &[&str], but_for: &[&str], why: &str) {
    let (mut wrong, mut needed) = (Vec::new(), Vec::new());
    for file in sources(Path::new("src")) {
        let Some((module, _)) = place_of(&file) else { continue };
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
    enter();
    let named = |manifest: &Path| -> Vec<String> {
        let text = fs::read_to_string(manifest).expect("a crate has a manifest");
        let names = text.lines().filter_map(|line| line.split_once([' ', '.', '=']));
        names.map(|(name, _)| name.to_owned()).filter(|name| name.starts_with("kubestep")).collect()
    };
    assert_eq!(named(Path::new("src/exercise/Cargo.toml")), ["kubestep-machinery"]);
    for folder in ["exercises", "solutions"] {
        assert_eq!(named(&Path::new(folder).join("Cargo.toml")), ["kubestep-exercise"], "{folder}");
    }
}

/// How many files of a folder may use one another in a circle, at most, by their imports. Some types are spread over several
/// files, which then do. A number only falls.
const CIRCLES: &[(&str, usize)] = &[
    ("src/object", 6),
    ("src/wire", 1),
    ("src/rules", 2),
    ("src/apiserver", 3),
    ("src/engine", 8),
    ("src/client", 1),
    ("src/controllers", 4),
    ("src/scheduler", 12),
    ("src/node", 29),
    ("src/cluster", 92),
    ("src/bugs", 11),
    ("src/debugger", 13),
    ("src/exercise", 1),
    ("src/lab", 43),
    ("src/cli", 17),
];

#[test]
fn files_use_one_another_in_small_circles_only() {
    let mut wrong = Vec::new();
    for (folder, most) in CIRCLES {
        if !Path::new(folder).is_dir() {
            wrong.push(format!("{folder}: there is no such folder any more"));
            continue;
        }
        let largest = imports::circles(Path::new(folder)).into_iter().max_by_key(Vec::len).unwrap_or_default();
        if largest.len() > *most {
            let (count, names) = (largest.len(), largest.join(" "));
            wrong.push(format!("{folder}: {count} files use one another in a circle, {most} at most may: {names}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Who uses whom, as `use` lines and paths tell.
mod imports {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    use regex::Regex;

    /// A module's names from the crate's root on: `["apiserver", "pipeline"]`.
    type Name = Vec<String>;

    /// What a file says.
    struct Module {
        /// The paths that it names, as they stand there.
        paths: Vec<Name>,
        /// What it shows under names of its own: `pub use`.
        shown: BTreeMap<String, Name>,
    }

    /// The circles of files of a folder, each by the files' modules.
    pub fn circles(folder: &Path) -> Vec<Vec<String>> {
        let modules = read(folder);
        let root = name_of(folder);
        let edges: BTreeMap<&Name, BTreeSet<&Name>> = modules
            .iter()
            .map(|(name, module)| {
                let used = module
                    .paths
                    .iter()
                    .filter_map(|path| resolve(&modules, &root, &absolute(&root, name, path, &modules)?, 0));
                (name, used.filter(|used| *used != name).collect())
            })
            .collect();
        components(&edges)
    }

    fn name_of(path: &Path) -> Name {
        let parts = path.strip_prefix("src").unwrap_or(path).iter().map(|part| part.to_string_lossy());
        parts
            .map(|part| part.trim_end_matches(".rs").to_owned())
            .filter(|part| part != "mod" && part != "lib")
            .collect()
    }

    fn read(folder: &Path) -> BTreeMap<Name, Module> {
        let files = super::sources(folder);
        let named =
            files.iter().map(|file| (name_of(file), file)).filter(|(name, _)| !name.iter().any(|it| it == "tests"));
        let named: Vec<(Name, String)> =
            named.map(|(name, file)| (name, code(&fs::read_to_string(file).expect("a file just listed")))).collect();
        let names: BTreeSet<&Name> = named.iter().map(|(name, _)| name).collect();
        let children = |of: &Name| -> Vec<&str> {
            let children = names.iter().filter(|name| name.len() == of.len() + 1 && name.starts_with(of));
            children.filter_map(|name| name.last()).map(String::as_str).collect()
        };
        named.iter().map(|(name, text)| (name.clone(), module(text, &children(name)))).collect()
    }

    /// The text without its tests, comments and strings.
    fn code(text: &str) -> String {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let strings = Regex::new(r#""(?:\\.|[^"\\])*""#).expect("a pattern");
        let rest = Regex::new(r"//[^\n]*|pub\(in [^)]*\)").expect("a pattern");
        rest.replace_all(&strings.replace_all(text, "\"\""), "").into_owned()
    }

    fn module(text: &str, children: &[&str]) -> Module {
        let uses = Regex::new(r"(?m)^[ ]*(pub(?:\([a-z]+\))? +)?use +([^;]+);").expect("a pattern");
        let (mut paths, mut shown) = (Vec::new(), BTreeMap::new());
        for found in uses.captures_iter(text) {
            for (path, name) in leaves(&[], &found[2]) {
                if found.get(1).is_some() {
                    shown.insert(name, path.clone());
                }
                paths.push(path);
            }
        }
        let named = Regex::new(r"(?:^|[^\w:.])(\w+(?:::\w+)+)").expect("a pattern");
        for found in named.captures_iter(&uses.replace_all(text, "")) {
            let path: Name = found[1].split("::").map(str::to_owned).collect();
            if ["crate", "super", "self"].contains(&path[0].as_str()) || children.contains(&path[0].as_str()) {
                paths.push(path);
            }
        }
        Module { paths, shown }
    }

    /// The paths of a tree of `use`, and the names that they get.
    fn leaves(before: &[String], tree: &str) -> Vec<(Name, String)> {
        let tree = tree.trim();
        let (head, rest) = tree.split_once('{').map_or((tree, None), |(head, rest)| (head, rest.strip_suffix('}')));
        let (head, alias) = head.split_once(" as ").map_or((head, None), |(head, alias)| (head, Some(alias.trim())));
        let mut path = before.to_vec();
        path.extend(head.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned));
        if let Some(rest) = rest {
            return parts(rest).into_iter().flat_map(|part| leaves(&path, part)).collect();
        }
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = alias.or(path.last().map(String::as_str)).unwrap_or_default().to_owned();
        vec![(path, name)]
    }

    /// Splits at commas outside braces.
    fn parts(text: &str) -> Vec<&str> {
        let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
        for (at, c) in text.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(&text[from..at]);
                    from = at + 1;
                }
                _ => {}
            }
        }
        parts.push(&text[from..]);
        parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
    }

    /// A path from the crate's root on, if it is one of this crate.
    fn absolute(root: &Name, module: &Name, path: &[String], modules: &BTreeMap<Name, Module>) -> Option<Name> {
        let child = || [module.as_slice(), &path[..1]].concat();
        match path.first()?.as_str() {
            // In a folder that is a crate, `crate` is the folder.
            "crate" => {
                let inside = [root.as_slice(), path.get(1..2)?].concat();
                Some(if modules.contains_key(&inside) { [root, &path[1..]].concat() } else { path[1..].to_vec() })
            }
            "self" => Some([module.as_slice(), &path[1..]].concat()),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                Some([module.get(..module.len().checked_sub(ups)?)?, &path[ups..]].concat())
            }
            _ if modules.contains_key(&child()) => Some([module.as_slice(), path].concat()),
            _ => None,
        }
    }

    /// The module in which what a path names is at home.
    fn resolve<'a>(
        modules: &'a BTreeMap<Name, Module>,
        root: &Name,
        path: &[String],
        depth: usize,
    ) -> Option<&'a Name> {
        let at = (root.len()..=path.len())
            .rev()
            .find(|len| path.starts_with(root) && modules.contains_key(&path[..*len]))?;
        let (name, module) = modules.get_key_value(&path[..at])?;
        let Some(shown) = path.get(at).and_then(|next| module.shown.get(next)).filter(|_| depth < 5) else {
            return Some(name);
        };
        match absolute(root, name, shown, modules) {
            Some(path) if !path.starts_with(root) => None,
            Some(shown) => resolve(modules, root, &[shown.as_slice(), &path[at + 1..]].concat(), depth + 1),
            None => Some(name),
        }
    }

    /// The sets of more than one module that can all be reached from each other.
    fn components(edges: &BTreeMap<&Name, BTreeSet<&Name>>) -> Vec<Vec<String>> {
        let reach = |from: &Name| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(name) = next.pop() {
                for used in edges.get(name).into_iter().flatten() {
                    if seen.insert(*used) {
                        next.push(used);
                    }
                }
            }
            seen
        };
        let reached: BTreeMap<&Name, BTreeSet<&Name>> = edges.keys().map(|name| (*name, reach(name))).collect();
        let circle = |name: &Name| -> Vec<String> {
            let back = |other: &&&Name| reached.get(**other).is_some_and(|from| from.contains(name));
            reached[name].iter().filter(back).map(|other| other.join("::")).collect()
        };
        let circles: BTreeSet<Vec<String>> = edges.keys().map(|name| circle(name)).filter(|it| it.len() > 1).collect();
        circles.into_iter().collect()
    }
}
