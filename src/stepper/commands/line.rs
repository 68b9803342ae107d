//! A line as it was typed, and how commands read it.

/// A command line in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    text: String,
    words: Vec<String>,
}

impl Line {
    /// Splits a line as a shell would. A `#` before a number is part of a step's name, not a comment.
    pub fn read(text: &str) -> Result<Line, String> {
        let text = text.trim().replace(" #", " ");
        let words = shell_words::split(&text).map_err(|_| "a quote is not closed".to_owned())?;
        if words.is_empty() {
            return Err("the line says nothing; help lists the commands".to_owned());
        }
        Ok(Line { text, words })
    }

    /// The first word.
    pub fn name(&self) -> &str {
        &self.words[0]
    }

    /// The line as it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All words without their quotes, the command's name first.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The words after the first.
    pub fn arguments(&self) -> Vec<&str> {
        self.words[1..].iter().map(String::as_str).collect()
    }

    /// Everything after the first word as it was typed, quotes and all.
    pub fn rest(&self) -> &str {
        self.text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim())
    }

    /// Whether a word stands behind the first.
    pub fn has(&self, word: &str) -> bool {
        self.words[1..].iter().any(|one| one == word)
    }

    /// The same line without a word.
    pub fn without(&self, word: &str) -> Line {
        let words: Vec<String> = self.words.iter().filter(|one| *one != word).cloned().collect();
        Line { text: self.text.replace(word, "").trim_end().to_owned(), words }
    }

    /// That nothing follows.
    pub fn nothing(&self) -> Result<(), String> {
        match self.arguments().first() {
            None => Ok(()),
            Some(word) => Err(format!("{} takes no argument, but was given {word:?}", self.name())),
        }
    }

    /// How often: 1 if nothing is said.
    pub fn count(&self) -> Result<u64, String> {
        let name = self.name();
        match self.arguments().as_slice() {
            [] => Ok(1),
            [number] => match number.parse() {
                Ok(n) if n > 0 => Ok(n),
                _ => Err(format!("{number:?} is not a number of steps; write for example: {name} 5")),
            },
            _ => Err(format!("{name} takes one number at most; write for example: {name} 5")),
        }
    }

    /// A step's number, with or without its `#`.
    pub fn step(&self) -> Result<Option<u64>, String> {
        let name = self.name();
        match self.arguments().as_slice() {
            [] => Ok(None),
            [step] => match step.trim_start_matches('#').parse() {
                Ok(n) => Ok(Some(n)),
                Err(_) => Err(format!("{step:?} is not a step; write for example: {name} 12")),
            },
            _ => Err(format!("{name} takes one step at most; write for example: {name} 12")),
        }
    }

    /// The one word that follows. `example` shows how it is written.
    pub fn one(&self, example: &str) -> Result<&str, String> {
        match self.arguments().as_slice() {
            [word] => Ok(word),
            _ => Err(format!("write for example: {example}")),
        }
    }

    /// Whether the one flag there is was given.
    pub fn flag(&self, flag: &str) -> Result<bool, String> {
        match self.arguments().as_slice() {
            [] => Ok(false),
            [word] if *word == flag => Ok(true),
            [word, ..] => Err(format!("{word:?} means nothing here; {flag} would")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_a_shell_reads_them() {
        let line = Line::read("break pod if new.name == \"web\"").unwrap();
        assert_eq!(line.rest(), "pod if new.name == \"web\"");
        assert_eq!(line.words().last().map(String::as_str), Some("web"));
        assert_eq!(Line::read("why #12").unwrap().step(), Ok(Some(12)));
        assert!(Line::read("get \"po").is_err());
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (text, says) in [
            ("step -1", "is not a number of steps"),
            ("step 1 2", "one number at most"),
            ("step 99999999999999999999", "is not a number of steps"),
        ] {
            let error = Line::read(text).unwrap().count().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!(Line::read("show me").unwrap().nothing().unwrap_err().contains("takes no argument"));
        assert!(Line::read("pending -a").unwrap().flag("--all").unwrap_err().contains("--all would"));
    }
}
