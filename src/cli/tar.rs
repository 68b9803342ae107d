//! An archive of a folder, as `tar` unpacks it: headers as in [`object::tar`], GNU's long names, and nothing packed closer. Files
//! may be larger than memory, and are no texts.
//!
//! Left out: owners and times, links; the user who unpacks it owns it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use object::tar::{BLOCK, FILE, NAME, header};

/// The sort of an entry whose text is the name of the next file, where a header has no room for it.
const LONG_NAME: &str = "L";

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
    let mut short = name;
    if name.len() > NAME {
        let size = name.len() as u64 + 1;
        to.write_all(header("././@LongLink", size, 0o644, LONG_NAME).as_bytes())?;
        to.write_all(name.as_bytes())?;
        to.write_all(&[0])?;
        fill(size, to)?;
        let cut = (0..=NAME).rev().find(|at| name.is_char_boundary(*at));
        short = &name[..cut.unwrap_or_default()];
    }
    to.write_all(header(short, size, if is_program { 0o755 } else { 0o644 }, FILE).as_bytes())
}

/// Up to the end of a block.
fn fill(size: u64, to: &mut dyn Write) -> io::Result<()> {
    let over = (size % BLOCK as u64) as usize;
    if over == 0 { Ok(()) } else { to.write_all(&[0; BLOCK][over..]) }
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
