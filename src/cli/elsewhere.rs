//! Programs that do all that this one does and more, built when they are first asked for.
//!
//! The course and the front end for real clients take crates that a user who steps, runs or grades does without. Each is in a
//! program of its own: this one has it built, and becomes it.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, anyhow, ensure};

use lab::{building, shelf};

/// Such a program.
pub(super) struct Program {
    /// Its package, and its name.
    pub package: &'static str,
    /// Where its sources are.
    pub folder: &'static str,
    /// What it has, as the user knows it.
    pub what: &'static str,
}

/// Where cargo puts what it builds in one way or another.
const PROFILES: [&str; 3] = ["debug", "release", "judge"];

/// Has a program built, and becomes it.
///
/// # Errors
/// The sources are not where they were, cargo cannot be started, or what it says: it has said it already.
pub(super) fn become_program(Program { package, folder: sources, what }: &Program) -> anyhow::Result<()> {
    let root = project(sources)?;
    let own = std::env::current_exe().context("this program's own file cannot be found")?;
    // Where this one was built and in the same way: so most of it is there already.
    let built = |profile| {
        (own.parent()?.file_name()? == profile).then(|| Some((profile, own.parent()?.parent()?.to_owned())))?
    };
    let (folder, target) = PROFILES.into_iter().find_map(built).unwrap_or_else(|| ("debug", building::target(&root)));
    let profile = if folder == "debug" { "dev" } else { folder };
    let program = target.join(folder).join(format!("{package}{}", std::env::consts::EXE_SUFFIX));

    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&root).args(["build", "--package", package, "--bin", package, "--profile", profile]);
    cargo.arg("--target-dir").arg(std::path::absolute(&target)?);
    if program.is_file() {
        cargo.arg("--quiet");
    } else {
        writeln!(super::out::errors(), "{what} is built for the first time, which takes a minute:")?;
    }
    let what = what.to_lowercase();
    let status = cargo.status().with_context(|| format!("cargo, which builds {what}, cannot be started"))?;
    ensure!(status.success(), "{what} could not be built: cargo says why");
    become_it(Command::new(program).args(std::env::args_os().skip(1)))
}

/// The folder of the sources: where the program was started, or else where it was built.
fn project(sources: &str) -> anyhow::Result<PathBuf> {
    let here = shelf::root().ok();
    let mut folders = here.into_iter().chain([PathBuf::from(env!("CARGO_MANIFEST_DIR"))]);
    folders
        .find(|folder| folder.join(sources).join("Cargo.toml").is_file())
        .ok_or_else(|| anyhow!("there is no {sources} here; start kubestep in the folder of its sources"))
}

#[cfg(unix)]
fn become_it(program: &mut Command) -> anyhow::Result<()> {
    Err(std::os::unix::process::CommandExt::exec(program)).context("the program cannot be started")
}

#[cfg(not(unix))]
fn become_it(program: &mut Command) -> anyhow::Result<()> {
    let status = program.status().context("the program cannot be started")?;
    std::process::exit(status.code().unwrap_or(1))
}
