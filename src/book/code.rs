//! Source that a chapter shows: an item by its name, or what stands between two anchors. Never by line numbers, which
//! move; what is gone fails the build. So does a line that is too wide for a page, and much source without notes.
//!
//! ```text
//! src/controllers/replicaset/mod.rs#reconcile         a function, struct, enum, trait, type, const, static or mod
//! src/engine/lib.rs#Engine::step                      a function of an impl
//! src/scheduler/lib.rs#queue                          // ANCHOR: queue … // ANCHOR_END: queue
//! ```
//!
//! Notes stand in the block, see [`notes`].

use std::path::Path;

use super::block::{Block, Mistake};
use super::fold::{WIDTH, fold};
use super::{html, notes, source};

/// More lines than these are read with notes only.
const LINES: usize = 30;

/// Lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The number of the first.
    pub line: usize,
    /// The lines, shifted to the left margin.
    pub text: String,
}

/// The block as HTML: where the lines stand, the lines, and the notes on them. `root` is the project's folder, `base` where its
/// files can be read on the web; where that is not said, the book has a page for the file.
pub fn render(block: &Block, root: &Path, base: Option<&str>) -> Result<String, Mistake> {
    block.only(&["title", "docs"])?;
    let asked = block.word("src/path.rs#item")?;
    let (path, item) = asked.split_once('#').ok_or_else(|| block.mistake("write src/path.rs#item"))?;
    let outside = Path::new(path).components().any(|part| !matches!(part, std::path::Component::Normal(_)));
    if outside {
        return Err(block.mistake(format!("{path} is no path within the project")));
    }
    let text = std::fs::read_to_string(root.join(path)).map_err(|error| block.mistake(format!("{path}: {error}")))?;
    let excerpt =
        find(&text, item, block.option("docs").is_some()).map_err(|why| block.mistake(format!("{path}: {why}")))?;
    let is_rust = path.ends_with(".rs");
    let shown = if is_rust { fold(&excerpt.text) } else { excerpt.text };
    if let Some(wide) = shown.lines().find(|line| line.chars().count() > WIDTH) {
        return Err(block.mistake(format!("{path}: {:?} is wider than {WIDTH} columns", wide.trim())));
    }
    let notes = notes::read(block, &shown)?;
    let count = shown.lines().count();
    if notes.is_empty() && count > LINES {
        return Err(block.mistake(format!("{count} lines: write notes on three or four of them, or show fewer")));
    }
    let address = match base {
        Some(base) if !["https://", "http://"].iter().any(|scheme| base.starts_with(scheme)) => {
            return Err(block.mistake(format!("book.toml: source = {base:?} is no address of the web")));
        }
        Some(base) => format!("{base}/{path}#L{}", excerpt.line),
        None => source::address(path, excerpt.line),
    };
    let place = html::text(&format!("{path}:{}", excerpt.line));
    let title = block.option("title").map_or(String::new(), |title| format!(" <em>{}</em>", html::prose(title)));
    let language = if is_rust { "rust ignore" } else { path.rsplit('.').next().unwrap_or("text") };
    Ok(format!(
        "<div class=\"ks-code\"><div class=\"ks-code-place\"><a href=\"{}\">{place}</a>{title}</div>\
         <pre><code class=\"language-{language}\">{}</code></pre>{}</div>\n",
        html::text(&address),
        notes::mark(&shown, &notes),
        notes::list(&notes)
    ))
}

/// An item, or what stands between anchors of that name. With `docs`, an item's comments and attributes too.
pub fn find(text: &str, item: &str, docs: bool) -> Result<Excerpt, String> {
    let lines: Vec<&str> = text.lines().collect();
    if let Some(found) = anchored(&lines, item) {
        return found;
    }
    let (owner, name) = item.rsplit_once("::").map_or((None, item), |(owner, name)| (Some(owner), name));
    let range = match owner {
        Some(owner) => impls(&lines, owner),
        None => vec![(0, lines.len())],
    };
    let heads: Vec<usize> =
        range.iter().flat_map(|(from, to)| (*from..*to).filter(|n| declares(lines[*n], name))).collect();
    match heads.as_slice() {
        [head] => Ok(cut(&lines, if docs { above(&lines, *head) } else { *head }, end(&lines, *head))),
        [] => Err(format!("there is no item and no anchor {item:?}")),
        many => {
            let places: Vec<String> = many.iter().map(|n| (n + 1).to_string()).collect();
            Err(format!("{item:?} is declared in lines {}; write Type::{name}", places.join(", ")))
        }
    }
}

fn anchored(lines: &[&str], name: &str) -> Option<Result<Excerpt, String>> {
    let mark = |line: &str, word: &str| {
        let said = line.trim().strip_prefix("//").or_else(|| line.trim().strip_prefix('#')).map(str::trim);
        said.and_then(|said| said.strip_prefix(word)).is_some_and(|rest| rest.trim() == name)
    };
    let from = lines.iter().position(|line| mark(line, "ANCHOR:"))?;
    let length = lines[from..].iter().position(|line| mark(line, "ANCHOR_END:"));
    Some(match length {
        Some(length) if length > 1 => Ok(cut(lines, from + 1, from + length - 1)),
        Some(_) => Err(format!("nothing stands between the anchors {name:?}")),
        None => Err(format!("the anchor {name:?} has no ANCHOR_END")),
    })
}

/// The lines between the braces of each `impl` of a type, and of a trait of that name.
fn impls(lines: &[&str], owner: &str) -> Vec<(usize, usize)> {
    let of = |line: &&str| {
        let head = line.trim_start().trim_start_matches("pub ").trim_start_matches("unsafe ");
        let Some(rest) = head.strip_prefix("impl").or_else(|| head.strip_prefix("trait ")) else { return false };
        rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == owner)
    };
    (0..lines.len()).filter(|n| of(&lines[*n])).map(|n| (n + 1, end(lines, n))).collect()
}

/// The words that may stand before an item's name.
const KINDS: [&str; 9] = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "macro_rules!"];

fn declares(line: &str, name: &str) -> bool {
    let text = line.trim_start();
    if text.starts_with("//") {
        return false;
    }
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let before = word.starts_with("pub") || ["async", "unsafe", "default", "extern"].contains(&word);
        if KINDS.contains(&word) {
            // `const fn name` has two.
            let next = words.next().unwrap_or_default();
            let next = if next == "fn" { words.next().unwrap_or_default() } else { next };
            return next.split(|c: char| !(c.is_alphanumeric() || c == '_')).next() == Some(name);
        }
        if !before {
            return false;
        }
    }
    false
}

/// The last line of the item whose head is at `head`: what closes it stands under its first letter.
fn end(lines: &[&str], head: usize) -> usize {
    let indent = &lines[head][..lines[head].len() - lines[head].trim_start().len()];
    let closes = |line: &&str| {
        line.strip_prefix(indent).is_some_and(|rest| rest.starts_with(['}', ']']) || rest.starts_with(");"))
            && (line.trim_end().ends_with(['}', ';', ']']))
    };
    if lines[head].trim_end().ends_with([';', '}']) {
        return head;
    }
    lines[head..].iter().position(closes).map_or(head, |more| head + more)
}

/// The first line of the comments and attributes above an item.
fn above(lines: &[&str], head: usize) -> usize {
    let belongs = |line: &str| line.trim_start().starts_with("///") || line.trim_start().starts_with("#[");
    (0..head).rev().take_while(|n| belongs(lines[*n])).last().unwrap_or(head)
}

fn cut(lines: &[&str], from: usize, to: usize) -> Excerpt {
    let shown: Vec<&&str> = lines[from..=to].iter().filter(|line| !line.contains("// ANCHOR")).collect();
    let margin = shown.iter().filter(|line| !line.trim().is_empty()).map(|line| line.len() - line.trim_start().len());
    let margin = margin.min().unwrap_or_default();
    let text = shown.iter().map(|line| format!("{}\n", line.get(margin..).unwrap_or_default())).collect();
    Excerpt { line: from + 1, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
/// A queue.
#[derive(Debug)]
pub struct Queue {
    keys: Vec<String>,
}

const SIZE: usize = 3;
const TABLE: &[&str] = &[
    \"a\",
];

impl Queue {
    /// Adds.
    pub(crate) async fn add(
        &mut self,
    ) -> usize {
        // ANCHOR: body
        if true {
            1
        }
        // ANCHOR_END: body
    }

    pub const fn len(&self) -> usize {
        0
    }
}

impl Clone for Other {
    fn len(&self) {}
}
// ANCHOR: open
";

    fn text(item: &str) -> Result<String, String> {
        find(SOURCE, item, false).map(|excerpt| excerpt.text)
    }

    #[test]
    fn items_and_anchors_are_found_whole() {
        assert_eq!(text("Queue").as_deref(), Ok("pub struct Queue {\n    keys: Vec<String>,\n}\n"));
        assert_eq!(text("SIZE").as_deref(), Ok("const SIZE: usize = 3;\n"));
        assert_eq!(text("TABLE").as_deref(), Ok("const TABLE: &[&str] = &[\n    \"a\",\n];\n"));
        assert_eq!(text("body").as_deref(), Ok("if true {\n    1\n}\n"));
        assert_eq!(text("Queue::len").as_deref(), Ok("pub const fn len(&self) -> usize {\n    0\n}\n"));
        assert!(text("add").is_ok_and(|text| text.ends_with("    }\n}\n") && !text.contains("ANCHOR")));
        let with_docs = find(SOURCE, "Queue", true).map(|excerpt| (excerpt.line, excerpt.text.lines().count()));
        assert_eq!(with_docs, Ok((1, 5)));
    }

    #[test]
    fn what_is_missing_or_not_clear_is_said() {
        assert!(text("nobody").is_err_and(|why| why.contains("no item and no anchor")));
        assert!(text("len").is_err_and(|why| why.contains("Type::len")));
        assert!(text("open").is_err_and(|why| why.contains("ANCHOR_END")));
        assert!(text("Nobody::len").is_err());
    }
}
