//! A line as it is typed: what each key does to it. The keys are readline's.

use console::{Key, measure_text_width};

/// Gives a search up.
const CTRL_G: char = '\u{7}';
/// Searches what was typed before.
const CTRL_R: char = '\u{12}';
/// Ends the input, or deletes the character under the cursor.
const CTRL_D: char = '\u{4}';
/// Deletes what is behind the cursor.
const CTRL_K: char = '\u{b}';
/// Clears the screen.
const CTRL_L: char = '\u{c}';
/// Deletes what is before it.
const CTRL_U: char = '\u{15}';
/// Deletes the word before it.
const CTRL_W: char = '\u{17}';

/// What a key has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    /// The line goes on.
    More,
    /// It is finished.
    Line,
    /// It is to be completed.
    Complete,
    /// The screen is to be cleared.
    Clear,
    /// There will be no more lines.
    End,
}

/// A line that is not finished, and where in it the cursor is.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    text: Vec<char>,
    at: usize,
    /// So many lines back in what was typed before; 0: it is none of those.
    back: usize,
    /// What was there before one went back.
    kept: String,
    /// What is searched in what was typed before, and what was there before that.
    search: Option<Search>,
    /// A key that the terminal library does not know: its last character may still come, as if it were one of its own.
    unknown: Option<Vec<char>>,
}

/// A search for a line that was typed before, as readline has it at Ctrl-R.
#[derive(Clone, Debug)]
struct Search {
    /// What the line has in it.
    text: String,
    /// So many lines back it was found; 0: nowhere.
    back: usize,
    /// What was there before.
    kept: String,
}

impl Draft {
    /// What is searched, while something is.
    pub fn searched(&self) -> Option<&str> {
        self.search.as_ref().map(|search| search.text.as_str())
    }

    /// The text so far.
    pub fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// Takes the place of the text; the cursor is behind it.
    pub fn replace(&mut self, text: &str) {
        self.text = text.chars().collect();
        self.at = self.text.len();
    }

    /// One key. `history` has what was typed before, the newest last.
    pub fn key(&mut self, key: Key, history: &[String]) -> Typed {
        let unknown = self.unknown.take();
        let key = match self.search.take() {
            Some(search) => match self.search_on(search, key, history) {
                Some(key) => key,
                None => return Typed::More,
            },
            None => key,
        };
        match key {
            Key::Char(last) if unknown.is_some_and(|begun| ends(&begun, last)) => {}
            Key::UnknownEscSeq(begun) => self.unknown = Some(begun),
            Key::Enter => return Typed::Line,
            Key::Tab => return Typed::Complete,
            Key::Char(CTRL_L) => return Typed::Clear,
            Key::Char(CTRL_R) => self.search = Some(Search { text: String::new(), back: 0, kept: self.text() }),
            Key::Char(CTRL_D) if self.text.is_empty() => return Typed::End,
            Key::Char(CTRL_D) | Key::Del if self.at < self.text.len() => drop(self.text.remove(self.at)),
            Key::Backspace => self.delete_from(self.at.saturating_sub(1)),
            Key::Char(CTRL_U) => self.delete_from(0),
            Key::Char(CTRL_W) => self.delete_from(self.word()),
            Key::Char(CTRL_K) => self.text.truncate(self.at),
            Key::ArrowLeft => self.at = self.at.saturating_sub(1),
            Key::ArrowRight => self.at = self.text.len().min(self.at + 1),
            Key::Home => self.at = 0,
            Key::End => self.at = self.text.len(),
            Key::ArrowUp => self.go_back(self.back + 1, history),
            Key::ArrowDown => self.go_back(self.back.saturating_sub(1), history),
            Key::Char(c) if !c.is_control() => {
                self.text.insert(self.at, c);
                self.at += 1;
            }
            _ => {}
        }
        Typed::More
    }

    /// A key of a search. One that is none ends it where it is, and means what it means.
    fn search_on(&mut self, mut search: Search, key: Key, history: &[String]) -> Option<Key> {
        match key {
            Key::Escape | Key::Char(CTRL_G) => {
                self.replace(&search.kept);
                return None;
            }
            Key::Char(CTRL_R) => search.find(search.back + 1, history),
            Key::Backspace => {
                search.text.pop();
                search.find(1, history);
            }
            Key::Char(c) if !c.is_control() => {
                search.text.push(c);
                search.find(search.back.max(1), history);
            }
            other => return Some(other),
        }
        if search.back > 0 {
            self.replace(&history[history.len() - search.back]);
        }
        self.search = Some(search);
        None
    }

    /// Goes on as far as all these lines do alike, which begin with it. If that is nowhere, their last words, to choose from.
    pub fn complete(&mut self, candidates: &[String]) -> Vec<String> {
        let common = common(candidates);
        // A whole word is followed by the next; after a slash, a dot or a sign this one goes on.
        let whole = candidates.len() == 1 && !common.ends_with(['/', '.', '=', '(', ' ']);
        if common.len() > self.text().len() || (whole && common == self.text()) {
            self.replace(&format!("{common}{}", if whole { " " } else { "" }));
            return Vec::new();
        }
        let last = |line: &String| line.rsplit(' ').next().unwrap_or_default().to_owned();
        if candidates.len() > 1 { candidates.iter().map(last).collect() } else { Vec::new() }
    }

    /// The part of the text that fits into so many columns and has the cursor in it, and the cursor's column.
    pub fn shown(&self, columns: usize) -> (String, usize) {
        let wide = |c: &char| measure_text_width(c.encode_utf8(&mut [0; 4]));
        // From the cursor on to both sides: a line that is pasted may be very long.
        let mut left = columns.saturating_sub(1);
        let mut fits = |c: &&char| {
            let rest = left.checked_sub(wide(c));
            rest.inspect(|rest| left = *rest).is_some()
        };
        let before = self.text[..self.at].iter().rev().take_while(&mut fits).count();
        let after = self.text[self.at..].iter().take_while(&mut fits).count();
        let (from, to) = (self.at - before, self.at + after);
        (self.text[from..to].iter().collect(), self.text[from..self.at].iter().map(wide).sum())
    }

    fn delete_from(&mut self, from: usize) {
        self.text.drain(from..self.at);
        self.at = from;
    }

    /// Where the word before the cursor begins.
    fn word(&self) -> usize {
        let before = &self.text[..self.at];
        let end = before.iter().rposition(|c| *c != ' ').map_or(0, |last| last + 1);
        before[..end].iter().rposition(|c| *c == ' ').map_or(0, |blank| blank + 1)
    }

    fn go_back(&mut self, back: usize, history: &[String]) {
        if back > history.len() || back == self.back {
            return;
        }
        if self.back == 0 {
            self.kept = self.text();
        }
        self.back = back;
        let text = if back == 0 { std::mem::take(&mut self.kept) } else { history[history.len() - back].clone() };
        self.replace(&text);
    }
}

impl Search {
    /// The newest line, from so many back on, that has it; if there is none, the one before stays.
    fn find(&mut self, from: usize, history: &[String]) {
        let has = |back: &usize| history[history.len() - back].contains(&self.text);
        self.back = (from..=history.len()).find(has).unwrap_or(self.back);
    }
}

/// What all begin with.
fn common(candidates: &[String]) -> &str {
    let Some((first, others)) = candidates.split_first() else { return "" };
    let same = |other: &String| first.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let count = others.iter().map(same).min().unwrap_or_else(|| first.chars().count());
    let end = first.char_indices().nth(count).map_or(first.len(), |(at, _)| at);
    &first[..end]
}

/// Whether a character is the last of a key that the terminal library knows only by how it begins: F1 sends
/// `ESC O P`, F10 `ESC [ 2 1 ~`.
fn ends(begun: &[char], last: char) -> bool {
    match begun {
        ['O'] => last.is_ascii_uppercase(),
        ['[', _, ..] => last == '~',
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of some keys, `|` for the cursor.
    fn after(keys: &[Key]) -> String {
        let history = ["one".to_owned(), "two three".to_owned()];
        let mut draft = Draft::default();
        for key in keys {
            assert_eq!(draft.key(key.clone(), &history), Typed::More);
        }
        let mut text = draft.text.clone();
        text.insert(draft.at, '|');
        text.into_iter().collect()
    }

    fn typed(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn keys_edit_the_line() {
        for (text, keys, left) in [
            ("get pods", &[][..], "get pods|"),
            ("get pods", &[Key::Home, Key::Del, Key::ArrowRight], "e|t pods"),
            ("get pods", &[Key::ArrowLeft, Key::Backspace], "get po|s"),
            ("get pods ", &[Key::Char(CTRL_W)], "get |"),
            ("get", &[Key::Char(CTRL_W), Key::Char(CTRL_W)], "|"),
            ("get pods", &[Key::ArrowLeft, Key::Char(CTRL_U)], "|s"),
            ("get pods", &[Key::Home, Key::ArrowRight, Key::Char(CTRL_K)], "g|"),
            ("x", &[Key::Char(CTRL_D), Key::Home, Key::Char(CTRL_D), Key::Backspace], "|"),
            ("now", &[Key::ArrowUp], "two three|"),
            ("now", &[Key::ArrowUp, Key::ArrowUp, Key::ArrowUp], "one|"),
            ("now", &[Key::ArrowUp, Key::ArrowUp, Key::ArrowDown, Key::ArrowDown, Key::ArrowDown], "now|"),
            ("now", &[Key::Char(CTRL_R), Key::Char('t'), Key::Char('h')], "two three|"),
            ("now", &[Key::Char(CTRL_R), Key::Char('o'), Key::Char(CTRL_R), Key::Home], "|one"),
            ("now", &[Key::Char(CTRL_R), Key::Char('o'), Key::Char('n'), Key::Char('x'), Key::Backspace], "one|"),
            ("now", &[Key::Char(CTRL_R), Key::Char('t'), Key::Char(CTRL_G)], "now|"),
            ("a", &[Key::UnknownEscSeq(vec!['O']), Key::Char('P'), Key::Char('b')], "ab|"),
            ("a", &[Key::UnknownEscSeq(vec!['[', '2', '1']), Key::Char('~'), Key::Escape, Key::Char('\u{7}')], "a|"),
            ("é漢", &[Key::ArrowLeft, Key::Char('x')], "éx|漢"),
        ] {
            assert_eq!(after(&[typed(text), keys.to_vec()].concat()), left, "{text} {keys:?}");
        }
        let mut draft = Draft::default();
        assert_eq!(draft.key(Key::Char(CTRL_D), &[]), Typed::End);
        assert_eq!(draft.key(Key::Tab, &[]), Typed::Complete);
        assert_eq!(draft.key(Key::Char(CTRL_L), &[]), Typed::Clear);
        assert_eq!(draft.key(Key::Enter, &[]), Typed::Line);
    }

    #[test]
    fn what_is_shown_has_the_cursor_in_it() {
        let mut draft = Draft::default();
        draft.replace("abcdefgh");
        assert_eq!(draft.shown(20), ("abcdefgh".to_owned(), 8));
        assert_eq!(draft.shown(4), ("fgh".to_owned(), 3));
        draft.key(Key::Home, &[]);
        assert_eq!(draft.shown(4), ("abc".to_owned(), 0));
        draft.replace("漢漢漢");
        assert_eq!(draft.shown(4), ("漢".to_owned(), 2));
        for columns in 0..3 {
            assert!(draft.shown(columns).1 <= columns, "{columns}");
        }
    }

    #[test]
    fn what_candidates_have_in_common() {
        let common =
            |words: &[&str]| common(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).to_owned();
        assert_eq!(common(&[]), "");
        assert_eq!(common(&["queue"]), "queue");
        assert_eq!(common(&["node-1", "node-2", "node-10"]), "node-");
        assert_eq!(common(&["éa", "éb"]), "é");
        assert_eq!(common(&["a", "b"]), "");
    }

    #[test]
    fn what_is_completed_goes_on_or_is_listed() {
        let mut draft = Draft::default();
        draft.replace("get pod w");
        let lines = ["get pod web-1", "get pod web-2"].map(str::to_owned);
        assert_eq!((draft.complete(&lines), draft.text()), (vec![], "get pod web-".to_owned()));
        assert_eq!(draft.complete(&lines), ["web-1", "web-2"]);
        assert_eq!((draft.complete(&lines[..1]), draft.text()), (vec![], "get pod web-1 ".to_owned()));
        assert_eq!((draft.complete(&[]), draft.complete(&lines[..1])), (vec![], vec![]));
        draft.replace("apply -f man");
        draft.complete(&["apply -f manifests/".to_owned()]);
        assert_eq!(draft.text(), "apply -f manifests/");
    }
}
