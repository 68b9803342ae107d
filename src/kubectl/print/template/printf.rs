//! Go's `Sprintf`: `%-10s`, `%05d`, `%.2f`. Mirrors `fmt/print.go` and `fmt/format.go`; left out: `*` and `%[1]d`.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

use super::functions::{text, type_of};
use super::tree::Item;

/// What stands between the `%` and the verb.
#[derive(Default)]
struct Layout {
    left: bool,
    zeros: bool,
    plus: bool,
    width: usize,
    precision: Option<usize>,
}

/// No text is made wider than this. Mirrors `fmt.tooLarge`, which ends there too.
const WIDTH_MAX: usize = 10_000;

/// The text that a format makes of its items.
pub(super) fn printf(format: &str, items: &[Item]) -> String {
    let (mut out, mut chars, mut items) = (String::new(), format.chars().peekable(), items.iter());
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let layout = Layout::take(&mut chars);
        match chars.next() {
            Some('%') => out.push('%'),
            Some(verb) => match items.next() {
                Some(item) => out += &layout.padded(verb, item),
                None => out += &format!("%!{verb}(MISSING)"),
            },
            None => out += "%!(NOVERB)",
        }
    }
    let extra: Vec<String> = items.map(told).collect();
    if !extra.is_empty() {
        out += &format!("%!(EXTRA {})", extra.join(", "));
    }
    out
}

impl Layout {
    fn take(chars: &mut Peekable<Chars>) -> Layout {
        let mut layout = Layout::default();
        while let Some(flag) = chars.next_if(|c| matches!(c, '-' | '0' | '+' | ' ' | '#')) {
            layout.left |= flag == '-';
            layout.zeros |= flag == '0';
            layout.plus |= flag == '+';
        }
        layout.zeros &= !layout.left;
        layout.width = number(chars).unwrap_or(0);
        if chars.next_if_eq(&'.').is_some() {
            layout.precision = Some(number(chars).unwrap_or(0));
        }
        layout
    }

    fn padded(&self, verb: char, item: &Item) -> String {
        let text = match self.plain(verb, item) {
            Some(text) => text,
            None => return format!("%!{verb}({})", told(item)),
        };
        let missing = self.width.saturating_sub(text.chars().count());
        match (self.left, self.zeros) {
            (true, _) => text + &" ".repeat(missing),
            (_, true) => match text.strip_prefix(['-', '+']) {
                Some(digits) => format!("{}{}{digits}", &text[..1], "0".repeat(missing)),
                None => "0".repeat(missing) + &text,
            },
            _ => " ".repeat(missing) + &text,
        }
    }

    /// None if the verb is not for such an item.
    fn plain(&self, verb: char, item: &Item) -> Option<String> {
        let cut = |text: &str| text.chars().take(self.precision.unwrap_or(usize::MAX)).collect::<String>();
        let signed = |text: String, negative: bool| if self.plus && !negative { format!("+{text}") } else { text };
        Some(match (verb, item) {
            ('v', Item::Missing | Item::Value(Value::Null)) => "<nil>".to_owned(),
            ('T', item) => type_of(item).to_owned(),
            ('s' | 'v', Item::Value(Value::String(text))) => cut(text),
            ('q', Item::Value(Value::String(text))) => format!("{:?}", cut(text)),
            ('x', Item::Value(Value::String(text))) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
            ('d' | 'v', Item::Int(n)) => signed(n.to_string(), *n < 0),
            ('x' | 'X' | 'o' | 'b', Item::Int(n)) => {
                let digits = match verb {
                    'x' => format!("{:x}", n.unsigned_abs()),
                    'X' => format!("{:X}", n.unsigned_abs()),
                    'o' => format!("{:o}", n.unsigned_abs()),
                    _ => format!("{:b}", n.unsigned_abs()),
                };
                if *n < 0 { format!("-{digits}") } else { signed(digits, false) }
            }
            ('c', Item::Int(n)) => u32::try_from(*n).ok().and_then(char::from_u32).unwrap_or('\u{fffd}').to_string(),
            ('t' | 'v', Item::Value(Value::Bool(value))) => value.to_string(),
            ('f' | 'F', Item::Value(Value::Number(n))) => {
                let n = n.as_f64()?;
                signed(format!("{n:.*}", self.precision.unwrap_or(6)), n < 0.0)
            }
            ('g' | 'v', Item::Value(Value::Number(_))) => text(item),
            ('v', item @ Item::Value(Value::Array(_) | Value::Object(_))) => text(item),
            ('s', item @ Item::Value(Value::Array(items))) if items.iter().all(Value::is_string) => text(item),
            ('s', item @ Item::Value(Value::Object(fields))) if fields.values().all(Value::is_string) => text(item),
            _ => return None,
        })
    }
}

/// An item with its type, as `Sprintf` tells of one that it cannot use.
fn told(item: &Item) -> String {
    match item {
        Item::Missing | Item::Value(Value::Null) => "<nil>".to_owned(),
        item => format!("{}={}", type_of(item), text(item)),
    }
}

fn number(chars: &mut Peekable<Chars>) -> Option<usize> {
    let mut number = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        chars.next();
        number = Some((number.unwrap_or(0) * 10 + digit as usize).min(WIDTH_MAX));
    }
    number
}
