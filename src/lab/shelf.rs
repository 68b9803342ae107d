//! The files of the exercises. What is handed out is `stub.rs`; the learner's own file, `src/lib.rs`, is made from it and
//! is not part of the repository, so that an update never meets a learner's work, and no work gets into a commit.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Exercise, Failure, TABLE, Verdict, name_of};

/// The line below which a learner writes. Above it, stub and solution are the same.
pub const MARK: &str = "// Yours from here.";

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
    let code = |line: &&str| line.split("//").next().unwrap_or_default().contains("lab::not_started()");
    text.lines().filter(code).count()
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
/// Names the file.
pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// Writes a text file.
///
/// # Errors
/// Names the file.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, text)).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}
