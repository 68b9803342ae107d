//! Simple commands: functions and builtins, which the shell runs itself, and what it has others run.

use std::rc::Rc;

use super::builtins::{Builtin, nanos, seconds};
use super::expand::Expansion;
use super::functions::Function;
use super::limits::{PATTERN_MAX, TEXT_MAX};
use super::ops::{Redirect, Simple};
use super::run::{Command, Running, Scope, Shell, Sink, Turn, Write};
use super::sums;
use super::test::{Pattern, fits};
use super::words::{Part, Stream, Unsupported, Word};
use object::time::Instant;

/// An array has no more elements than this.
const ELEMENTS_MAX: usize = 200;

impl Expansion<'_> {
    /// Where output and errors go behind these redirections.
    pub(super) fn sinks(&mut self, redirects: &[Redirect]) -> Result<(Sink, Sink), Unsupported> {
        let (mut output, mut errors) = (self.shell.scope.output.clone(), self.shell.scope.errors.clone());
        for redirect in redirects {
            let (stream, sink) = match redirect {
                Redirect::Into { stream, append, path } => {
                    let path = self.text(path)?;
                    (*stream, Sink::at(self.shell.path(&path), *append))
                }
                Redirect::Like { stream, other: Stream::Output } => (*stream, output.clone()),
                Redirect::Like { stream, .. } => (*stream, errors.clone()),
            };
            match stream {
                Stream::Output => output = sink,
                Stream::Errors => errors = sink,
                Stream::Both => (output, errors) = (sink.clone(), sink),
            }
        }
        Ok((output, errors))
    }
}

impl Sink {
    fn at(path: String, append: bool) -> Sink {
        match path.as_str() {
            "/dev/null" => Sink::Nowhere,
            "/dev/stdout" | "/proc/1/fd/1" => Sink::Output,
            "/dev/stderr" | "/proc/1/fd/2" => Sink::Errors,
            _ => Sink::File { path, append },
        }
    }

    /// A file begins with nothing in it; then all output goes to its end.
    pub(super) fn begin(&mut self) -> Option<Write> {
        let Sink::File { path, append: append @ false } = self else { return None };
        let to = Sink::File { path: path.clone(), append: false };
        *append = true;
        Some(Write { to, text: String::new() })
    }
}

impl Shell {
    /// Runs a command itself, or says who has to.
    pub(super) fn simple(&mut self, simple: &Simple, now: Instant) -> Result<Option<Turn>, Unsupported> {
        let mut expansion = self.expansion(simple.values);
        let mut assignments = Vec::new();
        for (name, word) in &simple.assignments {
            assignments.push((name.clone(), expansion.text(word)?));
        }
        let mut arrays = Vec::new();
        for (name, words) in &simple.arrays {
            arrays.push((name, expansion.fields(words)?));
        }
        if simple.is_test {
            let words = expansion.test(&simple.words)?;
            return self.test(simple, words);
        }
        let words = expansion.fields(&simple.words)?;
        let length = expansion.length;
        let (output, errors) = expansion.sinks(&simple.redirects)?;
        self.spend(length)?;
        if let Some(function) = words.first().and_then(|name| self.scope.functions.get(name)).cloned() {
            for (name, value) in assignments {
                self.set(&name, value)?;
            }
            return self.call(function, &words[1..], (output, errors), simple);
        }
        if !simple.is_job
            && let Some((program, arguments)) = self.script_among(&words)
        {
            let turn = self.call(Function::whole(program), &arguments, (output, errors), simple)?;
            for (name, value) in assignments {
                self.make_local(&format!("{name}={value}"))?;
            }
            return Ok(turn);
        }
        self.runs = Running { output: output.clone(), errors: errors.clone(), is_asked: simple.is_asked };
        if words.is_empty() {
            for (name, value) in assignments {
                self.set(&name, value)?;
            }
            for (name, elements) in arrays {
                self.set_elements(name, elements)?;
            }
            let code = if simple.values > 0 { self.code } else { 0 };
            return Ok(self.did(code));
        }
        if let (true, [name, time]) = (simple.is_job, words.as_slice())
            && name == "sleep"
        {
            let end = seconds(time).map_or(u64::MAX, |time| now.0.saturating_add(nanos(time)));
            self.jobs_end = self.jobs_end.max(Instant(end));
            return Ok(self.did(0));
        }
        if let Builtin::Done(turn) = self.builtin(&words, simple, now)? {
            return Ok(turn);
        }
        let mut exported = self.exported();
        exported.extend(assignments);
        let input = (self.scope.input.clone(), self.scope.read);
        let (is_background, is_job, is_asked) = (self.is_background(simple), simple.is_job, simple.is_asked);
        Ok(Some(Turn::Run(Command { words, input, exported, output, errors, is_asked, is_background, is_job })))
    }

    /// A builtin has ended.
    pub(super) fn did(&mut self, code: i32) -> Option<Turn> {
        let writes = self.done(String::new(), String::new(), code);
        (!writes.is_empty()).then_some(Turn::Write(writes))
    }

    /// `set -e`: a command that fails ends the shell, unless its exit code is tested.
    pub(super) fn stop_on_error(&mut self, is_asked: bool) {
        if self.code != 0 && !is_asked && self.scope.stops_on_error && !self.is_call_asked() {
            self.exit(self.code);
        }
    }

    pub(super) fn unset(&mut self, name: &str) {
        let Scope { variables, bytes, .. } = &mut self.scope;
        if let Some(value) = Rc::make_mut(variables).remove(name) {
            *bytes -= value.len();
        }
    }

    /// A path as it is from the root, if it is known where the shell stands: `cd` goes anywhere.
    pub(super) fn path(&self, path: &str) -> String {
        self.scope.variables.get("PWD").map_or_else(|| path.to_owned(), |directory| within(directory, path))
    }

    /// Gives a variable a value.
    ///
    /// # Errors
    /// All of them together would be too long.
    pub fn set(&mut self, name: &str, value: String) -> Result<(), Unsupported> {
        let Scope { variables, bytes, changed, .. } = &mut self.scope;
        *bytes += value.len();
        let variables = Rc::make_mut(variables);
        *bytes -= variables.insert(name.to_owned(), value).map_or(0, |before| before.len());
        Rc::make_mut(changed).insert(name.to_owned());
        if *bytes > TEXT_MAX { Err(Unsupported) } else { Ok(()) }
    }

    /// `NAME=(…)`
    fn set_elements(&mut self, name: &str, elements: Vec<String>) -> Result<(), Unsupported> {
        if elements.len() > ELEMENTS_MAX {
            return Err(Unsupported);
        }
        self.unset(name);
        for at in 0..self.elements(name).count() {
            self.unset(&format!("{name}[{at}]"));
        }
        elements.into_iter().enumerate().try_for_each(|(at, element)| self.set(&format!("{name}[{at}]"), element))
    }

    /// The elements of an array.
    pub(super) fn elements<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a String> {
        (0..).map_while(move |at: usize| self.scope.variables.get(&format!("{name}[{at}]")))
    }

    /// What a command is told of the variables that have changed.
    fn exported(&self) -> Vec<(String, String)> {
        let Scope { variables, exported, changed, .. } = &self.scope;
        let told = changed.intersection(exported);
        told.filter_map(|name| Some((name.clone(), variables.get(name)?.clone()))).collect()
    }

    pub(super) fn value(&self, name: &str) -> Option<String> {
        let variables = &self.scope.variables;
        match name {
            "?" => Some(self.code.to_string()),
            "$" => Some("1".to_owned()),
            "#" => Some(self.arguments().count().to_string()),
            "@" | "*" => Some(self.arguments().map(String::as_str).collect::<Vec<_>>().join(" ")),
            _ => match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
                Some((name, "@" | "*")) => Some(self.elements(name).map(String::as_str).collect::<Vec<_>>().join(" ")),
                Some((name, index)) => {
                    let index = sums::evaluate(index, &|name| self.value(name))?;
                    variables.get(&format!("{name}[{index}]")).cloned()
                }
                None => variables.get(name).or_else(|| variables.get(&format!("{name}[0]"))).cloned(),
            },
        }
    }

    /// `[[ … ]]`: patterns are the shell's, the rest is what `[` does.
    fn test(&mut self, simple: &Simple, test: Test) -> Result<Option<Turn>, Unsupported> {
        let Scope { output, errors, .. } = self.scope.clone();
        self.runs = Running { output: output.clone(), errors, is_asked: simple.is_asked };
        let is_so = match test {
            Test::Plain(words) => {
                let words = [vec!["[".to_owned()], words, vec!["]".to_owned()]].concat();
                let (errors, is_asked) = (self.runs.errors.clone(), simple.is_asked);
                return Ok(Some(Turn::Run(Command { words, output, errors, is_asked, ..Command::default() })));
            }
            Test::Fits { text, pattern, negated } => {
                let text: Vec<char> = text.chars().take(PATTERN_MAX + 1).collect();
                fits(&pattern, &text) != negated
            }
            Test::Matches { text, pattern, negated } => {
                self.spend(text.len())?;
                let regex = regex::RegexBuilder::new(&pattern).size_limit(1 << 18).build().map_err(|_| Unsupported)?;
                let found = regex.captures(&text);
                for (at, group) in found.iter().flat_map(|found| found.iter()).enumerate() {
                    let value = group.map_or("", |group| group.as_str());
                    self.set(&format!("BASH_REMATCH[{at}]"), value.to_owned())?;
                }
                found.is_some() != negated
            }
        };
        Ok(self.did(i32::from(!is_so)))
    }
}

/// What is asked between `[[` and `]]`.
pub(super) enum Test {
    Plain(Vec<String>),
    Fits { text: String, pattern: Pattern, negated: bool },
    Matches { text: String, pattern: String, negated: bool },
}

impl Expansion<'_> {
    /// Here no word becomes several.
    fn test(&mut self, words: &[Word]) -> Result<Test, Unsupported> {
        let words = words.get(1..).unwrap_or_default();
        let not = words.len() == 4 && words[0].plain() == Some("!");
        if let [left, sign, right] = &words[usize::from(not)..]
            && let Some(sign @ ("=~" | "==" | "=" | "!=")) = sign.plain()
        {
            let (text, negated) = (self.text(left)?, not != (sign == "!="));
            return Ok(match sign {
                "=~" => Test::Matches { text, pattern: self.regex(right)?, negated },
                _ => Test::Fits { text, pattern: self.pattern(right)?, negated },
            });
        }
        let texts: Result<Vec<String>, Unsupported> = words.iter().map(|word| self.text(word)).collect();
        texts.map(Test::Plain)
    }

    /// A regular expression; what is quoted in it stands for itself.
    fn regex(&mut self, word: &Word) -> Result<String, Unsupported> {
        let mut all = String::new();
        for part in &word.0 {
            let text = self.text(&Word(vec![part.clone()]))?;
            match part {
                Part::Text { quoted: true, .. } | Part::Variable { quoted: true, .. } => all += &regex::escape(&text),
                _ => all += &text,
            }
        }
        Ok(all)
    }
}

/// A path, told from a directory: `..` goes up.
pub fn within(directory: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{directory}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
