//! Who uses whom within a folder, as `use` lines and paths tell.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

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
    parts.map(|part| part.trim_end_matches(".rs").to_owned()).filter(|part| part != "mod" && part != "lib").collect()
}

fn read(folder: &Path) -> BTreeMap<Name, Module> {
    let files = crate::sources(folder);
    let named = files.iter().map(|file| (name_of(file), file)).filter(|(name, _)| !name.iter().any(|it| it == "tests"));
    let named: Vec<(Name, String)> =
        named.map(|(name, file)| (name, code(&fs::read_to_string(file).expect("a file just listed")))).collect();
    let names: BTreeSet<&Name> = named.iter().map(|(name, _)| name).collect();
    let children = |of: &Name| -> Vec<&str> {
        let children = names.iter().filter(|name| name.len() == of.len() + 1 && name.starts_with(of));
        children.filter_map(|name| name.last()).map(String::as_str).collect()
    };
    named.iter().map(|(name, text)| (name.clone(), module(text, &children(name)))).collect()
}

/// The text without its tests, comments and strings, and without how far something is visible.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let text = &of_inner_modules(text);
    let mut code = String::with_capacity(text.len());
    for line in text.lines() {
        let mut rest = line;
        while let Some(at) = rest.find(['"', '/']) {
            code += &rest[..at];
            rest = &rest[at..];
            if rest.starts_with("//") {
                rest = "";
            } else if let Some(inside) = rest.strip_prefix('"') {
                rest = after_string(inside);
            } else {
                rest = &rest[1..];
            }
        }
        code += rest;
        code.push('\n');
    }
    without_reach(&code)
}

/// In a module that stands in the file itself, `super` is the file's module.
fn of_inner_modules(text: &str) -> String {
    let (mut out, mut inside) = (String::with_capacity(text.len()), false);
    for line in text.lines() {
        inside = inside && line != "}" || line.starts_with("mod ") && line.ends_with(" {");
        let line = if inside { line.replacen("super::", "self::", 1) } else { line.to_owned() };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// `pub(in crate::verbs) fn` uses nothing of that module.
fn without_reach(code: &str) -> String {
    let mut parts = code.split("pub(in ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "pub " + part.split_once(')').map_or(part, |(_, rest)| rest.trim_start()))
}

/// What stands behind the end of a string, if it ends on this line.
fn after_string(inside: &str) -> &str {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            '"' if !escaped => return &inside[at + 1..],
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    ""
}

fn module(text: &str, children: &[&str]) -> Module {
    let (mut paths, mut shown) = (Vec::new(), BTreeMap::new());
    for statement in text.split_inclusive(';') {
        let statement = statement.trim_end_matches(';');
        let Some(line) = statement.rfind("\nuse ").map(|at| at + 1).or_else(|| public_use(statement)) else {
            paths.extend(named(statement).filter(|path| is_local(path, children)));
            continue;
        };
        paths.extend(named(&statement[..line]).filter(|path| is_local(path, children)));
        let (before, tree) = statement[line..].split_once("use ").unwrap_or_default();
        for (path, name) in leaves(&[], tree) {
            if !before.is_empty() {
                shown.insert(name, path.clone());
            }
            paths.push(path);
        }
    }
    Module { paths, shown }
}

/// Where a `pub use` begins.
fn public_use(statement: &str) -> Option<usize> {
    let line = statement.rfind("\npub").map(|at| at + 1)?;
    let shown = statement[line..].split_once(" use ").or_else(|| statement[line..].split_once("use "))?;
    (!shown.0.contains('\n')).then_some(line)
}

fn is_local(path: &Name, children: &[&str]) -> bool {
    ["crate", "super", "self"].contains(&path[0].as_str()) || children.contains(&path[0].as_str())
}

/// The paths of at least two names.
fn named(text: &str) -> impl Iterator<Item = Name> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':' || c == '.'));
    let paths = words.filter(|word| word.contains("::") && !word.starts_with([':', '.']));
    paths.map(|word| word.split("::").map(|part| part.trim_matches([':', '.']).to_owned()).collect())
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
        "crate" => Some([root.as_slice(), &path[1..]].concat()),
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
fn resolve<'a>(modules: &'a BTreeMap<Name, Module>, root: &Name, path: &[String], depth: usize) -> Option<&'a Name> {
    let at =
        (root.len()..=path.len()).rev().find(|len| path.starts_with(root) && modules.contains_key(&path[..*len]))?;
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
