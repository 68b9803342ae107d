//! Where a field is, as a definition writes it: `.spec.limits['a.b']`.
//!
//! Mirrors `ValidFieldPath` in `pkg/apiserver/schema/cel` of apiextensions-apiserver.

use super::schema::{Additional, Schema};

const END: &str = "unexpected end of JSON path";

/// The field below `schema` that a path leads to: where it is as errors write it, and what is known of it. Or why there is
/// none. `brackets` says whether the path may have any.
pub fn follow<'a>(schema: &'a Schema, path: &str, brackets: bool) -> Result<(String, &'a Schema), String> {
    let (mut schema, mut shown, mut rest) = (schema, String::new(), path);
    while let Some(opening) = token(&mut rest) {
        let name = match opening {
            "[" if !brackets => return Err("array notation is not allowed".into()),
            "[" => unquoted(token(&mut rest).ok_or(END)?)?,
            "." => token(&mut rest).ok_or(END)?.to_owned(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let part;
        (schema, part) = below(schema, &name).ok_or("does not refer to a valid field")?;
        shown += &part;
        let closing = if opening == "[" { token(&mut rest).ok_or(END)? } else { "]" };
        if closing != "]" {
            return Err(format!("expected ] but got {closing}"));
        }
    }
    Ok((shown, schema))
}

/// A field by its name, or a value of a map by its key; and how errors write that.
fn below<'a>(schema: &'a Schema, name: &str) -> Option<(&'a Schema, String)> {
    match (schema.properties.get(name), &schema.additional) {
        (Some(of), _) => Some((of, format!(".{name}"))),
        (None, Some(Additional::Of(of))) if schema.properties.is_empty() => Some((of, format!("[{name}]"))),
        _ => None,
    }
}

/// The next dot, bracket, quoted key or name.
fn token<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let end = match rest.chars().next()? {
        '.' | '[' | ']' => 1,
        '\'' => {
            let mut quotes = rest.match_indices('\'').skip(1);
            quotes.find(|(i, _)| !rest[..*i].ends_with('\\')).map_or(rest.len(), |(i, _)| i + 1)
        }
        _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
    };
    let (token, after) = rest.split_at(end);
    *rest = after;
    Some(token)
}

fn unquoted(token: &str) -> Result<String, String> {
    let text = token.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let text = text.ok_or_else(|| format!("expected single quoted string but got {token}"))?;
    Ok(text.replace("\\'", "'").replace("\\\\", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_leads_to_a_field_or_nowhere() {
        let props = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"},
            "limits": {"type": "object", "additionalProperties": {"type": "string"}}}}}});
        let schema = Schema::of(&serde_json::from_value(props).unwrap());
        for (path, want) in [
            (".spec.n", ".spec.n"),
            ("['spec']['n']", ".spec.n"),
            (".spec.limits.cpu", ".spec.limits[cpu]"),
            (".spec.limits['a.b']", ".spec.limits[a.b]"),
            (".spec.limits['it\\'s']", ".spec.limits[it's]"),
            (".spec.n.m", "does not refer to a valid field"),
            (".spec..n", "does not refer to a valid field"),
            (".spec.", END),
            (".spec[", END),
            (".spec['n'", END),
            (".spec[0]", "expected single quoted string but got 0"),
            (".spec['n'.", "expected ] but got ."),
            ("spec", "expected [ or . but got: spec"),
        ] {
            assert_eq!(follow(&schema, path, true).map_or_else(|why| why, |(shown, _)| shown), want, "{path}");
        }
        assert_eq!(follow(&schema, ".spec['n']", false).unwrap_err(), "array notation is not allowed");
    }
}
