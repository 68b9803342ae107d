//! Loops and choices: where the shell goes on.

use super::limits::{PATTERN_MAX, ROUND_MIN, ROUNDS_MAX};
use super::run::{Frame, Loop, Shell};
use super::test::fits;
use super::words::{Unsupported, Word};
use object::time::Instant;

impl Shell {
    pub(super) fn begin_loop(&mut self, length: usize, items: Option<(String, Vec<String>)>, now: Instant) {
        let (again, end) = (self.at, self.at + length);
        self.stack.push(Frame::Loop(Loop { again, end, items, code: 0, round_began: now, fast_rounds: 0 }));
    }

    /// The next word, or the end.
    pub(super) fn each(&mut self) -> Result<(), Unsupported> {
        let Some(Frame::Loop(Loop { items: Some((name, items)), end, .. })) = self.stack.last_mut() else {
            return Err(Unsupported);
        };
        match items.pop() {
            Some(item) => {
                let name = name.clone();
                self.set(&name, item)
            }
            None => {
                self.at = *end;
                self.end_loop();
                Ok(())
            }
        }
    }

    /// A round is over. A `for` loop has an end, however fast it is.
    pub(super) fn again(&mut self, now: Instant) -> Result<(), Unsupported> {
        let code = self.code;
        let Some(Frame::Loop(inner)) = self.stack.last_mut() else { return Err(Unsupported) };
        let is_fast = now - inner.round_began < ROUND_MIN && inner.items.is_none();
        inner.fast_rounds = if is_fast { inner.fast_rounds + 1 } else { 0 };
        if inner.fast_rounds > ROUNDS_MAX {
            return Err(Unsupported);
        }
        (inner.code, inner.round_began) = (code, now);
        self.at = inner.again;
        Ok(())
    }

    pub(super) fn end_loop(&mut self) {
        if let Some(Frame::Loop(inner)) = self.stack.pop() {
            self.code = inner.code;
        }
    }

    /// `break N`, or `continue N`. A subshell does not go on outside itself.
    pub(super) fn leave_loops(&mut self, count: usize, goes_on: bool) {
        let mut left = count.max(1);
        self.code = 0;
        while let Some(frame) = self.stack.last() {
            match frame {
                Frame::Input { .. } | Frame::Redirect { .. } => drop(self.pop()),
                Frame::Subshell { .. } | Frame::Trap { .. } | Frame::Call(_) => return,
                Frame::Loop(inner) => {
                    left -= 1;
                    if left == 0 && goes_on {
                        // `Again` stands before `Done`, or at the end.
                        self.at = inner.end - if inner.items.is_some() { 1 } else { 2 };
                        return;
                    }
                    self.at = inner.end;
                    self.stack.pop();
                    if left == 0 {
                        return;
                    }
                }
            }
        }
    }

    pub(super) fn case(
        &mut self,
        values: usize,
        word: &Word,
        arms: &[(Vec<Word>, usize)],
        otherwise: usize,
    ) -> Result<(), Unsupported> {
        let mut expansion = self.expansion(values);
        let text: Vec<char> = expansion.text(word)?.chars().collect();
        if text.len() > PATTERN_MAX {
            return Err(Unsupported);
        }
        let mut found = otherwise;
        'arms: for (patterns, start) in arms {
            for pattern in patterns {
                if fits(&expansion.pattern(pattern)?, &text) {
                    found = *start;
                    break 'arms;
                }
            }
        }
        self.code = 0;
        self.at += found;
        Ok(())
    }
}
