//! `jq`: values out of JSON.
//!
//! - `filter`: what is asked. `parse`: the text of one. `run`: what comes of it. `functions`: those that are called by name.
//!
//! Left out: variables and `as`, `reduce`, `foreach`, `def`, assignments, `del`, formats but `@base64`, `@base64d`, `@csv` and
//! `@tsv`, and options but `-r`, `-c`, `-e`, `-n`, `-s` and `-S`. Keys are printed in the order of their names, as with `-S`.

use serde_json::{Deserializer, Value};

use super::lines::{Input, of_texts};
use crate::ran::Ran;

mod filter;
mod functions;
mod parse;
mod run;

/// Mirrors `jq`: 2 for wrong words, 3 for a filter that cannot be read, 5 for one that fails.
pub(super) fn jq(rest: &[&str], input: &mut Input<'_>, read: &dyn Fn(&str) -> Option<String>) -> Option<Ran> {
    let (mut letters, mut words) = (String::new(), Vec::new());
    for word in rest {
        match *word {
            "--raw-output" => letters.push('r'),
            "--compact-output" => letters.push('c'),
            "--slurp" => letters.push('s'),
            "--null-input" => letters.push('n'),
            "--exit-status" => letters.push('e'),
            "--sort-keys" => letters.push('S'),
            flags if flags.len() > 1 && flags.starts_with('-') => letters += &flags[1..],
            word => words.push(word),
        }
    }
    if letters.chars().any(|letter| !"rcesnS".contains(letter)) {
        return None;
    }
    let (text, paths) = words.split_first().map_or((".", &[][..]), |(text, paths)| (*text, paths));
    let filter = match parse::parse(text) {
        Ok(filter) => filter,
        Err(why) => return Some(Ran::badly(3, format!("jq: error: {why}\njq: 1 compile error"))),
    };
    let (mut failed, mut last) = (None, Value::Null);
    let mut ran = of_texts("jq", paths, input, read, |text| {
        let (mut out, values) = (String::new(), values(text, &letters));
        for value in values {
            let results = value.and_then(|value| run::run(&filter, &value).map_err(|why| (5, at(text, &why))));
            match results {
                Ok(results) => {
                    results.iter().for_each(|value| out += &(printed(value, &letters) + "\n"));
                    last = results.last().cloned().unwrap_or(last.take());
                }
                Err(why) => {
                    failed = Some(why);
                    break;
                }
            }
        }
        out
    });
    match failed {
        Some((code, why)) => (ran.code, ran.errors) = (code, ran.errors + &why + "\n"),
        None if letters.contains('e') && matches!(last, Value::Null | Value::Bool(false)) => ran.code = 1,
        None => {}
    }
    Some(ran)
}

/// The values in a text, each or all in one list; or why there are none any more.
fn values(text: &str, letters: &str) -> Vec<Result<Value, (i32, String)>> {
    if letters.contains('n') {
        return vec![Ok(Value::Null)];
    }
    let wrong = |why: serde_json::Error| (2, format!("jq: parse error: {why}"));
    let each = Deserializer::from_str(text).into_iter::<Value>().map(|value| value.map_err(wrong));
    if letters.contains('s') { vec![each.collect::<Result<Vec<_>, _>>().map(Value::Array)] } else { each.collect() }
}

fn at(text: &str, why: &str) -> String {
    format!("jq: error (at <stdin>:{}): {why}", text.matches('\n').count())
}

fn printed(value: &Value, letters: &str) -> String {
    match value {
        Value::String(text) if letters.contains('r') => text.clone(),
        value if letters.contains('c') => value.to_string(),
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PODS: &str = r#"{"items": [
        {"metadata": {"name": "a", "labels": {"app": "web"}}, "status": {"phase": "Running", "n": 2}},
        {"metadata": {"name": "b"}, "status": {"phase": "Pending", "n": 1}}]}"#;

    fn said(flags: &[&str], filter: &str) -> (String, i32) {
        let ran = jq(&[flags, &[filter]].concat(), &mut Input::of(PODS), &|_| None).expect("jq knows its flags");
        (ran.output + &ran.errors, ran.code)
    }

    #[test]
    fn filters_find_what_people_look_for() {
        for (filter, want) in [
            (".items | length", "2\n"),
            (".items[].metadata.name", "a\nb\n"),
            (".items[0].metadata.labels.app", "web\n"),
            (".items[-1].metadata[\"name\"]", "b\n"),
            (".items[1:] | .[].metadata.name", "b\n"),
            (".items[] | select(.status.phase == \"Running\") | .metadata.name", "a\n"),
            (".items[] | select(.status.phase != \"Running\" and .status.n < 2).metadata.name", "b\n"),
            (".items | map(.status.n) | add", "3\n"),
            (".items | sort_by(.status.n) | first.metadata.name", "b\n"),
            (
                ".items | group_by(.status.phase)[] | {phase: .[0].status.phase, n: length}",
                "{\"n\":1,\"phase\":\"Pending\"}\n{\"n\":1,\"phase\":\"Running\"}\n",
            ),
            (".items[] | \"\\(.metadata.name): \\(.status.n)\"", "a: 2\nb: 1\n"),
            (".items[] | .metadata.labels.app // \"none\"", "web\nnone\n"),
            (".items[0].metadata | keys", "[\"labels\",\"name\"]\n"),
            (".items[0].metadata.labels | to_entries[] | .key + \"=\" + .value", "app=web\n"),
            ("[.items[] | {name: .metadata.name}] | .[0]", "{\"name\":\"a\"}\n"),
            ("[.items[].metadata.name] | join(\",\")", "a,b\n"),
            (".items[] | [.metadata.name, .status.n] | @tsv", "a\t2\nb\t1\n"),
            (".items[] | if .status.n > 1 then \"big\" else \"small\" end", "big\nsmall\n"),
            (".items[].metadata | has(\"labels\")", "true\nfalse\n"),
            (".items[].metadata.name | test(\"^a\")", "true\nfalse\n"),
            (".items[0].metadata.name | @base64 | ., @base64d", "YQ==\na\n"),
            (".items[0].none[]?", ""),
            ("[.. | .phase? // empty] | unique", "[\"Pending\",\"Running\"]\n"),
        ] {
            assert_eq!(said(&["-r", "-c"], filter), (want.to_owned(), 0), "{filter}");
        }
        assert_eq!(said(&[], ".items[1].status"), ("{\n  \"n\": 1,\n  \"phase\": \"Pending\"\n}\n".to_owned(), 0));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (filter, why, code) in [
            (".items[", "jq: error: syntax error", 3),
            (".items[] as $x | $x", "is more than is known of it here", 3),
            (".items[0].metadata.name[]", "jq: error (at <stdin>:2): Cannot iterate over string (\"a\")", 5),
            (".items.name", "Cannot index array with \"name\"", 5),
            ("nonsense", "nonsense/0 is not defined", 3),
        ] {
            let (said, found) = said(&[], filter);
            assert!(said.contains(why) && found == code, "{filter}: {said} {found}");
        }
        assert!(jq(&["."], &mut Input::of("{"), &|_| None).is_some_and(|ran| ran.code == 2));
        let deep = format!("{}.{}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(said(&[], &deep).1, 3, "a filter may be only so deep");
    }
}
