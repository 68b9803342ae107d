//! `tar`: files in one text, and out of it again. `kubectl cp` is this program and `exec`.
//!
//! The archive is POSIX' ustar, which GNU's and busybox's `tar` would read: a header of 512 bytes for each file, its text, and
//! NULs up to the next 512. Mirrors `archive/tar` of Go as far as files go.
//!
//! Left out: directories of their own (there are only those that files are in), links, owners, times; files that are not text.

use std::collections::BTreeSet;

use super::containerd::Containerd;
use super::exec::ExecContext;
use super::state::State;
use crate::userland::Ran;

/// The bytes that everything in an archive is a multiple of.
const BLOCK: usize = 512;
/// A name is this long at the most.
const NAME: usize = 100;
/// The directories deep that one is packed.
const DEEP: usize = 32;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path, without a slash at its front.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// The archive of some files.
///
/// # Errors
/// A name that is too long.
pub fn pack(entries: &[Entry]) -> Result<String, String> {
    let mut out = String::new();
    for Entry { name, text } in entries {
        if name.len() >= NAME {
            return Err(format!("{name}: file name is too long"));
        }
        out += &header(name, text.len());
        out += text;
        out += &"\0".repeat(text.len().next_multiple_of(BLOCK) - text.len());
    }
    Ok(out + &"\0".repeat(2 * BLOCK))
}

fn header(name: &str, size: usize) -> String {
    let with_sum = |sum: &str| {
        let fields = [
            (name, NAME),
            ("0000644", 8),
            ("0000000", 8),
            ("0000000", 8),
            (&format!("{size:011o}"), 12),
            ("00000000000", 12),
            (sum, 8),
            ("0", 1),
            ("", 100),
            ("ustar", 6),
            ("00", 2),
            ("root", 32),
            ("root", 32),
            ("", BLOCK - 329),
        ];
        fields.iter().map(|(text, width)| format!("{text}{}", "\0".repeat(width - text.len()))).collect::<String>()
    };
    let sum: u32 = with_sum("        ").bytes().map(u32::from).sum();
    with_sum(&format!("{sum:06o}\0 "))
}

/// The files of an archive.
///
/// # Errors
/// It is none.
pub fn unpack(archive: &str) -> Result<Vec<Entry>, String> {
    let (mut all, mut rest) = (Vec::new(), archive);
    while rest.bytes().any(|byte| byte != 0) {
        let broken = || "invalid tar magic".to_owned();
        let field =
            |from: usize, to: usize| rest.get(from..to).map(|text| text.trim_end_matches('\0')).ok_or_else(broken);
        if field(257, 262)? != "ustar" {
            return Err(broken());
        }
        let size = usize::from_str_radix(field(124, 136)?, 8).map_err(|_| broken())?;
        let text = rest.get(BLOCK..BLOCK + size).ok_or_else(|| "short read".to_owned())?;
        all.push(Entry { name: field(0, NAME)?.to_owned(), text: text.to_owned() });
        rest = rest.get(BLOCK + size.next_multiple_of(BLOCK)..).unwrap_or_default();
    }
    Ok(all)
}

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

/// `xf`, `-xf`, `-xmf`: files keep no times here, so `m` says nothing.
fn unpacks(mode: &str) -> bool {
    matches!(mode.trim_start_matches('-'), "xf" | "xmf")
}

/// Files have no owners and permissions of their own.
fn are_ignored(words: &[&str]) -> bool {
    words.iter().all(|word| matches!(*word, "--no-same-permissions" | "--no-same-owner"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let entry = |name: &str, text: &str| Entry { name: name.to_owned(), text: text.to_owned() };
        let all = [entry("etc/hosts", "127.0.0.1\n"), entry("a/é", &"ü".repeat(300)), entry("empty", "")];
        let archive = pack(&all).unwrap();
        assert_eq!(archive.len() % BLOCK, 0);
        assert_eq!(unpack(&archive).unwrap(), all);
        assert_eq!(unpack(&pack(&[]).unwrap()), Ok(Vec::new()));
        assert_eq!(unpack("this is no archive"), Err("invalid tar magic".to_owned()));
        assert!(pack(&[entry(&"x".repeat(NAME), "")]).is_err());
    }

    /// As GNU's `tar` writes it, with the sum of its bytes.
    #[test]
    fn a_header_is_that_of_posix() {
        let header = header("a", 1);
        let octal =
            |from: usize, to: usize| u32::from_str_radix(header[from..to].trim_matches(['\0', ' ']), 8).unwrap();
        let sum: u32 =
            header.bytes().enumerate().map(|(at, b)| if (148..156).contains(&at) { 32 } else { b.into() }).sum();
        assert_eq!((header.len(), octal(124, 136), octal(148, 156)), (BLOCK, 1, sum));
        assert_eq!((&header[156..157], &header[257..265]), ("0", "ustar\x0000"));
    }
}
