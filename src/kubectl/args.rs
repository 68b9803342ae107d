//! The command line: words and flags. Mirrors cobra as far as kubectl's users see it.

use std::collections::BTreeMap;

use crate::failure::Failure;
use crate::flags::{Flag, wants_value};
use crate::usage::Usage;

/// A command line, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// Words that are no flags, without the verb.
    pub words: Vec<String>,
    /// What stands after `--`.
    pub rest: Vec<String>,
    flags: BTreeMap<&'static str, Vec<String>>,
    verb: &'static str,
}

/// What a shell would have kept to itself.
const OF_A_SHELL: &[&str] = &["|", "||", "&", "&&", ";", "<", ">", ">>"];

impl Args {
    /// Takes the command line of a verb apart.
    pub fn parse(verb: &Usage, line: &[String]) -> Result<Args, Failure> {
        let mut args = Args { verb: verb.name, ..Args::default() };
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
            let value = if flag.alone == Some("true") { truth(verb.name, flag.name, value)? } else { value };
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
        invalid(self.verb, flag, self.value(flag), why)
    }
}

/// A flag, and its value, if that is in the same word.
type Given = (&'static Flag, Option<String>);

/// The flag that a word gives. None: it is no flag.
fn flag_in(verb: &Usage, word: &str) -> Result<Option<Given>, Failure> {
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

fn long_flag(verb: &Usage, long: &str) -> Result<Given, Failure> {
    let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value.to_owned())));
    let unknown = || match verb.leaves_out(name) {
        true => Failure::text(format!("--{name} is left out here: kubectl {} has it, and this one has not", verb.name)),
        false => wrong(verb.name, &format!("unknown flag: --{name}")),
    };
    Ok((verb.flag(name).ok_or_else(unknown)?, value))
}

/// What is said of a flag that is the last word and wants a value.
fn no_argument(verb: &Usage, word: &str, flag: &Flag) -> Failure {
    let given = match word.strip_prefix("--") {
        Some(_) => format!("--{}", flag.name),
        None => format!("{:?} in {word}", word.chars().nth(1).unwrap_or_default()),
    };
    wrong(verb.name, &format!("flag needs an argument: {given}"))
}

/// Where the verb stands: it is the first word that is neither a flag nor the value of one.
pub fn verb_place(line: &[String]) -> Option<usize> {
    let mut place = 0;
    while line.get(place)?.starts_with('-') {
        place += if wants_value(&line[place]) { 2 } else { 1 };
    }
    Some(place)
}

/// `-it` is `-i -t`.
fn apart(verb: &Usage, word: &str) -> Vec<String> {
    let letters = word.strip_prefix('-').unwrap_or_default();
    let is_lone = |letter: char| verb.flag_of(letter).is_some_and(|flag| flag.alone.is_some());
    match letters.len() > 1 && letters.chars().all(is_lone) {
        true => letters.chars().map(|letter| format!("-{letter}")).collect(),
        false => vec![word.to_owned()],
    }
}

fn short_flag(verb: &Usage, word: &str) -> Result<Given, Failure> {
    let letter = word.chars().nth(1).unwrap_or_default();
    let unknown = || wrong(verb.name, &format!("unknown shorthand flag: {letter:?} in {word}"));
    let flag = verb.flag_of(letter).ok_or_else(unknown)?;
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
