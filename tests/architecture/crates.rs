//! docs/crates.md names every crate that comes from elsewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kubestep_tests::project::enter;

#[test]
fn the_page_of_crates_names_them_all() {
    enter();
    let page = fs::read_to_string("docs/crates.md").expect("there is such a page");
    let row = |line: &str| Some(line.strip_prefix("| `")?.split_once("` |")?.0.to_owned());
    let told: Vec<String> = page.lines().filter_map(row).collect();
    let named: BTreeSet<String> = told.iter().cloned().collect();
    assert_eq!(told.len(), named.len(), "a crate stands there twice: {told:?}");
    let mut used = BTreeSet::new();
    manifests(Path::new("."), &mut |text| used.extend(from_elsewhere(text)));
    assert!(used.contains("serde"), "no manifest was read");
    assert_eq!(named, used, "docs/crates.md, and what the manifests have");
}

/// Has every manifest of the workspace looked at.
fn manifests(folder: &Path, look: &mut impl FnMut(&str)) {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("it can be listed").flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name == "target" || name.starts_with('.') => {}
            true => manifests(&path, look),
            false if name == "Cargo.toml" => look(&fs::read_to_string(&path).expect("it can be read")),
            false => {}
        }
    }
}

/// The crates among a manifest's dependencies that lie in no folder of this repository. What the workspace names for all stands
/// in the first manifest.
fn from_elsewhere(manifest: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut section = "";
    for line in manifest.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if section.ends_with("dependencies")
            && let Some((name, value)) = line.split_once(" = ")
            && !name.ends_with(".workspace")
            && !value.contains("path = ")
        {
            found.insert(name.to_owned());
        }
    }
    found
}
