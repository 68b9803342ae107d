//! How the program was started, which is how its messages name it.

use std::path::{Path, PathBuf};

/// How texts name the program that are written once: those of exercises and cases, and errors of the cluster, which knows no
/// command line.
const WRITTEN: &str = "cargo run --";

/// The program as it was started: by cargo, or by its name.
pub fn started_as() -> String {
    let by_cargo = std::env::var_os("CARGO").is_some();
    let name = std::env::args_os().next().map(PathBuf::from).filter(|_| !by_cargo);
    name.map_or_else(|| WRITTEN.to_owned(), |name| shown(&name))
}

/// Such a text, with the program as it was started.
pub fn named(text: &str) -> String {
    text.replace(WRITTEN, &started_as())
}

/// As it is typed again: found by its name, where that is how it was found.
fn shown(name: &Path) -> String {
    let name = name.to_string_lossy();
    match name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_./~".contains(&c)) {
        true => name.into_owned(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_be_typed_again() {
        for (name, typed) in
            [("kubestep", "kubestep"), ("target/debug/kubestep", "target/debug/kubestep"), ("a b/k", "'a b/k'")]
        {
            assert_eq!(shown(Path::new(name)), typed);
        }
    }

    #[test]
    fn a_text_names_the_program_as_it_was_started() {
        // Tests are started by cargo.
        assert_eq!(named("first: cargo run -- learn"), format!("first: {} learn", started_as()));
    }
}
