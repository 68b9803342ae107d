//! What differs between two specs, line by line: the tail of the error about a change that is not allowed.
//!
//! Mirrors `diff.Diff` of `k8s.io/apimachinery/pkg/util/diff`: both as JSON with Go's field names, one space a level,
//! as a unified diff. Left out: fields that neither has; Kubernetes lists these as null, so its line numbers are
//! greater.

use serde::Serialize;
use serde_json::Value;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Beyond this many pairs of lines the changed middle is shown whole, not matched line by line.
const PAIRS_MAX: usize = 1 << 20;

/// The unified diff from one object, or part of one, to another.
pub fn of_objects<T: Serialize>(old: &T, new: &T) -> String {
    let lines = |spec: &T| {
        let mut lines = Vec::new();
        let value = serde_json::to_value(spec).unwrap_or_default();
        print(&value, 0, "", "", &mut lines);
        lines
    };
    let (old, new) = (lines(old), lines(new));
    let edits = edits(&old, &new);
    hunks(&edits)
}

/// Prints a value over several lines. `before` is its key, `after` the comma behind it.
fn print(value: &Value, depth: usize, before: &str, after: &str, lines: &mut Vec<String>) {
    let space = " ".repeat(depth);
    let comma = |i: usize, len: usize| if i + 1 < len { "," } else { "" };
    match value {
        Value::Object(map) if !map.is_empty() => {
            lines.push(format!("{space}{before}{{"));
            for (i, (key, value)) in map.iter().enumerate() {
                print(value, depth + 1, &format!("\"{}\": ", go_name(key)), comma(i, map.len()), lines);
            }
            lines.push(format!("{space}}}{after}"));
        }
        Value::Array(list) if !list.is_empty() => {
            lines.push(format!("{space}{before}["));
            for (i, value) in list.iter().enumerate() {
                print(value, depth + 1, "", comma(i, list.len()), lines);
            }
            lines.push(format!("{space}]{after}"));
        }
        value => lines.push(format!("{space}{before}{value}{after}")),
    }
}

/// The name that a field has in Go.
fn go_name(key: &str) -> String {
    for start in ["dns", "tcp", "http", "ip", "pid", "ipc"] {
        let rest = key.strip_prefix(start);
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_uppercase())) {
            return format!("{}{rest}", start.to_ascii_uppercase());
        }
    }
    let mut chars = key.chars();
    chars.next().map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + chars.as_str())
}

/// One line of a diff: ` ` kept, `-` only in the old, `+` only in the new.
type Edit<'a> = (char, &'a str);

fn edits<'a>(old: &'a [String], new: &'a [String]) -> Vec<Edit<'a>> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_middle, tail) = old_rest.split_at(old_rest.len() - end);
    let new_middle = &new_rest[..new_rest.len() - end];
    let kept = |line: &'a String| (' ', line.as_str());
    let mut edits: Vec<Edit> = old[..start].iter().map(kept).collect();
    if old_middle.len().saturating_mul(new_middle.len()) > PAIRS_MAX {
        edits.extend(old_middle.iter().map(|line| ('-', line.as_str())));
        edits.extend(new_middle.iter().map(|line| ('+', line.as_str())));
    } else {
        longest_common(old_middle, new_middle, &mut edits);
    }
    edits.extend(tail.iter().map(kept));
    edits
}

/// The fewest edits, by the table of longest common subsequences.
fn longest_common<'a>(old: &'a [String], new: &'a [String], edits: &mut Vec<Edit<'a>>) {
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            edits.push((' ', &old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1] {
            edits.push(('-', &old[i]));
            i += 1;
        } else {
            edits.push(('+', &new[j]));
            j += 1;
        }
    }
}

/// Groups the changes with the lines around them under `@@ -from,count +from,count @@`.
fn hunks(edits: &[Edit]) -> String {
    let mut text = String::new();
    let (mut at, mut old_line, mut new_line) = (0, 1, 1);
    let is_change = |edit: &Edit| edit.0 != ' ';
    while let Some(offset) = edits[at..].iter().position(is_change) {
        let start = (at + offset).saturating_sub(CONTEXT).max(at);
        let mut end = at + offset + 1;
        while let Some(next) = edits[end..].iter().take(2 * CONTEXT + 1).position(is_change) {
            end += next + 1;
        }
        let end = (end + CONTEXT).min(edits.len());
        (old_line, new_line) = (old_line + start - at, new_line + start - at);
        let hunk = &edits[start..end];
        let olds = hunk.iter().filter(|edit| edit.0 != '+').count();
        let news = hunk.iter().filter(|edit| edit.0 != '-').count();
        text.push_str(&format!("@@ -{old_line},{olds} +{new_line},{news} @@\n"));
        for (mark, line) in hunk {
            text.push_str(&format!("{mark}{line}\n"));
        }
        (at, old_line, new_line) = (end, old_line + olds, new_line + news);
    }
    text
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::PodSpec;

    use super::*;

    #[test]
    fn a_changed_field_is_shown_between_its_neighbours() {
        let spec = |policy: &str| PodSpec {
            restart_policy: Some(policy.into()),
            dns_policy: Some("Default".into()),
            ..PodSpec::default()
        };
        let text = of_objects(&spec("Always"), &spec("Never"));
        assert!(text.starts_with("@@ -1,5 +1,5 @@\n {\n"), "{text}");
        assert!(text.contains("\n- \"RestartPolicy\": \"Always\"\n+ \"RestartPolicy\": \"Never\"\n"), "{text}");
        assert!(text.contains("\n  \"DNSPolicy\": \"Default\",\n"), "{text}");
    }
}
