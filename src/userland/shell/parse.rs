//! From tokens to operations, by descent: a list of commands, each an `if`, a loop, or words.

use super::limits::{DEPTH_MAX, SCRIPT_MAX};
use super::ops::{Kept, Op, Redirect, Simple};
use super::words::{Part, Script, Token, Unsupported, Word, is_name, pieces};

/// The operations of a script. A statement that is not understood ends it: all before that statement is done.
pub fn parse(script: &str) -> Vec<Op> {
    parse_at(script, 0).unwrap_or_else(|(ops, Unsupported)| [ops, vec![Op::Unsupported]].concat())
}

/// Whether a script ends in the middle of a statement, which what comes next may bring to its end.
pub fn is_open(script: &str) -> bool {
    if script.len() > SCRIPT_MAX {
        return false;
    }
    // Its last line is whole.
    let end = if script.ends_with('\n') { "" } else { "\n" };
    let (is_cut, mut parser) = Parser::new(&format!("{script}{end}"), 0);
    is_cut || (parser.script().is_err() && parser.is_cut)
}

/// The same of one inside others; what was understood, if not all of it is.
fn parse_at(script: &str, depth: usize) -> Result<Vec<Op>, (Vec<Op>, Unsupported)> {
    if depth > DEPTH_MAX || script.len() > SCRIPT_MAX {
        return Err((Vec::new(), Unsupported));
    }
    Parser::new(script, depth).1.script()
}

/// Tokens, and how far they are read.
pub(super) struct Parser {
    tokens: Vec<Token>,
    documents: Vec<Word>,
    pub(super) at: usize,
    depth: usize,
    /// There was no more where there had to be.
    is_cut: bool,
}

impl Parser {
    /// Of a script inside so many others. And whether it ends within a piece.
    fn new(script: &str, depth: usize) -> (bool, Parser) {
        let Script { tokens, documents, is_cut } = pieces(script);
        (is_cut, Parser { tokens, documents, at: 0, depth, is_cut: false })
    }

    /// All of it, as far as it is understood.
    fn script(&mut self) -> Result<Vec<Op>, (Vec<Op>, Unsupported)> {
        let mut ops = Vec::new();
        loop {
            self.skip_ends();
            if self.at == self.tokens.len() {
                return Ok(ops);
            }
            match self.statement() {
                Ok(more) => ops.extend(more),
                Err(Unsupported) => return Err((ops, Unsupported)),
            }
        }
    }

    /// What is not here where it has to be.
    fn lacking(&mut self) -> Unsupported {
        self.is_cut |= self.peek().is_none();
        Unsupported
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.token(0)
    }

    /// The one that comes after so many.
    pub(super) fn token(&self, after: usize) -> Option<&Token> {
        self.tokens.get(self.at + after)
    }

    pub(super) fn sign(&self) -> Option<&'static str> {
        match self.peek() {
            Some(Token::Sign(sign)) => Some(*sign),
            _ => None,
        }
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.sign() == Some(sign);
        self.at += usize::from(found);
        found
    }

    pub(super) fn keyword(&self) -> Option<&str> {
        match self.peek() {
            Some(Token::Word(word)) => word.plain(),
            _ => None,
        }
    }

    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.keyword() == Some(keyword);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, keyword: &str) -> Result<(), Unsupported> {
        if self.take_keyword(keyword) { Ok(()) } else { Err(self.lacking()) }
    }

    pub(super) fn word(&mut self) -> Result<Word, Unsupported> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.lacking()),
        }
    }

    pub(super) fn skip_lines(&mut self) {
        while self.take_sign("\n") {}
    }

    pub(super) fn skip_ends(&mut self) {
        while self.take_sign("\n") || self.take_sign(";") {}
    }

    /// Statements up to one of these keywords, or to one of these signs.
    pub(super) fn list(&mut self, ends: &[&str]) -> Result<Vec<Op>, Unsupported> {
        let mut ops = Vec::new();
        loop {
            self.skip_ends();
            if self.keyword().or(self.sign()).is_some_and(|found| ends.contains(&found)) {
                return Ok(ops);
            }
            ops.extend(self.statement()?);
        }
    }

    /// `a && b || c`, to its end.
    fn statement(&mut self) -> Result<Vec<Op>, Unsupported> {
        let mut ops = Vec::new();
        let mut next = self.pipeline()?;
        loop {
            let goes_on_if = match self.sign() {
                Some("&&") => true,
                Some("||") => false,
                None if self.peek().is_some() => return Err(Unsupported),
                Some("&") => match (ops.is_empty(), next.as_mut_slice()) {
                    (true, [Op::Simple(simple)]) => {
                        simple.is_job = true;
                        self.at += 1;
                        return Ok(next);
                    }
                    _ => return Err(Unsupported),
                },
                _ => break,
            };
            self.at += 1;
            self.skip_lines();
            mark(&mut next, |simple| simple.is_asked = true);
            ops.append(&mut next);
            next = self.pipeline()?;
            ops.push(Op::SkipIf(!goes_on_if, next.len()));
        }
        ops.append(&mut next);
        Ok(ops)
    }

    /// `! a | b`. Each member has what the one before it has printed when that has ended.
    fn pipeline(&mut self) -> Result<Vec<Op>, Unsupported> {
        let negated = self.take_keyword("!");
        let mut members = vec![self.command()?];
        while self.take_sign("|") {
            self.skip_lines();
            members.push(self.command()?);
        }
        let count = members.len();
        let mut ops = Vec::new();
        for (at, member) in members.into_iter().enumerate() {
            if count == 1 {
                ops = member;
            } else {
                let output = if at + 1 < count { Kept::Pipe } else { Kept::Not };
                ops.extend(subshell(member, output, at > 0));
            }
        }
        if negated {
            mark(&mut ops, |simple| simple.is_asked = true);
            ops.push(Op::Not);
        }
        Ok(ops)
    }

    pub(super) fn command(&mut self) -> Result<Vec<Op>, Unsupported> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Unsupported);
        }
        let ops = match (self.sign(), self.keyword()) {
            (Some("("), _) => {
                self.at += 1;
                let list = self.list(&[")"])?;
                self.at += 1;
                self.redirected(subshell(list, Kept::Not, false))
            }
            (_, Some("{")) => self.compound(Parser::group),
            (_, Some("if")) => self.compound(Parser::condition),
            (_, Some("while" | "until")) => self.compound(Parser::repeated),
            (_, Some("for")) => self.compound(Parser::each),
            (_, Some("case")) => self.compound(Parser::case),
            (_, Some("[[")) => self.test(),
            _ if self.names_function() => self.function(),
            _ => self.simple(),
        };
        self.depth -= 1;
        ops
    }

    fn compound(&mut self, inner: fn(&mut Parser) -> Result<Vec<Op>, Unsupported>) -> Result<Vec<Op>, Unsupported> {
        let ops = inner(self)?;
        self.redirected(ops)
    }

    /// A command, with what stands behind it: `done < FILE > OTHER`.
    fn redirected(&mut self, ops: Vec<Op>) -> Result<Vec<Op>, Unsupported> {
        let (mut redirects, mut outputs, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
        while self.redirect(&mut redirects, &mut inputs)? {}
        if redirects.is_empty() && inputs.is_empty() {
            return Ok(ops);
        }
        let values = self.outputs(redirects.iter_mut().filter_map(Redirect::path), &mut outputs)?;
        let inner = match redirects.is_empty() {
            true => ops,
            false => [outputs, vec![Op::Redirect { values, redirects }], ops, vec![Op::Restore]].concat(),
        };
        self.reading(inputs, inner)
    }

    /// `< PATH` is read as what `cat PATH` prints, and a document as what `printf %s TEXT` does.
    fn reading(&mut self, inputs: Vec<Input>, ops: Vec<Op>) -> Result<Vec<Op>, Unsupported> {
        let words = match inputs.into_iter().next_back() {
            None => return Ok(ops),
            Some(Input::File(path)) => vec![Word::quoted("cat"), path],
            Some(Input::Text(text)) => vec![Word::quoted("printf"), Word::quoted("%s"), text],
        };
        let source = self.finished(Simple { words, is_asked: true, ..Simple::default() })?;
        Ok([subshell(source, Kept::Pipe, false), vec![Op::Input], ops, vec![Op::Restore]].concat())
    }

    fn simple(&mut self) -> Result<Vec<Op>, Unsupported> {
        let mut simple = Simple::default();
        let mut inputs = Vec::new();
        loop {
            if self.redirect(&mut simple.redirects, &mut inputs)? {
                continue;
            }
            let Some(Token::Word(word)) = self.peek() else { break };
            let assigned = if simple.words.is_empty() { word.assignment() } else { None };
            match assigned {
                Some((name, value)) if value.is_nothing() && matches!(self.token(1), Some(Token::Sign("("))) => {
                    self.at += 2;
                    simple.arrays.push((name, self.elements()?));
                    continue;
                }
                Some(assignment) => simple.assignments.push(assignment),
                None => simple.words.push(word.clone()),
            }
            self.at += 1;
        }
        let is_other = self.sign() == Some("(");
        let assigns = !simple.assignments.is_empty() || !simple.arrays.is_empty();
        let is_empty = simple.words.is_empty() && !assigns && simple.redirects.is_empty();
        if is_empty {
            return Err(self.lacking());
        }
        let keyword = simple.words.first().and_then(Word::plain).is_some_and(|word| KEYWORDS.contains(&word));
        if is_other || keyword {
            return Err(Unsupported);
        }
        let ops = self.finished(simple)?;
        self.reading(inputs, ops)
    }

    /// The words of an array, up to its end.
    fn elements(&mut self) -> Result<Vec<Word>, Unsupported> {
        let mut words = Vec::new();
        loop {
            self.skip_lines();
            if self.take_sign(")") {
                return Ok(words);
            }
            words.push(self.word()?);
        }
    }

    /// A command, after what is in its `$(…)`.
    pub(super) fn finished(&mut self, mut simple: Simple) -> Result<Vec<Op>, Unsupported> {
        let mut ops = Vec::new();
        let values = simple.assignments.iter_mut().map(|(_, word)| word);
        let values = values.chain(simple.arrays.iter_mut().flat_map(|(_, words)| words));
        let paths = simple.redirects.iter_mut().filter_map(Redirect::path);
        simple.values = self.outputs(values.chain(simple.words.iter_mut()).chain(paths), &mut ops)?;
        // What `exec` starts takes the shell's place.
        let replaces = simple.words.len() > 1 && simple.words[0].plain() == Some("exec");
        if replaces {
            simple.words.remove(0);
        }
        ops.push(Op::Simple(simple));
        if replaces {
            ops.push(Op::Simple(Simple { words: vec![Word::quoted("exit")], ..Simple::default() }));
        }
        Ok(ops)
    }

    /// The subshells of these words' `$(…)`, and how many they are.
    pub(super) fn outputs<'a>(
        &self,
        words: impl IntoIterator<Item = &'a mut Word>,
        ops: &mut Vec<Op>,
    ) -> Result<usize, Unsupported> {
        let mut count = 0;
        for part in words.into_iter().flat_map(|word| word.0.iter_mut()) {
            if let Part::Output { script, .. } = part {
                let inner =
                    parse_at(&std::mem::take(script), self.depth + 1).map_err(|(_, unsupported)| unsupported)?;
                ops.extend(subshell(inner, Kept::Value, false));
                count += 1;
            }
        }
        Ok(count)
    }

    /// Takes a redirection, if the next is one.
    fn redirect(&mut self, into: &mut Vec<Redirect>, from: &mut Vec<Input>) -> Result<bool, Unsupported> {
        match self.peek() {
            Some(Token::Into { stream, append }) => {
                let (stream, append) = (*stream, *append);
                self.at += 1;
                into.push(Redirect::Into { stream, append, path: self.word()? });
            }
            Some(Token::Like { stream, other }) => {
                into.push(Redirect::Like { stream: *stream, other: *other });
                self.at += 1;
            }
            Some(Token::From) => {
                self.at += 1;
                from.push(Input::File(self.word()?));
            }
            Some(Token::Document(document)) => {
                from.push(Input::Text(self.documents[*document].clone()));
                self.at += 1;
            }
            Some(Token::Unsupported) => return Err(Unsupported),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Where a command reads from.
enum Input {
    File(Word),
    Text(Word),
}

/// Words that may not begin a simple command.
const KEYWORDS: &[&str] = &["do", "done", "then", "elif", "else", "fi", "esac", "}", "!", "in", "select", "time", "]]"];

impl Redirect {
    fn path(&mut self) -> Option<&mut Word> {
        match self {
            Redirect::Into { path, .. } => Some(path),
            Redirect::Like { .. } => None,
        }
    }
}

impl Word {
    pub(super) fn runs(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Output { .. }))
    }

    fn is_nothing(&self) -> bool {
        self.literal().is_some_and(|text| text.is_empty())
    }

    /// `NAME=VALUE`.
    fn assignment(&self) -> Option<(String, Word)> {
        let Some((Part::Text { text, quoted: false }, rest)) = self.0.split_first() else { return None };
        let (name, value) = text.split_once('=').filter(|(name, _)| is_name(name))?;
        let value = Part::Text { text: value.to_owned(), quoted: false };
        Some((name.to_owned(), Word(std::iter::once(value).chain(rest.iter().cloned()).collect())))
    }
}

pub(super) fn subshell(ops: Vec<Op>, output: Kept, reads: bool) -> Vec<Op> {
    let enter = Op::Enter { length: ops.len(), output, reads };
    [vec![enter], ops, vec![Op::Leave]].concat()
}

pub(super) fn mark(ops: &mut [Op], change: impl Fn(&mut Simple)) {
    for op in ops {
        if let Op::Simple(simple) = op {
            change(simple);
        }
    }
}
