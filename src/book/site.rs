//! `kubestep book --site DIR`: the course as a static site with the cluster in it. Any web server can serve it.
//!
//! Beside the pages of the book there are the playground, the module that `src/web` becomes, the sources that stops show, and a
//! service worker that keeps what was loaded, for readers without a network.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use kubestep::cli::out;
use object::sha256;

use crate::build;

/// What the module is compiled for, in which profile, and what it is called there.
const TARGET: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "web";
const MODULE: &str = "kubestep_web.wasm";
/// What it is called in a site: packed, since not every server packs what it sends.
const PACKED: &str = "kubestep.wasm.gz";
/// What a page of the site has in its head.
const META: &str = "<meta name=\"kubestep-module\" content=\"kubestep.wasm.gz\"></head>";

/// What `wasm-opt` does with the module.
const PASSES: &str = include_str!("../web/wasm-opt.txt");

/// Builds the site into `dest` from the book in `root`. `module` is the cluster, as [`compile`] makes it.
///
/// # Errors
/// What is wrong in a chapter; which file cannot be read or written.
pub fn build(root: &Path, dest: &Path, program: &Path, module: &Path) -> anyhow::Result<()> {
    let project = root.join("..");
    let packed = pack(&shrunk(module))?;
    build::build(root, dest, program, &build::bar())?;
    fs::write(dest.join(PACKED), packed)?;
    for name in ["playground.html", "sw.js"] {
        copy(&root.join("site").join(name), &dest.join(name))?;
    }
    // What the playground loads. mdBook gives the copies of its own pages other names.
    for ending in ["js", "css"] {
        for file in [files_below(&root.join("assets"), ending), files_below(&root.join("site"), ending)].concat() {
            copy(&file, &dest.join("assets").join(file.file_name().unwrap_or_default()))?;
        }
    }
    for file in files_below(&project.join("src"), "rs") {
        let name = file.strip_prefix(&project).unwrap_or(&file);
        copy(&file, &dest.join("source").join(name))?;
    }
    for page in files_below(dest, "html") {
        let text = fs::read_to_string(&page)?;
        let module = META.replace("content=\"", &format!("content=\"{}", up(dest, &page)));
        fs::write(&page, text.replacen("</head>", &module, 1))?;
    }
    keep_offline(dest)
}

/// `../` for each folder that a page lies below the site's.
fn up(dest: &Path, page: &Path) -> String {
    let deep = page.strip_prefix(dest).map_or(1, |page| page.components().count());
    "../".repeat(deep.saturating_sub(1))
}

/// The module, if it was compiled before.
pub fn compiled(project: &Path) -> Option<PathBuf> {
    Some(place(project)).filter(|module| module.is_file())
}

/// Where cargo puts the module.
fn place(project: &Path) -> PathBuf {
    project.join("target").join(TARGET).join(PROFILE).join(MODULE)
}

/// Compiles the module.
///
/// # Errors
/// rustc has no such target, and how to add it; what cargo says.
pub fn compile(project: &Path) -> anyhow::Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
    let libraries = asked.context("rustc, which compiles the cluster for the page, cannot be started")?.stdout;
    ensure!(
        Path::new(String::from_utf8_lossy(&libraries).trim()).is_dir(),
        "the cluster in the page is WebAssembly, for which rustc has no target here; add it with\n\
         \n    rustup target add {TARGET}\n\nor give a module that was built elsewhere with --module FILE"
    );
    let _ = writeln!(out::errors(), "The cluster is compiled for the page, which takes some minutes the first time:");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(project).args(["build", "--package", "kubestep-web", "--target", TARGET, "--profile", PROFILE]);
    let target = std::path::absolute(project.join("target"))?;
    let status = cargo.arg("--target-dir").arg(&target).status().context("cargo cannot be started")?;
    ensure!(status.success(), "the cluster could not be compiled for the page: cargo says why");
    Ok(place(project))
}

/// The module with less in it, where Binaryen's `wasm-opt` is installed, else as it is. It stays beside the module for the next
/// time.
fn shrunk(module: &Path) -> PathBuf {
    // Two programs may do this at once: each has a file of its own until it is whole.
    let part = module.with_extension(format!("{}.wasm", std::process::id()));
    let small = module.with_extension("small.wasm");
    let changed = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    if changed(&small) > changed(module) {
        return small;
    }
    let mut program = Command::new("wasm-opt");
    program
        .args(PASSES.lines().filter(|line| line.starts_with('-')))
        .arg("-o")
        .arg(&part)
        .arg(module)
        .stderr(Stdio::null());
    let done = program.status().is_ok_and(|status| status.success()) && fs::rename(&part, &small).is_ok();
    if done { small } else { module.to_owned() }
}

/// The module as pages load it.
fn pack(module: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = fs::read(module).with_context(|| format!("{} cannot be read", module.display()))?;
    ensure!(bytes.starts_with(b"\0asm"), "{} is no WebAssembly module", module.display());
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&bytes)?;
    Ok(packed.finish()?)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))?;
    Ok(())
}

/// Tells the site's service worker what there is: its version, a digest of all pages, scripts and the module, so that a browser
/// that has another one takes this; and the files in `assets/`, without which no page is whole.
fn keep_offline(dest: &Path) -> anyhow::Result<()> {
    let mut all = String::new();
    for ending in ["html", "css", "js", "gz"] {
        for file in files_below(dest, ending) {
            let name = file.strip_prefix(dest).unwrap_or(&file);
            all += &format!("{} {:?}\n", name.display(), sha256::digest(&fs::read(&file)?));
        }
    }
    let version: String = sha256::digest(all.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let assets =
        fs::read_dir(dest.join("assets"))?.flatten().map(|file| file.file_name().to_string_lossy().into_owned());
    let assets: BTreeSet<String> = assets.collect();
    let assets: Vec<String> = assets.into_iter().collect();
    let worker = dest.join("sw.js");
    let text = fs::read_to_string(&worker)?.replace("VERSION", &version).replace("NAMES", &assets.join(" "));
    fs::write(&worker, text)?;
    Ok(())
}

/// The files in a folder, and in those below it, whose names end so; in order.
fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let fits = |path: &PathBuf| path.extension().is_some_and(|one| one == ending);
    let below = |path: PathBuf| if path.is_dir() { files_below(&path, ending) } else { vec![path] };
    entries.into_iter().flat_map(below).filter(fits).collect()
}
