//! References to the world outside: Kubernetes' files at the release that the course follows, its designs (KEPs), issues, articles.
//!
//! `book/references.txt` lists each address once, with what is there. Nothing is asked over a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::project::from_root;

/// The release at which Kubernetes' files are read.
const RELEASE: &str = "v1.36.2";

/// Addresses, and what is there.
fn listed() -> BTreeMap<String, String> {
    let list = fs::read_to_string(from_root("book/references.txt")).expect("there is a list");
    let lines: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.is_sorted(), "the list is sorted");
    let entry = |line: &&str| line.split_once(' ').map(|(to, what)| (to.to_owned(), what.to_owned()));
    lines.iter().map(|line| entry(line).unwrap_or_else(|| panic!("write ADDRESS WHAT: {line}"))).collect()
}

/// The links of all pages that lead out of the book: page, text, address.
fn links() -> Vec<(String, String, String)> {
    let files = fs::read_dir(from_root("book/src")).expect("the chapters are there");
    let pages = files.map(|file| file.expect("it can be listed").path());
    let links = pages.flat_map(|path| {
        let text = fs::read_to_string(&path).expect("a page is text");
        let page = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let parts: Vec<&str> = text.split("](http").collect();
        let link = |pair: &[&str]| {
            let words = pair[0].rsplit('[').next().unwrap_or_default().to_owned();
            let rest = pair[1].split(')').next().unwrap_or_default();
            (page.clone(), words, format!("http{rest}"))
        };
        parts.windows(2).map(link).collect::<Vec<_>>()
    });
    links.collect()
}

/// What is wrong with an address, by the form that its kind has.
fn wrong(to: &str, what: &str) -> Option<&'static str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(path) = to.strip_prefix("https://github.com/") else {
        return (!to.starts_with("https://") || !what.contains(", ")).then_some("an article has a title and an author");
    };
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [_, _, "issues" | "pull", number] => (!is_number(number)).then_some("an issue has a number"),
        ["kubernetes", "kubernetes", form, release, first, .., last] => {
            let folders = ["pkg", "plugin", "staging", "cmd"];
            let is_file = last.ends_with(".go");
            let fits =
                *release == RELEASE && folders.contains(first) && (*form == if is_file { "blob" } else { "tree" });
            (!fits).then_some("a file of Kubernetes is named at the release")
        }
        ["kubernetes", "enhancements", "tree", "master", "keps", sig, name] => {
            let number = name.split('-').next().unwrap_or_default();
            (!sig.starts_with("sig-") || !is_number(number)).then_some("a KEP has a group and a number")
        }
        [_, _, "blob" | "tree", "main" | "master", _, ..] => None,
        _ => Some("this is no file, issue, KEP or article"),
    }
}

#[test]
fn every_reference_is_listed_and_has_its_form() {
    let listed = listed();
    let mut mistakes: Vec<String> =
        listed.iter().filter_map(|(to, what)| Some(format!("references.txt: {to}: {}", wrong(to, what)?))).collect();
    let links = links();
    assert!(links.len() > 60, "only {} links were found", links.len());
    for (page, words, to) in &links {
        let last = to.rsplit('/').next().unwrap_or_default();
        if !listed.contains_key(to) {
            mistakes.push(format!("{page}: {to} is not in book/references.txt"));
        } else if to.contains("/issues/") || to.contains("/pull/") {
            (!words.ends_with(&format!("#{last}"))).then(|| mistakes.push(format!("{page}: {words:?} leads to {to}")));
        } else if to.contains("/keps/") {
            let number = last.split('-').next().unwrap_or_default().trim_start_matches('0');
            (*words != format!("KEP-{number}")).then(|| mistakes.push(format!("{page}: {words:?} leads to {to}")));
        }
    }
    let used: BTreeSet<&String> = links.iter().map(|(_, _, to)| to).collect();
    mistakes
        .extend(listed.keys().filter(|to| !used.contains(to)).map(|to| format!("references.txt: no page has {to}")));
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

/// Issues are links, so that a reader can follow them.
#[test]
fn no_issue_is_named_without_a_link() {
    for entry in fs::read_dir(from_root("book/src")).expect("the chapters are there") {
        let path = entry.expect("it can be listed").path();
        let text = fs::read_to_string(&path).expect("a page is text");
        for part in text.split("kubernetes#").skip(1) {
            let number: String = part.chars().take_while(char::is_ascii_digit).collect();
            assert!(part[number.len()..].starts_with("]("), "{}: kubernetes#{number}", path.display());
        }
    }
}

#[test]
fn a_wrong_form_is_noticed() {
    let kubernetes = "https://github.com/kubernetes/kubernetes";
    for (to, what, fits) in [
        (format!("{kubernetes}/tree/{RELEASE}/pkg/kubelet"), "file", true),
        (format!("{kubernetes}/blob/{RELEASE}/pkg/kubelet"), "file", false),
        (format!("{kubernetes}/tree/master/pkg/kubelet"), "file", false),
        (format!("{kubernetes}/issues/59848"), "issue", true),
        (format!("{kubernetes}/issues/x"), "issue", false),
        (
            "https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/753-sidecar-containers".to_owned(),
            "x",
            true,
        ),
        ("https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/sidecar".to_owned(), "x", false),
        ("https://example.com/a".to_owned(), "A title, an author", true),
        ("https://example.com/a".to_owned(), "A title", false),
    ] {
        assert_eq!(wrong(&to, what).is_none(), fits, "{to} {what}");
    }
}
