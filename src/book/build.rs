//! The whole book, with mdBook as a library.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use mdbook_driver::MDBook;
use mdbook_driver::config::Config;

use super::mdbook::Plugin;
use super::source;

/// The folder of the book: in the folder where the program was started, or else where it was built.
///
/// # Errors
/// There is none.
pub fn find() -> anyhow::Result<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book");
    let here = PathBuf::from("book");
    let found = [here, built].into_iter().find(|folder| folder.join("book.toml").is_file());
    found.context("there is no book/book.toml here; start kubestep in the folder of its sources")
}

/// A bar for a build, where a person waits for it; else one that is not shown.
pub fn bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} chapter {pos} of {len} ({elapsed}) {wide_msg}");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Builds the book in `root` into `dest`. `program` is what its transcripts run; `bar` shows how far it has come.
///
/// # Errors
/// Says what is wrong, with chapter and line where it is in one.
pub fn build(root: &Path, dest: &Path, program: &Path, bar: &ProgressBar) -> anyhow::Result<()> {
    let file = root.join("book.toml");
    let mut config = Config::from_disk(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    // What it names there is this program, which is here already.
    let source = config.get::<String>("preprocessor.kubestep.source")?;
    config.set("preprocessor", BTreeMap::<String, String>::new())?;
    if let Some(source) = source {
        config.set("preprocessor.kubestep.source", source)?;
    }
    config.build.build_dir = std::path::absolute(dest)?;
    ensure_writable(&config.build.build_dir)?;
    let mut book = MDBook::load_with_config(root, config)?;
    book.with_preprocessor(Plugin::new(program.to_owned()).with_bar(bar.clone()));
    let built = book.build();
    bar.finish_and_clear();
    built?;
    finish(dest, &root.join(".."))
}

/// What mdBook does not do: pages of the source that chapters lead to, and at the beginning of each page a link past the menus,
/// for readers who go by keys. mdBook has no place in its templates that comes before its own sidebar.
fn finish(dest: &Path, project: &Path) -> anyhow::Result<()> {
    const LINK: &str = "<body>\n<a class=\"ks-skip\" href=\"#mdbook-content\">Skip to the text</a>";
    let mut linked = BTreeSet::new();
    for entry in std::fs::read_dir(dest)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "html") {
            let page = std::fs::read_to_string(&path)?;
            linked.extend(source::linked(&page));
            std::fs::write(&path, page.replacen("<body>", LINK, 1))?;
        }
    }
    source::write(&linked, project, dest)
}

/// Says at once that nothing can be written there, and what else can be done.
fn ensure_writable(dest: &Path) -> anyhow::Result<()> {
    let probe = dest.join(".kubestep");
    let written = std::fs::create_dir_all(dest).and_then(|()| std::fs::write(&probe, ""));
    let _ = std::fs::remove_file(&probe);
    let error = written.err().map(|error| error.to_string());
    ensure!(
        error.is_none(),
        "the book cannot be written into {}: {}; name another folder with --dest",
        dest.display(),
        error.unwrap_or_default()
    );
    Ok(())
}
