//! `kubestep pack`: the project and all crates in one folder or archive, from which people without network can start; and this
//! program, so that they compile their exercises and nothing else.
//!
//! Left out: Rust itself, which they need to have. The program runs on machines of the kind that it was built on.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow, ensure};

use lab::{TABLE, progress, shelf};

use super::tar;

/// Makes cargo take all crates from the folder beside it and never ask the network.
const CONFIG: &str = "\
[source.crates-io]
replace-with = \"vendored\"

[source.vendored]
directory = \"vendor\"

[net]
offline = true
";

/// Where the program is put.
const PROGRAM: &str = "bin";

/// What to pack, and where.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A folder that is not there yet; or an archive, whose name ends with .tar.
    to: PathBuf,
    /// With this program, as bin/kubestep: then only exercises are compiled.
    #[arg(long)]
    with_program: bool,
}

/// `pack FOLDER|FILE.tar`: it must not be there.
///
/// # Errors
/// What is there, or cannot be read, written or collected.
pub fn command(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let to = &arguments.to;
    ensure!(!to.exists(), "{} is there already: name one that is not", to.display());
    if to.extension().is_none_or(|ending| ending != "tar") {
        pack(to, arguments.with_program, out)?;
        return told(to, "Give it to the others. In it they type:", arguments.with_program, out);
    }
    // The folder that comes out of the archive is called as the archive is.
    let name = to.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = to.with_extension("parts");
    ensure!(!folder.exists(), "{} is there already, left by another pack: remove it", folder.display());
    let packed = pack(&folder, arguments.with_program, out).and_then(|()| {
        let mut archive =
            BufWriter::new(fs::File::create(to).with_context(|| format!("{} cannot be made", to.display()))?);
        let written = tar::write(&folder, &name, &mut archive).and_then(|()| archive.flush());
        written.with_context(|| format!("{} cannot be written", to.display()))
    });
    let _ = fs::remove_dir_all(&folder);
    if packed.is_err() {
        // Half of an archive would be taken for one.
        let _ = fs::remove_file(to);
    }
    packed?;
    told(
        to,
        &format!("Give it to the others. They type:\n  tar -xf {name}.tar\n  cd {name}"),
        arguments.with_program,
        out,
    )
}

fn told(to: &Path, first: &str, with_program: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let program = if with_program { format!("{PROGRAM}/kubestep") } else { "cargo run --".to_owned() };
    writeln!(out, "{} has all that is needed except Rust. {first}", to.display())?;
    writeln!(out, "  {program} doctor")?;
    Ok(writeln!(out, "  {program} learn")?)
}

fn pack(folder: &Path, with_program: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let folder = &folder.canonicalize()?;
    let own = |path: &Path| is_own(&root, path) || path == folder;
    copy(&root, folder, &own)?;
    writeln!(out, "The crates are being collected; those that are missing are fetched.")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let vendored = Command::new(cargo)
        .current_dir(&root)
        .args(["vendor", "--quiet", "--locked", "--versioned-dirs"])
        .arg(folder.join("vendor"))
        .output()
        .context("cargo cannot be started")?;
    let said = String::from_utf8_lossy(&vendored.stderr);
    ensure!(vendored.status.success(), "cargo cannot collect the crates:\n{}", said.trim());
    shelf::write(&folder.join(".cargo/config.toml"), CONFIG).map_err(|error| anyhow!(error))?;
    if with_program {
        let own = std::env::current_exe().context("this program's own file cannot be found")?;
        let place = folder.join(PROGRAM).join(format!("kubestep{}", std::env::consts::EXE_SUFFIX));
        fs::create_dir_all(folder.join(PROGRAM))?;
        fs::copy(&own, &place).with_context(|| format!("{} cannot be copied", own.display()))?;
    }
    Ok(())
}

/// Whether a path is this machine's or this learner's own, and no part of the project.
fn is_own(root: &Path, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let places = ["target", ".git", ".cargo", "out", "vendor"].map(|name| root.join(name));
    places.iter().any(|place| place == path)
        || name.starts_with("before-")
        || *path == progress::path(root)
        || TABLE.iter().any(|one| *path == shelf::file(root, one) || *path == shelf::run(root, one))
}

fn copy(from: &Path, to: &Path, skip: &dyn Fn(&Path) -> bool) -> anyhow::Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("{} cannot be read", from.display()))? {
        let (entry, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        let Some(name) = entry.file_name().filter(|_| !skip(&entry)) else { continue };
        let to = to.join(name);
        if kind.is_dir() {
            fs::create_dir_all(&to)?;
            copy(&entry, &to, skip)?;
        } else if kind.is_file() {
            fs::copy(&entry, &to).with_context(|| format!("{} cannot be copied", entry.display()))?;
        }
    }
    Ok(())
}
