//! `kubestep book`: the course.

use std::io;
use std::path::PathBuf;

use anyhow::{Context, ensure};

use crate::book::build;
use crate::book::preprocessor::{Directives, speak};

/// What can be said to it.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Build the pages and be done.
    #[arg(long)]
    build_only: bool,
    /// Serve at this port of 127.0.0.1; 0 takes any that is free.
    #[arg(long, default_value_t = 4180, conflicts_with = "build_only")]
    port: u16,
    /// Open no browser.
    #[arg(long, conflicts_with = "build_only")]
    no_open: bool,
    /// Write the pages into this folder; target/book unless given.
    #[arg(long, value_name = "DIR")]
    dest: Option<PathBuf>,
}

/// What mdBook asks a preprocessor.
#[derive(Debug, clap::Subcommand)]
pub enum Question {
    /// Does it have a part in what this renderer makes?
    Supports {
        /// The renderer's name.
        renderer: String,
    },
}

/// `kubestep book`.
pub(super) fn command(arguments: &Arguments) -> anyhow::Result<()> {
    let root = build::find()?;
    let dest = arguments.dest.clone().unwrap_or_else(|| root.join("../target/book"));
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    build::build(&root, &dest, &program)?;
    println!("The course is in {}", dest.join("index.html").display());
    Ok(())
}

/// `kubestep preprocess`.
pub(super) fn preprocess(question: Option<&Question>) -> anyhow::Result<()> {
    use mdbook_preprocessor::Preprocessor;
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    match question {
        Some(Question::Supports { renderer }) => {
            let supported = Directives::new(program).supports_renderer(renderer)?;
            ensure!(supported, "the course is made of HTML, not for the renderer {renderer}");
            Ok(())
        }
        None => speak(io::stdin().lock(), io::stdout().lock(), program),
    }
}
