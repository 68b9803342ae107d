//! Whether what a learner's program is made from is an answer that is shipped with it: the file itself, by a path or a link, or
//! the same words in the same order. Nothing is forbidden by that; it is said, here and in the table of a class.

use std::path::{Path, PathBuf};

use super::{Exercise, building, shelf};

/// Whether a learner's program is made from a file in `solutions/`, or from one that says the same.
pub fn is_shipped(root: &Path, exercise: &Exercise) -> bool {
    let file = shelf::file(root, exercise);
    let made_from = building::made_from(root, exercise).into_iter().chain([file]);
    let its = made_from.map(|path| root.join(path));
    is_one_of(&root.join("solutions").join(exercise.folder), &root.join("solutions"), its)
}

/// Whether one of these files is in the shelf of answers, or has the words of one of this folder.
fn is_one_of(folder: &Path, shelf: &Path, files: impl Iterator<Item = PathBuf>) -> bool {
    let also = std::fs::read_dir(folder.join("also")).into_iter().flatten().filter_map(Result::ok);
    let answers = also.map(|entry| entry.path()).chain([folder.join("src/lib.rs")]);
    let answers: Vec<Vec<String>> =
        answers.filter_map(|path| shelf::read(&path).ok()).map(|text| words(&text)).collect();
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let shelf = real(shelf);
    let is_in_shelf = |path: &Path| real(path).zip(shelf.as_ref()).is_some_and(|(path, shelf)| path.starts_with(shelf));
    let says_the_same = |path: &Path| shelf::read(path).is_ok_and(|text| answers.contains(&words(&text)));
    files.into_iter().any(|path| is_in_shelf(&path) || says_the_same(&path))
}

/// A file's words, without comments and without what only lays them out.
fn words(text: &str) -> Vec<String> {
    let code = shelf::without_comments(text);
    let (mut words, mut word) = (Vec::new(), String::new());
    for letter in code.chars() {
        let is_of_word = letter.is_alphanumeric() || letter == '_';
        if !is_of_word && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        match is_of_word {
            true => word.push(letter),
            false if letter.is_whitespace() => {}
            false => words.push(letter.to_string()),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    // A comma before a bracket that closes comes and goes with the layout.
    let closes = |word: Option<&String>| word.is_some_and(|word| [")", "]", "}"].contains(&&**word));
    (0..words.len()).filter(|n| words[*n] != "," || !closes(words.get(n + 1))).map(|n| words[n].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shipped_is_known_by_place_and_by_words() {
        let root = std::env::temp_dir().join(format!("kubestep-shipped-{}", std::process::id()));
        let write = |path: &str, text: &str| shelf::write(&root.join(path), text).expect("there is room");
        write("solutions/one/src/lib.rs", "// The answer.\npub fn f(a: u32) -> u32 {\n    g(a, 1)\n}\n");
        write("solutions/one/also/1.rs", "pub fn f(_: u32) -> &'static str { \"// a\" }");
        write("solutions/two/src/lib.rs", "pub fn h() {}");
        let is = |name: &str, text: &str| {
            write(name, text);
            let files = [root.join(name)].into_iter();
            is_one_of(&root.join("solutions/one"), &root.join("solutions"), files)
        };
        assert!(is("mine.rs", "/* mine */ pub fn f(a: u32) -> u32 { g(\n a,\n 1,\n) }"));
        assert!(is("mine.rs", "pub fn f(_: u32) -> &'static str {\n    \"// a\"\n}"));
        assert!(!is("mine.rs", "pub fn f(a: u32) -> u32 { g(a, 2) }"));
        assert!(!is("mine.rs", "pub fn f(_: u32) -> &'static str {\n    \"// b\"\n}"));
        assert!(is("solutions/two/src/lib.rs", "pub fn h() {}"), "it is taken in by its path");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.join("solutions/two/src/lib.rs"), root.join("link.rs"))
                .expect("there is room");
            let files = [root.join("link.rs")].into_iter();
            assert!(is_one_of(&root.join("solutions/one"), &root.join("solutions"), files));
        }
        std::fs::remove_dir_all(&root).expect("it is there");
    }
}
