//! What is asked for by `print` and `display`: an expression over the step where the session stands, or an object and its
//! fields as they are stored.

use serde_json::Value;

use super::breakpoint::parse::split_watch;
use super::expression::parse::parse_parts;
use super::expression::{Expression, eval, parse};
use super::facts::{Facts, View};
use super::target;
use super::{Session, stop};

/// What is asked for, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// As it was typed.
    pub text: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// `new.status.phase`, of the step.
    OfStep(Expression),
    /// `pod/web.status.phase`, of the store: the object as it was named, and the path in it.
    OfObject(String, String),
}

impl Asked {
    /// Reads `new.status.phase`, `pod/web` or `pod/web.status.phase`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(text: &str) -> Result<Asked, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("write for example: print new.status.phase, or: print deploy/web.status.replicas".to_owned());
        }
        let what = match of_object(text) {
            Some((object, path)) => {
                parse_parts_of(&path)?;
                What::OfObject(object, path)
            }
            None => What::OfStep(parse(text).map_err(|error| error.to_string())?),
        };
        Ok(Asked { text: text.to_owned(), what })
    }

    /// Its values; a path with `[*]` may have several.
    ///
    /// # Errors
    /// It has none: there is no step yet, no such object, or what is asked makes no sense of what is there.
    pub fn values(&self, session: &Session) -> Result<Vec<Value>, String> {
        match &self.what {
            What::OfStep(expression) => of_step(session, expression),
            What::OfObject(object, path) => {
                let words: Vec<&str> = object.split_whitespace().collect();
                let target = target::find(session, &words)?;
                let store = &session.cluster.engine.server.api.store;
                let entry = store.get(&target.etcd_key()).ok_or_else(|| format!("{target} is gone"))?;
                Ok(eval::follow(&entry.value.to_json(), &parse_parts_of(path)?))
            }
        }
    }
}

/// An object and the path in it, where a text names one.
fn of_object(text: &str) -> Option<(String, String)> {
    let first = text.split(['.', ' ', '"', '\'', '(']).next()?;
    let (kind, _) = first.split_once('/')?;
    let is_word = kind.chars().all(|c| c.is_ascii_alphanumeric());
    is_word.then(|| split_watch(text).unwrap_or_else(|_| (text.to_owned(), String::new())))
}

fn parse_parts_of(path: &str) -> Result<Vec<super::expression::Part>, String> {
    if path.is_empty() { Ok(Vec::new()) } else { parse_parts(path).map_err(|error| error.to_string()) }
}

fn of_step(session: &Session, expression: &Expression) -> Result<Vec<Value>, String> {
    let step = session.current().ok_or("nothing has happened yet; press Enter to step")?;
    let engine = &session.cluster.engine;
    let request = session.step(step.event.cause);
    let facts = Facts::of(engine, step).answering(engine, request);
    // Of several objects the one that the stop shows first.
    let shown = facts.subjects.get(stop::main_write(step)).or(facts.subjects.first()).copied();
    let seconds = session.time(step.time).0 as f64 / 1e9;
    expression.values_in(&View::new(&facts, shown, seconds)).map_err(|error| error.to_string())
}
