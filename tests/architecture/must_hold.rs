//! What must hold is kept: each bullet of a "Must hold", in a module's essay or in ARCHITECTURE.md, ends with the tests, the
//! properties or the benchmark that would fail without it, and they are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sources;

/// What stands between a bullet and what keeps it.
const KEPT_BY: &str = "Kept by ";

#[test]
fn what_must_hold_is_kept() {
    let essays = sources(Path::new("src"));
    let (tests, properties) = (tests(), properties());
    let is_there = |keeper: &Keeper| match keeper {
        Keeper::Test(name) => tests.contains(name),
        Keeper::Property(sentence) => properties.contains(&format!("\"{sentence}\"")),
        Keeper::Benchmark(name) => Path::new("benches").join(name).with_extension("rs").exists(),
    };
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in essays.into_iter().chain([PathBuf::from("ARCHITECTURE.md")]) {
        let text = fs::read_to_string(&file).expect("a file just listed can be read");
        for bullet in bullets(&text) {
            count += 1;
            let keepers = keepers(&bullet);
            if keepers.is_empty() {
                wrong.push(format!("{}: nothing keeps: {bullet}", file.display()));
            }
            let gone = keepers.iter().filter(|keeper| !is_there(keeper));
            wrong.extend(gone.map(|keeper| format!("{}: there is no {keeper:?}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "only {count} bullets were found");
}

/// What keeps a promise.
#[derive(Debug, PartialEq, Eq)]
enum Keeper {
    /// A function under `#[test]`.
    Test(String),
    /// A property that watches every run, by its sentence.
    Property(String),
    /// What measures that the cost stays.
    Benchmark(String),
}

/// The bullets below each "Must hold" of an essay or a page, a line each. No bullet at all is one that nothing keeps.
fn bullets(text: &str) -> Vec<String> {
    let mut lines = text.lines().map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or_default());
    let lines: Vec<&str> = match text.starts_with("# ") {
        true => text.lines().collect(),
        false => lines.by_ref().take(text.lines().take_while(|line| line.starts_with("//!")).count()).collect(),
    };
    let begins = |line: &str| line.trim_start_matches('#').trim().to_lowercase().contains("must hold");
    let mut found = Vec::new();
    for (at, head) in lines.iter().enumerate() {
        if !begins(head) || !(head.starts_with('#') || head.starts_with("Must hold")) {
            continue;
        }
        let below = lines[at + 1..].iter().skip_while(|line| line.is_empty());
        let bullets: Vec<&&str> = below.take_while(|line| line.starts_with("- ") || line.starts_with("  ")).collect();
        if bullets.is_empty() {
            found.push((*head).to_owned());
        }
        for line in bullets {
            match (line.strip_prefix("- "), found.last_mut()) {
                (None, Some(bullet)) => *bullet += &format!(" {}", line.trim()),
                (begun, _) => found.push(begun.unwrap_or(line).to_owned()),
            }
        }
    }
    found
}

fn keepers(bullet: &str) -> Vec<Keeper> {
    let Some((_, kept_by)) = bullet.rsplit_once(KEPT_BY) else { return Vec::new() };
    let quoted = |quote: char| kept_by.split(quote).skip(1).step_by(2).map(str::to_owned);
    let properties = quoted('"').map(Keeper::Property);
    let is_benchmark = |name: &String| kept_by.contains(&format!("the benchmark `{name}`"));
    let named = quoted('`').map(|name| if is_benchmark(&name) { Keeper::Benchmark(name) } else { Keeper::Test(name) });
    named.chain(properties).collect()
}

/// The names of all tests.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in sources(Path::new("src")).into_iter().chain(sources(Path::new("tests"))) {
        let text = fs::read_to_string(&file).expect("a file just listed can be read");
        for part in text.split("#[test]").skip(1) {
            let name = part.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
            names.extend(name.map(|(name, _)| name.to_owned()));
        }
    }
    names
}

/// The source of all properties, in which their sentences stand.
fn properties() -> String {
    let files = sources(Path::new("src")).into_iter().filter(|file| file.to_string_lossy().contains("/properties"));
    files.map(|file| fs::read_to_string(file).expect("a file just listed can be read")).collect()
}

#[test]
fn a_promise_that_nothing_keeps_is_found() {
    let kept = "//! Must hold:\n//! - One is\n//!   two. Kept by `a_test` and the property \"it holds\".\n//! - No. Kept by the benchmark `b`.\n";
    let found: Vec<Vec<Keeper>> = bullets(kept).iter().map(|bullet| keepers(bullet)).collect();
    let (test, property) = (Keeper::Test("a_test".into()), Keeper::Property("it holds".into()));
    assert_eq!(found, [vec![test, property], vec![Keeper::Benchmark("b".into())]]);
    for text in [
        "//! Must hold: one is two.\n",
        "//! # Must hold\n//!\n//! - One is two.\n",
        "# A page\n## What must hold\n- One\n",
    ] {
        let found = bullets(text);
        assert!(found.len() == 1 && keepers(&found[0]).is_empty(), "{found:?}");
    }
}
