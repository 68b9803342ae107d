//! `kubestep pack`: the project and all crates in one folder, from which people without network can start.
//!
//! Left out: Rust itself, which they need to have.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, anyhow, ensure};

use lab::{TABLE, progress, shelf};

/// Makes cargo take all crates from the folder beside it and never ask the network.
const CONFIG: &str = "\
[source.crates-io]
replace-with = \"vendored\"

[source.vendored]
directory = \"vendor\"

[net]
offline = true
";

/// `pack FOLDER`: the folder must not be there.
pub fn command(folder: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    ensure!(!folder.exists(), "{} is there already: name a folder that is not", folder.display());
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let folder = &folder.canonicalize()?;
    let own = |path: &Path| is_own(&root, path) || path == folder;
    copy(&root, folder, &own)?;
    writeln!(out, "The crates are being collected; those that are not here yet are fetched.")?;
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
    writeln!(out, "{} has all that is needed except Rust. Give it to the others. In it they type:", folder.display())?;
    writeln!(out, "  cargo run -- doctor")?;
    writeln!(out, "  cargo run -- learn")?;
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
