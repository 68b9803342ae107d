//! The fenced blocks of a chapter that are directives: where each is, what it asks for, what stands in it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// A part of a run, to step through.
    Scene,
    /// A session as it was typed and what it printed.
    Transcript,
    /// Lines of this project's source.
    Code,
    /// A picture of a part of a run.
    Diagram,
    /// Questions with explained answers.
    Quiz,
    /// Something to write.
    Exercise,
    /// A broken cluster to repair.
    Case,
    /// What a real cluster printed.
    Kind,
    /// Notes for those who lead a workshop.
    Leader,
    /// A run on one page.
    Poster,
}

impl Directive {
    /// All, by the word that a block's info string begins with.
    const ALL: [(&'static str, Directive); 10] = [
        ("scene", Directive::Scene),
        ("transcript", Directive::Transcript),
        ("code", Directive::Code),
        ("diagram", Directive::Diagram),
        ("quiz", Directive::Quiz),
        ("exercise", Directive::Exercise),
        ("case", Directive::Case),
        ("kind", Directive::Kind),
        ("leader", Directive::Leader),
        ("poster", Directive::Poster),
    ];
}

/// Something in a chapter that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line of the chapter, from 1.
    pub line: usize,
    /// What is wrong, and the way out.
    pub text: String,
}

impl Mistake {
    /// A mistake at a line.
    pub fn new(line: usize, text: impl fmt::Display) -> Mistake {
        Mistake { line, text: text.to_string() }
    }
}

/// One directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it asks for.
    pub directive: Directive,
    /// The words behind the directive's own.
    pub words: Vec<String>,
    /// What is written as `key=value`.
    pub options: BTreeMap<String, String>,
    /// What stands between the fences, each line ended.
    pub body: String,
    /// The line of the opening fence, from 1.
    pub line: usize,
    /// The bytes of the chapter from the opening fence to the end of the closing one's line.
    pub range: Range<usize>,
    /// The bytes of the body alone.
    pub inner: Range<usize>,
}

impl Block {
    /// An option's text; None if it is not given.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
    }

    /// A mistake at the opening fence.
    pub fn mistake(&self, text: impl fmt::Display) -> Mistake {
        Mistake::new(self.line, text)
    }

    /// The only word behind the directive's own.
    pub fn word(&self, what: &str) -> Result<&str, Mistake> {
        match self.words.as_slice() {
            [word] => Ok(word),
            _ => Err(self.mistake(format!("one word is expected here: {what}"))),
        }
    }

    /// Refuses options that mean nothing here.
    pub fn only(&self, known: &[&str]) -> Result<(), Mistake> {
        match self.options.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self.mistake(format!("there is no option {key:?} here; there are {}", known.join(", ")))),
            None => Ok(()),
        }
    }
}

/// An opening fence: its sign, how many of them, how many blanks before, and what it says.
struct Fence<'a> {
    sign: char,
    count: usize,
    info: &'a str,
}

fn fence(line: &str) -> Option<Fence<'_>> {
    let text = line.trim_start_matches(' ');
    let sign = text.chars().next().filter(|sign| (*sign == '`' || *sign == '~') && line.len() - text.len() < 4)?;
    let info = text.trim_start_matches(sign);
    let count = text.len() - info.len();
    (count >= 3 && !(sign == '`' && info.contains('`'))).then_some(Fence { sign, count, info: info.trim() })
}

/// The directives of a chapter, in order. Other fenced blocks are passed over whole, so that a page can show what a
/// directive looks like.
pub fn find(chapter: &str) -> Result<Vec<Block>, Vec<Mistake>> {
    let (mut blocks, mut mistakes) = (Vec::new(), Vec::new());
    let mut at = 0;
    let mut lines = (1..).zip(chapter.split_inclusive('\n'));
    while let Some((number, line)) = lines.next() {
        let start = at;
        at += line.len();
        let Some(open) = fence(line) else { continue };
        let inner = at;
        let mut end = at;
        for (_, line) in lines.by_ref() {
            end = at;
            at += line.len();
            let closes = |f: Fence| f.sign == open.sign && f.count >= open.count && f.info.is_empty();
            if fence(line).is_some_and(closes) {
                break;
            }
            end = at;
        }
        match directive(open.info, number) {
            Ok(None) => {}
            Ok(Some((directive, words, options))) => blocks.push(Block {
                directive,
                words,
                options,
                body: chapter[inner..end].to_owned(),
                line: number,
                range: start..at,
                inner: inner..end,
            }),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok(blocks) } else { Err(mistakes) }
}

/// A directive, its words and its options.
type ParsedDirective = (Directive, Vec<String>, BTreeMap<String, String>);

fn directive(info: &str, line: usize) -> Result<Option<ParsedDirective>, Mistake> {
    let first = info.split_whitespace().next().unwrap_or_default();
    let Some((_, directive)) = Directive::ALL.iter().find(|(name, _)| *name == first) else { return Ok(None) };
    let all = shell_words::split(info).map_err(|error| Mistake::new(line, format!("{info:?}: {error}")))?;
    let (mut words, mut options) = (Vec::new(), BTreeMap::new());
    for word in all.into_iter().skip(1) {
        match word.split_once('=') {
            Some((key, value)) if key.chars().all(|c| c.is_ascii_lowercase()) => {
                options.insert(key.to_owned(), value.to_owned());
            }
            _ => words.push(word),
        }
    }
    Ok(Some((*directive, words, options)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_has_words_options_a_body_and_a_place() {
        let chapter = "# A\n\n```scene deployment from=\"create pods request\" seed=3\nat: here\n```\nend\n";
        let blocks = find(chapter).expect("it is well written");
        let [block] = blocks.as_slice() else { panic!("{blocks:?}") };
        assert_eq!((block.directive, block.line), (Directive::Scene, 3));
        assert_eq!(block.words, ["deployment"]);
        assert_eq!(block.option("from"), Some("create pods request"));
        assert_eq!(block.option("seed"), Some("3"));
        assert_eq!(block.body, "at: here\n");
        assert_eq!(&chapter[block.range.clone()].lines().count(), &3);
        assert_eq!(&chapter[block.inner.clone()], block.body);
    }

    #[test]
    fn what_only_looks_like_one_is_left_alone() {
        let shown = "````\n```scene deployment\n```\n````\n\n```rust\nscene!()\n```\n`scene`\n    ```quiz\n    ```\n";
        assert_eq!(find(shown), Ok(Vec::new()));
    }

    #[test]
    fn an_open_end_and_open_quotes_are_no_panic() {
        assert_eq!(find("```quiz\nquestion: x").expect("it is one").len(), 1);
        assert_eq!(find("\n```scene a from=\"b\n```\n").expect_err("it is not closed")[0].line, 2);
    }
}
