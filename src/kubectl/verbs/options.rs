//! `options`: the flags of every command.

use crate::args::Args;
use crate::command::{Command, Run};
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::usage::Usage;

/// `kubectl options`.
pub const OPTIONS: Command = Command {
    usage: Usage { name: "options", about: "The flags of every command.", ..Usage::EMPTY },
    reads_only: |_| true,
    run: Run::Here(options),
    ..Command::EMPTY
};

/// `kubectl options`.
fn options(_: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let flags = OPTIONS.usage.flag_rows();
    cx.print(&format!("The following options can be passed to any command:\n\n{flags}"));
    Ok(())
}
