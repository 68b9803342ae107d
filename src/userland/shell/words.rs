//! From text to tokens: words, with what a shell replaces in them, and the signs between them.

use std::iter::Peekable;
use std::str::Chars;

use super::limits::DEPTH_MAX;

/// What is not understood. The container then runs for ever, see [`super`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported;

/// A piece of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Word(Word),
    /// `;`, `&&`, `(`, or the end of a line.
    Sign(&'static str),
    /// `>`, `2>>`, `&>`; where to is the next word.
    Into {
        stream: Stream,
        append: bool,
    },
    /// `2>&1`.
    Like {
        stream: Stream,
        other: Stream,
    },
    /// `<`; where from is the next word.
    From,
    /// `<<END`, `<<<WORD`: what is read stands in the script; which of [`Script::documents`].
    Document(usize),
    /// From here on nothing is understood.
    Unsupported,
}

/// What is sent elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Output,
    Errors,
    Both,
}

/// A word before anything in it is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word(pub Vec<Part>);

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text {
        text: String,
        quoted: bool,
    },
    /// `$NAME`, `${NAME:-default}`
    Variable {
        name: String,
        change: Option<Change>,
        quoted: bool,
    },
    /// `$(…)`
    Output {
        script: String,
        quoted: bool,
    },
    /// `$((…))`
    Sum(String),
}

/// What `${NAME…}` does with the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `:-`, `##`, or, with nothing behind it, `#` for the length.
    pub operator: &'static str,
    pub operand: Word,
}

/// In this order: the longer ones first.
const OPERATORS: &[&str] = &[":-", ":+", ":=", "##", "%%", "-", "+", "=", "#", "%"];

impl Word {
    /// A word in which nothing is replaced.
    pub fn quoted(text: &str) -> Word {
        Word(vec![Part::Text { text: text.to_owned(), quoted: true }])
    }

    /// Its text, if nothing in it is quoted or replaced: keywords are such words.
    pub fn plain(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Part::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }

    /// Its text, if nothing in it is replaced.
    pub fn literal(&self) -> Option<String> {
        let texts = self.0.iter().map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    fn push(&mut self, c: char, quoted: bool) {
        match self.0.last_mut() {
            Some(Part::Text { text, quoted: before }) if *before == quoted => text.push(c),
            _ => self.0.push(Part::Text { text: c.to_string(), quoted }),
        }
    }
}

/// A script in pieces.
pub struct Script {
    /// One that is not understood is the last.
    pub tokens: Vec<Token>,
    /// What commands read that stands in the script.
    pub documents: Vec<Word>,
    /// It ends within something that was begun: between quotes, in a document.
    pub is_cut: bool,
}

/// The pieces of a script.
pub fn pieces(script: &str) -> Script {
    let mut lexer = Lexer::new(script, 0);
    let mut tokens = Vec::new();
    loop {
        match lexer.token() {
            Ok(Some(token)) => tokens.push(token),
            Ok(None) => break,
            Err(Unsupported) => {
                tokens.push(Token::Unsupported);
                break;
            }
        }
    }
    Script { tokens, documents: lexer.documents, is_cut: lexer.is_cut }
}

/// A document that was asked for: it begins below the line.
struct Awaited {
    /// Which of the lexer's.
    document: usize,
    /// The line that ends it.
    end: String,
    /// Nothing in it is replaced.
    is_quoted: bool,
    /// Tabs before its lines do not count.
    is_indented: bool,
}

struct Lexer<'a> {
    chars: Peekable<Chars<'a>>,
    depth: usize,
    /// Between `[[` and `]]`, where fewer signs are signs.
    is_test: bool,
    /// The next word is the regular expression behind `=~`.
    is_pattern: bool,
    documents: Vec<Word>,
    awaited: Vec<Awaited>,
    /// There was no more where there had to be.
    is_cut: bool,
}

impl<'a> Lexer<'a> {
    fn new(script: &'a str, depth: usize) -> Lexer<'a> {
        let (is_test, is_pattern, documents, awaited, is_cut) = Default::default();
        Lexer { chars: script.chars().peekable(), depth, is_test, is_pattern, documents, awaited, is_cut }
    }

    /// The next sign of something that has not come to its end.
    fn inner(&mut self) -> Result<char, Unsupported> {
        let next = self.chars.next();
        self.is_cut |= next.is_none();
        next.ok_or(Unsupported)
    }

    /// A line goes on in the next one, if there is one.
    fn goes_on(&mut self) {
        self.is_cut |= self.chars.peek().is_none();
    }

    fn token(&mut self) -> Result<Option<Token>, Unsupported> {
        self.skip_blanks();
        let Some(&c) = self.chars.peek() else { return Ok(None) };
        if self.is_word(c) {
            return self.word_token().map(Some);
        }
        self.chars.next();
        let mut doubled = |c| self.chars.next_if_eq(&c).is_some();
        Ok(Some(match c {
            '\n' => {
                self.read_awaited()?;
                Token::Sign("\n")
            }
            ';' => Token::Sign(if doubled(';') { ";;" } else { ";" }),
            '|' => Token::Sign(if doubled('|') { "||" } else { "|" }),
            '&' if doubled('&') => Token::Sign("&&"),
            '&' if doubled('>') => Token::Into { stream: Stream::Both, append: doubled('>') },
            '&' => Token::Sign("&"),
            '(' => Token::Sign("("),
            ')' => Token::Sign(")"),
            '>' => return self.redirect(Stream::Output).map(Some),
            _ => return self.input().map(Some),
        }))
    }

    fn skip_blanks(&mut self) {
        loop {
            while self.chars.next_if(|c| c.is_whitespace() && *c != '\n').is_some() {}
            if self.rest_begins("\\\n") {
                self.chars.nth(1);
                self.goes_on();
            } else if self.chars.peek() == Some(&'#') {
                while self.chars.next_if(|c| *c != '\n').is_some() {}
            } else {
                return;
            }
        }
    }

    fn rest_begins(&self, text: &str) -> bool {
        let mut rest = self.chars.clone();
        text.chars().all(|c| rest.next() == Some(c))
    }

    fn is_word(&self, c: char) -> bool {
        match c {
            '|' | '(' | ')' if self.is_pattern => true,
            '<' | '>' if self.is_test => true,
            _ => !c.is_whitespace() && !";&|()<>".contains(c),
        }
    }

    /// `>`, `>>`, `>|`, `>&2`.
    fn redirect(&mut self, stream: Stream) -> Result<Token, Unsupported> {
        if self.chars.next_if_eq(&'&').is_some() {
            return match self.chars.next() {
                Some('1') => Ok(Token::Like { stream, other: Stream::Output }),
                Some('2') => Ok(Token::Like { stream, other: Stream::Errors }),
                _ => Err(Unsupported),
            };
        }
        let append = self.chars.next_if_eq(&'>').is_some();
        self.chars.next_if_eq(&'|');
        if self.chars.peek() == Some(&'(') { Err(Unsupported) } else { Ok(Token::Into { stream, append }) }
    }

    /// `<`, `<<`, `<<-`, `<<<`, but no process.
    fn input(&mut self) -> Result<Token, Unsupported> {
        if self.chars.next_if_eq(&'<').is_none() {
            return if matches!(self.chars.peek(), Some('(' | '&' | '>')) { Err(Unsupported) } else { Ok(Token::From) };
        }
        let is_word = self.chars.next_if_eq(&'<').is_some();
        let is_indented = !is_word && self.chars.next_if_eq(&'-').is_some();
        self.skip_blanks();
        let mut word = self.word()?;
        let document = self.documents.len();
        if is_word {
            word.push('\n', true);
        } else {
            let is_quoted = word.0.iter().any(|part| matches!(part, Part::Text { quoted: true, .. }));
            let end = word.literal().filter(|end| !end.is_empty()).ok_or(Unsupported)?;
            self.awaited.push(Awaited { document, end, is_quoted, is_indented });
        }
        self.documents.push(word);
        Ok(Token::Document(document))
    }

    /// Reads the documents that follow a line. One without an end goes on to the end of the script.
    fn read_awaited(&mut self) -> Result<(), Unsupported> {
        for Awaited { document, end, is_quoted, is_indented } in std::mem::take(&mut self.awaited) {
            let mut text = String::new();
            loop {
                if self.chars.peek().is_none() {
                    self.is_cut = true;
                    break;
                }
                let line: String = self.chars.by_ref().take_while(|c| *c != '\n').collect();
                let line = if is_indented { line.trim_start_matches('\t') } else { &line };
                if line == end {
                    break;
                }
                text += line;
                text.push('\n');
            }
            self.documents[document] = if is_quoted { Word::quoted(&text) } else { self.replaced(&text)? };
        }
        Ok(())
    }

    /// A text in which the same is replaced as between double quotes, which are signs like any other here.
    fn replaced(&self, text: &str) -> Result<Word, Unsupported> {
        if self.depth >= DEPTH_MAX {
            return Err(Unsupported);
        }
        let mut lexer = Lexer::new(text, self.depth + 1);
        let mut word = Word::quoted("");
        while let Some(c) = lexer.chars.next() {
            match c {
                '"' => word.push(c, true),
                '\\' if lexer.chars.peek() == Some(&'"') => word.push(c, true),
                c => lexer.quoted(c, &mut word)?,
            }
        }
        Ok(word)
    }

    fn word_token(&mut self) -> Result<Token, Unsupported> {
        let word = self.word()?;
        let stream = match word.plain() {
            Some("1") => Some(Stream::Output),
            Some("2") => Some(Stream::Errors),
            _ => None,
        };
        if let Some(stream) = stream
            && !self.is_test
            && self.chars.next_if_eq(&'>').is_some()
        {
            return self.redirect(stream);
        }
        self.is_pattern = self.is_test && word.plain() == Some("=~");
        match word.plain() {
            Some("[[") => self.is_test = true,
            Some("]]") => self.is_test = false,
            _ => {}
        }
        Ok(Token::Word(word))
    }

    fn word(&mut self) -> Result<Word, Unsupported> {
        let mut word = Word::default();
        while let Some(&c) = self.chars.peek() {
            if !self.is_word(c) {
                break;
            }
            self.chars.next();
            match c {
                '\\' => match self.chars.next() {
                    Some('\n') => self.goes_on(),
                    c => word.push(c.unwrap_or('\\'), true),
                },
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '$' => self.dollar(&mut word, false)?,
                '`' => self.backticks(&mut word, false)?,
                c => word.push(c, false),
            }
        }
        Ok(word)
    }

    fn single_quoted(&mut self, word: &mut Word) -> Result<(), Unsupported> {
        let mut text = String::new();
        loop {
            match self.inner()? {
                '\'' => break,
                c => text.push(c),
            }
        }
        word.0.push(Part::Text { text, quoted: true });
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), Unsupported> {
        // Between the quotes there is something, even if it is nothing.
        word.0.push(Part::Text { text: String::new(), quoted: true });
        loop {
            match self.inner()? {
                '"' => return Ok(()),
                c => self.quoted(c, word)?,
            }
        }
    }

    /// A sign between double quotes, and what belongs to it.
    fn quoted(&mut self, c: char, word: &mut Word) -> Result<(), Unsupported> {
        match c {
            // It is a sign like any other, but before these.
            '\\' => match self.chars.next_if(|c| matches!(c, '$' | '`' | '"' | '\\' | '\n')) {
                Some('\n') => {}
                c => word.push(c.unwrap_or('\\'), true),
            },
            '$' => self.dollar(word, true)?,
            '`' => self.backticks(word, true)?,
            c => word.push(c, true),
        }
        Ok(())
    }

    fn backticks(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unsupported> {
        let mut script = String::new();
        loop {
            match self.inner()? {
                '`' => break,
                '\\' => script.push(self.chars.next_if(|c| matches!(c, '$' | '`' | '\\')).unwrap_or('\\')),
                c => script.push(c),
            }
        }
        word.0.push(Part::Output { script, quoted });
        Ok(())
    }

    /// What follows a `$`.
    fn dollar(&mut self, word: &mut Word, quoted: bool) -> Result<(), Unsupported> {
        match self.chars.peek() {
            Some('(') => {
                self.chars.next();
                let text = self.until(')')?;
                let is_sum = text.starts_with('(') && text.ends_with(')');
                word.0.push(match text.get(1..text.len().saturating_sub(1)) {
                    Some(sum) if is_sum && (sum.contains('`') || sum.contains("$(")) => return Err(Unsupported),
                    Some(sum) if is_sum => Part::Sum(sum.to_owned()),
                    _ => Part::Output { script: text, quoted },
                });
            }
            Some('{') => {
                self.chars.next();
                let text = self.until('}')?;
                word.0.push(self.braced(&text, quoted)?);
            }
            Some(c) if c.is_ascii_digit() || "?#$!@*".contains(*c) => {
                let name = self.chars.next().into_iter().collect();
                word.0.push(Part::Variable { name, change: None, quoted });
            }
            Some(c) if is_name_char(*c) => {
                let mut name = String::new();
                while let Some(c) = self.chars.next_if(|c| is_name_char(*c)) {
                    name.push(c);
                }
                word.0.push(Part::Variable { name, change: None, quoted });
            }
            Some('\'' | '"') if !quoted => return Err(Unsupported),
            _ => word.push('$', quoted),
        }
        Ok(())
    }

    /// The text up to the closing bracket that belongs to the one before.
    fn until(&mut self, close: char) -> Result<String, Unsupported> {
        let open = if close == ')' { '(' } else { '{' };
        let (mut text, mut depth, mut quote) = (String::new(), 0_usize, None);
        loop {
            let c = self.inner()?;
            match quote {
                _ if c == '\\' && quote != Some('\'') => {
                    text.push(c);
                    text.push(self.inner()?);
                    continue;
                }
                Some(open) if c == open => quote = None,
                Some(_) => {}
                None if matches!(c, '\'' | '"') => quote = Some(c),
                None if c == open => depth += 1,
                None if c == close && depth == 0 => return Ok(text),
                None if c == close => depth -= 1,
                None => {}
            }
            text.push(c);
        }
    }

    /// `${NAME}`, `${NAME:-default}`, `${NAME##*-}`, `${#NAME}`.
    fn braced(&self, text: &str, quoted: bool) -> Result<Part, Unsupported> {
        if let Some(name) = text.strip_prefix('#').filter(|name| !name.is_empty()) {
            let change = Some(Change { operator: "#", operand: Word::default() });
            let base = name.strip_suffix("[@]").or(name.strip_suffix("[*]")).unwrap_or(name);
            return is_name(base).then(|| Part::Variable { name: name.to_owned(), change, quoted }).ok_or(Unsupported);
        }
        let end = match text.chars().next() {
            Some('?' | '#' | '$' | '!' | '@' | '*') => 1,
            _ => text.find(|c| !is_name_char(c)).unwrap_or(text.len()),
        };
        let end = if text[end..].starts_with('[') { text.find(']').ok_or(Unsupported)? + 1 } else { end };
        let (name, rest) = text.split_at(end);
        let change = match OPERATORS.iter().find(|operator| rest.starts_with(**operator)) {
            _ if name.is_empty() => return Err(Unsupported),
            None if rest.is_empty() => None,
            None => return Err(Unsupported),
            Some(operator) => Some(Change { operator, operand: self.operand(&rest[operator.len()..])? }),
        };
        Ok(Part::Variable { name: name.to_owned(), change, quoted })
    }

    fn operand(&self, text: &str) -> Result<Word, Unsupported> {
        if self.depth >= DEPTH_MAX {
            return Err(Unsupported);
        }
        let mut lexer = Lexer::new(text, self.depth + 1);
        let mut word = Word::default();
        while let Some(&c) = lexer.chars.peek() {
            // Here blanks and signs are signs like any other.
            if lexer.is_word(c) {
                word.0.extend(lexer.word()?.0);
            } else {
                lexer.chars.next();
                word.push(c, false);
            }
        }
        let runs = |part: &Part| matches!(part, Part::Output { .. });
        if word.0.iter().any(runs) { Err(Unsupported) } else { Ok(word) }
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether it can be the name of a variable.
pub fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty() && text.chars().all(is_name_char)
}
