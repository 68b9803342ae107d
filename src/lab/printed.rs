//! What a learner's program prints beside its answers: shown with a verdict, and never taken for one.
//!
//! What came before an answer is shown: how far code came that ends, or never does, cannot be known.

use std::collections::VecDeque;

use object::text::shortened;

/// So many lines are shown, the last ones.
const LINES: usize = 8;
/// Of a longer line the beginning is shown.
const LONG: usize = 160;

/// The last lines that were printed.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    last: VecDeque<String>,
    all: usize,
}

impl Printed {
    /// Notes a line. Empty ones are none.
    pub fn add(&mut self, line: &str) {
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        self.all += 1;
        if self.last.len() == LINES {
            self.last.pop_front();
        }
        self.last.push_back(shortened(line, LONG).into_owned());
    }

    /// Notes what has come after this.
    pub fn append(&mut self, later: Printed) {
        self.all += later.all - later.last.len();
        later.last.iter().for_each(|line| self.add(line));
    }

    /// The lines under a heading; nothing if there are none.
    pub fn show(&self) -> String {
        let heading = match (self.all, self.last.len()) {
            (0, _) => return String::new(),
            (all, shown) if all > shown => format!("your program printed {all} lines, the last ones:\n"),
            _ => "your program printed:\n".to_owned(),
        };
        self.last.iter().fold(heading, |text, line| text + "  | " + line + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown_and_all_are_counted() {
        let mut printed = Printed::default();
        assert_eq!(printed.show(), "");
        printed.add("one\n");
        printed.add("");
        assert_eq!(printed.show(), "your program printed:\n  | one\n");
        let mut later = Printed::default();
        (2..=20).for_each(|n| later.add(&n.to_string()));
        later.add(&"long".repeat(100));
        printed.append(later);
        let shown = printed.show();
        assert!(shown.starts_with("your program printed 21 lines, the last ones:\n  | 14\n"), "{shown}");
        assert_eq!(shown.lines().last().map(|line| line.chars().count()), Some(4 + LONG + 1));
    }
}
