//! What `$((…))` comes to.

use super::limits::DEPTH_MAX;

/// Operators between two operands, and how tightly they hold them. Longer ones first.
const OPERATORS: &[(&str, u8)] = &[
    ("||", 1),
    ("&&", 2),
    ("==", 3),
    ("!=", 3),
    ("<=", 4),
    (">=", 4),
    ("<", 4),
    (">", 4),
    ("+", 5),
    ("-", 5),
    ("*", 6),
    ("/", 6),
    ("%", 6),
];

/// Whole numbers and variables, with operators and brackets. None: it is not understood, or too large, or divided by nothing.
pub fn evaluate(text: &str, value_of: &dyn Fn(&str) -> Option<String>) -> Option<i64> {
    let mut sum = Sum { rest: text, value_of };
    let result = sum.operation(0, 0)?;
    sum.rest.trim().is_empty().then_some(result)
}

struct Sum<'a> {
    rest: &'a str,
    value_of: &'a dyn Fn(&str) -> Option<String>,
}

impl Sum<'_> {
    /// Operands with operators between them that hold tighter than `above`.
    fn operation(&mut self, above: u8, depth: usize) -> Option<i64> {
        let mut left = self.operand(depth)?;
        loop {
            self.rest = self.rest.trim_start();
            let found = OPERATORS.iter().find(|(sign, _)| self.rest.starts_with(sign));
            let Some((sign, strength)) = found.filter(|(_, strength)| *strength > above) else { return Some(left) };
            self.rest = &self.rest[sign.len()..];
            let right = self.operation(*strength, depth + 1)?;
            left = apply(sign, left, right)?;
        }
    }

    fn operand(&mut self, depth: usize) -> Option<i64> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next().filter(|_| depth <= DEPTH_MAX)?;
        if let Some(sign) = "-+!(".find(first) {
            self.rest = &self.rest[1..];
            if sign < 3 {
                let value = self.operand(depth + 1)?;
                return match first {
                    '-' => value.checked_neg(),
                    '+' => Some(value),
                    _ => Some(i64::from(value == 0)),
                };
            }
            let value = self.operation(0, depth + 1)?;
            self.rest = self.rest.trim_start().strip_prefix(')')?;
            return Some(value);
        }
        let braced = self.rest.strip_prefix("${");
        self.rest = braced.or(self.rest.strip_prefix('$')).unwrap_or(self.rest);
        let end =
            self.rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_[]?#".contains(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = if braced.is_some() { rest.strip_prefix('}')? } else { rest };
        match name.parse() {
            Ok(number) if first != '$' => Some(number),
            _ if name.is_empty() => None,
            _ => (self.value_of)(name)
                .filter(|value| !value.is_empty())
                .map_or(Some(0), |value| value.trim().parse().ok()),
        }
    }
}

fn apply(sign: &str, left: i64, right: i64) -> Option<i64> {
    match sign {
        "||" => Some(i64::from(left != 0 || right != 0)),
        "&&" => Some(i64::from(left != 0 && right != 0)),
        "==" => Some(i64::from(left == right)),
        "!=" => Some(i64::from(left != right)),
        "<=" => Some(i64::from(left <= right)),
        ">=" => Some(i64::from(left >= right)),
        "<" => Some(i64::from(left < right)),
        ">" => Some(i64::from(left > right)),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        _ => left.checked_rem(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_made() {
        let value_of = |name: &str| (name == "i").then(|| "41".to_owned());
        for (text, expected) in [
            ("i+1", Some(42)),
            (" i * 2 ", Some(82)),
            ("-3", Some(-3)),
            ("none", Some(0)),
            ("7 % 0", None),
            ("100 + $i", Some(141)),
            ("${i}-1", Some(40)),
            ("1 + 2 * 3 - 4", Some(3)),
            ("(1 + 2) * 3", Some(9)),
            ("8 / 2 / 2", Some(2)),
            ("i < 42 && 1 != 2", Some(1)),
            ("!i", Some(0)),
            ("9223372036854775807 + 1", None),
            ("i++", None),
            ("1 2", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(evaluate(text, &value_of), expected, "{text}");
        }
        assert_eq!(evaluate(&"(".repeat(100_000), &value_of), None);
        assert_eq!(evaluate(&"-".repeat(100_000), &value_of), None);
    }
}
