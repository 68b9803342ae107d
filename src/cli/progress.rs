//! `kubestep progress`: how long each exercise took, for oneself or, from many exports, for a class; and who of it is where.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};

use lab::progress::{self, Export};
use lab::{TABLE, shelf};
use object::nesting;

/// How often a board looks for exports.
const LOOK: Duration = Duration::from_millis(500);

/// What to do with it.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Write it into this file, to be handed to a teacher.
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// The name that stands in the export; the user's unless given.
    #[arg(long = "as", value_name = "NAME", requires = "export")]
    name: Option<String>,
    /// Take over what has passed on another machine.
    #[arg(long, value_name = "FILE", conflicts_with = "export")]
    import: Option<PathBuf>,
    /// Many exports as one table: the minutes that each learner took for each exercise.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["export", "import"])]
    table: Vec<PathBuf>,
    /// Who is where, of all the exports in this folder, and again whenever one comes or changes; Ctrl-C ends it.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["export", "import", "table"])]
    board: Option<PathBuf>,
}

/// `kubestep progress`: prints, exports, imports or tabulates what was solved, and when.
pub fn command(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<()> {
    if !arguments.table.is_empty() {
        let mut exports = arguments.table.iter().map(|file| read(file)).collect::<anyhow::Result<Vec<_>>>()?;
        exports.sort_by(|a, b| a.name.cmp(&b.name));
        return Ok(write!(out, "{}", progress::table(&exports))?);
    }
    if let Some(folder) = &arguments.board {
        return board(folder, out);
    }
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    if let Some(file) = &arguments.import {
        let count = progress::import(&root, &read(file)?).map_err(|error| anyhow!(error))?;
        return Ok(writeln!(out, "{count} exercises that had not passed here have passed there.")?);
    }
    if let Some(file) = &arguments.export {
        let user = || ["USER", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
        let name = arguments.name.clone().or_else(user).unwrap_or_else(|| "unnamed".to_owned());
        let text = serde_yaml::to_string(&Export { name, exercises: progress::load(&root) })?;
        shelf::write(file, &text).map_err(|error| anyhow!(error))?;
        return Ok(writeln!(out, "Written to {}.", file.display())?);
    }
    own(&root, out)
}

/// Shows a board of a folder's exports until it is ended, whenever it is another than before. A file that cannot be read is named
/// below it: it may be half written.
fn board(folder: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut before = String::new();
    loop {
        let now = board_of(folder)?;
        if now != before {
            super::out::clear()?;
            write!(out, "{now}")?;
            out.flush()?;
            before = now;
        }
        std::thread::sleep(LOOK);
    }
}

fn board_of(folder: &Path) -> anyhow::Result<String> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let is_export = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml") && path.is_file();
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_export).collect();
    files.sort();
    let (mut exports, mut unread) = (Vec::new(), String::new());
    for file in &files {
        match read(file) {
            Ok(export) => exports.push(export),
            Err(error) => unread += &format!("{error:#}\n"),
        }
    }
    exports.sort_by(|a, b| a.name.cmp(&b.name));
    if exports.is_empty() {
        let come = "progress --export FILE.yaml writes one";
        return Ok(format!("{}: no exports are here yet; {come}\n{unread}", folder.display()));
    }
    Ok(progress::board(&exports) + &unread)
}

fn read(file: &Path) -> anyhow::Result<Export> {
    let text = shelf::read(file).map_err(|error| anyhow!(error))?;
    nesting::check(&text).map_err(|error| anyhow!("{}: {error}", file.display()))?;
    serde_yaml::from_str(&text).with_context(|| format!("{} is not an export of progress", file.display()))
}

fn own(root: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let progress = progress::load(root);
    for exercise in TABLE {
        let Some(record) = progress.get(exercise.name()) else { continue };
        let gradings = format!("{} grading{}", record.attempts, if record.attempts == 1 { "" } else { "s" });
        let how = match record.minutes() {
            _ if record.is_given() => "handed out".to_owned(),
            Some(minutes) => format!("passed after {minutes} min and {gradings}"),
            None => format!("not yet, after {gradings}"),
        };
        writeln!(out, "{:<18} {how}; most people take {} min", exercise.folder, exercise.minutes)?;
    }
    let passed = TABLE.iter().filter(|one| progress.get(one.name()).is_some_and(|record| record.passes())).count();
    Ok(writeln!(out, "{passed} of {} have passed.", TABLE.len())?)
}
