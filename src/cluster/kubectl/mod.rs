//! kubectl: a client like any other, which turns a line that a user types into requests, and answers into text.
//!
//! Mirrors `k8s.io/kubectl`. `apply` is a GET, and a POST or a three-way patch; `rollout status` and `wait` are
//! watches; `scale`, `set image`, `label` and `taint` are small patches. Each command runs as a task of the user's, so
//! its requests are events like everybody else's.
//!
//! - [`client`]: sending requests and following watches.
//! - [`args`]: flags.
//! - [`verbs`]: one file a family of commands.
//! - [`print`]: tables, describe pages, YAML.

pub mod args;
pub mod client;
pub mod print;
pub mod verbs;

pub use client::{Feeds, Kubectl, Output};

use args::Args;

/// A command that failed: what kubectl prints, and its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line on standard error.
    pub message: String,
}

impl Failure {
    /// `error: text`.
    pub fn error(text: impl std::fmt::Display) -> Failure {
        Failure { message: format!("error: {text}") }
    }
}

/// Runs one command line, without the word `kubectl`. What it prints goes to `kubectl`'s output as it goes. Returns
/// the exit code.
pub async fn run(words: &[String], kubectl: &Kubectl) -> u8 {
    match dispatch(words, kubectl).await {
        Ok(()) => 0,
        Err(failure) => {
            kubectl.print(&format!("{}\n", failure.message));
            1
        }
    }
}

async fn dispatch(words: &[String], kubectl: &Kubectl) -> Result<(), Failure> {
    let args = Args::parse(words)?;
    let kubectl = &kubectl.in_namespace(args.flag("namespace"));
    match args.verb.as_str() {
        "apply" => verbs::apply::apply(&args, kubectl).await,
        "create" => verbs::apply::create(&args, kubectl).await,
        "replace" => verbs::apply::replace(&args, kubectl).await,
        "run" => verbs::apply::run(&args, kubectl).await,
        "get" => verbs::get::get(&args, kubectl).await,
        "events" => verbs::get::events(&args, kubectl).await,
        "describe" => verbs::get::describe(&args, kubectl).await,
        "delete" => verbs::delete::delete(&args, kubectl).await,
        "scale" => verbs::change::scale(&args, kubectl).await,
        "set" => verbs::change::set(&args, kubectl).await,
        "label" => verbs::change::label(&args, kubectl, "labels").await,
        "annotate" => verbs::change::label(&args, kubectl, "annotations").await,
        "taint" => verbs::change::taint(&args, kubectl).await,
        "cordon" => verbs::change::cordon(&args, kubectl, true).await,
        "uncordon" => verbs::change::cordon(&args, kubectl, false).await,
        "patch" => verbs::change::patch(&args, kubectl).await,
        "rollout" => verbs::rollout::rollout(&args, kubectl).await,
        "wait" => verbs::wait::wait(&args, kubectl).await,
        "" => Err(Failure::error("say what kubectl should do, as in: kubectl get pods")),
        other => Err(Failure::error(format!("unknown command \"{other}\" for \"kubectl\""))),
    }
}
