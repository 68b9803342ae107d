//! What the words of a command mean, or its manifests. Mirrors `resource.Builder` of `cli-runtime`.

use serde_json::Value;

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::manifest::Manifest;
use crate::print::fields::namespace_and_name;
use crate::targets::Target;
use object::Kind;
use wire::Options;

/// An object that is wanted. What is named is read when its turn comes.
pub(super) enum Wanted {
    /// By its kind, namespace and name.
    Named(Kind, String, String),
    /// It was selected.
    Listed(Kind, Value),
    /// Why it cannot be said which.
    Unlisted(Failure),
}

impl Wanted {
    /// The object.
    pub(super) async fn read(self, cx: &Kubectl) -> Result<(Kind, Value), Failure> {
        match self {
            Wanted::Named(kind, namespace, name) => Ok((kind, cx.get(kind, &namespace, &name).await?)),
            Wanted::Listed(kind, object) => Ok((kind, object)),
            Wanted::Unlisted(fault) => Err(fault),
        }
    }
}

/// The objects that a command names or selects, in the order in which they are looked at. With `all` a kind without a name
/// means all of the kind.
pub(super) async fn wanted(
    verb: &str,
    words: &[String],
    all: bool,
    args: &Args,
    cx: &Kubectl,
) -> Result<Vec<Wanted>, Failure> {
    let (targets, faults) = named(verb, words, args, cx).await?;
    let mut wanted = Vec::new();
    for (Target { kind, name }, namespace) in targets {
        match name {
            Some(name) => wanted.push(Wanted::Named(kind, namespace, name)),
            None if all => match cx.select(kind, &namespace, selection(args)).await {
                Ok(listed) => wanted.extend(listed.items.into_iter().map(|object| Wanted::Listed(kind, object))),
                Err(fault) => wanted.push(Wanted::Unlisted(fault)),
            },
            None => return Err(Failure::text("resource(s) were provided, but no name was specified")),
        }
    }
    wanted.extend(faults.into_iter().map(Wanted::Unlisted));
    Ok(wanted)
}

/// Whether the flags select objects.
pub(super) fn selects(args: &Args) -> bool {
    args.is_on("all") || args.has("selector") || args.has("field-selector")
}

/// What is named, each with its namespace, and what is wrong with manifests that do not say it.
type Named = (Vec<(Target, String)>, Vec<Failure>);

/// What the words or the manifests of a command name, and in which namespace: that of a manifest is its own.
pub(super) async fn named(verb: &str, words: &[String], args: &Args, cx: &Kubectl) -> Result<Named, Failure> {
    if args.gives_manifests() {
        let manifests = cx.some_manifests(verb, args).await?;
        let target = |manifest: Manifest| {
            let (namespace, name) = namespace_and_name(&manifest.object);
            (Target { kind: manifest.kind, name: Some(name.to_owned()) }, namespace.to_owned())
        };
        let faults = manifests.faults.into_iter().map(Failure::from).collect();
        return Ok((manifests.known.into_iter().map(target).collect(), faults));
    }
    let everywhere = args.is_on("all-namespaces");
    let targets = cx.targets(verb, words).await?;
    all_or_named(verb, &targets, words, args)?;
    if everywhere && targets.iter().any(|target| target.name.is_some() && target.kind.info().namespaced) {
        return Err(Failure::text("a resource cannot be retrieved by name across all namespaces"));
    }
    let namespace = if everywhere { "" } else { cx.namespace(args) };
    Ok((targets.into_iter().map(|target| (target, namespace.to_owned())).collect(), Vec::new()))
}

/// Names and selectors do not go together. Mirrors `visitBySelector`.
fn all_or_named(verb: &str, targets: &[Target], words: &[String], args: &Args) -> Result<(), Failure> {
    let selects = ["selector", "field-selector"].iter().any(|flag| !args.value(flag).trim().is_empty());
    // To these `--all` is a selector (`SelectAllParam`); to others it means all of a kind where no name is given.
    let selects = selects || matches!(verb, "apply" | "delete") && args.is_on("all");
    if !selects || targets.iter().all(|target| target.name.is_none()) {
        return Ok(());
    }
    Err(Failure::text(match words.iter().any(|word| word.contains('/')) {
        true => "selectors and the all flag cannot be used when passing resource/name arguments",
        false => "name cannot be provided when a selector is specified",
    }))
}

/// The query of a LIST: in pages of 500, or all at once if they are to be sorted.
pub(super) fn selection(args: &Args) -> Options {
    Options {
        label_selector: args.value("selector").to_owned(),
        field_selector: args.value("field-selector").to_owned(),
        limit: if args.has("sort-by") { 0 } else { 500 },
        ..Options::default()
    }
}

/// The same in pages of `--chunk-size`.
pub(super) fn in_chunks(args: &Args) -> Result<Options, Failure> {
    let all = selection(args);
    Ok(match args.number("chunk-size")? {
        Some(size) if all.limit > 0 => Options { limit: u64::try_from(size).unwrap_or_default(), ..all },
        _ => all,
    })
}
