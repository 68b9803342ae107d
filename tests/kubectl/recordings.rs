//! What kubectl prints, beside what a real kubectl printed.
//!
//! `tests/reference/*/commands.sh` and `output.txt` are recordings of a real cluster. The same commands run here, and
//! what they print is compared line by line; names, ages, times, addresses and the nodes that Pods happen to be on are
//! masked. Where a real cluster would not print the same twice, less is asked: of `rollout status` only the last line,
//! of tables not the order.

use std::path::Path;

use kubestep_tests::project::from_root;

use crate::shell::Shell;

/// A recorded command and what it printed.
fn recorded(output: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in output.split_inclusive('\n') {
        match line.split_once("s] $ ").filter(|(time, _)| time.starts_with('[')) {
            Some((_, command)) => commands.push((command.trim_end().to_owned(), String::new())),
            None => commands.last_mut().into_iter().for_each(|(_, text)| text.push_str(line)),
        }
    }
    commands
}

/// The lines that have to agree.
fn comparable(command: &str, text: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        text.lines().map(|line| mask(&as_in_1_36(line))).filter(|line| !line.is_empty()).collect();
    // The recorded cluster had one more source in each token volume; its name was taken out of the recording.
    let extra = |pair: &[String]| pair[0] == "DownwardAPI: true" && pair[1] == "Optional: false";
    while let Some(i) = lines.windows(2).position(extra) {
        lines.remove(i + 1);
    }
    lines.retain(|line| !line.starts_with("hint: "));
    if command.contains("rollout status") {
        return lines.pop().into_iter().collect();
    }
    // Repeated events are in the order of their last time, where a second decides.
    if command.contains(" get ") || command.contains(" -l ") || command.contains("describe sts") {
        lines.sort();
    }
    // Whether an image is there already depends on what the nodes did before.
    let about_images = |line: &String| ["Pulling", "Pulled", "BackOff", "Failed"].iter().any(|w| line.contains(w));
    if command.contains("events") || command.contains("describe pod") {
        lines.retain(|line| !about_images(line));
        lines.dedup();
    }
    lines
}

/// What kubectl 1.32, which was recorded, printed otherwise than that of 1.36 does: an object that was deleted had no
/// namespace, in a volume that joins others an unset `optional` was Go's nil, and of a scale that is not there more was said.
fn as_in_1_36(line: &str) -> String {
    let before = line.split_once(" from ").filter(|(before, _)| before.ends_with(" deleted"));
    let line = before.map_or(line, |(before, _)| before);
    line.replace("ConfigMapOptional:       <nil>", "Optional: false")
        .replace("error: no objects passed to scale", "Error from server (NotFound):")
}

fn mask(line: &str) -> String {
    if line.trim_end().ends_with("+0000") {
        return format!("{} <time>", line.split(':').next().unwrap_or_default().trim());
    }
    // Of YAML, what no two clusters have alike.
    let field = line.trim_start().trim_start_matches("- ").split_once(": ").map_or("", |(field, _)| field);
    let varies = ["creationTimestamp", "resourceVersion", "uid"].contains(&field) || field.ends_with("Time");
    // The recorded nodes had no machines below them: they named a kernel of 2014, no machine, and images by their tags.
    if ["bootID", "kernelVersion", "machineID", "osImage", "systemUUID", "Image ID"].contains(&field) {
        return format!("{field} <of the machine>");
    }
    if varies && !line.ends_with("\"\"") {
        return format!("{field} <one>");
    }
    line.split_whitespace().map(mask_word).collect::<Vec<_>>().join(" ")
}

fn mask_word(word: &str) -> String {
    // The selector of a Job is its uid.
    if let Some((label, uid)) = word.split_once("controller-uid=") {
        return format!("{label}controller-uid={}", mask_word(uid));
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let bare = word.trim_matches(['(', ')']);
    let age = bare.strip_suffix(['s', 'm', 'h']).is_some_and(|n| n.split(['m', 'h', 's']).all(digits));
    if age {
        return "<age>".to_owned();
    }
    if word.starts_with("containerd://") {
        return "<container>".to_owned();
    }
    if bare.len() == 36 && bare.split('-').count() == 5 && bare.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()) {
        return "<uid>".to_owned();
    }
    let address = bare.split('/').next().unwrap_or(bare);
    if address.split('.').count() == 4 && address.split('.').all(digits) {
        return "<ip>".to_owned();
    }
    const SAFE: &str = "bcdfghjklmnpqrstvwxz2456789";
    let generated = |part: &str| {
        part.trim_matches(['"', ':']).len() == 5 && part.trim_matches(['"', ':']).chars().all(|c| SAFE.contains(c))
    };
    let piece = |piece: &str| {
        let parts: Vec<&str> = piece.split('-').collect();
        let masked = parts.iter().enumerate().map(|(i, part)| match i {
            0 => *part,
            _ if generated(part) => "*",
            _ if matches!(parts[0], "node" | "zone") => "N",
            _ => part,
        });
        masked.collect::<Vec<_>>().join("-")
    };
    let mut out: Vec<String> = Vec::new();
    for part in word.split('/') {
        let part = part.split('=').map(|p| p.split(',').map(piece).collect::<Vec<_>>().join(",")).collect::<Vec<_>>();
        out.push(part.join("="));
    }
    if out.len() == 2 && out[0].starts_with("node-") {
        return "node-N/<ip>".to_owned();
    }
    out.join("/")
}

fn differences(name: &str) -> Vec<String> {
    let directory = from_root("tests/reference").join(name);
    let output = std::fs::read_to_string(directory.join("output.txt")).unwrap();
    let mut shell = Shell::of_recording(&directory, &format!("s{}", &name[..2]));
    let mut found = Vec::new();
    let mut recorded = recorded(&output).into_iter().peekable();
    for line in std::fs::read_to_string(directory.join("commands.sh")).unwrap().lines() {
        let mut want = recorded.next().unwrap();
        for _ in line.split(" | ").skip(1) {
            want = recorded.next().unwrap();
        }
        // To that of 1.32 many pages had their Events without being asked.
        let pages = line.contains(" describe ") && line.contains(" -l ");
        let shown = shell.line(&if pages { format!("{line} --show-events") } else { line.to_owned() });
        if std::env::var_os("SHOW").is_some() {
            println!("\n[{}] $ {line}\n{shown}", shell.cluster.engine.now());
        }
        let (want, got) = (comparable(line, &want.1), comparable(line, &shown));
        if want != got {
            let list = |lines: &[String], other: &[String], sign: char| -> String {
                lines.iter().filter(|l| !other.contains(l)).map(|l| format!("  {sign} {l}\n")).collect()
            };
            found.push(format!("$ {line}\n{}{}", list(&want, &got, '-'), list(&got, &want, '+')));
        }
    }
    found.extend(call_differences(&directory, &shell.calls));
    found
}

/// The requests, beside those that the real kubectl sent.
fn call_differences(directory: &Path, calls: &[String]) -> Option<String> {
    // What was asked by default and what was asked by `--validate=warn` look the same here.
    let line = |call: &str| mask(call.trim_end_matches("&fieldValidation=Warn"));
    let recorded = std::fs::read_to_string(directory.join("calls.txt")).unwrap();
    let want: Vec<String> = recorded.lines().map(line).collect();
    let got: Vec<String> = calls.iter().map(|call| line(call)).collect();
    let same = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
    (want != got).then(|| format!("call {same}:\n- {:?}\n+ {:?}", want.get(same), got.get(same)))
}

fn check(name: &str) {
    let found = differences(name);
    assert!(found.is_empty(), "{name}: - recorded, + here\n{}", found.join("\n"));
}

#[test]
fn single_pod() {
    check("01-single-pod");
}

#[test]
fn deployment_create() {
    check("02-deployment-create");
}

#[test]
fn rolling_update() {
    check("04-rolling-update");
}

#[test]
fn bad_rollout_undo() {
    check("05-bad-rollout-undo");
}

#[test]
fn pod_deleted() {
    check("07-pod-deleted");
}

#[test]
fn job() {
    check("11-job");
}

#[test]
fn stateful_set() {
    check("14-statefulset");
}

#[test]
fn unschedulable() {
    check("09-unschedulable");
}

#[test]
fn delete_propagation() {
    check("16-delete-propagation");
}

#[test]
fn placement() {
    check("19-placement");
}

#[test]
fn preemption() {
    check("20-preemption");
}

#[test]
fn node_join() {
    check("26-node-join");
}

#[test]
fn invalid_requests() {
    check("22-invalid-requests");
}
