//! Makes a module of each wrong solution (`solutions/*/mutants.yaml`) and of each other right one (`solutions/*/also`); or,
//! if `KUBESTEP_MUTATIONS` names a folder, of each file in its folders, which have the names of exercises.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[derive(serde::Deserialize)]
struct Mutant {
    find: String,
    replace: String,
}

fn main() {
    let solutions = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo says it")).join("../../solutions");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo says it"));
    println!("cargo::rerun-if-changed={}", solutions.display());
    println!("cargo::rerun-if-env-changed=KUBESTEP_MUTATIONS");
    let given = env::var_os("KUBESTEP_MUTATIONS").map(PathBuf::from);
    given.iter().for_each(|given| println!("cargo::rerun-if-changed={}", given.display()));
    let (mut modules, mut arms) = (String::new(), String::new());
    for folder in sorted(&solutions).into_iter().filter(|folder| folder.is_dir()) {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("folders have names").to_owned();
        let main = fs::read_to_string(folder.join("src/main.rs")).expect("a solution has a main.rs");
        let call = main.lines().find_map(|line| line.trim().strip_suffix(");")).expect("it calls answer");
        let (answer, function) = call.split_once('(').expect("with a function");
        let names: Vec<&str> = function.split(", ").filter_map(|path| path.rsplit("::").next()).collect();
        let texts = match &given {
            Some(given) => files(&given.join(&name)),
            None => texts(&folder),
        };
        for (n, text) in texts.into_iter().enumerate() {
            let module = format!("m{name}_{n}");
            fs::write(out.join(format!("{module}.rs")), text).expect("OUT_DIR can be written");
            let path = out.join(format!("{module}.rs"));
            writeln!(modules, "#[allow(dead_code, unused, clippy::all)]\n#[path = {path:?}]\nmod {module};")
                .expect("a string");
            let functions: Vec<String> = names.iter().map(|name| format!("{module}::{name}")).collect();
            let functions = functions.join(", ");
            writeln!(arms, "        (\"{name}\", {n}) => {answer}({functions}),").expect("a string");
        }
    }
    let run = format!(
        "{modules}\nfn run(name: &str, n: usize) {{\n    match (name, n) {{\n{arms}        _ => panic!(\"no such one\"),\n    }}\n}}\n"
    );
    fs::write(out.join("all.rs"), run).expect("OUT_DIR can be written");
}

/// The mutants of a solution, in order, and then the other right solutions.
fn texts(folder: &Path) -> Vec<String> {
    // A module cannot have attributes of a crate.
    let solution = fs::read_to_string(folder.join("src/lib.rs")).expect("a solution has a lib.rs");
    let mutants = fs::read_to_string(folder.join("mutants.yaml")).expect("a solution has mutants");
    let mutants: Vec<Mutant> = serde_yaml::from_str(&mutants).expect("mutants.yaml is a list");
    let mutated = mutants.iter().map(|mutant| {
        assert_eq!(solution.matches(&mutant.find).count(), 1, "{}: {:?}", folder.display(), mutant.find);
        solution.replacen(&mutant.find, &mutant.replace, 1)
    });
    mutated.chain(files(&folder.join("also"))).collect()
}

/// The files of a folder, if it is there.
fn files(folder: &Path) -> Vec<String> {
    let paths = if folder.exists() { sorted(folder) } else { Vec::new() };
    paths.iter().map(|path| fs::read_to_string(path).expect("it was just listed")).collect()
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    paths
}
