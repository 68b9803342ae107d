//! `kubestep doctor`: whether this machine has all that the course needs, and the way out where it has not.

use std::fs;
use std::io::{IsTerminal, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::anyhow;

use lab::shelf;
use lab::started::started_as;
use lab::twin::{self, Twin};
use stepper::palette;

use super::terminal::laid_out;

/// What the full screen and the transcripts of the course need.
const COLUMNS: u16 = 80;
const ROWS: u16 = 24;
/// What a build of the program and of all exercises takes.
const FREE_MIB: u64 = 4 << 10;
/// Where the course is served unless something else is said.
pub(super) const PORT: u16 = 4180;

/// What was found, or what is wrong and what to do about it.
type Found = Result<String, (String, String)>;

/// What is looked at, by name.
type Check = (&'static str, fn(&Path) -> Found);

const CHECKS: [Check; 8] = [
    ("toolchain", toolchain),
    ("terminal", terminal),
    ("file watching", watching),
    ("port", port),
    ("disk", disk),
    ("offline", offline),
    ("judge", judge),
    ("exercises", contained),
];

/// `doctor`. An error if anything is amiss.
pub fn command(out: &mut dyn Write) -> anyhow::Result<()> {
    let root = shelf::root().map_err(|error| anyhow!(error))?;
    let mut amiss = Vec::new();
    for (name, check) in CHECKS {
        match check(&root) {
            Ok(found) => say(out, &palette::added().apply_to("ok  ").to_string(), &format!("{name:<14} {found}"))?,
            Err((wrong, way_out)) => {
                say(out, &palette::error().apply_to("amiss").to_string(), &format!("{name:<14} {wrong}"))?;
                say(out, "    ", &format!("{:<14} {way_out}", "do"))?;
                amiss.push(name);
            }
        }
    }
    if amiss.is_empty() { Ok(()) } else { Err(anyhow!("amiss: {}", amiss.join(", "))) }
}

/// A line of the report. What does not fit goes on in its column.
fn say(out: &mut dyn Write, mark: &str, text: &str) -> std::io::Result<()> {
    const COLUMN: usize = 20;
    // The mark has a colour, which takes no room.
    let laid = laid_out(&format!("      {text}\n"), COLUMN);
    writeln!(out, "{mark}{}", laid.get(5..).unwrap_or_default().trim_end())
}

fn wrong(what: &str, way_out: &str) -> (String, String) {
    (what.to_owned(), way_out.to_owned())
}

/// What a program prints; None if it cannot be started or fails.
fn says(root: &Path, program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).current_dir(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn toolchain(root: &Path) -> Found {
    let amiss = |what| wrong(what, "install Rust as rustup.rs says, or update it: rustup update stable");
    let version = says(root, "rustc", &["--version"]).ok_or_else(|| amiss("there is no rustc"))?;
    says(root, "cargo", &["--version"]).ok_or_else(|| amiss("there is no cargo"))?;
    let number = version.split(' ').nth(1).unwrap_or_default();
    match numbers(number) >= numbers(env!("CARGO_PKG_RUST_VERSION")) {
        true => Ok(version),
        false => Err(amiss(&format!("{version}; it takes {} or later", env!("CARGO_PKG_RUST_VERSION")))),
    }
}

/// `1.89.0` as numbers.
fn numbers(version: &str) -> Vec<u32> {
    version.split(['.', '-']).map_while(|number| number.parse().ok()).collect()
}

/// Without the optimised one verdicts come all the same, but later.
fn judge(root: &Path) -> Found {
    Ok(match twin::find(root) {
        Twin::Ready(_) => "the optimised one".to_owned(),
        Twin::None => format!("not optimised; verdicts come sooner after: {}", twin::BUILD),
        Twin::Old => format!("the optimised one is out of date: {}", twin::BUILD),
    })
}

/// What a learner's code is kept from, beside its limits.
fn contained(_: &Path) -> Found {
    Ok(match lab::keeps_apart() {
        true => "what you write runs under limits and without network".to_owned(),
        false => "what you write runs under limits; there is no unshare that takes its network away".to_owned(),
    })
}

fn terminal(_: &Path) -> Found {
    if !std::io::stdout().is_terminal() {
        return Err(wrong("this is none", "start it in a terminal, without a pipe"));
    }
    if std::env::var("TERM").is_ok_and(|term| term == "dumb") {
        return Err(wrong("TERM is dumb", "export TERM=xterm-256color, or use another terminal"));
    }
    let (columns, rows) = crossterm::terminal::size().unwrap_or_default();
    match columns >= COLUMNS && rows >= ROWS {
        true => Ok(format!("{columns} columns, {rows} rows")),
        false => Err(wrong(
            &format!("{columns} columns and {rows} rows; the full screen takes {COLUMNS} and {ROWS}"),
            "make the window larger or the letters smaller",
        )),
    }
}

/// `watch` looks at files: one that is written must be read as it was written.
fn watching(root: &Path) -> Found {
    let file = root.join("exercises").join(format!(".doctor-{}", std::process::id()));
    let seen = ["one", "two"].iter().all(|text| {
        let written = fs::write(&file, text);
        written.is_ok() && fs::read_to_string(&file).is_ok_and(|read| read == *text)
    });
    drop(fs::remove_file(&file));
    match seen {
        true => Ok("a file that is saved is seen".to_owned()),
        false => Err(wrong(
            "a file in exercises/ cannot be written and read again",
            "make the folder yours: chown -R $USER exercises, or clone the project again into your own folder",
        )),
    }
}

fn port(_: &Path) -> Found {
    match TcpListener::bind(("127.0.0.1", PORT)) {
        Ok(_) => Ok(format!("{PORT} is free for the course")),
        Err(error) => {
            Err((format!("{PORT}: {error}"), format!("{} book --port 0 takes any that is free", started_as())))
        }
    }
}

fn disk(root: &Path) -> Found {
    let table = says(root, "df", &["-Pk", "."]);
    let free = table.and_then(|table| table.lines().last()?.split_whitespace().nth(3)?.parse::<u64>().ok());
    let Some(free) = free.map(|kib| kib >> 10) else {
        return Ok("cannot say how much is free (there is no df)".to_owned());
    };
    match free >= FREE_MIB {
        true => Ok(format!("{} GiB free", free >> 10)),
        false => {
            let few = format!("{free} MiB free; a build takes {FREE_MIB}");
            Err(wrong(&few, "make room; cargo clean removes old builds"))
        }
    }
}

/// Whether a build needs the network.
fn offline(root: &Path) -> Found {
    let all = ["metadata", "--offline", "--locked", "--format-version", "1"];
    match says(root, "cargo", &all) {
        Some(_) => Ok("all crates are here; nothing needs the network".to_owned()),
        None => Err((
            "some crates are missing".to_owned(),
            format!(
                "once, with the network: cargo fetch --locked; or work in a bundle that {} pack has made",
                started_as()
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(numbers("1.100.0") > numbers("1.89"));
        assert!(numbers("1.89.0-nightly") >= numbers("1.89"));
        assert!(numbers("1.88.9") < numbers("1.89") && numbers("") < numbers("1.89"));
    }
}
