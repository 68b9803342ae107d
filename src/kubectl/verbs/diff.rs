//! `diff`: what `apply` would change, asked of the API server with a dry run. Mirrors `k8s.io/kubectl/pkg/cmd/diff`.
//!
//! The real one writes both versions into files and runs `diff -u -N`; here the same lines are made without files.

use serde_json::{Map, Value, json};

use super::last_applied::{last_applied, three_way, unannotated};
use super::server_side;
use crate::args::Args;
use crate::command::{Command, Run};
use crate::failure::Failure;
use crate::flags::FILES;
use crate::kubectl::Kubectl;
use crate::manifest::Manifest;
use crate::options::Query;
use crate::print::fields::namespace_and_name;
use crate::print::yaml;
use crate::usage::Usage;
use object::Kind;
use wire::{Options, Patch};

/// Unchanged lines that are shown around a change.
const CONTEXT: usize = 3;
/// What stands in place of what a Secret holds.
const MASKED: &str = "***";
const MASKED_BEFORE: &str = "*** (before)";
const MASKED_AFTER: &str = "*** (after)";

/// `kubectl diff`.
pub const DIFF: Command = Command {
    usage: Usage {
        name: "diff",
        words: "-f FILE | -k DIR",
        about: "What apply would change.",
        flags: &[FILES, &["field-manager", "selector", "server-side", "force-conflicts", "show-secrets"]],
        ..Usage::EMPTY
    },
    run: Run::There(|args, cx| Box::pin(diff(args, cx))),
    ..Command::EMPTY
};

/// `kubectl diff -f`. Its exit code is 1 if anything would change.
async fn diff(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let mut differs = false;
    for manifest in cx.manifests("diff", args).await? {
        let (mut live, mut merged) = versions(&manifest, args, cx).await?;
        if manifest.kind == Kind::Secret && !args.is_on("show-secrets") {
            mask(live.as_mut(), merged.as_mut());
        }
        let [live, merged] = [live, merged].map(|object| object.map(|object| yaml::print(&object)).unwrap_or_default());
        let hunks = unified(&live, &merged);
        if hunks.is_empty() {
            continue;
        }
        differs = true;
        let info = manifest.kind.info();
        let (namespace, name) = namespace_and_name(&manifest.object);
        let group = info.api_version.replace('/', ".");
        let file = format!("{group}.{}.{namespace}.{name}", info.kind);
        let at = cx.now().strftime("%Y-%m-%d %H:%M:%S.000000000 +0000").to_string();
        cx.line(format!("diff -u -N /tmp/LIVE-1/{file} /tmp/MERGED-1/{file}"));
        cx.line(format!("--- /tmp/LIVE-1/{file}\t{at}\n+++ /tmp/MERGED-1/{file}\t{at}"));
        cx.print(&hunks);
    }
    if differs { Err(Failure::Told) } else { Ok(()) }
}

/// How often the object is looked at again that keeps changing. The last time, kubectl compares with the object as it is
/// then.
const TRIES: u32 = 4;

/// The object as it is, and as it would be: of the same version, or the server says that it is not. Mirrors
/// `InfoObject.Merged`, which keeps what was applied last as it is.
async fn versions(manifest: &Manifest, args: &Args, cx: &Kubectl) -> Result<(Option<Value>, Option<Value>), Failure> {
    for _ in 1..TRIES {
        match compared(manifest, true, args, cx).await {
            Err(fault) if fault.is_conflict() => {}
            compared => return compared,
        }
    }
    compared(manifest, false, args, cx).await
}

async fn compared(
    manifest: &Manifest,
    of_version: bool,
    args: &Args,
    cx: &Kubectl,
) -> Result<(Option<Value>, Option<Value>), Failure> {
    let kind = manifest.kind;
    let (namespace, name) = namespace_and_name(&manifest.object);
    let live = match cx.get(kind, namespace, name).await {
        Err(fault) if fault.is_not_found() => None,
        live => Some(live?),
    };
    if args.is_on("server-side") {
        return Ok((live, Some(server_side::tried(manifest, args, cx).await?)));
    }
    let options =
        Options { dry_run: true, field_manager: "kubectl-client-side-apply".to_owned(), ..Options::default() };
    let query = Query { options, only_here: false };
    let merged = match &live {
        None => cx.post(kind, namespace, &manifest.object, query).await?,
        Some(live) => {
            let mut patch = three_way(kind, &last_applied(live, manifest, cx), live, &unannotated(&manifest.object));
            match &mut patch {
                Patch::Merge(changes) | Patch::Strategic(changes) if *changes == json!({}) => live.clone(),
                Patch::Merge(changes) | Patch::Strategic(changes) if of_version => {
                    changes["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
                    cx.patch(kind, live, patch, None, query).await?
                }
                _ => cx.patch(kind, live, patch, None, query).await?,
            }
        }
    };
    Ok((live, Some(merged)))
}

/// What a Secret holds is not shown, only where it differs. Mirrors `Masker`.
fn mask(live: Option<&mut Value>, merged: Option<&mut Value>) {
    let (live, merged) = (data_of(live), data_of(merged));
    let (mut none, mut nothing) = (Map::new(), Map::new());
    let (live, merged) = (live.unwrap_or(&mut none), merged.unwrap_or(&mut nothing));
    for (key, before) in live.iter_mut() {
        let after = merged.get_mut(key);
        let differs = after.as_ref().is_some_and(|after| *after != before);
        *before = json!(if differs { MASKED_BEFORE } else { MASKED });
        if let Some(after) = after.filter(|_| differs) {
            *after = json!(MASKED_AFTER);
        }
    }
    merged.values_mut().filter(|value| *value != MASKED_AFTER).for_each(|value| *value = json!(MASKED));
}

fn data_of(secret: Option<&mut Value>) -> Option<&mut Map<String, Value>> {
    secret?.get_mut("data")?.as_object_mut()
}

/// A line of both texts, or of one.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Both,
    Old,
    New,
}

/// The hunks of `diff -u`; empty if the texts are the same.
fn unified(old: &str, new: &str) -> String {
    let lines = aligned(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>());
    let changed: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].0 != Side::Both).collect();
    let mut out = String::new();
    // Changes with no more than two contexts between them share a hunk.
    for hunk in changed.chunk_by(|a, b| b - a <= 2 * CONTEXT + 1) {
        let first = hunk[0].saturating_sub(CONTEXT);
        let last = (hunk[hunk.len() - 1] + CONTEXT + 1).min(lines.len());
        let count = |side: Side, range: &[(Side, &str)]| range.iter().filter(|(s, _)| *s != side).count();
        let (before, within) = (&lines[..first], &lines[first..last]);
        let [old, new] = [Side::New, Side::Old].map(|other| range(count(other, before), count(other, within)));
        out += &format!("@@ -{old} +{new} @@\n");
        for (side, line) in within {
            let mark = match side {
                Side::Both => ' ',
                Side::Old => '-',
                Side::New => '+',
            };
            out += &format!("{mark}{line}\n");
        }
    }
    out
}

/// `6,7`: from which line how many; a single line goes without its number.
fn range(before: usize, lines: usize) -> String {
    match lines {
        0 => format!("{before},0"),
        1 => (before + 1).to_string(),
        _ => format!("{},{lines}", before + 1),
    }
}

/// Both texts in one, with as many lines of both as can be.
fn aligned<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(Side, &'a str)> {
    // The longest common part of what is left of both, from each place on.
    let mut longest = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] =
                if old[i] == new[j] { longest[i + 1][j + 1] + 1 } else { longest[i + 1][j].max(longest[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            out.push((Side::Both, old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && longest[i + 1][j] >= longest[i][j + 1]) {
            out.push((Side::Old, old[i]));
            i += 1;
        } else {
            out.push((Side::New, new[j]));
            j += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let [mut live, mut merged] = [
            json!({"data": {"a": "MQ==", "b": "MQ==", "c": "MQ=="}}),
            json!({"data": {"a": "MQ==", "b": "Mg==", "d": "MQ=="}}),
        ];
        mask(Some(&mut live), Some(&mut merged));
        assert_eq!(live["data"], json!({"a": "***", "b": "*** (before)", "c": "***"}));
        assert_eq!(merged["data"], json!({"a": "***", "b": "*** (after)", "d": "***"}));
        let mut alone = json!({"data": {"a": "MQ=="}});
        mask(None, Some(&mut alone));
        assert_eq!(alone["data"], json!({"a": "***"}));
    }

    #[test]
    fn hunks_are_those_of_diff() {
        let numbers = |skip: u32| (1..=20).filter(|n| *n != skip).map(|n| format!("{n}\n")).collect::<String>();
        for (old, new, expected) in [
            ("a\n".to_owned(), "a\n".to_owned(), ""),
            (String::new(), "a\nb\n".to_owned(), "@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("a\nb\nc\n".to_owned(), "a\nx\nc\n".to_owned(), "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"),
            (numbers(0), numbers(10), "@@ -7,7 +7,6 @@\n 7\n 8\n 9\n-10\n 11\n 12\n 13\n"),
        ] {
            assert_eq!(unified(&old, &new), expected);
        }
    }
}
