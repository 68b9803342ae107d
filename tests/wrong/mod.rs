//! All wrong solutions as one program, see `tests/mutants`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use kubestep::lab::building::{self, Program};

/// Built when it is first asked for. Where the test is optimised, so are the libraries of that program, and CI has built it
/// before: it answers in half the time.
pub static MUTANTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_BIN_EXE_kubestep")).parent().unwrap();
    let profile = folder.file_name().unwrap().to_str().unwrap();
    if profile == "debug" {
        return building::build(root, Program::Mutants).unwrap_or_else(|verdict| panic!("{verdict:?}"));
    }
    let built = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["build", "--quiet", "--profile", profile, "--target-dir"])
        .arg(folder.parent().unwrap())
        // With this package beside it all have the same features, and nothing is built twice.
        .args(["--package", "kubestep", "--package", "mutants", "--bin", "mutants"])
        .status()
        .unwrap();
    assert!(built.success());
    folder.join(format!("mutants{}", std::env::consts::EXE_SUFFIX))
});
