//! Commands that have commands in them: groups, choices and loops.

use super::ops::{Op, Simple};
use super::parse::{Parser, mark};
use super::words::{Token, Unsupported, Word, is_name};

impl Parser {
    pub(super) fn group(&mut self) -> Result<Vec<Op>, Unsupported> {
        self.expect("{")?;
        let ops = self.list(&["}"])?;
        self.expect("}")?;
        Ok(ops)
    }

    /// `if …; then …; elif …; then …; else …; fi`
    pub(super) fn condition(&mut self) -> Result<Vec<Op>, Unsupported> {
        let mut arms = Vec::new();
        self.expect("if")?;
        let otherwise = loop {
            let mut test = self.list(&["then"])?;
            mark(&mut test, |simple| simple.is_asked = true);
            self.expect("then")?;
            arms.push((test, self.list(&["elif", "else", "fi"])?));
            if self.take_keyword("elif") {
                continue;
            }
            let otherwise = if self.take_keyword("else") { self.list(&["fi"])? } else { vec![well()] };
            self.expect("fi")?;
            break otherwise;
        };
        // From the end to the beginning: each has the rest behind it.
        Ok(arms.into_iter().rev().fold(otherwise, |rest, (mut ops, then)| {
            ops.push(Op::SkipIf(false, then.len() + 1));
            ops.extend(then);
            ops.push(Op::Skip(rest.len()));
            ops.extend(rest);
            ops
        }))
    }

    /// `while …; do …; done`
    pub(super) fn repeated(&mut self) -> Result<Vec<Op>, Unsupported> {
        let until = self.take_keyword("until");
        if !until {
            self.expect("while")?;
        }
        let mut test = self.list(&["do"])?;
        mark(&mut test, |simple| simple.is_asked = true);
        let body = self.body()?;
        let mut ops = vec![Op::Loop { length: test.len() + body.len() + 3 }];
        ops.append(&mut test);
        ops.push(Op::SkipIf(until, body.len() + 1));
        ops.extend(body);
        ops.extend([Op::Again, Op::Done]);
        mark(&mut ops, |simple| simple.is_background = true);
        Ok(ops)
    }

    fn body(&mut self) -> Result<Vec<Op>, Unsupported> {
        self.expect("do")?;
        let ops = self.list(&["done"])?;
        self.expect("done")?;
        Ok(ops)
    }

    /// `for NAME in …; do …; done`
    pub(super) fn each(&mut self) -> Result<Vec<Op>, Unsupported> {
        self.expect("for")?;
        let name = self.word()?.plain().filter(|name| is_name(name)).ok_or(Unsupported)?.to_owned();
        self.skip_lines();
        self.expect("in")?;
        let mut words = Vec::new();
        while let Some(Token::Word(_)) = self.peek() {
            words.push(self.word()?);
        }
        self.skip_ends();
        let body = self.body()?;
        let mut ops = Vec::new();
        let values = self.outputs(words.iter_mut(), &mut ops)?;
        ops.push(Op::For { name, values, words, length: body.len() + 2 });
        ops.push(Op::Each);
        ops.extend(body);
        ops.push(Op::Again);
        Ok(ops)
    }

    /// `case WORD in PATTERN | PATTERN) …;; esac`
    pub(super) fn case(&mut self) -> Result<Vec<Op>, Unsupported> {
        self.expect("case")?;
        let mut word = self.word()?;
        self.skip_lines();
        self.expect("in")?;
        let (mut patterns, mut bodies) = (Vec::new(), Vec::new());
        loop {
            self.skip_ends();
            if self.take_keyword("esac") {
                break;
            }
            self.take_sign("(");
            let mut those = vec![self.word()?];
            while self.take_sign("|") {
                those.push(self.word()?);
            }
            if !self.take_sign(")") || those.iter().any(Word::runs) {
                return Err(Unsupported);
            }
            patterns.push(those);
            bodies.push(self.list(&[";;", "esac"])?);
            self.take_sign(";;");
        }
        let mut ops = Vec::new();
        let values = self.outputs([&mut word], &mut ops)?;
        let otherwise = bodies.iter().map(|body| body.len() + 1).sum();
        let (mut start, mut arms, mut rest) = (0, Vec::new(), Vec::new());
        for (those, body) in patterns.into_iter().zip(bodies) {
            arms.push((those, start));
            start += body.len() + 1;
            rest.extend(body);
            rest.push(Op::Skip(otherwise - start));
        }
        ops.push(Op::Case { values, word, arms, otherwise });
        ops.extend(rest);
        Ok(ops)
    }

    /// `[[ … && … ]]`: tests one after another.
    pub(super) fn test(&mut self) -> Result<Vec<Op>, Unsupported> {
        let open = self.word()?;
        let (mut ops, mut words) = (Vec::new(), vec![open.clone()]);
        let mut joint = None;
        loop {
            let sign = self.sign();
            let ends = self.keyword() == Some("]]");
            if !ends && sign.is_none() {
                words.push(self.word()?);
                continue;
            }
            let goes_on_if = match sign {
                Some("&&") => true,
                Some("||") => false,
                None => true,
                _ => return Err(Unsupported),
            };
            self.at += 1;
            let simple =
                Simple { words: std::mem::take(&mut words), is_test: true, is_asked: !ends, ..Simple::default() };
            let next = self.finished(simple)?;
            ops.extend(joint.map(|goes_on_if: bool| Op::SkipIf(!goes_on_if, next.len())));
            ops.extend(next);
            if ends {
                return Ok(ops);
            }
            joint = Some(goes_on_if);
            words.push(open.clone());
        }
    }
}

fn well() -> Op {
    Op::Simple(Simple { words: vec![Word::quoted(":")], ..Simple::default() })
}
