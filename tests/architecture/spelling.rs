//! Words: what a reader reads is spelt as the dictionary has it, or as `book/words.txt` does.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use kubestep_tests::project::from_root;
use kubestep_tests::skip;

/// Words that are right and in no dictionary, a line each.
const WORDS: &str = "book/words.txt";

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

/// Everything in Markdown that a reader meets.
fn pages() -> Vec<PathBuf> {
    let chapters =
        fs::read_dir(from_root("book/src")).expect("the course is there").map(|entry| entry.expect("listed").path());
    let mut pages: Vec<PathBuf> =
        chapters.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "book/README.md"].map(from_root));
    pages.sort();
    pages
}

/// A page without what is not prose: blocks and pieces of code, addresses of links, tags.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let mark = line.trim_start();
        let mark = &mark[..mark.len() - mark.trim_start_matches('`').len()];
        match fence {
            Some(opened) if mark == opened && line.trim() == mark => fence = None,
            None if mark.len() >= 3 => fence = Some(mark),
            None if !line.starts_with("    ") => {
                prose.push_str(line);
                prose.push('\n');
            }
            _ => {}
        }
    }
    let prose = without(&without(&prose, "](", ")"), "<", ">");
    without(&prose, "`", "`")
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
