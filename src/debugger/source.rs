//! The lines of code at which a component waits.

use std::sync::OnceLock;

use engine::Place;

/// A few lines of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// `src/controllers/replicaset/mod.rs`.
    pub file: String,
    /// The line that waits.
    pub line: u32,
    /// Line numbers and texts; empty where the source is not at hand.
    pub lines: Vec<(u32, String)>,
}

/// The line at `place` with `around` lines before and after it.
pub fn excerpt(place: &Place, around: u32) -> Excerpt {
    lines(&place.file.replace('\\', "/"), place.line, around)
}

/// A line of a file, as the compiler names it, with `around` lines before and after it.
pub fn lines(file: &str, line: u32, around: u32) -> Excerpt {
    let text = read(file);
    let (from, to) = (line.saturating_sub(around).max(1), line + around);
    let numbered = (1u32..).zip(text.lines());
    let lines = numbered.filter(|(n, _)| (from..=to).contains(n)).map(|(n, line)| (n, line.to_owned())).collect();
    Excerpt { file: file.to_owned(), line, lines }
}

/// The lines at which code that stands at `line` of `file` may come to wait: from there to the end of its function.
/// `file` may be the end of a path. The answer names the file as the compiler does.
pub fn waiting_line(file: &str, line: u32) -> Result<(String, u32, u32), String> {
    let ending = format!("/{}", file.trim_start_matches("./"));
    let found: Vec<String> = files().into_iter().filter(|path| format!("/{path}").ends_with(&ending)).collect();
    let path = match found.as_slice() {
        [path] => path.clone(),
        [] => return Err(format!("there is no source file {file:?}")),
        many => return Err(format!("{file:?} may be {}; write more of the path", many.join(" or "))),
    };
    let text = read(&path);
    let lines: Vec<&str> = text.lines().collect();
    let count = lines.len();
    let Some(at) = (line as usize).checked_sub(1).filter(|at| *at < count) else {
        return Err(format!("{path} has {count} lines, so there is no line {line}"));
    };
    let Some(end) = (0..=at).rev().filter(|head| is_head(lines[*head])).map(|head| end_of(&lines, head)).next() else {
        return Err(format!("line {line} of {path} is in no function"));
    };
    match lines[at..=end.max(at)].iter().any(|line| waits(line)) {
        true if end >= at => Ok((path, line, end as u32 + 1)),
        _ => Err(format!("nothing waits in {path} from line {line} on: steps end where a function says .await")),
    }
}

fn is_head(line: &str) -> bool {
    let line = line.trim_start();
    !line.starts_with("//") && (line.starts_with("fn ") || line.contains(" fn "))
}

fn waits(line: &str) -> bool {
    !line.trim_start().starts_with("//") && line.contains(".await")
}

/// The last line of the function whose head is at `head`: the brace that closes it stands under its first letter.
fn end_of(lines: &[&str], head: usize) -> usize {
    let indent = &lines[head][..lines[head].len() - lines[head].trim_start().len()];
    let closes = |line: &&str| line.strip_prefix(indent).is_some_and(|rest| rest.starts_with('}'));
    lines[head..].iter().position(closes).map_or(head, |more| head + more)
}

/// Every function of this name that waits somewhere: file, first and last line.
pub fn functions(name: &str) -> Result<Vec<(String, u32, u32)>, String> {
    let heads = [format!("fn {name}("), format!("fn {name}<")];
    let (mut found, mut silent) = (Vec::new(), false);
    for path in files() {
        let text = read(&path);
        let lines: Vec<&str> = text.lines().collect();
        for at in (0..lines.len()).filter(|at| heads.iter().any(|head| lines[*at].contains(head))) {
            let end = end_of(&lines, at);
            if lines[at..=end].iter().any(|line| waits(line)) {
                found.push((path.clone(), at as u32 + 1, end as u32 + 1));
            } else {
                silent = true;
            }
        }
    }
    match (found.is_empty(), silent) {
        (false, _) => Ok(found),
        (_, true) => Err(format!("fn {name} never waits, so no step ends in it: steps end where code says .await")),
        _ => Err(format!("there is no function {name:?} in the source at hand")),
    }
}

/// The program's own source, where a face has it at hand: a terminal in the project's folder, a page on its server. It is one
/// for the whole program.
pub trait Sources: Send + Sync {
    /// A file, as the compiler names it.
    fn read(&self, file: &str) -> Option<String>;

    /// All files, as the compiler names them.
    fn files(&self) -> Vec<String>;
}

static SOURCES: OnceLock<&'static dyn Sources> = OnceLock::new();

/// Says where the program's source is. What was said first holds.
pub fn provide(sources: &'static dyn Sources) {
    let _ = SOURCES.set(sources);
}

fn files() -> Vec<String> {
    SOURCES.get().map_or(Vec::new(), |sources| sources.files())
}

fn read(file: &str) -> String {
    SOURCES.get().and_then(|sources| sources.read(file)).unwrap_or_default()
}
