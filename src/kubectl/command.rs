//! A command: all that kubectl knows of one verb, as the row that stands for it in [`verbs::TABLE`](crate::verbs::TABLE).

use std::pin::Pin;

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::usage::Usage;

/// A command.
#[derive(Debug)]
pub struct Command {
    /// How it is written.
    pub usage: Usage,
    /// Whether it only looks, given the word behind it: nothing is changed, neither in the cluster nor in the user's own
    /// configuration.
    pub reads_only: fn(Option<&str>) -> bool,
    /// Its words name objects and nothing else: with manifests there are none.
    pub names_objects: bool,
    /// Its words, for completion.
    pub takes: Takes,
    /// The method of the request that `--raw` sends, if it knows that flag.
    pub raw: Option<&'static str>,
    /// What it does.
    pub run: Run,
}

/// What the words behind a verb may be.
#[derive(Clone, Copy, Debug)]
pub struct Takes {
    /// The first is one of these; none: there is no such word.
    pub first: &'static [&'static str],
    /// What the others name.
    pub then: Named,
}

/// What words name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Nothing that there is.
    Nothing,
    /// A kind, then objects of it; or objects with their kinds.
    Objects,
    /// A Pod; or another object with its kind.
    Pods,
    /// A node.
    Nodes,
    /// A kind and its fields.
    Fields,
}

impl Takes {
    /// Words that name these and nothing else.
    pub const fn named(then: Named) -> Takes {
        Takes { first: &[], then }
    }

    /// One of these words, then what names objects.
    pub const fn first(first: &'static [&'static str], then: Named) -> Takes {
        Takes { first, then }
    }
}

/// What a verb does.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// All of it on the user's own machine: the cluster is asked nothing.
    Here(fn(&Args, &Kubectl) -> Result<(), Failure>),
    /// As a client of the API server, as whom and in which context the flags say.
    There(for<'a> fn(&'a Args, &'a Kubectl) -> Doing<'a>),
}

/// A command that runs. Boxed, each by itself: as parts of one future they are all written into one function, which takes
/// the compiler long, and everyone who runs a command makes room for the largest.
pub type Doing<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

impl Command {
    /// What a row says that does not say otherwise: it changes something, and its words are its own.
    pub const EMPTY: Command = Command {
        usage: Usage::EMPTY,
        reads_only: |_| false,
        names_objects: false,
        takes: Takes { first: &[], then: Named::Nothing },
        raw: None,
        run: Run::Here(|_, _| Ok(())),
    };
}
