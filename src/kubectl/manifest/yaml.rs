//! One YAML document into JSON, with the line to blame when that fails.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{ManifestError, Source};
use object::doubled::{OnceEach, TWICE};
use object::nesting;

/// A document of a file: its text and the number of the lines before it.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    text: &'a str,
    lines_before: usize,
}

/// Splits a file at its `---` lines, and JSON after each value. Mirrors `yaml.NewYAMLReader`, which goes by lines, so that
/// a broken document does not hide those before it, and `yaml.NewYAMLOrJSONDecoder`.
pub fn documents(text: &str) -> Vec<Document<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut documents = Vec::new();
    let (mut start, mut first_line) = (0, 0);
    let mut offset = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let bare = line.trim_end();
        if bare == "---" || bare.starts_with("--- #") || bare.starts_with("---\t") {
            Document { text: &text[start..offset], lines_before: first_line }.push_parts(&mut documents);
            (start, first_line) = (offset + line.len(), number + 1);
        }
        offset += line.len();
    }
    Document { text: &text[start..], lines_before: first_line }.push_parts(&mut documents);
    documents
}

impl<'a> Document<'a> {
    /// Each JSON value that stands at the beginning by itself, and what comes after them.
    fn push_parts(self, documents: &mut Vec<Document<'a>>) {
        let mut rest = self;
        if self.text.trim_start().starts_with('{') {
            let mut values = serde_json::Deserializer::from_str(self.text).into_iter::<IgnoredAny>();
            let mut start = 0;
            while let Some(Ok(_)) = values.next() {
                let end = values.byte_offset();
                documents.push(Document { text: &self.text[start..end], ..rest });
                rest.lines_before += self.text[start..end].matches('\n').count();
                start = end;
                rest.text = &self.text[start..];
            }
        }
        if rest.text.len() == self.text.len() || !rest.text.trim().is_empty() {
            documents.push(rest);
        }
    }
}

/// Reads a document; null if there is nothing in it. A key that stands twice in one mapping is noted in `doubled`, and the
/// last one counts; it is refused where there is no place to note it.
pub fn read(
    file: &str,
    document: Document<'_>,
    doubled: Option<&mut Vec<ManifestError>>,
    booleans: Booleans,
) -> Result<(Value, Source), ManifestError> {
    let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let skipped = document.text.lines().take_while(|line| blank(line)).count();
    let source = Source { file: file.to_owned(), line: document.lines_before + skipped + 1, column: 0 };
    if document.text.lines().all(blank) {
        return Ok((Value::Null, source));
    }
    if nesting::check(document.text).is_err() {
        let message = format!("error parsing {file}: error converting YAML to JSON: yaml: {}", nesting::TOO_DEEP);
        let advice = "No manifest is that deep: a `[` or `{` is opened over and over.".to_owned();
        return Err(ManifestError { message, source, advice });
    }
    let text = whole_pairs(document.text);
    let tree = tree(&text, |error| match doubled {
        Some(doubled) => {
            doubled.push(broken(file, document, error));
            true
        }
        None => false,
    });
    let tree = tree.map_err(|error| broken(file, document, &error))?;
    let value = to_json(tree, Words { text: document.text, booleans }).map_err(|why| {
        let message = format!("error parsing {file}: error converting YAML to JSON: {why}");
        ManifestError { message, source: source.clone(), advice: String::new() }
    })?;
    Ok((value, source))
}

/// A document in JSON writes a character beyond the first 65,536 as two halves, `\ud83d\ude00`, which JSON's reader, and so
/// kubectl's, puts together and that of YAML refuses.
fn whole_pairs(text: &str) -> Cow<'_, str> {
    const HALF: usize = r"\ud83d".len();
    if !text.trim_start().starts_with(['{', '[']) || !text.contains("\\u") {
        return text.into();
    }
    let code = |at: usize| {
        let digits = text.get(at..at + HALF)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut out, mut taken, mut at) = (String::new(), 0, 0);
    while let Some(next) = text[at..].find('\\') {
        at += next;
        let halves = [code(at), code(at + HALF)];
        let is_half = halves[0].is_some_and(|code| (0xd800..0xe000).contains(&code));
        let pair = halves.into_iter().flatten();
        let whole = char::decode_utf16(pair).next().and_then(Result::ok).filter(|_| is_half);
        out.push_str(&text[taken..at]);
        taken = at;
        // Behind a backslash comes a character that it stands before.
        at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8);
        if is_half {
            out.push(whole.unwrap_or(char::REPLACEMENT_CHARACTER));
            taken += if whole.is_some() { 2 * HALF } else { HALF };
            at = taken;
        }
    }
    out.push_str(&text[taken..]);
    out.into()
}

/// The tree of a document. The reader below us refuses a key that stands twice: then it is read anew, if it may.
fn tree(
    text: &str,
    may_double: impl FnOnce(&serde_yaml::Error) -> bool,
) -> Result<serde_yaml::Value, serde_yaml::Error> {
    match serde_yaml::Value::deserialize(serde_yaml::Deserializer::from_str(text)) {
        // This is told as it stands where the key does.
        Err(error) if is_duplicate(&error.to_string()) => {
            let error = OnceEach::deserialize(serde_yaml::Deserializer::from_str(text)).err().unwrap_or(error);
            if !may_double(&error) {
                return Err(error);
            }
            LastOfKeys::deserialize(serde_yaml::Deserializer::from_str(text)).map(|tree| tree.0)
        }
        tree => tree,
    }
}

/// What the reader below us says of an alias of nothing.
const UNKNOWN_ANCHOR: &str = "unknown anchor";

fn is_duplicate(error: &str) -> bool {
    error.contains(TWICE)
}

/// A tree in which the last value of a repeated key has won. It keeps no tags, which are not needed.
struct LastOfKeys(serde_yaml::Value);

impl<'de> Deserialize<'de> for LastOfKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LastOfKeys, D::Error> {
        deserializer.deserialize_any(Nodes).map(LastOfKeys)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = serde_yaml::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(serde_yaml::Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(LastOfKeys(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut all = serde_yaml::Mapping::new();
        while let Some((LastOfKeys(key), LastOfKeys(value))) = fields.next_entry()? {
            all.insert(key, value);
        }
        Ok(all.into())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Self::Value, A::Error> {
        let (_tag, content) = tagged.variant::<String>()?;
        content.newtype_variant::<LastOfKeys>().map(|content| content.0)
    }
}

fn broken(file: &str, document: Document<'_>, error: &serde_yaml::Error) -> ManifestError {
    let text = error.to_string();
    let (line, column) = error.location().map_or((0, 0), |place| (place.line(), place.column()));
    let (problem, advice) = explain(&text, document.text, line, column);
    let message =
        format!("error parsing {file}: error converting YAML to JSON: yaml: {}{problem}", go_line(&text, line));
    let line = if line == 0 { 0 } else { line + document.lines_before };
    ManifestError { message, source: Source { file: file.to_owned(), line, column }, advice: advice.to_owned() }
}

/// The line that kubectl would name: that of the document, not of the file, and counted from 0 if it was the parser
/// and not the scanner that found the mistake. Nothing is said of line 0. Mirrors `parser.fail` of `yaml.v2`.
fn go_line(error: &str, line: usize) -> String {
    // What the scanner says: what it was at, or no more than what is not allowed.
    const SCANNER: &[&str] = &[
        ", while scanning ",
        ", while parsing a quoted scalar",
        ", while parsing a tag",
        ", while parsing a %TAG",
        "block sequence entries are not",
        "mapping keys are not",
        "mapping values are not",
    ];
    if is_duplicate(error) {
        return format!("unmarshal errors:\n  line {line}: ");
    }
    let is_of_scanner = SCANNER.iter().any(|part| error.contains(part));
    match line.saturating_sub(1) {
        _ if error.starts_with(UNKNOWN_ANCHOR) => String::new(),
        0 => String::new(),
        before => format!("line {}: ", before + usize::from(is_of_scanner)),
    }
}

/// What goyaml would say, and the way out.
fn explain(error: &str, text: &str, line: usize, column: usize) -> (String, &'static str) {
    let said = |part: &str| error.contains(part);
    let here = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let indent: String = here.chars().take_while(|c| c.is_whitespace()).collect();
    if is_duplicate(error) {
        let key = error.split("with key ").nth(1).and_then(|rest| rest.split(" at line").next()).unwrap_or("");
        return (
            format!("key {key} already set in map"),
            "The same key stands twice in one mapping: keep one of them.",
        );
    }
    let problem = error.split(" at ").next().unwrap_or(error).to_owned();
    if error.starts_with(UNKNOWN_ANCHOR) {
        let alias = here.chars().skip(column).take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let problem = format!("unknown anchor '{}' referenced", alias.collect::<String>());
        return (
            problem,
            "`*name` stands for what `&name` marks before it, in the same document; text that begins with * needs quotes.",
        );
    }
    if indent.contains('\t') || said("cannot start any token") && here.contains('\t') || said("found a tab character") {
        return (problem, "YAML is indented with spaces; replace the tab.");
    }
    if said("cannot start any token") {
        return (problem, "Text that begins with @, ` or % needs quotes.");
    }
    if said("recursion limit") {
        let problem = "exceeded max depth".to_owned();
        return (problem, "Nothing in Kubernetes is nested so deep: look for a bracket or an indent too many.");
    }
    if said("repetition limit") {
        let problem = "document contains excessive aliasing".to_owned();
        return (problem, "Anchors and aliases that unfold to millions of values are refused; write them out.");
    }
    if said("did not find expected ',' or '}'") {
        let problem = "did not find expected ',' or '}'".to_owned();
        return (problem, "A `{` is not closed, or a comma is missing between two entries.");
    }
    if said("did not find expected ',' or ']'") {
        let problem = "did not find expected ',' or ']'".to_owned();
        return (problem, "A `[` is not closed, or a comma is missing between two items.");
    }
    if said("mapping values are not allowed") {
        let problem = "mapping values are not allowed in this context".to_owned();
        return (
            problem,
            "There are two `key: value` on one line, or this line is indented deeper than its neighbours.",
        );
    }
    if said("did not find expected key") || said("did not find expected '-' indicator") {
        return (problem, "The line is not indented as its neighbours are.");
    }
    (problem, "")
}

/// Which words without quotes are booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booleans {
    /// Beside `true` and `false` those of YAML 1.1, `yes` and `n` and their like: for goyaml's second version, as in kubectl.
    Old,
    /// These two alone: for its third, as in kustomize.
    New,
}

/// The words of a document: one that stands without quotes is read by the rules of YAML 1.1.
#[derive(Clone, Copy)]
struct Words<'a> {
    text: &'a str,
    booleans: Booleans,
}

impl Words<'_> {
    /// What a word stands for without quotes; none if it is a text.
    fn value(self, word: &str) -> Option<Value> {
        old_boolean(word).filter(|_| self.booleans == Booleans::Old).or_else(|| old_number(word))
    }
}

fn to_json(tree: serde_yaml::Value, words: Words<'_>) -> Result<Value, String> {
    use serde_yaml::Value as Yaml;
    Ok(match tree {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => Value::Bool(value),
        Yaml::Number(number) => json_number(&number)?,
        Yaml::String(word) => old_word(&word, words).unwrap_or(Value::String(word)),
        Yaml::Sequence(items) => Value::Array(items.into_iter().map(|v| to_json(v, words)).collect::<Result<_, _>>()?),
        Yaml::Mapping(fields) => json_map(fields, words)?,
        Yaml::Tagged(tagged) => to_json(tagged.value, words)?,
    })
}

fn json_map(fields: serde_yaml::Mapping, words: Words<'_>) -> Result<Value, String> {
    let mut out = Map::new();
    let mut bases = Vec::new();
    for (key, value) in fields {
        match (json_key(key, words)?, to_json(value, words)?) {
            (key, Value::Object(base)) if key == "<<" => bases.push(base),
            (key, Value::Array(many)) if key == "<<" => {
                bases.extend(many.into_iter().filter_map(|base| base.as_object().cloned()));
            }
            (key, value) => {
                out.insert(key, value);
            }
        }
    }
    // `<<: *base` takes over what is not given.
    for (key, value) in bases.into_iter().flatten() {
        out.entry(key).or_insert(value);
    }
    Ok(Value::Object(out))
}

fn json_number(number: &serde_yaml::Number) -> Result<Value, String> {
    if let Some(n) = number.as_i64() {
        return Ok(n.into());
    }
    if let Some(n) = number.as_u64() {
        return Ok(n.into());
    }
    let float = number.as_f64().and_then(Number::from_f64);
    float.map(Value::Number).ok_or_else(|| format!("{number} is no number that JSON has"))
}

fn json_key(key: serde_yaml::Value, words: Words<'_>) -> Result<String, String> {
    use serde_yaml::Value as Yaml;
    match key {
        Yaml::String(word) => Ok(match words.value(&word).filter(|_| is_plain_key(&word, words.text)) {
            Some(value) => value.to_string(),
            None => word,
        }),
        Yaml::Bool(value) => Ok(value.to_string()),
        Yaml::Number(number) => Ok(number.to_string()),
        Yaml::Null => Ok("null".to_owned()),
        key => Err(format!("yaml: invalid map key: {}", go_syntax(&key))),
    }
}

/// What Go's `%#v` prints of what goyaml has read.
fn go_syntax(tree: &serde_yaml::Value) -> String {
    use serde_yaml::Value as Yaml;
    match tree {
        Yaml::Null => "interface {}(nil)".to_owned(),
        Yaml::Bool(value) => value.to_string(),
        Yaml::Number(number) => number.to_string(),
        Yaml::String(text) => format!("{text:?}"),
        Yaml::Sequence(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Yaml::Mapping(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{}:{}", go_syntax(key), go_syntax(value)));
            format!("map[interface {{}}]interface {{}}{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Yaml::Tagged(tagged) => go_syntax(&tagged.value),
    }
}

/// `yes` is true, and there are more such words.
fn old_boolean(word: &str) -> Option<Value> {
    match word {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(Value::Bool(true)),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// `0644` is 420, `08` is 8 and `1_000` is 1000: there are octal file modes. Mirrors goyaml's `resolve`; none of a word that is
/// text there too.
fn old_number(word: &str) -> Option<Value> {
    let bare: String = word.chars().filter(|c| *c != '_').collect();
    let (sign, digits) = match bare.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", bare.strip_prefix('+').unwrap_or(&bare)),
    };
    if !word.starts_with(['-', '+', '.']) && !word.starts_with(|c: char| c.is_ascii_digit()) || digits.is_empty() {
        return None;
    }
    let whole = |digits: &str, base| i64::from_str_radix(&format!("{sign}{digits}"), base).ok().map(Value::from);
    let lower = digits.to_ascii_lowercase();
    let based = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(start, base)| Some((lower.strip_prefix(start)?, base)));
    match (based, digits.bytes().all(|b| b.is_ascii_digit())) {
        (Some((digits, base)), _) if !digits.starts_with(['-', '+']) => whole(digits, base),
        (Some(_), _) => None,
        // What is no octal number is a fraction.
        (None, true) if digits.starts_with('0') => whole(digits, 8).or_else(|| whole(digits, 10)),
        (None, true) => whole(digits, 10),
        (None, false) if digits.starts_with(|c: char| c == '.' || c.is_ascii_digit()) => {
            let number: f64 = bare.parse().ok()?;
            Number::from_f64(number).map(Value::Number)
        }
        (None, false) => None,
    }
}

/// Whether a key stands in the document without quotes.
fn is_plain_key(word: &str, text: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (text[..at].trim_end_matches([' ', '?']), &text[at + word.len()..]);
        let begins = before.is_empty() || before.ends_with(['\n', '{', ',']) || before.ends_with('-');
        begins
            && after
                .trim_start_matches(' ')
                .strip_prefix(':')
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    })
}

/// The value of a word without quotes. The reader below us keeps such words as text and does not say whether they were
/// quoted, so the document is asked.
fn old_word(word: &str, words: Words<'_>) -> Option<Value> {
    let (value, text) = (words.value(word)?, words.text);
    let quoted = |quote: char| text.contains(&format!("{quote}{word}{quote}"));
    // A word of a block of text (`|`) stands alone in no list or mapping.
    let ends = |rest: &str| !rest.starts_with(|c: char| !c.is_whitespace() && !matches!(c, ',' | ']' | '}'));
    let plain = [": ", "- ", ", ", "[", ":\t"].iter().any(|before| {
        let found = format!("{before}{word}");
        text.match_indices(&found).any(|(at, _)| ends(&text[at + found.len()..]))
    });
    (plain && !quoted('"') && !quoted('\'')).then_some(value)
}
