//! Pages of the source that chapters show parts of, so that a reader can go on reading around it without a network, in the version
//! that the book was built from.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;

use super::html;

/// The folder of these pages in a book.
const FOLDER: &str = "source/";

/// Where a page of the book finds a line of a file.
pub fn address(path: &str, line: usize) -> String {
    format!("{FOLDER}{path}.html#L{line}")
}

/// Writes a page for each file that the page of a book leads to.
///
/// # Errors
/// Which file cannot be read or written.
pub fn write(linked: &BTreeSet<String>, project: &Path, dest: &Path) -> anyhow::Result<()> {
    for path in linked {
        let text = fs::read_to_string(project.join(path)).with_context(|| format!("{path} cannot be read"))?;
        let file = dest.join(format!("{FOLDER}{path}.html"));
        fs::create_dir_all(file.parent().unwrap_or(dest))?;
        fs::write(&file, page(path, &text)).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

/// The files that a page leads to.
pub fn linked(page: &str) -> impl Iterator<Item = String> {
    let links = page.split(&format!("href=\"{FOLDER}")).skip(1).map(str::to_owned).collect::<Vec<_>>();
    links.into_iter().filter_map(|rest| rest.split_once(".html#L").map(|(path, _)| path.to_owned()))
}

/// A file with a number for each line.
fn page(path: &str, text: &str) -> String {
    let line = |(n, line): (usize, &str)| format!("<a id=\"L{n}\" href=\"#L{n}\">{n:>5}</a>  {}\n", html::text(line));
    let (path, version) = (html::text(path), env!("CARGO_PKG_VERSION"));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{path} (kubestep {version})</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head>\
         <body><main><h1>{path}</h1><p>kubestep {version}</p><pre tabindex=\"0\">{}</pre></main></body></html>\n",
        (1..).zip(text.lines()).map(line).collect::<String>()
    )
}

const STYLE: &str = ":root{color-scheme:light dark}body{margin:1em}h1{font:600 1.1em monospace}\
pre{overflow:auto;line-height:1.45}a{color:inherit;opacity:.75;text-decoration:none;user-select:none;scroll-margin:30vh}\
a:target{opacity:1;font-weight:700;outline:2px solid}";
