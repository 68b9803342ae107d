//! `set`: GET, and a PATCH of what changes; with `--local` neither. Mirrors `k8s.io/kubectl/pkg/cmd/set`.

use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::{CHOICE, FILES, WRITE};
use crate::kubectl::Kubectl;
use crate::usage::Usage;

mod change;
mod containers;
mod env;
mod names;

/// `kubectl set`.
pub const SET: Command = Command {
    usage: Usage {
        name: "set",
        words: "image|env|resources|serviceaccount|selector|subject TYPE NAME …",
        about: "Change a field: of a workload's containers, a Service's selector, who a role is bound to.",
        flags: &[
            FILES,
            CHOICE,
            WRITE,
            &[
                "container",
                "list",
                "local",
                "limits",
                "requests",
                "env",
                "overwrite",
                "from",
                "keys",
                "prefix",
                "resolve",
                "record",
            ],
            &["user", "group", "serviceaccount"],
        ],
        ..Usage::EMPTY
    },
    takes: Takes::first(&["env", "image", "resources", "selector", "serviceaccount", "subject"], Named::Objects),
    run: Run::There(|args, cx| Box::pin(set(args, cx))),
    ..Command::EMPTY
};

/// `kubectl set WHAT`.
async fn set(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if args.is_on("all") && args.has("selector") {
        return Err(Failure::text("cannot set --all and --selector at the same time"));
    }
    match args.words.first().map(String::as_str) {
        Some("image") => containers::image(args, cx).await,
        Some("env") => env::env(args, cx).await,
        Some("resources") => containers::resources(args, cx).await,
        Some("serviceaccount" | "sa") => names::service_account(args, cx).await,
        Some("selector") => names::selector(args, cx).await,
        Some("subject") => names::subject(args, cx).await,
        Some(other) => Err(Failure::text(format!("unknown command \"{other}\" for \"kubectl set\""))),
        None => {
            Err(Failure::text("write: kubectl set image|env|resources|serviceaccount|selector|subject TYPE NAME …"))
        }
    }
}
