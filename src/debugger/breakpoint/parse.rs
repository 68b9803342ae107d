//! A breakpoint as it is typed: terms, then perhaps `if EXPRESSION`, then perhaps `print TEMPLATE`.
//!
//! | term | stops at |
//! |---|---|
//! | `pod`, `rs`, `deployments` | a kind |
//! | `pod/web-*`, `pod/shop/web-*` | an object: globs, with its namespace if one is given |
//! | `-l app=web` | objects with these labels |
//! | `ns=shop`, `-n shop`, `name=web-*` | a namespace, a name |
//! | `request`, `response`, `notification`, `timer`, `runtime`, `packet`, `fault` | a class of events |
//! | `kube-scheduler`, `kubelet/*`, `replicaset-controller` | a component that sends, gets or works |
//! | `from=NAME`, `to=NAME` | the sender alone, the receiver alone |
//! | `create`, `update`, `pods/status` | a verb, a subresource of a kind |
//! | `409`, `4xx` | an answer's code |
//! | `reason=FailedScheduling` | an Event that is written |
//! | `verdict=unschedulable`, `verdict='node-2 chosen'` | what the scheduler decides |
//! | `condition=Ready`, `condition=Ready:True` | a condition that changes |
//! | `method=RunPodSandbox` | a call to the runtime, or a timer of that name |
//! | `replicaset/mod.rs:120`, `fn=put_status` | code that comes to wait there |

use crate::expression::{self, Expression};
use crate::facts::Class;
use crate::source;
use object::Kind;
use object::selector::Selector;
use wire::Subresource;

use super::filter::{Filter, Lines, Term};
use super::meant;
use super::template::Template;

/// What names mean something in the cluster at hand.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Processes and controllers.
    pub components: Vec<String>,
}

/// A breakpoint's text, read.
#[derive(Debug)]
pub struct Parsed {
    /// Its terms.
    pub filter: Filter,
    /// After `if`.
    pub condition: Option<Expression>,
    /// After `print`.
    pub log: Option<Template>,
    /// It stops at the write at which the condition comes true, and not at those after it: no class of events was named, and
    /// the condition is about an object as it is.
    pub comes_true: bool,
}

/// What can be asked of the API server.
pub const VERBS: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/// What objects have endpoints for besides themselves.
fn subresources() -> impl Iterator<Item = &'static str> {
    Subresource::ALL.into_iter().map(Subresource::as_str)
}

/// The keys of terms that have one.
pub const KEYS: &str = "ns= name= from= to= reason= verdict= condition= method= fn=";

/// Reads a breakpoint.
pub fn parse(text: &str, context: &Context) -> Result<Parsed, String> {
    let (head, template) = split_at_word(text, "print");
    let (head, condition) = split_at_word(head, "if");
    let words = shell_words::split(head).map_err(|_| "a quote is not closed".to_owned())?;
    let mut terms = Vec::new();
    let (mut words, mut before) = (words.iter(), None);
    while let Some(word) = words.next() {
        if word == "-l" {
            let selector = words.next().ok_or("-l needs a selector, as in -l app=web")?;
            terms.push(Term::Labels(Selector::parse(selector)?));
        } else if word == "-n" || word == "--namespace" {
            let namespace = words.next().ok_or("-n needs a namespace, as in -n shop")?;
            terms.push(Term::Namespace(namespace.clone()));
        } else {
            terms.extend(term(word, before, context)?);
        }
        before = Some(word.as_str());
    }
    if terms.is_empty() && condition.is_none() {
        let example = "create pods, or: pod/web-* condition=Ready:True";
        return Err(format!("say where to stop, as in: {example}; {}", meant::HELP));
    }
    let condition = condition.map(expression::parse).transpose().map_err(|error| error.to_string())?;
    let log = template.map(Template::parse).transpose()?;
    let of_object = terms.iter().any(Term::asks_object) && !terms.iter().any(|term| matches!(term, Term::Class(_)));
    let comes_true = of_object && condition.as_ref().is_some_and(Expression::is_about_an_object);
    let mut terms = with_class(terms);
    if of_object && condition.is_some() && !terms.iter().any(Term::names_event) {
        terms.push(Term::Class(Class::Request));
    }
    Ok(Parsed { filter: Filter { terms }, condition, log, comes_true })
}

/// `pod/web.status.phase` in its object and its path. A name may have dots; the path begins where an object's parts do.
pub fn split_watch(text: &str) -> Result<(String, String), String> {
    const PARTS: &[&str] = &[".metadata", ".spec", ".status", ".data", ".type", ".subsets", ".endpoints", ".rules"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let (namespace, words) = without_namespace(&words)?;
    let text = &one_word(&words, namespace);
    let found = PARTS.iter().filter_map(|part| text.find(part)).min().or_else(|| text.find('.'));
    match found.map(|at| (text[..at].trim(), &text[at + 1..])) {
        Some((object, path)) if !object.is_empty() && !path.is_empty() => Ok((object.to_owned(), path.to_owned())),
        _ => Err("write what to watch as KIND/NAME.path, as in: watch pod/web.status.phase; \
            break pod stops at every write of a Pod"
            .to_owned()),
    }
}

/// Words without `-n NAMESPACE`, and that namespace.
pub fn without_namespace<'a>(words: &[&'a str]) -> Result<(Option<&'a str>, Vec<&'a str>), String> {
    let (mut namespace, mut others) = (None, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let given = word.strip_prefix("--namespace=").or_else(|| word.strip_prefix("-n="));
        match *word {
            "-n" | "--namespace" => namespace = Some(*words.next().ok_or("-n needs a namespace, as in -n shop")?),
            other if given.is_none() => others.push(other),
            _ => namespace = given,
        }
    }
    Ok((namespace, others))
}

/// `deploy/web status.replicas` as it is meant: `deploy/web.status.replicas`; with its namespace, if one is given.
fn one_word(words: &[&str], namespace: Option<&str>) -> String {
    let text = match words {
        [object, path] if object.contains('/') => format!("{object}.{}", path.trim_start_matches('.')),
        words => words.join(" "),
    };
    match (namespace, text.split_once('/')) {
        (Some(namespace), Some((kind, name))) if !name.contains('/') => format!("{kind}/{namespace}/{name}"),
        _ => text,
    }
}

/// The text before a keyword that stands alone and outside quotes, and the text behind it.
pub(super) fn split_at_word<'a>(text: &'a str, word: &str) -> (&'a str, Option<&'a str>) {
    let (mut quote, mut start) = (None, true);
    for (at, c) in text.char_indices() {
        let end = at + word.len();
        let ends = || text[end..].chars().next().is_none_or(char::is_whitespace);
        if quote.is_none() && start && text[at..].starts_with(word) && ends() {
            return (&text[..at], Some(text[end..].trim()));
        }
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            _ => {}
        }
        start = c.is_whitespace();
    }
    (text, None)
}

/// Some terms are seen at several events of one write. Unless a class is given, one of them is meant.
fn with_class(mut terms: Vec<Term>) -> Vec<Term> {
    let has = |fits: fn(&Term) -> bool| terms.iter().any(fits);
    if has(|term| matches!(term, Term::Class(_))) {
        return terms;
    }
    if has(|term| matches!(term, Term::Code(_))) {
        terms.push(Term::Class(Class::Response));
    } else if has(|term| matches!(term, Term::Verb(_) | Term::Subresource(_) | Term::Reason(_) | Term::Condition(..))) {
        terms.push(Term::Class(Class::Request));
    }
    terms
}

fn term(word: &str, before: Option<&str>, context: &Context) -> Result<Vec<Term>, String> {
    if let Some((key, value)) = word.split_once('=') {
        return keyed(key, value, context);
    }
    if let Some((_, class)) = Class::ALL.iter().find(|(name, _)| *name == word) {
        return Ok(vec![Term::Class(*class)]);
    }
    if VERBS.contains(&word) {
        return Ok(vec![Term::Verb(word.to_owned())]);
    }
    if is_code(word) {
        return Ok(vec![Term::Code(word.to_owned())]);
    }
    if let Some((file, line)) = word.rsplit_once(':')
        && file.ends_with(".rs")
    {
        return place(file, line);
    }
    if let Some(kind) = kind(word) {
        return Ok(vec![kind]);
    }
    if let Some((word, name)) = word.split_once('/')
        && let Some(kind) = kind(word)
    {
        return object(kind, word, name);
    }
    component(word, before, context).map(|term| vec![term])
}

/// A kind: a built-in one by any of its names; one that users define as `crontabs.stable.example.com`, whether it is defined
/// by now or not.
fn kind(word: &str) -> Option<Term> {
    let part = |part: &str| part.starts_with(|c: char| c.is_ascii_lowercase()) && part.bytes().all(is_label);
    let is_label = word.matches('.').count() >= 2 && word.split('.').all(part);
    let custom = || is_label.then(|| Term::Custom(word.to_owned()));
    Kind::built_in().find(|kind| kind.is_called(word)).map(Term::Kind).or_else(custom)
}

fn is_label(c: u8) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-'
}

fn is_code(word: &str) -> bool {
    word.len() == 3
        && word.starts_with(|c: char| ('1'..='5').contains(&c))
        && word[1..].chars().all(|c| c.is_ascii_digit() || c == 'x')
}

/// `pod/web`, `pod/shop/web`, and `pods/status`, which is a subresource because its kind is written as in a URL.
fn object(kind: Term, word: &str, name: &str) -> Result<Vec<Term>, String> {
    let is_plural = match &kind {
        Term::Kind(kind) => word == kind.info().plural,
        _ => true,
    };
    if is_plural && subresources().any(|part| part == name) {
        return Ok(vec![kind, Term::Subresource(name.to_owned())]);
    }
    match name.split_once('/') {
        _ if name.is_empty() => Err(format!("{word}/ needs a name after it, as in {word}/web-*")),
        Some((namespace, name)) => Ok(vec![kind, Term::Namespace(namespace.to_owned()), Term::Name(name.to_owned())]),
        None => Ok(vec![kind, Term::Name(name.to_owned())]),
    }
}

fn keyed(key: &str, value: &str, context: &Context) -> Result<Vec<Term>, String> {
    if value.is_empty() {
        return Err(format!("{key}= needs a value"));
    }
    let text = value.to_owned();
    Ok(vec![match key {
        "ns" | "namespace" => Term::Namespace(text),
        "name" => Term::Name(text),
        "kind" => kind(value).ok_or_else(|| format!("there is no kind {value:?}"))?,
        "labels" => Term::Labels(Selector::parse(value)?),
        "component" => component(value, None, context)?,
        "from" => Term::From(text),
        "to" => Term::To(text),
        "verb" if VERBS.contains(&value) => Term::Verb(text),
        "verb" => return Err(format!("there is no verb {value:?}; there are {}", VERBS.join(", "))),
        "sub" | "subresource" if subresources().any(|part| part == value) => Term::Subresource(text),
        "sub" | "subresource" => {
            let all: Vec<&str> = subresources().collect();
            return Err(format!("there is no subresource {value:?}; there are {}", all.join(", ")));
        }
        "code" if is_code(value) => Term::Code(text),
        "code" => return Err(format!("{value:?} is not a code; write 409, or 4xx for all that begin with 4")),
        "method" => Term::Method(text),
        "reason" => Term::Reason(text),
        "verdict" => Term::Verdict(text),
        "condition" => match value.split_once(':') {
            Some((kind, status)) => Term::Condition(kind.to_owned(), Some(status.to_owned())),
            None => Term::Condition(text, None),
        },
        "fn" => Term::Lines(function(value)?),
        _ if value.starts_with('=') => return Err(meant::wrong("==", None, context)),
        other => return Err(format!("{other}= is no term; there are {KEYS}; {}", meant::HELP)),
    }])
}

/// A component by its name, a part of it or a glob; an unknown name is a mistake.
fn component(word: &str, before: Option<&str>, context: &Context) -> Result<Term, String> {
    if context.components.iter().any(|name| expression::matches_glob(word, name)) {
        return Ok(Term::Component(word.to_owned()));
    }
    let short = meant::component(word, context);
    short.unwrap_or_else(|| Err(meant::wrong(word, before, context))).map(Term::Component)
}

fn place(file: &str, line: &str) -> Result<Vec<Term>, String> {
    let line: u32 = line.parse().map_err(|_| format!("{line:?} is not the number of a line in {file}"))?;
    let (file, from, to) = source::waiting_line(file, line)?;
    Ok(vec![Term::Lines(vec![Lines { file, from, to }])])
}

fn function(name: &str) -> Result<Vec<Lines>, String> {
    let found = source::functions(name)?;
    Ok(found.into_iter().map(|(file, from, to)| Lines { file, from, to }).collect())
}
