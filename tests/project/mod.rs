//! The project that is tested: its folder, and the program that is built of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The project's folder. cargo starts a test in its package's, which is `tests`.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A file or folder of the project.
pub fn from_root(path: &str) -> PathBuf {
    root().join(path)
}

/// Goes into the project's folder, for a test that names files as they lie there.
pub fn enter() {
    std::env::set_current_dir(root()).expect("it is there");
}

/// Where the program is.
pub fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| built("kubestep", "kubestep").display().to_string());
    &PROGRAM
}

/// The program, to be run in the project's folder.
pub fn command() -> Command {
    let mut command = Command::new(program());
    command.current_dir(root());
    command
}

/// Builds a program as the test was built, and says where it is. cargo itself does so for tests of the same package only.
pub fn built(package: &str, name: &str) -> PathBuf {
    // target/PROFILE/deps/TEST
    let test = std::env::current_exe().expect("a test is a file");
    let folder = test.ancestors().nth(2).expect("it lies in a profile's folder");
    let profile = folder.file_name().and_then(|name| name.to_str()).expect("a profile has a name");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["build", "--quiet", "--bin", name, "--package", package]);
    // With the program beside it all has the same features, and nothing is built twice.
    cargo.args([
        "--package",
        "kubestep",
        "--profile",
        if profile == "debug" { "dev" } else { profile },
        "--target-dir",
    ]);
    cargo.arg(folder.parent().expect("profiles lie in the target folder"));
    assert!(cargo.status().expect("cargo has started this test").success(), "{name} could not be built");
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
