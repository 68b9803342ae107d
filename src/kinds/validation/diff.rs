//! What differs between two specs, line by line: the tail of the error about a change that is not allowed.
//!
//! Mirrors `diff.Diff` of `k8s.io/apimachinery/pkg/util/diff`: both as JSON with Go's field names, one space a level,
//! as a unified diff.

use serde::Serialize;

use object::validation::internal::Internal;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Beyond this many pairs of lines the changed middle is shown whole, not matched line by line.
const PAIRS_MAX: usize = 1 << 20;

/// The unified diff from one struct of a Go type to another.
pub fn of_structs<T: Serialize>(go_type: &str, old: &T, new: &T) -> String {
    let (old, new) = (Internal(go_type, old).lines(), Internal(go_type, new).lines());
    hunks(&edits(&old, &new))
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
        let text = of_structs("PodSpec", &spec("Always"), &spec("Never"));
        let want = "@@ -3,7 +3,7 @@
  \"InitContainers\": null,
  \"Containers\": [],
  \"EphemeralContainers\": null,
- \"RestartPolicy\": \"Always\",
+ \"RestartPolicy\": \"Never\",
  \"TerminationGracePeriodSeconds\": null,
  \"ActiveDeadlineSeconds\": null,
  \"DNSPolicy\": \"Default\",
";
        assert_eq!(text, want);
    }
}
