//! `kubestep book`: its arguments, and how the program comes by the course.
//!
//! The course takes a Markdown processor, a template engine, a web server: a fifth of all that there is to compile. A user who
//! wants to step, run or grade does without: see [`mod@super::elsewhere`].

use std::path::PathBuf;

use super::elsewhere::{self, Program};

/// What can be said to `book`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Build the pages and be done.
    #[arg(long)]
    pub build_only: bool,
    /// Serve at this port of 127.0.0.1; 0 takes any that is free.
    #[arg(long, default_value_t = super::doctor::PORT, conflicts_with = "build_only")]
    pub port: u16,
    /// Open no browser.
    #[arg(long, conflicts_with = "build_only")]
    pub no_open: bool,
    /// With your solution of this exercise in live sessions, unless a page says otherwise.
    #[arg(long, value_name = "NAME", conflicts_with = "build_only")]
    pub exercise: Option<String>,
    /// Write the pages into this folder; target/book unless given.
    #[arg(long, value_name = "DIR")]
    pub dest: Option<PathBuf>,
    /// Build a static site into this folder, with the cluster in its pages, for any web server.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["build_only", "port", "no_open", "exercise", "dest"])]
    pub site: Option<PathBuf>,
    /// The cluster as a WebAssembly module that was compiled elsewhere.
    #[arg(long, value_name = "FILE")]
    pub module: Option<PathBuf>,
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

/// What a program with the course in it does.
pub struct Course {
    /// `kubestep book`.
    pub book: fn(&Arguments) -> anyhow::Result<()>,
    /// `kubestep preprocess`.
    pub preprocess: fn(Option<&Question>) -> anyhow::Result<()>,
}

/// Has the program built that has the course in it, and becomes it.
///
/// # Errors
/// See [`elsewhere::become_program`].
pub(super) fn elsewhere() -> anyhow::Result<()> {
    elsewhere::become_program(&Program { package: "kubestep-book", folder: "src/book", what: "The course" })
}
