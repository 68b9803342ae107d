//! `kubestep book`: what can be said to it, and how the program comes by it.
//!
//! The course takes a Markdown processor, a template engine, a web server: a fifth of all that there is to compile. Whoever
//! wants to step, run or grade does without. So the course is in a program of its own, which does all that this one does; this
//! one has it built when it is first asked for the course, and becomes it.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, anyhow, ensure};

use lab::{building, shelf};

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

/// The package that has the course, and the program in it.
const PACKAGE: &str = "kubestep-book";
/// Where cargo puts what it builds in one way or another.
const PROFILES: [&str; 3] = ["debug", "release", "judge"];

/// Has the program built that has the course in it, and becomes it.
///
/// # Errors
/// The sources are not where they were, cargo cannot be started, or what it says: it has said it already.
pub(super) fn elsewhere() -> anyhow::Result<()> {
    let root = project()?;
    let own = std::env::current_exe().context("this program's own file cannot be found")?;
    // Where this one was built and in the same way: so most of it is there already.
    let built = |profile| {
        (own.parent()?.file_name()? == profile).then(|| Some((profile, own.parent()?.parent()?.to_owned())))?
    };
    let (folder, target) = PROFILES.into_iter().find_map(built).unwrap_or_else(|| ("debug", building::target(&root)));
    let profile = if folder == "debug" { "dev" } else { folder };
    let program = target.join(folder).join(format!("{PACKAGE}{}", std::env::consts::EXE_SUFFIX));

    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&root).args(["build", "--package", PACKAGE, "--bin", PACKAGE, "--profile", profile]);
    cargo.arg("--target-dir").arg(std::path::absolute(&target)?);
    if program.is_file() {
        cargo.arg("--quiet");
    } else {
        writeln!(super::out::errors(), "The course is built for the first time, which takes a minute:")?;
    }
    let status = cargo.status().context("cargo, which builds the course, cannot be started")?;
    ensure!(status.success(), "the course could not be built: cargo says why");
    become_it(Command::new(program).args(std::env::args_os().skip(1)))
}

/// The folder of the sources: where the program was started, or else where it was built.
fn project() -> anyhow::Result<PathBuf> {
    let here = shelf::root().ok();
    let mut folders = here.into_iter().chain([PathBuf::from(env!("CARGO_MANIFEST_DIR"))]);
    folders
        .find(|folder| folder.join("src/book/Cargo.toml").is_file())
        .ok_or_else(|| anyhow!("there is no src/book here; start kubestep in the folder of its sources"))
}

#[cfg(unix)]
fn become_it(program: &mut Command) -> anyhow::Result<()> {
    Err(std::os::unix::process::CommandExt::exec(program)).context("the course cannot be started")
}

#[cfg(not(unix))]
fn become_it(program: &mut Command) -> anyhow::Result<()> {
    let status = program.status().context("the course cannot be started")?;
    std::process::exit(status.code().unwrap_or(1))
}
