//! The files of the exercises. What is handed out is `stub.rs`; the learner's own file, `src/lib.rs`, is made from it and
//! is not part of the repository, so that an update never meets a learner's work, and no work gets into a commit.

use std::fs;
use std::path::{Path, PathBuf};

use super::row::name_of;
use super::{Exercise, Failure, TABLE, Verdict};

/// The line below which a learner writes. Above it, stub and solution are the same.
pub const MARK: &str = "// Yours from here.";

/// No file that is read here has more bytes.
const LONGEST: u64 = 4 << 20;

/// The folder of the project: the first above the current one that has exercises.
///
/// # Errors
/// Says where it has looked, and what to do.
pub fn root() -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|error| format!("there is no current folder: {error}"))?;
    let is_root = |path: &&Path| path.join("exercises").is_dir() && path.join("solutions").is_dir();
    let found = here.ancestors().find(is_root).map(Path::to_owned);
    found.ok_or_else(|| format!("no exercises in {} or above it: run this in the project's folder", here.display()))
}

/// The file that the learner edits.
pub fn file(root: &Path, exercise: &Exercise) -> PathBuf {
    root.join("exercises").join(exercise.folder).join("src/lib.rs")
}

/// The answer.
pub fn solution(root: &Path, exercise: &Exercise) -> PathBuf {
    root.join("solutions").join(exercise.folder).join("src/lib.rs")
}

/// The run in which the learner's solution failed last, for `kubestep step --replay`.
pub fn run(root: &Path, exercise: &Exercise) -> PathBuf {
    root.join("exercises").join(exercise.folder).join("failing.kubestep")
}

/// Keeps the run in which a solution failed; there is none otherwise.
///
/// # Errors
/// That it could not be written.
pub fn keep_run(root: &Path, exercise: &Exercise, verdict: &Verdict) -> Result<(), String> {
    match verdict {
        Verdict::Fails(Failure { replay: Some(replay), .. }) => write(&run(root, exercise), &replay.text),
        _ => {
            let _ = fs::remove_file(run(root, exercise));
            Ok(())
        }
    }
}

/// Hands out what is not there yet. What a learner has made is left alone; if its exercise has another number by now, it
/// goes along.
///
/// # Errors
/// Which file could not be written.
pub fn hand_out(root: &Path) -> Result<(), String> {
    for exercise in TABLE {
        let file = file(root, exercise);
        if !file.exists() {
            let before = left_over(root).into_iter().find(|(folder, _)| name_of(folder) == exercise.name());
            let text = before.as_ref().map_or_else(|| stub(root, exercise), |(_, before)| read(before))?;
            write(&file, &text)?;
            if let Some((_, before)) = before {
                fs::remove_file(&before).map_err(|error| format!("{} cannot go: {error}", before.display()))?;
            }
        }
    }
    Ok(())
}

/// Learners' files in folders that are no exercise's any more, with the folders' names.
pub fn left_over(root: &Path) -> Vec<(String, PathBuf)> {
    let folders = fs::read_dir(root.join("exercises")).into_iter().flatten().filter_map(Result::ok);
    let names = folders.filter_map(|folder| folder.file_name().into_string().ok());
    let is_left = |name: &String| TABLE.iter().all(|exercise| exercise.folder != name);
    let left = names.filter(is_left).map(|name| (root.join("exercises").join(&name).join("src/lib.rs"), name));
    let mut left: Vec<_> = left.filter(|(file, _)| file.exists()).map(|(file, name)| (name, file)).collect();
    left.sort();
    left
}

/// The file as it is handed out.
///
/// # Errors
/// Which file could not be read.
pub fn stub(root: &Path, exercise: &Exercise) -> Result<String, String> {
    read(&root.join("exercises").join(exercise.folder).join("stub.rs"))
}

/// Whether all was written: a file that says somewhere that it is not started is not.
///
/// # Errors
/// That the file could not be read.
pub fn is_started(root: &Path, exercise: &Exercise) -> Result<bool, String> {
    Ok(left_open(&read(&file(root, exercise))?) == 0)
}

/// How many places of a file say that nothing was written there.
pub fn left_open(text: &str) -> usize {
    code_of(text).matches("not_started()").count()
}

/// Whether a file has a static that can change: what is kept there stays when the cluster goes back to try another order.
pub fn keeps_statics(text: &str) -> bool {
    let code = code_of(text);
    let changes =
        |kind: &str| ["Mutex", "RwLock", "Atomic", "Once", "Lazy", "Cell"].iter().any(|word| kind.contains(word));
    let statics =
        code.split("static ").skip(1).filter(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()));
    let is_bare = code.contains("thread_local!") || code.contains("static mut ");
    is_bare || statics.filter_map(|rest| rest.split(['=', ';']).next()).any(changes)
}

/// Whether a file lets time pass.
pub fn sleeps(text: &str) -> bool {
    code_of(text).contains("sleep(")
}

/// A Rust file without comments, and without what stands in strings. Of raw strings only those are known that have no `"`
/// in them.
fn code_of(text: &str) -> String {
    code(text, false)
}

/// A Rust file without comments.
pub fn without_comments(text: &str) -> String {
    code(text, true)
}

fn code(text: &str, with_strings: bool) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['"', '/', '\'']) {
        code += &rest[..at];
        let from = &rest[at..];
        let (length, is_kept) = match from.as_bytes() {
            [b'/', b'/', ..] => (from.find('\n').unwrap_or(from.len()), false),
            [b'/', b'*', ..] => (block_comment(from), false),
            [b'"', ..] => (string(from), with_strings),
            // A quote as a character, which begins no string.
            [b'\'', b'"', b'\'', ..] => (3, with_strings),
            [b'\'', b'\\', _, b'\'', ..] => (4, with_strings),
            _ => (1, true),
        };
        if is_kept {
            code.push_str(&from[..length]);
        }
        rest = &from[length..];
    }
    code + rest
}

/// How long the comment is that the text begins with; comments may have comments in them.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        match &text.as_bytes()[at..] {
            [] => return at,
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
}

/// How long the string is that the text begins with.
fn string(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Hands the file out anew; what was there is kept beside it. Gives the path of that.
///
/// # Errors
/// Which file could not be read or written.
pub fn reset(root: &Path, exercise: &Exercise) -> Result<PathBuf, String> {
    let file = file(root, exercise);
    let kept = keep(&file, "rs.txt")?;
    write(&file, &stub(root, exercise)?)?;
    Ok(kept)
}

/// Keeps a copy of a file beside it: `before-1.ENDING`. Gives its path.
///
/// # Errors
/// Which file could not be read or written.
pub fn keep(file: &Path, ending: &str) -> Result<PathBuf, String> {
    let copy = (1..).map(|n| file.with_file_name(format!("before-{n}.{ending}"))).find(|path| !path.exists());
    let copy = copy.ok_or("there are too many copies")?;
    write(&copy, &read(file)?)?;
    Ok(copy)
}

/// Reads a text file.
///
/// # Errors
/// Names the file, and what is wrong with it.
pub fn read(path: &Path) -> Result<String, String> {
    let wrong = |what: &dyn std::fmt::Display| format!("{} cannot be read: {what}", path.display());
    let file = fs::metadata(path).map_err(|error| wrong(&error))?;
    if !file.is_file() || file.len() > LONGEST {
        return Err(wrong(&format!("it is no file of at most {} MiB", LONGEST >> 20)));
    }
    let bytes = fs::read(path).map_err(|error| wrong(&error))?;
    String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
        wrong(&format!("line {line} has something in it that is no UTF-8"))
    })
}

/// Writes a text file.
///
/// # Errors
/// Names the file.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, text)).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_left_open() {
        for (text, open) in [
            ("fn f() { kubestep_exercise::not_started() }", 1),
            ("fn f() { exercise::not_started() }\nfn g() { exercise::not_started() }", 2),
            ("// exercise::not_started()\nfn f() {}", 0),
            ("/* exercise::not_started() /* */ exercise::not_started() */ fn f() {}", 0),
            ("fn f() { g(\"exercise::not_started() \\\" exercise::not_started()\") }", 0),
            ("const A: char = '\"'; fn f() { exercise::not_started() } const B: char = '\"';", 1),
            ("fn f<'a>(x: &'a str) { 1 / 2; exercise::not_started() } /*", 1),
            ("const C: [char; 2] = ['\\'', '\"']; fn f() { exercise::not_started() } const S: &str = \"ä", 1),
        ] {
            assert_eq!(left_open(text), open, "{text}");
        }
    }

    #[test]
    fn a_static_that_changes_is_seen() {
        for (text, keeps) in [
            ("static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());", true),
            ("fn f() { static COUNT: AtomicU32 = AtomicU32::new(0); }", true),
            ("thread_local! { static SEEN: RefCell<u32> = RefCell::default(); }", true),
            ("static mut COUNT: u32 = 0;", true),
            ("static NAME: &str = \"Mutex\";", false),
            ("fn f(text: &'static str, cell: Cell<u32>) {}", false),
            ("// static SEEN: Mutex<u32> = Mutex::new(0);", false),
        ] {
            assert_eq!(keeps_statics(text), keeps, "{text}");
        }
    }

    #[test]
    fn only_code_sleeps() {
        assert!(sleeps("fn f() { thread::sleep(A_WHILE) }") && !sleeps("// sleep(now)\nfn f() {}"));
    }

    #[test]
    fn what_is_no_text_is_told_with_its_line() {
        let path = std::env::temp_dir().join(format!("kubestep-shelf-{}", std::process::id()));
        fs::write(&path, b"one\ntwo\xff\n").expect("there is room");
        assert!(read(&path).unwrap_err().ends_with("line 2 has something in it that is no UTF-8"));
        fs::remove_file(&path).expect("it is there");
        assert!(read(&std::env::temp_dir()).unwrap_err().contains("no file of at most 4 MiB"));
    }
}
