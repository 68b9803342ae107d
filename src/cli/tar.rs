//! An archive of a folder, as `tar` unpacks it: the POSIX format with GNU's long names, and nothing packed closer.
//!
//! Left out: owners and times, links; whoever unpacks it owns it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// What an archive is made of.
const BLOCK: usize = 512;
/// A longer name stands in a file of its own before the file that it names.
const NAME: usize = 100;

/// Writes a folder with all that is in it; its name stands before all others.
///
/// # Errors
/// What cannot be read or written.
pub(super) fn write(folder: &Path, name: &str, to: &mut dyn Write) -> io::Result<()> {
    within(folder, name, to)?;
    // Two empty blocks are the end.
    to.write_all(&[0; 2 * BLOCK])
}

fn within(folder: &Path, name: &str, to: &mut dyn Write) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if kind.is_dir() {
            within(&path, &name, to)?;
        } else if kind.is_file() {
            let mut file = File::open(&path)?;
            let size = file.metadata()?.len();
            head(&name, size, is_program(&file)?, to)?;
            let copied = io::copy(&mut file, to)?;
            if copied != size {
                return Err(io::Error::other(format!("{} has changed meanwhile", path.display())));
            }
            fill(size, to)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_program(file: &File) -> io::Result<bool> {
    Ok(std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions()) & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_program(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// What stands before a file.
fn head(name: &str, size: u64, is_program: bool, to: &mut dyn Write) -> io::Result<()> {
    if name.len() > NAME {
        to.write_all(&block("././@LongLink", name.len() as u64 + 1, 0o644, b'L'))?;
        to.write_all(name.as_bytes())?;
        to.write_all(&[0])?;
        fill(name.len() as u64 + 1, to)?;
    }
    to.write_all(&block(name, size, if is_program { 0o755 } else { 0o644 }, b'0'))
}

/// Up to the end of a block.
fn fill(size: u64, to: &mut dyn Write) -> io::Result<()> {
    let over = (size % BLOCK as u64) as usize;
    if over == 0 { Ok(()) } else { to.write_all(&[0; BLOCK][over..]) }
}

fn block(name: &str, size: u64, mode: u32, kind: u8) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, &name.as_bytes()[..name.len().min(NAME)]);
    put(100, format!("{mode:07o}\0").as_bytes());
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    // The sum is taken with blanks in its own place.
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar  \0");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn tar_unpacks_it() {
        let scratch = std::env::temp_dir().join(format!("kubestep-tar-{}", std::process::id()));
        let deep = "d".repeat(90);
        let from = scratch.join("from");
        fs::create_dir_all(from.join(&deep)).unwrap();
        let files = [("empty", 0), ("block", BLOCK), ("over", BLOCK + 1)];
        for (name, size) in files {
            fs::write(from.join(&deep).join(name), vec![b'x'; size]).unwrap();
        }
        fs::write(from.join("top"), "text").unwrap();
        let mut archive = File::create(scratch.join("a.tar")).unwrap();
        write(&from, "class", &mut archive).unwrap();
        let tar = Command::new("tar").args(["-xf", "a.tar"]).current_dir(&scratch).status();
        assert!(tar.is_ok_and(|status| status.success()));
        for (name, size) in files {
            assert_eq!(fs::read(scratch.join("class").join(&deep).join(name)).unwrap().len(), size, "{name}");
        }
        assert_eq!(fs::read_to_string(scratch.join("class/top")).unwrap(), "text");
        fs::remove_dir_all(&scratch).unwrap();
    }
}
