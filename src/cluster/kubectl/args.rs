//! kubectl's command line: a verb, words, and flags before, between or after them.

use std::collections::BTreeMap;

use super::Failure;

/// Flags that stand alone; all others take a value.
const SWITCHES: &[&str] = &[
    "force",
    "overwrite",
    "show-labels",
    "all",
    "all-namespaces",
    "now",
    "watch",
    "no-headers",
    "recursive",
    "help",
    "resources",
    "previous",
    "list",
    "types",
    "quiet",
];

/// Flags that may stand alone or take `=value`.
const OPTIONAL: &[&str] = &["wait", "validate", "dry-run", "cascade"];

/// Short flags.
const SHORT: &[(&str, &str)] = &[
    ("-f", "filename"),
    ("-n", "namespace"),
    ("-o", "output"),
    ("-l", "selector"),
    ("-A", "all-namespaces"),
    ("-w", "watch"),
    ("-p", "patch"),
    ("-c", "container"),
    ("-R", "recursive"),
];

/// A command line in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args {
    /// `get`.
    pub verb: String,
    /// Words that are no flags.
    pub words: Vec<String>,
    flags: BTreeMap<String, Vec<String>>,
}

impl Args {
    /// Reads a command line without the word `kubectl`.
    pub fn parse(line: &[String]) -> Result<Args, Failure> {
        let mut args = Args::default();
        let mut rest = line.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            if word == "--" {
                args.words.extend(rest.map(str::to_owned));
                break;
            }
            if !word.starts_with('-') || word == "-" {
                if args.verb.is_empty() {
                    args.verb = word.to_owned()
                } else {
                    args.words.push(word.to_owned())
                }
                continue;
            }
            let (name, inline) = split_flag(word)?;
            let alone = SWITCHES.contains(&name.as_str()) || OPTIONAL.contains(&name.as_str());
            let value = match inline {
                Some(value) => value,
                None if alone => "true".to_owned(),
                None => match rest.next() {
                    Some(value) => value.to_owned(),
                    None => return Err(Failure::error(format!("flag needs an argument: --{name}"))),
                },
            };
            args.flags.entry(name).or_default().push(value);
        }
        Ok(args)
    }

    /// A flag's value, empty if it was not given. The last one counts.
    pub fn flag(&self, name: &str) -> &str {
        self.flags.get(name).and_then(|values| values.last()).map_or("", String::as_str)
    }

    /// All values of a flag.
    pub fn flags(&self, name: &str) -> &[String] {
        self.flags.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether a switch was given.
    pub fn is_set(&self, name: &str) -> bool {
        matches!(self.flag(name), "true" | "1")
    }
}

fn split_flag(word: &str) -> Result<(String, Option<String>), Failure> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v.to_owned())));
        return Ok((name.to_owned(), value));
    }
    let (short, tail) = word.split_at(word.char_indices().nth(2).map_or(word.len(), |(i, _)| i));
    let Some((_, name)) = SHORT.iter().find(|(s, _)| *s == short) else {
        return Err(Failure::error(format!("unknown shorthand flag: '{}' in {word}", short.trim_start_matches('-'))));
    };
    let tail = tail.strip_prefix('=').unwrap_or(tail);
    Ok(((*name).to_owned(), (!tail.is_empty()).then(|| tail.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, Failure> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Args::parse(&words)
    }

    #[test]
    fn flags_stand_anywhere() {
        let args = parse("-n kube-system get pods -o wide web --show-labels -lapp=web").unwrap();
        assert_eq!((args.verb.as_str(), args.words), ("get", vec!["pods".to_owned(), "web".into()]));
        let args = parse("get pods -owide --selector app=web --wait --timeout=5s").unwrap();
        assert_eq!((args.flag("output"), args.flag("selector"), args.flag("wait")), ("wide", "app=web", "true"));
        assert!(parse("get -f").is_err());
        assert!(parse("get -é").is_err());
    }
}
