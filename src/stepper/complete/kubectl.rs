//! Lines of kubectl's: verbs, their words, flags and what flags take.

use kubectl::command::{Command, Named};
use kubectl::flags::Flag;
use object::Kind;

use super::{Around, fitting, namespace};

/// Values of `-o`.
const OUTPUTS: &[&str] = &["custom-columns=", "go-template=", "json", "jsonpath=", "name", "wide", "yaml"];

/// What stands at `tail` behind the words of a line, without the word `kubectl`.
pub fn words(around: &Around<'_>, words: &[&str], tail: &str) -> Vec<String> {
    if words.contains(&"--") {
        return Vec::new();
    }
    let owned: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let Some(command) = kubectl::from_verb(&owned).first().and_then(|verb| kubectl::row(verb)) else {
        return fitting(kubectl::verbs(), tail);
    };
    let at = words.iter().position(|word| *word == command.usage.name).map_or(0, |at| at + 1);
    let behind = &words[at..];
    let flag = |word: &str| match word.strip_prefix("--") {
        Some(name) => command.usage.flag(name),
        None => word.strip_prefix('-').filter(|l| l.len() == 1).and_then(|l| command.usage.flag_of(l.chars().next()?)),
    };
    let namespace =
        if words.iter().any(|word| matches!(*word, "-A" | "--all-namespaces")) { None } else { namespace(words) };
    let wants = behind.last().and_then(|word| flag(word)).filter(|flag| flag.alone.is_none());
    let (is_word, mut named) = (|word: &str| !word.starts_with('-'), Vec::new());
    let mut before = None;
    for word in behind {
        if is_word(word) && before.and_then(flag).is_none_or(|flag: &Flag| flag.alone.is_some()) {
            named.push(*word);
        }
        before = Some(*word);
    }
    if let Some(flag) = wants {
        return value(around, flag.name, &named, namespace, tail);
    }
    if let Some((name, start)) = tail.strip_prefix("--").and_then(|flag| flag.split_once('=')) {
        let values = value(around, name, &named, namespace, start);
        return values.into_iter().map(|value| format!("--{name}={value}")).collect();
    }
    if tail.starts_with('-') {
        return flags(command, tail);
    }
    named_by(around, command, &named, namespace, tail)
}

fn flags(command: &Command, tail: &str) -> Vec<String> {
    let known = command.usage.flags().map(|flag| {
        // What wants a value may have it in the same word.
        format!("--{}", flag.name)
    });
    fitting(known, tail)
}

/// What a flag takes.
fn value(around: &Around<'_>, flag: &str, named: &[&str], namespace: Option<&str>, tail: &str) -> Vec<String> {
    match flag {
        "namespace" => fitting(around.names.namespaces(), tail),
        "filename" | "kustomize" => around.files(tail),
        "output" => fitting(OUTPUTS.iter().copied(), tail),
        "container" => named.first().map_or(Vec::new(), |pod| fitting(around.names.containers(pod, namespace), tail)),
        "for" => fitting(["condition=", "create", "delete", "jsonpath="], tail),
        "dry-run" => fitting(["client", "none", "server"], tail),
        "cascade" => fitting(["background", "foreground", "orphan"], tail),
        "field-selector" => fitting(["metadata.name=", "spec.nodeName=", "status.phase="], tail),
        _ => Vec::new(),
    }
}

/// A word that is no flag.
fn named_by(
    around: &Around<'_>,
    command: &Command,
    named: &[&str],
    namespace: Option<&str>,
    tail: &str,
) -> Vec<String> {
    let (takes, names) = (command.takes, &around.names);
    let named = match (takes.first, named.split_first()) {
        ([], _) => named,
        (first, None) => return fitting(first.iter().copied(), tail),
        (_, Some((_, rest))) => rest,
    };
    let kind = named.first().filter(|word| !word.contains('/')).and_then(|word| names.kind(word));
    match (takes.then, kind) {
        (Named::Nothing, _) => Vec::new(),
        (Named::Nodes, _) => names.objects(Kind::Node, None, tail),
        (Named::Fields, _) => names.fields(tail),
        (Named::Pods, _) if tail.contains('/') => names.kind_or_object(namespace, tail),
        (Named::Pods, _) if named.is_empty() => names.objects(Kind::Pod, namespace, tail),
        // `logs web CONTAINER`.
        (Named::Pods, _) => fitting(names.containers(named[0], namespace), tail),
        (Named::Objects, Some(kind)) => names.objects(kind, namespace, tail),
        (Named::Objects, None) if named.is_empty() || tail.contains('/') => names.kind_or_object(namespace, tail),
        (Named::Objects, None) => Vec::new(),
    }
}
