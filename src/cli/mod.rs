//! The terminal: the program's commands, the stepper's prompt, and what a stop looks like.
//!
//! - [`step`]: `kubestep step`, the stepper.
//! - [`command`]: what can be typed at its prompt.
//! - [`view`], [`palette`]: what a stop looks like.
//! - [`input`]: where lines come from.

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::cluster::{Cluster, Config, NodeConfig};
use crate::debugger::Session;

pub mod command;
pub mod input;
pub mod palette;
pub mod step;
pub mod view;

/// Kubernetes, one event at a time.
#[derive(Debug, Parser)]
#[command(name = "kubestep", version, about, propagate_version = true, arg_required_else_help = true)]
struct Arguments {
    /// When to colour the output.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    color: Color,
    #[command(subcommand)]
    command: Verb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Walk a cluster, pausing at each informer notification.
    Step(StepArguments),
}

#[derive(Debug, clap::Args)]
struct StepArguments {
    /// How many nodes the cluster has.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=5000))]
    nodes: u16,
    /// 0: every message takes its plain time. Any other number shuffles the order of events, repeatably.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Stop at background traffic too: heartbeats, Events, tokens.
    #[arg(long)]
    all: bool,
}

/// Runs the program. Exit code 0: done; 1: an error, which has been printed; 2: wrong usage.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.color {
        Color::Auto => {}
        Color::Always => console::set_colors_enabled(true),
        Color::Never => console::set_colors_enabled(false),
    }
    match run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{} {error:#}", palette::error().apply_to("error:"));
            ExitCode::FAILURE
        }
    }
}

fn run(verb: Verb) -> anyhow::Result<()> {
    match verb {
        Verb::Step(arguments) => {
            let nodes = (1..=usize::from(arguments.nodes)).map(NodeConfig::numbered).collect();
            let cluster = Cluster::start(Config { nodes, seed: arguments.seed, ..Config::default() });
            let greeting =
                format!("A cluster of {} nodes is up and quiet. help lists the commands.\n", arguments.nodes);
            step::Stepper::new(Session::new(cluster), arguments.all).run(&greeting)?;
        }
    }
    Ok(())
}

/// Whoever read our output went away: no error of ours.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
