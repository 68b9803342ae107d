//! What becomes of a word when its turn comes: variables, `$(…)` and `$((…))` are replaced, and what was not quoted is split.

use super::limits::{PATTERN_MAX, TEXT_MAX};
use super::run::Shell;
use super::sums;
use super::test::{Pattern, fits};
use super::words::{Change, Part, Unsupported, Word};

/// Replaces what is in words.
pub struct Expansion<'a> {
    pub shell: &'a mut Shell,
    /// What the words' `$(…)` have come to, in their order.
    pub values: std::vec::IntoIter<String>,
    /// How long all of it is by now.
    pub length: usize,
}

impl Expansion<'_> {
    /// Words; each may become several or none.
    pub fn fields(&mut self, words: &[Word]) -> Result<Vec<String>, Unsupported> {
        let mut fields = Vec::new();
        for word in words {
            let mut field: Option<String> = None;
            for part in &word.0 {
                if let Some(those) = self.several(part) {
                    for (at, text) in those.into_iter().enumerate() {
                        if at > 0 {
                            fields.extend(field.take());
                        }
                        self.length += text.len();
                        field.get_or_insert_default().push_str(&text);
                    }
                    continue;
                }
                let (text, whole) = self.part(part)?;
                if whole {
                    field.get_or_insert_default().push_str(&text);
                    continue;
                }
                for (at, piece) in text.split([' ', '\t', '\n']).enumerate() {
                    if at > 0 {
                        fields.extend(field.take());
                    }
                    if !piece.is_empty() {
                        field.get_or_insert_default().push_str(piece);
                    }
                }
            }
            fields.extend(field);
        }
        Ok(fields)
    }

    /// What is between quotes, and yet not one word: `"$@"`, `"${NAME[@]}"`.
    fn several(&self, part: &Part) -> Option<Vec<String>> {
        let Part::Variable { name, change: None, quoted: true } = part else { return None };
        match name.strip_suffix("[@]") {
            Some(name) => Some(self.shell.elements(name).cloned().collect()),
            None => (name == "@").then(|| self.shell.arguments().cloned().collect()),
        }
    }

    /// A word that stays one.
    pub fn text(&mut self, word: &Word) -> Result<String, Unsupported> {
        let mut text = String::new();
        for part in &word.0 {
            text.push_str(&self.part(part)?.0);
        }
        Ok(text)
    }

    /// A word that is a pattern.
    pub fn pattern(&mut self, word: &Word) -> Result<Pattern, Unsupported> {
        let mut pattern = Pattern::new();
        for part in &word.0 {
            let quoted = match part {
                Part::Text { quoted, .. } | Part::Variable { quoted, .. } | Part::Output { quoted, .. } => *quoted,
                Part::Sum(_) => true,
            };
            pattern.extend(self.part(part)?.0.chars().map(|c| (c, quoted)));
        }
        if pattern.len() > PATTERN_MAX { Err(Unsupported) } else { Ok(pattern) }
    }

    /// What a part comes to, and whether it stays as it is.
    fn part(&mut self, part: &Part) -> Result<(String, bool), Unsupported> {
        let (text, whole) = match part {
            Part::Text { text, .. } => (text.clone(), true),
            Part::Output { quoted, .. } => (self.values.next().unwrap_or_default(), *quoted),
            Part::Sum(sum) => {
                let value_of = |name: &str| self.shell.value(name);
                (sums::evaluate(sum, &value_of).ok_or(Unsupported)?.to_string(), true)
            }
            Part::Variable { name, change: None, quoted } => (self.shell.value(name).unwrap_or_default(), *quoted),
            Part::Variable { name, change: Some(change), quoted } => (self.changed(name, change)?, *quoted),
        };
        self.length += text.len();
        if self.length > TEXT_MAX { Err(Unsupported) } else { Ok((text, whole)) }
    }

    fn changed(&mut self, name: &str, Change { operator, operand }: &Change) -> Result<String, Unsupported> {
        let value = self.shell.value(name);
        let is_there = value.as_ref().is_some_and(|value| !operator.starts_with(':') || !value.is_empty());
        let value = value.unwrap_or_default();
        match *operator {
            ":-" | "-" if !is_there => self.text(operand),
            ":=" | "=" if !is_there => {
                let text = self.text(operand)?;
                self.shell.set(name, text.clone())?;
                Ok(text)
            }
            ":+" | "+" if is_there => self.text(operand),
            ":+" | "+" => Ok(String::new()),
            "#" if operand.0.is_empty() && name.ends_with(']') => {
                let name = name.split('[').next().unwrap_or_default();
                Ok(self.shell.elements(name).count().to_string())
            }
            "#" if operand.0.is_empty() => Ok(value.chars().count().to_string()),
            "#" | "##" | "%" | "%%" => {
                let pattern = self.pattern(operand)?;
                self.shell.spend(value.len())?;
                without(&value, &pattern, operator)
            }
            _ => Ok(value),
        }
    }
}

/// A text without the shortest or longest beginning or end that fits.
fn without(value: &str, pattern: &Pattern, operator: &str) -> Result<String, Unsupported> {
    let chars: Vec<char> = value.chars().collect();
    if chars.len() > PATTERN_MAX {
        return Err(Unsupported);
    }
    let cut = |length: usize| match operator.starts_with('#') {
        true => (&chars[..length], &chars[length..]),
        false => (&chars[chars.len() - length..], &chars[..chars.len() - length]),
    };
    let fitting = |length: &usize| fits(pattern, cut(*length).0);
    let found = match operator.len() {
        1 => (0..=chars.len()).find(fitting),
        _ => (0..=chars.len()).rev().find(fitting),
    };
    Ok(found.map_or(value.to_owned(), |length| cut(length).1.iter().collect()))
}
