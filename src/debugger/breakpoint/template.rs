//! What a logpoint prints: text with expressions in braces.

use crate::expression::eval::Scope;
use crate::expression::{self, Expression};

/// A template, parsed.
#[derive(Clone, Debug)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Value(Expression),
}

impl Template {
    /// Reads `{new.metadata.name} is {new.status.phase}`. `{{` and `}}` stand for braces.
    pub fn parse(text: &str) -> Result<Template, String> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            let brace = &rest[at..=at];
            plain.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                plain.push_str(brace);
                rest = after;
                continue;
            }
            let inner = rest.split_once('}').filter(|_| brace == "{");
            let Some((inner, after)) = inner else {
                return Err(format!("{text:?} has a {brace} without its partner; to print a brace, write it twice"));
            };
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Value(expression::parse(inner).map_err(|error| error.to_string())?));
            rest = after;
        }
        pieces.push(Piece::Text(plain + rest));
        Ok(Template(pieces))
    }

    /// The text with every expression replaced by its value. One that has none says why.
    pub fn fill(&self, scope: &dyn Scope) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value(value) => value.text_in(scope).unwrap_or_else(|error| format!("<{}>", error.message)),
        };
        self.0.iter().map(piece).collect()
    }
}
