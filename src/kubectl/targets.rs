//! What a command is about, as its words say it: `TYPE/NAME …`, `TYPE NAME …` or `TYPE,TYPE`.

use crate::failure::Failure;
use object::{Discovery, Kind};

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
