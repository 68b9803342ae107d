//! `tar`'s archive: files in one text, and out of it again.
//!
//! It is POSIX' ustar, which GNU's and busybox's `tar` would read: a header of 512 bytes for each file, its text, and NULs up to
//! the next 512. Mirrors `archive/tar` of Go as far as files go.
//!
//! Left out: directories of their own (there are only those that files are in), links, owners, times; files that are not text.

/// The bytes that everything in an archive is a multiple of.
pub const BLOCK: usize = 512;
/// A name in a header has as many bytes at the most.
pub const NAME: usize = 100;
/// The mode of a file that is no program.
const MODE: u32 = 0o644;
/// The sort of an entry that is a file.
pub const FILE: &str = "0";

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
        out += &header(name, text.len() as u64, MODE, FILE);
        out += text;
        out += &"\0".repeat(text.len().next_multiple_of(BLOCK) - text.len());
    }
    Ok(out + &"\0".repeat(2 * BLOCK))
}

/// What stands before a file, or another sort of entry: its name (at most [`NAME`] bytes), size, and mode.
pub fn header(name: &str, size: u64, mode: u32, sort: &str) -> String {
    let with_sum = |sum: &str| {
        let fields = [
            (name, NAME),
            (&format!("{mode:07o}"), 8),
            ("0000000", 8),
            ("0000000", 8),
            (&format!("{size:011o}"), 12),
            ("00000000000", 12),
            (sum, 8),
            (sort, 1),
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
        let header = header("a", 1, MODE, FILE);
        let octal =
            |from: usize, to: usize| u32::from_str_radix(header[from..to].trim_matches(['\0', ' ']), 8).unwrap();
        let sum: u32 =
            header.bytes().enumerate().map(|(at, b)| if (148..156).contains(&at) { 32 } else { b.into() }).sum();
        assert_eq!((header.len(), octal(124, 136), octal(148, 156)), (BLOCK, 1, sum));
        assert_eq!((&header[156..157], &header[257..265]), ("0", "ustar\x0000"));
    }
}
