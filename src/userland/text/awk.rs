//! `awk` as people have it print columns: `awk '{print $1}'`, `awk -F: 'NR>1 {print $2, $1}'`, `awk '/Running/ {print $1}'`.
//!
//! Left out: the rest of the language.

use regex::Regex;

use super::lines::{Input, of_texts};
use crate::ran::Ran;

/// Which lines are printed.
enum Condition {
    Always,
    Fits(Regex),
    /// A value, how it compares (`==`, `!=`, `>`, `<`, `>=`, `<=`, `~`), and with what.
    Compares(Value, &'static str, String),
}

/// What is printed or compared.
#[derive(Clone)]
enum Value {
    /// `$2`; 0 is the line.
    Field(usize),
    /// `$NF`
    LastField,
    /// `NR`
    LineNumber,
    /// `NF`
    Fields,
    Text(String),
}

/// In this order: the longer ones first.
const COMPARISONS: &[&str] = &["==", "!=", ">=", "<=", ">", "<", "~"];

/// Mirrors POSIX `awk`. None: it is more than is known here.
pub(super) fn awk(rest: &[&str], input: &mut Input<'_>, read: &dyn Fn(&str) -> Option<String>) -> Option<Ran> {
    let (between, rest) = match rest {
        ["-F", between, rest @ ..] => (Some(*between), rest),
        [flag, rest @ ..] if flag.starts_with("-F") => (Some(&flag[2..]), rest),
        rest => (None, rest),
    };
    let (program, paths) = rest.split_first()?;
    let (condition, values) = parsed(program.trim())?;
    Some(of_texts("awk", paths, input, read, |text| {
        let mut all = String::new();
        for (at, line) in text.lines().enumerate() {
            let fields: Vec<&str> = match between {
                Some(between) => line.split(between).collect(),
                None => line.split_whitespace().collect(),
            };
            let here = Here { line, fields: &fields, number: at + 1 };
            if condition.holds(&here) {
                let printed: Vec<String> = values.iter().map(|value| here.value(value)).collect();
                all += &(printed.join(" ") + "\n");
            }
        }
        all
    }))
}

/// The line that it has come to.
struct Here<'a> {
    line: &'a str,
    fields: &'a [&'a str],
    number: usize,
}

impl Here<'_> {
    fn value(&self, value: &Value) -> String {
        match value {
            Value::Field(0) => self.line.to_owned(),
            Value::Field(at) => self.fields.get(at - 1).copied().unwrap_or_default().to_owned(),
            Value::LastField => self.fields.last().copied().unwrap_or_default().to_owned(),
            Value::LineNumber => self.number.to_string(),
            Value::Fields => self.fields.len().to_string(),
            Value::Text(text) => text.clone(),
        }
    }
}

impl Condition {
    fn holds(&self, here: &Here<'_>) -> bool {
        let (value, sign, with) = match self {
            Condition::Always => return true,
            Condition::Fits(regex) => return regex.is_match(here.line),
            Condition::Compares(value, sign, with) => (here.value(value), *sign, with),
        };
        if sign == "~" {
            return Regex::new(with).is_ok_and(|regex| regex.is_match(&value));
        }
        let order = match (value.parse::<f64>(), with.parse::<f64>()) {
            (Ok(value), Ok(with)) => value.total_cmp(&with),
            _ => value.as_str().cmp(with),
        };
        match sign {
            "==" => order.is_eq(),
            "!=" => order.is_ne(),
            ">=" => order.is_ge(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            _ => order.is_lt(),
        }
    }
}

/// `CONDITION {print VALUES}`; either may be missing.
fn parsed(program: &str) -> Option<(Condition, Vec<Value>)> {
    let (condition, action) = match program.split_once('{') {
        Some((condition, rest)) => (condition.trim(), rest.trim_end().strip_suffix('}')?.trim()),
        None => (program, "print"),
    };
    let values =
        action.strip_prefix("print").filter(|rest| rest.is_empty() || rest.starts_with([' ', '$', '"']))?.trim();
    let values = match values {
        "" => vec![Value::Field(0)],
        values => values.split(',').map(|value| self::value(value.trim())).collect::<Option<_>>()?,
    };
    Some((self::condition(condition)?, values))
}

fn condition(text: &str) -> Option<Condition> {
    if text.is_empty() {
        return Some(Condition::Always);
    }
    if let Some(pattern) = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
        return Regex::new(pattern).ok().map(Condition::Fits);
    }
    let (at, sign) = COMPARISONS.iter().filter_map(|sign| Some((text.find(*sign)?, *sign))).next()?;
    let (left, right) = (text[..at].trim(), text[at + sign.len()..].trim());
    let right = match right.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
        Some(pattern) if sign == "~" => pattern.to_owned(),
        _ => match value(right)? {
            Value::Text(text) => text,
            _ => return None,
        },
    };
    Some(Condition::Compares(value(left)?, sign, right))
}

fn value(text: &str) -> Option<Value> {
    Some(match text {
        "NR" => Value::LineNumber,
        "NF" => Value::Fields,
        "$NF" => Value::LastField,
        _ => match (text.strip_prefix('$'), text.strip_prefix('"').and_then(|text| text.strip_suffix('"'))) {
            (Some(number), _) => Value::Field(number.parse().ok()?),
            (None, Some(text)) if !text.contains(['"', '\\']) => Value::Text(text.to_owned()),
            _ => Value::Text(text.parse::<f64>().ok().map(|_| text.to_owned())?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_printed() {
        let text = "NAME READY STATUS\nweb-1 1/1 Running\nweb-2 0/1 Pending\n";
        for (words, want) in [
            (vec!["{print $1}"], "NAME\nweb-1\nweb-2\n"),
            (vec!["NR>1 {print $3, $1}"], "Running web-1\nPending web-2\n"),
            (vec!["NR==2{print $NF}"], "Running\n"),
            (vec!["/Running/"], "web-1 1/1 Running\n"),
            (vec!["$3 == \"Pending\" {print $1}"], "web-2\n"),
            (vec!["$1 ~ /^web/ {print NR, \"x\"}"], "2 x\n3 x\n"),
            (vec!["-F", "/", "NR >= 3 {print $2}"], "1 Pending\n"),
            (vec!["-F/", "{print $9}"], "\n\n\n"),
        ] {
            assert_eq!(
                awk(&words, &mut Input::of(text), &|_| None).map(|ran| ran.output).as_deref(),
                Some(want),
                "{words:?}"
            );
        }
        for beyond in
            ["BEGIN{x=1}", "{s+=$1} END {print s}", "{printf \"%s\", $1}", "{print $1", "x", "{print length($1)}"]
        {
            assert!(awk(&[beyond], &mut Input::of(text), &|_| None).is_none(), "{beyond}");
        }
    }
}
