//! `tar`, the program: it packs files of a container into an archive, and unpacks one. `kubectl cp` is this program and `exec`.

use std::collections::BTreeSet;

use super::containerd::Containerd;
use super::exec::ExecContext;
use super::state::State;
use object::tar::{Entry, pack, unpack};
use userland::Ran;
use userland::programs::unpacks;

/// The directories deep that one is packed.
const DEEP: usize = 32;

impl Containerd {
    /// Runs `tar`: `cf - PATH …`, and `xf - [-C DIRECTORY]`. Prints busybox's words.
    pub(super) fn tar(&self, state: &State, context: &ExecContext, words: &[&str], input: &str) -> Ran {
        match words {
            ["cf" | "-cf", "-", paths @ ..] if !paths.is_empty() => self.tar_of(state, context, paths),
            [words @ .., mode, "-", "-C", directory] if unpacks(mode) && are_ignored(words) => {
                self.untar(state, context, directory, input)
            }
            [words @ .., mode, "-"] if unpacks(mode) && are_ignored(words) => self.untar(state, context, "/", input),
            _ => Ran::badly(1, "tar: only cf - PATH and xf - [-C DIRECTORY] are simulated"),
        }
    }

    fn tar_of(&self, state: &State, context: &ExecContext, paths: &[&str]) -> Ran {
        let (mut entries, mut errors) = (Vec::new(), String::new());
        if paths.iter().any(|path| path.starts_with('/')) {
            errors += "tar: removing leading '/' from member names\n";
        }
        let mut code = 0;
        for path in paths {
            let before = entries.len();
            self.collect(state, context, path.trim_end_matches('/'), DEEP, &mut entries);
            if entries.len() == before && self.names(state, &context.container, &context.sandbox, path).is_none() {
                errors += &format!("tar: {}: No such file or directory\n", path.trim_start_matches('/'));
                code = 1;
            }
        }
        if code != 0 {
            errors += "tar: error exit delayed from previous errors\n";
        }
        match pack(&entries) {
            Ok(output) => Ran::of(output, errors, code),
            Err(why) => Ran::badly(1, format!("tar: {why}")),
        }
    }

    /// A file, or all files in a directory and in those in it.
    fn collect(&self, state: &State, context: &ExecContext, path: &str, deep: usize, entries: &mut Vec<Entry>) {
        if let Some(text) = self.file(state, &context.container, &context.sandbox, path) {
            return entries.push(Entry { name: path.trim_start_matches('/').to_owned(), text });
        }
        let names: BTreeSet<String> = self.names(state, &context.container, &context.sandbox, path).unwrap_or_default();
        for name in names.iter().filter(|_| deep > 0) {
            self.collect(state, context, &format!("{path}/{name}"), deep - 1, entries);
        }
    }

    fn untar(&self, state: &State, context: &ExecContext, directory: &str, input: &str) -> Ran {
        if self.names(state, &context.container, &context.sandbox, directory).is_none() {
            return Ran::badly(1, format!("tar: can't change directory to '{directory}': No such file or directory"));
        }
        let entries = match unpack(input) {
            Ok(entries) => entries,
            Err(why) => return Ran::badly(1, format!("tar: {why}")),
        };
        for Entry { name, text } in entries {
            let path = format!("{}/{}", directory.trim_end_matches('/'), name.trim_start_matches('/'));
            if let Err(why) = self.write_file(&context.container, &path, &text, false) {
                return Ran::badly(1, format!("tar: can't open '{name}': {why}"));
            }
        }
        Ran::default()
    }
}

/// Files have no owners and permissions of their own.
fn are_ignored(words: &[&str]) -> bool {
    words.iter().all(|word| matches!(*word, "--no-same-permissions" | "--no-same-owner"))
}
