//! The command line: words and flags. Mirrors cobra as far as kubectl's users see it.

use std::collections::BTreeMap;

use super::Failure;
use super::usage::{self, Flag};
use crate::object::{Discovery, Kind};

/// A command line, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// Words that are no flags, without the verb.
    pub words: Vec<String>,
    /// What stands after `--`.
    pub rest: Vec<String>,
    flags: BTreeMap<&'static str, Vec<String>>,
    verb: String,
}

/// What a shell would have kept to itself.
const OF_A_SHELL: &[&str] = &["|", "||", "&", "&&", ";", "<", ">", ">>"];

impl Args {
    /// Takes a command line apart; `verb` only names the command in errors.
    pub fn parse(verb: &str, line: &[String]) -> Result<Args, Failure> {
        let mut args = Args { verb: verb.to_owned(), ..Args::default() };
        let (line, rest) = match line.iter().position(|word| word == "--") {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &[][..]),
        };
        args.rest = rest.to_vec();
        let line: Vec<String> = line.iter().flat_map(|word| apart(verb, word)).collect();
        let mut words = line.iter();
        while let Some(word) = words.next() {
            let Some((flag, value)) = flag_in(verb, word)? else {
                args.words.push(word.clone());
                continue;
            };
            let value = match value.or(flag.alone.map(str::to_owned)) {
                Some(value) => value,
                None => words.next().cloned().ok_or_else(|| no_argument(verb, word, flag))?,
            };
            let value = if flag.alone == Some("true") { truth(verb, flag.name, value)? } else { value };
            args.flags.entry(flag.name).or_default().push(value);
        }
        Ok(args)
    }

    /// The last value of a flag; empty if it was not given.
    pub fn value(&self, flag: &str) -> &str {
        self.flags.get(flag).and_then(|values| values.last()).map_or("", String::as_str)
    }

    /// All values of a flag.
    pub fn values(&self, flag: &str) -> &[String] {
        self.flags.get(flag).map_or(&[], Vec::as_slice)
    }

    /// Whether a flag was given.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.contains_key(flag)
    }

    /// Whether it is manifests that say which objects are meant: `-f` or `-k`.
    pub fn gives_manifests(&self) -> bool {
        self.has("filename") || self.has("kustomize")
    }

    /// Where these manifests are.
    pub fn manifests(&self) -> &str {
        self.value(if self.has("filename") { "filename" } else { "kustomize" })
    }

    /// Whether a flag without value is on.
    pub fn is_on(&self, flag: &str) -> bool {
        self.value(flag) == "true"
    }

    /// The command as it is written down with `--record`, if it is. Mirrors `parseCommandArguments`.
    pub fn recorded(&self) -> Option<String> {
        let flags = self.flags.iter().map(|(name, values)| format!(" --{name}={}", values.join(",")));
        let words: String = self.words.iter().map(|word| format!(" {word}")).collect();
        self.is_on("record").then(|| format!("kubectl {}{words}{}", self.verb, flags.collect::<String>()))
    }

    /// The number that a flag gives, if it is given.
    pub fn number(&self, flag: &str) -> Result<Option<i64>, Failure> {
        let value = self.value(flag);
        if value.is_empty() {
            return Ok(None);
        }
        value.parse().map(Some).map_err(|_| {
            let why = format!("strconv.ParseInt: parsing {value:?}: invalid syntax");
            self.invalid(flag, &why)
        })
    }

    /// What is said of a flag's value that cannot be read.
    pub fn invalid(&self, flag: &str, why: &str) -> Failure {
        invalid(&self.verb, flag, self.value(flag), why)
    }
}

/// A flag, and its value, if that is in the same word.
type Given = (&'static Flag, Option<String>);

/// The flag that a word gives. None: it is no flag.
fn flag_in(verb: &str, word: &str) -> Result<Option<Given>, Failure> {
    if let Some(long) = word.strip_prefix("--") {
        return long_flag(verb, long).map(Some);
    }
    if OF_A_SHELL.contains(&word) {
        return Err(Failure::text(match word {
            "|" => "a pipe goes only behind what looks, such as get: type one command a line".to_owned(),
            _ => format!("there is no shell here, and so no {word:?}: type one command a line"),
        }));
    }
    // A lone dash is standard input; `key-` is a label to remove.
    if word.len() < 2 || !word.starts_with('-') {
        return Ok(None);
    }
    short_flag(verb, word).map(Some)
}

fn long_flag(verb: &str, long: &str) -> Result<Given, Failure> {
    let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value.to_owned())));
    let unknown = || match usage::is_left_out(verb, name) {
        true => Failure::text(format!("--{name} is left out here: kubectl {verb} has it, and this one has not")),
        false => wrong(verb, &format!("unknown flag: --{name}")),
    };
    Ok((usage::flag(verb, name).ok_or_else(unknown)?, value))
}

/// What is said of a flag that is the last word and wants a value.
fn no_argument(verb: &str, word: &str, flag: &Flag) -> Failure {
    let given = match word.strip_prefix("--") {
        Some(_) => format!("--{}", flag.name),
        None => format!("{:?} in {word}", word.chars().nth(1).unwrap_or_default()),
    };
    wrong(verb, &format!("flag needs an argument: {given}"))
}

/// Where the verb stands: it is the first word that is neither a flag nor the value of one.
pub fn verb_place(line: &[String]) -> Option<usize> {
    let mut place = 0;
    while line.get(place)?.starts_with('-') {
        place += if usage::wants_value(&line[place]) { 2 } else { 1 };
    }
    Some(place)
}

/// `-it` is `-i -t`.
fn apart(verb: &str, word: &str) -> Vec<String> {
    let letters = word.strip_prefix('-').unwrap_or_default();
    let is_lone = |letter: char| usage::flag_of(verb, letter).is_some_and(|flag| flag.alone.is_some());
    match letters.len() > 1 && letters.chars().all(is_lone) {
        true => letters.chars().map(|letter| format!("-{letter}")).collect(),
        false => vec![word.to_owned()],
    }
}

fn short_flag(verb: &str, word: &str) -> Result<Given, Failure> {
    let letter = word.chars().nth(1).unwrap_or_default();
    let unknown = || wrong(verb, &format!("unknown shorthand flag: {letter:?} in {word}"));
    let flag = usage::flag_of(verb, letter).ok_or_else(unknown)?;
    let rest: String = word.chars().skip(2).collect();
    let value = rest.strip_prefix('=').unwrap_or(&rest);
    Ok((flag, (!value.is_empty()).then(|| value.to_owned())))
}

/// A value of a flag that is on or off. Mirrors `strconv.ParseBool`.
fn truth(verb: &str, flag: &str, value: String) -> Result<String, Failure> {
    match value.as_str() {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok("true".to_owned()),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok("false".to_owned()),
        _ => {
            let why = format!("strconv.ParseBool: parsing {value:?}: invalid syntax");
            Err(invalid(verb, flag, &value, &why))
        }
    }
}

fn invalid(verb: &str, flag: &str, value: &str, why: &str) -> Failure {
    wrong(verb, &format!("invalid argument {value:?} for \"--{flag}\" flag: {why}"))
}

fn wrong(verb: &str, what: &str) -> Failure {
    Failure::text(format!("{what}\nSee 'kubectl {verb} --help' for usage."))
}

/// What a command is about: a kind, and a name unless it is all of the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The kind.
    pub kind: Kind,
    /// The name; none for a selection.
    pub name: Option<String>,
}

/// `missingResourceError` of the builder.
const NOTHING_NAMED: &str = "You must provide one or more resources by argument or filename.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'
   '<resource> <name>'
   '<resource>'";
const NO_RESOURCE: &str = "one or more resources must be specified as <resource> <name> or <resource>/<name>";

/// Reads `TYPE/NAME …`, `TYPE NAME …` or `TYPE,TYPE`. Mirrors `resource.Builder.ResourceTypeOrNameArgs`.
pub fn targets(verb: &str, words: &[String], known: &Discovery) -> Result<Vec<Target>, Failure> {
    let Some(first) = words.first() else {
        return Err(Failure::text(match verb {
            "annotate" | "label" | "set" => NO_RESOURCE,
            _ => NOTHING_NAMED,
        }));
    };
    if words.iter().any(|word| word.contains('/')) {
        return words.iter().map(|word| slashed(word, known)).collect();
    }
    let mut targets = Vec::new();
    for kind in kinds(first, known)? {
        match &words[1..] {
            [] => targets.push(Target { kind, name: None }),
            names => targets.extend(names.iter().map(|name| Target { kind, name: Some(name.clone()) })),
        }
    }
    Ok(targets)
}

fn slashed(word: &str, known: &Discovery) -> Result<Target, Failure> {
    const MIXED: &str = "there is no need to specify a resource type as a separate argument when passing arguments in \
                         resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource \
                         resource/<resource_name>'";
    let (kind, name) = word.split_once('/').ok_or_else(|| Failure::text(MIXED))?;
    if kind.is_empty() || name.is_empty() || name.contains('/') {
        let why = "arguments in resource/name form must have a single resource and name";
        return Err(Failure::text(why));
    }
    Ok(Target { kind: one_kind(kind, known)?, name: Some(name.to_owned()) })
}

/// `deploy,rs,all`: each kind once, and of a category all its kinds. Mirrors `ReplaceAliases` and `resourceMappings`.
fn kinds(word: &str, known: &Discovery) -> Result<Vec<Kind>, Failure> {
    let mut kinds = Vec::new();
    for part in word.split(',').filter(|part| !part.is_empty()) {
        let of_category: Vec<Kind> = Kind::of_category(part).iter().copied().chain(known.category(part)).collect();
        let meant = if of_category.is_empty() { vec![one_kind(part, known)?] } else { of_category };
        for kind in meant {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    Ok(kinds)
}

/// Whether all kinds that these words name are built in, so that nothing has to be asked to know them.
pub fn are_built_in(words: &[String]) -> bool {
    let slashed = words.iter().any(|word| word.contains('/'));
    let first = words.iter().take(1).flat_map(|word| word.split(','));
    let parts: Vec<&str> = match slashed {
        true => words.iter().filter_map(|word| word.split_once('/')).map(|(kind, _)| kind).collect(),
        false => first.collect(),
    };
    let known = Discovery::default();
    parts.iter().all(|part| part.is_empty() || known.from_word(part).is_some())
}

/// The kind that `word` names, or what kubectl says.
pub fn one_kind(word: &str, known: &Discovery) -> Result<Kind, Failure> {
    known
        .from_word(word)
        .ok_or_else(|| no_resource_type(word.split_once('.').map_or(word, |(resource, _group)| resource)))
}

/// There is no such kind.
pub fn no_resource_type(resource: &str) -> Failure {
    Failure::text(format!("the server doesn't have a resource type \"{resource}\""))
}
