//! Words: the pages are spelt as the dictionary has it, or as `book/words.txt` does, and free of the phrases in
//! `book/phrases.txt`.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kubestep_tests::project::from_root;
use kubestep_tests::skip;

/// Words that are right and in no dictionary, a line each.
const WORDS: &str = "book/words.txt";

/// Phrases that must not come back, a line each: `phrase: what to write instead`.
const PHRASES: &str = "book/phrases.txt";

/// What is free of those phrases beside the pages of the book.
const FREE_OF_PHRASES: [&str; 6] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/crates.md", "docs/json.md", "docs/mutations.md"];

/// What of a scenario is read: everything under these keys.
const OF_A_SCENARIO: [&str; 6] = ["title", "story", "text", "hints", "explanation", "why"];

/// Blocks in which readers find sentences too.
const READ: &[&str] = &["scene", "quiz", "diagram", "code"];

/// How many letters around a phrase a report shows.
const AROUND: usize = 40;

#[test]
fn words_are_spelt_right() {
    let known = fs::read_to_string(from_root(WORDS)).expect("the list is there");
    let known: BTreeSet<&str> = known.lines().filter(|line| !line.starts_with('#')).collect();
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page just listed can be read");
        let Some(unknown) = unknown(&prose(&text)) else { return };
        let unknown = unknown.iter().filter(|word| !known.contains(word.trim_end_matches("'s")));
        wrong.extend(unknown.map(|word| format!("{}: {word}", page.display())));
    }
    assert!(wrong.is_empty(), "misspelt, or missing in {WORDS}:\n{}", wrong.join("\n"));
}

#[test]
fn a_wrong_word_is_found() {
    let text = "A *deploiment*, and [its](deploimint.md) `deploymant`.\n```\ndeplayment\n```\n";
    if let Some(unknown) = unknown(&prose(text)) {
        assert_eq!(unknown, BTreeSet::from(["deploiment".to_owned()]));
    }
}

#[test]
fn phrases_do_not_come_back() {
    let list = fs::read_to_string(from_root(PHRASES)).expect("the list is there");
    let phrases: Vec<(&str, &str)> = list
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once(": ").expect("a phrase, a colon, what to write instead"))
        .collect();
    assert!(phrases.is_sorted(), "{PHRASES} is sorted");
    let mut found = Vec::new();
    let read = |path: &PathBuf| fs::read_to_string(path).expect("a file just listed can be read");
    let pages = markdown("book/src").into_iter().chain(FREE_OF_PHRASES.map(from_root));
    let mut texts: Vec<(PathBuf, String)> = pages.map(|path| (path.clone(), read(&path))).collect();
    texts.extend(files("scenarios", "yaml").into_iter().map(|path| (path.clone(), told(&path, &read(&path)))));
    texts.extend(files("exercises", "stub.rs").into_iter().map(|path| (path.clone(), comments(&read(&path)))));
    assert!(texts.len() > 150, "only {} texts were found", texts.len());
    for (page, text) in texts {
        let text = sentences(&text);
        for &(phrase, instead) in &phrases {
            let places = places(&text, phrase).into_iter();
            found.extend(places.map(|place| format!("{}: {place:?}: write: {instead}", page.display())));
        }
    }
    assert!(found.is_empty(), "phrases of {PHRASES}:\n{}", found.join("\n"));
}

#[test]
fn a_phrase_is_found_where_it_is_read() {
    let text = "# The *Walk*\nIt is what\nis there. Somebody's `nobody` boardwalks.\n\n```sh\nnobody\n```\n\
                ```quiz title=\"Nobody asks\"\nwhy: The walk ends.\n```\n";
    let text = sentences(text);
    let count = |phrase| places(&text, phrase).len();
    assert_eq!(["the walk", "what is there", "somebody", "nobody", "walks"].map(count), [2, 1, 1, 1, 0], "{text}");
    let scenario = "title: Nobody\nfiles: {a: {text: whoever}}\ntour:\n  - until: anew\n    text: Somebody\n";
    assert_eq!(told(Path::new("a.yaml"), scenario), "Nobody\n\nSomebody\n\n");
    assert_eq!(comments("//! Whoever\nfn a() {} // x\n    // anew\n"), "Whoever\nanew\n");
}

/// Every sentence of a page in lower case, those in scenes and quizzes too, with one blank between words.
fn sentences(text: &str) -> String {
    let text = without(&without(&readable(text, READ), "](", ")"), "`", "`").replace('*', "").to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where a phrase stands as words of its own: each place with a few words around it.
fn places<'a>(text: &'a str, phrase: &str) -> Vec<&'a str> {
    let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-');
    let found = text.match_indices(phrase).map(|(start, found)| (start, start + found.len()));
    let whole = found.filter(|&(start, end)| {
        !part_of_word(text[..start].chars().next_back()) && !part_of_word(text[end..].chars().next())
    });
    let around = whole.map(|(start, end)| {
        let from = text[..start].char_indices().rev().nth(AROUND).map_or(0, |(at, _)| at);
        let to = text[end..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| end + at);
        &text[from..to]
    });
    around.collect()
}

/// Everything in Markdown that a reader meets.
fn pages() -> Vec<PathBuf> {
    let mut pages = markdown("book/src");
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "book/README.md"].map(from_root));
    pages.sort();
    pages
}

/// All files below a folder whose names end so.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(from_root(folder)).expect("the folder is there").map(|entry| entry.expect("listed"));
    let below = entries.flat_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        match entry.path().is_dir() {
            true => files(&format!("{folder}/{name}"), ending),
            false => Vec::from_iter(name.ends_with(ending).then(|| entry.path())),
        }
    });
    below.collect()
}

/// What a scenario tells: its title, its story, its tour; and the hints and reasons of a case. A paragraph each.
fn told(path: &Path, yaml: &str) -> String {
    fn strings(value: &serde_yaml::Value, is_told: bool, out: &mut String) {
        match value {
            serde_yaml::Value::String(text) if is_told => *out += &format!("{text}\n\n"),
            serde_yaml::Value::Sequence(list) => list.iter().for_each(|one| strings(one, is_told, out)),
            serde_yaml::Value::Mapping(map) => {
                let key = |key: &serde_yaml::Value| key.as_str().unwrap_or_default().to_owned();
                let kept = map.iter().filter(|(name, _)| key(name) != "files");
                kept.for_each(|(name, value)| strings(value, OF_A_SCENARIO.contains(&key(name).as_str()), out));
            }
            _ => {}
        }
    }
    let value = serde_yaml::from_str(yaml).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut out = String::new();
    strings(&value, false, &mut out);
    out
}

/// The comments of a Rust file.
fn comments(rust: &str) -> String {
    let comment =
        |line: &str| Some(format!("{}\n", line.trim().strip_prefix("//")?.trim_start_matches(['/', '!', ' '])));
    rust.lines().filter_map(comment).collect()
}

/// The Markdown files of a folder.
fn markdown(folder: &str) -> Vec<PathBuf> {
    let files =
        fs::read_dir(from_root(folder)).expect("the folder is there").map(|entry| entry.expect("listed").path());
    let mut pages: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    pages.sort();
    pages
}

/// A page without what is not prose: blocks and pieces of code, addresses of links, tags.
fn prose(text: &str) -> String {
    let text = without(&without(&readable(text, &[]), "](", ")"), "<", ">");
    without(&text, "`", "`")
}

/// A page without blocks of code. Blocks of the kinds named are kept: their titles and bodies.
fn readable(text: &str, kinds: &[&str]) -> String {
    let mut kept = String::new();
    // The mark that ends the block a line is in, and whether the block is kept.
    let mut fence: Option<(&str, bool)> = None;
    for line in text.lines() {
        let info = line.trim_start().trim_start_matches('`');
        let mark = &line.trim_start()[..line.trim_start().len() - info.len()];
        let keep = match fence {
            Some((opened, _)) if line.trim() == opened => {
                fence = None;
                false
            }
            Some((_, keep)) => keep,
            None if mark.len() >= 3 => {
                let keep = kinds.contains(&info.split(' ').next().unwrap_or_default());
                fence = Some((mark, keep));
                keep
            }
            None => !line.starts_with("    "),
        };
        if keep {
            // The first line of a block comes without its mark, which is no piece of code.
            kept.push_str(if mark.len() >= 3 { info } else { line });
            kept.push('\n');
        }
    }
    kept
}

/// `text` without what stands between such marks.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        kept.push_str(before);
        kept.push(' ');
        rest = after.split_once(close).map_or("", |(_, after)| after);
    }
    kept + rest
}

/// The words that the dictionary does not have; None where there is no dictionary. Numbers and words with digits are no
/// words.
fn unknown(prose: &str) -> Option<BTreeSet<String>> {
    let mut command = Command::new("hunspell");
    let child = command.args(["-l", "-i", "utf-8", "-d", "en_GB"]);
    let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        skip::skipped("hunspell");
        return None;
    };
    let mut input = child.stdin.take().expect("piped");
    let prose = prose.replace('’', "'");
    // All of it is read before anything is said; a dictionary that is missing shows in how it ends.
    let _ = input.write_all(prose.as_bytes());
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    if !output.status.success() {
        skip::skipped("hunspell with the dictionary en_GB");
        return None;
    }
    let words = String::from_utf8_lossy(&output.stdout);
    let words = words.lines().filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    Some(words.map(str::to_owned).collect())
}
